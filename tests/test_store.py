"""The store: what is written is what is read, only once, and in line with the migrations."""

import json
import re
import uuid
from dataclasses import replace

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from service import commands, store
from service.commands import DealSpec
from service.database import Database
from service.engine import log
from service.engine.cards import Cell
from service.engine.events import Move
from service.engine.rules import VARIANTS
from service.migrate import WrongSchema, check, migrate, schema_state
from service.store import Id, metadata
from tests import postgresql


@pytest.fixture(scope="session", params=["sqlite", "postgresql", "partitioned"])
def backend(request):
    """Also PostgreSQL with its events partitioned by game."""
    return request.param


def with_token(the_world):
    """Take a new game with its token."""
    return lambda record: (record, commands.token_of(the_world, record))


def as_made(record, entries):
    """Take what moves made as it is."""
    return record, entries


@pytest.fixture
def dealt(the_world):
    """A game of a known deal with its token."""
    rules = VARIANTS["monte-carlo"].rules
    return commands.create_game(the_world, "monte-carlo", rules, DealSpec("pysol", number="24"), with_token(the_world))


def test_the_migrations_make_the_tables_of_the_code(the_world):
    with the_world.database.reading() as connection:
        assert schema_state(connection) == "current"
        options = {"compare_type": True, "include_name": lambda name, *_: not re.fullmatch(r"events_\d+", name or "")}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


@pytest.fixture
def empty(new_database):
    """A database without tables, where nobody waits long for a lock."""
    made = Database(sa.make_url(new_database()), lock_timeout=50)
    yield made
    made.close()


def test_a_database_without_migrations_is_older(empty):
    with pytest.raises(WrongSchema, match="montecarlo migrate"):
        check(empty)
    migrate(empty)
    check(empty)


def test_a_database_of_a_newer_release_is_refused(empty):
    migrate(empty)
    with empty.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    for refuse in (check, migrate):
        with pytest.raises(WrongSchema, match="newer release"):
            refuse(empty)


def test_a_database_of_another_program_is_refused_and_stays_as_it_is(empty):
    with empty.writing() as connection:
        connection.execute(sa.text("CREATE TABLE games (x INTEGER)"))
    for refuse in (check, migrate):
        with pytest.raises(WrongSchema, match="not ours"):
            refuse(empty)
    with empty.reading() as connection:
        assert sa.inspect(connection).get_table_names() == ["games"]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_migration_lets_go_of_what_it_cannot_lock_and_tries_again(empty):
    migrate(empty)
    with empty.writing() as connection:
        metadata.drop_all(connection)
        connection.execute(sa.text("DELETE FROM alembic_version"))
    told = []

    def let_go(unavailable):
        told.append(unavailable.code)
        holder.rollback()

    with empty.engine.connect() as holder:
        holder.execute(sa.text("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE"))
        migrate(empty, let_go)
    assert told == ["locked"]
    check(empty)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_sqlite_is_set_to_lose_nothing(the_world):
    with the_world.database.reading() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert values == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_a_game_is_read_as_it_was_written(the_world, dealt):
    record, token = dealt
    assert commands.read_game(the_world, record.id, token) == record
    for move in (record.game.legal_moves[0], Move("close_up"), Move("undo"), Move("undo"), Move("redo")):
        record, _ = commands.make_moves(the_world, record.id, token, [move], as_made)
        read = commands.read_game(the_world, record.id, token)
        assert read == record
        with the_world.database.reading() as connection:
            entries = store.load_entries(connection, record.id)
        assert log.replay(entries) == record.game
        assert entries[-1].hash == record.head


def test_events_of_every_kind_are_read_as_they_were_written(the_world):
    for variant in VARIANTS.values():
        record, token = commands.create_game(the_world, variant.id, variant.rules, DealSpec(), with_token(the_world))
        written = []
        while record.game.legal_moves:
            record, entries = commands.make_moves(the_world, record.id, token, [record.game.legal_moves[0]], as_made)
            written += entries
        with the_world.database.reading() as connection:
            assert store.load_entries(connection, record.id, after=1) == written


def test_events_kept_in_the_words_of_the_log_are_read_as_well(the_world, dealt):
    record, token = dealt
    for move in (record.game.legal_moves[0], Move("close_up"), Move("undo")):
        commands.make_moves(the_world, record.id, token, [move], as_made)
    with the_world.database.writing() as connection:
        read = store.load_entries(connection, record.id)
        for entry in read[1:]:
            words = {name: " ".join(value) if name == "cards" else value for name, value in entry.data.items()}
            if "cells" in words:
                words["cells"] = " ".join(str(Cell(cell["row"], cell["column"])) for cell in entry.data["cells"])
            kept = {"type": entry.type, "data": json.dumps(words)}
            connection.execute(sa.update(store.events).where(store.events.c.version == entry.version).values(kept))
        assert store.load_entries(connection, record.id) == read


def test_whoever_decided_on_an_older_version_changes_nothing(the_world, dealt):
    record, token = dealt
    after, entries = commands._play(record, [record.game.legal_moves[0]], record.updated_at)
    append = store.prepare_append(record, after, entries)
    commands.make_moves(the_world, record.id, token, [Move("resign")], as_made)
    with pytest.raises(store.Overtaken), the_world.database.writing() as connection:
        append(connection)
    assert commands.read_game(the_world, record.id, token).game.status == "lost"


def test_an_event_is_never_written_twice(the_world, dealt):
    record, _ = dealt
    with the_world.database.reading() as connection:
        entry = store.load_entries(connection, record.id)[0]
    with pytest.raises(sa.exc.IntegrityError), the_world.database.writing() as connection:
        connection.execute(sa.insert(store.events), store._event_rows(record.id, [store._columns(entry)]))


def test_events_belong_to_a_game_that_is_there(the_world, dealt):
    record, _ = dealt
    with the_world.database.reading() as connection:
        entry = replace(store.load_entries(connection, record.id)[0], version=2)
    with pytest.raises(sa.exc.IntegrityError), the_world.database.writing() as connection:
        connection.execute(sa.insert(store.events), store._event_rows(uuid.uuid4(), [store._columns(entry)]))


def test_what_fails_in_the_middle_leaves_nothing(the_world, dealt):
    record, token = dealt
    after, entries = commands._play(record, [record.game.legal_moves[0]], record.updated_at)
    append = store.prepare_append(record, after, entries)
    with pytest.raises(RuntimeError), the_world.database.writing() as connection:
        append(connection)
        raise RuntimeError("power cut")
    assert commands.read_game(the_world, record.id, token) == record


def test_ids_survive_the_database(the_world):
    table = sa.Table("ids", sa.MetaData(), sa.Column("id", Id), prefixes=["TEMPORARY"])
    value = uuid.uuid4()
    with the_world.database.writing() as connection:
        table.create(connection)
        connection.execute(sa.insert(table), [{"id": value}, {"id": None}])
        assert set(connection.scalars(sa.select(table.c.id))) == {value, None}


def test_a_move_costs_the_same_after_many_undos(the_world, dealt):
    """The state that a move reads and writes is bounded by the rules, not by the length of the log."""
    record, token = dealt
    record, _ = commands.make_moves(the_world, record.id, token, [record.game.legal_moves[0]], as_made)

    def row():
        with the_world.database.reading() as connection:
            return connection.execute(sa.select(store.games)).mappings().one()

    before = len(row()["state"])
    for _ in range(20):
        record, _ = commands.make_moves(the_world, record.id, token, [Move("undo"), Move("redo")] * 32, as_made)
    assert record.game.version == 2 + 20 * 64
    assert len(row()["state"]) < before + 10


def test_what_must_be_unique_is_unique_within_a_game(the_world):
    """So that games and events can be partitioned by game, or spread over servers."""
    for table in metadata.tables.values():
        if table is store.games or ("game" in table.c and table is not store.deals):
            key = "id" if table is store.games else "game"
            unique = [list(item.columns.keys()) for item in table.indexes if item.unique]
            unique += [
                list(item.columns.keys())
                for item in table.constraints
                if isinstance(item, sa.PrimaryKeyConstraint | sa.UniqueConstraint)
            ]
            assert unique
            assert all(key in columns for columns in unique), table.name


@pytest.mark.parametrize("backend", ["partitioned"], indirect=True)
def test_what_is_asked_of_a_game_touches_one_partition(the_world, dealt, database_url):
    """All other partitions are locked meanwhile, so whoever looked into one would wait, and fail."""
    record, token = dealt
    with the_world.database.reading() as connection:
        place = connection.scalar(sa.text("SELECT tableoid::regclass::text FROM events"))
    others = [f"events_{number}" for number in range(16) if f"events_{number}" != place]
    with postgresql.connect(sa.make_url(database_url)) as locked, locked.transaction():
        locked.execute(f"LOCK TABLE ONLY {', ONLY '.join(others)} IN ACCESS EXCLUSIVE MODE")
        with the_world.database.engine.connect() as connection, pytest.raises(sa.exc.OperationalError, match="lock"):
            connection.execute(sa.text("SET LOCAL lock_timeout = 10"))
            connection.execute(sa.text("SELECT count(*) FROM events"))
        for move in (record.game.legal_moves[0], Move("close_up"), Move("undo"), Move("redo")):
            commands.make_moves(the_world, record.id, token, [move], as_made)
        commands.give_hint(the_world, record.id, token, "first", 1, as_made)
        assert commands.read_position(the_world, record.id, token, 3)[1].version == 3
        assert len(commands.read_entries(the_world, record.id, token, 0, 100)[0]) == 7
        assert commands.audit_stored(the_world, record.id).valid


def test_no_transaction_is_open_while_a_move_is_decided(the_world, dealt):
    record, _ = dealt
    for _ in range(2):
        with the_world.database.deciding() as line:
            assert store.load_game(line, record.id) == record
            driver = line.connection
            assert not (driver.in_transaction if line.queue else driver.info.transaction_status)
