"""Processors: which of them a worker runs on.

The threads of a worker run Python by turns. Where the system wakes the next of them on another processor, it finds none
there of what the last one used; so a worker that keeps to one processor makes up to a fifth more moves.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

_all: set[int] = set()


def keep_to_one(workers: int, folder: Path) -> None:
    """Keep this worker, with all threads that it starts from now on, to a processor, if that shares them out evenly.

    With fewer workers than processors it is left to the system, which knows where there is room beside other programs.

    folder: what the workers of a server share
    """
    if sys.platform == "linux":
        ours = sorted(os.sched_getaffinity(0))
        if workers % len(ours) == 0:
            with suppress(PermissionError):  # where that is forbidden, it goes without
                os.sched_setaffinity(0, {ours[_number(folder) % len(ours)]})
                _all.update(ours)


def _number(folder: Path) -> int:
    """Return the lowest number that no worker has, which is this one's until it ends."""
    for number in count():
        opened = os.open(folder / f"worker-{number}", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(opened)
        else:
            return number  # with the file held open
    raise AssertionError


@contextmanager
def on_any() -> Iterator[None]:
    """Let this thread run on any processor until the block ends: what runs long without Python takes no turns."""
    if sys.platform != "linux" or not _all:
        yield
        return
    kept = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _all)
    try:
        yield
    finally:
        os.sched_setaffinity(0, kept)
