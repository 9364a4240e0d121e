"""Hints: what the stock hides does not matter, and following them wins."""

import pickle
from random import Random

import pytest

from service.engine import hints
from service.engine.deals import number_seed, v1_order
from service.engine.errors import IllegalMove, ImpossibleRules
from service.engine.game import Position, apply, begin, fold_all
from service.engine.hints import exact, fair, first, interval
from service.engine.kernel import WON
from service.engine.rules import VARIANTS, known_rules
from tests.engine.table import dealt


def game_of(variant, number):
    """Return a numbered game at its opening, and its order."""
    rules = VARIANTS[variant].rules
    order = v1_order(rules.pack, number_seed(number))
    return begin(dealt(rules, order)), order


def follow(game, order, hint):
    """Play the plan of a hint."""
    for move in hint.plan:
        game = fold_all(game, apply(game, move, order))
    return game


def play(game, order, advise):
    """Follow hints to the end."""
    while game.status == "playing":
        game = follow(game, order, advise(game))
    return game


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_plan_can_be_played(variant):
    game, order = game_of(variant, 5)
    for _ in range(6):
        if game.status != "playing":
            break
        for hint in (first(game), fair(game, 3)):
            after = follow(game, order, hint)
            assert hint.move == hint.plan[0]
            assert after.version > game.version
        game = after
    assert game.version > 1


def test_first_is_the_first_pair_and_then_the_close_up():
    game, order = game_of("monte-carlo", 5)
    while game.status == "playing":
        hint = first(game)
        assert hint.move == game.legal_moves[0]
        assert [move.type for move in hint.plan[:-1]] == ["remove"] * (len(hint.plan) - 1)
        game = fold_all(game, apply(game, hint.move, order))


@pytest.mark.parametrize(
    "variant", ["monte-carlo", "monte-carlo-wave", "neighbour", "simple-pairs", "weddings-columns"]
)
def test_fair_and_first_never_depend_on_the_stock(variant):
    game, order = game_of(variant, 11)
    draw = Random(3)
    for _ in range(3):
        if game.status != "playing":
            break
        seen = len(game.shown)
        other = (*order[:seen], *draw.sample(order[seen:], len(order) - seen))
        assert fair(game, 10) == fair(game, 10)
        game = follow(game, order, fair(game, 10))
        assert other[:seen] == order[:seen]  # a Game holds no more of the order than this


def test_fair_remembers_cards_shown_by_moves_taken_back():
    game, order = game_of("monte-carlo", 11)
    closed = follow(game, order, fair(game, 5))
    back = closed
    while len(back.line) > 1:
        back = fold_all(back, apply(back, hints.Move("undo"), order))
    assert back.position == game.position
    assert len(back.shown) > len(game.shown)
    for drawn in hints._orders(back, 5):
        assert drawn[: len(back.shown)] == order[: len(back.shown)]
        assert sorted(drawn) == sorted(order)


def test_fair_wins_far_more_often_than_first():
    games = [game_of("monte-carlo", number) for number in range(12)]
    won = {
        advise: sum(play(game, order, advise).status == "won" for game, order in games)
        for advise in (first, lambda game: fair(game, 40))
    }
    plain, wise = won.values()
    assert wise >= plain + 4


def test_exact_wins_whatever_can_be_won():
    for number in range(12):
        game, order = game_of("monte-carlo", number)
        hint = exact(game, order, 100_000)
        if hint.wins:
            assert play(game, order, lambda game, order=order: exact(game, order, 100_000)).status == "won"
        else:
            assert hint.plan == first(game).plan


def test_orders_that_the_search_gives_up_may_be_won():
    hint = fair(game_of("quatorze", 3)[0], 40)
    assert (hint.wins, hint.undecided) == (0, 40)
    assert hint.interval == (0.0, 1.0)


def test_what_is_solved_is_certain():
    game, order = game_of("monte-carlo", 4)
    assert hints.exact(game, order, 1_000_000).interval == (1.0, 1.0)
    assert hints.exact(game, order, 1).interval == (0.0, 1.0)


def test_plans_are_bounded_for_all_rules():
    ranks = "A23456789TJQK"
    rules = known_rules(decks=2, rows=10, columns=10, match="suit", reach="line", single=ranks, close_up="auto")
    assert len(list(hints.plans(Position(rules, v1_order(rules.pack, number_seed(1))[:100], 100)))) == hints.MOST_PLANS


def test_the_interval_is_that_of_wilson():
    assert interval(0, 0) == (0.0, 1.0)
    low, high = interval(170, 200)
    assert (round(low, 4), round(high, 4)) == (0.7939, 0.8929)
    assert interval(200, 200)[1] == 1.0
    assert interval(0, 200)[0] == 0.0


@pytest.mark.parametrize("number", [9, 41, 58, 104])
@pytest.mark.parametrize("variant", ["monte-carlo", "monte-carlo-wave", "monte-carlo-thirteens"])
def test_plans_to_the_very_end_can_be_played(variant, number):
    """At the end of a game a removal may leave gaps that nothing closes: then the plan ends with the removal."""
    game, order = game_of(variant, number)
    while game.status == "playing":
        for plan in hints.plans(game.position):
            follow(game, order, hints.Hint("fair", plan))
        game = follow(game, order, fair(game, 2))
    assert game.status in ("won", "blocked")


@pytest.mark.parametrize(
    "variant", ["monte-carlo", "monte-carlo-wave", "monte-carlo-thirteens", "neighbour", "weddings-columns"]
)
def test_the_largest_plan_is_the_first_that_takes_most(variant, monkeypatch):
    monkeypatch.setattr(hints, "MOST_PLANS", 100_000)
    for number in range(5):
        game, order = game_of(variant, number)
        while game.status == "playing":
            plan = hints.largest(game.position)
            assert plan == max(hints.plans(game.position), key=lambda one: sum(len(move.cells) for move in one))
            game = follow(game, order, hints.Hint("first", plan))


@pytest.mark.parametrize("tries", [0, 1, 3, 7])
def test_the_largest_plan_is_legal_where_the_tries_are_spent(tries, monkeypatch):
    monkeypatch.setattr(hints, "_MOST_TRIES", tries)
    for number in range(1, 30):
        game, order = game_of("monte-carlo-wave", number)
        for move in hints.largest(game.position):
            game = fold_all(game, apply(game, move, order))


def test_the_better_half_of_the_plans_goes_on(monkeypatch):
    """However many plans there are, what is told of the best was seen in all orders."""
    game, _ = game_of("monte-carlo", 9)
    monkeypatch.setattr(hints, "_BUDGET", 10**9)
    assert len(list(hints.plans(game.position))) > 8
    hint = fair(game, 80)
    verdict = hints._by_masks(game, [hint.plan])
    assert hint.wins == sum(verdict(drawn)[0] == WON for drawn in hints._orders(game, 80))
    for samples in (1, 2, 7, 9):
        assert 0 <= fair(game, samples).wins <= samples


def test_refusals_cross_from_one_process_to_another():
    for error in (IllegalMove("empty_cell", "row 1 is empty"), ImpossibleRules("decks is 1 or 2")):
        error.move = 3
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.code, str(again), again.move) == (type(error), error.code, str(error), 3)
