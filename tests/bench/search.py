"""The search and the hints, measured: `python -m tests.bench.search [DEALS] [FAIR GAMES]`.

Exact verdicts on classic deals: deals a second on one core, nodes, and the Python search on the same deals as the floor.
The fair player: games won and milliseconds a hint. Agreement: verdicts and nodes, native and Python, pruned and not, for
every variant, and lines that win. What it takes is processor time, so that a busy machine tells the same.
"""

import statistics
import sys
import time
from itertools import product

from service.engine import hints
from service.engine.deals import number_seed, v1_order
from service.engine.events import Deal, Dealt
from service.engine.game import Game, Position, apply, begin, fold_all
from service.engine.grid_search import GridSearch
from service.engine.kernel import UNDECIDED
from service.engine.rules import VARIANTS, Rules
from service.engine.search import DEFAULT_BUDGET, MaskSearch, masks_serve, solve, solver_kind


def opening(rules: Rules, number: int) -> tuple[Position, tuple[str, ...]]:
    """Return the opening of a numbered deal, and its order."""
    order = v1_order(rules.pack, number_seed(number))
    return Position(rules, order[: rules.size], rules.size), order


def speed(deals: int) -> None:
    """Print how fast classic deals are decided."""
    rules = VARIANTS["monte-carlo"].rules
    orders = [opening(rules, number)[1] for number in range(1, deals + 1)]
    rates = {}
    for native, some in ((True, orders), (False, orders[: max(20, deals // 100)])):
        nodes, won, undecided, start = [], 0, 0, time.process_time()
        for order in some:
            verdicts, visited, _ = MaskSearch(rules, order, native=native).decide([(1 << 52) - 1], DEFAULT_BUDGET)
            nodes.append(visited)
            won += verdicts[0] == 1
            undecided += verdicts[0] == UNDECIDED
        seconds = time.process_time() - start
        rates[native] = sum(nodes) / seconds
        nodes.sort()
        name = solver_kind() if native else "python"
        print(
            f"{name:<7} {len(some):>6} deals {len(some) / seconds:>7.0f}/s {rates[native]:>10.0f} nodes/s  nodes: mean "
            f"{statistics.mean(nodes):.0f}, median {nodes[len(nodes) // 2]}, 99.9% {nodes[int(len(nodes) * 0.999)]}, "
            f"most {nodes[-1]}  winnable {won / len(some):.1%}, undecided {undecided}"
        )
    plain = [
        MaskSearch(rules, order, pruned=False).decide([(1 << 52) - 1], DEFAULT_BUDGET)[1] for order in orders[:1000]
    ]
    print(f"without pruning the first {len(plain)} take {sum(plain) / len(plain):.0f} nodes a deal")
    print(f"native does {rates[True] / rates[False]:.0f} times the nodes a second of Python")


def agreement(deals: int) -> None:
    """Print for each variant how many deals were decided alike in four ways, and how many lines were played to a win."""
    for id, variant in VARIANTS.items():
        rules, alike, undecided, lines = variant.rules, 0, 0, 0
        for number in range(1, deals + 1):
            position, order = opening(rules, number)
            # Python takes its time, so the four ways are compared with a small budget.
            found = {kind: _decided(position, order, *kind) for kind in product((True, False), repeat=2)}
            same_nodes = all(found[True, pruned] == found[False, pruned] for pruned in (True, False))
            verdicts = {found[True, pruned][0] for pruned in (True, False)} - {UNDECIDED}
            alike += same_nodes and len(verdicts) < 2
            undecided += found[True, True][0] == UNDECIDED
            moves = solve(position, order, 200_000).moves if number <= deals // 2 else ()
            if moves:
                game = begin(_dealt(rules, order))
                for move in moves:
                    game = fold_all(game, apply(game, move, order))
                assert game.status == "won"
                lines += 1
            print(f"\r{id} {number}/{deals}", end="", file=sys.stderr, flush=True)
        print(
            f"\r{id:<24} {alike} of {deals} decided alike by native and Python, pruned and not ({undecided} given up); "
            f"{lines} lines of {deals // 2} deals replayed to a win",
            flush=True,
        )


def _decided(position: Position, order: tuple[str, ...], native: bool, pruned: bool) -> tuple[int, int]:
    rules, budget = position.rules, 300
    if masks_serve(rules):
        masks = MaskSearch(rules, order, native=native, pruned=pruned)  # type: ignore[arg-type]
        verdicts, nodes, _ = masks.decide_position(position, budget)
    else:
        grids = GridSearch(rules, order, native=native, pruned=pruned)  # type: ignore[arg-type]
        verdicts, nodes, _ = grids.decide(position, (), budget)
    return verdicts[0], nodes


def fair(games: int) -> None:
    """Print how often the fair player wins, and how long a hint takes."""
    for id in ("monte-carlo", "monte-carlo-wave"):
        rules, won, taken = VARIANTS[id].rules, 0, []
        for number in range(1, games + 1):
            order = opening(rules, number)[1]
            game: Game = begin(_dealt(rules, order))
            while game.status == "playing":
                start = time.process_time()
                hint = hints.fair(game)
                taken.append((time.process_time() - start) * 1000)
                for move in hint.plan:
                    game = fold_all(game, apply(game, move, order))
            won += game.status == "won"
            print(f"\r{id} {number}/{games}", end="", file=sys.stderr, flush=True)
        taken.sort()
        print(
            f"\r{id}: fair won {won} of {games} ({won / games:.1%}); a hint takes {statistics.mean(taken):.1f} ms, "
            f"99% {taken[int(len(taken) * 0.99)]:.0f} ms"
        )


def _dealt(rules: Rules, order: tuple[str, ...]) -> Dealt:
    return Dealt("", rules, Deal("numbered"), order[: rules.size], rules.pack.size - rules.size)  # type: ignore[arg-type]


if __name__ == "__main__":
    asked = [int(argument) for argument in sys.argv[1:]]
    speed(asked[0] if asked else 2_000)
    agreement(min(asked[0] if asked else 2_000, 2_000))
    fair(asked[1] if len(asked) > 1 else 500)
