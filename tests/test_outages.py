"""A database that is full, gone, or locked: a problem that says so, nothing half-written, and no restart needed."""

import errno
import json
import shutil
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import sqlalchemy as sa

from service import store
from service.api.world import open_database
from service.database import Unavailable
from service.migrate import migrate
from tests import bot, postgresql
from tests.client import refused
from tests.server import running

PYSOL_24 = {"kind": "pysol", "number": "24"}


def unavailable(response, detail):
    """Check that a request was answered by the problem of a database that cannot be used."""
    assert detail in refused(response, 503, "database_unavailable")["detail"]
    assert response.headers["Retry-After"] == "1"


@pytest.fixture
def impatient(the_world, settings, change_world):
    """The app, with nobody waiting long; its database."""
    the_world.database.close()
    return change_world(database=open_database(replace(settings, lock_timeout=50, statement_timeout=500))).database


@pytest.fixture
def lock(backend, database_url):
    """Lock the row of every game, as another that has not come to an end does; unlock on commit."""
    if backend == "sqlite":
        connection = sqlite3.connect(sa.make_url(database_url).database, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
    else:
        connection = postgresql.connect(sa.make_url(database_url))
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE games IN EXCLUSIVE MODE")
    yield connection
    connection.close()


def test_a_lock_that_is_not_to_be_had_is_a_problem(client, impatient, request):
    game = client.deal(deal=PYSOL_24)
    lock = request.getfixturevalue("lock")
    for response in (client.move(game, [(1, 5), (2, 4)]), client.post("/v1/games", {})):
        unavailable(response, "busy")
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 1
    lock.execute("ROLLBACK")
    assert client.play(game, [(1, 5), (2, 4)])["version"] == 2


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_queue_that_does_not_move_is_a_problem(client, impatient):
    game = client.deal(deal=PYSOL_24)
    with impatient._queue.alone():
        unavailable(client.move(game, [(1, 5), (2, 4)]), "busy")
    assert client.play(game, [(1, 5), (2, 4)])["version"] == 2


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_statement_that_takes_too_long_is_given_up(impatient):
    with pytest.raises(Unavailable, match="too long"), impatient.reading() as connection:
        connection.execute(sa.text("SELECT pg_sleep(10)"))
    with impatient.reading() as connection:
        assert connection.scalar(sa.text("SELECT 1")) == 1


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_all_connections_in_use_is_a_problem(client, the_world, settings, change_world):
    the_world.database.close()
    narrow = change_world(database=open_database(replace(settings, connections=2, lock_timeout=50))).database
    with narrow.reading():
        unavailable(client.get("/v1/games/00000000-0000-4000-8000-000000000000"), "busy")
    assert client.deal()["version"] == 1


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_full_disk_of_postgresql_is_a_problem_and_nothing_is_kept(client, the_world):
    game = client.deal(deal=PYSOL_24)
    full = "BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END"
    with the_world.database.writing() as connection:
        connection.execute(sa.text(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $${full}$$"))
        connection.execute(sa.text("CREATE TRIGGER full_disk BEFORE INSERT ON events EXECUTE FUNCTION full_disk()"))
    try:
        unavailable(client.move(game, [(1, 5), (2, 4)]), "no room left")
        unavailable(client.post("/v1/games", {}), "no room left")
    finally:
        with the_world.database.writing() as connection:
            connection.execute(sa.text("DROP FUNCTION full_disk CASCADE"))
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 1
    assert client.play(game, [(1, 5), (2, 4)])["version"] == 2
    with the_world.database.reading() as connection:
        assert store.count_games(connection) == 1


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_comes_back_is_used_again(client, the_world, settings, change_world, own_cluster, mode):
    the_world.database.close()
    database = own_cluster.url.render_as_string()
    moved = change_world(database=open_database(replace(settings, database_url=database))).database
    migrate(moved)
    game = client.deal(deal=PYSOL_24)
    with moved.reading(), moved.reading(), moved.deciding():  # so that there are three connections
        pass
    own_cluster.stop(mode)
    for response in (client.move(game, [(1, 5), (2, 4)]), client.get(f"/v1/games/{game['id']}")):
        unavailable(response, "does not answer")
    assert "does not answer" in refused(client.get("/readyz"), 503, "not_ready")["detail"]
    assert client.get("/healthz").status_code == 200
    own_cluster.start()
    assert client.play(game, [(1, 5), (2, 4)])["version"] == 2
    own_cluster.stop(mode)
    own_cluster.start()
    for path in ("", "/audit", "/log"):  # the first that asks after a restart is not told of it
        assert client.get(f"/v1/games/{game['id']}{path}").status_code == 200


SMALL = ("unshare", "--map-root-user", "--mount", "sh", "-c")


def can_mount(folder):
    """Say whether a small disk can be had, in a mount namespace of our own."""
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*SMALL, f"mount -t tmpfs none {folder}"], capture_output=True).returncode == 0


def test_a_full_disk_is_a_problem_and_room_is_used_again(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not can_mount(disk):
        pytest.skip("needs a small disk: unshare of util-linux, and a system that allows mounts in a namespace")
    mounted = (*SMALL, f'mount -t tmpfs -o size=2m none {disk} && exec "$0" "$@"')
    database = f"sqlite:///{disk}/montecarlo.db"
    with running(tmp_path, before=mounted, database_url=database, workers="1") as (url, process):
        seen_by_us = Path(f"/proc/{process.pid}/root{disk}")
        game = bot.post(f"{url}/v1/games", {"deal": PYSOL_24})
        moves, token = f"{url}/v1/games/{game['id']}/moves", game["token"]
        pair = {"type": "remove", "cells": [{"row": 1, "column": 5}, {"row": 2, "column": 4}]}
        version = bot.post(moves, {"moves": [pair]}, token)["game"]["version"]
        with (
            (seen_by_us / "filler").open("wb", buffering=0) as filler,
            pytest.raises(OSError, match="No space") as full,
        ):
            while True:
                filler.write(bytes(4096))
        assert full.value.errno == errno.ENOSPC
        with pytest.raises(HTTPError) as answer:
            for turn in range(10_000):
                version = bot.post(moves, {"moves": [{"type": ("undo", "redo")[turn % 2]}]}, token)["game"]["version"]
        assert (answer.value.code, answer.value.headers["Retry-After"]) == (503, "1")
        problem = json.load(answer.value)
        assert (problem["code"], problem["detail"]) == (
            "database_unavailable",
            "the database has no room left on its disk",
        )
        with urlopen(f"{url}/v1/games/{game['id']}") as read:
            assert json.load(read)["version"] == version
        (seen_by_us / "filler").unlink()
        assert bot.post(moves, {"moves": [{"type": "resign"}]}, token)["events"][0]["version"] == version + 1
        with urlopen(f"{url}/v1/games/{game['id']}/audit") as audit:
            assert json.load(audit)["valid"]
