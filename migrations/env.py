"""Run migrations: on the connection that the service gives, or on the database of the settings."""

from alembic import context

from service.settings import load
from service.store import Store, metadata


def run(connection):
    """Run what is due on a connection."""
    context.configure(connection=connection, target_metadata=metadata, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with Store(load().database).writing() as connection:
        run(connection)
