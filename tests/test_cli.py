"""The command `montecarlo`."""

import json
import sqlite3

import pytest
from click.testing import CliRunner

from service import __version__
from service.cli import main
from tests.client import SPEC


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in an empty folder; what it puts into the environment does not stay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MONTECARLO_DATABASE_URL", "sqlite:///montecarlo.db")
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_version(run):
    assert run("--version").output == f"montecarlo, version {__version__}\n"


def test_openapi_prints_the_published_spec(run):
    result = run("openapi")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == SPEC


def test_migrate_makes_the_tables_and_can_be_repeated(run, tmp_path):
    for _ in range(2):
        result = run("migrate", "--database-url", f"sqlite:///{tmp_path}/new.db")
        assert result.exit_code == 0, result.output
    connection = sqlite3.connect(tmp_path / "new.db")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert tables == {"deals", "games", "events", "alembic_version"}


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_bad_setting_stops_the_start(run, monkeypatch, command):
    monkeypatch.setenv("MONTECARLO_PORT", "eighty")
    result = run(command)
    assert result.exit_code == 2
    assert "MONTECARLO_PORT" in result.output


def test_help_tells_every_setting_of_serve(run):
    output = run("serve", "--help").output
    for name in ("HOST", "PORT", "WORKERS", "DATABASE_URL"):
        assert f"MONTECARLO_{name}" in output
