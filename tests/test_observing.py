"""What operators see: request ids, a line of log for each request, metrics of all workers, and nothing secret."""

import io
import json
import logging
import os
import re
import signal
import sqlite3
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service import commands, logs, metrics
from tests import bot
from tests.conftest import KEY, SECRET
from tests.server import running, serving

PYSOL_24 = {"kind": "pysol", "number": "24"}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SOME_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture
def logged():
    """Collect what is logged, as it would be written."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.Lines())
    logger = logging.getLogger("service")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-Request-Id": "order-4711"}, "order-4711"),
        ({"X-Request-Id": TRACE}, TRACE),
        ({"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, TRACE),
        ({"X-Request-Id": "order-4711", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, "order-4711"),
        ({}, SOME_UUID),
        ({"X-Request-Id": "short"}, SOME_UUID),
        ({"X-Request-Id": "x" * 65}, SOME_UUID),
        ({"X-Request-Id": 'order-4711","level":"'}, SOME_UUID),
        ({"X-Request-Id": "mc_AZo1c2VjcmV0"}, SOME_UUID),
        ({"traceparent": f"00-{TRACE}-1"}, SOME_UUID),
    ],
)
def test_a_request_has_an_id_that_is_answered_and_logged(client, logged, headers, expected):
    for path, status in (("/v1/variants", 200), ("/nowhere", 404)):
        response = client.get(path, headers=headers)
        assert response.status_code == status
        assert re.fullmatch(expected, response.headers["X-Request-Id"])
        assert logged()[-1]["request"] == response.headers["X-Request-Id"]


def test_a_line_says_what_was_asked_and_how_it_went(client, logged):
    game = client.deal(deal=PYSOL_24)
    client.move(game, [(1, 1), (1, 1)])
    client.get("/v1/games/nonsense")
    told = [{name: line[name] for name in ("level", "method", "route", "status")} for line in logged()]
    assert told == [
        {"level": "info", "method": "POST", "route": "/v1/games", "status": 201},
        {"level": "info", "method": "POST", "route": "/v1/games/<uuid:game_id>/moves", "status": 409},
        {"level": "info", "method": "GET", "route": None, "status": 404},
    ]
    for line in logged():
        assert line["ms"] > 0
        assert line["pid"] > 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["at"])


def test_nothing_secret_is_ever_logged(client, the_world, logged, monkeypatch):
    game = client.deal(visibility="private")
    token, receipt, here = game["token"], game["receipt"], f"/v1/games/{game['id']}"
    game = client.play(game, game["legal_moves"][0])
    record = commands.read_game(the_world, uuid.UUID(game["id"]), token)
    cards, seed = [str(card) for card in record.order], record.seed.hex()
    for path in (here, f"{here}/log", f"{here}?token={token}", f"/v1/games/{token}", f"/{'-'.join(cards)}", f"/{seed}"):
        client.get(path, token, headers={"X-Request-Id": token})
        client.get(path, f"{token}x")

    def fail(*_, **__):
        raise ValueError(f"{record.order} {' '.join(cards)} {seed} {token} {receipt} {KEY}")

    monkeypatch.setattr(commands, "read_game", fail)
    response = client.app.test_client().get(here, headers={"Authorization": f"Bearer {token}"}, buffered=True)
    assert response.status_code == 500
    lines = logged()
    assert lines[-2]["message"] == "unexpected error"
    assert lines[-2]["request"] == lines[-1]["request"] == response.headers["X-Request-Id"]
    assert "raise ValueError" in lines[-2]["error"]
    text = "\n".join(json.dumps(line) for line in lines)
    for secret in (token, seed, SECRET, KEY, receipt.partition(".")[2]):
        assert secret not in text
    assert not set(cards) & set(re.findall(r"\w+", text))


def samples(url):
    """Return the metrics of a server, by name and labels."""
    with urlopen(f"{url}/metrics") as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        families = text_string_to_metric_families(answer.read().decode())
        return {
            (sample.name.removeprefix("montecarlo_"), *sample.labels.values()): sample.value
            for family in families
            for sample in family.samples
        }


@pytest.mark.parametrize(
    "said",
    [
        "violates check constraint\nDETAIL:  Failing row contains (\\x00ff, monte-carlo, \\xc174fad573b1..., AS).",
        f"\\x{bytes(range(31)).hex()}...",
        bytes(range(32)).hex(),
        "2D 7H",
    ],
)
def test_what_a_database_says_of_a_row_is_not_told(said):
    told = logs.hidden(said)
    assert not re.search(r"[0-9a-f]{8}|monte-carlo|2D|7H|AS", told)
    assert said.startswith("violates") == told.startswith("violates check constraint")


def test_what_is_counted_lies_in_memory(monkeypatch):
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    with metrics.shared():
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        assert folder.parent == Path("/dev/shm")
    assert not folder.exists()
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ


def test_what_a_killed_server_left_in_memory_goes_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr(metrics, "_MEMORY", str(tmp_path))
    forgotten, just_made = tmp_path / "montecarlo-metrics-1", tmp_path / "montecarlo-metrics-2"
    forgotten.mkdir()
    (forgotten / "counter_1.db").touch()
    just_made.mkdir()
    os.utime(forgotten, (0, 0))
    with metrics.shared():
        kept = set(tmp_path.iterdir())
        assert kept == {just_made, Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])}
        for folder in kept:
            os.utime(folder, (0, 0))
        with metrics.shared():  # another server
            assert just_made not in tmp_path.iterdir()
            assert len(list(tmp_path.iterdir())) == 2


def test_metrics_are_those_of_all_workers(tmp_path):
    with serving(tmp_path, workers="2", rate_limits="off") as url:

        def play(_):
            game = bot.post(f"{url}/v1/games", {"deal": PYSOL_24})
            here, token, made = f"{url}/v1/games/{game['id']}", game["token"], Counter()
            for _ in range(10):
                first = game["legal_moves"][0]
                move = {"type": first["type"], "cells": first["cells"]}
                game = bot.post(f"{here}/moves", {"moves": [move]}, token)["game"]
                made[first["type"]] += 1
            with pytest.raises(HTTPError):
                bot.post(f"{here}/moves", {"moves": [{"type": "redo"}]}, token)
            bot.post(f"{here}/hints", {"level": "first"}, token)
            urlopen(f"{here}/audit").close()
            return made

        with ThreadPoolExecutor(8) as pool:
            made = sum(pool.map(play, range(8)), Counter())
        for _ in range(4):  # by whichever worker
            found = samples(url)
            for kind, count in made.items():
                assert found["moves_total", "made", kind] == count
            assert found["moves_total", "nothing_to_redo", "redo"] == 8
            assert found["hints_total", "first"] == 8
            assert found["audits_total", "kept", "valid"] == 8
            moves = "/v1/games/<uuid:game_id>/moves"
            assert found["requests_total", "POST", moves, "201"] == 80
            assert found["requests_total", "POST", moves, "409"] == 8
            assert found["request_seconds_count", "POST", moves] == 88
            assert found["connections_open",] >= 1
            assert found["connections_in_use",] == 0


def test_a_dead_worker_is_replaced_and_its_connections_are_not_counted(tmp_path):
    with running(tmp_path, workers="1", rate_limits="off") as (url, process):
        bot.post(f"{url}/v1/games", {})
        # A request is counted when its answer is gone, which the client may have a moment before.
        while ("requests_total", "POST", "/v1/games", "201") not in (before := samples(url)):
            pass
        open_before = before["connections_open",]
        pid = json.loads((tmp_path / "log").read_text().splitlines()[-1])["pid"]
        assert pid != process.pid
        os.kill(pid, signal.SIGKILL)
        while True:
            try:
                found = samples(url)
                break
            except OSError:
                time.sleep(0.1)
        assert found["connections_open",] == 0
        assert open_before >= 1
        assert found["requests_total", "POST", "/v1/games", "201"] == 1


def test_streams_end_whole_when_the_server_stops(tmp_path):
    with running(tmp_path, workers="1", heartbeat="3600") as (url, process):
        game = bot.post(f"{url}/v1/games", {})
        with urlopen(Request(f"{url}/v1/games/{game['id']}/events", headers={"Accept": "text/event-stream"})) as stream:
            assert b"retry" in stream.readline()
            while b"data" not in stream.readline():
                pass
            process.send_signal(signal.SIGTERM)
            stream.read()  # raises if it is cut
        assert process.wait(30) == 0


def test_what_is_in_flight_is_finished_before_the_end(tmp_path):
    patient = {"workers": "1", "rate_limits": "off", "lock_timeout": "60000"}
    with running(tmp_path, **patient) as (url, process):
        game = bot.post(f"{url}/v1/games", {"deal": PYSOL_24})
        other = sqlite3.connect(tmp_path / "montecarlo.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            resign = {"moves": [{"type": "resign"}]}
            answer = pool.submit(bot.post, f"{url}/v1/games/{game['id']}/moves", resign, game["token"])
            while samples(url)["connections_in_use",] == 0:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            while True:
                try:
                    urlopen(Request(f"{url}/healthz", headers={"Connection": "close"}), timeout=1).close()
                except OSError:
                    break
            assert not answer.done()
            other.execute("ROLLBACK")
            other.close()
            assert answer.result()["game"]["status"] == "lost"
        assert process.wait(30) == 0
