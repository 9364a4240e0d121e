"""Migrations: bringing a database to the schema of this release.

They run while the release before still answers: they add what it does not need, and never rewrite a table. A lock
that is not to be had within two seconds is let go and asked for again, so that nobody queues behind a migration.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from service import shipped
from service.database import Database, Unavailable
from service.store import metadata

_LOCK = 0x6D6F6E746563  # of all advisory locks the one of migrations
_TRIES = 30


class WrongSchema(Exception):
    """A database with another schema than this release's; the message says what to do."""


def migrate(database: Database, told: Callable[[Unavailable], None] = lambda _: None) -> None:
    """Bring the database to the newest schema, one process at a time.

    told: called before each time it tries again, a second later, with what kept it from it

    Raises `WrongSchema` if it is of a newer release, and `Unavailable` if its tables stay locked.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            with _alone(database) as connection:
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            return
        except Unavailable as unavailable:
            if unavailable.code != "locked" or not tries_left:
                raise
            told(unavailable)
        time.sleep(1)


@contextmanager
def _alone(database: Database) -> Iterator[Connection]:
    """Give a connection to migrate on, to one process at a time, unless the schema is newer already."""
    if database.engine.dialect.name == "sqlite":
        with database.writing() as connection:
            _refuse_unfit(connection)
            yield connection
        return
    with database.telling(), database.engine.connect() as connection:
        try:
            connection.execute(text("SET statement_timeout = 0"))
            connection.execute(text(f"SET lock_timeout = {min(database.lock_timeout or 2000, 2000)}"))
            if not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": _LOCK}):
                raise Unavailable("locked", "another process brings it forward")
            _refuse_unfit(connection)
            connection.commit()  # each migration has transactions of its own
            yield connection
        finally:
            connection.invalidate()  # closed, so that the lock goes, and what was set


def _refuse_unfit(connection: Connection) -> None:
    state = schema_state(connection)
    if state in ("newer", "strange"):
        raise WrongSchema(WRONG[state])


WRONG = {
    "older": "the schema of the database is of an older release: run montecarlo migrate",
    "newer": "the schema of the database is of a newer release: start that one, or restore a backup",
    "strange": "the database has tables with the names of ours that are not ours: choose another",
}


def check(database: Database) -> None:
    """Raise `WrongSchema` unless the schema is this release's."""
    with database.reading() as connection:
        state = schema_state(connection)
    if state != "current":
        raise WrongSchema(WRONG[state])


def schema_state(connection: Connection) -> Literal["current", "older", "newer", "strange"]:
    """Say how the schema of the database stands to this release's."""
    scripts = ScriptDirectory.from_config(_config())
    here = set(MigrationContext.configure(connection).get_current_heads())
    if here == set(scripts.get_heads()):
        return "current"
    if not here and not metadata.tables.keys().isdisjoint(inspect(connection).get_table_names()):
        return "strange"
    return "older" if here <= {script.revision for script in scripts.walk_revisions()} else "newer"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(shipped("migrations")).replace("%", "%%"))
    return config
