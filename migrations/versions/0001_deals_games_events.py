"""Deals, games and their events."""

import sqlalchemy as sa
from alembic import op

from service.store import Id

revision = "0001"
down_revision = None


def upgrade():
    """Make the tables."""
    op.create_table(
        "deals",
        sa.Column("id", Id, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("decks", sa.SmallInteger, nullable=False),
        sa.Column("ranks", sa.Text, nullable=False),
        sa.Column("number", sa.Text),
        sa.Column("cards", sa.Text, comment="the order of a deck deal"),
        sa.Column("seed", sa.LargeBinary(32), comment="of a secret deal"),
        sa.Column("client_seed", sa.Text),
        sa.Column("fairness", sa.Text, nullable=False),
        sa.Column("game", Id, comment="the one game that a secret deal serves"),
        sa.Column("created_at", sa.BigInteger, nullable=False, comment="milliseconds since 1970 UTC"),
    )
    op.create_table(
        "games",
        sa.Column("id", Id, primary_key=True),
        sa.Column("variant", sa.Text, nullable=False),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("deal", Id, sa.ForeignKey("deals.id"), nullable=False),
        sa.Column("deal_record", sa.Text, nullable=False, comment="public facts of the deal, as in the first event"),
        sa.Column("seed", sa.LargeBinary(32), comment="of a secret deal, revealed by the last event"),
        sa.Column("cards", sa.Text, nullable=False, comment="the order of the deal, hidden until it is revealed"),
        sa.Column("visibility", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("head", sa.LargeBinary(32), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("game", Id, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("move", sa.Integer, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("game", "version"),
        sqlite_with_rowid=False,
    )


def downgrade():
    """Take the tables away."""
    for table in ("events", "games", "deals"):
        op.drop_table(table)
