"""What the two searches share: the native kernel where it is installed, and the words they answer in."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from service.engine.cards import Card, Pack
from service.engine.rules import Rules

try:
    import service.engine._search as _native

    kernel = _native
except ImportError:
    kernel = None  # type: ignore[assignment]

LOST, WON, UNDECIDED = range(3)
# Sets of removals that may be tried for each position that may be visited; without it some rules never end.
TRIES = 32
MODES = ("free", "wave", "auto")
GAP = 255
NUMBERS: Mapping[Card, int] = {card: number for number, card in enumerate(Pack().cards())}


def bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits of a mask, lowest first."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


@lru_cache(maxsize=256)
def near(rules: Rules) -> bytes:
    """Return for each cell how many later cells are in its reach, and then which."""
    return b"".join(bytes([len(cells), *cells]) for _, cells in rules.within_reach)


@lru_cache(maxsize=256)
def pairs(rules: Rules) -> bytes:
    """Return for each card number a byte for each, 1 where the two make a pair."""
    return bytes(other in rules.partners.get(card, ()) for card in NUMBERS for other in NUMBERS)


@lru_cache(maxsize=256)
def singles(rules: Rules) -> bytes:
    """Return for each card number 1 where it is removed alone."""
    return bytes(card in rules.singles for card in NUMBERS)
