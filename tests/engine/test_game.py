import inspect
import re
from itertools import combinations, permutations

import pytest

from service.engine import game as game_module
from service.engine.cards import RANKS, Cell, format_cards
from service.engine.deals import order
from service.engine.errors import IllegalMove, Unreadable
from service.engine.events import (
    Compacted,
    Move,
    Redone,
    Refilled,
    Removed,
    Resigned,
    Undone,
    Won,
    parse_move,
)
from service.engine.game import apply, begin, fold, fold_all
from service.engine.rules import VARIANTS, Rules
from tests.engine.table import GAP, Table, beginning_with, dealt, text_of

MONTE_CARLO = VARIANTS["monte-carlo"].rules
THIRTEENS = VARIANTS["monte-carlo-thirteens"].rules
SMALL = Rules(rows=2, columns=3)
SMALL_WAVE = Rules(rows=2, columns=3, close_up="wave")
SMALL_AUTO = Rules(rows=2, columns=3, close_up="auto", reach="anywhere")
IN_PLACE = Rules(rows=2, columns=3, reach="anywhere", close_up="auto", packing="in-place")
FILL_FIRST = Rules(rows=2, columns=3, match="sum", total=14, reach="line", close_up="auto", packing="fill-first")
TWO_PAIRS = "5H 5C 2H AC AH 3H KC KD"  # six on the grid, then the stock


def lonely(rules, cards):
    """A grid of gaps with cards on some places."""
    return " ".join(cards.get(place, GAP) for place in range(rules.size))


def events_of(table, move):
    return apply(table.game, parse_move(move), table.order)


# -- Known faults of other programs


@pytest.mark.parametrize("id", ["monte-carlo", "monte-carlo-4x5"])
def test_cards_touch_at_sides_and_corners_and_never_around_an_edge(id):
    rules = VARIANTS[id].rules
    for a, b in combinations(range(rules.size), 2):
        table = Table.set_up(rules, lonely(rules, {a: "5H", b: "5C"}))
        (row_a, column_a), (row_b, column_b) = rules.cells[a], rules.cells[b]
        touching = abs(row_a - row_b) <= 1 and abs(column_a - column_b) <= 1
        for first, second in ((a, b), (b, a)):
            move = Move("remove", (rules.cells[first], rules.cells[second]))
            assert table.refusal(move) == (None if touching else "not_touching"), move
        assert (str(Move("remove", (rules.cells[a], rules.cells[b]))) in table.legal) == touching


@pytest.mark.parametrize("move", ["e1-a2", "a2-e1", "e4-a5", "e1-a1", "a1-a5", "e5-a1", "a1-e2", "e1-a3"])
def test_rows_and_columns_do_not_wrap(move):
    a, b = (MONTE_CARLO.index(cell) for cell in parse_move(move).cells)
    table = Table.set_up(MONTE_CARLO, lonely(MONTE_CARLO, {a: "9C", b: "9H"}))
    assert table.refusal(move) == "not_touching"
    assert [text for text in table.legal if text != "close_up"] == []


@pytest.mark.parametrize("grid", ["5H -- 5C 2H 3H 4H", "5H AH 5C 2H 3H 4H"])
def test_neither_a_gap_nor_a_card_is_jumped(grid):
    assert Table.set_up(SMALL, grid).refusal("a1-c1") == "not_touching"


@pytest.mark.parametrize("id", VARIANTS)
def test_a_cell_named_twice_is_no_pair(id):
    rules = VARIANTS[id].rules
    table = Table(rules, order(rules.pack, "numbered", number="1"))
    for cell in rules.cells:
        assert table.refusal(Move("remove", (cell, cell))) == "same_cell"


def test_a_king_named_twice_is_not_a_king_alone():
    table = Table.set_up(THIRTEENS, lonely(THIRTEENS, {0: "KH", 1: "KC"}))
    assert table.refusal("a1-a1") == "same_cell"
    assert table.refusal("a1-b1") == "not_a_pair"
    assert table.refusal("a1") is None


@pytest.mark.parametrize("move", ["close_up", "compact"])
@pytest.mark.parametrize(
    ("grid", "stock"),
    [
        ("5H 5C AH 2H 3H 4H", "KH"),
        ("5H 5C AH 2H 3H 4H", ""),
        ("5H 5C AH -- -- --", ""),
        ("5H 5C AH 2H 3H --", ""),
        ("5H AH 2H -- -- --", ""),
    ],
    ids=["full with stock", "full", "gaps at the end", "one gap at the end", "blocked"],
)
def test_a_close_up_that_would_change_nothing_is_refused(grid, stock, move):
    table = Table.set_up(SMALL, grid, stock)
    assert table.refusal(move) == "nothing_to_close_up"
    assert "close_up" not in table.legal


def test_a_full_grid_without_a_pair_is_blocked_although_stock_is_left():
    table = Table.set_up(SMALL, "AH 2H 3H 4H 5H 6H", "AC 2C")
    assert table.legal == []
    assert table.game.status == "blocked"
    assert table.position.stock == 2


def test_gaps_that_a_close_up_closes_are_no_block_although_the_stock_is_empty():
    table = Table.set_up(SMALL, "5H -- 5C -- AH 2H")
    assert table.legal == ["close_up"]
    assert table.game.status == "playing"
    assert table.play("close_up") == ["compacted"]
    assert table.grid == "5H 5C AH 2H -- --"
    assert table.legal == ["a1-b1"]


def test_a_close_up_that_helps_nothing_is_still_a_move():
    table = Table.set_up(SMALL, "5H -- 6C -- AH 2H")
    assert table.game.status == "playing"
    table.play("close_up")
    assert table.game.status == "blocked"


@pytest.mark.parametrize("id", ["monte-carlo-thirteens", "neighbour", "thirteens"])
@pytest.mark.parametrize("rank", RANKS)
def test_only_kings_are_removed_alone_in_thirteens(id, rank):
    rules = VARIANTS[id].rules
    table = Table.deal(rules, f"{rank}H")
    assert table.refusal("a1") == (None if rank == "K" else "not_single")
    assert ("a1" in table.legal) == (rank == "K")


@pytest.mark.parametrize("id", [id for id, variant in VARIANTS.items() if not variant.rules.single])
def test_no_card_is_removed_alone_elsewhere(id):
    rules = VARIANTS[id].rules
    for rank in rules.ranks:
        assert Table.deal(rules, f"{rank}H").refusal("a1") == "not_single"


def test_the_undo_of_a_close_up_restores_every_card_to_its_cell():
    table = Table.deal(SMALL, "5H AH 5C AC 2H 3H KC KD")
    table.play("b1-a2")
    before = table.position
    assert table.play("close_up") == ["compacted", "refilled"]
    assert table.grid == "5H 5C 2H 3H KC KD"
    assert table.play("undo") == ["undone"]
    assert table.position == before
    assert table.grid == "5H -- 5C -- 2H 3H"
    assert table.position.removed == ("AH", "AC")


@pytest.mark.parametrize("again", ["redo", "close_up"])
def test_the_same_cards_come_again_after_an_undo(again):
    table = Table.deal(SMALL, "5H AH 5C AC 2H 3H KC KD")
    table.play("b1-a2", "close_up")
    after = table.position
    table.play("undo", again)
    assert table.position == after
    assert table.grid == "5H 5C 2H 3H KC KD"


def test_another_line_after_an_undo_deals_the_stock_in_its_order():
    table = Table.deal(SMALL, TWO_PAIRS + " 7S 8S")
    table.play("a1-b1", "close_up", "undo", "undo", "b2-a2", "close_up")
    assert table.grid == "5H 5C 2H 3H KC KD"
    table.play("undo", "a1-b1", "close_up")
    assert table.grid == "2H 3H KC KD 7S 8S"
    assert format_cards(table.game.shown[6:]) == "KC KD 7S 8S"


@pytest.mark.parametrize("kind", ["numbered", "pysol"])
def test_the_same_number_gives_the_same_deal(kind):
    games = [order(MONTE_CARLO.pack, kind, number=number) for number in ("617", "617", "618")]
    assert games[0] == games[1] != games[2]


def test_closing_up_keeps_the_reading_order():
    rules = Rules(rows=3, columns=3)
    table = Table.set_up(rules, "-- 9S 2H -- -- 9D KC -- 3D", "AS 4S")
    table.play("close_up")
    assert table.rows == ["9S 2H 9D", "KC 3D AS", "4S -- --"]
    assert table.position.stock == 0


def test_columns_slide_up_and_gaps_are_filled_in_reading_order():
    rules = Rules(rows=3, columns=3, packing="columns")
    table = Table.set_up(rules, "-- 9S 2H -- -- 9D KC 5C --", "AS 4S")
    table.play("close_up")
    assert table.rows == ["KC 9S 2H", "AS 5C 9D", "4S -- --"]


def test_columns_slid_up_already_have_nothing_to_close_up_without_stock():
    rules = Rules(rows=3, columns=3, packing="columns")
    table = Table.set_up(rules, "KC -- 2H AS -- 9D -- -- --")
    assert table.refusal("close_up") == "nothing_to_close_up"
    assert Table.set_up(rules, "KC -- 2H AS -- 9D -- -- --", "5C").legal == ["close_up"]


OUTSIDE = [(0, 1), (1, 0), (0, 0), (-1, 2), (2, -1), (-2, -3), (3, 1), (1, 4), (3, 4), (10, 10), (10**30, 1), (1, -9)]


@pytest.mark.parametrize("outside", OUTSIDE)
def test_a_cell_outside_the_grid_is_refused_wherever_it_is_named(outside):
    table = Table.deal(SMALL, "5H 5C AH 2H 3H 4H")
    inside, outside = Cell(1, 1), Cell(*outside)
    for cells in ((outside,), (outside, inside), (inside, outside), (outside, outside)):
        with pytest.raises(Unreadable) as refusal:
            apply(table.game, Move("remove", cells), table.order)
        assert refusal.value.code == "outside_grid"


# -- Every refusal

REFUSALS = {
    "not_a_pair": (Table.deal(SMALL, "5H 6H"), "a1-b1"),
    "not_single": (Table.deal(SMALL, "KH"), "a1"),
    "not_touching": (Table.deal(SMALL, "5H 6H 5C"), "a1-c1"),
    "not_in_line": (Table.deal(VARIANTS["fourteens"].rules, "AH 2C 3C 4C 5C 6C KH"), "a1-b2"),
    "empty_cell": (Table.set_up(SMALL, "5H -- -- 5C 2H 3H"), "a1-b1"),
    "same_cell": (Table.deal(SMALL, "5H"), "a1-a1"),
    "nothing_to_close_up": (Table.deal(SMALL, "5H"), "close_up"),
    "removals_remain": (Table.set_up(SMALL_WAVE, "-- -- 2H 3H 5H 5C", "AH"), "close_up"),
    "refill_due": (Table.set_up(SMALL, "-- -- 2H 3H 5H 5C", "AH"), "compact close_up"),
    "nothing_to_refill": (Table.set_up(SMALL, "-- -- 2H 3H 5H 5C", "AH"), "refill"),
    "nothing_to_undo": (Table.deal(SMALL, "5H"), "undo"),
    "nothing_to_redo": (Table.deal(SMALL, "5H 5C"), "a1-b1 redo"),
    "game_over": (Table.deal(SMALL, "5H 5C"), "resign a1-b1"),
    "outside_grid": (Table.deal(SMALL, "5H"), "a1-d1"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_has_a_code_and_a_sentence_and_leaves_the_game_as_it_is(code):
    table, moves = REFUSALS[code]
    table = Table(table.rules, table.order, table.game)
    *before, last = moves.split()
    table.play(*before)
    game = table.game
    with pytest.raises(Unreadable if code == "outside_grid" else IllegalMove) as refusal:
        table.play(last)
    assert refusal.value.code == code
    assert 10 < len(refusal.value.message) < 200
    assert table.game is game


def test_no_other_code_is_raised_by_a_move():
    codes = set(re.findall(r'IllegalMove\(\s*"(\w+)"', inspect.getsource(game_module)))
    assert codes == set(REFUSALS) - {"outside_grid"}


def test_a_move_that_is_none_is_unreadable_before_any_game_sees_it():
    with pytest.raises(Unreadable) as refusal:
        Move("close_up", (Cell(1, 1),))
    assert refusal.value.code == "unreadable_move"


@pytest.mark.parametrize("cells", ["b1", "b1-a1", "a1-b1", "b1-c1"])
def test_an_empty_cell_is_named_in_the_refusal(cells):
    table = Table.set_up(SMALL, "5H -- -- 5C 2H 3H")
    with pytest.raises(IllegalMove, match="row 1, column 2 is empty") as refusal:
        table.play(cells)
    assert refusal.value.code == "empty_cell"


def test_a_fixed_card_is_in_no_pair():
    rules = VARIANTS["aces-square"].rules
    table = Table.deal(rules, "AH 2H 3C 4H")
    assert table.refusal("a1-b1") == "not_a_pair"
    assert table.refusal("a1") == "not_single"
    assert table.refusal("b1-d1") is None


def test_a_pair_in_line_may_have_anything_between():
    table = Table.set_up(VARIANTS["fourteens"].rules, "AH 5C -- 6C KH" + " --" * 15 + " KC -- -- -- AC")
    assert table.legal == ["a1-e1", "a1-a5", "e1-e5", "a5-e5", "close_up"]


def test_twins_of_two_decks_are_a_pair():
    table = Table.deal(VARIANTS["monte-carlo-2-decks"].rules, "5H 5H")
    assert table.play("a1-b1") == ["removed"]


# -- Legal moves


def test_removals_are_listed_in_reading_order_and_the_close_up_last():
    rules = Rules(rows=2, columns=3, match="sum", total=13, single="K")
    table = Table.set_up(rules, "AH KH QC -- AC QS", "2H")
    assert table.legal == ["b1", "c1-b2", "b2-c2", "close_up"]
    table = Table.set_up(rules, "KH AC QC KC QS AH", "2H")
    assert table.legal == ["a1", "b1-c1", "b1-b2", "c1-c2", "a2", "b2-c2"]


def test_undo_redo_and_resign_are_never_listed():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "close_up", "undo")
    assert [move for move in ("undo", "redo", "resign") if table.refusal(move) is None] == ["undo", "redo", "resign"]
    assert table.legal == ["a2-b2", "close_up"]


def test_by_waves_the_grid_closes_up_when_no_removal_is_left():
    table = Table.set_up(SMALL_WAVE, "-- 5H 5C 2H -- 3H", "AH")
    assert table.legal == ["b1-c1"]
    assert table.refusal("compact") == "removals_remain"
    table.play("b1-c1")
    assert table.legal == ["close_up"]
    table.play("close_up")
    assert table.grid == "2H 3H AH -- -- --"


@pytest.mark.parametrize("move", ["close_up", "compact"])
@pytest.mark.parametrize("rules", [SMALL_AUTO, IN_PLACE, FILL_FIRST], ids=["reading", "in place", "fill first"])
def test_a_game_that_closes_up_by_itself_is_never_told_to(rules, move):
    table = Table.set_up(rules, "-- 5H -- 2H -- 3H", "AH")
    assert table.refusal(move) == "nothing_to_close_up"
    assert table.game.status == "blocked"


# -- Closing up in one move or in halves


def test_a_close_up_says_what_moved_and_what_was_dealt():
    table = Table.set_up(SMALL, "-- 5H -- 2H 3H 4H", "KH AH 7H")
    assert events_of(table, "close_up") == (
        Compacted(),
        Refilled((Cell(2, 2), Cell(2, 3)), ("KH", "AH"), stock=1),
    )


@pytest.mark.parametrize(
    ("grid", "stock", "events"),
    [
        ("-- 5H -- 2H 3H 4H", "KH AH", ["compacted", "refilled"]),
        ("5H 2H 3H 4H -- --", "KH AH", ["refilled"]),
        ("-- 5H -- 2H 3H 4H", "", ["compacted"]),
        ("-- -- -- -- -- --", "KH AH", ["refilled"]),
        ("-- 5H -- 2H 3H 4H", "KH", ["compacted", "refilled"]),
    ],
    ids=["both", "no card moves", "no card is dealt", "an empty grid", "too little stock"],
)
def test_a_close_up_writes_only_what_happens(grid, stock, events):
    table = Table.set_up(SMALL, grid, stock)
    assert table.play("close_up") == events
    assert table.game.version == 1 + len(events)
    assert len(table.game.line) == 2


def test_the_halves_of_a_close_up_are_moves_of_their_own():
    table = Table.deal(SMALL, "5H AH 5C AC 2H 3H KC KD")
    table.play("b1-a2")
    apart, whole = table.position, Table(SMALL, table.order, table.game)
    whole.play("close_up")

    assert table.play("compact") == ["compacted"]
    compacted = table.position
    assert (table.grid, compacted.phase, compacted.stock) == ("5H 5C 2H 3H -- --", "refill", 46)
    assert table.legal == ["refill"]
    assert table.game.status == "playing"
    assert table.play("refill") == ["refilled"]
    assert table.position == whole.position

    table.play("undo")
    assert table.position == compacted
    assert table.game.undone_refills == 1
    table.play("undo")
    assert table.position == apart
    assert (table.game.undos, table.game.undone_refills) == (2, 1)
    table.play("redo")
    assert table.position == compacted
    table.play("redo")
    assert table.position == whole.position


@pytest.mark.parametrize("move", ["a1-b1", "a1", "close_up", "compact", "a1-c2"])
def test_only_a_refill_goes_on_from_a_compacted_grid(move):
    table = Table.set_up(SMALL, "5H 5C -- 2H 3H 4H", "KH AH")
    table.play("compact")
    assert table.refusal(move) == "refill_due"
    assert table.position.removals == ()


def test_undo_and_resign_stay_open_on_a_compacted_grid():
    table = Table.set_up(SMALL, "5H 5C -- 2H 3H 4H", "KH AH")
    table.play("compact")
    assert [move for move in ("undo", "redo", "resign") if table.refusal(move) is None] == ["undo", "resign"]


def test_compacting_leaves_nothing_to_refill_without_stock():
    table = Table.set_up(SMALL, "-- 5H -- 2H 3H 4H")
    assert table.play("compact") == ["compacted"]
    assert table.position.phase == "play"
    assert table.refusal("refill") == "nothing_to_refill"
    assert table.refusal("compact") == "nothing_to_close_up"


def test_compacting_is_legal_where_only_the_stock_would_move():
    table = Table.set_up(SMALL, "5H 2H 3H 4H -- --", "KH AH")
    table.play("compact")
    assert (table.grid, table.legal) == ("5H 2H 3H 4H -- --", ["refill"])
    table.play("refill")
    assert table.grid == "5H 2H 3H 4H KH AH"


# -- Games that close up by themselves


@pytest.mark.parametrize(
    ("stock", "move", "grid"),
    [
        ("KH 2C 3C", "a1-c2", "KH AH 2H 3H 4H 2C"),
        ("KH 2C 3C", "c2-a1", "2C AH 2H 3H 4H KH"),
        ("KH", "a1-c2", "KH AH 2H 3H 4H --"),
        ("KH", "c2-a1", "-- AH 2H 3H 4H KH"),
        ("", "c2-a1", "-- AH 2H 3H 4H --"),
    ],
    ids=["in reading order", "against it", "one card left", "one card left, against it", "none left"],
)
def test_in_place_the_first_named_cell_is_filled_first(stock, move, grid):
    table = Table.set_up(IN_PLACE, "5H AH 2H 3H 4H 5C", stock)
    assert table.play(move) == (["removed", "refilled"] if stock else ["removed"])
    assert table.grid == grid


def test_in_place_a_refill_names_its_cells_in_the_order_of_filling():
    table = Table.set_up(IN_PLACE, "5H AH 2H 3H 4H 5C", "KH 2C")
    assert events_of(table, "c2-a1") == (
        Removed((Cell(2, 3), Cell(1, 1)), ("5C", "5H")),
        Refilled((Cell(2, 3), Cell(1, 1)), ("KH", "2C"), stock=0),
    )
    table = Table.set_up(IN_PLACE, "5H AH 2H 3H 4H 5C", "KH")
    assert events_of(table, "c2-a1")[1] == Refilled((Cell(2, 3),), ("KH",), stock=0)


def test_in_place_gaps_stay_once_the_stock_is_empty():
    table = Table.set_up(IN_PLACE, "5H AH 2H 2C AC 5C")
    assert table.play("b1-b2") == ["removed"]
    assert table.grid == "5H -- 2H 2C -- 5C"
    assert table.play("c1-a2") == ["removed"]
    assert table.grid == "5H -- -- -- -- 5C"


@pytest.mark.parametrize(
    ("grid", "stock", "move", "events", "after"),
    [
        ("AH 2H KH 3H 4H 5H", "QS JS TS", "c1-a1", ["removed", "refilled"], "QS 2H JS 3H 4H 5H"),
        ("AH 2H KH 3H 4H 5H", "QS", "c1-a1", ["removed", "refilled", "compacted"], "QS 2H 3H 4H 5H --"),
        ("AH 2H KH 3H 4H 5H", "", "c1-a1", ["removed", "compacted"], "2H 3H 4H 5H -- --"),
        ("2H 3H 4H 5H AH KH", "QS", "c2-b2", ["removed", "refilled"], "2H 3H 4H 5H QS --"),
        ("2H 3H 4H 5H AH KH", "", "c2-b2", ["removed"], "2H 3H 4H 5H -- --"),
    ],
    ids=["where the gaps are", "one card for two gaps", "no stock", "one card at the end", "no stock at the end"],
)
def test_filling_first_packs_only_what_is_left(grid, stock, move, events, after):
    table = Table.set_up(FILL_FIRST, grid, stock)
    assert table.play(move) == events
    assert table.grid == after
    assert table.position.phase == "play"


@pytest.mark.parametrize(
    ("grid", "stock", "move", "events", "after"),
    [
        ("5H 2H 5C 3H 4H AH", "QS JS", "c1-a1", ["removed", "compacted", "refilled"], "2H 3H 4H AH QS JS"),
        ("5H 2H 5C 3H 4H AH", "QS", "c1-a1", ["removed", "compacted", "refilled"], "2H 3H 4H AH QS --"),
        ("5H 2H 5C 3H 4H AH", "", "c1-a1", ["removed", "compacted"], "2H 3H 4H AH -- --"),
        ("2H 3H 4H AH 5H 5C", "QS JS", "c2-b2", ["removed", "refilled"], "2H 3H 4H AH QS JS"),
        ("2H 3H 4H AH 5H 5C", "", "c2-b2", ["removed"], "2H 3H 4H AH -- --"),
    ],
)
def test_a_removal_closes_up_in_reading_order_by_itself(grid, stock, move, events, after):
    table = Table.set_up(SMALL_AUTO, grid, stock)
    assert table.play(move) == events
    assert table.grid == after
    assert table.position.phase == "play"


def test_a_removal_that_closes_up_by_itself_is_taken_back_whole():
    table = Table.set_up(SMALL_AUTO, "5H 2H 5C 3H 4H AH", "QS JS")
    before = table.position
    table.play("a1-c1", "undo")
    assert table.position == before
    assert table.game.undone_refills == 1
    assert table.refusal("undo") == "nothing_to_undo"


def test_a_king_alone_closes_up_by_itself():
    table = Table.set_up(VARIANTS["thirteens"].rules, "2H KH 3H 4H 5H 6H AC 2C 3C 4C", "QS JS")
    assert table.play("b1") == ["removed", "refilled"]
    assert table.grid == "2H QS 3H 4H 5H 6H AC 2C 3C 4C"


# -- Undo and redo


def test_undo_and_redo_name_the_version_whose_position_they_restore():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1")  # version 2
    table.play("close_up")  # versions 3 and 4
    assert table.game.version == 4
    assert events_of(table, "undo") == (Undone(2),)
    table.play("undo")
    assert events_of(table, "redo") == (Redone(4),)
    assert events_of(table, "undo") == (Undone(1),)
    table.play("undo")
    assert events_of(table, "redo") == (Redone(2),)
    table.play("redo", "redo")
    assert table.game.version == 8
    assert events_of(table, "undo") == (Undone(2),)


def test_an_undo_past_a_refill_is_counted_apart():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "undo")
    assert (table.game.undos, table.game.undone_refills) == (1, 0)
    table.play("redo", "close_up", "undo")
    assert (table.game.undos, table.game.undone_refills) == (2, 1)
    table.play("undo")
    assert (table.game.undos, table.game.undone_refills) == (3, 1)
    table.play("redo", "redo", "undo")
    assert (table.game.undos, table.game.undone_refills) == (4, 2)


def test_an_undo_past_a_close_up_without_stock_shows_nothing():
    table = Table.set_up(SMALL, "5H -- 5C -- AH 2H")
    table.play("close_up", "undo")
    assert (table.game.undos, table.game.undone_refills) == (1, 0)


def test_a_new_move_forgets_the_moves_taken_back():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "close_up", "undo", "undo", "a2-b2")
    assert table.game.undone == ()
    assert table.refusal("redo") == "nothing_to_redo"
    table.play("undo")
    assert table.grid == "5H 5C 2H AC AH 3H"
    table.play("redo")
    assert table.grid == "5H 5C 2H -- -- 3H"
    assert table.refusal("redo") == "nothing_to_redo"


def test_making_the_undone_move_anew_forgets_the_others():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "close_up", "undo", "undo", "a1-b1")
    assert table.refusal("redo") == "nothing_to_redo"


def test_a_refused_move_forgets_nothing():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "undo")
    assert table.refusal("a1-c1") == "not_a_pair"
    assert table.play("redo") == ["redone"]


def test_a_blocked_game_goes_on_after_an_undo():
    table = Table.set_up(SMALL, "5H 5C 5D 2H 3H 4H", "AH AC")
    table.play("a1-b1", "close_up")
    assert (table.grid, table.game.status) == ("5D 2H 3H 4H AH AC", "playing")
    table.play("b2-c2")
    assert table.game.status == "blocked"
    table.play("undo", "undo", "undo")
    assert table.legal == ["a1-b1", "b1-c1"]
    assert table.game.status == "playing"


# -- The end of a game


def test_the_last_removal_wins():
    table = Table.set_up(SMALL, "5H 5C -- -- -- --")
    assert events_of(table, "a1-b1") == (Removed((Cell(1, 1), Cell(1, 2)), ("5H", "5C")), Won(0))
    assert table.play("a1-b1") == ["removed", "won"]
    assert (table.game.status, table.game.over, table.game.version) == ("won", "won", 3)
    assert table.legal == []


def test_an_empty_grid_with_stock_left_is_not_won():
    table = Table.set_up(SMALL, "5H 5C -- -- -- --", "AH AC")
    assert table.play("a1-b1") == ["removed"]
    assert table.grid == "-- -- -- -- -- --"
    assert (table.legal, table.game.status) == (["close_up"], "playing")
    table.play("close_up")
    assert table.grid == "AH AC -- -- -- --"
    assert table.play("a1-b1") == ["removed", "won"]


@pytest.mark.parametrize(
    ("id", "grid", "move", "left"),
    [
        ("aces-square", "AH AC AD AS 2H 3H" + " --" * 10, "a2-b2", 4),
        ("block-ten", "TH TC TD TS JH JC -- -- --", "b2-c2", 4),
        ("aces-square-5x5", "AC 2D 3H 4S 5S 6S" + " --" * 19, "d1-e1", 4),
        ("simple-tens", "AH 9C -- -- -- -- -- -- --", "a1-b1", 0),
        ("neighbour", "KH" + " --" * 24, "a1", 0),
        ("monte-carlo-2-decks", "KH KH" + " --" * 23, "a1-b1", 0),
    ],
)
def test_a_game_is_won_when_all_is_removed_that_can_be(id, grid, move, left):
    table = Table.set_up(VARIANTS[id].rules, grid)
    assert table.play(move)[-1] == "won"
    assert table.position.cards_left == left


def test_the_end_reveals_the_secret_and_no_other_move_does():
    table = Table.set_up(SMALL, "5H -- 5C -- -- --")
    assert apply(table.game, Move("close_up"), table.order, "5ec7e7") == (Compacted(),)
    table.play("close_up")
    assert apply(table.game, parse_move("a1-b1"), table.order, "5ec7e7")[-1] == Won(0, "5ec7e7")
    assert apply(table.game, Move("resign"), table.order, "5ec7e7") == (Resigned(2, "5ec7e7"),)
    assert apply(table.game, Move("resign"), table.order) == (Resigned(2, None),)


@pytest.mark.parametrize(
    "before", ["", "a1-b1", "a1-b1 undo", "a1-b1 compact"], ids=["at once", "later", "after an undo", "in the middle"]
)
def test_a_game_resigned_is_lost(before):
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play(*before.split())
    assert table.play("resign") == ["resigned"]
    assert (table.game.status, table.game.over) == ("lost", "lost")
    assert table.legal == []


@pytest.mark.parametrize("move", ["a1-b1", "a1", "close_up", "compact", "refill", "undo", "redo", "resign"])
@pytest.mark.parametrize("end", ["resign", "win"])
def test_no_move_is_left_when_the_game_is_over(end, move):
    table = Table.set_up(SMALL, "5H 5C -- -- -- --")
    table.play("resign" if end == "resign" else "a1-b1")
    assert table.refusal(move) == "game_over"


def test_a_blocked_game_can_be_resigned():
    table = Table.set_up(SMALL, "AH 2H 3H 4H 5H 6H", "AC 2C")
    assert table.play("resign") == ["resigned"]


# -- Deciding and folding


def test_a_new_game_is_at_version_one_with_its_grid_dealt():
    cards = beginning_with(SMALL, "5H 5C AH 2H 3H 4H KC")
    game = begin(dealt(SMALL, cards))
    assert game.version == 1
    assert text_of(game.position.grid) == "5H 5C AH 2H 3H 4H"
    assert game.shown == cards[:6]
    assert (game.position.stock, game.position.cards_left, game.position.removed) == (46, 52, ())
    assert (game.undos, game.undone_refills, game.hints, game.over) == (0, 0, 0, None)


def test_a_game_knows_only_the_cards_shown():
    table = Table.deal(SMALL, TWO_PAIRS + " 7S")
    table.play("a1-b1", "close_up")
    assert table.game.shown == table.order[:8]
    table.play("undo", "undo")
    assert table.game.shown == table.order[:8]


def test_cards_once_shown_stay_known_when_another_line_deals_fewer():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("a1-b1", "b2-a2", "close_up", "undo", "undo", "close_up")
    assert table.position.dealt == 8
    assert table.game.shown == table.order[:10]


def test_the_version_counts_events():
    table = Table.deal(SMALL, TWO_PAIRS)
    versions = []
    for move in ("a1-b1", "close_up", "undo", "redo", "resign"):
        table.play(move)
        versions.append(table.game.version)
    assert versions == [2, 4, 5, 6, 7]


def test_deciding_changes_no_game():
    table = Table.deal(SMALL, TWO_PAIRS)
    game, position = table.game, table.position
    folded = fold_all(game, events_of(table, "a1-b1"))
    assert table.game is game
    assert game.position is position
    assert text_of(game.position.grid) == "5H 5C 2H AC AH 3H"
    assert folded.version == 2


def test_a_game_is_dealt_once():
    table = Table.deal(SMALL, "5H 5C")
    with pytest.raises(ValueError, match="dealt once"):
        fold(table.game, dealt(SMALL, table.order), 2)


def test_removed_cards_are_kept_in_the_order_in_which_they_were_named():
    table = Table.deal(SMALL, TWO_PAIRS)
    table.play("b1-a1", "a2-b2")
    assert format_cards(table.position.removed) == "5C 5H AC AH"
    assert table.position.cards_left == 48


def test_the_same_removals_in_any_order_leave_the_same_grid():
    grids = set()
    for moves in permutations(["a1-b1", "c1-b2", "a2-c2"]):
        table = Table.set_up(Rules(rows=2, columns=3, reach="anywhere"), "5H 5C AH 2H AC 2C", "KH KC")
        table.play(*moves, "close_up")
        grids.add(table.grid)
    assert grids == {"KH KC -- -- -- --"}
