"""Health: alive, and ready or not."""

import pytest
from sqlalchemy import text

from service.database import Database
from service.engine.search import solver_kind
from service.settings import Settings
from tests.client import refused


def test_alive_and_ready(client):
    assert client.get("/healthz").json == {"status": "ok"}
    checks = {"database": "ok", "migrations": "current", "solver": solver_kind()}
    assert client.get("/readyz").json == {"status": "ok", "checks": checks}


def test_not_ready_before_the_migrations(client, the_world, change_world, new_database):
    the_world.database.close()
    empty = Database(Settings(database_url=new_database()).database)
    change_world(database=empty)
    assert "montecarlo migrate" in refused(client.get("/readyz"), 503, "not_ready")["detail"]
    assert client.get("/healthz").status_code == 200


def test_ready_while_the_next_release_starts(client, the_world):
    with the_world.database.writing() as connection:
        head = connection.scalar(text("SELECT version_num FROM alembic_version"))
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        assert client.get("/readyz").json["checks"]["migrations"] == "newer"
    finally:
        with the_world.database.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :head"), {"head": head})


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_not_ready_where_the_file_is_no_database(client, the_world, change_world, tmp_path):
    the_world.database.close()
    (tmp_path / "garbage.db").write_bytes(b"this is no database, whatever its name says" * 100)
    broken = Database(Settings(database_url=f"sqlite:///{tmp_path}/garbage.db").database)
    change_world(database=broken)
    assert "does not answer" in refused(client.get("/readyz"), 503, "not_ready")["detail"]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_not_ready_where_there_is_no_such_database(client, settings, the_world, change_world):
    the_world.database.close()
    change_world(database=Database(settings.database.set(database="nowhere")))
    assert "does not answer" in refused(client.get("/readyz"), 503, "not_ready")["detail"]
