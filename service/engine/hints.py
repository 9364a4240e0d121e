"""Hints that never look at the stock, and the exact one for deals that are revealed.

`fair` draws possible orders of the cards not yet seen, decides by exact search for each order which plans for the wave
can still win, and names the plan that wins most often. Orders are drawn from a hash of what the player can see, so the
same position always gets the same answer, and a `Game` holds no hidden card that could find its way into it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count, islice
from math import sqrt
from random import Random

from service.engine.cards import Card, format_cards
from service.engine.events import Move
from service.engine.game import Game, Position, change_all, decide
from service.engine.grid_search import GridSearch
from service.engine.kernel import GAP, UNDECIDED, WON
from service.engine.log import canonical
from service.engine.search import MaskSearch, commute, masks_serve, solve

LEVELS = ("first", "fair", "solve")
DEFAULT_SAMPLES = 400
MOST_SAMPLES = 1000
MOST_PLANS = 256
_MOST_TRIES = 20_000  # sets of removals looked at to find them
# Positions visited for one order, shared by the plans that are weighed; what needs more stays undecided. Grids take
# longer than masks.
_BUDGET, _GRID_BUDGET = 5_000, 300


@dataclass(frozen=True, slots=True)
class Hint:
    """A move worth making.

    plan: the moves from here up to and with the close-up; the first is the move itself
    wins, samples: in how many of the orders tried the plan was seen to win; 0 of 0 where none was tried
    undecided: for how many of them the search gave up
    """

    level: str
    plan: tuple[Move, ...]
    wins: int = 0
    samples: int = 0
    undecided: int = 0

    @property
    def move(self) -> Move:
        """The move to make now."""
        return self.plan[0]

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the chance to win, in which what is undecided may be won or not; exact by `solve`."""
        if self.level == "solve" and self.samples:
            return self.wins / self.samples, self.wins / self.samples
        return interval(self.wins, self.samples)[0], interval(self.wins + self.undecided, self.samples)[1]


def first(game: Game) -> Hint:
    """Return the first pair in reading order, and the close-up when there is none."""
    plan, position = [], game.position
    while True:
        move = position.legal_moves[0]
        plan.append(move)
        if move.type != "remove" or position.rules.auto:
            return Hint("first", tuple(plan))
        # A removal shows no hidden card, so the plan can be followed up to the close-up.
        position = change_all(position, decide(position, move, ()))
        if position.won or not position.legal_moves:
            return Hint("first", tuple(plan))


def fair(game: Game, samples: int = DEFAULT_SAMPLES) -> Hint:
    """Return the plan for the wave that wins for most of so many orders of the cards not seen.

    After an eighth, a quarter and half of the orders only the better half of the plans goes on, so that orders are
    spent on plans that may be the best ("sequential halving", Karnin, Koren and Somekh 2013). While none has won, all
    go on.
    """
    position = game.position
    if position.phase == "refill":
        return Hint("fair", (Move("refill"),), 0, 0)
    weighed = list(plans(position))
    wins, undecided = [0] * len(weighed), [0] * len(weighed)
    orders, tried = _orders(game, samples), 0
    for share, least in ((8, 8), (4, 4), (2, 2), (1, 1)):
        verdicts_with = _by_masks(game, weighed) if masks_serve(game.rules) else _by_grids(game, weighed)
        for order in islice(orders, samples // share - tried):
            for place, verdict in enumerate(verdicts_with(order)):
                wins[place] += verdict == WON
                undecided[place] += verdict == UNDECIDED
        tried = samples // share
        ranked = sorted(range(len(weighed)), key=lambda place: (-wins[place], place))
        kept = sorted(ranked[: max(least, len(weighed) // 2)] if share > 1 else ranked[:1])
        if any(wins):
            weighed = [weighed[place] for place in kept]
            wins, undecided = ([counts[place] for place in kept] for counts in (wins, undecided))
    return Hint("fair", weighed[0], wins[0], samples, undecided[0])


def exact(game: Game, order: Sequence[Card], budget: int) -> Hint:
    """Return the first wave of a line that wins.

    Where there is none, the first legal move, which wins in 0 of 1 orders, or of 0 where the search was given up.
    """
    solution = solve(game.position, order, budget)
    if not solution.moves:
        return Hint("solve", first(game).plan, 0, int(solution.verdict == "unwinnable"))
    ends = next((at for at, move in enumerate(solution.moves) if move.type != "remove"), len(solution.moves) - 1)
    return Hint("solve", solution.moves[: 1 if game.rules.auto else ends + 1], 1, 1)


def interval(wins: int, samples: int) -> tuple[float, float]:
    """Return the 95% interval of Wilson for a chance seen to win so often."""
    if not samples:
        return 0.0, 1.0
    z = 1.959964
    share, spread = wins / samples, z * z / samples
    middle = share + spread / 2
    reach = z * sqrt(share * (1 - share) / samples + spread / (4 * samples))
    low, high = (middle - reach) / (1 + spread), (middle + reach) / (1 + spread)
    return 0.0 if wins == 0 else low, 1.0 if wins == samples else high


def plans(position: Position) -> Iterator[tuple[Move, ...]]:
    """Yield plans for the wave, one for each set of cells they empty: larger sets first, at most `MOST_PLANS`."""
    rules, seen = position.rules, set()
    if rules.auto:
        # Where removals commute, one is as good as another.
        yield from ((move,) for move in position.legal_moves[: 1 if commute(rules) else MOST_PLANS])
        return

    tries = count()

    def waves(start: int, taken: frozenset[int], moves: tuple[Move, ...]) -> Iterator[tuple[Move, ...]]:
        if next(tries) > _MOST_TRIES:
            return
        for places in position.removals:
            if places[0] >= start and taken.isdisjoint(places):
                move = Move("remove", tuple(rules.cells[place] for place in places))
                yield from waves(places[0] + 1, taken.union(places), (*moves, move))
        if taken in seen:
            return
        seen.add(taken)
        more = rules.close_up == "wave" and any(taken.isdisjoint(places) for places in position.removals)
        if taken and len(taken) + len(position.removed) == rules.goal:
            yield moves
        elif not more and _with_gaps(position, taken).would_change:
            yield (*moves, Move("close_up"))
        elif not more and moves:
            yield moves  # only the end of the grid is emptied, and nothing is there to fill it

    yield from islice(waves(0, frozenset(), ()), MOST_PLANS)


def largest(position: Position) -> tuple[Move, ...]:
    """Return the plan that takes most cards, the first such in reading order."""
    rules, removals = position.rules, position.removals
    if rules.auto:
        return (max(position.legal_moves, key=lambda move: len(move.cells)),)
    # Cells that removals from each on could still empty: what no better plan can go beyond.
    ahead = [frozenset[int]()]
    for places in reversed(removals):
        ahead.append(ahead[-1].union(places))
    ahead.reverse()
    most: tuple[tuple[int, ...], ...] = ()
    size, tries = 0, count()

    def waves(start: int, taken: frozenset[int], chosen: tuple[tuple[int, ...], ...]) -> None:
        nonlocal most, size
        if len(taken) > size:
            most, size = chosen, len(taken)
        for at in range(start, len(removals)):
            if len(taken) + len(ahead[at] - taken) <= size or next(tries) > _MOST_TRIES:
                return
            if taken.isdisjoint(removals[at]):
                waves(at + 1, taken.union(removals[at]), (*chosen, removals[at]))

    waves(0, frozenset(), ())
    taken = frozenset(place for places in most for place in places)
    for places in removals:  # those that are left where the tries were spent
        if taken.isdisjoint(places):
            most, taken = (*most, places), taken.union(places)
    moves = tuple(Move("remove", tuple(rules.cells[place] for place in places)) for places in most)
    won = len(taken) + len(position.removed) == rules.goal
    return (*moves, Move("close_up")) if not won and _with_gaps(position, taken).would_change else moves


def _with_gaps(position: Position, cells: frozenset[int]) -> Position:
    grid = tuple(None if place in cells else card for place, card in enumerate(position.grid))
    return Position(position.rules, grid, position.dealt)


def _orders(game: Game, samples: int) -> Iterator[tuple[Card, ...]]:
    """Yield possible orders of the deal: the cards shown, then the others as chance has it."""
    unseen = sorted((Counter(game.rules.pack.cards()) - Counter(game.shown)).elements())
    position = game.position
    known = {
        "rules": game.rules.data,
        "grid": " ".join(card or "--" for card in position.grid),
        "dealt": position.dealt,
        "shown": format_cards(game.shown[position.dealt :]),
        "unseen": " ".join(unseen),
        "samples": samples,
    }
    chance = Random(int.from_bytes(sha256(canonical(known)).digest()))  # noqa: S311 - repeatable on purpose
    for _ in range(samples):
        chance.shuffle(unseen)
        yield (*game.shown, *unseen)


def _by_masks(game: Game, weighed: Sequence[tuple[Move, ...]]) -> Callable[[Sequence[Card]], Sequence[int]]:
    """Return what says for each plan whether it can still win if the cards come in an order: a verdict of the search."""
    rules, position = game.rules, game.position
    # What lies on the table is the same in every order, so what each plan leaves is as well.
    table = MaskSearch(rules, (*game.shown, *[Card("??")] * (rules.pack.size - len(game.shown))))
    on, left = table.place(position), table.mask_of(position)
    waves = [left & ~sum(1 << on[rules.index(cell)] for move in plan for cell in move.cells) for plan in weighed]

    def verdicts_with(order: Sequence[Card]) -> Sequence[int]:
        return MaskSearch(rules, order).decide(waves, _BUDGET // len(waves))[0]

    return verdicts_with


def _by_grids(game: Game, weighed: Sequence[tuple[Move, ...]]) -> Callable[[Sequence[Card]], Sequence[int]]:
    """Return the same for rules whose grids are searched whole."""
    rules, position, index = game.rules, game.position, game.rules.index
    removals = [
        [(index(move.cells[0]), index(move.cells[1]) if len(move.cells) == 2 else GAP) for move in plan if move.cells]
        for plan in weighed
    ]

    def verdicts_with(order: Sequence[Card]) -> Sequence[int]:
        return GridSearch(rules, order).decide(position, removals, _GRID_BUDGET // len(removals))[0]

    return verdicts_with
