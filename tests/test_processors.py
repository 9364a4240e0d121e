"""The threads of a worker keep to a processor where that shares the processors out evenly, and only there."""

import os
import signal
import sys
import threading
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from service.processors import keeping_to_one, on_any
from tests.bench.crash import workers
from tests.server import running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a thread can be kept to a processor on Linux only")
OURS = os.sched_getaffinity(0) if sys.platform == "linux" else set()


def where(environ, start_response):
    """Answer with the processors that this may run on, as an app."""
    return os.sched_getaffinity(0)


def where_a_thread_runs(app):
    """Return what an app answers to two requests that one new thread brings."""
    found = []
    thread = threading.Thread(target=lambda: found.extend(app({}, None) for _ in range(2)))
    thread.start()
    thread.join()
    assert found[0] == found[1]
    return found[0]


def places(server):
    """Return the processors that threads of each worker of a server keep to."""
    kept = []
    for pid in workers(server.pid):
        of_threads = [os.sched_getaffinity(int(thread)) for thread in os.listdir(f"/proc/{pid}/task")]
        kept.append({place for found in of_threads if len(found) == 1 for place in found})
    return sorted(kept, key=sorted)


def test_each_worker_has_a_processor_and_who_replaces_one_that_died_has_its(tmp_path):
    with running(tmp_path, workers=str(len(OURS))) as (url, server):

        def wait_until_all_have_answered():
            deadline = time.monotonic() + 60
            while places(server) != [{place} for place in sorted(OURS)]:
                assert time.monotonic() < deadline
                try:
                    urlopen(f"{url}/healthz").close()
                except (URLError, ConnectionError):  # of the worker that was killed
                    time.sleep(0.1)

        wait_until_all_have_answered()
        died = workers(server.pid)[-1]
        os.kill(died, signal.SIGKILL)
        while died in workers(server.pid):
            time.sleep(0.1)
        wait_until_all_have_answered()


def test_processors_that_cannot_be_shared_out_evenly_are_left_to_the_system(tmp_path):
    assert where_a_thread_runs(keeping_to_one(where, 2 * len(OURS) + 1, tmp_path)) == OURS


def test_more_workers_than_processors_take_turns(tmp_path):
    twice = [keeping_to_one(where, 2 * len(OURS), tmp_path) for _ in range(2 * len(OURS))]
    assert [where_a_thread_runs(app) for app in twice] == [{place} for place in sorted(OURS)] * 2
    assert os.sched_getaffinity(0) == OURS


def test_a_thread_may_leave_its_processor_for_a_while(tmp_path):
    def leave(environ, start_response):
        with on_any():
            assert os.sched_getaffinity(0) == OURS
        return os.sched_getaffinity(0)

    assert where_a_thread_runs(leave) == OURS
    assert where_a_thread_runs(keeping_to_one(leave, len(OURS), tmp_path)) == {min(OURS)}


@pytest.mark.parametrize("error", [PermissionError, OSError])
def test_where_it_cannot_be_it_goes_without(tmp_path, monkeypatch, error):
    def refuse(*_):
        raise error

    def leave(environ, start_response):
        with on_any():
            return os.sched_getaffinity(0)

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert where_a_thread_runs(keeping_to_one(leave, len(OURS), tmp_path)) == OURS
