"""${message}."""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade():
    """Bring the schema forward."""
    ${upgrades if upgrades else "pass"}


def downgrade():
    """Take it back."""
    ${downgrades if downgrades else "pass"}
