"""The audit: every event of a log derived again from its deal by the rules, and compared with what the log says.

A log is a document as `GET /v1/games/{id}/log` gives it, or one made by hand: then hashes, times and places may be
missing, and the audit says what it could not check. What cannot be read at all is refused; a false log is a verdict.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, NoReturn, cast, get_type_hints

from service.engine import deals
from service.engine.cards import Card, Cell
from service.engine.errors import EngineError, Unreadable
from service.engine.events import EVENT_TYPES, LOG_FORMAT, MOST_EVENTS, MOST_OF_A_MOVE, Dealt, Event, Hinted, Move
from service.engine.game import Game, apply, begin, fold
from service.engine.hints import LEVELS, MOST_SAMPLES
from service.engine.log import FIRST_PREVIOUS, canonical, event_data, read_event
from service.engine.rules import RULES_VERSION, VARIANTS, Rules
from service.engine.signatures import NO_KEYS, KeyRing, read_receipts

_FIELDS = {"game", "version", "move", "type", "data", "at", "previous", "hash"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}")
_UNKNOWN = Card("??")
MOST_LOGGED = MOST_EVENTS + MOST_OF_A_MOVE
_MOVES = {"undone": Move("undo"), "redone": Move("redo"), "resigned": Move("resign")}


# What each fault means; an illegal move gives the code of the problem that the API would answer instead.
FAULTS = {
    "bad_deal": "The first event tells of a deal that cannot be, or is not written as it must be.",
    "wrong_cards": "The cards are not those that the deal gives, or the pack does not hold them.",
    "commitment_not_opened": "The game is over, and no seed opens the commitment.",
    "wrong_seed": "The seed of the log is not that of the deal.",
    "unexpected_event": "By the rules something else happened here.",
    "log_ends_within_move": "The last move has another event, which is missing.",
    "wrong_game": "An event is of another game.",
    "wrong_version": "Events are missing, doubled or out of order.",
    "wrong_move": "An event is counted to another move.",
    "wrong_time": "A time is not written as it must be.",
    "time_goes_back": "An event is older than the one before.",
    "wrong_previous": "An event does not link to the one before.",
    "wrong_hash": "The hash is not that of the event: something in it was changed.",
    "wrong_head": "The head is not the hash of the last event.",
    "wrong_result": "The game ended otherwise than the log says.",
    "log_cut": "A receipt is of a later version than the log has.",
    "log_rewritten": "A receipt shows that another event stood in its place.",
}


@dataclass(frozen=True)
class Fault:
    """The first thing that is wrong with a log.

    version: of the event, found or missing; the last one where the fault is of the log as a whole
    expected, found: JSON values
    """

    version: int
    code: str
    message: str
    expected: Any = None
    found: Any = None


@dataclass(frozen=True)
class Unchecked:
    """Something that could not be checked, and why."""

    code: str
    message: str


@dataclass(frozen=True)
class Verdict:
    """What an audit found.

    authentic: True if signed by a known key, False if a known key signed something else, None if nobody known signed
    finished: whether the game is over
    revealed: whether the order of the deal is known, so that every card could be checked
    checked: the version up to which the log is good
    game: what the good part folds to, None if not even its deal is good
    """

    authentic: bool | None
    finished: bool
    revealed: bool
    checked: int
    fault: Fault | None
    unchecked: Sequence[Unchecked]
    game: Game | None

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None


class _Found(Exception):
    """A fault was found."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def audit(log: Any, keys: KeyRing = NO_KEYS) -> Verdict:
    """Audit a log document.

    Raises `Unreadable` with code `unreadable_log` or `unknown_format`.
    """
    return _Audit(log, keys).verdict()


@dataclass
class _Audit:
    log: Any
    keys: KeyRing
    unchecked: list[Unchecked] = field(default_factory=list)
    game: Game = field(init=False)  # there once the deal is found good, when version is 1

    def __post_init__(self) -> None:
        self.events = read_log(self.log)
        self.receipts = read_receipts(self.log.get("receipts"))
        self.hashed = any(event.get("hash") is not None for event in self.events)
        self.secret = False
        self.order: tuple[Card, ...] | None = None
        self.seed: str | None = None
        self.opened = True
        self.version = 0
        self.previous = FIRST_PREVIOUS
        self.hashes: list[str] = []
        self.at = ""

    def verdict(self) -> Verdict:
        fault = None
        try:
            self._check_dealt()
            self._check_moves()
            self._check_top()
            self._check_receipts()
        except _Found as found:
            fault = found.fault
        game = self.game if self.version else None
        if game is not None and self.order is None:
            self._leave("deal", "the deal is not revealed: whether its cards were fixed beforehand shows at the end")
        if not self.hashed:
            self._leave("hashes", "the events have no hashes: nothing binds them to each other")
        if all(event.get("at") is None for event in self.events):
            self._leave("times", "the events have no times")
        finished = game is not None and game.over is not None
        authentic = self._authentic()
        return Verdict(authentic, finished, self.order is not None, self.version, fault, self.unchecked, game)

    def _leave(self, code: str, message: str) -> None:
        self.unchecked.append(Unchecked(code, message))

    def _fail(self, code: str, message: str, expected: Any = None, found: Any = None) -> NoReturn:
        """Stop at the event after the last good one."""
        raise _Found(Fault(self.version + 1, code, message, expected, found))

    def _fail_whole(self, code: str, message: str, expected: Any = None, found: Any = None) -> NoReturn:
        """Stop for a fault of the log as a whole, all events of which are good by themselves."""
        raise _Found(Fault(self.version, code, message, expected, found))

    # The deal

    def _check_dealt(self) -> None:
        claim = self.events[0]
        if claim["type"] != "dealt":
            self._fail("unexpected_event", "a log begins with dealt", "dealt", claim["type"])
        data = claim["data"]
        for name, known in (("format", LOG_FORMAT), ("rules_version", RULES_VERSION)):
            found = data.get(name)
            if type(found) is int and found > known:
                raise Unreadable("unknown_format", f"{name} {str(found)[:20]} is newer than known here, {known}")
            if found != known:
                self._fail("bad_deal", f"{name} is not known", known, found)
        try:
            dealt = _read_dealt(data)
            self._open(dealt)
        except (EngineError, KeyError, TypeError, ValueError, AttributeError) as error:
            reason = (
                error.message if isinstance(error, EngineError) else "a field is missing, unknown or of the wrong type"
            )
            self._fail("bad_deal", f"this deal cannot be: {reason}", found=data)
        self._check_opening(dealt, data)
        self._check_place(claim, move=1)
        self.game, self.version = begin(dealt), 1

    def _open(self, dealt: Dealt) -> None:
        """Find the order of the deal, if it is revealed and opens the commitment."""
        deal, pack = dealt.deal, dealt.rules.pack
        self.secret = deal.kind == "secret"
        last = self.events[-1]["data"].get("seed") if self.events[-1]["type"] in ("won", "resigned") else None
        self.seed = last if last is not None else self.log.get("seed")
        if not self.secret:
            cards = " ".join(dealt.deck or ())
            self.order = deals.order(pack, deal.kind, number=deal.number or "", cards=cards)
        elif self.seed is not None:
            self.opened = (
                isinstance(self.seed, str)
                and _HASH.fullmatch(self.seed) is not None
                and deals.commitment(bytes.fromhex(self.seed)) == deal.commitment
            )
            if self.opened:
                self.order = deals.order(
                    pack, "secret", seed=bytes.fromhex(self.seed), client_seed=deal.client_seed or ""
                )

    def _check_opening(self, dealt: Dealt, data: Mapping[str, Any]) -> None:
        rules = dealt.rules
        if not _same(event_data(dealt), data):
            self._fail("bad_deal", "this deal is not written as it must be", event_data(dealt), data)
        if dealt.stock != rules.pack.size - rules.size or len(dealt.grid) != rules.size:
            self._fail(
                "wrong_cards", "the grid is full, and the stock is the rest of the pack", rules.size, len(dealt.grid)
            )
        if self.order is not None and self.order[: rules.size] != dealt.grid:
            self._fail("wrong_cards", "the deal gives other cards", list(self.order[: rules.size]), list(dealt.grid))
        self._check_pack(dealt.grid, rules)

    def _check_pack(self, shown: Sequence[Card], rules: Rules) -> None:
        if Counter(shown) - Counter(rules.pack.cards()):
            self._fail("wrong_cards", "a card is shown more often than the pack holds it", found=list(shown))

    # The moves

    def _check_moves(self) -> None:
        pending: list[Event] = []
        first = 0
        for place, claim in enumerate(self.events[1:], start=1):
            if not pending:
                first = place + 1
                pending = (
                    [self._hinted(claim)]
                    if claim["type"] == "hinted"
                    else list(self._derive(self._asked(place), place))
                )
            expected = pending.pop(0)
            if not self._is_written_so(claim, expected, first):
                self._check_event(claim, expected)
                self._check_place(claim, first)
            game = fold(self.game, expected, first)
            if self.order is None and len(game.shown) > len(self.game.shown):
                self._check_pack(game.shown, game.rules)
            self.game, self.version = game, place + 1
        if pending:
            missing = {"type": pending[0].type, "data": event_data(pending[0])}
            self._fail("log_ends_within_move", "the last move has another event, which is missing", missing)

    def _asked(self, place: int) -> Move:
        """Return the move that the event at this place would begin."""
        claim = self.events[place]
        kind, data = claim["type"], claim["data"]
        if kind in _MOVES:
            return _MOVES[kind]
        if kind == "removed":
            try:
                return Move("remove", tuple(_cell(cell) for cell in data["cells"]))
            except (EngineError, KeyError, TypeError) as error:
                self._fail("unexpected_event", f"this removal cannot be read: {error}", found=data)
        if kind == "refilled":
            return Move("refill" if self.game.position.phase == "refill" else "close_up")
        if kind == "compacted":
            following = self.events[place + 1] if place + 1 < len(self.events) else {"type": None}
            whole = following["type"] == "refilled" and following.get("move") == claim.get("move")
            return Move("close_up" if whole else "compact")
        self._fail("unexpected_event", "no move begins with such an event", found=kind)

    def _hinted(self, claim: Mapping[str, Any]) -> Event:
        """Return the hint that an event tells of, if it can have been given here."""
        data, game = claim["data"], self.game
        try:
            hint = cast(Hinted, read_event("hinted", data))
            counts = type(hint.wins) is type(hint.samples) is int and 0 <= hint.wins <= hint.samples <= MOST_SAMPLES
        except (EngineError, KeyError, TypeError, AttributeError):
            self._fail("unexpected_event", "this hint cannot be read", found=data)
        if game.over:
            self._fail("game_over", f"the game is {game.over}; no hint is given any more", found=data)
        if not counts or hint.level not in LEVELS or hint.move not in game.legal_moves:
            self._fail("unexpected_event", "no such hint can be given here", found=data)
        if hint.level == "first":
            return Hinted("first", game.legal_moves[0], 0, 0)
        # A fair hint tries orders but for a refill, which is no choice; a solution is of a deal that anyone may see.
        if hint.level == "fair" and (hint.samples == 0) != (hint.move.type == "refill"):
            self._fail("unexpected_event", "no fair hint is given on so many orders", found=data)
        if hint.level == "solve" and (self.secret or hint.samples > 1):
            self._fail("unexpected_event", "no such solution can be given here", found=data)
        if not any(unchecked.code == "hints" for unchecked in self.unchecked):
            self._leave("hints", "the chances that hints name were not reckoned again")
        return hint

    def _derive(self, move: Move, place: int) -> Sequence[Event]:
        order = self.order if self.order is not None else self._claimed_order(place)
        try:
            return apply(self.game, move, order, self.seed if self.secret else None)
        except EngineError as error:
            claim = self.events[place]
            self._fail(error.code, error.message, found={"type": claim["type"], "data": claim["data"]})

    def _claimed_order(self, place: int) -> tuple[Card, ...]:
        """Return what is known of an order not revealed: the cards shown, then those that the coming refill claims."""
        game, claimed = self.game, []
        coming = [event["data"].get("cards") for event in self.events[place : place + 3] if event["type"] == "refilled"]
        if coming and isinstance(coming[0], list):
            claimed = [Card(card) if isinstance(card, str) else _UNKNOWN for card in coming[0]]
        known = (*game.shown, *claimed[len(game.shown) - game.position.dealt :])
        return known + (_UNKNOWN,) * (game.rules.pack.size - len(known))

    def _is_written_so(self, claim: Mapping[str, Any], expected: Event, first: int) -> bool:
        """Say whether an event is right to the last byte; if not, the checks after this one find out why."""
        at, kind = claim.get("at"), expected.type
        if not self.hashed or (self.secret and kind in ("won", "resigned")) or type(at) is not str or at < self.at:
            return False
        if at != self.at and first <= self.version:
            return False
        written = _canonical_claim({
            "game": self.log.get("game"), "version": self.version + 1, "move": first, "type": kind,
            "data": event_data(expected), "at": at, "previous": self.previous,
        })  # fmt: skip
        if written is None:
            return False
        hash = sha256(written).hexdigest()
        if claim.get("hash") != hash or _canonical_claim(claim) != written or not self._is_time(at):
            return False
        self.at, self.previous = at, hash
        self.hashes.append(hash)
        return True

    def _check_event(self, claim: Mapping[str, Any], expected: Event) -> None:
        data = event_data(expected)
        if claim["type"] != expected.type or not _same(data, claim["data"]):
            self._fail(
                "unexpected_event",
                "by the rules something else happened here",
                {"type": expected.type, "data": data},
                {"type": claim["type"], "data": claim["data"]},
            )
        if self.secret and expected.type in ("won", "resigned"):
            if data["seed"] is None:
                self._fail("commitment_not_opened", "the game is over, and the seed is not revealed")
            if not self.opened:
                self._fail("commitment_not_opened", "the seed does not open the commitment", found=data["seed"])

    # Places, times and hashes

    def _check_place(self, claim: Mapping[str, Any], move: int) -> None:
        version = self.version + 1
        for name, wanted in (("version", version), ("move", move), ("game", self.log.get("game"))):
            found = claim.get(name)
            if (found is not None or self.hashed) and (found != wanted or type(found) is not type(wanted)):
                self._fail(f"wrong_{name}", f"{name} does not fit", wanted, found)
        if not claim.keys() <= _FIELDS:
            self._fail("unexpected_event", "an event has no such field", sorted(_FIELDS), sorted(claim))
        self._check_time(claim.get("at"), same=move <= self.version)
        if not self.hashed:
            return
        if claim.get("previous") != self.previous:
            self._fail(
                "wrong_previous", "the event does not link to the one before", self.previous, claim.get("previous")
            )
        hash = _hash_of(claim)
        if hash is None or claim.get("hash") != hash:
            self._fail("wrong_hash", "the hash is not that of the event", hash, claim.get("hash"))
        self.previous = hash
        self.hashes.append(hash)

    def _check_time(self, at: Any, *, same: bool) -> None:
        if at is None and not self.hashed:
            return
        if not isinstance(at, str) or not self._is_time(at):
            self._fail("wrong_time", "a time is written as 2026-11-01T00:00:00.000Z", found=at)
        if at < self.at:
            self._fail("time_goes_back", "the event is older than the one before", self.at, at)
        if same and self.at != at:
            self._fail("wrong_time", "the events of one move happen at one time", self.at, at)
        self.at = at

    def _is_time(self, at: str) -> bool:
        if not _TIME.fullmatch(at):
            return False
        try:
            return at[:19] == self.at[:19] or bool(datetime.fromisoformat(at[:19]))
        except ValueError:
            return False

    # The whole

    def _check_top(self) -> None:
        number = self.events[0]["data"]["deal"]["number"]
        given, wanted = self.log.get("seed"), self.seed if self.secret else None
        if number is not None and self.events[0]["data"]["deal"]["kind"] == "numbered":
            wanted = deals.number_seed(int(number)).hex()
        if not self.opened:
            self._fail_whole("commitment_not_opened", "the seed does not open the commitment", found=self.seed)
        if given is not None and given != wanted:
            self._fail_whole("wrong_seed", "the seed is not that of the deal", wanted, given)
        result, ends = self.log.get("result"), self.game.over or "*"
        if result is not None and result != ends:
            self._fail_whole("wrong_result", "the game ended otherwise", ends, result)
        head = self.log.get("head")
        if self.hashed and head not in (None, self.previous):
            self._fail_whole("wrong_head", "the head is not the hash of the last event", self.previous, head)

    def _check_receipts(self) -> None:
        for place, receipt in enumerate(self.receipts, start=1):
            said = self.keys.read(receipt)
            if said is None:
                self._leave("receipt", f"receipt {place} is not signed by a known key")
            elif said.game != self.log.get("game"):
                self._leave("receipt", f"receipt {place} is of another game")
            elif not self.hashed:
                self._leave("receipt", f"receipt {place} has nothing to be held against: the events have no hashes")
            elif said.version > len(self.hashes):
                self._fail_whole("log_cut", "a receipt is of a later version than the log", said.version, self.version)
            elif self.hashes[said.version - 1] != said.head:
                message = f"a receipt shows that another event stood at version {said.version}"
                self._fail_whole("log_rewritten", message, said.head, self.hashes[said.version - 1])

    def _authentic(self) -> bool | None:
        signature = self.log.get("signature")
        if signature is None:
            self._leave("signature", "the log is not signed")
            return None
        if not isinstance(signature, str) or not self.keys.knows(signature):
            self._leave("signature", "the log is signed with a key that is not known here")
            return None
        said = self.keys.read(signature)
        if said is None or said.game != self.log.get("game") or said.version != len(self.events):
            return False
        # A log that breaks a rule may be signed all the same, so its hashes are followed to the end.
        whole = len(self.hashes) == len(self.events)
        return said.head == (self.hashes[-1] if whole else _chain_head(self.events))


def _chain_head(events: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the hash of the last event, whatever the events say, or None if they are no chain."""
    previous = FIRST_PREVIOUS
    for event in events:
        if event.get("previous") != previous:
            return None
        hash = _hash_of(event)
        if hash is None or event.get("hash") != hash:
            return None
        previous = hash
    return previous


def deal_of(log: Any) -> tuple[Rules, tuple[Card, ...]]:
    """Return the rules and the whole order of a valid log whose deal is revealed.

    Raises `Unreadable` with code `unreadable_log` or `unknown_format`.
    """
    checked = _Audit(log, NO_KEYS)
    verdict = checked.verdict()
    if verdict.fault or checked.order is None:
        raise Unreadable("unreadable_log", verdict.fault.message if verdict.fault else "the deal is not revealed")
    return checked.game.rules, checked.order


def read_log(log: Any) -> Sequence[Mapping[str, Any]]:
    """Return the events of a log document.

    Raises `Unreadable` with code `unreadable_log` or `unknown_format`.
    """
    if not isinstance(log, dict):
        raise Unreadable("unreadable_log", "a log is a JSON object")
    format = log.get("format", LOG_FORMAT)
    if type(format) is not int or format < 1:
        raise Unreadable("unreadable_log", "format is a whole number from 1")
    if format > LOG_FORMAT:
        raise Unreadable(
            "unknown_format", f"format {str(format)[:20]} is newer than the newest known here, {LOG_FORMAT}"
        )
    unknown = log.keys() - {"format", "game", "events", "head", "seed", "signature", "receipts", "result"}
    if unknown:
        raise Unreadable("unreadable_log", f"a log has no field {min(unknown)[:40]!r}")
    for name in ("game", "head", "seed", "signature", "result"):
        if not isinstance(log.get(name), str | None):
            raise Unreadable("unreadable_log", f"{name} is a string or null")
    events = log.get("events")
    if not isinstance(events, list) or not events:
        raise Unreadable("unreadable_log", "events is a list, never empty")
    if len(events) > MOST_LOGGED:
        raise Unreadable("unreadable_log", f"a log has at most {MOST_LOGGED} events, and this one {len(events)}")
    for version, event in enumerate(events, start=1):
        fits = isinstance(event, dict) and isinstance(event.get("data"), dict) and isinstance(event.get("type"), str)
        if not fits or event["type"] not in EVENT_TYPES:
            raise Unreadable("unreadable_log", f"event {version} is no object with a known type and data")
    return events


def _same(expected: Any, found: Any) -> bool:
    """Compare JSON values, telling 1 from true and from 1.0."""
    try:
        return expected == found and canonical(expected) == canonical(found)
    except (TypeError, ValueError):
        return False


def _canonical_claim(claim: Mapping[str, Any]) -> bytes | None:
    """Return the form of an event that is hashed, or None for what no event can hold and so has no such form."""
    try:
        return canonical({key: value for key, value in claim.items() if key != "hash"})
    except (TypeError, ValueError):
        return None


def _hash_of(claim: Mapping[str, Any]) -> str | None:
    written = _canonical_claim(claim)
    return None if written is None else sha256(written).hexdigest()


def _cell(data: Any) -> Cell:
    row, column = data["row"], data["column"]
    if type(row) is not int or type(column) is not int:
        raise TypeError("a cell has a row and a column")
    return Cell(row, column)


_RULES_TYPES = get_type_hints(Rules)


def _read_dealt(data: Mapping[str, Any]) -> Dealt:
    """Read the first event of a log that a stranger sent. Raises `EngineError` and what reading wrong types raises."""
    rules = data["rules"]
    for name, wanted in _RULES_TYPES.items():
        if not isinstance(rules[name], wanted) or isinstance(rules[name], bool):
            raise TypeError(name)
    dealt = cast(Dealt, read_event("dealt", data))
    if type(dealt.stock) is not int:
        raise TypeError("stock")
    cards = frozenset(dealt.rules.pack.cards())
    if not all(card in cards for card in dealt.grid):
        raise Unreadable("bad_deal", "the grid holds what is no card of the pack")
    if dealt.variant not in VARIANTS:
        raise Unreadable("unknown_variant", f"there is no variant {str(dealt.variant)[:40]!r}")
    _check_deal(dealt)
    # What can have one value only is not taken from the log, so that 1.0 or true do not pass for 1.
    return replace(dealt, format=LOG_FORMAT, rules_version=RULES_VERSION, ranked=False, deadline=None)


def _check_deal(dealt: Dealt) -> None:
    deal = dealt.deal
    if dealt.algorithm != deals.ALGORITHMS[deal.kind] or dealt.ranked or dealt.deadline is not None:
        raise Unreadable("bad_deal", "algorithm, ranked or deadline do not fit the kind of deal")
    secret, numbered = deal.kind == "secret", deal.kind in ("numbered", "pysol")
    if (deal.number is not None) != numbered or (dealt.deck is not None) != (deal.kind == "deck"):
        raise Unreadable("bad_deal", f"a {deal.kind} deal has other fields")
    if numbered:
        deals.parse_number(deal.kind, deal.number or "")
    if secret:
        if not _HASH.fullmatch(deal.commitment or ""):
            raise Unreadable("bad_deal", "a secret deal has a commitment")
        if deal.client_seed is None or len(deal.client_seed.encode()) > deals.LONGEST_CLIENT_SEED:
            raise Unreadable("bad_deal", f"a client seed has at most {deals.LONGEST_CLIENT_SEED} bytes")
        if deal.fairness != "committed" and (deal.fairness != "joint" or not deal.client_seed):
            raise Unreadable("bad_deal", "a secret deal is committed, or joint with a client seed")
    elif (deal.commitment, deal.client_seed, deal.fairness) != (None, None, "open"):
        raise Unreadable("bad_deal", f"a {deal.kind} deal is open")
