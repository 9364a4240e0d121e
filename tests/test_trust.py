"""What clients can trust over real HTTP, with two workers: retries, races and streams that break."""

import json
import random
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from service.engine.audit import audit
from tests.lossy import losing
from tests.server import ask, serving

PAIR = {"type": "remove", "cells": [{"row": 1, "column": 5}, {"row": 2, "column": 4}]}
DEAL = {"deal": {"kind": "pysol", "number": "24"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory, server_settings):
    """One server of two workers for the tests of this module, on each kind of database."""
    folder = tmp_path_factory.mktemp("trust")
    with serving(folder, workers="2", rate_limits="off", watchers="8", heartbeat="1", **server_settings) as url:
        yield url


def get(url, **headers):
    """Return the JSON at an address."""
    with urlopen(Request(url, headers=headers)) as answer:
        return json.load(answer)


def test_a_thousand_moves_over_a_line_that_loses_a_third_of_the_answers(server):
    game = ask(f"{server}/v1/games", DEAL)
    with losing(server, answers=1 / 3) as line:
        lost = 0
        for turn in range(1000):
            move = PAIR if turn == 0 else {"type": "undo" if turn % 2 else "redo"}
            key = f'"{uuid.uuid4()}"'
            while True:
                headers = {"Content-Type": "application/json", "Authorization": f"Bearer {game['token']}"}
                headers |= {"Idempotency-Key": key, "Prefer": "return=minimal"}
                body = json.dumps({"moves": [move]}).encode()
                try:
                    with urlopen(Request(f"{line}/v1/games/{game['id']}/moves", body, headers)) as answer:
                        assert json.load(answer)["version"] == turn + 2
                        break
                except (URLError, HTTPException, ConnectionError):
                    lost += 1
    assert lost > 300
    log = get(f"{server}/v1/games/{game['id']}/log")
    assert [event["version"] for event in log["events"]] == list(range(1, 1002))
    assert audit(log).valid


def test_of_64_clients_with_the_same_version_one_moves(server):
    game = ask(f"{server}/v1/games", DEAL)
    path, host = f"/v1/games/{game['id']}", server.removeprefix("http://")
    ask(f"{server}{path}/moves", {"moves": [PAIR]}, game["token"])
    tag, start, end = "", threading.Barrier(65), threading.Barrier(65)
    statuses = [[] for _ in range(64)]
    rounds = 200

    def client(place):
        connection = HTTPConnection(host, timeout=60)
        for turn in range(rounds):
            start.wait()
            body = json.dumps({"moves": [{"type": "redo" if turn % 2 else "undo"}]})
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {game['token']}", "If-Match": tag}
            connection.request("POST", f"{path}/moves", body, headers | {"Prefer": "return=minimal"})
            answer = connection.getresponse()
            answer.read()
            statuses[place].append(answer.status)
            end.wait()
        connection.close()

    with ThreadPoolExecutor(64) as pool:
        played = [pool.submit(client, place) for place in range(64)]
        for _ in range(rounds):
            with urlopen(f"{server}{path}") as answer:
                tag = answer.headers["ETag"]
            start.wait()
            end.wait()
        for ended in played:
            ended.result()
    for turn in zip(*statuses, strict=True):
        assert sorted(turn) == [200] + [412] * 63
    log = get(f"{server}{path}/log")
    assert [event["version"] for event in log["events"]] == list(range(1, rounds + 3))
    assert audit(log).valid


class Stream:
    """A stream of events, read line by line as a client would."""

    def __init__(self, server, path, last=0):
        self.connection = HTTPConnection(server.removeprefix("http://"), timeout=60)
        self.connection.request("GET", path, headers={"Accept": "text/event-stream", "Last-Event-ID": str(last)})
        self.answer = self.connection.getresponse()

    def events(self):
        """Yield events until the stream ends."""
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))

    def close(self):
        """Hang up."""
        self.answer.close()
        self.connection.close()


def watch(server, path, last=0):
    """Open a stream; the places of those who hung up just now are free in a moment."""
    while True:
        stream = Stream(server, path, last)
        if stream.answer.status == 200:
            return stream
        assert json.load(stream.answer)["code"] == "too_many_watchers"
        stream.close()


def test_a_watcher_who_breaks_off_a_hundred_times_sees_every_event_once(server):
    game = ask(f"{server}/v1/games", DEAL)
    path, chance = f"/v1/games/{game['id']}", random.Random(7)

    def play():
        ask(f"{server}{path}/moves", {"moves": [PAIR]}, game["token"])
        for _ in range(200):
            ask(f"{server}{path}/moves", {"moves": [{"type": "undo"}]}, game["token"])
            ask(f"{server}{path}/moves", {"moves": [{"type": "redo"}]}, game["token"])

    player = threading.Thread(target=play)
    player.start()
    seen, broken = [], 0
    while len(seen) < 402:
        stream = watch(server, f"{path}/events", seen[-1]["version"] if seen else 0)
        stay = chance.randint(1, 4) if broken < 100 else 1000
        for count, event in enumerate(stream.events(), 1):
            seen.append(event)
            if count == stay or len(seen) == 402:
                break
        stream.close()
        broken += 1
    player.join()
    assert broken >= 100
    assert seen == get(f"{server}{path}/events?limit=1000")["items"]


def test_watchers_who_hang_up_make_room_for_others(server):
    path = f"/v1/games/{ask(f'{server}/v1/games', DEAL)['id']}/events"
    for _ in range(5):
        streams = [watch(server, path) for _ in range(8)]
        assert all(next(stream.events())["version"] == 1 for stream in streams)
        for stream in streams:
            stream.close()


def test_watchers_see_a_move_made_at_another_worker(server):
    """Of six watchers and as many movers some meet across the two workers."""
    games = [ask(f"{server}/v1/games", DEAL) for _ in range(6)]
    streams = [watch(server, f"/v1/games/{game['id']}/events") for game in games]
    told = [stream.events() for stream in streams]
    for events, game in zip(told, games, strict=True):
        next(events)
        ask(f"{server}/v1/games/{game['id']}/moves", {"moves": [PAIR]}, game["token"])
        assert next(events)["type"] == "removed"
    for stream in streams:
        stream.close()
