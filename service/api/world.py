"""The world that commands work with, made once for each app."""

import os
import time
from typing import cast

import uuid_utils.compat
from flask import Flask, current_app

from service.commands import World
from service.database import Database
from service.settings import Settings
from service.watching import Watching

_KEY = "montecarlo"


def open_database(settings: Settings) -> Database:
    """Return the database of these settings."""
    sqlite = settings.database.get_backend_name() == "sqlite"
    # In SQLite a connection costs nothing, and with one for each thread no reader waits for another. Of moves more at a
    # time would only get into each other's way: with 32 the slowest in a hundred waits half as long again.
    lines = 8 if sqlite else settings.connections // 2
    return Database(
        settings.database,
        settings.threads + 16 + lines if sqlite else settings.connections,
        lines,
        lock_timeout=settings.lock_timeout,
        statement_timeout=settings.statement_timeout,
    )


def make_world(settings: Settings) -> World:
    """Return the world of these settings: the real clock, real randomness and the database."""
    database = open_database(settings)
    return World(
        database=database,
        watching=Watching(database, settings.watchers),
        secret=settings.secret(),
        keys=settings.keys(),
        now=lambda: time.time_ns() // 1_000_000,
        random_bytes=os.urandom,
        new_id=lambda now: uuid_utils.compat.uuid7(nanoseconds=now * 1_000_000),
    )


def set_world(app: Flask, world: World) -> None:
    """Give an app another world."""
    app.extensions[_KEY] = world


def world() -> World:
    """Return the world of the app that answers the request."""
    return cast(World, current_app.extensions[_KEY])
