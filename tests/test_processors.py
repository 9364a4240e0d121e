"""Workers keep to a processor each where that shares the processors out evenly, and only there."""

import os
import signal
import sys
import time

import pytest

from service import processors
from tests.bench.crash import workers
from tests.server import running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process can be kept to a processor on Linux only")


@pytest.fixture
def free(monkeypatch):
    """The processors of this process, which it may run on again afterwards."""
    monkeypatch.setattr(processors, "_all", set())
    ours = os.sched_getaffinity(0)
    yield ours
    os.sched_setaffinity(0, ours)


def places(server):
    """Return the processors of each worker of a server, once all have come to theirs."""
    time.sleep(0.2)
    return sorted((os.sched_getaffinity(pid) for pid in workers(server.pid)), key=sorted)


def test_each_worker_has_a_processor_and_who_replaces_one_that_died_has_its(tmp_path, free):
    each = [{place} for place in sorted(free)]
    with running(tmp_path, workers=str(len(free))) as (_, server):
        deadline = time.monotonic() + 60
        while places(server) != each:  # the first to be ready answers for all
            assert time.monotonic() < deadline
        died = workers(server.pid)[-1]
        os.kill(died, signal.SIGKILL)
        while died in workers(server.pid) or places(server) != each:
            assert time.monotonic() < deadline


def test_processors_that_cannot_be_shared_out_evenly_are_left_to_the_system(tmp_path, free):
    processors.keep_to_one(2 * len(free) + 1, tmp_path)
    assert os.sched_getaffinity(0) == free


def test_more_workers_than_processors_take_turns(tmp_path, free):
    for place in [*sorted(free), *sorted(free)]:
        os.sched_setaffinity(0, free)
        processors.keep_to_one(2 * len(free), tmp_path)
        assert os.sched_getaffinity(0) == {place}


def test_a_thread_may_leave_its_processor_for_a_while(tmp_path, free):
    with processors.on_any():
        assert os.sched_getaffinity(0) == free
    processors.keep_to_one(len(free), tmp_path)
    with processors.on_any():
        assert os.sched_getaffinity(0) == free
    assert os.sched_getaffinity(0) == {min(free)}


def test_where_it_is_forbidden_it_goes_without(tmp_path, free, monkeypatch):
    def forbidden(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    processors.keep_to_one(len(free), tmp_path)
    with processors.on_any():
        pass
    monkeypatch.undo()
    assert os.sched_getaffinity(0) == free
