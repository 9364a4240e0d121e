"""Copying a database into another, of the same kind or the other.

It copies what the target lacks or has in an older state, a page of rows in a transaction. So a copy that was stopped
goes on where it was, and a second one after the service is stopped brings only what has changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from service.database import Database
from service.store import answers, deals, events, games

_PAGE = 200

Row = Mapping[str, Any]


class Diverged(Exception):
    """The target has what the source has not: it is, or was, in use itself."""


def copy(source: Database, target: Database) -> Iterator[int]:
    """Copy games with their events, then deals that serve none yet and answers kept; yield how many games were seen.

    Raises `Diverged`, and leaves that page as it is.
    """
    _refuse_strangers(source, target)
    for table in (games, deals, answers):
        for seen, rows, have in _lacking(source, target, table):
            if rows:
                with source.snapshot() as read, target.writing() as write:
                    if table is games:
                        _copy_games(read, write, [row["id"] for row in rows], have)
                    elif table is deals:
                        _put_deals(write, rows)
                    else:
                        _put(write, table, rows)
            if table is games:
                yield seen


def _refuse_strangers(source: Database, target: Database) -> None:
    """Raise `Diverged` if a game was played in the target that the source does not have."""
    last = None
    while True:
        query = select(games.c.id).where(games.c.version > 1).order_by(games.c.id).limit(_PAGE)
        with target.reading() as connection:
            page = connection.scalars(query if last is None else query.where(games.c.id > last)).all()
        if not page:
            return
        with source.reading() as connection:
            known = set(connection.scalars(select(games.c.id).where(games.c.id.in_(page))))
        for id in page:
            if id not in known:
                raise Diverged(f"game {id} was played in the target and is not in the source")
        last = page[-1]


def differences(source: Database, target: Database) -> Iterator[tuple[int, int]]:
    """Yield how many games were looked at, and how many of them are not in the target as they are in the source."""
    for seen, rows, _ in _lacking(source, target, games):
        yield seen, len(rows)


def _lacking(source: Database, target: Database, table: Table) -> Iterator[tuple[int, list[Row], Mapping[Any, Row]]]:
    """Yield for each page of a table how many rows it has, those that the target has not, and what it has instead."""
    (key,) = table.primary_key.columns
    query = select(table).order_by(key).limit(_PAGE)
    last = None
    while True:
        with source.reading() as connection:
            page = connection.execute(query if last is None else query.where(key > last)).mappings().all()
        if not page:
            return
        with target.reading() as connection:
            there = connection.execute(select(table).where(key.in_([row[key] for row in page]))).mappings()
            have = {row[key]: dict(row) for row in there}
        yield len(page), [dict(row) for row in page if have.get(row[key]) != dict(row)], have
        last = page[-1][key]


def _copy_games(read: Connection, write: Connection, ids: Sequence[UUID], have: Mapping[Any, Row]) -> None:
    # Read again, with all that belongs to them: meanwhile some may have gone on, or been removed.
    rows = [dict(row) for row in read.execute(select(games).where(games.c.id.in_(ids))).mappings()]
    used = read.execute(select(deals).where(deals.c.id.in_({row["deal"] for row in rows}))).mappings()
    _put_deals(write, [dict(row) for row in used])
    new: list[Row] = []
    for row in rows:
        kept = have.get(row["id"])
        after = kept["version"] if kept else 0
        if kept and (after, kept["revision"]) >= (row["version"], row["revision"]):
            raise Diverged(f"game {row['id']} is at version {after} in the target, {row['version']} in the source")
        wanted = (events.c.game == row["id"], events.c.version > after, events.c.version <= row["version"])
        new += [dict(event) for event in read.execute(select(events).where(*wanted)).mappings()]
    _put(write, games, rows)
    if new:
        write.execute(insert(events), new)


def _put_deals(connection: Connection, rows: Sequence[Row]) -> None:
    """Put deals; one that serves a game in the target serves it for ever."""
    query = select(deals.c.id, deals.c.game).where(
        deals.c.id.in_([row["id"] for row in rows]), deals.c.game.is_not(None)
    )
    taken = {kept.id: kept.game for kept in connection.execute(query)}
    for row in rows:
        if row["game"] != taken.get(row["id"], row["game"]):
            raise Diverged(f"deal {row['id']} serves game {taken[row['id']]} in the target, and not in the source")
    _put(connection, deals, rows)


def _put(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows, or put them where older ones with the same keys are."""
    if not rows:
        return
    statement = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)
    changed = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    older = table.c.at <= statement.excluded.at if table is answers else None
    keys = [*table.primary_key]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed, where=older), rows)
