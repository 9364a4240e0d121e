"""Every step of 220 games that PySolFC's own engine played, 20 of each of its eleven grid games.

The recorded games stand in tests/data; their cells count from 0, in reading order.
"""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from service.engine.cards import format_cards
from service.engine.deals import pysol_order
from service.engine.events import Move
from service.engine.game import apply
from service.engine.rules import VARIANTS
from service.engine.state import freeze, thaw
from tests.engine.table import Table

RECORDED = Path(__file__).parents[1] / "data" / "pysol_traces.jsonl.gz"
VARIANT_OF = {
    "MonteCarlo": "monte-carlo",
    "MonteCarlo2Decks": "monte-carlo-2-decks",
    "Weddings": "weddings-columns",
    "Neighbour": "neighbour",
    "SimpleCarlo": "simple-carlo",
    "Quatorze": "quatorze",
    "AcesSquare": "aces-square",
    "SimplePairs": "simple-pairs",
    "BlockTen": "block-ten",
    "SimpleTens": "simple-tens",
    "Thirteens": "thirteens",
}
AUTOMATIC = [name for name, variant in VARIANT_OF.items() if VARIANTS[variant].rules.auto]

every_game = pytest.mark.parametrize("name", VARIANT_OF)


@pytest.fixture(scope="module")
def recorded():
    games = {name: [] for name in VARIANT_OF}
    with gzip.open(RECORDED, "rt", encoding="ascii") as lines:
        for line in lines:
            game = json.loads(line)
            games[game["game"]].append(game)
    return games


def walk(record):
    """Play a recorded game; yield the table as it is at each step, with the step and the words to find it by."""
    rules = VARIANTS[VARIANT_OF[record["game"]]].rules
    table = Table(rules, pysol_order(rules.pack, int(record["number"])))
    for count, step in enumerate(record["steps"]):
        yield table, step, f"{record['game']} {record['number']}, step {count}"
        if "action" in step:
            table.play(move_of(rules, step["action"]))


def move_of(rules, action):
    kind, *places = action
    return Move("close_up") if kind == "deal" else Move("remove", tuple(rules.cells[place] for place in places))


def places_of(table):
    """The legal removals of the table by places in reading order, as they are listed."""
    moves = (move for move in table.game.legal_moves if move.type == "remove")
    return [tuple(table.rules.index(cell) for cell in move.cells) for move in moves]


def test_twenty_games_are_recorded_of_each_of_eleven(recorded):
    assert {name: len(games) for name, games in recorded.items()} == dict.fromkeys(VARIANT_OF, 20)
    assert sum(len(games) for games in recorded.values()) == 220


def test_the_recorded_games_are_long_enough_to_tell(recorded):
    steps = [step for games in recorded.values() for game in games for step in game["steps"]]
    actions = Counter(step["action"][0] if "action" in step else "end" for step in steps)
    assert actions == {"remove": 3956, "single": 145, "deal": 450, "end": 220}
    assert sum(step["won"] for step in steps) == 87


@every_game
def test_the_deck_follows_from_the_number(name, recorded):
    pack = VARIANTS[VARIANT_OF[name]].rules.pack
    for record in recorded[name]:
        assert format_cards(pysol_order(pack, int(record["number"]))) == record["deck"], record["number"]


@every_game
def test_the_table_is_the_same_at_every_step(name, recorded):
    for record in recorded[name]:
        for table, step, where in walk(record):
            assert table.grid == step["cells"], where
            assert table.position.stock == step["stock"], where
            assert len(table.position.removed) == step["removed"], where
            assert (table.game.status == "won") == step["won"], where


@every_game
def test_the_same_removals_are_legal_at_every_step(name, recorded):
    for record in recorded[name]:
        for table, step, where in walk(record):
            listed = places_of(table)
            pairs = {tuple(sorted(pair)) for pair in step["pairs"]}
            assert {places for places in listed if len(places) == 2} == pairs, where
            assert {places for places in listed if len(places) == 1} == {(place,) for place in step["singles"]}, where
            assert listed == sorted(set(listed)), where


@pytest.mark.parametrize("name", [name for name in VARIANT_OF if name not in AUTOMATIC])
def test_a_close_up_is_possible_at_the_same_steps(name, recorded):
    for record in recorded[name]:
        for table, step, where in walk(record):
            assert ("close_up" in table.legal) == step["can_deal"], where
            if not step["won"]:
                assert table.refusal("close_up") == (None if step["can_deal"] else "nothing_to_close_up"), where


@pytest.mark.parametrize("name", AUTOMATIC)
def test_an_automatic_game_never_leaves_anything_to_close_up(name, recorded):
    for record in recorded[name]:
        for table, step, where in walk(record):
            assert "close_up" not in table.legal, where
            if not step["won"]:
                assert table.refusal("close_up") == "nothing_to_close_up", where


@every_game
def test_every_game_goes_on_to_its_end(name, recorded):
    for record in recorded[name]:
        for table, step, where in walk(record):
            over = "won" if step["won"] else "blocked"
            assert table.game.status == ("playing" if "action" in step else over), where


@every_game
def test_the_state_survives_being_frozen_at_every_step(name, recorded):
    for record in recorded[name]:
        for table, _, where in walk(record):
            game = table.game
            state = json.loads(json.dumps(freeze(game)))
            thawed = thaw(game.rules, table.order, game.version, game.status, state)
            assert thawed == game, where
            assert thawed.legal_moves == game.legal_moves, where


@every_game
def test_undo_leads_back_through_every_step(name, recorded):
    for record in recorded[name]:
        games = [(table.game, where) for table, _, where in walk(record) if not table.game.over]
        table = Table(games[0][0].rules, (), games[-1][0])
        for earlier, where in reversed(games[:-1]):
            table.play("undo")
            assert table.position == earlier.position, where
        assert table.refusal("undo") == "nothing_to_undo"


def test_a_removal_is_legal_whichever_card_is_named_first(recorded):
    for record in (games[0] for games in recorded.values()):
        for table, _, where in walk(record):
            for a, b in (places for places in places_of(table) if len(places) == 2):
                backwards = Move("remove", (table.rules.cells[b], table.rules.cells[a]))
                assert apply(table.game, backwards, table.order), where
