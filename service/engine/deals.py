"""Deals: how a pack comes into its order, by algorithms that any client in any language can repeat.

Algorithm `v1` makes the order from 32 bytes and an optional client seed by HMAC-SHA-256 and SHAKE-256. `pysol`
repeats PySolFC's numbered deals. In every order returned here card 0 is dealt first.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator
from random import Random
from struct import unpack

from service.engine.cards import RANKS, Card, Pack, parse_cards
from service.engine.errors import Unreadable

ALGORITHMS = {"secret": "v1", "numbered": "v1", "pysol": "pysol", "deck": "deck"}
KINDS = tuple(ALGORITHMS)
SEED_BYTES = 32
LARGEST_NUMBER = 2**64 - 1
LARGEST_PYSOL = 10**20 - 1
LONGEST_CLIENT_SEED = 64
_WORD = 2**32


def number_seed(number: int) -> bytes:
    """Return the 32 bytes that stand for a deal number, 0 to 2^64-1."""
    return hashlib.sha256(b"montecarlo/number/v1:%d" % number).digest()


def commitment(seed: bytes) -> str:
    """Return the hash (64 hexadecimal digits) that binds the server to a secret seed before it is known."""
    return hashlib.sha256(b"montecarlo/commitment/v1:" + seed).hexdigest()


def v1_order(pack: Pack, seed: bytes, client_seed: str = "") -> tuple[Card, ...]:
    """Return a pack in the order that a seed of 32 bytes and a client seed give."""
    words = _words(hmac.digest(seed, b"montecarlo/deal/v1:" + client_seed.encode(), "sha256"))
    cards = list(pack.cards())
    for i in range(len(cards) - 1, 0, -1):
        # Words beyond the last whole multiple of i+1 are dropped, or low cards would be likelier.
        fair = _WORD - _WORD % (i + 1)
        while (word := next(words)) >= fair:
            pass
        j = word % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards)


def _words(key: bytes) -> Iterator[int]:
    """Yield the SHAKE-256 stream of a key as 4-byte big-endian words, without end."""
    done, size = 0, 512
    while True:
        yield from unpack(f">{(size - done) // 4}I", hashlib.shake_256(key).digest(size)[done:])
        done, size = size, size * 2


def pysol_order(pack: Pack, number: int) -> tuple[Card, ...]:
    """Return a pack as PySolFC deals it for a number from 1 to 10^20-1."""
    cards = list(pack.cards(suits="CSHD"))
    if number < 32000:
        if len(cards) == 52:
            cards = [Card(rank + suit) for rank in RANKS for suit in "CDHS"]
        picks = _pysol_small(number, len(cards))
    else:
        random = Random(number)  # noqa: S311 - the published algorithm, not a secret
        picks = (int(random.random() * (i + 1)) for i in range(len(cards) - 1, 0, -1))
    for i, j in zip(range(len(cards) - 1, 0, -1), picks, strict=True):
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(reversed(cards))


def _pysol_small(number: int, size: int) -> Iterator[int]:
    state = number
    for i in range(size - 1, 0, -1):
        state = (state * 214013 + 2531011) % 2**33
        yield (state >> 16 & 0x7FFF) % (i + 1)


def deck_order(pack: Pack, cards: str) -> tuple[Card, ...]:
    """Read an explicit order, which must hold each card as often as the pack does.

    Raises `Unreadable` with code `bad_card` or `bad_deck`.
    """
    order = parse_cards(cards)
    wanted, given = Counter(pack.cards()), Counter(order)
    if wanted != given:
        missing, extra = sorted((wanted - given).elements()), sorted((given - wanted).elements())
        faults = [
            f"{what} {' '.join(found[:8])}" for what, found in (("missing", missing), ("too many", extra)) if found
        ]
        raise Unreadable("bad_deck", f"{len(order)} cards are not this pack of {pack.size}: {'; '.join(faults)}")
    return order


def parse_number(kind: str, text: str) -> int:
    """Read the decimal number of a numbered or pysol deal, without sign or leading zeros.

    Raises `Unreadable` with code `bad_number`.
    """
    low, high = (1, LARGEST_PYSOL) if kind == "pysol" else (0, LARGEST_NUMBER)
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else -1
    if not low <= number <= high or str(number) != text:
        raise Unreadable("bad_number", f"the number of a {kind} deal is a decimal string from {low} to {high}")
    return number


def order(
    pack: Pack, kind: str, *, seed: bytes = b"", number: str = "", cards: str = "", client_seed: str = ""
) -> tuple[Card, ...]:
    """Return the order of a deal of any kind for a pack.

    Raises `Unreadable` with code `bad_number`, `bad_card` or `bad_deck`.
    """
    if kind == "deck":
        return deck_order(pack, cards)
    if kind == "pysol":
        return pysol_order(pack, parse_number(kind, number))
    if kind == "numbered":
        return v1_order(pack, number_seed(parse_number(kind, number)))
    return v1_order(pack, seed, client_seed)
