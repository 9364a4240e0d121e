"""Exact search: whether a position can still be won by one who sees all cards, and how.

Where cards keep their order when the grid closes up (packing `reading`), a position between two waves is a subset of
the pack in its order, and one mask says all of it. The same holds where cells do not matter (reach `anywhere`). The
search goes depth first over the sets of cards that a wave can remove and remembers the positions it has been in. The
Python here is its specification; a native kernel does the same, position for position, where it is installed.

Other rules are searched over whole grids, as `grid_search` tells. Effort is counted in positions visited, never in time,
so that answers repeat.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.engine.cards import Card
from service.engine.events import Move
from service.engine.game import Position, change_all, decide
from service.engine.grid_search import GridSearch
from service.engine.kernel import GAP, LOST, MODES, NUMBERS, TRIES, UNDECIDED, WON, bits, kernel, near, pairs, singles
from service.engine.rules import Rules

DEFAULT_BUDGET = 5_000_000
VERDICTS = ("unwinnable", "winnable", "undecided")
# Up to so many cards left, a position between waves is looked at for cards that are stuck; with more it seldom pays.
_CHECKED = 36
_MASK_BYTES = 16


@dataclass(frozen=True, slots=True)
class Solution:
    """What a search found.

    verdict: "winnable", "unwinnable" (everything was tried) or "undecided" (the budget was spent)
    nodes: positions visited
    moves: for a winnable position, moves that win, close-ups included
    """

    verdict: str
    nodes: int
    moves: tuple[Move, ...] = ()


def solver_kind() -> str:
    """Say whether the native kernel is installed: "native" or "python"."""
    return "python" if kernel is None else "native"


def solve(
    position: Position,
    order: Sequence[Card],
    budget: int = DEFAULT_BUDGET,
    *,
    native: bool = True,
    line: bool = True,
) -> Solution:
    """Decide a position given the whole order of its deal; without `line`, say only whether it can be won."""
    if position.won:
        return Solution("winnable", 0)
    lead: tuple[Move, ...] = ()
    if position.phase == "refill":
        lead = (Move("refill"),)
        position = change_all(position, decide(position, lead[0], order))
    moves: Iterator[Move]
    if masks_serve(position.rules):
        masks = MaskSearch(position.rules, order, native=native)
        verdicts, nodes, path = masks.decide_position(position, budget)
        moves = masks.moves_along(position, path)
    else:
        grids = GridSearch(position.rules, order, native=native)
        verdicts, nodes, steps = grids.decide(position, (), budget)
        moves = grids.moves(steps)
    won = verdicts[0] == WON and line
    return Solution(VERDICTS[verdicts[0]], nodes, (*lead, *moves) if won else ())


def masks_serve(rules: Rules) -> bool:
    """Say whether a mask says all of a position between two waves under these rules."""
    return rules.packing == "reading" or (rules.reach == "anywhere" and rules.packing == "in-place")


def commute(rules: Rules) -> bool:
    """Say whether the removals on a table can be made in any order, none spoiling another, so that all games end alike.

    So it is where cells do not matter and no card that goes alone could be another's partner: what two cards have in
    common (rank, suit, or ranks that add up) a third has as well or not at all, and so whichever of them is removed
    first, as many stay.
    """
    alone = any(rules.partners[card] for card in rules.singles)
    return rules.reach == "anywhere" and not alone


class MaskSearch:
    """The search over masks of one deal. Bit i of a mask stands for card i of the order."""

    def __init__(self, rules: Rules, order: Sequence[Card], *, native: bool = True, pruned: bool = True) -> None:
        """Prepare a search; `native` and `pruned` change only what it costs."""
        self.rules, self.order = rules, order
        self.native = native and kernel is not None
        self.commute = pruned and commute(rules)
        self.checked = _CHECKED if pruned and not self.commute else 0
        self.mode = MODES.index(rules.close_up)
        self.left = rules.pack.size - rules.goal

    def decide(self, waves: Sequence[int], budget: int) -> tuple[Sequence[int], int, list[int]]:
        """Decide positions between waves, each with so many to visit.

        Return verdicts, positions visited, and the masks on the way to the win of the last.
        """
        if not self.native:
            return _Python(self, budget).decide(waves)
        return self._kernel([GAP] * self.rules.size, 0, False, waves, budget)

    def decide_position(self, position: Position, budget: int) -> tuple[Sequence[int], int, list[int]]:
        """Decide a position with cards removed since the last close-up, or none."""
        on, left = self.place(position), self.mask_of(position)
        if not self.native:
            return _Python(self, budget).decide_grid(on, left, position.would_change)
        return self._kernel(on, left, position.would_change, (), budget)

    def _kernel(
        self, on: Sequence[int], left: int, may_close: bool, waves: Sequence[int], budget: int
    ) -> tuple[Sequence[int], int, list[int]]:
        verdicts, nodes, path = kernel.search(
            near(self.rules),
            pairs(self.rules),
            singles(self.rules),
            self.mode,
            self.left,
            self.checked,
            self.commute,
            bytes([NUMBERS[card] for card in self.order]),
            bytes(on) + _bytes(left),
            may_close,
            b"".join(map(_bytes, waves)),
            budget,
        )
        masks = [path[at : at + _MASK_BYTES] for at in range(0, len(path), _MASK_BYTES)]
        return verdicts, nodes, [int.from_bytes(mask, "little") for mask in masks]

    def place(self, position: Position, left: int | None = None) -> list[int]:
        """Return for each cell which card of the order lies there, or 255.

        left: the mask of all cards not removed, where it is known. Otherwise, of equal cards the first that fits is
        taken: which one it was makes no difference to the rest of the game.
        """
        on = []
        free = [place for place in range(position.dealt) if left is None or left >> place & 1]
        for card in position.grid:
            if card is None:
                on.append(GAP)
                continue
            at = next(place for place in free if self.order[place] == card)
            on.append(at)
            # In reading order cards keep the order of the deal, so the next one comes later.
            free = [place for place in free if place > at or (self.rules.packing != "reading" and place != at)]
        return on

    def mask_of(self, position: Position) -> int:
        """Return the mask of all cards not removed."""
        grid = sum(1 << at for at in self.place(position) if at != GAP)
        return grid | (1 << len(self.order)) - (1 << position.dealt)

    def moves_along(self, position: Position, path: Sequence[int]) -> Iterator[Move]:
        """Yield the moves that lead from a position through masks, each the cards left after a wave."""
        left = self.mask_of(position)
        for after in path:
            gone = {cell for cell, at in enumerate(self.place(position, left)) if at != GAP and not after >> at & 1}
            left = after
            # Where games close up by themselves a step is one removal; two singles would be two steps.
            for cells in [tuple(sorted(gone))] if self.rules.auto else matching(position, gone):
                move = Move("remove", tuple(self.rules.cells[cell] for cell in cells))
                yield move
                position = change_all(position, decide(position, move, self.order))
            if not position.won and position.closable:
                yield Move("close_up")
                position = change_all(position, decide(position, Move("close_up"), self.order))


def matching(position: Position, gone: set[int]) -> list[tuple[int, ...]]:
    """Return removals that take exactly these cells. Raises `ValueError` if there are none.

    They are tried as the search tries them, pairs of a cell before the cell alone: so what the search found soon is
    found here as soon.
    """
    options = [cells for cells in position.removals if gone.issuperset(cells)]
    options.sort(key=lambda cells: (cells[0], len(cells) == 1))

    def cover(rest: frozenset[int]) -> list[tuple[int, ...]] | None:
        if not rest:
            return []
        first = min(rest)
        for cells in options:
            if first in cells and rest.issuperset(cells):
                found = cover(rest.difference(cells))
                if found is not None:
                    return [cells, *found]
        return None

    found = cover(frozenset(gone))
    if found is None:
        raise ValueError("no removals take exactly these cells")
    return found


class _Python:
    """The search in Python: what the kernel does, to be read and to be held against."""

    def __init__(self, game: MaskSearch, budget: int) -> None:
        self.game, self.budget = game, budget
        self.partners, self.singles = [0] * len(game.order), 0
        for i, card in enumerate(game.order):
            if card in game.rules.singles:
                self.singles |= 1 << i
            for j in range(i):
                if game.order[j] in game.rules.partners[card]:
                    self.partners[i] |= 1 << j
                    self.partners[j] |= 1 << i
        self.near = game.rules.within_reach
        self.starts: dict[int, int] = {}
        for a, others in self.near:
            for b in others:
                self.starts[b - a] = self.starts.get(b - a, 0) | 1 << a
        self.visited: dict[int, int] = {}
        self.nodes = self.tries = 0
        self.until = budget
        self.path: list[int] = []

    def decide(self, waves: Sequence[int]) -> tuple[Sequence[int], int, list[int]]:
        verdicts: list[int] = []
        for left in waves:
            self.path.clear()
            self.tries, self.until = 0, self.nodes + self.budget
            verdicts.append(self.visit(left))
        return verdicts, self.nodes, self.path

    def decide_grid(self, on: Sequence[int], left: int, may_close: bool) -> tuple[Sequence[int], int, list[int]]:
        verdict = self.try_from(on, left, 0, 0, may_close)
        return [verdict], self.nodes, self.path

    def visit(self, left: int) -> int:
        """Search from a position between two waves."""
        if left.bit_count() == self.game.left:
            self.path.append(left)
            return WON
        known = self.visited.get(left, UNDECIDED)
        if known != UNDECIDED:
            return known
        if self.nodes >= self.until:
            return UNDECIDED
        self.nodes += 1
        self.visited[left] = LOST
        if left.bit_count() <= self.game.checked and self.stuck(left):
            return LOST
        on, rest = [], left
        for _ in range(self.game.rules.size):
            on.append((rest & -rest).bit_length() - 1 if rest else GAP)
            rest &= rest - 1
        self.path.append(left)
        found = self.try_from(on, left, 0, 0, False)
        if found == LOST:
            self.path.pop()
        self.visited[left] = found
        return found

    def try_from(self, on: Sequence[int], left: int, start: int, taken: int, may_close: bool) -> int:
        """Try every set of removals that begins with `taken` and goes on from a cell: first those that take the cell."""
        auto = self.game.mode == MODES.index("auto")
        for a in range(start, len(on)):
            if on[a] == GAP or taken >> on[a] & 1:
                continue
            card = 1 << on[a]
            partners = self.partners[on[a]] & left & ~taken
            removals = [card | 1 << on[b] for b in self.near[a][1] if on[b] != GAP and partners >> on[b] & 1]
            if self.singles & card:
                removals.append(card)
            for removed in removals:
                found = (
                    self.visit(left & ~removed) if auto else self.try_from(on, left, a + 1, taken | removed, may_close)
                )
                if found != LOST or self.game.commute:
                    return found
        self.tries += 1
        if self.tries > self.budget * TRIES:
            return UNDECIDED
        if auto or not (taken or may_close) or (self.game.rules.close_up == "wave" and self.goes_on(on, taken)):
            return LOST
        return self.visit(left & ~taken)

    def stuck(self, left: int) -> bool:
        """Say whether some card can never be removed, even if all that can ever go may be out of its way.

        A card is loose if it goes alone, or if it could come near a partner with some of the loose cards before and
        between the two gone. What more is loose makes more loose, so this comes to an end; what is not loose then
        stays on the table whatever is played.
        """
        loose, grown = -1, self.singles & left
        while loose != grown:
            loose = grown
            for b in bits(left & ~loose):
                for a in bits(self.partners[b] & left):
                    if self.may_meet(min(a, b), max(a, b), left, loose):
                        grown |= 1 << a | 1 << b
        return (left & ~loose).bit_count() > self.game.left

    def may_meet(self, a: int, b: int, left: int, loose: int) -> bool:
        """Say whether two cards could come near each other, with any of the loose cards before them gone."""
        before = (1 << a) - 1
        between = (1 << b) - 1 & ~before & ~(1 << a)
        first, apart = (left & before).bit_count(), (left & between).bit_count() + 1
        cells = (1 << first + 1) - (1 << first - (loose & before).bit_count())
        nearest = apart - (loose & between).bit_count()
        return any(nearest <= span <= apart and cells & starts for span, starts in self.starts.items())

    def goes_on(self, on: Sequence[int], taken: int) -> bool:
        """Say whether anything can be removed still."""
        for a, others in self.near:
            if on[a] == GAP or taken >> on[a] & 1:
                continue
            if self.singles >> on[a] & 1:
                return True
            partners = self.partners[on[a]] & ~taken
            if any(on[b] != GAP and partners >> on[b] & 1 for b in others):
                return True
        return False


def _bytes(mask: int) -> bytes:
    return mask.to_bytes(_MASK_BYTES, "little")
