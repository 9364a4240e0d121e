import json

import pytest

from service.engine.deals import order
from service.engine.rules import VARIANTS, Rules
from service.engine.state import freeze, lean, split_cards, thaw
from tests.engine.table import Table

SMALL = Rules(rows=2, columns=3)
TWO_PAIRS = "5H 5C 2H AC AH 3H KC KD"


def thawed(table):
    """The table after its state went through JSON."""
    game = table.game
    state = json.loads(json.dumps(freeze(game)))
    return Table(table.rules, table.order, thaw(game.rules, table.order, game.version, game.status, state))


def test_a_state_is_a_few_short_texts_and_numbers():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "b2-a2", "undo", "close_up", "undo")
    assert freeze(table.game) == {
        "grid": "-- -- 2H AC AH 3H",
        "dealt": 6,
        "removed": "5H 5C",
        "phase": "play",
        "shown": 8,
        "line": "1 2-a1b1",
        "undone": "6+*b2c2",
        "undos": 2,
        "undone_refills": 1,
        "hints": 0,
    }


@pytest.mark.parametrize(
    "moves",
    [
        "",
        "a1-b1",
        "b1-a1",
        "a1-b1 close_up",
        "a1-b1 compact",
        "a1-b1 compact refill",
        "a1-b1 undo",
        "a1-b1 close_up undo undo",
        "a1-b1 close_up undo undo redo",
        "a1-b1 compact refill undo undo undo redo",
        "a1-b1 close_up undo b2-a2",
        "a1-b1 close_up undo undo b2-a2 close_up undo",
        "a1-b1 resign",
        "resign",
    ],
)
def test_a_game_thaws_as_it_was_frozen(moves):
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play(*moves.split())
    again = thawed(table)
    slim = lean(table.game)
    assert slim == table.game
    assert [step.position for step in (*slim.line, *slim.undone)] == [
        step.position for step in (*again.game.line, *again.game.undone)
    ]
    assert again.game == table.game
    assert again.game.status == table.game.status
    assert again.legal == table.legal


@pytest.mark.parametrize("id", VARIANTS)
def test_a_thawed_game_is_undone_and_redone_as_the_live_one(id):
    rules = VARIANTS[id].rules
    live = Table(rules, order(rules.pack, "numbered", number="11"))
    while live.legal and live.position.cards_left > 20:
        live.play(live.legal[-1])
    positions = []
    while live.refusal("undo") is None:
        positions.append(live.position)
        again = thawed(live)
        live.play("undo")
        again.play("undo")
        assert again.game == live.game
    for position in reversed(positions):
        again = thawed(live)
        live.play("redo")
        again.play("redo")
        assert again.game == live.game
        assert live.position == position
    assert len(positions) > 1


def test_a_game_can_be_frozen_between_any_two_moves():
    table = Table.deal(SMALL, TWO_PAIRS)
    again = Table(SMALL, table.order, table.game)
    moves = "b1-a1 close_up undo redo undo undo redo b2-a2 compact undo redo refill undo undo undo redo resign"
    for move in moves.split():
        table.play(move)
        again = thawed(again)
        again.play(move)
        assert again.game == table.game


def test_a_won_game_thaws_won():
    rules = Rules(ranks="AK", rows=2, columns=4, reach="anywhere")
    table = Table.deal(rules, "AC AD AH AS KC KD KH KS")
    table.play("a1-b1", "c1-d1", "a2-b2", "c2-d2")
    assert table.game.status == "won"
    assert thawed(table).game == table.game
    assert thawed(table).refusal("undo") == "game_over"


@pytest.mark.parametrize("status", ["playing", "blocked"])
def test_a_blocked_game_thaws_as_one_that_goes_on(status):
    table = Table.deal(SMALL, "AH 2H 3H 4H 5H 6H")
    game = thaw(SMALL, table.order, 1, status, freeze(table.game))
    assert game == table.game
    assert game.over is None
    assert game.status == "blocked"


def test_two_decks_freeze_their_twins():
    table = Table.deal(VARIANTS["monte-carlo-2-decks"].rules, "5H 5H 6H 6H")
    table.play("a1-b1", "close_up", "undo", "undo", "c1-d1")
    assert thawed(table).game == table.game


def test_the_last_row_and_column_of_the_largest_grid_survive():
    rules = Rules(decks=2, rows=10, columns=10)
    others = [card for card in rules.pack.cards() if card != "KC"]
    table = Table.deal(rules, " ".join(others[:98]) + " KC KC")
    table.play("j10-i10", "compact", "refill", "undo", "undo")
    assert "-j10i10" in freeze(table.game)["line"]
    assert "*i10j10" in freeze(table.game)["undone"]
    again = thawed(table)
    for move in ("redo", "redo", "undo", "undo", "undo", "redo", "redo", "redo"):
        again = thawed(again)
        table.play(move)
        again.play(move)
        assert again.game == table.game


def test_the_order_in_which_cells_were_named_survives():
    rules = Rules(rows=2, columns=3, reach="anywhere", close_up="auto", packing="in-place")
    table = Table.deal(rules, "5H 6H 2H 6C 3H 5C KH QH JH TH")
    table.play("c2-a1", "a2-b1")
    assert table.grid == "QH TH 2H JH 3H KH"
    positions = []
    for move in ("undo", "undo", "redo", "redo"):
        again = thawed(table)
        table.play(move)
        again.play(move)
        assert again.game == table.game
        positions.append(table.grid)
    assert positions == ["QH 6H 2H 6C 3H KH", "5H 6H 2H 6C 3H 5C", "QH 6H 2H 6C 3H KH", "QH TH 2H JH 3H KH"]


def test_a_state_says_nothing_of_the_stock():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "close_up", "undo")
    other = Table(SMALL, (*table.order[:8], *reversed(table.order[8:])))
    other.play("a1-b1", "close_up", "undo")
    assert freeze(other.game) == freeze(table.game)
    written = json.dumps(freeze(table.game))
    assert [card for card in table.order[6:] if card in written] == []


def test_a_state_stays_short_however_often_moves_are_taken_back():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "close_up")
    before = freeze(table.game)
    for _ in range(500):
        table.play("undo", "undo", "redo", "redo")
    after = freeze(table.game)
    assert (after.pop("undos"), after.pop("undone_refills")) == (1000, 500)
    assert after.items() <= before.items()


def test_hints_survive():
    table = Table.deal(SMALL, TWO_PAIRS)
    state = {**freeze(table.game), "hints": 3}
    game = thaw(SMALL, table.order, 4, "playing", state)
    assert (game.hints, game.version) == (3, 4)
    assert freeze(game) == state


@pytest.mark.parametrize(("text", "cards"), [("", ()), ("5H", ("5H",)), ("5H -- TC", ("5H", "--", "TC"))])
def test_written_cards_are_taken_at_their_word(text, cards):
    assert split_cards(text) == cards
