"""Run migrations: on the connection that the service gives, or on the database of the settings.

With `alembic upgrade FROM:TO --sql` they are printed, for PostgreSQL.
"""

from alembic import context

from service.database import Database
from service.settings import load
from service.store import metadata


def run(**options):
    """Run what is due."""
    context.configure(target_metadata=metadata, compare_type=True, transaction_per_migration=True, **options)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if context.is_offline_mode():
    run(dialect_name="postgresql")
elif given is not None:
    run(connection=given)
else:
    with Database(load().database).writing() as connection:
        run(connection=connection)
