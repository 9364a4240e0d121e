"""The real server over real HTTP: whole games, many clients at once, and a start after a stop."""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from service.engine.log import event_hash
from service.engine.rules import VARIANTS
from tests import bot
from tests.bench.crash import workers
from tests.server import MONTECARLO, running, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory, server_settings):
    """One server of two workers for the tests of this module, on each kind of database."""
    with serving(tmp_path_factory.mktemp("server"), workers="2", **server_settings) as url:
        yield url


def get(url):
    """Return the JSON at an address."""
    with urlopen(url) as answer:
        return json.load(answer)


def play(server, number):
    """Play a numbered deal by first legal moves."""
    game = bot.post(f"{server}/v1/games", {"deal": {"kind": "numbered", "number": str(number)}})
    url, token = f"{server}/v1/games/{game['id']}", game["token"]
    while game["legal_moves"]:
        first = game["legal_moves"][0]
        move = {"type": first["type"], "cells": first["cells"]}
        game = bot.post(f"{url}/moves", {"moves": [move]}, token)["game"]
    return url, game


def test_one_game_is_won_and_another_blocked(server):
    ends = {}
    for number in range(1, 60):
        url, game = play(server, number)
        ends[game["status"]] = (url, game)
        if len(ends) == 2:
            break
    assert set(ends) == {"won", "blocked"}
    url, won = ends["won"]
    assert (won["cards_left"], won["stock"], won["grid"]) == (0, 0, [[None] * 5] * 5)
    assert get(url) == won
    assert get(f"{url}/events?after={won['version'] - 1}")["items"][0]["type"] == "won"
    url, blocked = ends["blocked"]
    assert blocked["cards_left"] > 0
    assert get(f"{url}/positions/{blocked['version']}")["status"] == "blocked"


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_bot_finishes_every_variant(server, variant):
    script = Path(bot.__file__)
    ended = subprocess.run([sys.executable, script, server, variant], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith((f"{variant} won", f"{variant} blocked"))


def test_the_bot_is_short():
    lines = Path(bot.__file__).read_text().split('"""\n', 1)[1].splitlines()
    assert len([line for line in lines if line.strip()]) <= 30


def test_of_many_at_once_each_move_lands_once(server):
    """Sixteen clients undo and redo on one game over two workers; versions come without gap or double."""
    game = bot.post(f"{server}/v1/games", {"deal": {"kind": "pysol", "number": "24"}})
    url, token = f"{server}/v1/games/{game['id']}", game["token"]
    pair = {"type": "remove", "cells": [{"row": 1, "column": 5}, {"row": 2, "column": 4}]}
    bot.post(f"{url}/moves", {"moves": [pair]}, token)

    def client(place):
        landed = []
        for turn in range(20):
            try:
                answer = bot.post(f"{url}/moves", {"moves": [{"type": ("undo", "redo")[(place + turn) % 2]}]}, token)
                landed.append(answer["events"][0]["version"])
            except HTTPError as error:
                assert error.code == 409
                assert json.load(error)["code"] in ("nothing_to_undo", "nothing_to_redo")
        return landed

    with ThreadPoolExecutor(16) as pool:
        landed = sorted(version for versions in pool.map(client, range(16)) for version in versions)
    assert len(landed) > 16
    assert landed == list(range(3, len(landed) + 3))
    events = get(f"{url}/events?limit=1000")["items"]
    assert [event["version"] for event in events] == list(range(1, len(landed) + 3))
    for before, event in itertools.pairwise(events):
        assert event["previous"] == before["hash"] == event_hash(before)
    assert get(f"{url}/audit")["valid"]


def test_a_secret_deal_serves_one_of_many_games_at_once(server):
    deal = bot.post(f"{server}/v1/deals", {})

    def claim(_):
        try:
            return bot.post(f"{server}/v1/games", {"deal": {"id": deal["id"]}})["id"]
        except HTTPError as error:
            return json.load(error)["code"]

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(claim, range(8)), key=len)
    assert answers[:7] == ["deal_used"] * 7
    assert len(answers[7]) == 36


def test_games_and_tokens_outlive_the_server(tmp_path, server_settings):
    with serving(tmp_path, **server_settings) as url:
        game = bot.post(f"{url}/v1/games", {"deal": {"kind": "numbered", "number": "1"}})
    with serving(tmp_path, **server_settings) as url:
        assert get(f"{url}/v1/games/{game['id']}") == {key: game[key] for key in game.keys() - {"token", "receipt"}}
        answer = bot.post(f"{url}/v1/games/{game['id']}/moves", {"moves": [{"type": "resign"}]}, game["token"])
        assert answer["game"]["status"] == "lost"
        again = bot.post(f"{url}/v1/games", {"deal": {"kind": "numbered", "number": "1"}})
        assert again["grid"] == game["grid"]


def test_after_a_stop_three_files_hold_everything(tmp_path):
    with serving(tmp_path) as url:
        game = bot.post(f"{url}/v1/games", {})
    kept = tmp_path / "kept"
    kept.mkdir()
    for ending in ("", ".key", ".signing"):
        shutil.copy(tmp_path / f"montecarlo.db{ending}", kept)
    with serving(kept) as url:
        answer = bot.post(f"{url}/v1/games/{game['id']}/moves", {"moves": [{"type": "resign"}]}, game["token"])
        assert answer["game"]["status"] == "lost"


def test_a_bad_setting_stops_the_start_with_one_line(tmp_path):
    ended = subprocess.run([MONTECARLO, "serve", "--port", "0"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "Error: MONTECARLO_PORT: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_second_server_on_the_same_address_does_not_start(server, tmp_path):
    port = server.rpartition(":")[2]
    ended = subprocess.run([MONTECARLO, "serve", "--port", port], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "in use" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_workers_end_with_a_server_that_was_killed(tmp_path):
    with ExitStack() as stack, running(tmp_path) as (url, process):
        host, port = url.removeprefix("http://").split(":")
        for _ in range(6):  # of which each worker gets some, and waits for the rest of them
            stalled = stack.enter_context(socket.create_connection((host, int(port))))
            head = b"POST /v1/games HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
            stalled.sendall(head + b"\r\n{")
        time.sleep(0.5)
        of_server = workers(process.pid)
        assert len(of_server) == 2
        process.kill()
        with serving(tmp_path) as again:  # beside those that are ending
            assert get(f"{again}/readyz")["status"] == "ok"
        for _ in range(150):
            if not any(Path(f"/proc/{pid}").exists() for pid in of_server):
                break
            time.sleep(0.1)
        else:
            pytest.fail("they are still there")


def test_all_workers_sign_with_the_keys_of_the_start(tmp_path):
    def published(url):
        with urlopen(f"{url}/.well-known/jwks.json") as answer:
            return len(json.load(answer)["keys"])

    with running(tmp_path) as (url, process):
        subprocess.run([MONTECARLO, "rotate-keys"], cwd=tmp_path, check=True, capture_output=True)
        before = workers(process.pid)
        os.kill(before[0], signal.SIGKILL)
        new: set[int] = set()
        while not any(f'"pid":{pid},' in (tmp_path / "log").read_text() for pid in new):
            with suppress(OSError):  # what the worker had taken when it was killed
                assert published(url) == 1
            new = {*workers(process.pid)} - {*before}
    with serving(tmp_path) as url:
        assert published(url) == 2


def raw(server, text, *, cut=False):
    """Send bytes as they are, with `cut` nothing after them, and return what comes back."""
    host, port = server.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as connection:
        connection.sendall(text)
        if cut:
            connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


@pytest.mark.parametrize("ending", ["length", "chunked"])
def test_a_body_that_did_not_come_whole_is_not_acted_on(server, ending):
    game = bot.post(f"{server}/v1/games", {"deal": {"kind": "numbered", "number": "1"}})
    body = b'{"moves": [{"type": "resign"}]}'
    head = f"POST /v1/games/{game['id']}/moves HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {game['token']}\r\n"
    head += "Content-Type: application/json\r\nConnection: close\r\n"
    if ending == "length":
        answer = raw(server, head.encode() + b"Content-Length: %d\r\n\r\n" % (len(body) + 50) + body, cut=True)
    else:
        answer = raw(
            server, head.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
        )
        assert b" 411 " in answer
        assert b'"code": "length_required"' in answer
    assert b" 201 " not in answer
    assert get(f"{server}/v1/games/{game['id']}")["version"] == 1
