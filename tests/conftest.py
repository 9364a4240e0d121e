"""What tests share: a database for each test, an app on it, and a client that holds every answer against the spec."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.engine import URL

from service.api.world import make_world, set_world, world
from service.app import create_app
from service.commands import World
from service.database import Database
from service.migrate import migrate
from service.settings import Settings
from service.store import metadata
from tests import postgresql
from tests.client import Client

collect_ignore_glob = [
    "bench/*",
    "bot.py",
    "contract/fuzzing.py",
    "contract/players/*",
]  # run by commands, not by pytest

SECRET, KEY = "a secret that only tests know, 32+", "t" * 43

_CLUSTER = "TEST_CLUSTER_FOLDER"  # tells the processes of a run where they share a PostgreSQL cluster


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


def pytest_configure(config: pytest.Config) -> None:
    """Make room for the cluster, in the process that starts the others."""
    if not hasattr(config, "workerinput"):
        os.environ[_CLUSTER] = postgresql.shared_folder()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the cluster when all processes are done."""
    if not hasattr(config, "workerinput"):
        postgresql.remove_shared(Path(os.environ.pop(_CLUSTER)))


@pytest.fixture
def own_cluster() -> Iterator[postgresql.Cluster]:
    """A PostgreSQL cluster to stop and start."""
    if postgresql.binaries() is None:
        pytest.skip(postgresql.MISSING_PROGRAMS)
    folder = Path(postgresql.shared_folder())
    folder.chmod(0o755)
    cluster = postgresql.Cluster(folder / "cluster", fsync="off")  # a crash of the server alone loses nothing
    cluster.make()
    cluster.start()
    yield cluster
    postgresql.remove_shared(folder)


@pytest.fixture(scope="session")
def postgresql_server() -> URL:
    """A PostgreSQL server to make databases on."""
    try:
        return postgresql.shared_server(Path(os.environ[_CLUSTER]))
    except LookupError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "montecarlo.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_database(postgresql_server: URL) -> Iterator[URL]:
    """A migrated PostgreSQL database, to be emptied after each test."""
    with postgresql.new_database(postgresql_server) as url:
        _migrate(text_of(url))
        yield url


@pytest.fixture(scope="session")
def partitioned_database(postgresql_server: URL) -> Iterator[URL]:
    """The same, with the events partitioned as the docs tell operators to."""
    with postgresql.new_database(postgresql_server) as url:
        _migrate(text_of(url))
        with postgresql.connect(url) as connection:
            connection.execute((Path(__file__).parent.parent / "service/web/partition.sql").read_text())
        yield url


def _migrate(url: str) -> None:
    database = Database(Settings(database_url=url).database)
    migrate(database)
    database.close()


def text_of(url: URL) -> str:
    """Return a URL with its password, as a setting takes it."""
    return url.render_as_string(hide_password=False)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database; a test that asks for anything on top of it runs once on each."""
    return str(request.param)


@pytest.fixture
def database_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated, empty database of the test's own."""
    if backend == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "montecarlo.db")
        yield f"sqlite:///{tmp_path}/montecarlo.db"
    else:
        url = request.getfixturevalue({"postgresql": "migrated_database"}.get(backend, "partitioned_database"))
        yield text_of(url)
        with postgresql.connect(url) as connection:
            postgresql.empty(connection, list(metadata.tables))


@pytest.fixture
def new_database(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Make another database, without tables: `new_database()`."""
    with ExitStack() as made:

        def make() -> str:
            if backend == "sqlite":
                return f"sqlite:///{tmp_path}/another.db"
            server = request.getfixturevalue("postgresql_server")
            return text_of(made.enter_context(postgresql.new_database(server)))

        yield make


@pytest.fixture(scope="module")
def server_settings(backend: str, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Settings for a real server on an empty database, as `serving` takes them."""
    if backend == "sqlite":
        yield {}
    else:
        with postgresql.new_database(request.getfixturevalue("postgresql_server")) as url:
            yield {"database_url": text_of(url), "secret_key": SECRET, "signing_keys": KEY}


@pytest.fixture
def settings(database_url: str) -> Settings:
    """Settings for that database."""
    return Settings(database_url=database_url, secret_key=SECRET, signing_keys=KEY, threads=4, rate_limits=False)


@pytest.fixture(scope="session")
def shared_app(migrated_file: Path) -> Flask:
    """An app, made once: it takes longer than most tests."""
    app = create_app(
        Settings(database_url=f"sqlite:///{migrated_file}", secret_key=SECRET, signing_keys=KEY, rate_limits=False)
    )
    app.testing = False  # a fault must come out as a 500 problem, as it does for users
    with app.app_context():
        world().database.close()
    return app


@pytest.fixture
def app(shared_app: Flask, settings: Settings) -> Any:
    """An app on that database. Its secret deals are the same in every run: one in thirty has no move to begin with."""
    draws = count()
    made = replace(make_world(settings), random_bytes=lambda size: sha256(b"draw %d" % next(draws)).digest()[:size])
    set_world(shared_app, made)
    yield shared_app
    with shared_app.app_context():
        world().database.close()


@pytest.fixture
def client_with(settings: Settings) -> Any:
    """Return a client of another app on the same database: `client_with(hsts=3600)` for one with other settings."""
    apps = []

    def make(**others: Any) -> Client:
        apps.append(create_app(replace(settings, **others)))
        return Client(apps[-1])

    yield make
    for app in apps:
        with app.app_context():
            world().database.close()


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
