"""Conditions: an answer that is still good is not sent again, and a move is made on the game its client saw."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client import refused

RESIGN = {"moves": [{"type": "resign"}]}


@pytest.mark.parametrize("path", ["", "/positions/1"])
def test_an_answer_that_is_still_good_is_not_sent_again(client, path):
    here = f"/v1/games/{client.deal()['id']}{path}"
    first = client.get(here)
    tag = first.headers["ETag"]
    assert tag.startswith('"'), "a strong tag"
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(here, headers={"If-None-Match": header})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
    assert client.get(here, headers={"If-None-Match": '"other"'}).status_code == 200


def test_what_changes_a_game_is_always_answered(client):
    """Only what is read can be known already."""
    for known in ("*", '"x"'):
        dealt = client.post("/v1/games", {}, headers={"If-None-Match": known})
        assert dealt.status_code == 201
        game, here = dealt.json, f"/v1/games/{dealt.json['id']}"
        for body, path in ((RESIGN, f"{here}/moves?validate_only=true"), (RESIGN, f"{here}/moves")):
            assert client.post(path, body, game["token"], headers={"If-None-Match": known}).json
        changed = client.ask(
            "PATCH", here, game["token"], json={"metadata": {"a": "b"}}, headers={"If-None-Match": known}
        )
        assert changed.json["metadata"] == {"a": "b"}


def test_another_tag_as_soon_as_anything_is_another(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    here, seen = f"/v1/games/{game['id']}", set()

    def look():
        answer = client.get(here)
        seen.add((answer.headers["ETag"], answer.data))
        return answer.headers["ETag"]

    look()
    client.play(game, game["legal_moves"][0])
    look()
    client.ask("PATCH", here, game["token"], json={"metadata": {"label": "x"}})
    look()
    client.ask("PATCH", here, game["token"], json={"visibility": "private"})
    seen.add((client.get(here, game["token"]).headers["ETag"], client.get(here, game["token"]).data))
    assert len({tag for tag, _ in seen}) == len({body for _, body in seen}) == 4


def test_positions_of_two_games_never_share_a_tag(client):
    tags = {client.get(f"/v1/games/{client.deal()['id']}/positions/1").headers["ETag"] for _ in range(3)}
    assert len(tags) == 3


def test_a_move_is_made_only_on_the_game_that_was_seen(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    here = f"/v1/games/{game['id']}"
    old = client.get(here).headers["ETag"]
    moved = client.move(game, game["legal_moves"][0])
    assert client.get(here).headers["ETag"] == moved.headers["ETag"], "an answer to moves has the tag of the game"
    for path, body in (("/moves", RESIGN), ("/moves?validate_only=true", RESIGN), ("/hints", {"level": "first"})):
        answer = client.post(here + path, body, game["token"], headers={"If-Match": old})
        problem = refused(answer, 412, "stale")
        assert problem["version"] == moved.json["game"]["version"]
        assert problem["head"] == moved.json["game"]["head"]
        assert answer.headers["ETag"] == moved.headers["ETag"]
    answer = client.ask("PATCH", here, game["token"], json={"metadata": {"a": "b"}}, headers={"If-Match": old})
    refused(answer, 412, "stale")
    good = f'"other", {moved.headers["ETag"]}'
    assert client.post(f"{here}/moves", RESIGN, game["token"], headers={"If-Match": good}).status_code == 201


@pytest.mark.parametrize(
    ("tag", "status"),
    [("*", 201), ("", 412), ('""', 412), ('"x"', 412), ("garbage", 412), ('W/"1-0-0"', 412), ('"' * 9, 412)],
)
def test_other_conditions(client, tag, status):
    game = client.deal()
    answer = client.post(f"/v1/games/{game['id']}/moves", RESIGN, game["token"], headers={"If-Match": tag})
    assert answer.status_code == status


def test_a_weak_tag_never_lets_a_move_pass(client):
    game = client.deal()
    tag = client.get(f"/v1/games/{game['id']}").headers["ETag"]
    answer = client.post(f"/v1/games/{game['id']}/moves", RESIGN, game["token"], headers={"If-Match": f"W/{tag}"})
    refused(answer, 412, "stale")


def test_the_tag_of_a_compressed_answer_is_taken(client):
    game = client.deal("monte-carlo-2-decks", rules={"rows": 10, "columns": 10, "reach": "line"})
    here = f"/v1/games/{game['id']}"
    packed = client.app.test_client().get(here, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    tag = packed.headers["ETag"]
    assert tag != client.get(here).headers["ETag"], "other bytes, another tag"
    for accepted in ("gzip", ""):
        again = client.app.test_client().get(here, headers={"Accept-Encoding": accepted, "If-None-Match": tag})
        assert again.status_code == 304
    assert client.post(f"{here}/moves", RESIGN, game["token"], headers={"If-Match": tag}).status_code == 201


def test_of_many_with_the_same_version_exactly_one_wins(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    here, token, version = f"/v1/games/{game['id']}", game["token"], 1
    for turn in range(10):
        tag, start = client.get(here).headers["ETag"], threading.Barrier(8)
        moves = {"moves": [{"type": "close_up"} if turn == 0 else {"type": "undo" if turn % 2 else "redo"}]}
        if turn == 0:
            moves = {"moves": [{"type": "remove", "cells": game["legal_moves"][0]["cells"]}]}

        def ask(_, moves=moves, tag=tag, start=start):
            start.wait()
            return client.post(f"{here}/moves", moves, token, headers={"If-Match": tag}).status_code

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(ask, range(8))) == [201] + [412] * 7
        version += 1
        assert client.get(here).json["version"] == version
    assert client.get(f"{here}/audit").json["valid"]
