"""The use cases: each loads, asks the engine, and appends in one transaction if what it loaded is still so.

Clock, randomness and ids come from the `World` a command is given.
"""

from __future__ import annotations  # those of inner functions would else be worked out at each call

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from service import store
from service.database import Database, Line, Recent
from service.engine import deals, hints, log
from service.engine.analysis import Analysis, analyse
from service.engine.audit import Fault, Verdict, audit
from service.engine.cards import HIDDEN, Card, Pack
from service.engine.errors import EngineError, IllegalMove
from service.engine.events import LOG_FORMAT, MOST_EVENTS, Dealt, Event, Hinted, Move
from service.engine.game import Game, Position, apply, begin, fold_all
from service.engine.hints import Hint
from service.engine.log import Entry, deal_data
from service.engine.rules import Rules
from service.engine.search import Solution, masks_serve, solve
from service.engine.signatures import KeyRing, Statement
from service.metrics import CONFLICTS
from service.store import DealRecord, GameRecord, Wanted
from service.tokens import make_token, read_token
from service.watching import Watching

MOST_METADATA = 16

T = TypeVar("T")

# Open deals have the same id wherever they are made, so a number played twice is one deal.
_OPEN_DEALS = uuid.uuid5(uuid.NAMESPACE_URL, "montecarlo/deals")


class Refused(EngineError):
    """A request that cannot be met, for a reason outside the rules of the game."""


class Stale(Refused):
    """A request about a game as it was, which is now as in `record`."""

    def __init__(self, record: GameRecord) -> None:
        super().__init__("stale", f"If-Match does not name the game as it is now, at version {record.game.version}")
        self.record = record


class DoneBefore(Exception):
    """What was asked was done before under the same key, and `answer` is what it was answered with."""

    def __init__(self, answer: Any) -> None:
        super().__init__("done before")
        self.answer = answer


@dataclass(frozen=True)
class Terms:
    """On what terms a client asks for something to be done.

    key, request: digests of the key that it is done once under, however often it is asked, and of all that it says;
        without a key it is done each time
    tags: it is done only if the game's tag is one of these; whatever it is with None
    """

    key: bytes | None = None
    request: bytes = b""
    tags: Collection[str] | None = None


ANSWERS_KEPT = 24 * 3600 * 1000  # milliseconds
_NO_TERMS = Terms()


@dataclass(frozen=True)
class World:
    """What a command works with.

    secret: behind tokens; keys: what logs and receipts are signed with
    now: milliseconds since 1970 UTC
    random_bytes: that many bytes no one can foresee
    new_id: an id for a game dealt at a time, later ones greater
    """

    database: Database
    watching: Watching
    secret: bytes
    keys: KeyRing
    now: Callable[[], int]
    random_bytes: Callable[[int], bytes]
    new_id: Callable[[int], UUID]


@dataclass(frozen=True)
class DealSpec:
    """A deal as a request describes it: one made before, by `id`, or a kind with what it needs."""

    kind: str = "secret"
    number: str | None = None
    cards: str | None = None
    client_seed: str = ""
    id: UUID | None = None


def create_deal(
    world: World, pack: Pack, spec: DealSpec, answer: Callable[[DealRecord, bool], T], terms: Terms = _NO_TERMS
) -> T:
    """Make a deal of a pack, or find the open one there is; `answer` gets it, and whether anyone may see its order now.

    Raises `Unreadable`, `Refused` or `DoneBefore`.
    """
    made = _new_deal(world, pack, spec)

    def change(line: Line) -> None:
        if not store.insert_deal(line, made):
            raise store.Overtaken

    def decide(line: Line) -> Decided[T]:
        there = store.load_deal(line, made.id)
        _raise_if_done(world, line, terms)
        return None if there else change, lambda: answer(there or made, store.revealed(made.kind, False))

    return _carry_out(world, terms, decide)


# What changes the database, or None if nothing does, and what makes the answer.
Decided = tuple[Callable[[Line], None] | None, Callable[[], T]]


def _carry_out(world: World, terms: Terms, decide: Callable[[Line], Decided[T]], *, single: bool = False) -> T:
    """Do what is decided, in one transaction, with the answer kept in it if it has a key; return the answer.

    It is kept only if what it was decided on is still so: nobody waits for another's thinking, and whoever comes second
    decides again. Each turn that is lost is a change that somebody else has made.

    single: the change is one statement to PostgreSQL
    """
    with world.database.deciding() as line:
        while True:
            change, answer = decide(line)
            try:
                if terms.key:
                    answered = answer()
                    line.write(partial(_change_and_keep, world, change, terms.key, terms.request, answered))
                    return answered
                if change:
                    line.write(change, single=single)
                break
            except store.Overtaken:
                CONFLICTS.inc()
    return answer()  # with the line given back: others wait for it


def _change_and_keep(
    world: World, change: Callable[[Line], None] | None, key: bytes, request: bytes, answer: Any, line: Line
) -> None:
    if change:
        change(line)
    now = world.now()
    store.keep_answer(line, key, request, answer, now, now - ANSWERS_KEPT)


def raise_if_done(world: World, terms: Terms) -> None:
    """Look whether something was done before, ahead of what would take long. Raises `DoneBefore` or `Refused`."""
    if terms.key:
        with world.database.deciding() as line:
            _raise_if_done(world, line, terms)


def _raise_if_done(world: World, line: Line, terms: Terms) -> None:
    """Raise `DoneBefore` if this was done under the same key, or `Refused` if the key was for something else."""
    kept = terms.key and store.load_answer(line, terms.key, world.now() - ANSWERS_KEPT)
    if kept:
        request, answer = kept
        if request != terms.request:
            raise Refused("key_reused", "the Idempotency-Key came before with another request")
        raise DoneBefore(answer)


def read_deal(world: World, id: UUID) -> tuple[DealRecord, bool]:
    """Return a deal, and whether anyone may see its order now. Raises `Refused`."""
    with world.database.reading() as connection:
        return _load_deal(connection, id)


def _load_deal(connection: Connection, id: UUID) -> tuple[DealRecord, bool]:
    deal = store.load_deal(connection, id)
    if deal is None:
        raise Refused("deal_not_found", "there is no deal with this id")
    status = None if deal.game is None else store.load_status(connection, deal.game)
    return deal, store.revealed(deal.kind, status in ("won", "lost"))


def create_game(
    world: World,
    variant: str,
    rules: Rules,
    spec: DealSpec,
    answer: Callable[[GameRecord], T],
    *,
    visibility: str = "public",
    metadata: Mapping[str, str] | None = None,
    terms: Terms = _NO_TERMS,
) -> T:
    """Deal a game; `answer` gets it.

    Raises `Unreadable`, `ImpossibleRules`, `Refused` or `DoneBefore`.
    """
    now = world.now()
    id = world.new_id(now)
    made = None if spec.id else _new_deal(world, rules.pack, spec)
    if made and made.kind == "secret":
        made = replace(made, game=id, client_seed=spec.client_seed or None)

    def decide(line: Line) -> Decided[T]:
        there = store.load_deal(line, spec.id) if spec.id else None
        # After the deal is read: it may be taken by this very request, which came before.
        _raise_if_done(world, line, terms)
        deal = made or _claim(there, spec, rules, id)
        record, entries = _deal_out(id, variant, rules, deal, visibility, now)
        record = record.but(metadata=metadata or {})

        def change(line: Line) -> None:
            if made:
                store.insert_deal(line, deal)
            elif deal.kind == "secret" and not store.claim_deal(line, deal):
                raise store.Overtaken
            store.insert_game(line, record, entries)

        return change, lambda: answer(record)

    return _carry_out(world, terms, decide)


def read_game(world: World, id: UUID, token: str | None) -> GameRecord:
    """Return a game that this token may see. Raises `Refused`."""
    with world.database.reading() as connection:
        return _visible(world, store.load_game(connection, id), token)


def make_moves(
    world: World,
    id: UUID,
    token: str | None,
    moves: Sequence[Move],
    answer: Callable[[GameRecord, list[Entry]], T],
    terms: Terms = _NO_TERMS,
) -> T:
    """Make moves one after another, all or none; `answer` gets the game and the new events.

    Raises `IllegalMove` or `Unreadable` with `move` set to the place of the move in the batch, `Refused`, `Stale` or
    `DoneBefore`.
    """
    return _add(world, id, token, terms, lambda before, now: _play(before, moves, now), answer)


def try_moves(
    world: World, id: UUID, token: str | None, moves: Sequence[Move], terms: Terms = _NO_TERMS
) -> tuple[GameRecord, Game]:
    """Return a game and what moves would make of it, changing nothing; a card that nobody may know yet is `HIDDEN`.

    Raises what `make_moves` raises, but for `DoneBefore`.
    """
    if not _owns(world, id, token):
        raise _stranger(world, id, token)
    record = read_game(world, id, token)
    _check_tag(record, terms)
    known = record.order
    if not record.revealed:
        known = (*record.game.shown, *[HIDDEN] * (len(record.order) - len(record.game.shown)))
    return record, _play(record.but(order=known, seed=None), moves, record.updated_at)[0].game


def _add(
    world: World,
    id: UUID,
    token: str | None,
    terms: Terms,
    decide: Callable[[GameRecord, int], tuple[GameRecord, list[Entry]]],
    answer: Callable[[GameRecord, list[Entry]], T],
) -> T:
    """Add to a game what is decided on it as it stands at a time; return the answer to it."""
    if not _owns(world, id, token):
        raise _stranger(world, id, token)

    def decided(line: Line) -> Decided[T]:
        before = _visible(world, store.load_game(line, id), token)
        # After the game is read: whoever did it meanwhile under the same key is found here, or overtakes.
        _raise_if_done(world, line, terms)
        _check_tag(before, terms)
        after, entries = decide(before, max(world.now(), before.updated_at))
        return store.prepare_append(before, after, entries), lambda: answer(after, entries)

    return _carry_out(world, terms, decided, single=True)


def _check_tag(record: GameRecord, terms: Terms) -> None:
    if terms.tags is not None and record.tag not in terms.tags:
        raise Stale(record)


def change_game(
    world: World,
    id: UUID,
    token: str | None,
    *,
    visibility: str | None,
    metadata: Mapping[str, str | None],
    terms: Terms = _NO_TERMS,
) -> GameRecord:
    """Change who may see a game and what its client keeps on it, None taking away; return the game.

    Raises `Refused` or `Stale`.
    """
    if not _owns(world, id, token):
        raise _stranger(world, id, token)

    def decide(line: Line) -> Decided[GameRecord]:
        before = _visible(world, store.load_game(line, id), token)
        _check_tag(before, terms)
        kept = {name: text for name, text in {**before.metadata, **metadata}.items() if text is not None}
        if len(kept) > MOST_METADATA:
            raise Refused("too_much_metadata", f"a game keeps at most {MOST_METADATA} strings")
        after = before.but(visibility=visibility or before.visibility, metadata=kept, revision=before.revision + 1)
        if (after.visibility, after.metadata) == (before.visibility, before.metadata):
            return None, lambda: before
        return partial(store.change_game, before=before, after=after), lambda: after

    return _carry_out(world, terms, decide, single=True)


def give_hint(
    world: World,
    id: UUID,
    token: str | None,
    level: str,
    samples: int,
    answer: Callable[[Hint, GameRecord], T],
    terms: Terms = _NO_TERMS,
) -> T:
    """Give a hint and record it; `answer` gets it with the game.

    Raises `IllegalMove` for a game that is over or blocked, `Refused`, `Stale` or `DoneBefore`.
    """
    hint: Hint

    def decide(before: GameRecord, now: int) -> tuple[GameRecord, list[Entry]]:
        nonlocal hint
        hint = _think(before, level, samples)
        event = Hinted(level, hint.move, hint.wins, hint.samples)
        entries = log.write(str(id), before.game.version, [event], now, before.head)
        game = fold_all(before.game, [event])
        return before.but(game=game, head=entries[-1].hash, updated_at=now), entries

    return _add(world, id, token, terms, decide, lambda after, _: answer(hint, after))


def _think(record: GameRecord, level: str, samples: int) -> Hint:
    game = record.game
    if game.over:
        raise IllegalMove("game_over", f"the game is {game.over}; no hint is left to give")
    if level == "solve" and not record.revealed:
        raise Refused("not_revealed", "the deal is not revealed, so nobody may look at its stock; ask for level fair")
    if not game.legal_moves:
        raise IllegalMove("blocked", _way_back(game))
    if game.version >= MOST_EVENTS:
        raise IllegalMove("log_full", f"a log has at most {MOST_EVENTS} events; no hint is left")
    if level == "first":
        return hints.first(game)
    return hints.fair(game, samples) if level == "fair" else hints.exact(game, record.order, _budget(game.rules))


def _way_back(game: Game) -> str:
    """Say of a blocked game what undo would help."""
    for back in range(1, len(game.line)):
        earlier = replace(game, line=game.line[: len(game.line) - back + 1]).undo_position()
        if len(earlier.legal_moves) > 1:
            version, choices = game.line[-1 - back].version, len(earlier.legal_moves)
            return f"no move is left; {back} undo lead back to version {version}, where {choices} moves are legal"
    return "no move is left, and undo leads to no other choice"


def read_analysis(world: World, id: UUID, token: str | None) -> tuple[Analysis, GameRecord]:
    """Return the analysis of a game whose deal is revealed. Raises `Refused`."""
    with world.database.reading() as connection:
        record = _visible(world, store.load_game(connection, id), token)
        if not record.revealed:
            raise Refused("not_revealed", "the deal is revealed, and the game analysed, when the game is over")
        entries = store.load_entries(connection, id, limit=record.game.version)
    return _analysis(tuple(entries), record.order), record


def solve_deal(world: World, id: UUID, rules: Rules) -> Solution:
    """Decide a revealed deal as it lies before the first move. Raises `Refused`."""
    deal, revealed = read_deal(world, id)
    if not revealed:
        raise Refused("not_revealed", "the deal is revealed, and solved, when its game is over")
    if deal.pack != rules.pack:
        raise Refused("pack_mismatch", "the deal is of another pack than these rules play with")
    return _solution(rules, deal.order)


@lru_cache(maxsize=256)
def _solution(rules: Rules, order: tuple[Card, ...]) -> Solution:
    opening = Position(rules, order[: rules.size], rules.size)
    return solve(opening, order, _budget(rules))


def _budget(rules: Rules) -> int:
    """Return how many positions a request may have visited."""
    return 1_000_000 if masks_serve(rules) else 200_000


_ANALYSES = Recent(256)


def _analysis(entries: tuple[Entry, ...], order: tuple[Card, ...]) -> Analysis:
    """Return an analysis, kept by the hash of its last event, since it never changes."""
    head = entries[-1].hash
    kept: Analysis | None = _ANALYSES.get(head)
    if kept is None:
        kept = analyse(entries, order)
        _ANALYSES.put(head, kept)
    return kept


def read_entries(world: World, id: UUID, token: str | None, after: int, limit: int | None) -> tuple[list[Entry], bool]:
    """Return a page of the events of a game, and whether more come after it. Raises `Refused`."""
    with world.database.reading() as connection:
        record = _visible(world, store.load_game(connection, id), token)
        entries = store.load_entries(connection, id, after=after, limit=limit)
    return entries, bool(entries) and entries[-1].version < record.game.version


def follow(world: World, id: UUID, token: str | None, after: int, idle: float) -> Iterator[list[Entry]] | None:
    """Return the events of a game after a version, those to come as they happen, until it is over; None if all is told.

    Every `idle` seconds without any, an empty list comes. Raises `Refused`.
    """
    record = read_game(world, id, token)
    if record.game.over and after >= record.game.version:
        return None
    version = record.game.version
    return world.watching.follow(id, version, min(after, version), idle, owner=_owns(world, id, token))


def list_games(world: World, wanted: Wanted, limit: int) -> tuple[list[GameRecord], bool]:
    """Return public games, the last dealt first, and whether more come after them."""
    with world.database.reading() as connection:
        found = store.list_games(connection, wanted, limit + 1)
    return found[:limit], len(found) > limit


def export_games(world: World, wanted: Wanted, limit: int) -> tuple[Iterator[dict[str, Any]], UUID | None]:
    """Return the logs of public games, signed, and the game that the next export goes on after."""
    found, more = list_games(world, wanted, limit)

    def logs() -> Iterator[dict[str, Any]]:
        for record in found:
            with suppress(Refused):  # it is not there any more, or not public
                yield read_log(world, record.id, None)

    return logs(), found[-1].id if more else None


def prune(world: World, days: int) -> Iterator[tuple[str, int]]:
    """Remove answers kept for long enough, and games that nobody played within some days; yield what went, and how many.

    In short transactions, so that players wait for none of them. Whatever has been played stays for ever.
    """
    now = world.now()

    def answers(connection: Connection) -> int:
        return store.clear_answers(connection, now - ANSWERS_KEPT)

    def games(connection: Connection) -> int:
        return store.remove_unplayed(connection, now - days * 24 * 3600 * 1000)

    for kind, remove in (("answers", answers), ("games", games)):
        removed = 1
        while removed:
            with world.database.writing() as connection:
                removed = remove(connection)
            yield kind, removed


def read_position(world: World, id: UUID, token: str | None, version: int) -> tuple[GameRecord, Game]:
    """Return a game as it was at a version, beside what it is now. Raises `Refused`."""
    with world.database.reading() as connection:
        record = _visible(world, store.load_game(connection, id), token)
        if version > record.game.version:
            raise Refused("version_not_found", f"the game is at version {record.game.version}")
        return record, log.replay(store.load_entries(connection, id, limit=version))


def read_line(
    world: World, id: UUID, token: str | None, version: int | None
) -> tuple[GameRecord, Game, list[Position]]:
    """Return a game as it was at a version, with the positions that led there, what was undone left out.

    Raises `Refused`.
    """
    with world.database.reading() as connection:
        record = _visible(world, store.load_game(connection, id), token)
        if version is not None and version > record.game.version:
            raise Refused("version_not_found", f"the game is at version {record.game.version}")
        entries = store.load_entries(connection, id, limit=version or record.game.version)
    played = {game.version: game for game in log.games(entries)}
    last = played[len(entries)]
    return record, last, [played[step.version].position for step in last.line]


def read_log(world: World, id: UUID, token: str | None) -> dict[str, Any]:
    """Return the log of a game as a document, signed. Raises `Refused`."""
    with world.database.reading() as connection:
        record = _visible(world, store.load_game(connection, id), token)
        entries = store.load_entries(connection, id, limit=record.game.version)
    return log_document(world, record, entries)


def log_document(world: World, record: GameRecord, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return a log as it leaves the service."""
    return {
        "format": LOG_FORMAT,
        "game": record.name,
        "events": [entry.document for entry in entries],
        "head": record.head,
        "seed": record.seed.hex() if record.seed and record.revealed else None,
        "signature": receipt(world, record),
    }


def audit_stored(world: World, id: UUID) -> Verdict:
    """Audit a game as it is kept: its log, its deal with what is still secret, and the row that moves read."""
    try:
        with world.database.reading() as connection:
            record = store.load_game(connection, id)
            if record is None:
                raise Refused("game_not_found", "there is no game with this id")
            entries = store.load_entries(connection, id, limit=record.game.version + 1)
            if len(entries) > record.game.version and store.load_game(connection, id) != record:
                return audit_stored(world, id)  # it went on meanwhile
        seed = record.seed.hex() if record.seed else None
        verdict = audit(log_document(world, record, entries) | {"seed": seed}, world.keys)
    except (ValueError, KeyError, TypeError) as error:
        # Rows that do not even read are what a clumsy hand leaves behind.
        fault = Fault(0, "row_unreadable", f"what is kept of this game cannot be read: {error}")
        return Verdict(None, False, False, 0, fault, (), None)
    kept = (record.game, record.order[: len(record.game.shown)], record.variant, deal_data(record.deal))
    opening = entries[0].data
    if verdict.fault is None and kept != (verdict.game, record.game.shown, opening["variant"], opening["deal"]):
        fault = Fault(record.game.version, "row_differs", "the row of the game is not what its events fold to")
        return replace(verdict, fault=fault)
    return verdict


def token_of(world: World, record: GameRecord) -> str:
    """Return the token that moves a game."""
    return make_token(world.secret, record.id)


def receipt(world: World, record: GameRecord) -> str:
    """Return a receipt for a game as it is: its version and head, signed."""
    return world.keys.sign(Statement(record.name, record.game.version, record.head))


def _new_deal(world: World, pack: Pack, spec: DealSpec) -> DealRecord:
    """Make the record of a deal that is not in the database yet."""
    for name in ("number", "cards", "client_seed"):
        wanted = name in _TAKES[spec.kind]
        if getattr(spec, name) and not wanted:
            raise Refused("bad_deal", f"a {spec.kind} deal takes no {name}")
        if not getattr(spec, name) and wanted and name != "client_seed":
            raise Refused("bad_deal", f"a {spec.kind} deal needs {name}")
    secret = spec.kind == "secret"
    if not secret:
        deals.order(pack, spec.kind, number=spec.number or "", cards=spec.cards or "")
    cards = " ".join(deals.deck_order(pack, spec.cards)) if spec.cards else None
    name = f"{spec.kind}/{pack.decks}/{pack.ranks}/{spec.number or cards}"
    return DealRecord(
        id=UUID(bytes=world.random_bytes(16), version=4) if secret else uuid.uuid5(_OPEN_DEALS, name),
        kind=spec.kind,
        decks=pack.decks,
        ranks=pack.ranks,
        number=spec.number,
        cards=cards,
        seed=world.random_bytes(deals.SEED_BYTES) if secret else None,
        client_seed=None,
        fairness="committed" if secret else "open",
        game=None,
        created_at=world.now(),
    )


_TAKES = {"secret": ("client_seed",), "numbered": ("number",), "pysol": ("number",), "deck": ("cards",)}


def _claim(deal: DealRecord | None, spec: DealSpec, rules: Rules, game: UUID) -> DealRecord:
    """Return a deal made before, as it is when a game has taken it."""
    if deal is None:
        raise Refused("deal_not_found", "there is no deal with this id")
    if deal.pack != rules.pack:
        raise Refused("pack_mismatch", "the deal is of another pack than these rules play with")
    if deal.kind != "secret":
        if spec.client_seed:
            raise Refused("bad_deal", f"a {deal.kind} deal takes no client_seed")
        return deal
    if deal.game:
        raise Refused("deal_used", "a secret deal serves one game, and this one has served it")
    fairness = "joint" if spec.client_seed else "committed"
    return replace(deal, game=game, client_seed=spec.client_seed, fairness=fairness)


def _deal_out(
    id: UUID, variant: str, rules: Rules, deal: DealRecord, visibility: str, now: int
) -> tuple[GameRecord, list[Entry]]:
    order, public = deal.order, deal.public
    dealt = Dealt(
        variant=variant,
        rules=rules,
        deal=public,
        grid=order[: rules.size],
        stock=rules.pack.size - rules.size,
        deck=order if deal.kind == "deck" else None,
        algorithm=deals.ALGORITHMS[deal.kind],
    )
    entries = log.write(str(id), 0, [dealt], now, log.FIRST_PREVIOUS)
    record = GameRecord(
        id, variant, deal.id, public, order, deal.seed, visibility, now, now, entries[-1].hash, begin(dealt)
    )
    return record, entries


def _play(record: GameRecord, moves: Sequence[Move], now: int) -> tuple[GameRecord, list[Entry]]:
    """Make moves one after another on a game in memory."""
    game, entries, head = record.game, [], record.head
    seed = record.seed.hex() if record.seed else None
    for place, move in enumerate(moves):
        try:
            if len(game.shown) > len(record.game.shown) and not record.revealed:
                raise IllegalMove(
                    "must_be_last", "the move before deals hidden cards, so it must be the last of its batch"
                )
            if game.version >= MOST_EVENTS and move.type != "resign":
                raise IllegalMove("log_full", f"a log has at most {MOST_EVENTS} events; only resigning is left")
            events: Sequence[Event] = apply(game, move, record.order, seed)
        except EngineError as error:
            error.move = place
            raise
        added = log.write(record.name, game.version, events, now, head)
        game, head = fold_all(game, events), added[-1].hash
        entries += added
    return record.but(game=game, head=head, updated_at=now), entries


def _visible(world: World, record: GameRecord | None, token: str | None) -> GameRecord:
    if record is None or (record.visibility == "private" and not _owns(world, record.id, token)):
        # The same words for both: a stranger does not learn that a private game exists.
        raise Refused("game_not_found", "there is no game with this id that you may see")
    return record


def _owns(world: World, game: UUID, token: str | None) -> bool:
    return token is not None and read_token(world.secret, token) == game


def _stranger(world: World, game: UUID, token: str | None) -> Refused:
    """Return why this token does not move this game, found out without keeping any writer waiting."""
    try:
        read_game(world, game, token)
    except Refused as refused:
        return refused
    if token is None:
        return Refused("token_required", "moving needs the token that came with the game, as Authorization: Bearer")
    if read_token(world.secret, token) is None:
        return Refused("bad_token", "this server never gave out such a token")
    return Refused("not_yours", "this is the token of another game")
