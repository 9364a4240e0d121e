import dataclasses
from itertools import permutations

import pytest

from service.engine.cards import Cell
from service.engine.errors import Unreadable
from service.engine.events import (
    EVENT_TYPES,
    MOVE_TYPES,
    Compacted,
    Deal,
    Hinted,
    Move,
    Redone,
    Refilled,
    Removed,
    Resigned,
    Undone,
    Won,
    parse_move,
)
from service.engine.rules import Rules
from tests.engine.table import dealt, shortly

CELLS = [Cell(row, column) for row in range(1, 11) for column in range(1, 11)]
OTHERS = [type for type in MOVE_TYPES if type != "remove"]

EVENTS = [
    dealt(Rules(), Rules().pack.cards()),
    Removed((Cell(1, 1), Cell(2, 2)), ("5H", "5C")),
    Compacted(),
    Refilled((Cell(5, 5),), ("3D",), 26),
    Undone(3),
    Redone(5),
    Hinted("fair", Move("remove", (Cell(1, 1), Cell(2, 2))), 171, 200),
    Resigned(40),
    Won(0),
]


def test_the_moves_are_these_seven():
    assert set(MOVE_TYPES) == {"remove", "close_up", "compact", "refill", "undo", "redo", "resign"}
    assert len(MOVE_TYPES) == 7


@pytest.mark.parametrize("type", OTHERS)
def test_a_move_without_cells_reads_as_it_prints(type):
    assert str(Move(type)) == type
    assert parse_move(type) == Move(type)


def test_every_removal_reads_as_it_prints():
    removals = [Move("remove", cells) for cells in [*((cell,) for cell in CELLS), *permutations(CELLS, 2)]]
    assert [parse_move(str(move)) for move in removals] == removals
    assert len({str(move) for move in removals}) == 100 + 100 * 99


def test_a_removal_keeps_the_order_of_its_cells():
    assert str(Move("remove", (Cell(2, 2), Cell(1, 1)))) == "b2-a1"
    assert parse_move("b2-a1").cells == (Cell(2, 2), Cell(1, 1))


@pytest.mark.parametrize(
    "text",
    ["remove", "a1-b2-c3", "a1-a1-a1-a1", "-".join(["a1"] * 1000)],
    ids=["no cell", "three", "four", "a thousand"],
)
def test_a_removal_of_no_card_or_of_three_is_unreadable(text):
    with pytest.raises(Unreadable) as refusal:
        parse_move(text)
    assert refusal.value.code == "unreadable_move"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "-", "--", "a1-", "-a1", "-1", "1.5", "a0", "a11", "k1", "a1-k1", "a1-a0", "a1--b2", "a1 b2", "a1-b2 ",
        "A1-B2", "Undo", "undo ", "close up", "close-up", "close_up_", "deal", "hint", "a1\N{EN DASH}b2", "undo\0",
        "close_up" * 10_000, "a" * 100_000, "\N{FULLWIDTH LATIN SMALL LETTER A}1-b2", "a1-b\N{FULLWIDTH DIGIT TWO}",
        "re\N{LATIN SMALL LETTER LONG S}ign",
    ],
    ids=shortly,
)  # fmt: skip
def test_what_is_no_move_is_refused(text):
    with pytest.raises(Unreadable) as refusal:
        parse_move(text)
    assert refusal.value.code == "bad_cell"
    assert len(refusal.value.message) < 200


@pytest.mark.parametrize("type", ["", "deal", "Remove", "remove ", "undo\n", "x" * 100_000], ids=shortly)
def test_a_move_of_an_unknown_type_is_unreadable(type):
    with pytest.raises(Unreadable) as refusal:
        Move(type, (Cell(1, 1),))
    assert refusal.value.code == "unreadable_move"
    assert "close_up" in refusal.value.message
    assert len(refusal.value.message) < 200


@pytest.mark.parametrize("type", OTHERS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_only_a_removal_names_cells(type, count):
    with pytest.raises(Unreadable) as refusal:
        Move(type, tuple(CELLS[:count]))
    assert refusal.value.code == "unreadable_move"


@pytest.mark.parametrize("count", [0, 3, 100])
def test_a_removal_names_one_or_two_cells(count):
    with pytest.raises(Unreadable) as refusal:
        Move("remove", tuple(CELLS[:count]))
    assert refusal.value.code == "unreadable_move"


def test_each_type_of_event_is_known_by_its_name():
    assert {type: kind.type for type, kind in EVENT_TYPES.items()} == {type: type for type in EVENT_TYPES}
    assert {event.type for event in EVENTS} == set(EVENT_TYPES)


@pytest.mark.parametrize("thing", [*EVENTS, Move("undo"), Deal("secret")], ids=lambda thing: type(thing).__name__)
def test_moves_events_and_deals_never_change(thing):
    names = [field.name for field in dataclasses.fields(thing)] or ["type"]
    for name in names:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(thing, name, None)


def test_a_deal_is_open_unless_said_otherwise():
    assert Deal("pysol", "24") == Deal("pysol", "24", None, None, "open")
