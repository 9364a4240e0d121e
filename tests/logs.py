"""Whole games played at random, as the log documents that the service gives of them; the same seed, the same game."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any
from uuid import UUID

from service.engine.audit import audit
from service.engine.cards import Card, format_cards
from service.engine.deals import ALGORITHMS, LARGEST_NUMBER, LARGEST_PYSOL, commitment, order
from service.engine.events import LOG_FORMAT, Deal, Dealt, Move, parse_move
from service.engine.game import Game, apply, begin, fold_all
from service.engine.log import FIRST_PREVIOUS, Entry, event_hash, move_data, write
from service.engine.rules import VARIANTS
from service.engine.signatures import KeyRing, Statement

KEYS = KeyRing.from_seeds(["t" * 43])
KINDS = ("secret", "joint", "numbered", "pysol", "deck")  # a secret deal is committed, or joint with a client seed
NOON = 1793534400000


@dataclass(frozen=True)
class Played:
    """A game that was played.

    log: the document as `GET /v1/games/{id}/log` gives it
    receipts: one for the deal and one for each move, as the answers to them brought it
    keys: what both are signed with
    """

    log: dict[str, Any]
    receipts: list[str]
    keys: KeyRing = KEYS

    def after(self, moves: int) -> dict[str, Any]:
        """Return the log as it was when so many moves were made, 0 for the deal alone."""
        receipt = self.receipts[moves]
        said = self.keys.read(receipt)
        if said is None:
            raise ValueError("a receipt of other keys")
        seed = self.log["seed"] if said.version == len(self.log["events"]) else None
        events = self.log["events"][: said.version]
        return copied({**self.log, "events": events, "head": said.head, "seed": seed, "signature": receipt})


def play(
    variant: str,
    seed: str,
    kind: str = "secret",
    *,
    rules: Mapping[str, Any] | None = None,
    client_seed: str | None = None,
    undo: float = 0.1,
    halves: float = 0.3,
    finish: bool = True,
) -> Played:
    """Play a game until no move is left, and then resign; or, not to finish, stop before the move that ends it.

    kind: one of `KINDS`
    rules: what differs from the variant's
    undo: how often to take a move back, or to make it again, instead of going on
    halves: how often to close up in two moves
    """
    random = Random(seed)
    dealt, cards, secret = _deal(random, variant, kind, rules or {}, client_seed, seed)

    def choose(game: Game) -> Move | None:
        move = _choose(random, game, undo, halves)
        ends = fold_all(game, apply(game, move, cards, secret)).over
        return None if ends and not finish else move

    return _record(random, dealt, cards, secret, choose)


def play_moves(variant: str, seed: str, kind: str, moves: str, *, rules: Mapping[str, Any] | None = None) -> Played:
    """Play moves given by their text, as in `"a1-b2 close_up undo"`."""
    random, coming = Random(seed), map(parse_move, moves.split())
    dealt, cards, secret = _deal(random, variant, kind, rules or {}, None, seed)
    return _record(random, dealt, cards, secret, lambda game: next(coming, None))


def play_long(events: int, seed: str = "long") -> Played:
    """Play a game of so many events: a removal that is undone and redone over and over."""
    random = Random(seed)
    dealt, cards, secret = _deal(random, "monte-carlo-thirteens", "numbered", {}, None, seed)

    def choose(game: Game) -> Move | None:
        if game.version == events:
            return None
        return game.legal_moves[0] if game.version == 1 else Move("undo" if len(game.line) > 1 else "redo")

    return _record(random, dealt, cards, secret, choose)


def _record(
    random: Random, dealt: Dealt, cards: tuple[Card, ...], secret: str | None, choose: Callable[[Game], Move | None]
) -> Played:
    """Play and write down a game until it is over or no move is chosen."""
    id, at = str(UUID(int=random.getrandbits(128), version=4)), NOON
    entries = write(id, 0, [dealt], at, FIRST_PREVIOUS)
    receipts = [_receipt(entries[-1])]
    game = begin(dealt)
    while not game.over and (move := choose(game)):
        events = apply(game, move, cards, secret)
        at += random.randrange(9000)
        entries += write(id, game.version, events, at, entries[-1].hash)
        receipts.append(_receipt(entries[-1]))
        game = fold_all(game, events)
    log = {
        "format": LOG_FORMAT,
        "game": id,
        "events": [entry.document for entry in entries],
        "head": entries[-1].hash,
        "seed": secret if game.over else None,
        "signature": receipts[-1],
    }
    return Played(copied(log), receipts)


def _deal(
    random: Random, variant: str, kind: str, changes: Mapping[str, Any], client_seed: str | None, seed: str
) -> tuple[Dealt, tuple[Card, ...], str | None]:
    """Return the first event, the order of the cards, and the secret behind it if there is one."""
    rules = VARIANTS[variant].rules.override(changes)
    pack, secret, number, deck = rules.pack, None, "", ""
    if kind in ("secret", "joint"):
        given = client_seed if client_seed is not None else f"client of {seed}"[:64] if kind == "joint" else ""
        secret = sha256(f"secret of {seed}".encode()).digest()
        deal = Deal("secret", None, commitment(secret), given, "joint" if kind == "joint" else "committed")
    elif kind == "deck":
        deal, deck = Deal("deck"), format_cards(random.sample(pack.cards(), pack.size))
    else:
        number = str(random.randint(1, random.choice((31999, LARGEST_PYSOL if kind == "pysol" else LARGEST_NUMBER))))
        deal = Deal(kind, number)
    cards = order(pack, deal.kind, seed=secret or b"", number=number, cards=deck, client_seed=deal.client_seed or "")
    dealt = Dealt(
        variant=variant,
        rules=rules,
        deal=deal,
        grid=cards[: rules.size],
        stock=pack.size - rules.size,
        deck=cards if kind == "deck" else None,
        algorithm=ALGORITHMS[deal.kind],
    )
    return dealt, cards, secret.hex() if secret else None


def _choose(random: Random, game: Game, undo: float, halves: float) -> Move:
    back = [Move("undo")] * (len(game.line) > 1) + [Move("redo")] * bool(game.undone)
    if back and random.random() < undo:
        return random.choice(back)
    move = random.choice(game.legal_moves or (Move("resign"),))
    if move.type == "close_up":
        return Move("compact") if random.random() < halves else move
    return Move("remove", move.cells[::-1]) if random.random() < 0.5 and len(move.cells) == 2 else move


def _receipt(entry: Entry) -> str:
    return KEYS.sign(Statement(entry.game, entry.version, entry.hash))


def copied(log: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a document, of plain JSON values."""
    copy: dict[str, Any] = json.loads(json.dumps(log))
    return copy


def chained(log: dict[str, Any], start: int = 1) -> dict[str, Any]:
    """Recompute links and hashes from an event on, and the head: what a forger does after a change."""
    events = log["events"]
    previous = events[start - 2]["hash"] if start > 1 else FIRST_PREVIOUS
    for event in events[start - 1 :]:
        event["previous"] = previous
        event["hash"] = previous = event_hash(event)
    return log | {"head": previous}


def signed(log: dict[str, Any], keys: KeyRing = KEYS) -> dict[str, Any]:
    """Sign a log as it is: what an operator can do who has the keys."""
    return log | {"signature": keys.sign(Statement(log["game"], len(log["events"]), log["head"]))}


def unhashed(log: dict[str, Any]) -> dict[str, Any]:
    """Return a log as one made by hand would be: types and data of the events, nothing signed."""
    events = [{"type": event["type"], "data": event["data"]} for event in log["events"]]
    return copied({"events": events, "seed": log["seed"]})


def hint(log: Mapping[str, Any], level: str, wins: int = 0, samples: int = 0) -> dict[str, Any]:
    """Return what tells of a hint after a log: of its first legal move, or of a close-up where none is left."""
    game = audit(log).game
    if game is None:
        raise ValueError("a log whose deal is good")
    move = game.legal_moves[0] if game.legal_moves else Move("close_up")
    return {"type": "hinted", "data": {"level": level, "move": move_data(move), "wins": wins, "samples": samples}}
