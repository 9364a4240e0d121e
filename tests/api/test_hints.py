"""Hints, analysis and solutions over HTTP."""

import pytest

from service.api import thinking
from service.places import Places
from tests.client import refused

PYSOL_24 = {"kind": "pysol", "number": "24"}


def ask(client, game, **hint):
    """Ask for a hint with the game's token."""
    return client.post(f"/v1/games/{game['id']}/hints", hint, game["token"])


def test_a_hint_is_an_event_and_counts_as_assistance(client):
    game = client.deal(deal=PYSOL_24)
    response = ask(client, game, level="fair", samples=30)
    hint = response.json
    assert response.status_code == 201
    assert hint["samples"] == 30
    assert hint["interval"][0] <= hint["win_probability"] <= hint["interval"][1]
    assert hint["plan"][0] == hint["move"]
    assert hint["plan"][-1]["type"] == "close_up"
    now = client.get(f"/v1/games/{game['id']}").json
    assert (now["version"], now["assistance"]["hints"], now["grid"]) == (2, 1, game["grid"])
    event = client.get(f"/v1/games/{game['id']}/events?after=1").json["items"][0]
    assert event["data"] == {"level": "fair", "move": hint["move"], "wins": hint["wins"], "samples": 30}
    assert client.get(f"/v1/games/{game['id']}/audit").json["unchecked"] == [
        {"code": "hints", "message": "the chances that hints name were not reckoned again"}
    ]


def test_the_same_position_gets_the_same_hint_and_the_plan_is_legal(client):
    game = client.deal()
    first, again = ask(client, game, samples=20).json, ask(client, game, samples=20).json
    assert {key: first[key] for key in ("move", "plan", "wins")} == {
        key: again[key] for key in ("move", "plan", "wins")
    }
    assert client.move(game, *first["plan"]).status_code == 201


def test_first_takes_the_first_pair(client):
    game = client.deal(deal=PYSOL_24)
    hint = ask(client, game, level="first").json
    assert hint["move"] == {key: game["legal_moves"][0][key] for key in ("type", "cells")}
    assert (hint["win_probability"], hint["interval"], hint["samples"]) == (None, [0.0, 1.0], 0)


def test_solve_wants_a_revealed_deal(client):
    refused(ask(client, client.deal(), level="solve"), 403, "not_revealed")
    game = client.deal(deal={"kind": "numbered", "number": "2"})
    while game["legal_moves"]:
        hint = ask(client, game, level="solve").json
        if not hint["wins"]:
            break
        game = client.play(game, *hint["plan"])
    assert hint["wins"] == 0 or game["status"] == "won"


def test_no_hint_when_the_game_is_over_or_blocked(client):
    refused(ask(client, client.play(client.deal(), "resign")), 409, "game_over")
    for number in range(1, 50):
        game = client.first_moves(client.deal(deal={"kind": "numbered", "number": str(number)}))
        if game["status"] == "blocked":
            break
    problem = refused(ask(client, game), 409, "blocked")
    assert "undo" in problem["detail"]
    assert client.get(f"/v1/games/{game['id']}").json["version"] == game["version"]


@pytest.mark.parametrize(
    "body", [{"level": "best"}, {"samples": 0}, {"samples": 1001}, {"samples": "9"}, {"samples": 1.5}, {"depth": 3}]
)
def test_hints_that_do_not_fit(client, body):
    game = client.deal()
    refused(ask(client, game, **body), 422, "invalid_body")
    refused(client.post(f"/v1/games/{game['id']}/hints", {}), 401, "token_required")
    refused(client.post(f"/v1/games/{game['id']}/hints", {}, client.deal()["token"]), 403, "not_yours")


def test_a_server_too_busy_says_so_rather_than_think_less(client, monkeypatch):
    game = client.deal()
    monkeypatch.setattr(thinking, "_PLACES", Places(0))
    monkeypatch.setattr(thinking, "_PATIENCE", 0.01)
    response = ask(client, game)
    refused(response, 503, "busy")
    assert response.headers["Retry-After"] == "1"


def test_a_hint_asked_for_again_waits_for_no_one(client, monkeypatch):
    game = client.deal(deal=PYSOL_24)
    once = {"Idempotency-Key": "again"}
    where, wanted = f"/v1/games/{game['id']}/hints", {"level": "fair", "samples": 10}
    first = client.post(where, wanted, game["token"], headers=once)
    monkeypatch.setattr(thinking, "_PLACES", Places(0))
    monkeypatch.setattr(thinking, "_PATIENCE", 0.01)
    again = client.post(where, wanted, game["token"], headers=once)
    assert (again.status_code, again.json) == (201, first.json)


def test_an_undo_leads_past_a_hint(client):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)])
    ask(client, game, level="first")
    assert client.play(game, "undo")["grid"][0][4] == "2D"
    assert client.get(f"/v1/games/{game['id']}/positions/3").json["grid"][0][4] is None


def test_an_analysis_tells_where_the_win_was_thrown_away(client):
    found = set()
    for number in range(1, 25):
        game = client.first_moves(client.deal(deal={"kind": "numbered", "number": str(number)}))
        analysis = client.get(f"/v1/games/{game['id']}/analysis").json
        assert [seen["version"] for seen in analysis["versions"]] == list(range(1, game["version"] + 1))
        assert analysis["versions"][0]["verdict"] == analysis["verdict"]
        thrown = analysis["thrown_away"]
        if game["status"] == "won":
            assert {seen["verdict"] for seen in analysis["versions"]} == {"winnable"}
            assert thrown is None
        if thrown:
            before = analysis["versions"][thrown["version"] - 1]
            assert before["verdict"] == "winnable"
            assert analysis["versions"][thrown["events"][-1]["version"] - 1]["verdict"] == "unwinnable"
            again = client.deal(deal={"kind": "numbered", "number": str(number)})
            moves = [event for event in client.get(f"/v1/games/{game['id']}/events?limit=1000").json["items"]]
            for event in moves[1 : thrown["version"]]:
                if event["type"] == "removed":
                    again = client.play(again, {"type": "remove", "cells": event["data"]["cells"]})
                elif event["version"] == event["move"]:
                    again = client.play(again, "close_up")
            assert client.play(again, *thrown["line"])["status"] == "won"
        found.add((game["status"], bool(thrown)))
        if {("won", False), ("blocked", True)} <= found:
            return
    raise AssertionError(found)


def test_an_analysis_waits_for_the_reveal_and_is_then_kept(client):
    game = client.deal()
    refused(client.get(f"/v1/games/{game['id']}/analysis"), 403, "not_revealed")
    client.play(game, game["legal_moves"][0], "resign")
    response = client.get(f"/v1/games/{game['id']}/analysis")
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.json["versions"][-1]["verdict"] == "unwinnable"
    assert client.get(f"/v1/games/{game['id']}/analysis").json == response.json


def test_a_solution_of_a_deal_wins_it(client):
    deal = client.post("/v1/deals", {"kind": "numbered", "number": "4"}).json
    solution = client.get(f"/v1/deals/{deal['id']}/solution").json
    assert solution["verdict"] == "winnable"
    moves, game = solution["solution"], client.deal(deal={"id": deal["id"]})
    assert client.play(game, *moves)["status"] == "won"
    refused(client.get(f"/v1/deals/{deal['id']}/solution?variant=simple-tens"), 409, "pack_mismatch")
    refused(client.get(f"/v1/deals/{deal['id']}/solution?variant=klondike"), 422, "unknown_variant")
    secret = client.post("/v1/deals", {}).json
    refused(client.get(f"/v1/deals/{secret['id']}/solution"), 403, "not_revealed")


def test_a_win_that_was_thrown_away_and_taken_back_is_not_lost(client):
    game = client.first_moves(client.deal(deal={"kind": "numbered", "number": "1"}))

    def analysis():
        return client.get(f"/v1/games/{game['id']}/analysis").json

    assert analysis()["thrown_away"]
    while analysis()["versions"][-1]["verdict"] == "unwinnable":
        game = client.play(game, "undo")
    assert analysis()["thrown_away"] is None
    game = client.play(game, "redo")
    thrown = analysis()["thrown_away"]
    assert (thrown["version"], [event["type"] for event in thrown["events"]]) == (game["version"] - 1, ["redone"])


def test_nothing_is_said_of_a_chance_that_no_order_decided(client):
    hint = ask(client, client.deal("quatorze", deal={"kind": "numbered", "number": "3"}), samples=20).json
    assert [hint[name] for name in ("wins", "undecided", "samples")] == [0, 20, 20]
    assert (hint["win_probability"], hint["interval"]) == (None, [0.0, 1.0])
