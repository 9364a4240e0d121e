"""Analysis of a game whose deal is revealed: where it was still winnable, and where that was thrown away."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.engine.cards import Card
from service.engine.events import Move
from service.engine.game import Position
from service.engine.log import Entry, games
from service.engine.search import Solution, masks_serve, solve

# Positions visited for one version, and for a whole game; what comes after the last is left undecided.
BUDGET = 1_000_000
BUDGET_WHOLE = 10_000_000
_GRIDS, _GRIDS_WHOLE = 200_000, 1_000_000  # the same where grids are searched whole


@dataclass(frozen=True, slots=True)
class Seen:
    """A version of a game, and whether it could still be won.

    best: a move that keeps the win; none within a move, where nobody has a choice
    """

    version: int
    verdict: str
    best: Move | None


@dataclass(frozen=True, slots=True)
class ThrownAway:
    """The move with which a win was thrown away for good: no undo led back before it.

    version: before the move; events: what the move did; line: moves that would have won from there
    """

    version: int
    events: Sequence[Entry]
    line: Sequence[Move]


@dataclass(frozen=True, slots=True)
class Analysis:
    """What hindsight says of a game.

    deal: verdict on the deal with a solution
    versions: each version of the game
    thrown_away: where a win was thrown away for good, if it was
    """

    deal: Solution
    versions: Sequence[Seen]
    thrown_away: ThrownAway | None


def analyse(entries: Sequence[Entry], order: Sequence[Card]) -> Analysis:
    """Return the analysis of a log, given the whole order of its deal."""
    known: dict[Position, Solution] = {}
    spent = 0

    def decide(position: Position) -> Solution:
        nonlocal spent
        if position not in known:
            masks = masks_serve(position.rules)
            whole, one = (BUDGET_WHOLE, BUDGET) if masks else (_GRIDS_WHOLE, _GRIDS)
            known[position] = solve(position, order, min(one, max(0, whole - spent)))
            spent += known[position].nodes
        return known[position]

    played = list(games(entries))
    versions: list[Seen] = []
    solutions: list[Solution] = []
    ends = {entry.move: place for place, entry in enumerate(entries)}
    for place, entry in enumerate(entries):
        end = ends[entry.move]  # what follows within a move is settled, so all of it is decided by where it leads
        solution = Solution("unwinnable", 0) if played[end].over == "lost" else decide(played[end].position)
        solutions.append(solution)
        best = solution.moves[0] if solution.moves and place == end else None
        versions.append(Seen(played[place].version, solution.verdict, best))

    # From the end back to where it could still be won, as far as it is known.
    thrown: ThrownAway | None = None
    at = len(played) - 1
    while at > 0 and solutions[at].verdict == "unwinnable":
        entry = entries[at]
        before = next(place for place in range(at, -1, -1) if played[place].version < entry.move)
        if solutions[before].moves:
            made = [other for other in entries if other.move == entry.move]
            thrown = ThrownAway(played[before].version, made, solutions[before].moves)
        at = before
    return Analysis(decide(played[0].position), versions, thrown)
