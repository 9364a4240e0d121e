"""Streams of events: a watcher sees every event once and in order, whatever breaks in between."""

import json
import threading
import time
from contextlib import contextmanager

import pytest

from service import commands, store
from service.database import Unavailable
from service.engine.events import Move
from tests.client import refused

STREAM = {"Accept": "text/event-stream"}


def messages(text):
    """Return the events of a stream, with their ids."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            found.append((int(fields["id"]), json.loads(fields["data"])))
    return found


@contextmanager
def watching(client, game, headers=(), token=None):
    """Open a stream and give an iterator over what it sends."""
    sent = {**STREAM, **dict(headers), **({"Authorization": f"Bearer {token}"} if token else {})}
    response = client.app.test_client().get(f"/v1/games/{game['id']}/events", headers=sent)
    assert (response.status_code, response.mimetype) == (200, "text/event-stream")
    assert response.headers["Cache-Control"] == "no-store"
    try:
        yield (piece.decode() for piece in response.iter_encoded())
    finally:
        response.close()


def resign(world, game):
    """End a game, as another process would: past the app that streams."""
    token = commands.make_token(world.secret, commands.UUID(game["id"]))
    commands.make_moves(world, commands.UUID(game["id"]), token, [Move("resign")], lambda *made: made)


def test_a_finished_game_is_told_to_its_end(client, the_world):
    game = client.first_moves(client.deal())
    if game["status"] == "blocked":
        game = client.play(game, "resign")
    with watching(client, game) as stream:
        found = messages("".join(stream))
    listed = client.get(f"/v1/games/{game['id']}/events?limit=1000").json["items"]
    assert [event for _, event in found] == listed
    assert [version for version, _ in found] == [event["version"] for event in listed]


def test_what_happens_is_told_as_it_happens(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    with watching(client, game) as stream:
        assert "retry: " in next(stream)
        assert [version for version, _ in messages(next(stream))] == [1]
        for version in (2, 3):
            game = client.play(game, game["legal_moves"][0])
            assert [told for told, _ in messages(next(stream))] == [version]
        client.play(game, "resign")
        assert messages("".join(stream))[-1][1]["type"] == "resigned"


@pytest.mark.parametrize("how", ["query", "header", "both"])
def test_a_stream_goes_on_where_it_broke(client, how):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    for _ in range(5):
        game = client.play(game, game["legal_moves"][0])
    client.play(game, "resign")
    path = f"/v1/games/{game['id']}/events" + {"query": "?after=3", "both": "?after=1"}.get(how, "")
    headers = STREAM if how == "query" else {**STREAM, "Last-Event-ID": "3"}
    text = client.app.test_client().get(path, headers=headers).text
    assert messages(text)[0][0] == 4


def test_a_client_that_knows_the_end_is_told_not_to_come_again(client):
    game = client.play(client.deal(), "resign")
    answer = client.get(f"/v1/games/{game['id']}/events", headers={**STREAM, "Last-Event-ID": str(game["version"])})
    assert (answer.status_code, answer.data) == (204, b"")


def test_a_quiet_stream_shows_that_it_lives(client, monkeypatch):
    monkeypatch.setitem(client.app.config, "HEARTBEAT", 0.05)
    with watching(client, client.deal(), {"Last-Event-ID": "1"}) as stream:
        assert [next(stream) for _ in range(3)] == ["retry: 1000\n\n", ":\n\n", ":\n\n"]


def test_a_watcher_who_claims_to_know_the_future_waits_for_what_comes(client, the_world):
    game = client.deal()
    with watching(client, game, {"Last-Event-ID": "99"}) as stream:
        next(stream)
        resign(the_world, game)
        assert [version for version, _ in messages("".join(stream))] == [2]
    with watching(client, game, {"Last-Event-ID": "0"}) as stream:
        assert [version for version, _ in messages("".join(stream))] == [1, 2]


def test_a_private_game_is_watched_with_its_token(client, the_world):
    game = client.deal(visibility="private")
    refused(client.get(f"/v1/games/{game['id']}/events", headers=STREAM), 404, "game_not_found")
    resign(the_world, game)
    with watching(client, game, token=game["token"]) as stream:
        assert len(messages("".join(stream))) == 2


def test_a_game_made_private_is_watched_by_its_owner_alone(client):
    game = client.deal()
    with watching(client, game) as stranger, watching(client, game, token=game["token"]) as owner:
        assert messages(next(stranger) + next(stranger))
        assert messages(next(owner) + next(owner))
        client.ask("PATCH", f"/v1/games/{game['id']}", game["token"], json={"visibility": "private"})
        client.play(game, "resign")
        assert [event["type"] for _, event in messages("".join(owner))] == ["resigned"]
        assert "resigned" not in "".join(stranger)


def test_what_happens_right_after_a_game_was_made_private_is_not_told(client):
    game = client.deal()
    for _ in range(5):
        client.ask("PATCH", f"/v1/games/{game['id']}", game["token"], json={"visibility": "public"})
        with watching(client, game) as stream:
            next(stream), next(stream)
            client.ask("PATCH", f"/v1/games/{game['id']}", game["token"], json={"visibility": "private"})
            client.post(f"/v1/games/{game['id']}/hints", {"level": "first"}, game["token"])
            assert "hinted" not in "".join(stream)


def test_a_game_that_cannot_be_read_keeps_no_other_waiting(client, the_world, monkeypatch):
    broken, good = (client.deal(deal={"kind": "pysol", "number": "24"}) for _ in range(2))
    load = store.load_entries

    def loading(connection, game, **options):
        if str(game) == broken["id"]:
            raise KeyError("torn")
        return load(connection, game, **options)

    with watching(client, broken, {"Last-Event-ID": "1"}) as torn, watching(client, good) as whole:
        next(torn), next(whole), next(whole)
        monkeypatch.setattr("service.watching.store.load_entries", loading)
        client.play(broken, broken["legal_moves"][0])
        for move in (good["legal_moves"][0], "resign"):
            client.play(good, move)
            assert messages(next(whole))
        monkeypatch.undo()
        client.play(broken, "resign")
        assert [event["type"] for _, event in messages("".join(torn))] == ["removed", "resigned"]


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "", "1" * 10, "٣"])
def test_an_event_id_that_is_none(client, value):
    game = client.deal()
    answer = client.get(
        f"/v1/games/{game['id']}/events", headers={**STREAM, "Last-Event-ID": value.encode().decode("latin-1")}
    )
    refused(answer, 400, "bad_header")


def test_there_is_room_for_so_many(client, the_world, change_world):
    watching_two = type(the_world.watching)(the_world.database, 2)
    change_world(watching=watching_two)
    game = client.deal()
    with watching(client, game) as first:
        next(first)
        with watching(client, game) as second:
            next(second)
            answer = client.get(f"/v1/games/{game['id']}/events", headers=STREAM)
            refused(answer, 503, "too_many_watchers")
            assert answer.headers["Retry-After"]
        for _ in range(3):
            with watching(client, game):
                pass  # gone before the first message


def test_nobody_left_nothing_kept(client, the_world):
    game = client.deal()
    for _ in range(3):
        with watching(client, game) as stream:
            next(stream), next(stream)
    deadline = time.monotonic() + 10
    while the_world.watching._thread and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (the_world.watching._feeds, the_world.watching._thread) == ({}, None)


def test_many_watchers_who_break_off_at_random_see_every_event_once(client, the_world):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    faults = []

    def watch(every):
        last, seen = 0, []
        while not seen or seen[-1][1]["type"] != "resigned":
            with watching(client, game, {"Last-Event-ID": str(last)}) as stream:
                for count, piece in enumerate(stream):
                    seen += messages(piece)
                    last = seen[-1][0] if seen else 0
                    if count >= every:
                        break
        if [version for version, _ in seen] != list(range(1, len(seen) + 1)):
            faults.append([version for version, _ in seen])

    watchers = [threading.Thread(target=watch, args=(every,)) for every in (1, 2, 3, 50)]
    for watcher in watchers:
        watcher.start()
    played = game
    for _ in range(12):
        played = client.play(played, played["legal_moves"][0])
    client.play(played, "resign")
    for watcher in watchers:
        watcher.join(30)
    assert not any(watcher.is_alive() for watcher in watchers)
    assert faults == []


def test_all_events_one_a_line(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    for _ in range(3):
        game = client.play(game, game["legal_moves"][0])
    here = f"/v1/games/{game['id']}/events"
    lines = client.get(here, headers={"Accept": "application/x-ndjson"})
    assert lines.mimetype == "application/x-ndjson"
    assert [json.loads(line) for line in lines.text.splitlines()] == client.get(here).json["items"]
    some = client.get(f"{here}?after=1&limit=2", headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["version"] for line in some.text.splitlines()] == [2, 3]
    assert "after=3" in some.headers["Link"]


def test_an_outage_is_told_once_however_long_it_lasts(client, the_world, monkeypatch, caplog):
    game, looked, load_states = client.deal(), threading.Event(), store.load_states
    failures = []

    def failing(*_):
        failures.append(1)
        if len(failures) == 4:
            looked.set()
            monkeypatch.setattr(store, "load_states", load_states)
        raise Unavailable("gone", "no answer")

    monkeypatch.setattr(store, "load_states", failing)
    with watching(client, game) as stream:
        assert [version for version, _ in messages(next(stream) + next(stream))] == [1]
        assert looked.wait(30)
        resign(the_world, game)
        assert [version for version, _ in messages("".join(stream))] == [2]
    assert [record.getMessage() for record in caplog.records if record.name == "service.watching"] == [
        "games cannot be looked at; watchers wait"
    ]
