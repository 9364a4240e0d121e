"""The database: writers who wait share a commit, and none pays for another; what is remembered is never out of date."""

import fcntl
import sqlite3
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY

from service import commands, store, write_queue
from service.api.world import make_world, open_database
from service.commands import DealSpec
from service.database import Database, Recent, Unavailable
from service.engine.errors import EngineError
from service.engine.events import Move
from service.engine.rules import VARIANTS
from service.store import games


@pytest.fixture
def transactions(monkeypatch):
    """How many changes each transaction had."""
    counted, keep_together = [], write_queue._keep_together

    def counting(line, turns):
        counted.append(len(turns))
        keep_together(line, turns)

    monkeypatch.setattr(write_queue, "_keep_together", counting)
    return counted


def deal(world):
    """Take a new game of a known deal, with its token."""
    rules = VARIANTS["monte-carlo"].rules
    spec = DealSpec("pysol", number="24")
    return commands.create_game(
        world, "monte-carlo", rules, spec, lambda record: (record, commands.token_of(world, record))
    )


def move(world, game, token, place=0):
    """Make a legal move; return the version after it."""
    legal = commands.read_game(world, game, token).game.legal_moves[place]
    return commands.make_moves(world, game, token, [legal], lambda record, _: record.game.version)


def together(*jobs, started=nullcontext):
    """Do jobs in threads of their own; return what each returns or raises.

    started: what to be in while they start
    """
    results = [None] * len(jobs)

    def do(place, job):
        try:
            results[place] = job()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=do, args=numbered) for numbered in enumerate(jobs)]
    with started():
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(10)
    return results


def at_once(here, *jobs):
    """Let all jobs wait in the queue before the first has its turn; return what each returns or raises."""

    @contextmanager
    def held_back():
        with here._queue.alone():
            yield
            while len(here._queue._waiting) < len(jobs):
                time.sleep(0.001)

    return together(*jobs, started=held_back)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_writers_who_wait_share_a_commit(the_world, transactions):
    dealt = [deal(the_world) for _ in range(3)]
    jobs = [lambda record=record, token=token: move(the_world, record.id, token) for record, token in dealt]
    assert at_once(the_world.database, *jobs) == [2, 2, 2]
    assert transactions == [1, 1, 1, 3]
    for record, _ in dealt:
        assert commands.audit_stored(the_world, record.id).valid


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_change_that_fails_takes_no_other_with_it(the_world, transactions):
    here = the_world.database
    (record, token), refused = deal(the_world), RuntimeError("refused")

    def spoilt(line):
        line.connection.execute("UPDATE games SET variant = 'spoilt'")
        raise refused

    def spoil():
        with here.deciding() as line:
            line.write(spoilt)

    assert at_once(here, spoil, lambda: move(the_world, record.id, token), spoil) == [refused, 2, refused]
    assert transactions == [1, 3]
    assert commands.read_game(the_world, record.id, token).variant == "monte-carlo"


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_database_that_is_locked_keeps_all_who_wait_together_waiting_once(settings, transactions):
    hasty = Database(settings.database, lock_timeout=50)
    holder = sqlite3.connect(settings.database.database, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    def write():
        with hasty.deciding() as line:
            line.write(lambda line: line.connection.execute("DELETE FROM events"))

    hasty._patience = 10  # so that nobody leaves the queue
    assert [str(result) for result in at_once(hasty, write, write, write)] == [
        "the database is busy with other changes"
    ] * 3
    assert transactions == [3]
    holder.close()
    hasty.close()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_commit_that_fails_is_told_to_all_whose_changes_it_had(the_world):
    here = the_world.database
    dealt = [deal(the_world) for _ in range(2)]
    with here.writing() as connection:
        connection.execute(sa.text("CREATE TABLE parent (id INTEGER PRIMARY KEY)"))
        connection.execute(sa.text("CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)"))
        # A row without its parent is not noticed before the commit.
        connection.execute(
            sa.text("CREATE TRIGGER orphan AFTER UPDATE ON games BEGIN INSERT INTO child VALUES (7); END")
        )
    jobs = [lambda record=record, token=token: move(the_world, record.id, token) for record, token in dealt]
    for result in at_once(here, *jobs):
        assert "FOREIGN KEY" in str(result)
    with here.writing() as connection:
        connection.execute(sa.text("DROP TRIGGER orphan"))
    for record, token in dealt:
        assert move(the_world, record.id, token) == 2


def test_no_limit_of_the_wait_for_a_lock_is_no_limit(settings):
    database = open_database(replace(settings, lock_timeout=0))
    with database.reading() as connection:
        if database.engine.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 2**31 - 1
        else:
            assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "0"
    database.close()


def test_connections_in_use_are_counted_while_they_are(the_world):
    database = the_world.database
    for block in (database.reading, database.writing, database.snapshot, database.deciding):
        with pytest.raises(ZeroDivisionError), block():
            assert in_use() == 1
            raise ZeroDivisionError
        assert in_use() == 0


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_connection_that_cannot_be_had_is_not_in_use(the_world, monkeypatch):
    monkeypatch.setattr(the_world.database, "_readers", sa.create_engine("postgresql+psycopg://127.0.0.1:1/x"))
    with pytest.raises(Unavailable), the_world.database.reading():
        pass
    assert in_use() == 0


def in_use():
    """Return how many connections are counted as in use."""
    return REGISTRY.get_sample_value("montecarlo_connections_in_use")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_who_waits_too_long_leaves_the_queue_and_changes_nothing(the_world, settings):
    record, token = deal(the_world)
    hasty = Database(settings.database, lock_timeout=50)
    with hasty._queue.alone(), pytest.raises(Exception, match="busy"), hasty.deciding() as line:
        line.write(lambda line: line.connection.execute("DELETE FROM events"))
    assert not hasty._queue._waiting
    hasty.close()
    assert move(the_world, record.id, token) == 2


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_wait_for_a_connection_and_that_for_other_writers_are_one(settings):
    database = Database(settings.database, connections=2, lines=1, lock_timeout=5000)
    held, waited = threading.Event(), []

    def hold():
        with database.deciding():
            held.set()
            time.sleep(0.2)

    def wait():
        held.wait()
        with database.deciding() as line:
            waited.append(5 - line.patience)

    together(hold, wait)
    assert waited[0] > 0.1
    with database.deciding() as line:
        assert line.patience > 4
    database.close()


@pytest.fixture
def holder(settings):
    """The file that the processes which write to SQLite lock in turn, opened by another that holds the lock."""
    with open(f"{settings.database.database}.lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_who_waits_for_another_process_waits_no_longer_than_the_limit(the_world, settings, holder):
    hasty = Database(settings.database, lock_timeout=100)

    def write():
        with hasty.deciding() as line:
            line.write(lambda line: line.connection.execute("DELETE FROM events"))

    def write_alone():
        with hasty.writing():
            pass

    began = time.monotonic()
    for _ in range(3):
        assert [str(result) for result in together(write, write_alone, write)] == [
            "the database is busy with other changes"
        ] * 3
    assert time.monotonic() - began < 3
    assert [thread.name for thread in threading.enumerate()].count("lock") == 1  # one waits for all
    holder.close()
    assert together(write, write_alone, write) == [None] * 3
    waits = next(thread for thread in threading.enumerate() if thread.name == "lock")
    hasty.close()
    waits.join(5)
    assert not waits.is_alive()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_lock_that_comes_too_late_is_given_back(the_world, settings, holder):
    hasty = Database(settings.database, lock_timeout=50)
    with pytest.raises(Unavailable), hasty.writing():
        pass
    fcntl.flock(holder, fcntl.LOCK_UN)
    record, token = deal(the_world)  # does not wait for the one who waits no more
    assert move(the_world, record.id, token) == 2
    with hasty.writing(), open(holder.name, "a") as third, pytest.raises(BlockingIOError):
        fcntl.flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
    hasty.close()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_lock_that_comes_is_had_by_who_waits(the_world, settings, holder):
    waiting = threading.Thread(target=deal, args=(the_world,))
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    fcntl.flock(holder, fcntl.LOCK_UN)
    waiting.join(5)
    assert not waiting.is_alive()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_database_can_be_closed_while_a_lock_is_waited_for(settings, holder):
    hasty = Database(settings.database, lock_timeout=50)
    with pytest.raises(Unavailable), hasty.writing():
        pass
    hasty.close()
    fcntl.flock(holder, fcntl.LOCK_UN)
    with open(holder.name, "a") as third:
        fcntl.flock(third, fcntl.LOCK_EX)  # nobody keeps it


@pytest.fixture
def other(settings):
    """The world of another process on the same database."""
    world = make_world(settings)
    yield world
    world.database.close()


def test_what_another_process_wrote_is_never_overlooked(the_world, other):
    record, token = deal(the_world)
    for world in (the_world, other) * 3:
        assert move(world, record.id, token) == commands.read_game(the_world, record.id, token).game.version
    move(the_world, record.id, token)
    # A removal that is legal on what the first remembers, and no more when the other has made it.
    last = commands.read_game(other, record.id, token).game.legal_moves[0]
    assert last.type == "remove"
    commands.make_moves(other, record.id, token, [last], lambda *_: None)
    with pytest.raises(EngineError):
        commands.make_moves(the_world, record.id, token, [last], lambda *_: None)
    commands.change_game(other, record.id, token, visibility="private", metadata={})
    assert commands.make_moves(the_world, record.id, token, [Move("undo")], lambda now, _: now.visibility) == "private"


def test_a_connection_in_use_is_closed_when_it_is_given_back(the_world):
    record, _ = deal(the_world)
    with the_world.database.deciding() as line:
        the_world.database.close()
        assert store.load_game(line, record.id).id == record.id
    assert not the_world.database._idle
    with pytest.raises(Exception, match="closed"):
        line.connection.execute("SELECT 1")


@pytest.mark.parametrize("way", ["reading", "snapshot"])
def test_a_connection_of_the_pool_in_use_is_closed_likewise(settings, way):
    used = open_database(settings)
    with getattr(used, way)() as connection:
        connection.scalar(sa.select(1))
        driver = connection.connection.dbapi_connection
        used.close()
    if used.engine.dialect.name == "postgresql":
        assert driver.closed
    else:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            driver.execute("SELECT 1")


def test_only_the_last_games_are_remembered(the_world, monkeypatch):
    monkeypatch.setattr(the_world.database._recent, "_most", 2)
    dealt = [deal(the_world) for _ in range(3)]
    for record, token in dealt * 2:
        move(the_world, record.id, token)
    assert list(the_world.database._recent._kept) == [record.id for record, _ in dealt[1:]]
    with the_world.database.reading() as connection:
        assert connection.scalars(sa.select(games.c.version)).all() == [3, 3, 3]


def test_a_row_that_was_repaired_by_hand_is_read_again(the_world):
    record, token = deal(the_world)
    move(the_world, record.id, token)
    with the_world.database.writing() as connection:
        connection.execute(sa.update(games).values(visibility="private"))
    assert commands.make_moves(the_world, record.id, token, [Move("undo")], lambda now, _: now.visibility) == "private"


def test_a_claim_of_a_secret_deal_that_is_sent_twice_is_answered_alike(the_world, other):
    pack = VARIANTS["monte-carlo"].rules.pack
    made = commands.create_deal(the_world, pack, DealSpec(), lambda deal, _: deal)
    terms = commands.Terms(b"k" * 32, b"r" * 32)

    def claim(world, answer):
        rules = VARIANTS["monte-carlo"].rules
        return commands.create_game(world, "monte-carlo", rules, DealSpec(id=made.id), answer, terms=terms)

    def meanwhile(record):
        """Another request with the same key comes when this one has read all that it is decided on."""
        if not came:
            came.append(claim(other, lambda record: str(record.id)))
        return str(record.id)

    came = []
    with pytest.raises(commands.DoneBefore) as before:
        claim(the_world, meanwhile)
    assert before.value.answer == came[0]
    with pytest.raises(commands.Refused, match="serves one game"):
        commands.create_game(
            the_world, "monte-carlo", VARIANTS["monte-carlo"].rules, DealSpec(id=made.id), lambda record: record
        )


@pytest.mark.parametrize("terms", [commands.Terms(), commands.Terms(b"k" * 32, b"r" * 32)], ids=["", "with a key"])
def test_who_makes_an_open_deal_second_is_told_of_the_first(the_world, other, monkeypatch, terms):
    pack, spec = VARIANTS["monte-carlo"].rules.pack, DealSpec("pysol", number="24")
    look, first = store.load_deal, []

    def look_too_early(line, id):
        found = look(line, id)
        if not first:
            first.append(None)
            first[0] = commands.create_deal(other, pack, spec, lambda deal, _: deal)
        return found

    monkeypatch.setattr(store, "load_deal", look_too_early)
    late = replace(the_world, now=lambda: other.now() + 60_000)
    assert commands.create_deal(late, pack, spec, lambda deal, _: deal.created_at, terms) == first[0].created_at


def test_what_is_remembered_is_kept_by_many_threads():
    recent, stop = Recent(4), time.monotonic() + 1

    def use(own):
        while time.monotonic() < stop:
            for key in range(own * 3, own * 3 + 6):
                recent.put(key, key)
                assert recent.get(key) in (key, None)

    threads = [threading.Thread(target=use, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recent._kept) == 4
