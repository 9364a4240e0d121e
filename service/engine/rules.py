"""Rules as data: one frozen record says fully how a game is played, and a variant is a named, published record.

Nothing in the engine asks which variant is played; it reads the fields. The variants stand in `variants.toml`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

from service.engine.cards import RANKS, SUITS, VALUES, Card, Cell, Pack
from service.engine.errors import ImpossibleRules, Unreadable

RULES_VERSION = 1
MATCHES = ("rank", "suit", "sum")
REACHES = ("touching", "line", "anywhere")
CLOSE_UPS = ("free", "wave", "auto")
PACKINGS = ("reading", "columns", "in-place", "fill-first")
SMALLEST, LARGEST = 2, 10


@dataclass(frozen=True)
class Rules:
    """How a game is played. Checked when made.

    decks: 1 or 2
    ranks: the ranks in the pack, low to high
    rows, columns: size of the grid, 2 to 10 each, and no more cells than cards
    match: what makes two cards a pair, "rank", "suit" or "sum"
    total: what the ranks of a pair add up to with match "sum" (A=1, J=11, Q=12, K=13), else None
    equals: with match "sum", ranks that pair with their equals instead
    single: ranks removed alone
    fixed: ranks never removed
    reach: "touching" (8 neighbours), "line" (same row or column) or "anywhere"
    close_up: "free" (whenever it changes something), "wave" (only when no removal is left) or "auto" (follows
        every removal in the same move)
    packing: "reading", "columns", "in-place" or "fill-first"; the last two go with close_up "auto" only

    Raises `ImpossibleRules`.
    """

    decks: int = 1
    ranks: str = RANKS
    rows: int = 5
    columns: int = 5
    match: str = "rank"
    total: int | None = None
    equals: str = ""
    single: str = ""
    fixed: str = ""
    reach: str = "touching"
    close_up: str = "free"
    packing: str = "reading"

    def __post_init__(self) -> None:
        if self.decks not in (1, 2):
            raise ImpossibleRules("decks is 1 or 2")
        for name in ("ranks", "equals", "single", "fixed"):
            _check_ranks(name, getattr(self, name), RANKS if name == "ranks" else self.ranks)
        for name in ("rows", "columns"):
            if not SMALLEST <= getattr(self, name) <= LARGEST:
                raise ImpossibleRules(f"{name} is {SMALLEST} to {LARGEST}")
        for name, choices in (("match", MATCHES), ("reach", REACHES), ("close_up", CLOSE_UPS), ("packing", PACKINGS)):
            if getattr(self, name) not in choices:
                raise ImpossibleRules(f"{name} is one of {', '.join(choices)}")
        if self.size > self.pack.size:
            raise ImpossibleRules(f"a grid of {self.size} cells is larger than the pack of {self.pack.size} cards")
        if (self.match == "sum") != (self.total is not None):
            raise ImpossibleRules('total goes with match "sum", and must be given there')
        if self.total is not None and not 2 <= self.total <= 26:
            raise ImpossibleRules("total is 2 to 26")
        if self.equals and self.match != "sum":
            raise ImpossibleRules('equals goes with match "sum" only')
        if set(self.single) & set(self.fixed):
            raise ImpossibleRules("a rank cannot be both single and fixed")
        if self.packing in ("in-place", "fill-first") and self.close_up != "auto":
            raise ImpossibleRules(f'packing {self.packing} goes with close_up "auto" only')
        if not any(self.partners.values()):
            raise ImpossibleRules("no two cards of this pack could ever be removed as a pair")

    @cached_property
    def size(self) -> int:
        """Cells of the grid."""
        return self.rows * self.columns

    @cached_property
    def pack(self) -> Pack:
        """The cards it is played with."""
        return Pack(self.decks, self.ranks)

    @cached_property
    def auto(self) -> bool:
        """Whether a close-up follows every removal by itself."""
        return self.close_up == "auto"

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells in reading order."""
        return tuple(Cell(row, column) for row in range(1, self.rows + 1) for column in range(1, self.columns + 1))

    @cached_property
    def _places(self) -> Mapping[Cell, int]:
        return {cell: place for place, cell in enumerate(self.cells)}

    def index(self, cell: Cell) -> int:
        """Place of a cell in reading order, from 0. Raises `Unreadable` with code `outside_grid`."""
        place = self._places.get(cell)
        if place is None:
            raise Unreadable(
                "outside_grid",
                f"row {cell.row}, column {cell.column} is outside this grid of {self.rows} rows and {self.columns} columns",
            )
        return place

    def reaches(self, a: int, b: int) -> bool:
        """Whether two different cells, by place in reading order, are near enough to be a pair."""
        row_a, column_a = divmod(a, self.columns)
        row_b, column_b = divmod(b, self.columns)
        if self.reach == "touching":
            return abs(row_a - row_b) <= 1 and abs(column_a - column_b) <= 1
        return self.reach == "anywhere" or row_a == row_b or column_a == column_b

    @cached_property
    def within_reach(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """For each cell the later cells in its reach, both by place in reading order."""
        return tuple((a, tuple(b for b in range(a + 1, self.size) if self.reaches(a, b))) for a in range(self.size))

    @cached_property
    def singles(self) -> frozenset[Card]:
        """Cards removed alone."""
        return frozenset(card for card in Pack(1, self.ranks).cards() if card[0] in self.single)

    @cached_property
    def partners(self) -> Mapping[Card, frozenset[Card]]:
        """For each card those that make a pair with it, wherever they lie (with two decks, its twin too)."""
        cards = Pack(1, self.ranks).cards()
        return {a: frozenset(b for b in cards if self._pair(a, b)) for a in cards}

    def _pair(self, a: Card, b: Card) -> bool:
        if a[0] in self.fixed or b[0] in self.fixed or (a == b and self.decks == 1):
            return False
        if self.match == "suit":
            return a[1] == b[1]
        if self.match == "rank" or a[0] in self.equals or b[0] in self.equals:
            return a[0] == b[0]
        return VALUES[a[0]] + VALUES[b[0]] == self.total

    @cached_property
    def goal(self) -> int:
        """The most cards these rules could ever remove if cells did not matter; removing them wins.

        Cards fall into families that only pair within themselves: a suit, a rank, or a rank and its complement.
        """
        copies = self.decks * len(SUITS)
        movable = [rank for rank in self.ranks if rank not in self.fixed]
        if self.match == "suit":
            count = len(movable) * self.decks
            odd_one_stays = count % 2 and not set(movable) & set(self.single)
            return len(SUITS) * (count - (1 if odd_one_stays else 0))
        goal = 0
        for rank in movable:
            if self.match == "rank" or rank in self.equals or 2 * VALUES[rank] == self.total:
                goal += copies  # an even number of equals
                continue
            complement = [r for r in movable if r not in self.equals and VALUES[r] + VALUES[rank] == self.total]
            goal += copies if complement or rank in self.single else 0
        return goal

    def override(self, changes: Mapping[str, Any]) -> "Rules":
        """Return rules with some fields changed; leaving match "sum" drops what goes with it.

        Raises `ImpossibleRules`.
        """
        dropped = {"total": None, "equals": ""} if changes.get("match", "sum") != "sum" else {}
        return replace(self, **{**dropped, **changes})

    @cached_property
    def data(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


@lru_cache(maxsize=1024, typed=True)
def known_rules(**fields: Any) -> Rules:
    """Return rules by their fields; those met before come back with all that was worked out from them.

    Raises `ImpossibleRules`, and `TypeError` for a field that is missing, unknown or no plain value.
    """
    return Rules(**fields)


def _check_ranks(name: str, ranks: str, allowed: str) -> None:
    if "".join(rank for rank in allowed if rank in ranks) != ranks or (name == "ranks" and not ranks):
        raise ImpossibleRules(f"{name} holds ranks of {allowed}, each once and in that order")


@dataclass(frozen=True)
class Variant:
    """A named, published record of rules."""

    id: str
    name: str
    summary: str
    source: str
    rules: Rules
    aliases: tuple[str, ...] = ()


def _published() -> Mapping[str, Variant]:
    """Read the variants, each written as what differs from the default rules."""
    table = tomllib.loads(files(__package__).joinpath("variants.toml").read_text())
    return {
        id: Variant(
            id, row["name"], row["summary"], row["source"], Rules(**row["rules"]), tuple(row.get("aliases", ()))
        )
        for id, row in table.items()
    }


VARIANTS = _published()
DEFAULT_VARIANT = "monte-carlo"
_BY_NAME = {name: variant for variant in VARIANTS.values() for name in (variant.id, *variant.aliases)}


def find_variant(name: str) -> Variant:
    """Return a published variant by id or alias. Raises `Unreadable` with code `unknown_variant`."""
    variant = _BY_NAME.get(name)
    if variant is None:
        raise Unreadable("unknown_variant", f"there is no variant {name[:40]!r}")
    return variant
