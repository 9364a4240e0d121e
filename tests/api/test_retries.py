"""Retries: what is asked under one key is done once, however often it is asked."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from service import commands, store
from tests.client import refused

PAIR = {"moves": [{"type": "resign"}]}


def key(text=None):
    """Return a header with a key."""
    return {"Idempotency-Key": text or str(uuid.uuid4())}


def test_a_repeated_move_is_made_once_and_answered_alike(client):
    game = client.deal()
    moves, once = {"moves": [game["legal_moves"][0] | {}]}, key()
    moves["moves"][0].pop("cards")
    answers = [client.post(f"/v1/games/{game['id']}/moves", moves, game["token"], headers=once) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201] * 3
    assert len({answer.data for answer in answers}) == 1
    assert len({answer.headers["ETag"] for answer in answers}) == 1
    assert [answer.headers.get("Idempotent-Replayed") for answer in answers] == [None, "true", "true"]
    assert client.get(f"/v1/games/{game['id']}").json["version"] == answers[0].json["game"]["version"]


def test_a_repeated_game_is_dealt_once_with_its_token(client):
    once = key()
    first, second = (client.post("/v1/games", {}, headers=once) for _ in range(2))
    assert first.data == second.data
    assert first.headers["Location"] == second.headers["Location"]
    assert client.play(second.json, "resign")["status"] == "lost"


def test_a_repeated_deal_is_made_once(client):
    once = key()
    first, second = (client.post("/v1/deals", {}, headers=once) for _ in range(2))
    assert (first.data, first.headers["Location"]) == (second.data, second.headers["Location"])


def test_a_repeated_hint_is_one_event(client):
    game, once = client.deal(), key()
    first, second = (
        client.post(f"/v1/games/{game['id']}/hints", {"level": "first"}, game["token"], headers=once) for _ in range(2)
    )
    assert first.data == second.data
    assert client.get(f"/v1/games/{game['id']}").json["assistance"]["hints"] == 1


def test_a_short_answer_is_kept_short(client):
    game, once = client.deal(), key()
    here = f"/v1/games/{game['id']}/moves"
    first = client.post(here, PAIR, game["token"], headers=once | {"Prefer": "return=minimal"})
    second = client.post(here, PAIR, game["token"], headers=once)
    assert (first.status_code, first.data) == (second.status_code, second.data)
    assert first.status_code == 200


@pytest.mark.parametrize(
    ("prefer", "status"),
    [
        ("return=minimal", 200), ('return="minimal"', 200), ("respond-async, Return = Minimal; x=1", 200),
        ("return=representation, return=minimal", 201), ("respond-async; return=minimal", 201), ("", 201),
        ('x="a,return=minimal"', 201), ("return", 201),
    ],
)  # fmt: skip
def test_preferences(client, prefer, status):
    game = client.deal()
    answer = client.post(f"/v1/games/{game['id']}/moves", PAIR, game["token"], headers={"Prefer": prefer})
    assert answer.status_code == status
    assert ("Preference-Applied" in answer.headers) == (status == 200)


@pytest.mark.parametrize("change", ["body", "path", "query"])
def test_a_key_is_for_one_request(client, change):
    game, once = client.deal(), key()
    here = f"/v1/games/{game['id']}"
    client.post(f"{here}/moves", PAIR, game["token"], headers=once)
    asked = {"body": (f"{here}/moves", {"moves": [{"type": "undo"}]}), "path": (f"{here}/hints", PAIR)}
    path, body = asked.get(change, (f"{here}/moves?validate_only=false", PAIR))
    answer = client.post(path, body if change != "path" else {"level": "first"}, game["token"], headers=once)
    refused(answer, 422, "key_reused")
    assert client.get(here).json["version"] == 2


def test_what_was_refused_may_be_asked_again_under_its_key(client):
    game, once = client.deal(), key()
    here = f"/v1/games/{game['id']}/moves"
    refused(client.post(here, {"moves": [{"type": "undo"}]}, game["token"], headers=once), 409, "nothing_to_undo")
    assert client.post(here, PAIR, game["token"], headers=once).status_code == 201


def test_keys_belong_to_their_token(client):
    same = key("mine")
    for game in (client.deal(), client.deal()):
        answer = client.post(f"/v1/games/{game['id']}/moves", PAIR, game["token"], headers=same)
        assert "Idempotent-Replayed" not in answer.headers
        assert answer.json["game"]["id"] == game["id"]


def test_strangers_never_get_what_another_asked_for(client):
    game, once = client.deal(), key()
    here = f"/v1/games/{game['id']}/moves"
    client.post(here, PAIR, game["token"], headers=once)
    refused(client.post(here, PAIR, headers=once), 401, "token_required")
    refused(client.post(here, PAIR, "mc_x", headers=once), 401, "bad_token")
    refused(client.post(here, PAIR, client.deal()["token"], headers=once), 403, "not_yours")


@pytest.mark.parametrize(
    "text",
    [
        "mine",
        "1",
        str(uuid.UUID(int=0)),
        "567e9cda-ed0a-11f1-af92-02fc00000001",
        str(uuid.uuid5(uuid.NAMESPACE_DNS, "x")),
    ],
)
def test_without_a_token_only_a_random_uuid_is_taken(client, text):
    refused(client.post("/v1/games", {}, headers=key(text)), 400, "bad_header")
    refused(client.post("/v1/games", {}, "no token of ours", headers=key(text)), 400, "bad_header")


@pytest.mark.parametrize("text", ["", " ", '"', '""', 'a"b', "x" * 256, "ä", "tab\there"])
def test_keys_that_are_none_are_refused(client, text):
    game = client.deal()
    answer = client.post(f"/v1/games/{game['id']}/moves", PAIR, game["token"], headers={"Idempotency-Key": text})
    refused(answer, 400, "bad_header")
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 1


def test_a_key_is_the_same_in_quotes_and_without(client):
    text = str(uuid.uuid4())
    first, second = (client.post("/v1/games", {}, headers=key(t)) for t in (text, f'"{text.upper()}"'))
    assert first.data == second.data


def test_answers_are_kept_for_a_day(client, change_world):
    now = 1_800_000_000_000
    change_world(now=lambda: now)
    once = key()
    first = client.post("/v1/games", {}, headers=once).json["id"]
    now += commands.ANSWERS_KEPT
    assert client.post("/v1/games", {}, headers=once).json["id"] == first
    now += 1
    later = client.post("/v1/games", {}, headers=once).json["id"]
    assert later != first
    assert client.post("/v1/games", {}, headers=once).json["id"] == later


def test_old_answers_make_room_by_themselves(client, change_world, the_world):
    now = 1_800_000_000_000
    change_world(now=lambda: now)
    for _ in range(20):
        client.post("/v1/games", {}, headers=key())
    now += 2 * commands.ANSWERS_KEPT
    for _ in range(600):  # one in 64 clears up
        with the_world.database.writing() as connection:
            store.keep_answer(connection, uuid.uuid4().bytes * 2, b"", [], now, now - commands.ANSWERS_KEPT)
    with the_world.database.reading() as connection:
        left = connection.execute(store.answers.select().where(store.answers.c.at < now)).all()
    assert left == []


def test_the_same_request_from_many_at_once_is_done_once(client):
    game, once, start = client.deal(), key(), threading.Barrier(8)

    def ask(_):
        start.wait()
        return client.post(f"/v1/games/{game['id']}/moves", PAIR, game["token"], headers=once)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert len({answer.data for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 2


def test_one_game_is_dealt_however_many_ask_at_once(client):
    once, start = key(), threading.Barrier(8)

    def ask(_):
        start.wait()
        return client.post("/v1/games", {}, headers=once)

    with ThreadPoolExecutor(8) as pool:
        assert len({answer.json["id"] for answer in pool.map(ask, range(8))}) == 1


def test_a_retry_is_answered_although_the_game_has_gone_on(client):
    """After a lost answer the client learns that its move landed, whatever came after it."""
    game, once = client.deal(deal={"kind": "pysol", "number": "24"}), key()
    here = f"/v1/games/{game['id']}"
    tag = client.get(here).headers["ETag"]
    asked = {"moves": [{"type": "remove", "cells": game["legal_moves"][0]["cells"]}]}
    first = client.post(f"{here}/moves", asked, game["token"], headers=once | {"If-Match": tag})
    client.play(game, "resign")
    again = client.post(f"{here}/moves", asked, game["token"], headers=once | {"If-Match": tag})
    assert (again.status_code, again.data) == (201, first.data)
