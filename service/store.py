"""The store: deals, games and their events in SQLite or PostgreSQL.

Events are only ever inserted. The row of a game carries its folded state, so that a move reads that row and
appends, whatever the length of the log.
"""

from __future__ import annotations  # those of inner functions would else be worked out at each call

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import (
    BigInteger,
    ClauseElement,
    Column,
    Connection,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from service.database import Line
from service.engine.cards import COLUMNS, Card, Pack, format_cards, parse_cell
from service.engine.deals import commitment
from service.engine.deals import order as deal_order
from service.engine.events import Deal
from service.engine.game import Game
from service.engine.log import FIRST_PREVIOUS, Entry, cell_data, deal_data
from service.engine.rules import known_rules
from service.engine.state import freeze, lean, split_cards, thaw


class Id(TypeDecorator[UUID]):
    """A UUID: native in PostgreSQL, 16 bytes in SQLite."""

    impl = LargeBinary(16)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column's type."""
        return dialect.type_descriptor(postgresql.UUID() if dialect.name == "postgresql" else LargeBinary(16))

    def process_bind_param(self, value: UUID | None, dialect: Dialect) -> Any:
        """Write a UUID."""
        return value if value is None or dialect.name == "postgresql" else value.bytes

    def process_result_value(self, value: Any, dialect: Dialect) -> UUID | None:
        """Read a UUID."""
        return value if value is None or dialect.name == "postgresql" else UUID(bytes=value)


metadata = MetaData()

deals = Table(
    "deals",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("decks", SmallInteger, nullable=False),
    Column("ranks", Text, nullable=False),
    Column("number", Text),
    Column("cards", Text, comment="the order of a deck deal"),
    Column("seed", LargeBinary(32), comment="of a secret deal"),
    Column("client_seed", Text),
    Column("fairness", Text, nullable=False),
    Column("game", Id, comment="the one game that a secret deal serves"),
    Column("created_at", BigInteger, nullable=False, comment="milliseconds since 1970 UTC"),
)

games = Table(
    "games",
    metadata,
    Column("id", Id, primary_key=True),
    Column("variant", Text, nullable=False),
    Column("rules", Text, nullable=False),
    Column("deal", Id, ForeignKey("deals.id"), nullable=False),
    Column("deal_record", Text, nullable=False, comment="public facts of the deal, as in the first event"),
    Column("seed", LargeBinary(32), comment="of a secret deal, revealed by the last event"),
    Column("cards", Text, nullable=False, comment="the order of the deal, hidden until it is revealed"),
    Column("visibility", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("head", LargeBinary(32), nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    # Ids are in the order of time, so each of these lists its games from the last dealt to the first.
    Index("games_by_status", "status", "id"),
    Index("games_by_variant", "variant", "id"),
    Index("games_by_variant_status", "variant", "status", "id"),
    Index("games_by_deal", "deal", "id"),
)

answers = Table(
    "answers",
    metadata,
    Column("key", LargeBinary(32), primary_key=True, comment="digest of whose it is and which"),
    Column("request", LargeBinary(32), nullable=False, comment="digest of what was asked"),
    Column("answer", LargeBinary, nullable=False, comment="compressed JSON"),
    Column("at", BigInteger, nullable=False, comment="milliseconds since 1970 UTC"),
    Index("answers_by_at", "at"),
)

events = Table(
    "events",
    metadata,
    Column("game", Id, ForeignKey("games.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("move", Integer, nullable=False),
    Column("type", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    PrimaryKeyConstraint("game", "version"),
    sqlite_with_rowid=False,
)


@dataclass(frozen=True)
class DealRecord:
    """A deal as it is kept; `game` and the client's part are those of the game that a secret deal serves."""

    id: UUID
    kind: str
    decks: int
    ranks: str
    number: str | None
    cards: str | None
    seed: bytes | None
    client_seed: str | None
    fairness: str
    game: UUID | None
    created_at: int

    @property
    def pack(self) -> Pack:
        """The cards it is made of."""
        return Pack(self.decks, self.ranks)

    @property
    def order(self) -> tuple[Card, ...]:
        """The order of its cards, hidden until it is revealed."""
        return deal_order(
            self.pack,
            self.kind,
            seed=self.seed or b"",
            number=self.number or "",
            cards=self.cards or "",
            client_seed=self.client_seed or "",
        )

    @property
    def public(self) -> Deal:
        """What anyone may know of it from the start."""
        bound_to = None if self.seed is None else commitment(self.seed)
        client_seed = None if self.seed is None else self.client_seed or ""
        return Deal(self.kind, self.number, bound_to, client_seed, self.fairness)


@dataclass(frozen=True)
class GameRecord:
    """A game as it is kept: what was fixed when it was made, and what its events fold to.

    order, seed: hidden until the deal is revealed
    head: hash of the last event
    created_at, updated_at: milliseconds since 1970 UTC
    metadata: what the client keeps on it, no part of its log
    revision: how often metadata or visibility were changed
    row: all of it as the driver gave it, if it was read; equal rows are equal games
    """

    id: UUID
    variant: str
    deal_id: UUID
    deal: Deal
    order: tuple[Card, ...]
    seed: bytes | None
    visibility: str
    created_at: int
    updated_at: int
    head: str
    game: Game
    metadata: Mapping[str, str] = field(default_factory=dict)
    revision: int = 0
    row: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)

    def but(self, **changes: Any) -> GameRecord:
        """Return the same game but for some fields, never its id, as `replace` does in five times the time."""
        made = object.__new__(GameRecord)
        made.__dict__.update(self.__dict__, **changes)
        return made

    @cached_property
    def name(self) -> str:
        """The id, as text."""
        return str(self.id)

    @property
    def tag(self) -> str:
        """What names the game as it is: another as soon as anything of it is another. Made of public things only."""
        return f"{self.game.version}-{self.revision}-{self.head[:24]}"

    @property
    def revealed(self) -> bool:
        """Whether anyone may see the order of the deal now."""
        return revealed(self.deal.kind, self.game.over is not None)


def revealed(kind: str, game_over: bool) -> bool:
    """Say whether anyone may see the order of a deal: an open one always, a secret one when its game is over."""
    return kind != "secret" or game_over


def insert_deal(connection: Connection | Line, deal: DealRecord) -> bool:
    """Add a deal; False if it is there already (an open deal has the same id each time)."""
    values = vars(deal) | {"id": _id(connection, deal.id), "game": _id(connection, deal.game)}
    return bool(_run(connection, _DEAL_ADDED[connection.dialect.name], values).rowcount)


def load_deal(connection: Connection | Line, id: UUID) -> DealRecord | None:
    """Read a deal."""
    row = _run(connection, _DEAL, {"id": _id(connection, id)}).fetchone()
    if row is None:
        return None
    values = dict(zip(_DEAL_COLUMNS, row, strict=True))
    return DealRecord(**values | {"id": id, "game": values["game"] and _uuid(values["game"])})


def claim_deal(connection: Connection | Line, deal: DealRecord) -> bool:
    """Give a secret deal to the one game that it says; False if another has it."""
    values = {"deal": _id(connection, deal.id), "new_game": _id(connection, deal.game)}
    values |= {"new_client_seed": deal.client_seed, "new_fairness": deal.fairness}
    return bool(_run(connection, _DEAL_CLAIMED, values).rowcount)


def insert_game(connection: Connection | Line, record: GameRecord, entries: Sequence[Entry]) -> None:
    """Add a game and its first events."""
    id = _id(connection, record.id)
    values = {
        "id": id,
        "variant": record.variant,
        "rules": _json(record.game.rules.data),
        "deal": _id(connection, record.deal_id),
        "deal_record": _json(deal_data(record.deal)),
        "seed": record.seed,
        "cards": format_cards(record.order),
        "visibility": record.visibility,
        "created_at": record.created_at,
        "metadata": _json(record.metadata),
        "revision": record.revision,
        **_moving(record),
    }
    _run(connection, _GAME_ADDED, values)
    _run_many(connection, _EVENT, _event_rows(id, map(_columns, entries)))


def load_game(connection: Connection | Line, id: UUID) -> GameRecord | None:
    """Read a game."""
    row = _run(connection, _GAME, {"id": _id(connection, id)}).fetchone()
    if row is None:
        return None
    if isinstance(connection, Line):
        known: GameRecord | None = connection.recent.get(id)
        if known and known.row == row:
            return known
    return _record(row)


def count_games(connection: Connection) -> int:
    """Count all games."""
    return connection.execute(select(func.count()).select_from(games)).scalar_one()


def game_ids(connection: Connection, batch: int = 1000) -> Iterator[UUID]:
    """Yield the ids of all games, in their order, without holding them all."""
    last: UUID | None = None
    while True:
        query = select(games.c.id).order_by(games.c.id).limit(batch)
        page = connection.scalars(query if last is None else query.where(games.c.id > last)).all()
        yield from page
        if len(page) < batch:
            return
        last = page[-1]


def load_status(connection: Connection, id: UUID) -> str | None:
    """Read the status of a game."""
    return connection.execute(select(games.c.status).where(games.c.id == id)).scalar_one_or_none()


def remove_unplayed(connection: Connection, until: int, most: int = 500) -> int:
    """Take away games without a move that were dealt before a time, with their deals, and return how many went."""
    unplayed = select(games.c.id, games.c.deal).where(games.c.version == 1, games.c.id < _first_id(until)).limit(most)
    # Locked, so that a move that comes now finds them gone, or they are not unplayed any more.
    found = connection.execute(unplayed.with_for_update(skip_locked=True)).all()
    ids = [row.id for row in found]
    connection.execute(delete(events).where(events.c.game.in_(ids)))
    connection.execute(delete(games).where(games.c.id.in_(ids)))
    # An open deal stays: it has the same id for everyone.
    connection.execute(delete(deals).where(deals.c.id.in_([row.deal for row in found]), deals.c.game.in_(ids)))
    return len(ids)


_SHORT_LINE = 200  # moves of a game that is remembered; a longer one takes up too much for what it saves


class Overtaken(Exception):
    """What was decided stands on something that is not so any more; it is to be decided again."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which public games a list is of, from the last dealt to the first.

    since, until: from when on and before when they were dealt, in milliseconds since 1970 UTC
    after: the game that the list goes on after
    """

    status: str | None = None
    variant: str | None = None
    deal: UUID | None = None
    since: int | None = None
    until: int | None = None
    after: UUID | None = None


def list_games(connection: Connection, wanted: Wanted, limit: int) -> list[GameRecord]:
    """Read public games, the last dealt first."""
    query = select(games).where(games.c.visibility == "public").order_by(games.c.id.desc()).limit(limit)
    for column, value in (
        (games.c.status, wanted.status),
        (games.c.variant, wanted.variant),
        (games.c.deal, wanted.deal),
    ):
        if value is not None:
            query = query.where(column == value)
    if wanted.since is not None:
        query = query.where(games.c.id >= _first_id(wanted.since))
    if wanted.until is not None:
        query = query.where(games.c.id < _first_id(wanted.until))
    if wanted.after is not None:
        query = query.where(games.c.id < wanted.after)
    return [_record(tuple(row)) for row in connection.execute(query)]


def _first_id(time: int) -> UUID:
    """Return the lowest id that a game dealt at a time can have: an id begins with its milliseconds (UUID version 7)."""
    return UUID(int=min(max(time, 0), 2**48 - 1) << 80)


def load_states(connection: Connection, ids: Sequence[UUID]) -> Iterator[tuple[UUID, int, str, str]]:
    """Yield id, version, status and visibility of games."""
    for start in range(0, len(ids), 500):
        query = select(games.c.id, games.c.version, games.c.status, games.c.visibility)
        for row in connection.execute(query.where(games.c.id.in_(ids[start : start + 500]))):
            yield row.id, row.version, row.status, row.visibility


def prepare_append(
    before: GameRecord, after: GameRecord, entries: Sequence[Entry]
) -> Callable[[Connection | Line], None]:
    """Return what adds events to a game and keeps what they fold to, all work done that other writers would wait for.

    It raises `Overtaken`, and changes nothing, if the game is no longer what the events were decided on.
    """
    moved = {f"new_{name}": value for name, value in _moving(after).items()} | _decided_on(before)
    added = [_columns(entry) for entry in entries]
    known: GameRecord | None = None
    if before.row and len(after.game.line) < _SHORT_LINE:
        row = list(before.row)
        for place, name in _MOVED:
            row[place] = moved[name]
        known = after.but(game=lean(after.game), row=tuple(row))

    def append(connection: Connection | Line) -> None:
        if connection.dialect.name == "postgresql":
            values = moved | {"game": before.id, "added": _json(added)}
            written = _run(connection, _MOVE_WITH_EVENTS, values).rowcount
        else:
            goes_on = before.row and before.row[_STATUS] == after.game.status
            statement = _MOVE if goes_on else _MOVE_TO_STATUS
            written = _run(connection, statement, moved | {"game": before.id.bytes}).rowcount
            if written:
                _run_many(connection, _EVENT, _event_rows(before.id.bytes, added))
        if not written:
            raise Overtaken
        if known and isinstance(connection, Line):
            connection.recent.put(before.id, known)

    return append


def change_game(connection: Connection | Line, before: GameRecord, after: GameRecord) -> None:
    """Keep another visibility and other metadata of a game. Raises `Overtaken` if it is no longer what it was."""
    values = _decided_on(before) | {"game": _id(connection, before.id), "new_revision": after.revision}
    values |= {"new_visibility": after.visibility, "new_metadata": _json(after.metadata)}
    if _run(connection, _CHANGE, values).rowcount == 0:
        raise Overtaken


def load_answer(connection: Connection | Line, key: bytes, since: int) -> tuple[bytes, Any] | None:
    """Read what was answered under a key since a time, after what was asked then."""
    row = _run(connection, _ANSWER, {"key": key, "since": since}).fetchone()
    return None if row is None else (bytes(row[0]), orjson.loads(zlib.decompress(row[1])))


def keep_answer(connection: Connection | Line, key: bytes, request: bytes, answer: Any, now: int, since: int) -> None:
    """Keep an answer under a key. Raises `Overtaken` if the key has had one since that time.

    Every so often old answers make room, so that they need no clearing up from outside.
    """
    packed = zlib.compress(orjson.dumps(answer), 1)
    values = {"key": key, "request": request, "answer": packed, "at": now, "since": since}
    if _run(connection, _KEEP[connection.dialect.name], values).rowcount == 0:
        raise Overtaken
    if key[0] < _CLEARING:
        clear_answers(connection, since)


def clear_answers(connection: Connection | Line, until: int) -> int:
    """Take away answers kept before a time, a thousand at most, and return how many went."""
    return int(_run(connection, _CLEAR, {"until": until}).rowcount)


def load_entries(connection: Connection, game: UUID, *, after: int = 0, limit: int | None = None) -> list[Entry]:
    """Read events of a game that come after a version, first to last."""
    query = select(events).where(events.c.game == game, events.c.version >= after).order_by(events.c.version)
    rows = connection.execute(query if limit is None else query.limit(limit + (after > 0))).mappings()
    previous, entries, name = FIRST_PREVIOUS, [], str(game)
    for row in rows:
        hash = row["hash"].hex()
        if row["version"] > after:
            data = _unfold_data(orjson.loads(row["data"]))
            kind = _LONG.get(row["type"], row["type"])
            entries.append(Entry(name, row["version"], row["move"], kind, data, row["at"], previous, hash))
        previous = hash
    return entries


@lru_cache
def _compiled(statement: ClauseElement, dialect: Dialect) -> tuple[str, Sequence[str] | None]:
    compiled = statement.compile(dialect=dialect)
    return str(compiled), compiled.positiontup  # type: ignore[attr-defined]


def _run(connection: Connection | Line, statement: ClauseElement, values: Mapping[str, Any]) -> Any:
    """Run a statement compiled once, by the driver itself; values and rows are as the driver has them.

    For the statements on the path of a move: SQLAlchemy's own way through a statement costs more than the
    database's.
    """
    sql, names = _compiled(statement, connection.dialect)
    cursor = connection.connection.cursor()
    cursor.execute(sql, values if names is None else [values[name] for name in names])
    return cursor


def _run_many(connection: Connection | Line, statement: ClauseElement, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a statement likewise, once for each row of values."""
    sql, names = _compiled(statement, connection.dialect)
    many = rows if names is None else [[row[name] for name in names] for row in rows]
    connection.connection.cursor().executemany(sql, many)


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(bytes=value)


def _id(connection: Connection | Line, id: UUID | None) -> Any:
    return id if id is None or connection.dialect.name == "postgresql" else id.bytes


_DEAL_COLUMNS = deals.columns.keys()
_DEAL = select(deals).where(deals.c.id == bindparam("id"))
_DEAL_ADDED = {
    "sqlite": sqlite.insert(deals).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(deals).on_conflict_do_nothing(),
}
_DEAL_CLAIMED = (
    update(deals)
    .where(deals.c.id == bindparam("deal"), deals.c.game.is_(None))
    .values({name: bindparam(f"new_{name}") for name in ("game", "client_seed", "fairness")})
)
_GAME_COLUMNS = games.columns.keys()
_MOVED = [(_GAME_COLUMNS.index(name), f"new_{name}") for name in ("status", "version", "head", "state", "updated_at")]
_STATUS = _GAME_COLUMNS.index("status")
_GAME_ADDED = insert(games)
_GAME = select(games).where(games.c.id == bindparam("id"))
_AS_IT_WAS = (
    games.c.id == bindparam("game"),
    games.c.version == bindparam("decided_on"),
    games.c.revision == bindparam("decided_at"),
)


def _set(*names: str) -> ClauseElement:
    return update(games).where(*_AS_IT_WAS).values({name: bindparam(f"new_{name}") for name in names})


_MOVE = _set("version", "head", "state", "updated_at")
# SQLite writes an index anew when one of its columns is set, even to what it was: half of all that a move writes.
_MOVE_TO_STATUS = _set("status", "version", "head", "state", "updated_at")
_CHANGE = _set("visibility", "metadata", "revision")
_EVENT = insert(events)
# Both at once for PostgreSQL, where each statement is a journey to the server and back. The events come as one text, which
# costs the driver less than any array.
_MOVE_WITH_EVENTS = text("""
    WITH moved AS (
        UPDATE games SET status = :new_status, version = :new_version, head = :new_head, state = :new_state,
            updated_at = :new_updated_at
        WHERE id = :game AND version = :decided_on AND revision = :decided_at
        RETURNING id
    )
    INSERT INTO events (game, version, move, type, data, at, hash)
    SELECT moved.id, version, move, type, data, at, decode(hash, 'hex')
    FROM moved, json_to_recordset(CAST(:added AS json))
        AS added (version integer, move integer, type text, data text, at bigint, hash text)
""")
_ANSWER = select(answers.c.request, answers.c.answer).where(
    answers.c.key == bindparam("key"), answers.c.at >= bindparam("since")
)


def _keep(insert_into: Callable[..., Any]) -> ClauseElement:
    new = insert_into(answers)
    return new.on_conflict_do_update(  # type: ignore[no-any-return]
        index_elements=["key"],
        set_={name: new.excluded[name] for name in ("request", "answer", "at")},
        where=answers.c.at < bindparam("since"),
    )


_KEEP = {"sqlite": _keep(sqlite.insert), "postgresql": _keep(postgresql.insert)}
_CLEAR = delete(answers).where(text("key IN (SELECT key FROM answers WHERE at < :until LIMIT 1000)"))
_CLEARING = 4  # of the 256 values of a key's first byte: one answer in 64 pays for clearing up


def _decided_on(before: GameRecord) -> dict[str, Any]:
    return {"decided_on": before.game.version, "decided_at": before.revision}


def _moving(record: GameRecord) -> dict[str, Any]:
    """Return the columns that a move changes."""
    return {
        "status": record.game.status,
        "version": record.game.version,
        "head": bytes.fromhex(record.head),
        "state": _json(freeze(record.game)),
        "updated_at": record.updated_at,
    }


def _record(values: tuple[Any, ...]) -> GameRecord:
    row = dict(zip(_GAME_COLUMNS, values, strict=True))
    order = split_cards(row["cards"])
    game = thaw(
        known_rules(**orjson.loads(row["rules"])), order, row["version"], row["status"], orjson.loads(row["state"])
    )
    return GameRecord(
        id=_uuid(row["id"]),
        variant=row["variant"],
        deal_id=_uuid(row["deal"]),
        deal=Deal(**orjson.loads(row["deal_record"])),
        order=order,
        seed=row["seed"],
        visibility=row["visibility"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        head=row["head"].hex(),
        game=game,
        metadata=orjson.loads(row["metadata"]),
        revision=row["revision"],
        row=values,
    )


def _event_rows(game: Any, added: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**columns, "game": game, "hash": bytes.fromhex(columns["hash"])} for columns in added]


def _columns(entry: Entry) -> dict[str, Any]:
    """Return the columns of an event that are its own, as JSON values."""
    return {
        "version": entry.version,
        "move": entry.move,
        "type": _SHORT[entry.type],
        "data": _json(_fold_data(entry.data)),
        "at": entry.at,
        "hash": entry.hash,
    }


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


# Types and data are kept short, since most of a database is events: a removal as `r`, `["e1d2","2D2C"]`. What was kept
# in the words of the log is read as well.
_SHORT = {
    "dealt": "d",
    "removed": "r",
    "compacted": "c",
    "refilled": "f",
    "undone": "u",
    "redone": "e",
    "hinted": "h",
    "resigned": "q",
    "won": "w",
    "lost": "l",
}
_LONG = {short: long for long, short in _SHORT.items()}
_CELL = re.compile(r"[a-j]\d+")


def _fold_data(data: Mapping[str, Any]) -> Any:
    if "cells" not in data:
        return data
    cells = "".join([f"{COLUMNS[cell['column'] - 1]}{cell['row']}" for cell in data["cells"]])
    return [cells, "".join(data["cards"]), *([data["stock"]] if "stock" in data else [])]


def _unfold_data(data: Any) -> dict[str, Any]:
    if isinstance(data, list):
        cells, cards, *stock = data
        data = {
            "cells": " ".join(_CELL.findall(cells)),
            "cards": " ".join(map("".join, zip(*[iter(cards)] * 2, strict=True))),
        }
        data |= {"stock": stock[0]} if stock else {}
    if "cells" in data:
        data["cells"] = [cell_data(parse_cell(cell)) for cell in data["cells"].split()]
        data["cards"] = list(split_cards(data["cards"]))
    return data  # type: ignore[no-any-return]
