"""Notation: a log as text that a person can read, post and replay with real cards.

Header tags in brackets, then the moves, each with its number in the game:

    1. 2De1-2Cd2 2. / AC 9H 3. undo 4. resign

A removal names each card with its cell (`2De1`), one or two; `/` closes up and names the cards dealt, `/-` only
packs, `/+` only deals; in games that close up by themselves the cards dealt follow the removal (`2De1-2Cd2 / AC 9H`). A hint given stands as
`?fair e1-d2 171/200`: its level, its move, and in how many of the orders tried it can win.
The last word is the result: `won`, `lost`, or `*` for a game not over.

The full line holds everything that the log holds: times stand in a tag, and hashes follow from the rest. The main
line leaves out what was undone, and with it times and hashes, and says so in the tag `Line`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate, pairwise
from textwrap import fill
from typing import Any

from service.engine import deals
from service.engine.cards import Card, format_cards, parse_card, parse_cards, parse_cell
from service.engine.errors import EngineError, Unreadable
from service.engine.events import (
    Compacted,
    Deal,
    Dealt,
    Event,
    Hinted,
    Move,
    Redone,
    Refilled,
    Removed,
    Resigned,
    Undone,
    parse_move,
)
from service.engine.game import apply, begin, fold_all
from service.engine.log import FIRST_PREVIOUS, event_data, read_event, timestamp, write
from service.engine.rules import Rules, find_variant, known_rules

_WIDTH = 78
_TAG = re.compile(r'\[(\w+) "([^"\\]*(?:\\.[^"\\]*)*)"\]')
_CARD = r"(?:10|[2-9ATJQKatjqk])[CDHScdhs]"
_REMOVAL = re.compile(rf"({_CARD})([a-j]\d+)(?:-({_CARD})([a-j]\d+))?", re.ASCII)
_RESULTS = {"won": "won", "lost": "lost", "playing": "*", "blocked": "*"}
_TAGS = {
    "Game", "Variant", "Rules", "Deal", "Commitment", "ClientSeed", "Fairness", "Seed", "Deck", "Grid", "Line",
    "Started", "Times", "Head", "Signature", "Receipt", "Result",
}  # fmt: skip
_MOST_TEXT = 2**21  # characters; a game of ten thousand events takes a tenth of it


@dataclass(frozen=True, slots=True)
class Written:
    """A move as it is written, with what the writer says it did.

    removed: the cards removed; dealt: the cards that came from the stock
    hint: the hint given, where it was that and no move
    """

    move: Move
    removed: tuple[Card, ...] = ()
    dealt: tuple[Card, ...] = ()
    hint: Hinted | None = None

    def __str__(self) -> str:
        if self.hint:
            return f"?{self.hint.level} {self.hint.move} {self.hint.wins}/{self.hint.samples}"
        dealt = f" {format_cards(self.dealt)}" if self.dealt else ""
        if self.move.type == "remove":
            pairs = zip(self.removed, self.move.cells, strict=True)
            closing = f" /{dealt}" if dealt else ""
            return "-".join(f"{card}{cell}" for card, cell in pairs) + closing
        return {"close_up": "/", "compact": "/-", "refill": "/+"}.get(self.move.type, self.move.type) + dealt


def format_log(log: Mapping[str, Any], *, main: bool = False) -> str:
    """Write a log document, which must be valid, as notation: its full line, or its main line."""
    events = log["events"]
    dealt = read_event("dealt", events[0]["data"])
    if not isinstance(dealt, Dealt):
        raise ValueError("a log begins with dealt")
    steps = list(_main_line(events) if main else _groups(events))
    game, words = begin(dealt), []
    for number, step in enumerate(steps, start=1):
        happened = [read_event(event["type"], event["data"]) for event in step]
        after = fold_all(game, happened)
        words.append(f"{number}. {_write(happened, game.position.phase, after.position.phase)}")
        game = after
    tags = _deal_tags(log, dealt)
    if main:
        tags.append(("Line", "main"))
    elif events[0].get("at"):
        times = [_milliseconds(step[0]["at"]) for step in [[events[0]], *steps]]
        tags.append(("Started", events[0]["at"]))
        if len(times) > 1:
            tags.append(("Times", " ".join(str(later - earlier) for earlier, later in pairwise(times))))
        tags += [(name, log[name.lower()]) for name in ("Head", "Signature") if log.get(name.lower())]
        tags += [("Receipt", receipt) for receipt in log.get("receipts") or ()]
    tags.append(("Result", _RESULTS[game.status]))
    moves = _wrap(words, _RESULTS[game.status])
    return "\n".join([*(f'[{name} "{_escape(value)}"]' for name, value in tags), "", moves, ""])


def _wrap(words: Sequence[str], result: str) -> str:
    """Break moves into lines; a move and its number stay together, by spaces that are made plain afterwards."""
    text = " ".join([*(word.replace(" ", "\u00a0") for word in words), result])
    return fill(text, _WIDTH, break_on_hyphens=False).replace("\u00a0", " ")


def line_text(rules: Rules, order: Sequence[Card], moves: Sequence[Move]) -> str:
    """Write moves from the opening of a deal as in a log, the result at their end."""
    game = begin(Dealt("", rules, Deal("deck"), tuple(order[: rules.size]), rules.pack.size - rules.size))
    words = []
    for number, move in enumerate(moves, start=1):
        happened = apply(game, move, order)
        after = fold_all(game, happened)
        words.append(f"{number}. {_write(happened, game.position.phase, after.position.phase)}")
        game = after
    return _wrap(words, _RESULTS[game.status])


def parse_log(text: str) -> dict[str, Any]:
    """Read notation into a log document, with hashes if it has times.

    What the text claims stands in the document, right or wrong, as far as the first move that cannot be: an audit
    says what is wrong. Raises `Unreadable` with code `unreadable_log`, or what reading the deal raises.
    """
    if len(text) > _MOST_TEXT:
        raise Unreadable("unreadable_log", "the text is too long")
    tags, receipts, words = _split(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    written, result = _read_moves(words, tags.get("Result"))
    dealt, order, seed = _read_deal(tags)
    document: dict[str, Any] = {
        "format": dealt.format,
        "game": tags.get("Game"),
        "events": [],
        "head": tags.get("Head"),
        "seed": tags.get("Seed"),
        "signature": tags.get("Signature"),
    }
    if receipts:
        document["receipts"] = receipts
    entries = _Entries(document, _read_times(tags, len(written)))
    entries.add(dealt)
    game = begin(dealt)
    for step in written:
        if step.hint:
            entries.add(step.hint)
            game = fold_all(game, [step.hint])
            continue
        known = order or (*game.shown[: game.position.dealt], *step.dealt)
        try:
            happened = apply(game, step.move, known, seed)
        except EngineError:
            entries.add(_CLAIMS[step.move.type](step))
            return document
        # A claim that the rules do not bear out stands in the document; the audit finds it there.
        claims = [_claim(event, step) for event in happened]
        if step.dealt and not any(isinstance(event, Refilled) for event in happened):
            claims.append(Refilled((), step.dealt, game.position.stock))
        entries.add(*claims)
        game = fold_all(game, happened)
    if result != _RESULTS[game.status]:
        document["result"] = result
    return document


# Writing


def _groups(events: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the events after the first, those of one move together."""
    group: list[Mapping[str, Any]] = []
    for event in events[1:]:
        if group and event["move"] != group[0]["move"]:
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _main_line(events: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the moves that were not undone."""
    line: list[list[Mapping[str, Any]]] = []
    undone: list[list[Mapping[str, Any]]] = []
    for group in _groups(events):
        if group[0]["type"] == "undone":
            undone.append(line.pop())
        elif group[0]["type"] == "redone":
            line.append(undone.pop())
        elif group[0]["type"] == "hinted":
            continue
        else:
            line.append(group)
            undone.clear()
    yield from line


def _write(happened: Sequence[Event], before: str, after: str) -> Written:
    """Return the move that brought about these events, which led from one phase to another."""
    if isinstance(happened[0], Hinted):
        return Written(happened[0].move, hint=happened[0])
    removed = next((event for event in happened if isinstance(event, Removed)), None)
    refilled = next((event for event in happened if isinstance(event, Refilled)), None)
    dealt = refilled.cards if refilled else ()
    if removed:
        return Written(Move("remove", removed.cells), removed.cards, dealt)
    if before == "refill" and refilled:
        return Written(Move("refill"), (), dealt)
    if isinstance(happened[0], Compacted | Refilled):
        return Written(Move("compact" if after == "refill" else "close_up"), (), dealt)
    return Written(Move({"undone": "undo", "redone": "redo", "resigned": "resign"}[happened[0].type]))


def _deal_tags(log: Mapping[str, Any], dealt: Dealt) -> list[tuple[str, str]]:
    rules, plain, deal = dealt.rules.data, find_variant(dealt.variant).rules.data, dealt.deal
    changed = " ".join(
        f"{name}={'none' if value is None else value}" for name, value in rules.items() if value != plain[name]
    )
    tags = [
        ("Game", log.get("game")),
        ("Variant", dealt.variant),
        ("Rules", changed),
        ("Deal", " ".join(filter(None, (deal.kind, deal.number)))),
        ("Commitment", deal.commitment),
        ("ClientSeed", deal.client_seed),
        ("Fairness", deal.fairness if deal.kind == "secret" else None),
        ("Seed", log.get("seed")),
        ("Deck", format_cards(dealt.deck) if dealt.deck else None),
        ("Grid", format_cards(dealt.grid)),
    ]
    return [(name, value) for name, value in tags if value]


def _milliseconds(at: str) -> int:
    moment = datetime.fromisoformat(at)
    return int(moment.replace(microsecond=0).timestamp()) * 1000 + moment.microsecond // 1000


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


# Reading


def _split(text: str) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the tags, the receipts among them, and the words of the moves."""
    tags: dict[str, str] = {}
    receipts: list[str] = []
    words: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if not line.startswith("["):
            words += line.split()
            continue
        found = _TAG.fullmatch(line)
        if not found or found[1] not in _TAGS:
            raise Unreadable("unreadable_log", f"line {number} is no tag known here")
        if words:
            raise Unreadable("unreadable_log", f"line {number}: tags after moves; one text holds one game")
        name, value = found[1], _unescape(found[2])
        if name == "Receipt":
            receipts.append(value)
        elif name in tags:
            raise Unreadable("unreadable_log", f"line {number}: the tag {name} stands twice")
        else:
            tags[name] = value
    return tags, receipts, words


def _unescape(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), value)


def _read_moves(words: Sequence[str], result: str | None) -> tuple[list[Written], str]:
    """Return the moves and the result that closes them."""
    if not words or words[-1] not in _RESULTS.values() or (result or words[-1]) != words[-1]:
        raise Unreadable("unreadable_log", "the last word is the result: won, lost or *, as in the tag Result")
    moves: list[list[str]] = []
    for word in words[:-1]:
        if re.fullmatch(r"[1-9]\d{0,6}\.", word, re.ASCII):
            if int(word[:-1]) != len(moves) + 1:
                raise Unreadable("unreadable_log", f"move {len(moves) + 1} should follow, not {word}")
            moves.append([])
        elif moves:
            moves[-1].append(word)
        else:
            raise Unreadable("unreadable_log", "moves are numbered: 1. 2De1-2Cd2 2. /")
    return [_read_move(number, words) for number, words in enumerate(moves, start=1)], words[-1]


def _read_move(number: int, words: Sequence[str]) -> Written:
    try:
        first, *rest = words
        removal = _REMOVAL.fullmatch(first)
        if removal:
            pairs = [(removal[1], removal[2]), *([(removal[3], removal[4])] if removal[3] else [])]
            cells = tuple(parse_cell(cell) for _, cell in pairs)
            removed = tuple(parse_card(card) for card, _ in pairs)
            if rest and rest[0] != "/":
                raise ValueError(rest[0])
            return Written(Move("remove", cells), removed, parse_cards(" ".join(rest[1:])))
        if first in ("/", "/-", "/+"):
            move = Move({"/": "close_up", "/-": "compact", "/+": "refill"}[first])
            return Written(move, (), parse_cards(" ".join(rest)))
        if first.startswith("?"):
            move, (wins, samples) = parse_move(rest[0]), rest[1].split("/")
            if len(rest) != 2 or not re.fullmatch(r"\d{1,6}/\d{1,6}", rest[1], re.ASCII):
                raise ValueError(first)
            return Written(move, hint=Hinted(first[1:], move, int(wins), int(samples)))
        if rest or first not in ("undo", "redo", "resign"):
            raise ValueError(first)
        return Written(Move(first))
    except (ValueError, IndexError):
        raise Unreadable("unreadable_log", f"move {number} cannot be read: {' '.join(words)[:60]!r}") from None


def _read_deal(tags: Mapping[str, str]) -> tuple[Dealt, tuple[Card, ...] | None, str | None]:
    """Return the first event that the tags tell of, the order of the deal if they reveal it, and the secret seed."""
    variant = find_variant(tags.get("Variant", "monte-carlo"))
    rules = _read_rules(variant.rules, tags.get("Rules", ""))
    kind, _, number = tags.get("Deal", "deck" if "Deck" in tags else "secret").partition(" ")
    if kind not in deals.KINDS:
        raise Unreadable("unreadable_log", f"the tag Deal begins with one of {', '.join(deals.KINDS)}")
    secret, seed = kind == "secret", tags.get("Seed")
    commitment, client_seed = tags.get("Commitment"), tags.get("ClientSeed", "") if secret else None
    fairness = tags.get("Fairness", "committed") if secret else "open"
    order = None
    if not secret:
        order = deals.order(rules.pack, kind, number=number, cards=tags.get("Deck", ""))
    elif seed is not None and re.fullmatch(r"[0-9a-f]{64}", seed):
        order = deals.order(rules.pack, kind, seed=bytes.fromhex(seed), client_seed=client_seed or "")
        commitment = commitment or deals.commitment(bytes.fromhex(seed))
    shown = parse_cards(tags["Grid"]) if "Grid" in tags else (order or ())[: rules.size]
    if len(shown) != rules.size:
        raise Unreadable("unreadable_log", f"the tag Grid holds the {rules.size} cards dealt first")
    dealt = Dealt(
        variant=variant.id,
        rules=rules,
        deal=Deal(kind, number or None, commitment, client_seed, fairness),
        grid=shown,
        stock=rules.pack.size - rules.size,
        deck=order if kind == "deck" else None,
        algorithm=deals.ALGORITHMS[kind],
    )
    return dealt, order, seed if secret else None


def _read_rules(plain: Rules, text: str) -> Rules:
    values: dict[str, Any] = dict(plain.data)
    for word in text.split():
        name, sign, value = word.partition("=")
        if name not in values or not sign:
            raise Unreadable("unreadable_log", f"the tag Rules has no field {word[:40]!r}")
        if name not in ("decks", "rows", "columns", "total"):
            values[name] = value
        elif re.fullmatch(r"\d{1,3}", value, re.ASCII):
            values[name] = int(value)
        elif (name, value) == ("total", "none"):
            values[name] = None
        else:
            raise Unreadable("unreadable_log", f"{name} is a number")
    return known_rules(**values)


def _read_times(tags: Mapping[str, str], moves: int) -> list[int] | None:
    """Return the time of the deal and of every move in milliseconds since 1970, or None if the text has none."""
    if "Started" not in tags or "Game" not in tags:
        return None
    deltas = tags.get("Times", "").split()
    if len(deltas) != moves or not all(re.fullmatch(r"-?\d{1,13}", delta, re.ASCII) for delta in deltas):
        raise Unreadable("unreadable_log", f"the tag Times holds a number of milliseconds for each of {moves} moves")
    try:
        times = list(accumulate(map(int, deltas), initial=_milliseconds(tags["Started"])))
        written = [timestamp(time) for time in (times[0], max(times), min(times))]
    except (ValueError, OverflowError, OSError):
        raise Unreadable("unreadable_log", "Started and Times are no times") from None
    if written[0] != tags["Started"] or not all(len(time) == len(written[0]) for time in written):
        raise Unreadable("unreadable_log", "Started is written as 2026-11-01T00:00:00.000Z")
    return times


def _claim(event: Event, step: Written) -> Event:
    """Return an event with the cards that the writer says it moved."""
    if isinstance(event, Removed) and step.removed != event.cards:
        return replace(event, cards=step.removed)
    if isinstance(event, Refilled) and step.dealt and step.dealt != event.cards:
        return replace(event, cards=step.dealt)
    return event


# What an illegal move claims to have done; the audit finds out by its kind which move that was.
_CLAIMS: Mapping[str, Callable[[Written], Event]] = {
    "remove": lambda step: Removed(step.move.cells, step.removed),
    "close_up": lambda _: Compacted(),
    "compact": lambda _: Compacted(),
    "refill": lambda step: Refilled((), step.dealt, 0),
    "undo": lambda _: Undone(0),
    "redo": lambda _: Redone(0),
    "resign": lambda _: Resigned(0),
}


class _Entries:
    """The events of a document as they come, with places and hashes if there are times."""

    def __init__(self, document: dict[str, Any], times: list[int] | None) -> None:
        self.document, self.times = document, times
        self.version, self.moves, self.previous = 0, 0, FIRST_PREVIOUS

    def add(self, *events: Event) -> None:
        """Add the events of one move."""
        written: list[dict[str, Any]]
        if self.times is not None:
            entries = write(self.document["game"], self.version, events, self.times[self.moves], self.previous)
            self.previous, written = entries[-1].hash, [entry.document for entry in entries]
        else:
            written = [
                {"version": version, "move": self.version + 1, "type": event.type, "data": event_data(event)}
                for version, event in enumerate(events, start=self.version + 1)
            ]
        self.version += len(events)
        self.moves += 1
        self.document["events"] += written
