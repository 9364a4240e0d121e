"""Migrations: bringing a database to the schema of this release.

They run while the release before still answers: they add what it does not need, and never rewrite a table. A lock
that is not to be had within two seconds is let go and asked for again, so that nobody queues behind a migration.
"""

import time
from collections.abc import Callable
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from service import shipped
from service.store import Store, Unavailable

_LOCK = 0x6D6F6E746563  # of all advisory locks the one of migrations
_TRIES = 30


class WrongSchema(Exception):
    """A database with another schema than this release's; the message says what to do."""


def migrate(store: Store, wait: Callable[[float], None] = time.sleep) -> None:
    """Bring the database to the newest schema, one process at a time.

    Raises `WrongSchema` if it is of a newer release, and `Unavailable` if its tables stay locked.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            with store.writing() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SET LOCAL statement_timeout = 0"))
                    connection.execute(text(f"SET LOCAL lock_timeout = {min(store.lock_timeout or 2000, 2000)}"))
                    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
                if schema_state(connection) == "newer":
                    raise WrongSchema(NEWER)
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            return
        except Unavailable as unavailable:
            if unavailable.code != "locked" or not tries_left:
                raise
        wait(1)


OLDER = "the schema of the database is of an older release: run montecarlo migrate"
NEWER = "the schema of the database is of a newer release: start that one, or restore a backup"


def check(store: Store) -> None:
    """Raise `WrongSchema` unless the schema is this release's."""
    with store.reading() as connection:
        state = schema_state(connection)
    if state != "current":
        raise WrongSchema(OLDER if state == "older" else NEWER)


def schema_state(connection: Connection) -> Literal["current", "older", "newer"]:
    """Say how the schema of the database stands to this release's."""
    scripts = ScriptDirectory.from_config(_config())
    here = set(MigrationContext.configure(connection).get_current_heads())
    if here == set(scripts.get_heads()):
        return "current"
    return "older" if here <= {script.revision for script in scripts.walk_revisions()} else "newer"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(shipped("migrations")).replace("%", "%%"))
    return config
