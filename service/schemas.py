"""What comes in and what goes out: marshmallow schemas of both, and the documents that answers are made of.

Input schemas are closed and load what a request says. Output schemas describe the documents built here in the
published spec; they are not used to dump, which would cost more than the move itself, and the tests hold every
answer against the spec instead.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import orjson
from marshmallow import EXCLUDE, RAISE, Schema, ValidationError, fields, validate, validates_schema

from service.commands import DealSpec
from service.engine import deals, hints
from service.engine.analysis import Analysis
from service.engine.audit import Fault, Verdict
from service.engine.cards import RANKS, SUITS, Cell, format_cards
from service.engine.events import EVENT_TYPES, LOG_FORMAT, MOVE_TYPES, Move
from service.engine.game import Game
from service.engine.hints import Hint
from service.engine.log import Entry, cell_data, deal_data, grid_data, move_data, timestamp
from service.engine.players import PERFECT, PLAYERS
from service.engine.rules import (
    CLOSE_UPS,
    DEFAULT_VARIANT,
    LARGEST,
    MATCHES,
    PACKINGS,
    REACHES,
    SMALLEST,
    Rules,
    Variant,
    find_variant,
)
from service.engine.search import VERDICTS, Solution
from service.simulate import odds
from service.store import DealRecord, GameRecord

MOST_MOVES = 64
MOST_EVENTS = 1000
_MOST_SHOWN = 4096
VISIBILITIES = ("public", "private")
STATUSES = ("playing", "blocked", "won", "lost")
FAIRNESS = ("open", "committed", "joint")


class Pattern(validate.Regexp):
    """A pattern that the whole string must fit, as in JSON Schema; in Python `$` lets a last newline by."""

    def __call__(self, value: Any) -> Any:
        """Check a string."""
        if not self.regex.fullmatch(value):
            raise ValidationError(self._format_error(value))
        return value


HASH = Pattern("^[0-9a-f]{64}$")


class Int(fields.Integer):
    """A whole number as JSON Schema has it: 2 and 2.0, but neither "2" nor true."""

    def _validated(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise self.make_error("invalid")
        return int(value)


class QueryInt(fields.Integer):
    """A whole number written in decimal digits, as a query has it."""

    def _validated(self, value: Any) -> int:
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9):
            raise self.make_error("invalid")
        return int(value)


class Str(fields.String):
    """A string that UTF-8 and every database can hold: no lone surrogate, no NUL."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if text is not None and (any("\ud800" <= c <= "\udfff" for c in text) or "\0" in text):
            raise ValidationError("Not a string that can be kept: it has a lone surrogate or a NUL.")
        return text


class In(Schema):
    """What comes in: closed."""

    class Meta:
        """An unknown field is an error."""

        unknown = RAISE


def about(text: str, **more: Any) -> dict[str, Any]:
    """Return the metadata of a field: what it is, in a sentence."""
    return {"description": text, **more}


# What comes in


class CellIn(In):
    """A place of the grid, counted from 1."""

    row = Int(required=True, validate=validate.Range(1, LARGEST), metadata=about("From the top."))
    column = Int(required=True, validate=validate.Range(1, LARGEST), metadata=about("From the left."))


class MoveIn(In):
    """What to do."""

    type = Str(
        required=True,
        validate=validate.OneOf(MOVE_TYPES),
        metadata=about(
            "`remove` names one or two cells; `close_up` is `compact` and `refill` in one; no other move names cells."
        ),
    )
    cells = fields.List(
        fields.Nested(CellIn),
        load_default=list,
        validate=validate.Length(max=2),
        metadata=about(
            "The cells to remove, for `remove` only. With packing `in-place` the first named is refilled first."
        ),
    )


class MoveField(fields.Nested):
    """A move. Plain ones, which nearly all are, do not go through a schema: that would take longer than the move."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, partial: Any = None, **kwargs: Any) -> Move:
        move = _plain_move(value)
        if move is None:
            loaded = super()._deserialize(value, attr, data, partial, **kwargs)
            move = Move(loaded["type"], tuple(Cell(**cell) for cell in loaded["cells"]))
        return move


def _plain_move(value: Any) -> Move | None:
    """Return a move that is written as nearly all are, or None for one that needs a closer look."""
    if type(value) is not dict or not value.keys() <= {"type", "cells"} or type(value.get("type")) is not str:
        return None
    cells = value.get("cells", [])
    if value["type"] not in MOVE_TYPES or type(cells) is not list or len(cells) > 2:
        return None
    for cell in cells:
        if type(cell) is not dict or cell.keys() != {"row", "column"}:
            return None
        if not all(type(number) is int and 1 <= number <= LARGEST for number in cell.values()):
            return None
    return Move(value["type"], tuple(Cell(cell["row"], cell["column"]) for cell in cells))


class MovesIn(In):
    """Moves to make one after another, all or none."""

    moves = fields.List(
        MoveField(MoveIn),
        required=True,
        validate=validate.Length(1, MOST_MOVES),
        metadata=about("While the deal is not revealed, a move that deals hidden cards must be the last."),
    )


class RulesIn(In):
    """Rules to play by instead of the variant's own."""

    decks = Int(validate=validate.OneOf((1, 2)), metadata=about("Packs of cards."))
    ranks = Str(validate=validate.Length(1, 13), metadata=about(f"Ranks in the pack, in the order {RANKS}."))
    rows = Int(validate=validate.Range(SMALLEST, LARGEST), metadata=about("Rows of the grid."))
    columns = Int(validate=validate.Range(SMALLEST, LARGEST), metadata=about("Columns of the grid."))
    match = Str(validate=validate.OneOf(MATCHES), metadata=about("What makes a pair."))
    total = Int(
        allow_none=True,
        validate=validate.Range(2, 26),
        metadata=about("What a pair adds up to (A=1, J=11, Q=12, K=13), with match `sum`."),
    )
    equals = Str(
        validate=validate.Length(max=13), metadata=about("Ranks that pair with their equals, with match `sum`.")
    )
    single = Str(validate=validate.Length(max=13), metadata=about("Ranks removed alone."))
    fixed = Str(validate=validate.Length(max=13), metadata=about("Ranks never removed."))
    reach = Str(validate=validate.OneOf(REACHES), metadata=about("How near the cards of a pair must lie."))
    close_up = Str(validate=validate.OneOf(CLOSE_UPS), metadata=about("When the grid closes up."))
    packing = Str(validate=validate.OneOf(PACKINGS), metadata=about("How it closes up."))


def _client_seed_fits(text: str) -> None:
    if len(text.encode()) > deals.LONGEST_CLIENT_SEED:
        raise ValidationError(f"Longer than {deals.LONGEST_CLIENT_SEED} bytes of UTF-8.")


_NUMBER = about("Decimal, without sign or leading zeros: 0 to 2^64-1 for `numbered`, 1 to 10^20-1 for `pysol`.")
_CARDS = about("The whole pack for a `deck`, first dealt first, cards separated by spaces.")


class DealIn(In):
    """A deal to make."""

    kind = Str(
        load_default="secret",
        validate=validate.OneOf(deals.KINDS),
        metadata=about(
            "`secret`: random, bound by a commitment, for one game. `numbered`, `pysol`, `deck`: open to all."
        ),
    )
    number = Str(allow_none=True, validate=Pattern("^(0|[1-9][0-9]{0,19})$"), metadata=_NUMBER)
    cards = Str(allow_none=True, validate=validate.Length(1, 1024), metadata=_CARDS)


class NewDealIn(DealIn):
    """A deal to make, of the pack of a variant."""

    variant = Str(
        load_default=DEFAULT_VARIANT, validate=validate.Length(1, 64), metadata=about("Whose pack it is dealt from.")
    )


class GameDealIn(DealIn):
    """The deal to play: one made before, by `id`, or one to make now."""

    id = fields.UUID(
        allow_none=True, metadata=about("A deal made before; then nothing else but `client_seed` goes with it.")
    )
    client_seed = Str(
        load_default="",
        validate=_client_seed_fits,
        metadata=about("Your part in the shuffle of a secret deal, at most 64 bytes of UTF-8.", maxLength=64),
    )

    @validates_schema(pass_original=True)
    def _made_before(self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any) -> None:
        if data.get("id") and original.keys() & {"kind", "number", "cards"}:
            raise ValidationError("A deal made before takes no kind, number or cards.", "id")


class GameIn(In):
    """A game to deal."""

    variant = Str(
        load_default=DEFAULT_VARIANT, validate=validate.Length(1, 64), metadata=about("Id or alias of a variant.")
    )
    rules = fields.Nested(RulesIn, load_default=dict, metadata=about("Changes to the variant's rules."))
    deal = fields.Nested(GameDealIn, metadata=about("Which deal to play; a new secret one if left out."))
    visibility = Str(
        load_default="public",
        validate=validate.OneOf(VISIBILITIES),
        metadata=about("Whether others may look at it. Moving always needs the token."),
    )


class EventsQuery(In):
    """Which events to read."""

    after = QueryInt(
        load_default=0, validate=validate.Range(0, 999_999_999), metadata=about("Only events after this version.")
    )
    limit = QueryInt(load_default=100, validate=validate.Range(1, MOST_EVENTS), metadata=about("At most so many."))


class HintIn(In):
    """What kind of hint to give."""

    level = Str(
        load_default="fair",
        validate=validate.OneOf(hints.LEVELS),
        metadata=about(
            "`first`: the first pair, else the close-up. `fair`: the best plan for the wave, found without looking at "
            "the stock. `solve`: exact, for revealed deals."
        ),
    )
    samples = Int(
        load_default=hints.DEFAULT_SAMPLES,
        validate=validate.Range(1, hints.MOST_SAMPLES),
        metadata=about("How many orders of the hidden cards `fair` tries: more takes longer and knows better."),
    )


class SolutionQuery(In):
    """By which rules a deal is solved."""

    variant = Str(
        load_default=DEFAULT_VARIANT, validate=validate.Length(1, 64), metadata=about("Id or alias of a variant.")
    )


class PictureQuery(In):
    """What to draw."""

    version = QueryInt(
        load_default=None,
        validate=validate.Range(1, 999_999_999),
        metadata=about("As it was at this version; left out, as it is now."),
    )


class LogQuery(In):
    """How a log is written."""

    line = Str(
        load_default="full",
        validate=validate.OneOf(("full", "main")),
        metadata=about("`main` leaves out what was undone; for `text/plain` only."),
    )


class EventIn(In):
    """An event of a log. A log made by hand may have type and data only."""

    game = Str(allow_none=True)
    version = Int(allow_none=True)
    move = Int(allow_none=True, metadata=about("Left out, a compaction and the refill after it count as one close-up."))
    type = Str(required=True, validate=validate.OneOf(tuple(EVENT_TYPES)))
    data = fields.Dict(keys=fields.String(), required=True, metadata=about("As in the events of games."))
    at = Str(allow_none=True)
    previous = Str(allow_none=True)
    hash = Str(allow_none=True)


class LogIn(In):
    """A log to audit."""

    format = Int(load_default=LOG_FORMAT, metadata=about("Version of the log's format."))
    game = Str(allow_none=True)
    events = fields.List(fields.Nested(EventIn), required=True, validate=validate.Length(1))
    head = Str(allow_none=True)
    seed = Str(allow_none=True)
    signature = Str(allow_none=True)
    receipts = fields.List(fields.String(), metadata=about("Receipts kept from the answers to moves."))
    result = Str(validate=validate.OneOf(("won", "lost", "*")), metadata=about("How the log says the game ended."))


def read_deal_spec(loaded: Mapping[str, Any]) -> DealSpec:
    """Return what a loaded request says of a deal."""
    return DealSpec(
        kind=loaded.get("kind", "secret"),
        number=loaded.get("number"),
        cards=loaded.get("cards"),
        client_seed=loaded.get("client_seed", ""),
        id=loaded.get("id"),
    )


def read_rules(loaded: Mapping[str, Any]) -> tuple[str, Rules]:
    """Return the variant and the rules of a loaded request. Raises `Unreadable` or `ImpossibleRules`."""
    variant = find_variant(loaded["variant"])
    changes = loaded.get("rules") or {}
    return variant.id, variant.rules.override(changes) if changes else variant.rules


# What goes out

_RECEIPT = (
    "The head of the log at this version, signed by the server: a compact JWS, whose key is at /.well-known/jwks.json."
)


class Out(Schema):
    """What goes out: open, new fields may come."""

    class Meta:
        """Nothing is said of other fields."""

        unknown = EXCLUDE


class CardOut(fields.String):
    """A card in two characters."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validate=Pattern(f"^[{RANKS}][{SUITS}]$"), metadata=about("Rank, then suit."), **kwargs)


class CellOut(Out):
    """A place of the grid, counted from 1."""

    row = fields.Integer(required=True, validate=validate.Range(1, LARGEST), metadata=about("From the top."))
    column = fields.Integer(required=True, validate=validate.Range(1, LARGEST), metadata=about("From the left."))


class RulesOut(Out):
    """How a game is played."""

    decks = fields.Integer(required=True, metadata=about("Packs of cards."))
    ranks = fields.String(required=True, metadata=about("Ranks in the pack, low to high."))
    rows = fields.Integer(required=True, metadata=about("Rows of the grid."))
    columns = fields.Integer(required=True, metadata=about("Columns of the grid."))
    match = fields.String(required=True, validate=validate.OneOf(MATCHES), metadata=about("What makes a pair."))
    total = fields.Integer(required=True, allow_none=True, metadata=about("What a pair adds up to, with match `sum`."))
    equals = fields.String(required=True, metadata=about("Ranks that pair with their equals, with match `sum`."))
    single = fields.String(required=True, metadata=about("Ranks removed alone."))
    fixed = fields.String(required=True, metadata=about("Ranks never removed."))
    reach = fields.String(
        required=True,
        validate=validate.OneOf(REACHES),
        metadata=about(
            "`touching`: the eight neighbours; `line`: same row or column, whatever lies between; `anywhere`."
        ),
    )
    close_up = fields.String(
        required=True,
        validate=validate.OneOf(CLOSE_UPS),
        metadata=about(
            "`free`: when it changes something; `wave`: when no removal is left; `auto`: by itself after each."
        ),
    )
    packing = fields.String(
        required=True,
        validate=validate.OneOf(PACKINGS),
        metadata=about(
            "`reading`: cards keep their order and fill from the top left. `columns`: each column slides up. "
            "`in-place`: nothing moves. `fill-first`: the stock fills gaps, then what is left packs in reading order."
        ),
    )


class OddsOut(Out):
    """How often a player won."""

    player = fields.String(
        required=True,
        validate=validate.OneOf((*PLAYERS, PERFECT)),
        metadata=about(
            "`first` takes the first legal move, `random` any, `most-pairs` what takes most cards; `fair` follows the "
            "hint of that level; `perfect` sees all cards and wins whatever can be won."
        ),
    )
    start = fields.Integer(required=True, metadata=about("Number of the first deal played."))
    deals = fields.Integer(required=True, metadata=about("How many numbered deals were played, one after another."))
    won = fields.Integer(required=True)
    undecided = fields.Integer(required=True, metadata=about("Deals that the search of `perfect` gave up."))
    chance = fields.Float(required=True, metadata=about("Share of deals won."))
    interval = fields.List(
        fields.Float(),
        required=True,
        validate=validate.Length(equal=2),
        metadata=about("Where the chance lies with 95% confidence (Wilson)."),
    )


class VariantOut(Out):
    """A named, published record of rules."""

    id = fields.String(required=True, metadata=about("Name in requests."))
    name = fields.String(required=True, metadata=about("Name for people."))
    summary = fields.String(required=True, metadata=about("The rules in a sentence."))
    source = fields.String(required=True, metadata=about("Where the rules come from."))
    aliases = fields.List(fields.String(), required=True, metadata=about("Other names that requests may use."))
    rules = fields.Nested(RulesOut, required=True)
    goal = fields.Integer(required=True, metadata=about("Cards to remove to win."))
    odds = fields.List(
        fields.Nested(OddsOut),
        required=True,
        metadata=about(
            "As measured; repeat with `montecarlo simulate --variant ID --player P --seed START --deals N`."
        ),
    )


class VariantsOut(Out):
    """All variants."""

    items = fields.List(fields.Nested(VariantOut), required=True)
    next = fields.String(required=True, allow_none=True, metadata=about("Where the list goes on; always null here."))


class GameDealOut(Out):
    """The deal of a game."""

    id = fields.UUID(required=True)
    kind = fields.String(required=True, validate=validate.OneOf(deals.KINDS))
    number = fields.String(required=True, allow_none=True, metadata=about("Of a numbered or pysol deal."))
    commitment = fields.String(
        required=True,
        allow_none=True,
        validate=HASH,
        metadata=about("Binds the server to a secret seed before the first move."),
    )
    client_seed = fields.String(required=True, allow_none=True, metadata=about("The client's part in a secret deal."))
    fairness = fields.String(
        required=True,
        validate=validate.OneOf(FAIRNESS),
        metadata=about(
            "`joint`: bound before the client's part was known; `committed`: before the first move; `open`: seen by all."
        ),
    )
    revealed = fields.Boolean(required=True, metadata=about("Whether anyone may see the order now."))
    seed = fields.String(
        required=True,
        allow_none=True,
        validate=HASH,
        metadata=about("The 32 bytes behind a secret or numbered deal, once revealed."),
    )


class DealOut(GameDealOut):
    """A deal."""

    decks = fields.Integer(required=True, metadata=about("Packs of cards."))
    ranks = fields.String(required=True, metadata=about("Ranks in the pack."))
    cards = fields.String(
        required=True, allow_none=True, metadata=about("The order, first dealt first, once revealed.")
    )
    created_at = fields.String(required=True, metadata=about("When it was made.", format="date-time"))


class LegalMoveOut(Out):
    """A legal move; send back its type and cells."""

    type = fields.String(required=True, validate=validate.OneOf(("remove", "close_up", "refill")))
    cells = fields.List(fields.Nested(CellOut), required=True)
    cards = fields.List(CardOut(), required=True, metadata=about("What lies on the cells."))


class PlainMoveOut(Out):
    """A move, as requests send it."""

    type = fields.String(required=True, validate=validate.OneOf(MOVE_TYPES))
    cells = fields.List(fields.Nested(CellOut), required=True)


class AssistanceOut(Out):
    """What helped the player."""

    undos = fields.Integer(required=True, metadata=about("Moves taken back."))
    undone_refills = fields.Integer(required=True, metadata=about("Those of them that had shown cards."))
    hints = fields.Integer(required=True, metadata=about("Hints given."))


class PositionOut(Out):
    """What lay on the table at a version."""

    status = fields.String(
        required=True,
        validate=validate.OneOf(STATUSES),
        metadata=about("`blocked`: no removal is left and a close-up would change nothing; undo or resign."),
    )
    version = fields.Integer(required=True, metadata=about("Number of events up to here."))
    phase = fields.String(
        required=True,
        validate=validate.OneOf(("play", "refill")),
        metadata=about("`refill` after `compact`, when only `refill` goes on."),
    )
    grid = fields.List(
        fields.List(CardOut(allow_none=True)), required=True, metadata=about("Rows from the top; null is a gap.")
    )
    stock = fields.Integer(required=True, metadata=about("Cards face down."))
    removed = fields.Integer(required=True, metadata=about("How many cards are removed."))
    removed_cards = fields.List(CardOut(), required=True, metadata=about("Which, first removed first."))
    cards_left = fields.Integer(required=True, metadata=about("Cards of the pack not removed."))
    score = fields.Integer(required=True, metadata=about("Minus the cards left."))
    legal_moves = fields.List(
        fields.Nested(LegalMoveOut),
        required=True,
        metadata=about("Removals in reading order, then the close-up. Undo, redo and resign are not listed."),
    )


class GameOut(PositionOut):
    """A game."""

    id = fields.UUID(required=True)
    variant = fields.String(required=True)
    rules = fields.Nested(RulesOut, required=True)
    assistance = fields.Nested(AssistanceOut, required=True)
    head = fields.String(required=True, validate=HASH, metadata=about("Hash of the last event."))
    deal = fields.Nested(GameDealOut, required=True)
    visibility = fields.String(required=True, validate=validate.OneOf(VISIBILITIES))
    created_at = fields.String(required=True, metadata=about("When it was dealt.", format="date-time"))
    updated_at = fields.String(required=True, metadata=about("When the last event happened.", format="date-time"))


class NewGameOut(GameOut):
    """A game just dealt, with the token that moves it."""

    receipt = fields.String(required=True, metadata=about(_RECEIPT))
    token = fields.String(
        required=True, metadata=about("Keep it: it is shown only here. Send it as `Authorization: Bearer`.")
    )


class DealtDealOut(Out):
    """The public record of a deal."""

    kind = fields.String(required=True, validate=validate.OneOf(deals.KINDS))
    number = fields.String(required=True, allow_none=True)
    commitment = fields.String(required=True, allow_none=True, validate=HASH)
    client_seed = fields.String(required=True, allow_none=True)
    fairness = fields.String(required=True, validate=validate.OneOf(FAIRNESS))


class EventDataOut(Out):
    """What happened, by type of event; what a type does not have is left out.

    dealt: format to deck. removed: cells, cards. refilled: cells, cards, stock. undone, redone: to. hinted: level, move, wins, samples. won, resigned:
    cards_left, seed. compacted: nothing.
    """

    format = fields.Integer(metadata=about("Version of the log's format."))
    variant = fields.String()
    rules = fields.Nested(RulesOut)
    rules_version = fields.Integer(metadata=about("Version of the written rules."))
    algorithm = fields.String(validate=validate.OneOf(sorted(set(deals.ALGORITHMS.values()))))
    deal = fields.Nested(DealtDealOut)
    ranked = fields.Boolean()
    deadline = fields.String(allow_none=True)
    grid = fields.List(fields.List(CardOut()), metadata=about("The cards in sight."))
    stock = fields.Integer(metadata=about("Cards left in the stock."))
    deck = fields.String(allow_none=True, metadata=about("All cards of a deck deal, first dealt first."))
    level = fields.String(validate=validate.OneOf(hints.LEVELS), metadata=about("Of a hint."))
    move = fields.Nested(PlainMoveOut, metadata=about("The move that a hint named."))
    wins = fields.Integer(metadata=about("In how many orders the hinted plan can win."))
    samples = fields.Integer(metadata=about("How many orders were tried for a hint."))
    cells = fields.List(fields.Nested(CellOut))
    cards = fields.List(CardOut(), metadata=about("In the order of the cells."))
    to = fields.Integer(metadata=about("The version whose position is restored."))
    cards_left = fields.Integer()
    seed = fields.String(allow_none=True, metadata=about("The secret of the deal, where it is revealed by this event."))


class EventOut(Out):
    """An event of a game's log."""

    game = fields.UUID(required=True)
    version = fields.Integer(required=True, metadata=about("Its place in the log, from 1."))
    move = fields.Integer(required=True, metadata=about("Version of the first event of the same move."))
    type = fields.String(required=True, validate=validate.OneOf(tuple(EVENT_TYPES)))
    data = fields.Nested(EventDataOut, required=True)
    at = fields.String(required=True, metadata=about("Never before the event before.", format="date-time"))
    previous = fields.String(
        required=True, validate=HASH, metadata=about("Hash of the event before; zeros for the first.")
    )
    hash = fields.String(
        required=True, validate=HASH, metadata=about("SHA-256 over the RFC 8785 form of the event without this field.")
    )


class EventsOut(Out):
    """A page of events."""

    items = fields.List(fields.Nested(EventOut), required=True)
    next = fields.String(required=True, allow_none=True, metadata=about("Where the list goes on, or null."))


class MovesOut(Out):
    """What the moves did."""

    events = fields.List(fields.Nested(EventOut), required=True)
    game = fields.Nested(GameOut, required=True)
    receipt = fields.String(required=True, metadata=about(_RECEIPT))


class HintOut(Out):
    """A hint, recorded in the game's log."""

    level = fields.String(required=True, validate=validate.OneOf(hints.LEVELS))
    move = fields.Nested(PlainMoveOut, required=True, metadata=about("The move to make now."))
    plan = fields.List(
        fields.Nested(PlainMoveOut), required=True, metadata=about("The moves up to and with the close-up.")
    )
    win_probability = fields.Float(
        required=True, allow_none=True, metadata=about("Share of the orders tried in which the plan can win.")
    )
    interval = fields.List(
        fields.Float(),
        required=True,
        validate=validate.Length(equal=2),
        metadata=about("Where the chance lies with 95% confidence (Wilson)."),
    )
    wins = fields.Integer(required=True, metadata=about("In how many orders the plan can win."))
    samples = fields.Integer(required=True, metadata=about("How many orders were tried."))
    version = fields.Integer(required=True, metadata=about("Of the game with this hint."))
    receipt = fields.String(required=True, metadata=about(_RECEIPT))


class SolutionOut(Out):
    """Whether a deal can be won by one who sees all cards, and how."""

    verdict = fields.String(
        required=True,
        validate=validate.OneOf(VERDICTS),
        metadata=about("`undecided`: the search was given up; nothing is known."),
    )
    solution = fields.List(
        fields.Nested(PlainMoveOut), required=True, metadata=about("Moves that win; empty unless winnable.")
    )
    nodes = fields.Integer(required=True, metadata=about("Positions that the search visited."))


class AnalysedOut(Out):
    """A version of a game, seen with hindsight."""

    version = fields.Integer(required=True)
    verdict = fields.String(required=True, validate=validate.OneOf(VERDICTS))
    best = fields.Nested(
        PlainMoveOut, required=True, allow_none=True, metadata=about("A move that keeps the win, while there is one.")
    )


class ThrownAwayOut(Out):
    """The first move after which the game could not be won any more."""

    version = fields.Integer(required=True, metadata=about("Before the move."))
    events = fields.List(fields.Nested(EventOut), required=True, metadata=about("What the move did."))
    line = fields.List(
        fields.Nested(PlainMoveOut), required=True, metadata=about("Moves that would have won from there.")
    )


class AnalysisOut(SolutionOut):
    """A game seen with hindsight: the deal, and each version of the game."""

    versions = fields.List(fields.Nested(AnalysedOut), required=True)
    thrown_away = fields.Nested(ThrownAwayOut, required=True, allow_none=True)


class LogOut(Out):
    """The log of a game, all that an audit needs."""

    format = fields.Integer(required=True, metadata=about("Version of the log's format."))
    game = fields.UUID(required=True)
    events = fields.List(fields.Nested(EventOut), required=True)
    head = fields.String(required=True, validate=HASH, metadata=about("Hash of the last event."))
    seed = fields.String(
        required=True, allow_none=True, validate=HASH, metadata=about("Of a secret deal, once it is revealed.")
    )
    signature = fields.String(required=True, metadata=about(_RECEIPT))


class AuditFaultOut(Out):
    """The first thing that is wrong with a log."""

    version = fields.Integer(required=True, metadata=about("Of the event; the last one if the fault is of the whole."))
    code = fields.String(required=True, metadata=about("Stable name of the fault."))
    message = fields.String(required=True)
    expected = fields.Raw(required=True, allow_none=True, metadata=about("What the rules give, as JSON."))
    found = fields.Raw(required=True, allow_none=True, metadata=about("What the log says, as JSON."))


class UncheckedOut(Out):
    """Something that could not be checked."""

    code = fields.String(
        required=True,
        validate=validate.OneOf(("deal", "hashes", "times", "hints", "signature", "receipt")),
        metadata=about("What it is."),
    )
    message = fields.String(required=True, metadata=about("Why."))


class AuditOut(Out):
    """A verdict on a log."""

    valid = fields.Boolean(required=True, metadata=about("Every event follows by the rules, and every hash agrees."))
    authentic = fields.Boolean(
        required=True,
        allow_none=True,
        metadata=about(
            "Signed by a known key (true), signed but otherwise (false), not signed by anyone known (null)."
        ),
    )
    finished = fields.Boolean(required=True, metadata=about("The game is over."))
    revealed = fields.Boolean(required=True, metadata=about("The order of the deal is known, and every card agrees."))
    checked = fields.Integer(required=True, metadata=about("The version up to which the log is good."))
    fault = fields.Nested(AuditFaultOut, required=True, allow_none=True, metadata=about("The first fault."))
    unchecked = fields.List(fields.Nested(UncheckedOut), required=True, metadata=about("What could not be checked."))
    position = fields.Nested(
        PositionOut, required=True, allow_none=True, metadata=about("Where the good part of the log leads.")
    )


class HealthOut(Out):
    """How the service is."""

    status = fields.String(required=True, validate=validate.OneOf(("ok", "unready")))


class ReadyOut(HealthOut):
    """Whether the service can answer."""

    checks = fields.Dict(keys=fields.String(), values=fields.String(), required=True, metadata=about("What was found."))


class FaultOut(Out):
    """A fault of one field."""

    field = fields.String(required=True, metadata=about("JSON pointer into the body, or name of the query parameter."))
    message = fields.String(required=True)


class ProblemOut(Out):
    """A problem, as RFC 9457 has it."""

    type = fields.String(required=True, metadata=about("A page on problems of this code.", format="uri-reference"))
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True, metadata=about("What is wrong this time."))
    code = fields.String(required=True, metadata=about("Stable name of the problem."))
    move = fields.Integer(metadata=about("Place in the batch, from 0, of the move refused."))
    errors = fields.List(fields.Nested(FaultOut), metadata=about("Faults by field."))


def variant_document(variant: Variant) -> dict[str, Any]:
    """Return a variant as JSON values."""
    return {
        "id": variant.id,
        "name": variant.name,
        "summary": variant.summary,
        "source": variant.source,
        "aliases": list(variant.aliases),
        "rules": variant.rules.data,
        "goal": variant.rules.goal,
        "odds": odds().get(variant.id, []),
    }


def deal_document(deal: DealRecord, revealed: bool) -> dict[str, Any]:
    """Return a deal as JSON values."""
    return {
        "id": str(deal.id),
        **deal_data(deal.public),
        "revealed": revealed,
        "seed": _seed(deal.seed, deal.number if deal.kind == "numbered" else None, revealed),
        "decks": deal.decks,
        "ranks": deal.ranks,
        "cards": format_cards(deal.order) if revealed else None,
        "created_at": timestamp(deal.created_at),
    }


def position_document(game: Game) -> dict[str, Any]:
    """Return a position as JSON values."""
    position = game.position
    return {
        "status": game.status,
        "version": game.version,
        "phase": position.phase,
        "grid": grid_data(position.grid, position.rules.columns),
        "stock": position.stock,
        "removed": len(position.removed),
        "removed_cards": position.removed,
        "cards_left": position.cards_left,
        "score": -position.cards_left,
        "legal_moves": [_legal_move(move, game) for move in game.legal_moves],
    }


def game_document(record: GameRecord) -> dict[str, Any]:
    """Return a game as JSON values."""
    deal = record.deal
    return {
        "id": str(record.id),
        "variant": record.variant,
        "rules": record.game.rules.data,
        **position_document(record.game),
        "assistance": {
            "undos": record.game.undos,
            "undone_refills": record.game.undone_refills,
            "hints": record.game.hints,
        },
        "head": record.head,
        "deal": {
            "id": str(record.deal_id),
            **deal_data(deal),
            "revealed": record.revealed,
            "seed": _seed(record.seed, deal.number if deal.kind == "numbered" else None, record.revealed),
        },
        "visibility": record.visibility,
        "created_at": timestamp(record.created_at),
        "updated_at": timestamp(record.updated_at),
    }


def moves_document(record: GameRecord, entries: Sequence[Entry], receipt: str) -> dict[str, Any]:
    """Return the answer to moves as JSON values."""
    return {"events": [entry.document for entry in entries], "game": game_document(record), "receipt": receipt}


def hint_document(hint: Hint, record: GameRecord, receipt: str) -> dict[str, Any]:
    """Return a hint as JSON values."""
    return {
        "level": hint.level,
        "move": move_data(hint.move),
        "plan": [move_data(move) for move in hint.plan],
        "win_probability": hint.wins / hint.samples if hint.samples else None,
        "interval": list(hints.interval(hint.wins, hint.samples)),
        "wins": hint.wins,
        "samples": hint.samples,
        "version": record.game.version,
        "receipt": receipt,
    }


def solution_document(solution: Solution) -> dict[str, Any]:
    """Return a solution as JSON values."""
    moves = [move_data(move) for move in solution.moves]
    return {"verdict": solution.verdict, "solution": moves, "nodes": solution.nodes}


def analysis_document(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as JSON values."""
    thrown = analysis.thrown_away
    return {
        **solution_document(analysis.deal),
        "versions": [
            {"version": seen.version, "verdict": seen.verdict, "best": seen.best and move_data(seen.best)}
            for seen in analysis.versions
        ],
        "thrown_away": thrown
        and {
            "version": thrown.version,
            "events": [entry.document for entry in thrown.events],
            "line": [move_data(move) for move in thrown.line],
        },
    }


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values."""
    return {
        "valid": verdict.valid,
        "authentic": verdict.authentic,
        "finished": verdict.finished,
        "revealed": verdict.revealed,
        "checked": verdict.checked,
        "fault": None if verdict.fault is None else _fault(verdict.fault),
        "unchecked": [asdict(unchecked) for unchecked in verdict.unchecked],
        "position": None if verdict.game is None else position_document(verdict.game),
    }


def _fault(fault: Fault) -> dict[str, Any]:
    return {**asdict(fault), "expected": _shown(fault.expected), "found": _shown(fault.found)}


def _shown(value: Any) -> Any:
    """Return what a stranger's log says, or its beginning as text where an answer cannot or should not carry it."""
    try:
        if len(orjson.dumps(value)) <= _MOST_SHOWN:
            return value
    except (TypeError, ValueError):
        pass
    return json.dumps(value)[:_MOST_SHOWN]


def _legal_move(move: Move, game: Game) -> dict[str, Any]:
    rules, grid = game.rules, game.position.grid
    return {
        "type": move.type,
        "cells": [_cell(cell) for cell in move.cells],
        "cards": [grid[rules.index(cell)] for cell in move.cells],
    }


@lru_cache(maxsize=128)
def _cell(cell: Cell) -> dict[str, int]:
    return cell_data(cell)


def _seed(seed: bytes | None, number: str | None, revealed: bool) -> str | None:
    if not revealed:
        return None
    if number is not None:
        return deals.number_seed(int(number)).hex()
    return None if seed is None else seed.hex()
