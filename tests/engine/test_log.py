import dataclasses
import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine.cards import Cell, format_cards
from service.engine.deals import order
from service.engine.events import (
    Compacted,
    Deal,
    Redone,
    Refilled,
    Removed,
    Resigned,
    Undone,
    Won,
    parse_move,
)
from service.engine.game import apply, begin, fold_all
from service.engine.log import (
    FIRST_PREVIOUS,
    canonical,
    cell_data,
    deal_data,
    event_data,
    event_hash,
    grid_data,
    read_event,
    replay,
    timestamp,
    write,
)
from service.engine.rules import VARIANTS, Rules
from tests.engine.table import beginning_with, dealt

GAME = "00000000-0000-4000-8000-000000000001"
NOON = 1793491200123
SMALL = Rules(rows=2, columns=3)
DECK = beginning_with(SMALL, "5H 5C 2H AC AH 3H KC KD")
NUMBERED = dealt(SMALL, order(SMALL.pack, "numbered", number="7"), deal=Deal("numbered", "7"))
SECRET = dealt(SMALL, DECK, deal=Deal("secret", None, "c0ffee" + "0" * 58, "caf\u00e9", "joint"))
RANKED = dataclasses.replace(SECRET, ranked=True, deadline="2026-11-02T00:00:00.000Z")

EVENTS = {
    "a deck": dealt(SMALL, DECK),
    "a numbered deal": NUMBERED,
    "a secret deal": SECRET,
    "a ranked game": RANKED,
    "a pair": Removed((Cell(2, 1), Cell(1, 1)), ("5H", "5C")),
    "a king": Removed((Cell(5, 5),), ("KH",)),
    "a compacted grid": Compacted(),
    "a refill": Refilled((Cell(2, 2), Cell(2, 3)), ("KC", "KD"), 44),
    "an undo": Undone(2),
    "a redo": Redone(4),
    "an open end": Resigned(40),
    "a revealed end": Resigned(40, "5e" * 32),
    "a win": Won(0, "5e" * 32),
    "a win with cards left": Won(4),
}

every_event = pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)


def played(*moves, rules=SMALL, cards=DECK):
    """Play and write down a game; return its entries and the game."""
    first = dealt(rules, cards)
    game, entries = begin(first), write(GAME, 0, [first], NOON, FIRST_PREVIOUS)
    for at, move in enumerate(moves, start=NOON + 1):
        events = apply(game, parse_move(move), cards)
        entries += write(GAME, game.version, events, at, entries[-1].hash)
        game = fold_all(game, events)
    return entries, game


# -- Events as data


def test_the_first_event_holds_all_that_a_game_stands_on():
    assert event_data(RANKED) == {
        "format": 1,
        "variant": "monte-carlo",
        "rules": {
            "decks": 1,
            "ranks": "A23456789TJQK",
            "rows": 2,
            "columns": 3,
            "match": "rank",
            "total": None,
            "equals": "",
            "single": "",
            "fixed": "",
            "reach": "touching",
            "close_up": "free",
            "packing": "reading",
        },
        "rules_version": 1,
        "algorithm": "v1",
        "deal": {
            "kind": "secret",
            "number": None,
            "commitment": "c0ffee" + "0" * 58,
            "client_seed": "caf\u00e9",
            "fairness": "joint",
        },
        "ranked": True,
        "deadline": "2026-11-02T00:00:00.000Z",
        "grid": [["5H", "5C", "2H"], ["AC", "AH", "3H"]],
        "stock": 46,
        "deck": None,
    }


def test_only_a_deck_deal_writes_down_its_stock():
    assert event_data(EVENTS["a deck"])["deck"] == format_cards(DECK)
    for event in (NUMBERED, SECRET, RANKED):
        assert event_data(event)["deck"] is None
    written = canonical(event_data(SECRET)).decode()
    assert [card for card in DECK if card in written] == list(DECK[:6])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a pair", {"cells": [{"row": 2, "column": 1}, {"row": 1, "column": 1}], "cards": ["5H", "5C"]}),
        ("a king", {"cells": [{"row": 5, "column": 5}], "cards": ["KH"]}),
        ("a compacted grid", {}),
        ("a refill", {"cells": [{"row": 2, "column": 2}, {"row": 2, "column": 3}], "cards": ["KC", "KD"], "stock": 44}),
        ("an undo", {"to": 2}),
        ("a redo", {"to": 4}),
        ("an open end", {"cards_left": 40, "seed": None}),
        ("a revealed end", {"cards_left": 40, "seed": "5e" * 32}),
        ("a win", {"cards_left": 0, "seed": "5e" * 32}),
    ],
)
def test_an_event_is_written_as_the_design_says(name, data):
    assert event_data(EVENTS[name]) == data


@every_event
def test_an_event_is_read_as_it_was_written(event):
    data = json.loads(json.dumps(event_data(event)))
    assert read_event(event.type, data) == event
    assert event_data(read_event(event.type, data)) == event_data(event)


def test_cells_grids_and_deals_are_plain_json():
    assert cell_data(Cell(row=3, column=2)) == {"row": 3, "column": 2}
    assert grid_data(["5H", None, "2H", "AC"], 2) == [["5H", None], ["2H", "AC"]]
    assert grid_data([], 5) == []
    assert list(deal_data(Deal("pysol", "24"))) == ["kind", "number", "commitment", "client_seed", "fairness"]


# -- Hashes


def test_a_document_has_its_place_its_time_and_its_hash():
    entries, _ = played("a1-b1")
    document = entries[1].document
    assert list(document) == ["game", "version", "move", "type", "data", "at", "previous", "hash"]
    assert document["game"] == GAME
    assert (document["version"], document["move"], document["type"]) == (2, 2, "removed")
    assert document["at"] == "2026-11-01T00:00:00.124Z"
    assert document["previous"] == entries[0].hash


def test_the_first_event_follows_on_64_zeros():
    entries, _ = played()
    assert entries[0].previous == FIRST_PREVIOUS == "0" * 64
    assert (entries[0].version, entries[0].move, entries[0].type) == (1, 1, "dealt")


def test_each_event_is_bound_to_the_one_before_by_a_hash_anyone_can_compute():
    entries, _ = played("a1-b1", "close_up", "undo", "redo", "b2-c2", "resign")
    previous = "0" * 64
    for entry in entries:
        document = json.loads(json.dumps(entry.document))
        found = document.pop("hash")
        assert document["previous"] == previous
        previous = hashlib.sha256(rfc8785.dumps(document)).hexdigest()
        assert found == entry.hash == previous


def test_events_of_one_move_name_its_first():
    entries, _ = played("a1-b1", "close_up", "undo", "redo")
    assert [(entry.version, entry.move, entry.type) for entry in entries] == [
        (1, 1, "dealt"),
        (2, 2, "removed"),
        (3, 3, "compacted"),
        (4, 3, "refilled"),
        (5, 5, "undone"),
        (6, 6, "redone"),
    ]


def test_a_move_without_events_writes_nothing():
    assert write(GAME, 3, [], NOON, "0" * 64) == []


@pytest.mark.parametrize("field", ["game", "version", "move", "type", "data", "at", "previous"])
def test_the_hash_binds_every_field(field):
    document = played("a1-b1")[0][1].document
    changed = {**document, field: "other"}
    assert event_hash(changed) != event_hash(document)
    assert event_hash({name: value for name, value in document.items() if name != field}) != event_hash(document)


def test_the_hash_is_not_part_of_what_it_is_a_hash_of():
    document = played("a1-b1")[0][1].document
    without = {name: value for name, value in document.items() if name != "hash"}
    assert event_hash(document) == event_hash({**document, "hash": "other"}) == event_hash(without) == document["hash"]


def test_the_order_of_names_does_not_matter_to_the_hash():
    document = played("a1-b1")[0][0].document
    assert event_hash(dict(reversed(document.items()))) == document["hash"]


def test_the_hash_of_a_known_event():
    """Computed with sha256sum from the text of RFC 8785; it never changes."""
    entry = write(GAME, 1, [Removed((Cell(1, 1), Cell(2, 2)), ("5H", "5C"))], NOON, FIRST_PREVIOUS)[0]
    text = (
        '{"at":"2026-11-01T00:00:00.123Z","data":{"cards":["5H","5C"],"cells":[{"column":1,"row":1},'
        '{"column":2,"row":2}]},"game":"00000000-0000-4000-8000-000000000001","move":2,'
        f'"previous":"{"0" * 64}","type":"removed","version":2}}'
    )
    assert canonical({name: value for name, value in entry.document.items() if name != "hash"}).decode() == text
    assert entry.hash == "a05ed7cb667e925fd116969cb1c74556b4672f446b1f6e6b1075640a69e2804e"


# -- Canonical JSON

strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
whole = st.integers(-(2**53) + 1, 2**53 - 1)
names = st.text(st.characters(min_codepoint=0, max_codepoint=127), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | whole | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(names, values, max_size=5))
@example({"data": {"s": "\u20ac$\u000f\nA'B\"\\\\/\b\f\r\t\x7f\x80\u2028\ufeff\U0001f600"}})
@example({"version": 2**53 - 1, "move": -(2**53) + 1, "data": {"b": [], "a": {}, "A": None, "aa": True, "_": False}})
@settings(deadline=None, max_examples=300)
def test_canonical_is_the_form_of_rfc_8785(document):
    assert canonical(document) == rfc8785.dumps(document)


@given(strings)
@settings(deadline=None)
def test_whatever_a_client_seed_holds_the_hash_is_that_of_rfc_8785(client_seed):
    event = dealt(SMALL, DECK, deal=Deal("secret", None, "0" * 64, client_seed, "joint"))
    document = write(GAME, 0, [event], NOON, FIRST_PREVIOUS)[0].document
    found = document.pop("hash")
    assert found == hashlib.sha256(rfc8785.dumps(document)).hexdigest()
    assert read_event("dealt", json.loads(canonical(document))["data"]) == event


# -- Times


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (999, "1970-01-01T00:00:00.999Z"),
        (1793491200123, "2026-11-01T00:00:00.123Z"),
        (1709164800000, "2024-02-29T00:00:00.000Z"),
        (253402300799999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_printed_with_milliseconds_in_utc(at, text):
    assert timestamp(at) == text


@given(st.integers(0, 253402300799999))
@settings(deadline=None, max_examples=300)
def test_no_millisecond_is_lost_in_print(at):
    parsed = datetime.fromisoformat(timestamp(at))
    assert (parsed - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1) == at


# -- Replay


@pytest.mark.parametrize("id", VARIANTS)
def test_a_log_replays_to_the_game_it_was_written_of(id):
    rules = VARIANTS[id].rules
    cards = order(rules.pack, "numbered", number="5")
    first = dealt(rules, cards, id, Deal("numbered", "5"))
    game, entries = begin(first), write(GAME, 0, [first], NOON, FIRST_PREVIOUS)
    games = [game]
    while game.legal_moves:
        events = apply(game, game.legal_moves[0], cards)
        entries += write(GAME, game.version, events, NOON, entries[-1].hash)
        game = fold_all(game, events)
        games.append(game)
    assert replay(entries) == game
    for live in games:
        assert replay(entries[: live.version]) == live


def test_a_log_replays_undo_redo_and_the_end():
    moves = "a1-b1 close_up undo undo redo b2-a2 compact refill undo undo redo resign"
    entries, game = played(*moves.split())
    assert replay(entries) == game
    assert game.status == "lost"


def test_a_log_replays_from_what_was_read_of_its_json():
    entries, game = played("a1-b1", "close_up", "undo", "resign")
    again = [dataclasses.replace(entry, data=json.loads(json.dumps(entry.data))) for entry in entries]
    assert replay(again) == game
    assert replay(iter(again)) == game


def test_a_log_without_events_is_none():
    with pytest.raises(ValueError, match="never empty"):
        replay([])


@pytest.mark.parametrize("move", ["a1-b1", "close_up", "undo", "resign"])
def test_a_log_begins_with_the_deal(move):
    entries, _ = played("a1-b1", "close_up", "undo", "resign")
    start = {"a1-b1": 1, "close_up": 2, "undo": 4, "resign": 5}[move]
    with pytest.raises(ValueError, match="begins with dealt"):
        replay(entries[start:])


def test_a_log_is_dealt_once():
    entries, _ = played("a1-b1")
    with pytest.raises(ValueError, match="dealt once"):
        replay([*entries, entries[0]])
