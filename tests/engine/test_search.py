"""Exact search: verdicts that are true, lines that win, and a kernel that does what the Python does."""

from itertools import count
from random import Random

import pytest

from service.engine.deals import number_seed, v1_order
from service.engine.events import Move
from service.engine.game import Position, apply, begin, change_all, decide, fold_all
from service.engine.grid_search import GridSearch
from service.engine.hints import exact, fair
from service.engine.kernel import GAP, UNDECIDED, WON, kernel
from service.engine.rules import VARIANTS, Rules
from service.engine.search import MaskSearch, masks_serve, solve
from tests.engine.plain_search import plain_verdict
from tests.engine.table import dealt as dealt_event

SERVED = [name for name, variant in VARIANTS.items() if masks_serve(variant.rules)]
native = pytest.mark.skipif(kernel is None, reason="no compiler was there to build the native kernel")
TINY = Rules(ranks="A2345", rows=2, columns=4)


def opening(rules, number):
    """Return the opening position of a numbered deal, and its order."""
    order = v1_order(rules.pack, number_seed(number))
    return Position(rules, order[: rules.size], rules.size), order


def replayed(rules, order, moves):
    """Play moves through the engine and return the game."""
    game = begin(dealt_event(rules, order))
    for move in moves:
        game = fold_all(game, apply(game, move, order))
    return game


@native
@pytest.mark.parametrize("variant", SERVED)
def test_the_kernel_does_what_the_python_does_node_for_node(variant):
    rules = VARIANTS[variant].rules
    for number in range(40):
        position, order = opening(rules, number)
        assert solve(position, order, 1500) == solve(position, order, 1500, native=False)


@native
def test_the_kernel_decides_many_waves_as_the_python_does():
    draw = Random(1)
    rules = VARIANTS["monte-carlo"].rules
    for number in range(60):
        _, order = opening(rules, number)
        waves = [draw.getrandbits(52) & draw.getrandbits(52) for _ in range(8)]
        budget = draw.choice((3, 50, 2000))
        found = [MaskSearch(rules, order, native=kind).decide(waves, budget) for kind in (True, False)]
        assert list(found[0][0]) == list(found[1][0])
        assert found[0][1:] == found[1][1:]


SMALL = [
    {},
    {"close_up": "wave"},
    {"close_up": "auto"},
    {"reach": "line"},
    {"rows": 3, "columns": 3, "close_up": "auto"},
    {"rows": 2, "columns": 2},
    {"match": "sum", "total": 6, "single": "5"},
    {"match": "sum", "total": 6, "close_up": "wave"},
    {"match": "suit", "fixed": "A"},
    {"ranks": "A23", "decks": 2},
    {"match": "sum", "total": 5, "reach": "anywhere", "close_up": "auto", "packing": "in-place", "columns": 2},
    {"reach": "anywhere", "columns": 2},
    {"match": "suit", "reach": "anywhere", "close_up": "wave", "columns": 2},
    {"match": "suit", "single": "A", "reach": "anywhere", "columns": 2},
    {"match": "sum", "total": 6, "equals": "A", "reach": "anywhere", "close_up": "auto", "columns": 2},
]


@pytest.mark.parametrize("changes", SMALL)
def test_pruning_only_leaves_out_what_is_lost_in_small_games(changes):
    rules = TINY.override(changes)
    whole = (1 << rules.pack.size) - 1
    left_out = 0
    for number in range(1000 if kernel else 100):
        order = v1_order(rules.pack, number_seed(number))
        plain, pruned = (MaskSearch(rules, order, pruned=kind).decide([whole], 100_000) for kind in (False, True))
        assert (pruned[0], pruned[2]) == (plain[0], plain[2])
        assert pruned[1] <= plain[1]
        left_out += plain[1] - pruned[1]
    assert left_out


@native
@pytest.mark.parametrize("variant", SERVED)
def test_pruning_only_leaves_out_what_is_lost(variant):
    rules = VARIANTS[variant].rules
    whole = (1 << rules.pack.size) - 1
    for number in range(400):
        order = v1_order(rules.pack, number_seed(number))
        plain, pruned = (MaskSearch(rules, order, pruned=kind).decide([whole], 100_000) for kind in (False, True))
        assert pruned[1] <= plain[1]
        if plain[0][0] != UNDECIDED:
            assert (pruned[0], pruned[2]) == (plain[0], plain[2])


GRIDS = [name for name in VARIANTS if name not in SERVED]
SMALL_GRIDS = [
    {"packing": "columns"},
    {"packing": "columns", "rows": 4, "columns": 3},
    {"packing": "columns", "close_up": "wave"},
    {"packing": "columns", "close_up": "auto"},
    {"packing": "columns", "reach": "line", "rows": 3, "columns": 2},
    {"packing": "columns", "match": "sum", "total": 6, "single": "A"},
    {"packing": "columns", "match": "suit", "fixed": "A"},
    {"packing": "columns", "match": "suit", "rows": 3, "columns": 3},
    {"packing": "columns", "ranks": "A23", "decks": 2, "columns": 3},
    {"packing": "in-place", "close_up": "auto"},
    {"packing": "in-place", "close_up": "auto", "reach": "line", "rows": 3, "columns": 3},
    {
        "packing": "in-place",
        "close_up": "auto",
        "match": "suit",
        "fixed": "A",
        "reach": "line",
        "rows": 3,
        "columns": 3,
    },
    {"packing": "in-place", "close_up": "auto", "match": "sum", "total": 6, "single": "A", "columns": 3},
]


@pytest.mark.parametrize("changes", [*SMALL_GRIDS, {"packing": "fill-first", "close_up": "auto"}])
def test_the_grid_search_agrees_with_a_plain_one(changes):
    rules = Rules(ranks="A234", rows=2, columns=4).override(changes)
    found = set()
    for number in range(100):
        position, order = opening(rules, number)
        solution = solve(position, order)
        assert solution.verdict == plain_verdict(position, order)
        if solution.moves:
            assert replayed(rules, order, solution.moves).status == "won"
        assert solution == solve(position, order, native=False)
        found.add(solution.verdict)
    assert "winnable" in found  # with some of these rules all are


@pytest.mark.parametrize("changes", SMALL_GRIDS)
def test_pruning_only_leaves_out_what_is_lost_in_small_grids(changes):
    rules = TINY.override(changes)
    left_out = 0
    for number in range(500 if kernel else 20):
        position, order = opening(rules, number)
        plain, pruned = (GridSearch(rules, order, pruned=kind).decide(position, (), 200_000) for kind in (False, True))
        assert pruned[1] <= plain[1]
        if plain[0][0] != UNDECIDED:
            assert (pruned[0], pruned[2]) == (plain[0], plain[2])
        left_out += plain[1] - pruned[1]
    assert left_out


@native
@pytest.mark.parametrize("variant", GRIDS)
def test_pruning_only_leaves_out_what_is_lost_on_grids(variant):
    rules = VARIANTS[variant].rules
    for number in range(100):
        position, order = opening(rules, number)
        plain, pruned = (GridSearch(rules, order, pruned=kind).decide(position, (), 10_000) for kind in (False, True))
        assert pruned[1] <= plain[1]
        if plain[0][0] != UNDECIDED:
            assert (pruned[0], pruned[2]) == (plain[0], plain[2])


@native
@pytest.mark.parametrize("variant", GRIDS)
def test_the_kernel_searches_grids_as_the_python_does(variant):
    rules = VARIANTS[variant].rules
    for number in range(10):
        position, order = opening(rules, number)
        plans = [[(a, b[0] if b else GAP)] for a, *b in position.removals[:6]]
        for budget, some in ((200, ()), (3, plans), (40, plans)):
            found = [GridSearch(rules, order, native=kind).decide(position, some, budget) for kind in (True, False)]
            assert list(found[0][0]) == list(found[1][0])
            assert found[0][1:] == found[1][1:]


@native
@pytest.mark.parametrize("damage", [b"\xff", b"\xff" * 700])
def test_the_kernel_refuses_what_is_no_search(damage):
    order, cells = bytes([0, 1]), bytes([0, 1]) + bytes(16)
    plain = [bytes([1, 1, 0]), bytes(4), bytes(2), 0, 0, 0, False, order, cells, False, b"", 10]
    kernel.search(*plain)
    for place in (0, 1, 2, 7, 8, 10):
        broken = [*plain[:place], damage, *plain[place + 1 :]]
        if broken != plain:
            with pytest.raises((ValueError, TypeError)):
                kernel.search(*broken)


@pytest.mark.parametrize("variant", VARIANTS)
def test_lines_win_through_the_engine(variant):
    rules = VARIANTS[variant].rules
    solved = 0
    for number in range(30):
        position, order = opening(rules, number)
        solution = solve(position, order, 20_000)
        if solution.verdict == "winnable":
            game = replayed(rules, order, solution.moves)
            assert (game.status, game.undos) == ("won", 0)
            solved += 1
        else:
            assert solution.moves == ()
    assert solved or variant == "block-ten"  # one deal in 27


@pytest.mark.parametrize("close_up", ["free", "wave", "auto"])
def test_the_mask_search_agrees_with_a_search_over_whole_positions(close_up):
    rules = TINY.override({"close_up": close_up})
    found = set()
    for number in range(150):
        position, order = opening(rules, number)
        verdict = solve(position, order).verdict
        assert verdict == plain_verdict(position, order)
        found.add(verdict)
    assert found == {"winnable", "unwinnable"}


@pytest.mark.parametrize("packing", ["reading", "columns"])
@pytest.mark.parametrize("close_up", ["free", "wave"])
def test_positions_in_the_middle_of_a_wave_are_decided_too(close_up, packing):
    rules, draw = TINY.override({"close_up": close_up, "packing": packing}), Random(7)
    for number in range(120):
        position, order = opening(rules, number)
        for _ in range(draw.randrange(1, 5)):
            moves = list(position.legal_moves)
            if moves and moves[-1].type == "close_up" and draw.random() < 0.5:
                moves = [Move("compact")]
            if not moves:
                break
            position = change_all(position, decide(position, draw.choice(moves), order))
        found = solve(position, order)
        assert found.verdict == plain_verdict(position, order)
        assert found == solve(position, order, native=False)


def test_a_line_is_told_as_soon_as_it_is_found():
    # All cards of a suit go together, and an odd one out only where an ace goes alone: to pair at random is no way.
    rules = Rules(decks=2, rows=10, columns=10, match="suit", reach="anywhere", single="A")
    position, order = opening(rules, 3)
    assert replayed(rules, order, solve(position, order).moves).status == "won"


def test_a_budget_spent_is_undecided_and_repeats():
    rules = VARIANTS["monte-carlo"].rules
    hard = next(n for n in count() if solve(*opening(rules, n), 200).verdict == "undecided")
    position, order = opening(rules, hard)
    for budget in (1, 10, 200):
        assert solve(position, order, budget) == solve(position, order, budget)
        assert solve(position, order, budget).nodes == budget
    assert solve(position, order).verdict in ("winnable", "unwinnable")


def test_a_won_position_needs_no_search():
    rules = VARIANTS["simple-tens"].rules
    order = v1_order(rules.pack, number_seed(3))
    won = Position(rules, (None,) * rules.size, len(order), order)
    assert (solve(won, order).verdict, solve(won, order).nodes) == ("winnable", 0)


def test_two_decks_are_solved_though_cards_are_twice_there():
    rules = VARIANTS["monte-carlo-2-decks"].rules
    for number in range(12):
        position, order = opening(rules, number)
        solution = solve(position, order, 50_000)
        assert solution.verdict == "winnable"
        assert replayed(rules, order, solution.moves).status == "won"


@native
def test_a_path_of_a_step_for_every_card_fits():
    rules = Rules(decks=2, rows=2, columns=2, match="sum", total=26, single="A23456789TJQK", close_up="auto")
    order = rules.pack.cards()  # no two kings come near each other, so every card goes alone
    for kind in (True, False):
        verdicts, _, path = MaskSearch(rules, order, native=kind).decide([(1 << 104) - 1], 10**6)
        assert (verdicts[0], len(path)) == (WON, 105)


@pytest.mark.parametrize("number", range(8))
def test_a_pair_of_singles_is_one_removal_where_games_close_up_by_themselves(number):
    rules = VARIANTS["simple-carlo"].rules.override({"single": "K"})
    position, order = opening(rules, number)
    solution = solve(position, order, 50_000)
    assert solution.verdict == "winnable"
    assert replayed(rules, order, solution.moves).status == "won"


@native
@pytest.mark.parametrize("damage", [b"\xff", b"\xff" * 700])
def test_the_grid_kernel_refuses_what_is_no_search(damage):
    order, cells, plans = bytes([0, 1]), bytes([0, 1]), bytes([1, 0, 1])
    plain = [bytes([1, 1, 0]), bytes([1] * 4), bytes(2), 2, 0, 0, 2, True, order, cells, 2, False, plans, 10]
    assert list(kernel.search_grid(*plain)[0]) == [WON]
    for place in (0, 1, 2, 8, 9, 12):
        with pytest.raises((ValueError, TypeError)):
            kernel.search_grid(*[*plain[:place], damage, *plain[place + 1 :]])
    for place, value in (
        (3, 3),
        (5, 4),
        (6, 0),
        (6, 3),
        (10, 3),
        (10, -1),
        (12, bytes([2, 0, 1])),
        (12, bytes([1, 0, 0])),
    ):
        with pytest.raises(ValueError, match="not a search"):
            kernel.search_grid(*[*plain[:place], value, *plain[place + 1 :]])


ENDLESS = [
    {"match": "sum", "total": 2, "single": "23456789TJQ", "fixed": "K", "rows": 10, "columns": 5, "close_up": "wave"},
    {"decks": 2, "match": "suit", "rows": 10, "columns": 10, "close_up": "wave", "reach": "anywhere"},
    {"decks": 2, "match": "suit", "rows": 10, "columns": 10, "packing": "columns", "reach": "anywhere"},
]


@pytest.mark.parametrize("changes", ENDLESS)
@pytest.mark.parametrize("kind", [True, False])
def test_rules_with_waves_without_number_are_given_up(changes, kind):
    rules = Rules().override(changes)
    position, order = opening(rules, 3)
    assert solve(position, order, 20, native=kind) == solve(position, order, 20, native=kind)


@pytest.mark.parametrize("changes", ENDLESS)
def test_hints_by_such_rules_come_too(changes):
    rules = Rules().override(changes)
    game = begin(dealt_event(rules, v1_order(rules.pack, number_seed(3))))
    assert fair(game, 1).move in game.legal_moves
    assert exact(game, v1_order(rules.pack, number_seed(3)), 20).move in game.legal_moves


def test_a_search_given_up_is_no_verdict_of_a_hint():
    rules = VARIANTS["weddings-columns"].rules
    order = v1_order(rules.pack, number_seed(1))
    game = begin(dealt_event(rules, order))
    found = solve(game.position, order, 30)
    assert found.verdict == "undecided"
    assert (exact(game, order, 30).wins, exact(game, order, 30).samples) == (0, 0)
