"""Dry runs and positions of one's own: what moves would do, and nothing of hidden cards."""

import pytest

from service.engine.rules import VARIANTS
from tests.client import as_move, refused


def attempt(client, game, *moves, **options):
    """Ask what moves would do."""
    body = {"moves": [as_move(move) for move in moves]}
    return client.post(f"/v1/games/{game['id']}/moves?validate_only=true", body, game["token"], **options)


@pytest.fixture
def game(client):
    """A game whose stock is hidden, with a pair to begin with."""
    while True:
        dealt = client.deal()
        if dealt["legal_moves"]:
            return dealt


def test_a_dry_run_says_what_a_removal_does_and_changes_nothing(client, game):
    answer = attempt(client, game, game["legal_moves"][0])
    assert answer.status_code == 200
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 1
    made = client.play(game, game["legal_moves"][0])
    outlook = answer.json["outlook"]
    for name in ("status", "phase", "grid", "stock", "cards_left", "legal_moves"):
        assert outlook[name] == made[name], name
    assert outlook["hidden"] == []
    assert (answer.json["made"], answer.json["head"]) == (False, None)
    assert (answer.json["version"], answer.json["status"]) == (made["version"], made["status"])


def test_a_dry_run_shows_no_card_that_is_hidden(client, game):
    answer = attempt(client, game, game["legal_moves"][0], "close_up").json
    made = client.play(game, game["legal_moves"][0], "close_up")
    outlook = answer["outlook"]
    assert (answer["status"], outlook["status"], outlook["legal_moves"]) == (None, None, None)
    assert (answer["version"], outlook["stock"]) == (made["version"], made["stock"])
    hidden = {(cell["row"], cell["column"]) for cell in outlook["hidden"]}
    assert len(hidden) == game["stock"] - made["stock"]
    for row, (told, laid) in enumerate(zip(outlook["grid"], made["grid"], strict=True), 1):
        for column, (guess, card) in enumerate(zip(told, laid, strict=True), 1):
            assert guess == (None if (row, column) in hidden else card)


def test_cards_shown_before_are_told_again(client, game):
    """What an undone refill has shown is known; only what lies behind it is hidden."""
    move = game["legal_moves"][0]
    shown = client.play(game, move, "close_up")
    client.play(game, "undo")
    outlook = attempt(client, game, "close_up").json["outlook"]
    assert (outlook["grid"], outlook["hidden"]) == (shown["grid"], [])
    assert outlook["legal_moves"] == shown["legal_moves"]


def test_of_an_open_deal_everything_is_told(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    told = attempt(client, game, game["legal_moves"][0], "close_up", "undo", "redo").json
    made = client.play(game, game["legal_moves"][0], "close_up", "undo", "redo")
    assert told["outlook"]["grid"] == made["grid"]
    assert told["version"] == made["version"]


def test_a_dry_run_is_refused_as_the_moves_would_be(client, game):
    refused(attempt(client, game, "undo"), 409, "nothing_to_undo")
    problem = refused(attempt(client, game, game["legal_moves"][0], game["legal_moves"][0]), 409, "empty_cell")
    assert problem["move"] == 1
    refused(attempt(client, game, game["legal_moves"][0], "close_up", "undo"), 409, "must_be_last")
    refused(attempt(client, {**game, "token": None}, "resign"), 401, "token_required")
    refused(attempt(client, {**game, "token": client.deal()["token"]}, "resign"), 403, "not_yours")
    for query in ("validate_only=yes", "validate_only=1", "validate_only=", "dry=true"):
        answer = client.post(f"/v1/games/{game['id']}/moves?{query}", {"moves": [{"type": "undo"}]}, game["token"])
        refused(answer, 422, "invalid_query")


def test_the_end_of_a_game_is_told_without_its_secret(client, game):
    answer = attempt(client, game, "resign")
    assert (answer.json["status"], answer.json["outlook"]["legal_moves"]) == ("lost", [])
    assert client.get(f"/v1/deals/{game['deal']['id']}").json["revealed"] is False


def consider(client, **body):
    """Ask about a position of one's own."""
    return client.post("/v1/positions", body)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_position_has_the_moves_of_a_game_that_stands_so(client, variant):
    game = client.deal(variant)
    for _ in range(4):
        found = consider(client, variant=variant, grid=game["grid"], stock=game["stock"]).json
        for name in ("status", "phase", "grid", "stock", "cards_left"):
            assert found[name] == game[name], name
        assert [{**move, "leads_to": None} for move in found["legal_moves"]] == [
            {**move, "leads_to": None} for move in game["legal_moves"]
        ]
        if not game["legal_moves"]:
            break
        after = client.play(game, game["legal_moves"][0])
        leads_to = found["legal_moves"][0]["leads_to"]
        assert (leads_to["stock"], leads_to["cards_left"]) == (after["stock"], after["cards_left"])
        if not leads_to["hidden"]:
            assert (leads_to["grid"], leads_to["status"]) == (after["grid"], after["status"])
        game = after


def test_a_position_that_is_won_and_one_that_is_blocked(client):
    empty = [[None] * 5 for _ in range(5)]
    assert consider(client, grid=empty, stock=0).json["status"] == "won"
    lonely = [["5H", *[None] * 4], *empty[1:]]
    found = consider(client, grid=lonely, stock=0).json
    assert (found["status"], found["legal_moves"], found["cards_left"]) == ("blocked", [], 1)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_body"),
        ({"grid": [], "stock": 0}, "invalid_body"),
        ({"grid": [["5H"] * 5] * 5, "stock": 0}, "bad_position"),
        ({"grid": [[None] * 5] * 4, "stock": 0}, "bad_position"),
        ({"grid": [[None] * 5] * 4 + [[None] * 4], "stock": 0}, "bad_position"),
        ({"grid": [[None] * 5] * 5, "stock": 53}, "bad_position"),
        ({"grid": [["5h", *[None] * 4], *[[None] * 5] * 4], "stock": 0}, "invalid_body"),
        ({"grid": [["??", *[None] * 4], *[[None] * 5] * 4], "stock": 0}, "invalid_body"),
        ({"grid": [[None] * 5] * 5, "stock": -1}, "invalid_body"),
        ({"grid": [[None] * 5] * 5, "stock": 0, "variant": "klondike"}, "unknown_variant"),
        ({"grid": [[None] * 5] * 5, "stock": 0, "rules": {"packing": "in-place"}}, "impossible_rules"),
    ],
)
def test_positions_that_are_none(client, body, code):
    refused(client.post("/v1/positions", body), 422, code)
