"""Copying a database into one of the other kind: whole, resumable, and verified."""

import itertools
import uuid

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from service import copying, store
from service.api.world import open_database
from service.cli import main
from service.migrate import migrate
from service.settings import Settings
from service.store import deals, events, metadata
from tests import postgresql
from tests.conftest import KEY, SECRET, text_of


@pytest.fixture
def target_url(backend, postgresql_server, tmp_path):
    """An empty database of the other kind."""
    if backend == "sqlite":
        with postgresql.new_database(postgresql_server) as url:
            yield text_of(url)
    else:
        yield f"sqlite:///{tmp_path}/copy.db"


@pytest.fixture
def target(target_url):
    """The same, with tables."""
    store = open_database(Settings(database_url=target_url))
    migrate(store)
    yield store
    store.close()


@pytest.fixture
def games(client):
    """Games of many kinds: won or blocked, undone, resigned, untouched, with metadata, and a deal that none has yet."""
    client.post("/v1/deals", {})
    games = [client.first_moves(client.deal(variant)) for variant in ("monte-carlo", "thirteens", "aces-square")]
    games.append(client.play(client.deal(deal={"kind": "pysol", "number": "24"}), [(1, 5), (2, 4)], "undo", "redo"))
    games.append(client.play(client.deal(visibility="private"), "resign"))
    once = {"Idempotency-Key": str(uuid.uuid4())}
    assert client.post("/v1/games", {"metadata": {"tag": "é"}}, headers=once).status_code == 201
    games.append(client.deal(deal={"kind": "pysol", "number": "24"}))
    return games


def rows(store):
    """Return everything in a database."""
    with store.reading() as connection:
        return {
            table.name: sorted(map(str, connection.execute(sa.select(table)).all()))
            for table in metadata.tables.values()
        }


def test_everything_is_copied(games, the_world, target):
    assert sum(copying.copy(the_world.database, target)) == 7
    assert rows(target) == rows(the_world.database)
    assert all(rows(target).values())


def test_a_copy_that_was_stopped_goes_on_and_brings_what_has_changed(games, client, the_world, target, monkeypatch):
    monkeypatch.setattr(copying, "_PAGE", 2)
    assert list(itertools.islice(copying.copy(the_world.database, target), 2)) == [2, 2]
    assert len(rows(target)["games"]) == 4
    assert sum(differ for _, differ in copying.differences(the_world.database, target)) == 3
    client.play(games[3], "undo", "redo", "resign")  # copied already
    client.ask("PATCH", f"/v1/games/{games[0]['id']}", games[0]["token"], json={"visibility": "private"})
    client.deal()
    assert sum(differ for _, differ in copying.differences(the_world.database, target)) == 6
    assert sum(copying.copy(the_world.database, target)) == 8
    assert rows(target) == rows(the_world.database)
    assert sum(differ for _, differ in copying.differences(the_world.database, target)) == 0


def test_a_target_that_is_in_use_itself_is_left_alone(games, the_world, target):
    sum(copying.copy(the_world.database, target))
    with target.writing() as connection:
        connection.execute(sa.text("UPDATE games SET version = version + 1"))
    before = rows(target)
    with pytest.raises(copying.Diverged, match="in the target"):
        list(copying.copy(the_world.database, target))
    assert rows(target) == before


@pytest.fixture
def command(settings, target_url, monkeypatch):
    """Run the command."""
    for name, value in (("DATABASE_URL", "sqlite:///other.db"), ("SECRET_KEY", SECRET), ("SIGNING_KEYS", KEY)):
        monkeypatch.setenv(f"MONTECARLO_{name}", value)
    return lambda: CliRunner().invoke(main, ["copy", "--from", settings.database_url, "--to", target_url])


def test_the_command_copies_and_audits(command, games, the_world, target):
    for _ in range(2):
        result = command()
        assert result.exit_code == 0, result.output
        assert "7 games audited, 0 false" in result.stderr
    assert rows(target) == rows(the_world.database)


def test_a_copy_to_itself_is_no_copy(target_url):
    result = CliRunner().invoke(main, ["copy", "--from", target_url, "--to", target_url])
    assert result.exit_code == 2
    assert "the same database" in result.output


def test_the_command_tells_of_a_game_that_is_false(command, games, the_world):
    with the_world.database.writing() as connection:
        connection.execute(sa.text("UPDATE events SET at = at + 1 WHERE type = 'q'"))
    result = command()
    assert result.exit_code == 1
    assert games[4]["id"] in result.stdout
    assert "7 games audited, 1 false" in result.stderr


def test_the_command_stopped_says_so_in_one_line(command, games, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "differences", stop)
    result = command()
    assert result.exit_code == 2
    assert "run it again to go on" in result.stderr


def test_a_secret_deal_that_serves_a_game_of_the_target_serves_no_other(client, the_world, target):
    deal = client.post("/v1/deals", {}).json["id"]
    list(copying.copy(the_world.database, target))
    taken = uuid.uuid4()
    with target.writing() as connection:
        connection.execute(sa.update(deals).values(game=taken))
    with pytest.raises(copying.Diverged, match=f"deal {deal} serves"):
        list(copying.copy(the_world.database, target))
    with target.reading() as connection:
        assert connection.scalar(sa.select(deals.c.game)) == taken


def test_a_game_that_was_played_in_the_target_is_noticed(games, the_world, target):
    list(copying.copy(the_world.database, target))
    with the_world.database.writing() as connection:
        for table, column in ((events, events.c.game), (metadata.tables["games"], metadata.tables["games"].c.id)):
            connection.execute(sa.delete(table).where(column == uuid.UUID(games[0]["id"])))
    with pytest.raises(copying.Diverged, match=f"game {games[0]['id']} was played in the target"):
        list(copying.copy(the_world.database, target))


def test_an_answer_of_the_target_that_is_newer_stays(games, the_world, target):
    list(copying.copy(the_world.database, target))
    with target.writing() as connection:
        connection.execute(sa.text("UPDATE answers SET at = at + 1, answer = request"))
    before = rows(target)["answers"]
    list(copying.copy(the_world.database, target))
    assert rows(target)["answers"] == before


def test_what_is_removed_while_it_is_copied_is_not_copied_by_halves(client, the_world, target, monkeypatch):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    client.deal()
    copy_games = copying._copy_games

    def removed_before(read, write, ids, have):
        with the_world.database.writing() as connection:
            store.remove_unplayed(connection, 2**47)
        copy_games(read, write, ids, have)

    monkeypatch.setattr(copying, "_copy_games", removed_before)
    list(copying.copy(the_world.database, target))
    found = rows(target)
    assert len(found["events"]) == len(found["games"])
    assert game["id"] not in str(found["events"])
