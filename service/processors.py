"""Processors: which of them the threads of a worker run on.

They run Python by turns. Where the system wakes the next of them on another processor, it finds none there of what the
last one used; so those that keep to one processor answer up to a third more requests.
"""

import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


def keeping_to_one(app: Any, workers: int, folder: Path) -> Any:
    """Return an app whose threads keep to a processor, the worker's own, if that shares them out evenly.

    With fewer workers than processors it is left to the system, which knows where there is room beside other programs.

    folder: what the workers of a server share
    """
    if sys.platform != "linux":
        return app
    ours = sorted(os.sched_getaffinity(0))
    if workers % len(ours):
        return app
    processor, kept = ours[_number(folder) % len(ours)], threading.local()

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if not hasattr(kept, "here"):
            # This thread only: those of the server itself, which run no Python, are better left alone.
            _move(processor)
            kept.here = True
        return app(environ, start_response)

    return answer


def _number(folder: Path) -> int:
    """Return the lowest number that no worker has, which is this one's until it ends."""
    number = 0
    while True:
        opened = os.open(folder / f"worker-{number}", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(opened)
            number += 1
        else:
            return number  # with the file held open


@contextmanager
def on_any() -> Iterator[None]:
    """Let this thread run on any processor of the process in the block: what runs long without Python takes no turns."""
    if sys.platform != "linux":
        yield
        return
    here = os.sched_getaffinity(0)
    _move(*os.sched_getaffinity(os.getpid()))
    try:
        yield
    finally:
        _move(*here)


def _move(*processors: int) -> None:
    """Let this thread run on these processors, unless that is forbidden or they are gone meanwhile."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, processors)
