"""The Flask app, put together."""

import gc
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask

from service import docs, metrics, processors, settings, table
from service.api import browsers, limits, observing, problems, spec, world
from service.settings import Settings

# Seconds that what is under way has to end; a client that stalls would hold up a stop for ever.
STOP_WITHIN = 10


def create_worker() -> Flask:
    """Return an app for a process that does nothing else."""
    used = settings.load()
    app = create_app(used)
    shared = os.environ.get(metrics.FOLDER)
    if shared:
        app.wsgi_app = processors.keeping_to_one(app.wsgi_app, used.workers, Path(shared))  # type: ignore[method-assign]
    # What is there at the start stays: to look through it for garbage took a tenth of each request.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    with app.app_context():
        _when_stopped(world.world().watching.end)
    threading.Thread(target=_stop_with_parent, name="parent", daemon=True).start()
    return app


def _stop_with_parent() -> None:
    """Stop this process when the one that started it has ended and so cannot tell it to: it would keep the port."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_WITHIN)
        os._exit(1)


def _when_stopped(end: Callable[[], None]) -> None:
    """Call something when this process is told to stop.

    The server sets handlers of its own after this, so what Python writes down of each signal is read instead.
    """
    told, telling = socket.socketpair()
    telling.setblocking(False)
    signal.set_wakeup_fd(telling.fileno())

    def listen(telling: socket.socket) -> None:  # which stays open with this thread
        while signal_number := told.recv(1):
            if signal_number[0] in (signal.SIGTERM, signal.SIGINT):
                end()

    threading.Thread(target=listen, args=[telling], name="stopping", daemon=True).start()


class _Service(Flask):
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a view or a hook as it is: none of ours is a coroutine, and to ask for each costs more than most do."""
        return func


def create_app(given: Settings | None = None) -> Flask:
    """Return an app for these settings, or those of the environment. Raises `BadSetting`."""
    used = given or settings.load()
    app = _Service("service", static_folder=None)
    app.config.update(
        MAX_CONTENT_LENGTH=used.body_limit,
        AUDIT_BODY_LIMIT=used.audit_body_limit,
        HEARTBEAT=used.heartbeat,
        WATCHERS=used.watchers,
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.url_map.merge_slashes = False  # a path that is none leads nowhere, and no redirect names a stranger's host
    observing.init_app(app)
    browsers.init_app(app, used)
    limits.init_app(app, used)
    problems.init_app(app)
    world.set_world(app, world.make_world(used))
    spec.init_app(app)
    docs.init_app(app)
    table.init_app(app)
    return app
