"""Thinking: what takes a core for a while. A few may think at once in a process; the others are told to come again."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.api.problems import Problem
from service.places import Places
from service.processors import on_any

# The kernel thinks without the interpreter's lock, so two leave a core to the players on most machines.
_PLACES = Places(2)
_PATIENCE = 2.0  # seconds in the queue; hints of others take some tens of milliseconds


@contextmanager
def thinking() -> Iterator[None]:
    """Take a place to think in. Raises `Problem` with code `busy` if none comes free."""
    if not _PLACES.take(_PATIENCE):
        raise Problem("busy", "too many hints and analyses are asked for at once")
    try:
        with on_any():
            yield
    finally:
        _PLACES.give_back()
