"""Moves are what a player asks for; events are what happened. Both are frozen, and both have one written form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from service.engine.cards import Card, Cell, parse_cell
from service.engine.errors import Unreadable
from service.engine.rules import RULES_VERSION, Rules

LOG_FORMAT = 1
MOST_EVENTS = 10_000  # in a game when a move begins; some hundred times what one needs
MOST_OF_A_MOVE = 4  # removed, compacted, refilled, won
MOVE_TYPES = ("remove", "close_up", "compact", "refill", "undo", "redo", "resign")


@dataclass(frozen=True, slots=True)
class Move:
    """What a player asks for; only `remove` names cells, one or two.

    >>> str(Move("remove", (Cell(1, 1), Cell(2, 2))))
    'a1-b2'

    Raises `Unreadable` with code `unreadable_move`.
    """

    type: str
    cells: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        if self.type not in MOVE_TYPES:
            raise Unreadable("unreadable_move", f"{self.type[:20]!r} is not a move; moves are {', '.join(MOVE_TYPES)}")
        if (self.type == "remove") != (1 <= len(self.cells) <= 2) or (self.type != "remove" and self.cells):
            raise Unreadable("unreadable_move", "remove names one or two cells, and no other move names any")

    def __str__(self) -> str:
        return "-".join(map(str, self.cells)) or self.type


def parse_move(text: str) -> Move:
    """Read a move, the inverse of `str(move)`.

    >>> parse_move("close_up")
    Move(type='close_up', cells=())

    Raises `Unreadable` with code `unreadable_move` or `bad_cell`.
    """
    if text in MOVE_TYPES:
        return Move(text)
    return Move("remove", tuple(parse_cell(cell) for cell in text.split("-")))


@dataclass(frozen=True, slots=True)
class Deal:
    """The public record of a deal: how its order came about, and what bound the server to it beforehand.

    kind: "secret", "numbered", "pysol" or "deck"
    number: decimal string of a numbered or pysol deal, else None
    commitment: hash of the secret of a secret deal, else None
    client_seed: the client's part in a secret deal, else None
    fairness: "joint" (bound before the client's part was known), "committed" (bound before the first move) or
        "open" (anyone can see the order)
    """

    kind: str
    number: str | None = None
    commitment: str | None = None
    client_seed: str | None = None
    fairness: str = "open"


@dataclass(frozen=True, slots=True)
class Dealt:
    """The first event, and all that a game stands on: what is known of its deal, its rules, the cards in sight.

    deck: the whole order of a deck deal, else None
    """

    type: ClassVar[str] = "dealt"
    variant: str
    rules: Rules
    deal: Deal
    grid: tuple[Card, ...]
    stock: int
    deck: tuple[Card, ...] | None = None
    algorithm: str = "v1"
    ranked: bool = False
    deadline: str | None = None
    format: int = LOG_FORMAT
    rules_version: int = RULES_VERSION


@dataclass(frozen=True, slots=True)
class Removed:
    """One or two cards left the grid, in the order in which they were named."""

    type: ClassVar[str] = "removed"
    cells: tuple[Cell, ...]
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The cards on the grid closed up, as the packing says."""

    type: ClassVar[str] = "compacted"


@dataclass(frozen=True, slots=True)
class Refilled:
    """Cards came from the stock to these cells, in this order; `stock` cards are left in it."""

    type: ClassVar[str] = "refilled"
    cells: tuple[Cell, ...]
    cards: tuple[Card, ...]
    stock: int


@dataclass(frozen=True, slots=True)
class Undone:
    """The last move was taken back: the position is again the one of version `to`."""

    type: ClassVar[str] = "undone"
    to: int


@dataclass(frozen=True, slots=True)
class Redone:
    """A move taken back was made again: the position is again the one of version `to`."""

    type: ClassVar[str] = "redone"
    to: int


@dataclass(frozen=True, slots=True)
class Hinted:
    """A hint was given: this move, which won in `wins` of the `samples` orders of the hidden cards that were tried."""

    type: ClassVar[str] = "hinted"
    level: str
    move: Move
    wins: int
    samples: int


@dataclass(frozen=True, slots=True)
class Resigned:
    """The player gave up; `seed` (hexadecimal) is the secret of the deal where that is revealed now."""

    type: ClassVar[str] = "resigned"
    cards_left: int
    seed: str | None = None


@dataclass(frozen=True, slots=True)
class Won:
    """All cards that can be removed are; `seed` (hexadecimal) is the secret of the deal where that is revealed now."""

    type: ClassVar[str] = "won"
    cards_left: int
    seed: str | None = None


Event = Dealt | Removed | Compacted | Refilled | Undone | Redone | Hinted | Resigned | Won
Change = Removed | Compacted | Refilled
EVENT_TYPES: Mapping[str, type[Event]] = {
    kind.type: kind for kind in (Dealt, Removed, Compacted, Refilled, Undone, Redone, Hinted, Resigned, Won)
}
