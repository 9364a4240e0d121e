"""Migrations: bringing a database to the schema of this release."""

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from service import shipped
from service.store import Store


def migrate(store: Store) -> None:
    """Bring the database to the newest schema; one process at a time on SQLite."""
    with store.writing() as connection:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def pending(connection: Connection) -> bool:
    """Say whether the schema of the database is another than this release's."""
    here = MigrationContext.configure(connection).get_current_heads()
    return set(here) != set(ScriptDirectory.from_config(_config()).get_heads())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(shipped("migrations")).replace("%", "%%"))
    return config
