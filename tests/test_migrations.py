"""Migrations: none holds up those who play meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

ROOT = Path(__file__).parent.parent
REVISIONS = list(ScriptDirectory(str(ROOT / "migrations")).walk_revisions())

# Integers of 4 bytes are wide enough for versions, Alembic's own table has a varchar, a migration runs in one
# transaction, and `service/migrate.py` sets the timeouts.
NOT_FOR_US = (
    "prefer-bigint-over-int",
    "prefer-bigint-over-smallint",
    "prefer-text-field",
    "prefer-robust-stmts",
    "require-lock-timeout",
    "require-statement-timeout",
)


def dangers(sql):
    """Return what squawk, a linter of migrations for PostgreSQL, finds to last long or to lock."""
    command = [
        Path(sys.executable).parent / "squawk",
        "--pg-version=15",
        f"--exclude={','.join(NOT_FOR_US)}",
        "--reporter=gcc",
    ]
    return subprocess.run(command, input=sql, capture_output=True, text=True).stdout


@pytest.mark.parametrize("revision", REVISIONS, ids=lambda script: script.revision)
def test_a_migration_neither_rewrites_nor_locks_a_table_for_long(revision):
    span = f"{revision.down_revision or 'base'}:{revision.revision}"
    ended = subprocess.run(
        [Path(sys.executable).parent / "alembic", "upgrade", span, "--sql"], cwd=ROOT, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert f"'{revision.revision}'" in ended.stdout
    assert dangers(ended.stdout) == ""


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE INDEX by_status ON games (status);",
        "ALTER TABLE games ALTER COLUMN version TYPE bigint;",
        "ALTER TABLE games ALTER COLUMN seed SET NOT NULL;",
        "ALTER TABLE games RENAME COLUMN head TO tail;",
    ],
)
def test_what_would_hold_them_up_is_found(sql):
    assert dangers(f"BEGIN;\n{sql}\nCOMMIT;\n") != ""
