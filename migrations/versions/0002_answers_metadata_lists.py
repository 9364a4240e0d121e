"""Answers kept under the keys of clients, metadata of games, and the indexes that lists read."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_LISTS = (("status", "id"), ("variant", "id"), ("variant", "status", "id"), ("deal", "id"))


def upgrade():
    """Make the table and the indexes, and give games what they had not."""
    # The indexes come first, because they end the transaction where games are played meanwhile.
    if op.get_context().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            _make_lists(postgresql_concurrently=True)
    else:
        _make_lists()
    op.create_table(
        "answers",
        sa.Column("key", sa.LargeBinary(32), primary_key=True, comment="digest of whose it is and which"),
        sa.Column("request", sa.LargeBinary(32), nullable=False, comment="digest of what was asked"),
        sa.Column("answer", sa.LargeBinary, nullable=False, comment="compressed JSON"),
        sa.Column("at", sa.BigInteger, nullable=False, comment="milliseconds since 1970 UTC"),
    )
    op.create_index("answers_by_at", "answers", ["at"])
    op.add_column("games", sa.Column("metadata", sa.Text, nullable=False, server_default="{}"))
    op.add_column("games", sa.Column("revision", sa.Integer, nullable=False, server_default="0"))


def _make_lists(**options):
    for columns in _LISTS:
        name = f"games_by_{'_'.join(columns[:-1])}"
        op.drop_index(name, "games", if_exists=True, **options)  # half made by a try that failed
        op.create_index(name, "games", columns, **options)


def downgrade():
    """Take them away."""
    for columns in _LISTS:
        op.drop_index(f"games_by_{'_'.join(columns[:-1])}", "games")
    op.drop_column("games", "revision")
    op.drop_column("games", "metadata")
    op.drop_table("answers")
