"""What tests share: a database for each test, an app on it, and a client that holds every answer against the spec."""

import shutil
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from service.api.world import set_world, world
from service.app import create_app
from service.commands import World
from service.migrate import migrate
from service.settings import Settings
from service.store import Store
from tests.client import Client

collect_ignore_glob = ["bench/*", "bot.py"]  # run by commands, not by pytest

SECRET = "a secret that only tests know, 32+"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--no-skips`, for a machine that has all that the tests can use: `.ci/run` installs it."""
    parser.addoption("--no-skips", action="store_true", help="a test that skips, for want of a tool, fails")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """With `--no-skips`, fail what was skipped."""
    report = yield
    if item.config.option.no_skips and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped in spite of --no-skips: {report.longrepr[-1]}"
    return report


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "montecarlo.db"
    store = Store(Settings(database_url=f"sqlite:///{path}").database)
    migrate(store)
    store.close()
    return path


@pytest.fixture
def database_url(migrated: Path, tmp_path: Path) -> str:
    """A migrated, empty database of the test's own."""
    shutil.copy(migrated, tmp_path / "montecarlo.db")
    return f"sqlite:///{tmp_path}/montecarlo.db"


@pytest.fixture
def settings(database_url: str) -> Settings:
    """Settings for that database."""
    return Settings(database_url=database_url, secret_key=SECRET, signing_keys="t" * 43, threads=4)


@pytest.fixture
def app(settings: Settings) -> Any:
    """An app on that database. Its secret deals are the same in every run: one in thirty has no move to begin with."""
    app = create_app(settings)
    app.testing = False  # a fault must come out as a 500 problem, as it does for users
    draws = count()
    with app.app_context():
        set_world(app, replace(world(), random_bytes=lambda size: sha256(b"draw %d" % next(draws)).digest()[:size]))
    yield app
    with app.app_context():
        world().store.close()


@pytest.fixture
def the_world(app: Flask) -> Any:
    """The world of the app."""
    with app.app_context():
        return world()


@pytest.fixture
def change_world(app: Flask) -> Any:
    """Change parts of the world: `change_world(now=lambda: 0)`."""

    def change(**parts: Any) -> World:
        with app.app_context():
            changed = replace(world(), **parts)
        set_world(app, changed)
        return changed

    return change


@pytest.fixture
def client(app: Flask) -> Client:
    """A client of the app."""
    return Client(app)
