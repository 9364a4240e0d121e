"""Cards, packs and cells, and their text forms.

A card is a rank and a suit in two characters (`TH`). It is not an identity, since two decks hold it twice; a
cell is. Cells print as in a spreadsheet: a letter for the column, then the row counted from the top, so the
first cell dealt is `a1` and the last of a 5x5 grid is `e5`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, NewType

from service.engine.errors import Unreadable

RANKS = "A23456789TJQK"
SUITS = "CDHS"
COLUMNS = "abcdefghij"

Card = NewType("Card", str)

HIDDEN = Card("??")  # a card that nobody may know yet, where one looks ahead

VALUES = {rank: value for value, rank in enumerate(RANKS, start=1)}
_CARDS = {rank + suit: Card(rank + suit) for rank in RANKS for suit in SUITS}


class Cell(NamedTuple):
    """A place of the grid, counted from 1: rows from the top, columns from the left."""

    row: int
    column: int

    def __str__(self) -> str:
        return f"{COLUMNS[self.column - 1]}{self.row}"


@dataclass(frozen=True)
class Pack:
    """The cards that a deal is made of: whole decks of some ranks, low to high."""

    decks: int = 1
    ranks: str = RANKS

    @cached_property
    def size(self) -> int:
        """Number of cards."""
        return self.decks * len(self.ranks) * len(SUITS)

    def cards(self, suits: str = SUITS) -> tuple[Card, ...]:
        """Return the cards in order: deck by deck, suit by suit, ranks low to high.

        >>> " ".join(Pack(ranks="A2").cards())
        'AC 2C AD 2D AH 2H AS 2S'
        """
        return tuple(_CARDS[rank + suit] for _ in range(self.decks) for suit in suits for rank in self.ranks)


def parse_card(text: str) -> Card:
    """Read a card; `10H` and lower case are understood.

    >>> parse_card("10h")
    'TH'

    Raises `Unreadable` with code `bad_card`.
    """
    # ASCII only: the long s and others turn into plain letters in upper case.
    card = _CARDS.get(text.upper().replace("10", "T", 1)) if text.isascii() and len(text) <= 3 else None
    if card is None:
        raise Unreadable(
            "bad_card", f"{text[:8]!r} is not a card: write a rank A23456789TJQK, then a suit CDHS, as in TH"
        )
    return card


def parse_cards(text: str) -> tuple[Card, ...]:
    """Read cards separated by spaces, first dealt first.

    Raises `Unreadable` with code `bad_card`.
    """
    return tuple(parse_card(word) for word in text.split())


@lru_cache(maxsize=256)
def parse_cell(text: str) -> Cell:
    """Read a cell, the inverse of `str(cell)`.

    >>> parse_cell("b3")
    Cell(row=3, column=2)

    Raises `Unreadable` with code `bad_cell`.
    """
    column, row = COLUMNS.find(text[:1]) + 1, text[1:]
    if len(text) < 2 or not column or row not in ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10"):
        raise Unreadable("bad_cell", f"{text[:8]!r} is not a cell: write a column a-j, then a row 1-10, as in b3")
    return Cell(int(row), column)


def format_cards(cards: Iterable[Card]) -> str:
    """Print cards as `parse_cards` reads them."""
    return " ".join(cards)
