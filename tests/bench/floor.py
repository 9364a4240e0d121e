"""The floor: a bare Flask route that reads a row, inserts one and updates one by hand, with no rules and no checks.

Same server, same pragmas, same queue of writers, rows of the same size as the service's.
"""

import fcntl
import json
import os
import sqlite3
import threading

from flask import Flask, Response, request

PATH = os.environ["FLOOR_DATABASE"]
app = Flask(__name__)
local = threading.local()
queue, lock_file = threading.Lock(), open(f"{PATH}.lock", "a")  # noqa: SIM115


def make() -> None:
    """Make the tables."""
    connection = sqlite3.connect(PATH)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE game(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL)")
    connection.execute(
        "CREATE TABLE event(game INTEGER, version INTEGER, data TEXT NOT NULL, hash BLOB NOT NULL, "
        "PRIMARY KEY(game, version)) WITHOUT ROWID"
    )
    connection.close()


def database() -> sqlite3.Connection:
    """Return this thread's connection."""
    if not hasattr(local, "connection"):
        local.connection = sqlite3.connect(PATH, isolation_level=None)
        local.connection.execute("PRAGMA synchronous=FULL")
        local.connection.execute("PRAGMA busy_timeout=10000")
    return local.connection


@app.post("/games")
def create() -> Response:
    """Add a game."""
    connection = database()
    with queue:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        try:
            state = json.dumps(request.get_json())
            id = connection.execute("INSERT INTO game(version, state) VALUES (1, ?)", (state,)).lastrowid
        finally:
            fcntl.flock(lock_file, fcntl.LOCK_UN)
    return Response(json.dumps({"id": id}), 201, mimetype="application/json")


@app.post("/games/<int:game>/moves")
def move(game: int) -> Response:
    """Read the game, add an event, update the game."""
    moves = request.get_json()["moves"]
    connection = database()
    with queue:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        try:
            connection.execute("BEGIN IMMEDIATE")
            version, state = connection.execute("SELECT version, state FROM game WHERE id=?", (game,)).fetchone()
            for step in moves:
                version += 1
                values = (game, version, json.dumps(step), b"0" * 32)
                connection.execute("INSERT INTO event VALUES (?, ?, ?, ?)", values)
            connection.execute("UPDATE game SET version=?, state=? WHERE id=?", (version, state, game))
            connection.execute("COMMIT")
        finally:
            fcntl.flock(lock_file, fcntl.LOCK_UN)
    return Response(state, 201, mimetype="application/json")
