"""Exact search over whole grids, for rules under which no mask says all of a position.

Depth first over the sets of cards that a wave can remove, as the search over masks; what is remembered is the cards on
the grid and how many were dealt. Cards with the same partners are interchangeable, so a grid holds their kinds. The
Python here is the specification; a native kernel does the same, position for position, where it is installed.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product

from service.engine.cards import Card
from service.engine.events import Move
from service.engine.game import Position
from service.engine.kernel import GAP, LOST, MODES, TRIES, UNDECIDED, WON, kernel, near
from service.engine.rules import PACKINGS, Rules

_CLOSE_UP = 254
Removal = tuple[int, int]  # two cells by place in reading order, the second 255 for a card that goes alone
_Grid = tuple[int, ...]


class GridSearch:
    """The search over the grids of one deal."""

    def __init__(self, rules: Rules, order: Sequence[Card], *, native: bool = True, pruned: bool = True) -> None:
        """Prepare a search; `native` and `pruned` change only what it costs."""
        self.rules = rules
        # What moves along the whole grid can meet almost anything: there is nothing to be seen beforehand.
        self.pruned = pruned and rules.packing in ("columns", "in-place")
        self.native = native and kernel is not None
        self.mode = MODES.index(rules.close_up)
        self.left = rules.pack.size - rules.goal
        self.kinds = _kinds(rules)
        self.order = bytes([self.kinds[card] for card in order])

    def decide(
        self, position: Position, plans: Sequence[Sequence[Removal]], budget: int
    ) -> tuple[Sequence[int], int, list[Removal]]:
        """Decide what comes of plans for the wave, each with so many positions to visit; of the position if there are none.

        Return verdicts, positions visited, and removals and close-ups on the way to the win of the last.
        """
        grid = bytes(GAP if card is None else self.kinds[card] for card in position.grid)
        if not self.native:
            return _Python(self, budget).decide(grid, position.dealt, position.would_change, plans)
        rules, (pairs, singles) = self.rules, _kind_tables(self.rules)
        verdicts, nodes, steps = kernel.search_grid(
            near(rules),
            pairs,
            singles,
            self.mode,
            self.left,
            PACKINGS.index(rules.packing),
            rules.columns,
            self.pruned,
            self.order,
            grid,
            position.dealt,
            position.would_change,
            b"".join(bytes([len(plan), *(cell for removal in plan for cell in removal)]) for plan in plans),
            budget,
        )
        return verdicts, nodes, list(zip(steps[::2], steps[1::2], strict=True))

    def moves(self, steps: Sequence[Removal]) -> Iterator[Move]:
        """Yield the moves that steps stand for."""
        for a, b in steps:
            cells = (a,) if b == GAP else (a, b)
            yield (
                Move("close_up") if a == _CLOSE_UP else Move("remove", tuple(self.rules.cells[cell] for cell in cells))
            )


class _Python:
    """The search in Python: what the kernel does, to be read and to be held against."""

    def __init__(self, game: GridSearch, budget: int) -> None:
        self.game, self.rules, self.budget = game, game.rules, budget
        self.pairs, self.singles = _kind_tables(game.rules)
        self.count = len(self.singles)
        self.visited: dict[tuple[int, _Grid], int] = {}
        self.nodes = self.tries = 0
        self.until = budget
        self.steps: list[Removal] = []

    def decide(
        self, grid: Sequence[int], dealt: int, may_close: bool, plans: Sequence[Sequence[Removal]]
    ) -> tuple[Sequence[int], int, list[Removal]]:
        root, verdicts = tuple(grid), []
        left = sum(card != GAP for card in root) + len(self.game.order) - dealt
        if not plans:
            verdicts = [self.try_all(root, dealt, left, may_close)]
        for plan in plans:
            self.steps.clear()
            self.tries, self.until = 0, self.nodes + self.budget
            if self.rules.auto:
                verdicts.append(self.close_and_visit(root, dealt, left, plan[0]))
            elif plan or may_close:
                gone = {cell for removal in plan for cell in removal}
                after = tuple(GAP if cell in gone else card for cell, card in enumerate(root))
                verdicts.append(self.end_wave(after, dealt, left - len(gone - {GAP})))
            else:
                verdicts.append(LOST)
        return verdicts, self.nodes, self.steps

    def visit(self, grid: _Grid, dealt: int, left: int) -> int:
        """Search from a position between two waves."""
        if left == self.game.left:
            return WON
        known = self.visited.get((dealt, grid), UNDECIDED)
        if known != UNDECIDED:
            return known
        if self.nodes >= self.until:
            return UNDECIDED
        self.nodes += 1
        self.visited[dealt, grid] = LOST
        if self.game.pruned and self.stuck(grid, dealt):
            return LOST
        found = self.try_all(grid, dealt, left, False)
        self.visited[dealt, grid] = found
        return found

    def try_all(self, grid: _Grid, dealt: int, left: int, may_close: bool) -> int:
        removals = list(self.removals(grid))
        return self.try_from(removals, 0, frozenset(), grid, grid, dealt, left, may_close)

    def removals(self, grid: _Grid) -> Iterator[Removal]:
        """Yield the removals of a grid in reading order, a card alone after its pairs."""
        for a, others in self.rules.within_reach:
            if grid[a] == GAP:
                continue
            for b in others:
                if grid[b] != GAP and self.pairs[grid[a] * self.count + grid[b]]:
                    yield a, b
            if self.singles[grid[a]]:
                yield a, GAP

    def try_from(
        self,
        removals: Sequence[Removal],
        start: int,
        taken: frozenset[int],
        after: _Grid,
        grid: _Grid,
        dealt: int,
        left: int,
        may_close: bool,
    ) -> int:
        """Try every set of removals that begins with `taken` and goes on from a cell: first those that take the cell."""
        auto, depth = self.rules.auto, len(self.steps)
        for a, b in removals:
            if a < start or a in taken or b in taken:
                continue
            if auto:
                found = self.close_and_visit(grid, dealt, left, (a, b))
                if found == LOST and self.rules.packing == "in-place" and b != GAP:
                    # In place the cell named first is refilled first, so both ways round may differ.
                    found = self.close_and_visit(grid, dealt, left, (b, a))
            else:
                self.steps.append((a, b))
                now = taken | {a, b} - {GAP}
                found = self.try_from(
                    removals, a + 1, now, _without(after, (a, b)), grid, dealt, left - len(now - taken), may_close
                )
                if found == LOST:
                    del self.steps[depth:]
            if found != LOST:
                return found
        self.tries += 1
        if self.tries > self.budget * TRIES:
            return UNDECIDED
        if auto or not (taken or may_close):
            return LOST
        if self.rules.close_up == "wave" and any(a not in taken and b not in taken for a, b in removals):
            return LOST
        return self.end_wave(after, dealt, left)

    def stuck(self, grid: _Grid, dealt: int) -> bool:
        """Say whether more cards on the grid can never be removed than may be left, even if all others may be gone.

        Cards on the grid keep their column, or their cell. One that can meet no partner on the grid needs one from the
        stock, and each needs its own.
        """
        count, rules = self.count, self.rules
        coming = [sum(self.pairs[kind * count + card] for card in self.game.order[dealt:]) for kind in range(count)]
        on = [cell for cell, card in enumerate(grid) if card != GAP]
        pairs = [(a, b) for a, b in combinations(on, 2) if self.pairs[grid[a] * count + grid[b]]]
        loose = {cell for cell in on if self.singles[grid[cell]] or coming[grid[cell]]}
        met: set[int] = set()
        before = None
        while before != loose:
            before = set(loose)
            above = [0] * len(grid)
            if rules.packing == "columns":
                for cell in range(rules.columns, len(grid)):
                    above[cell] = above[cell - rules.columns] + (cell - rules.columns in before)
            for a, b in pairs:
                if self.may_meet(a, b, above, before):
                    met.update((a, b))
            loose |= met
        waiting = Counter(grid[cell] for cell in on if cell not in met and not self.singles[grid[cell]])
        return sum(max(0, cards - coming[kind]) for kind, cards in waiting.items()) > self.game.left

    def may_meet(self, a: int, b: int, above: Sequence[int], loose: Collection[int]) -> bool:
        """Say whether two cards could come near each other, with any of the loose cards above them gone."""
        columns = self.rules.columns
        # In one column the lower card climbs as far as the upper one, and so much more as goes between them.
        further = (
            above[b] - above[a] - (a in loose) if (a - b) % columns == 0 and self.rules.packing == "columns" else None
        )
        for i, j in product(range(above[a] + 1), range(above[b] + 1)):
            near = self.rules.reaches(a - i * columns, b - j * columns)
            if near and (further is None or 0 <= j - i <= further):
                return True
        return False

    def close_and_visit(self, grid: _Grid, dealt: int, left: int, removal: Removal) -> int:
        """Close up by itself after a removal, and go on from there."""
        depth = len(self.steps)
        self.steps.append(removal)
        after, dealt = self.closed(_without(grid, removal), dealt, removal)
        found = self.visit(after, dealt, left - 2 + (removal[1] == GAP))
        if found == LOST:
            del self.steps[depth:]
        return found

    def end_wave(self, grid: _Grid, dealt: int, left: int) -> int:
        if left == self.game.left:
            return WON
        depth = len(self.steps)
        after, dealt = self.closed(grid, dealt, ())
        # Where only the end of the grid is emptied and the stock is out, nothing closes up, and the wave goes on.
        if after != grid:
            self.steps.append((_CLOSE_UP, _CLOSE_UP))
        found = self.visit(after, dealt, left)
        if found == LOST:
            del self.steps[depth:]
        return found

    def closed(self, grid: _Grid, dealt: int, named: Sequence[int]) -> tuple[_Grid, int]:
        """Return a grid closed up and refilled, and how many cards are dealt then."""
        packing, columns, cells = self.rules.packing, self.rules.columns, list(grid)

        def deal(places: Sequence[int]) -> None:
            nonlocal dealt
            for place in places:
                if place != GAP and cells[place] == GAP and dealt < len(self.game.order):
                    cells[place] = self.game.order[dealt]
                    dealt += 1

        def pack(some: slice) -> None:
            cards = [card for card in cells[some] if card != GAP]
            cells[some] = cards + [GAP] * (len(cells[some]) - len(cards))

        if packing == "in-place":
            deal(named)
            return tuple(cells), dealt
        if packing == "fill-first":
            deal(range(len(cells)))
        for first in range(columns if packing == "columns" else 1):
            pack(slice(first, None, columns if packing == "columns" else 1))
        deal(range(len(cells)))
        return tuple(cells), dealt


def _without(grid: _Grid, removal: Removal) -> _Grid:
    return tuple(GAP if cell in removal else card for cell, card in enumerate(grid))


@lru_cache(maxsize=256)
def _kinds(rules: Rules) -> dict[Card, int]:
    """Return a number for each card; those that go alone alike and with the same partners have the same."""
    found: dict[Card, int] = {}
    first: list[Card] = []
    for a in rules.partners:
        alike = (kind for kind, b in enumerate(first) if _alike(rules, a, b))
        found[a] = next(alike, len(first))
        if found[a] == len(first):
            first.append(a)
    return found


def _alike(rules: Rules, a: Card, b: Card) -> bool:
    others = {a, b}
    return (a in rules.singles) == (b in rules.singles) and rules.partners[a] - others == rules.partners[b] - others


@lru_cache(maxsize=256)
def _kind_tables(rules: Rules) -> tuple[bytes, bytes]:
    """Return for each kind a byte for each, 1 where two such cards make a pair, and for each 1 where it goes alone."""
    kinds = _kinds(rules)
    count = max(kinds.values()) + 1
    pairs, singles = bytearray(count * count), bytearray(count)
    for card, kind in kinds.items():
        singles[kind] = card in rules.singles
        for partner in rules.partners[card]:
            pairs[kind * count + kinds[partner]] = 1
    return bytes(pairs), bytes(singles)
