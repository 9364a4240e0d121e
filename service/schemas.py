"""What comes in and what goes out: marshmallow schemas of both, and the documents that answers are made of.

Input schemas are closed and load what a request says. Output schemas describe the documents built here in the
published spec; they are not used to dump, which would cost more than the move itself, and the tests hold every
answer against the spec instead.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, ClassVar

import orjson
from marshmallow import EXCLUDE, RAISE, Schema, ValidationError, fields, validate, validates_schema

from service.commands import MOST_METADATA, DealSpec
from service.engine import deals, hints
from service.engine.analysis import Analysis
from service.engine.audit import Fault, Verdict
from service.engine.cards import HIDDEN, RANKS, SUITS, Cell, format_cards
from service.engine.errors import Unreadable
from service.engine.events import EVENT_TYPES, LOG_FORMAT, MOST_OF_A_MOVE, MOVE_TYPES, Move
from service.engine.game import Game, Position, change_all, decide
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
from service.engine.signatures import MOST_RECEIPTS
from service.simulate import odds
from service.store import DealRecord, GameRecord

MOST_MOVES = 64
MOST_EVENTS = 1000
MOST = 2**53 - 1  # what every reader of JSON holds exactly
MOST_VERSION = 999_999_999
MOST_CARDS = 104
MOST_TEXT = 4096
MOST_GAMES = 100
MOST_LOGS = 1000
MOST_FAULTS = 100
_MOST_LEGAL = 1 + (cells := LARGEST * LARGEST) + cells * (cells - 1) // 2  # the close-up, each card alone, each pair
_MOST_UNCHECKED = MOST_RECEIPTS + 10
_MOST_SHOWN = 4096
VISIBILITIES = ("public", "private")
STATUSES = ("playing", "blocked", "won", "lost")
FAIRNESS = ("open", "committed", "joint")
PHASES = ("play", "refill")
# Choices that several schemas share have one name in the spec, so that a generated client has one type for them.
CHOICES: Mapping[str, Sequence[str]] = {
    "CloseUp": CLOSE_UPS,
    "DealKind": deals.KINDS,
    "EventType": tuple(EVENT_TYPES),
    "Fairness": FAIRNESS,
    "HintLevel": hints.LEVELS,
    "Match": MATCHES,
    "MoveType": MOVE_TYPES,
    "Packing": PACKINGS,
    "Phase": PHASES,
    "Reach": REACHES,
    "Status": STATUSES,
    "Verdict": VERDICTS,
    "Visibility": VISIBILITIES,
}


class Pattern(validate.Regexp):
    """A pattern that the whole string must fit, as in JSON Schema; in Python `$` lets a last newline by."""

    def __call__(self, value: Any) -> Any:
        """Check a string."""
        if not self.regex.fullmatch(value):
            raise ValidationError(self._format_error(value))
        return value


Fits = validate.Validator | list[validate.Validator]
HASH = Pattern("^[0-9a-f]{64}$")
NUMBER = Pattern("^(0|[1-9][0-9]{0,19})$")
CARD = f"[{RANKS}][{SUITS}]"
RANKS_IN_ORDER = f"^{'?'.join(RANKS)}?$"
VARIANT = "^[0-9a-z]+(-[0-9a-z]+)*$"


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


class QueryBool(fields.Boolean):
    """`true` or `false`, as a query has it."""

    truthy = {"true"}  # noqa: RUF012
    falsy = {"false"}  # noqa: RUF012


class Str(fields.String):
    """A string that UTF-8 and every database can hold: no lone surrogate, no NUL."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if text is not None and (any("\ud800" <= c <= "\udfff" for c in text) or "\0" in text):
            raise ValidationError("Not a string that can be kept: it has a lone surrogate or a NUL.")
        return text


class In(Schema):
    """What comes in: closed.

    also: what the published schema says beyond the fields
    """

    also: ClassVar[Mapping[str, Any]] = {}

    class Meta:
        """An unknown field is an error."""

        unknown = RAISE


def about(text: str, **more: Any) -> dict[str, Any]:
    """Return the metadata of a field: what it is, in a sentence, and what the spec says beyond its validators."""
    return {"description": text, **more}


# What comes in


class CellIn(In):
    """A place of the grid, counted from 1."""

    row = Int(required=True, validate=validate.Range(1, LARGEST), metadata=about("From the top."))
    column = Int(required=True, validate=validate.Range(1, LARGEST), metadata=about("From the left."))


class MoveIn(In):
    """What to do."""

    also: ClassVar = {
        "if": {"properties": {"type": {"const": "remove"}}},
        "then": {"required": ["cells"], "properties": {"cells": {"minItems": 1}}},
        "else": {"properties": {"cells": {"maxItems": 0}}},
    }
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
    """A move."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, partial: Any = None, **kwargs: Any) -> Move:
        loaded = super()._deserialize(value, attr, data, partial, **kwargs)
        return Move(loaded["type"], tuple(Cell(**cell) for cell in loaded["cells"]))


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
        for number in cell.values():
            if type(number) is not int or not 1 <= number <= LARGEST:
                return None
    return Move(value["type"], tuple([Cell(cell["row"], cell["column"]) for cell in cells]))


class MovesIn(In):
    """Moves to make one after another, all or none."""

    moves = fields.List(
        MoveField(MoveIn),
        required=True,
        validate=validate.Length(1, MOST_MOVES),
        metadata=about("While the deal is not revealed, a move that deals hidden cards must be the last."),
    )

    def load(self, data: Any, **options: Any) -> Any:
        """Load moves; plain ones, which nearly all are, do not go through the schema, which would take longer than the move."""
        if type(data) is dict and data.keys() == {"moves"} and type(data["moves"]) is list:
            moves = [_plain_move(move) for move in data["moves"]]
            if 1 <= len(moves) <= MOST_MOVES and None not in moves:
                return {"moves": moves}
        return super().load(data, **options)


_ORDERED = {"pattern": RANKS_IN_ORDER}


class RulesIn(In):
    """Rules to play by instead of the variant's own."""

    decks = Int(validate=validate.Range(1, 2), metadata=about("Packs of cards."))
    ranks = Str(validate=validate.Length(1, 13), metadata=about("Ranks in the pack, low to high.", **_ORDERED))
    rows = Int(validate=validate.Range(SMALLEST, LARGEST), metadata=about("Rows of the grid."))
    columns = Int(validate=validate.Range(SMALLEST, LARGEST), metadata=about("Columns of the grid."))
    match = Str(validate=validate.OneOf(MATCHES), metadata=about("What makes a pair."))
    total = Int(
        allow_none=True,
        validate=validate.Range(2, 26),
        metadata=about("What a pair adds up to (A=1, J=11, Q=12, K=13), with match `sum`."),
    )
    equals = Str(
        validate=validate.Length(max=13),
        metadata=about("Ranks that pair with their equals, with match `sum`.", **_ORDERED),
    )
    single = Str(validate=validate.Length(max=13), metadata=about("Ranks removed alone.", **_ORDERED))
    fixed = Str(validate=validate.Length(max=13), metadata=about("Ranks never removed.", **_ORDERED))
    reach = Str(validate=validate.OneOf(REACHES), metadata=about("How near the cards of a pair must lie."))
    close_up = Str(validate=validate.OneOf(CLOSE_UPS), metadata=about("When the grid closes up."))
    packing = Str(validate=validate.OneOf(PACKINGS), metadata=about("How it closes up."))


def _client_seed_fits(text: str) -> None:
    if len(text.encode()) > deals.LONGEST_CLIENT_SEED:
        raise ValidationError(f"Longer than {deals.LONGEST_CLIENT_SEED} bytes of UTF-8.")


_NUMBER = about("Decimal, without sign or leading zeros: 0 to 2^64-1 for `numbered`, 1 to 10^20-1 for `pysol`.")
_CARDS = about(
    "The whole pack for a `deck`, first dealt first, cards separated by spaces.",
    pattern="^(10|[2-9AJKQTajkqt])[CDHScdhs]( (10|[2-9AJKQTajkqt])[CDHScdhs])*$",
)


_NULL, _STRING, _EMPTY = {"type": "null"}, {"type": "string"}, {"maxLength": 0}


class DealIn(In):
    """A deal to make."""

    also: ClassVar = {
        "if": {"properties": {"kind": {"enum": ["numbered", "pysol"]}}, "required": ["kind"]},
        "then": {"properties": {"number": _STRING, "cards": _NULL, "client_seed": _EMPTY}, "required": ["number"]},
        "else": {
            "if": {"properties": {"kind": {"const": "deck"}}, "required": ["kind"]},
            "then": {"properties": {"number": _NULL, "cards": _STRING, "client_seed": _EMPTY}, "required": ["cards"]},
            "else": {"properties": {"number": _NULL, "cards": _NULL}},
        },
    }
    kind = Str(
        load_default="secret",
        validate=validate.OneOf(deals.KINDS),
        metadata=about(
            "`secret`: random, bound by a commitment, for one game. `numbered`, `pysol`, `deck`: open to all."
        ),
    )
    number = Str(allow_none=True, validate=NUMBER, metadata=_NUMBER)
    cards = Str(allow_none=True, validate=validate.Length(1, 1024), metadata=_CARDS)


class NewDealIn(DealIn):
    """A deal to make, of the pack of a variant."""

    variant = Str(
        load_default=DEFAULT_VARIANT,
        validate=validate.Length(1, 64),
        metadata=about("Whose pack it is dealt from.", pattern=VARIANT),
    )


class GameDealIn(DealIn):
    """The deal to play: one made before, by `id`, or one to make now."""

    also: ClassVar = {
        "if": {"properties": {"id": {"type": "string"}}, "required": ["id"]},
        "then": {"propertyNames": {"enum": ["id", "client_seed"]}},
        "else": DealIn.also,
    }
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


LONGEST_METADATA = 200
METADATA_NAME = "^[A-Za-z0-9_.-]{1,40}$"


class MetadataField(fields.Dict):
    """A few short strings that a client keeps on its game."""

    def __init__(self, **kwargs: Any) -> None:
        text = Str(validate=validate.Length(max=LONGEST_METADATA), allow_none=kwargs.pop("removable", False))
        kwargs["metadata"] |= {"maxProperties": MOST_METADATA * (1 + text.allow_none)}
        checks: list[Callable[[Any], Any]] = [validate.Length(max=kwargs["metadata"]["maxProperties"]), _few]
        super().__init__(keys=Str(validate=Pattern(METADATA_NAME)), values=text, validate=checks, **kwargs)

    def _deserialize(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super()._deserialize(*arguments, **options)  # type: ignore[no-untyped-call]
        except ValidationError as error:
            if not isinstance(error.messages, dict):
                raise
            # As they point to the strings themselves, not to what this field makes of them.
            found = {name: [text for kind in of.values() for text in kind] for name, of in error.messages.items()}
            raise ValidationError(found) from None


def _few(metadata: Mapping[str, Any]) -> None:
    if sum(text is not None for text in metadata.values()) > MOST_METADATA:
        raise ValidationError(f"More than {MOST_METADATA} strings.")


class GameIn(In):
    """A game to deal."""

    variant = Str(
        load_default=DEFAULT_VARIANT,
        validate=validate.Length(1, 64),
        metadata=about("Id or alias of a variant.", pattern=VARIANT),
    )
    rules = fields.Nested(RulesIn, load_default=dict, metadata=about("Changes to the variant's rules."))
    deal = fields.Nested(GameDealIn, metadata=about("Which deal to play; a new secret one if left out."))
    visibility = Str(
        load_default="public",
        validate=validate.OneOf(VISIBILITIES),
        metadata=about("Whether others may look at it. Moving always needs the token."),
    )
    metadata = MetadataField(load_default=dict, metadata=about("Strings to keep on the game, by name."))


class GameChangesIn(In):
    """What to change of a game besides playing it."""

    visibility = Str(validate=validate.OneOf(VISIBILITIES), metadata=about("Whether others may look at it."))
    metadata = MetadataField(
        load_default=dict,
        removable=True,
        metadata=about("Strings to keep on the game, by name; null takes one away, the others stay."),
    )


class MovesQuery(In):
    """How moves are made."""

    validate_only = QueryBool(
        load_default=False, metadata=about("Only say what the moves would do; nothing is changed.")
    )


class GamesQuery(In):
    """Which games to list."""

    status = Str(validate=validate.OneOf(STATUSES), metadata=about("Only games of this status."))
    variant = Str(
        validate=validate.Length(1, 64),
        metadata=about("Only games of this variant, by id or alias.", pattern=VARIANT),
    )
    deal = fields.UUID(metadata=about("Only games of this deal."))
    since = fields.AwareDateTime(format="iso", metadata=about("Only games dealt at this time or later."))
    until = fields.AwareDateTime(format="iso", metadata=about("Only games dealt before this time."))
    limit = QueryInt(load_default=20, validate=validate.Range(1, MOST_GAMES), metadata=about("At most so many."))
    cursor = fields.UUID(metadata=about("Where the list goes on, as `next` says."))


class ExportQuery(GamesQuery):
    """Which games to export."""

    limit = QueryInt(load_default=100, validate=validate.Range(1, MOST_LOGS), metadata=about("At most so many."))


class TableIn(In):
    """A position that belongs to no game."""

    variant = Str(
        load_default=DEFAULT_VARIANT,
        validate=validate.Length(1, 64),
        metadata=about("Id or alias of a variant.", pattern=VARIANT),
    )
    rules = fields.Nested(RulesIn, load_default=dict, metadata=about("Changes to the variant's rules."))
    grid = fields.List(
        fields.List(
            Str(allow_none=True, validate=Pattern(f"^{CARD}$"), metadata=about("Rank, then suit.")),
            validate=validate.Length(SMALLEST, LARGEST),
        ),
        required=True,
        validate=validate.Length(SMALLEST, LARGEST),
        metadata=about("Rows from the top; null is a gap."),
    )
    stock = Int(required=True, validate=validate.Range(0, MOST_CARDS), metadata=about("Cards face down."))


class EventsQuery(In):
    """Which events to read."""

    after = QueryInt(
        load_default=0, validate=validate.Range(0, 999_999_999), metadata=about("Only events after this version.")
    )
    limit = QueryInt(
        load_default=None,
        validate=validate.Range(1, MOST_EVENTS),
        metadata=about("At most so many: 100 if nothing is said in JSON, all in lines. A stream has no limit."),
    )


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
        load_default=DEFAULT_VARIANT,
        validate=validate.Length(1, 64),
        metadata=about("Id or alias of a variant.", pattern=VARIANT),
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

    game = Str(allow_none=True, metadata=about("Id of the game."))
    version = Int(allow_none=True, metadata=about("Its place in the log, from 1."))
    move = Int(allow_none=True, metadata=about("Left out, a compaction and the refill after it count as one close-up."))
    type = Str(required=True, validate=validate.OneOf(tuple(EVENT_TYPES)), metadata=about("What happened."))
    data = fields.Dict(
        keys=fields.String(),
        required=True,
        metadata=about("As in the events of games.", additionalProperties=True),
    )
    at = Str(allow_none=True, metadata=about("When, as in the events of games."))
    previous = Str(allow_none=True, metadata=about("Hash of the event before; zeros for the first."))
    hash = Str(allow_none=True, metadata=about("Hash of this event."))


class LogIn(In):
    """A log to audit."""

    format = Int(
        load_default=LOG_FORMAT,
        validate=validate.Range(1, LOG_FORMAT),
        metadata=about("Version of the log's format."),
    )
    game = Str(allow_none=True, metadata=about("Id of the game."))
    events = fields.List(
        fields.Nested(EventIn), required=True, validate=validate.Length(1), metadata=about("The events, first to last.")
    )
    head = Str(allow_none=True, metadata=about("Hash of the last event."))
    seed = Str(allow_none=True, metadata=about("Of a secret deal."))
    signature = Str(allow_none=True, metadata=about("The head, signed: a compact JWS."))
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
_ANY_RANKS = Pattern(RANKS_IN_ORDER)
_SOME_RANKS: Fits = [validate.Length(1, len(RANKS)), _ANY_RANKS]
_WHOLE_PACK: Fits = [validate.Length(2, 3 * MOST_CARDS - 1), Pattern(f"^{CARD}( {CARD})*$")]
_NAME: Fits = [validate.Length(1, 64), Pattern(VARIANT)]
_CODE: Fits = [validate.Length(1, 64), Pattern("^[a-z_]+$")]


class Out(Schema):
    """What goes out: open, new fields may come."""

    class Meta:
        """Nothing is said of other fields."""

        unknown = EXCLUDE


def integer(least: int, most: int, sentence: str, **more: Any) -> fields.Integer:
    """Return a whole number that is always there."""
    return fields.Integer(required=True, validate=validate.Range(least, most), metadata=about(sentence), **more)


def string(fits: Fits, sentence: str, **more: Any) -> fields.String:
    """Return a string that is always there."""
    return fields.String(required=True, validate=fits, metadata=about(sentence), **more)


def many(item: fields.Field[Any], most: int, sentence: str, least: int | None = None) -> fields.List[Any]:
    """Return a list that is always there."""
    return fields.List(item, required=True, validate=validate.Length(least, most), metadata=about(sentence))


def boolean(sentence: str, **more: Any) -> fields.Boolean:
    """Return a truth value that is always there."""
    return fields.Boolean(required=True, metadata=about(sentence), **more)


def nested(schema: type[Schema] | Schema, sentence: str, **more: Any) -> fields.Nested:
    """Return an object that is always there."""
    return fields.Nested(schema, required=True, metadata=about(sentence), **more)


def a_version(sentence: str, least: int = 1) -> fields.Integer:
    """Return a version of a game."""
    return integer(least, MOST_VERSION, sentence)


def moment(sentence: str, **more: Any) -> fields.String:
    """Return a time that is part of a hash: as a string, since a client that reads and writes it anew may differ."""
    return string(
        Pattern(r"^[0-9]{4}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]{3}Z$"),
        f"RFC 3339, UTC. {sentence}",
        **more,
    )


def time_of(sentence: str) -> fields.String:
    """Return a time."""
    return fields.String(required=True, metadata=about(sentence, format="date-time", maxLength=24))


def a_receipt() -> fields.String:
    """Return a receipt."""
    return string([validate.Length(max=1024), Pattern(r"^[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+$")], _RECEIPT)


def some_metadata() -> fields.Dict:
    """Return what a client keeps on its game."""
    return fields.Dict(
        keys=fields.String(),
        values=fields.String(validate=validate.Length(max=LONGEST_METADATA)),
        required=True,
        metadata=about("What its client keeps on it, by name; no part of the log.", maxProperties=MOST_METADATA),
    )


class CardOut(fields.String):
    """A card in two characters."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validate=Pattern(f"^{CARD}$"), metadata=about("Rank, then suit."), **kwargs)


def some_cards(sentence: str, most: int = MOST_CARDS) -> fields.List[Any]:
    """Return a list of cards."""
    return many(CardOut(), most, sentence)


def an_interval() -> fields.List[Any]:
    """Return the interval of a chance."""
    share = fields.Float(validate=validate.Range(0, 1))
    return many(share, 2, "Where the chance lies with 95% confidence (Wilson): from, to.", 2)


class CellOut(Out):
    """A place of the grid, counted from 1."""

    row = integer(1, LARGEST, "From the top.")
    column = integer(1, LARGEST, "From the left.")


class RulesOut(Out):
    """How a game is played."""

    decks = integer(1, 2, "Packs of cards.")
    ranks = string(_SOME_RANKS, "Ranks in the pack, low to high.")
    rows = integer(SMALLEST, LARGEST, "Rows of the grid.")
    columns = integer(SMALLEST, LARGEST, "Columns of the grid.")
    match = string(validate.OneOf(MATCHES), "What makes a pair.")
    total = integer(2, 26, "What a pair adds up to, with match `sum`.", allow_none=True)
    equals = string(_ANY_RANKS, "Ranks that pair with their equals, with match `sum`.")
    single = string(_ANY_RANKS, "Ranks removed alone.")
    fixed = string(_ANY_RANKS, "Ranks never removed.")
    reach = string(
        validate.OneOf(REACHES),
        "`touching`: the eight neighbours; `line`: same row or column, whatever lies between; `anywhere`.",
    )
    close_up = string(
        validate.OneOf(CLOSE_UPS),
        "`free`: when it changes something; `wave`: when no removal is left; `auto`: by itself after each.",
    )
    packing = string(
        validate.OneOf(PACKINGS),
        "`reading`: cards keep their order and fill from the top left. `columns`: each column slides up. "
        "`in-place`: nothing moves. `fill-first`: the stock fills gaps, then what is left packs in reading order.",
    )


class OddsOut(Out):
    """How often a player won."""

    player = string(
        validate.OneOf((*PLAYERS, PERFECT)),
        "`first` takes the first legal move, `random` any, `most-pairs` what takes most cards; `fair` follows the "
        "hint of that level; `perfect` sees all cards and wins whatever can be won.",
    )
    start = integer(0, MOST, "Number of the first deal played.")
    deals = integer(1, MOST, "How many numbered deals were played, one after another.")
    won = integer(0, MOST, "Deals won.")
    undecided = integer(
        0, MOST, "Deals that the search of `perfect` gave up: not in `won`, and in the interval either way."
    )
    chance = fields.Float(required=True, validate=validate.Range(0, 1), metadata=about("Share of deals won."))
    interval = an_interval()


class VariantOut(Out):
    """A named, published record of rules."""

    id = string(_NAME, "Name in requests.")
    name = string(validate.Length(1, 64), "Name for people.")
    summary = string(validate.Length(1, 500), "The rules in a sentence.")
    source = string(validate.Length(1, 500), "Where the rules come from.")
    aliases = many(fields.String(validate=_NAME), 64, "Other names that requests may use.")
    rules = nested(RulesOut, "How it is played.")
    goal = integer(2, MOST_CARDS, "Cards to remove to win.")
    odds = many(
        fields.Nested(OddsOut),
        16,
        "As measured; repeat with `montecarlo simulate --variant ID --player P --seed START --deals N`.",
    )


class VariantsOut(Out):
    """All variants."""

    items = many(fields.Nested(VariantOut), 1000, "The variants.")
    next = string(validate.Length(max=2000), "Where the list goes on; always null here.", allow_none=True)


class DealtDealOut(Out):
    """The public record of a deal."""

    kind = string(validate.OneOf(deals.KINDS), "How the deal came about.")
    number = string(NUMBER, "Of a numbered or pysol deal.", allow_none=True)
    commitment = string(HASH, "Binds the server to a secret seed before the first move.", allow_none=True)
    client_seed = string(
        validate.Length(max=deals.LONGEST_CLIENT_SEED), "The client's part in a secret deal.", allow_none=True
    )
    fairness = string(
        validate.OneOf(FAIRNESS),
        "`joint`: bound before the client's part was known; `committed`: before the first move; `open`: seen by all.",
    )


class GameDealOut(DealtDealOut):
    """The deal of a game."""

    id = fields.UUID(required=True, metadata=about("Name of the deal in requests."))
    revealed = boolean("Whether anyone may see the order now.")
    seed = string(HASH, "The 32 bytes behind a secret or numbered deal, once revealed.", allow_none=True)


class DealOut(GameDealOut):
    """A deal."""

    decks = integer(1, 2, "Packs of cards.")
    ranks = string(_SOME_RANKS, "Ranks in the pack.")
    cards = string(_WHOLE_PACK, "The order, first dealt first, once revealed.", allow_none=True)
    created_at = time_of("When it was made.")


class LegalMoveOut(Out):
    """A legal move; send back its type and cells."""

    type = string(validate.OneOf(MOVE_TYPES), "`remove`, `close_up` or `refill`.")
    cells = many(fields.Nested(CellOut), 2, "The cells to remove, in reading order.")
    cards = some_cards("What lies on the cells.", 2)


class PlainMoveOut(Out):
    """A move, as requests send it."""

    type = string(validate.OneOf(MOVE_TYPES), "What to do.")
    cells = many(fields.Nested(CellOut), 2, "The cells to remove.")


class AssistanceOut(Out):
    """What helped the player."""

    undos = integer(0, MOST_VERSION, "Moves taken back.")
    undone_refills = integer(0, MOST_VERSION, "Those of them that had shown cards.")
    hints = integer(0, MOST_VERSION, "Hints given.")


class PositionOut(Out):
    """What lay on the table at a version."""

    status = string(
        validate.OneOf(STATUSES),
        "`blocked`: no removal is left and a close-up would change nothing; undo or resign.",
    )
    version = a_version("Number of events up to here.")
    phase = string(validate.OneOf(PHASES), "`refill` after `compact`, when only `refill` goes on.")
    grid = many(
        fields.List(CardOut(allow_none=True), validate=validate.Length(SMALLEST, LARGEST)),
        LARGEST,
        "Rows from the top; null is a gap.",
        SMALLEST,
    )
    stock = integer(0, MOST_CARDS, "Cards face down.")
    removed = integer(0, MOST_CARDS, "How many cards are removed.")
    removed_cards = some_cards("Which, first removed first.")
    cards_left = integer(0, MOST_CARDS, "Cards of the pack not removed.")
    score = integer(-MOST_CARDS, 0, "Minus the cards left.")
    legal_moves = many(
        fields.Nested(LegalMoveOut),
        _MOST_LEGAL,
        "Removals in reading order, then the close-up. Undo, redo and resign are not listed.",
    )


class GameOut(PositionOut):
    """A game."""

    id = fields.UUID(required=True, metadata=about("Name of the game in paths."))
    variant = string(_NAME, "Whose rules it began with.")
    rules = nested(RulesOut, "What it is played by.")
    assistance = nested(AssistanceOut, "What helped the player.")
    head = string(HASH, "Hash of the last event.")
    deal = nested(GameDealOut, "What was dealt.")
    visibility = string(validate.OneOf(VISIBILITIES), "Whether others may look at it.")
    metadata = some_metadata()
    created_at = time_of("When it was dealt.")
    updated_at = time_of("When the last event happened.")


class NewGameOut(GameOut):
    """A game just dealt, with the token that moves it."""

    receipt = a_receipt()
    token = string(
        [validate.Length(1, 256), Pattern(r"^[0-9A-Za-z_-]+$")],
        "Keep it: it is shown only here. Send it as `Authorization: Bearer`.",
    )


class EventDataOut(Out):
    """What happened, by type of event; what a type does not have is left out.

    dealt: format to deck. removed: cells, cards. refilled: cells, cards, stock. undone, redone: to. hinted: level, move, wins, samples. won, resigned:
    cards_left, seed. compacted: nothing.
    """

    format = integer(1, MOST, "Version of the log's format.")
    variant = string(_NAME, "Whose rules the game began with.")
    rules = nested(RulesOut, "What it is played by.")
    rules_version = integer(1, MOST, "Version of the written rules.")
    algorithm = string(validate.OneOf(sorted(set(deals.ALGORITHMS.values()))), "How the order was made.")
    deal = nested(DealtDealOut, "What was dealt.")
    ranked = boolean("Whether the result counts for a ranking.")
    deadline = moment("When a ranked game is over.", allow_none=True)
    grid = many(
        fields.List(CardOut(), validate=validate.Length(SMALLEST, LARGEST)), LARGEST, "The cards in sight.", SMALLEST
    )
    stock = integer(0, MOST_CARDS, "Cards left in the stock.")
    deck = string(_WHOLE_PACK, "All cards of a deck deal, first dealt first.", allow_none=True)
    level = string(validate.OneOf(hints.LEVELS), "Of a hint.")
    move = nested(PlainMoveOut, "The move that a hint named.")
    wins = integer(0, hints.MOST_SAMPLES, "In how many orders the hinted plan can win.")
    samples = integer(0, hints.MOST_SAMPLES, "How many orders were tried for a hint.")
    cells = many(fields.Nested(CellOut), LARGEST * LARGEST, "Where cards were removed or dealt.")
    cards = some_cards("In the order of the cells.")
    to = a_version("The version whose position is restored.")
    cards_left = integer(0, MOST_CARDS, "Cards of the pack not removed.")
    seed = string(HASH, "The secret of the deal, where it is revealed by this event.", allow_none=True)


class EventOut(Out):
    """An event of a game's log."""

    game = fields.UUID(required=True, metadata=about("Id of the game."))
    version = a_version("Its place in the log, from 1.")
    move = a_version("Version of the first event of the same move.")
    type = string(validate.OneOf(tuple(EVENT_TYPES)), "What happened.")
    data = nested(EventDataOut(partial=True), "The particulars.")
    at = moment("Never before the event before.")
    previous = string(HASH, "Hash of the event before; zeros for the first.")
    hash = string(HASH, "SHA-256 over the RFC 8785 form of the event without this field.")


class EventsOut(Out):
    """A page of events."""

    items = many(fields.Nested(EventOut), MOST_EVENTS, "The events, first to last.")
    next = string(validate.Length(max=2000), "Where the list goes on, or null.", allow_none=True)


class MovesOut(Out):
    """What the moves did."""

    events = many(fields.Nested(EventOut), MOST_MOVES * MOST_OF_A_MOVE, "What happened.", 1)
    game = nested(GameOut, "The game as it is now.")
    receipt = a_receipt()


class PreviewOut(Out):
    """What would lie on the table, as far as anyone can know."""

    status = string(validate.OneOf(STATUSES), "Null where it hangs on hidden cards.", allow_none=True)
    phase = string(validate.OneOf(PHASES), "`refill` after `compact`, when only `refill` goes on.")
    grid = many(
        fields.List(CardOut(allow_none=True), validate=validate.Length(SMALLEST, LARGEST)),
        LARGEST,
        "Rows from the top; null is a gap, or a hidden card.",
        SMALLEST,
    )
    hidden = many(fields.Nested(CellOut), LARGEST * LARGEST, "The cells that would get a card nobody can know yet.")
    stock = integer(0, MOST_CARDS, "Cards face down.")
    cards_left = integer(0, MOST_CARDS, "Cards of the pack not removed.")


class OutlookOut(PreviewOut):
    """What moves would lead to."""

    legal_moves = fields.List(
        fields.Nested(LegalMoveOut),
        required=True,
        allow_none=True,
        validate=validate.Length(max=_MOST_LEGAL),
        metadata=about("Null where they hang on hidden cards."),
    )


class OutcomeOut(Out):
    """What came of the moves, in short, or would come of them."""

    made = boolean("False for a dry run: nothing was changed.")
    version = a_version("Of the game after the moves.")
    status = string(validate.OneOf(STATUSES), "Null where it hangs on hidden cards, in a dry run.", allow_none=True)
    head = string(HASH, "Hash of the last event; null for a dry run.", allow_none=True)
    outlook = nested(OutlookOut, "Of a dry run: what would lie on the table.", allow_none=True)


class ConsideredMoveOut(LegalMoveOut):
    """A legal move, and what it leads to."""

    leads_to = nested(PreviewOut, "What would lie on the table.")


class TableOut(PreviewOut):
    """A position that belongs to no game, with its legal moves and what each leads to."""

    legal_moves = many(fields.Nested(ConsideredMoveOut), _MOST_LEGAL, "Removals in reading order, then the close-up.")


class GameSummaryOut(Out):
    """A game, in short."""

    id = fields.UUID(required=True, metadata=about("Name of the game in paths."))
    variant = string(_NAME, "Whose rules it began with.")
    status = string(validate.OneOf(STATUSES), "How it stands.")
    version = a_version("Number of events so far.")
    cards_left = integer(0, MOST_CARDS, "Cards of the pack not removed.")
    head = string(HASH, "Hash of the last event.")
    deal = nested(GameDealOut, "What was dealt.")
    metadata = some_metadata()
    created_at = time_of("When it was dealt.")
    updated_at = time_of("When the last event happened.")


class GamesOut(Out):
    """A page of games, the last dealt first."""

    items = many(fields.Nested(GameSummaryOut), MOST_GAMES, "The games.")
    next = string(validate.Length(max=2000), "Where the list goes on, or null.", allow_none=True)


class HintOut(Out):
    """A hint, recorded in the game's log."""

    level = string(validate.OneOf(hints.LEVELS), "What kind of hint it is.")
    move = nested(PlainMoveOut, "The move to make now.")
    plan = many(fields.Nested(PlainMoveOut), MOST_CARDS, "The moves up to and with the close-up.", 1)
    win_probability = fields.Float(
        required=True,
        allow_none=True,
        validate=validate.Range(0, 1),
        metadata=about("Share of the orders tried in which the plan was seen to win; null where none was decided."),
    )
    interval = an_interval()
    wins = integer(0, hints.MOST_SAMPLES, "In how many orders the plan was seen to win.")
    undecided = integer(
        0, hints.MOST_SAMPLES, "For how many orders the search gave up: not in `wins`, and in the interval either way."
    )
    samples = integer(0, hints.MOST_SAMPLES, "How many orders were tried.")
    version = a_version("Of the game with this hint.")
    receipt = a_receipt()


class SolvedOut(Out):
    """Whether a deal can be won by one who sees all cards, and how."""

    verdict = string(validate.OneOf(VERDICTS), "`undecided`: the search was given up; nothing is known.")
    solution = many(fields.Nested(PlainMoveOut), 2 * MOST_CARDS, "Moves that win; empty unless winnable.")
    nodes = integer(0, MOST, "Positions that the search visited.")


class AnalysedOut(Out):
    """A version of a game, seen with hindsight."""

    version = a_version("Which version.")
    verdict = string(validate.OneOf(VERDICTS), "Whether the game could still be won.")
    best = nested(
        PlainMoveOut,
        "A move that keeps the win, while there is one; none within a move of several events.",
        allow_none=True,
    )


class ThrownAwayOut(Out):
    """The move after which the game could not be won any more, whatever was taken back later."""

    version = a_version("Before the move.")
    events = many(fields.Nested(EventOut), MOST_OF_A_MOVE, "What the move did.", 1)
    line = many(fields.Nested(PlainMoveOut), 2 * MOST_CARDS, "Moves that would have won from there.", 1)


class AnalysisOut(SolvedOut):
    """A game seen with hindsight: the deal, and each version of the game."""

    versions = many(fields.Nested(AnalysedOut), MOST_VERSION, "Each version of the game.", 1)
    thrown_away = nested(ThrownAwayOut, "Where the win was thrown away, if it was.", allow_none=True)


class LogOut(Out):
    """The log of a game, all that an audit needs."""

    format = integer(1, LOG_FORMAT, "Version of the log's format.")
    game = fields.UUID(required=True, metadata=about("Id of the game."))
    events = many(fields.Nested(EventOut), MOST_VERSION, "The events, first to last.", 1)
    head = string(HASH, "Hash of the last event.")
    seed = string(HASH, "Of a secret deal, once it is revealed.", allow_none=True)
    signature = a_receipt()


class AuditFaultOut(Out):
    """The first thing that is wrong with a log."""

    version = a_version("Of the event; the last one if the fault is of the whole.")
    code = string(_CODE, "Stable name of the fault.")
    message = string(validate.Length(1, MOST_TEXT), "What is wrong.")
    expected = fields.Raw(required=True, metadata=about("What the rules give, as JSON of any type."))
    found = fields.Raw(required=True, metadata=about("What the log says, as JSON of any type."))


class UncheckedOut(Out):
    """Something that could not be checked."""

    code = string(validate.OneOf(("deal", "hashes", "times", "hints", "signature", "receipt")), "What it is.")
    message = string(validate.Length(1, MOST_TEXT), "Why.")


class AuditOut(Out):
    """A verdict on a log."""

    valid = boolean("Every event follows by the rules, and every hash agrees.")
    authentic = boolean(
        "Signed by a known key (true), signed but otherwise (false), not signed by anyone known (null).",
        allow_none=True,
    )
    finished = boolean("The game is over.")
    revealed = boolean("The order of the deal is known, and every card agrees.")
    checked = a_version("The version up to which the log is good.", 0)
    fault = nested(AuditFaultOut, "The first fault.", allow_none=True)
    unchecked = many(fields.Nested(UncheckedOut), _MOST_UNCHECKED, "What could not be checked.")
    position = nested(PositionOut, "Where the good part of the log leads.", allow_none=True)


class HealthOut(Out):
    """How the service is."""

    status = string(validate.OneOf(("ok", "unready")), "Whether all is well.")


class ChecksOut(Out):
    """What was found."""

    database = string(validate.OneOf(("ok",)), "Whether the database answers.")
    migrations = string(validate.OneOf(("current", "newer")), "Whether its schema is this release's or a newer one's.")
    solver = string(validate.OneOf(("native", "python")), "What searches: compiled code, or Python where none is.")


class ReadyOut(HealthOut):
    """Whether the service can answer."""

    checks = nested(ChecksOut, "What was found.")


class FaultOut(Out):
    """A fault of one field."""

    field = string(validate.Length(max=MOST_TEXT), "JSON pointer into the body, or name of the query parameter.")
    message = string(validate.Length(1, MOST_TEXT), "What is wrong with it.")


class ProblemOut(Out):
    """A problem, as RFC 9457 has it."""

    type = fields.String(
        required=True, metadata=about("A page on problems of this code.", format="uri-reference", maxLength=500)
    )
    title = string(validate.Length(1, 100), "The code in words.")
    status = integer(400, 599, "The HTTP status.")
    detail = string(validate.Length(1, MOST_TEXT), "What is wrong this time.")
    code = string(_CODE, "Stable name of the problem.")
    move = fields.Integer(
        validate=validate.Range(0, MOST_MOVES - 1),
        metadata=about("Place in the batch, from 0, of the move refused."),
    )
    version = fields.Integer(
        validate=validate.Range(1, MOST_VERSION), metadata=about("Of the game as it is now, with `stale`.")
    )
    head = fields.String(validate=HASH, metadata=about("Hash of its last event, with `stale`."))
    errors = fields.List(
        fields.Nested(FaultOut), validate=validate.Length(max=MOST_FAULTS), metadata=about("Faults by field.")
    )


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
        "legal_moves": [_legal_move(move, position) for move in game.legal_moves],
    }


def game_document(record: GameRecord) -> dict[str, Any]:
    """Return a game as JSON values."""
    deal = record.deal
    return {
        "id": record.name,
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
        "metadata": record.metadata,
        "created_at": timestamp(record.created_at),
        "updated_at": timestamp(record.updated_at),
    }


def game_summary(record: GameRecord) -> dict[str, Any]:
    """Return what a list says of a game as JSON values."""
    whole = game_document(record)
    return {name: whole[name] for name in GameSummaryOut().fields}


def outcome_document(record: GameRecord) -> dict[str, Any]:
    """Return the short answer to moves as JSON values."""
    game = record.game
    return {"made": True, "version": game.version, "status": game.status, "head": record.head, "outlook": None}


def trial_document(game: Game) -> dict[str, Any]:
    """Return the answer to a dry run as JSON values."""
    preview = _preview(game.position, game.status)
    moves = None if preview["hidden"] else [_legal_move(move, game.position) for move in game.legal_moves]
    outlook = {**preview, "legal_moves": moves}
    return {"made": False, "version": game.version, "status": preview["status"], "head": None, "outlook": outlook}


def read_table(loaded: Mapping[str, Any]) -> Position:
    """Return a position that belongs to no game. Raises `Unreadable` or `ImpossibleRules`."""
    _, rules = read_rules(loaded)
    grid = tuple(card for row in loaded["grid"] for card in row)
    if [len(row) for row in loaded["grid"]] != [rules.columns] * rules.rows:
        raise Unreadable("bad_position", f"the grid of these rules has {rules.rows} rows of {rules.columns} cells")
    cards = Counter(card for card in grid if card)
    extra = cards - Counter(rules.pack.cards())
    if extra:
        raise Unreadable("bad_position", f"the pack does not hold so many {next(iter(extra))}")
    gone = rules.pack.size - cards.total() - loaded["stock"]
    if gone < 0:
        raise Unreadable("bad_position", f"grid and stock hold more than the {rules.pack.size} cards of the pack")
    # Which cards are gone nobody said; only how many matters here.
    return Position(rules, grid, rules.pack.size - loaded["stock"], (HIDDEN,) * gone)


def table_document(position: Position) -> dict[str, Any]:
    """Return a position that belongs to no game, with where each move leads, as JSON values."""
    order = (HIDDEN,) * position.rules.pack.size
    moves = () if position.won else position.legal_moves
    considered = []
    for move in moves:
        after = change_all(position, decide(position, move, order))
        considered.append({**_legal_move(move, position), "leads_to": _preview(after, _status(after))})
    return {**_preview(position, _status(position)), "legal_moves": considered}


def _status(position: Position) -> str:
    return "won" if position.won else "playing" if position.open else "blocked"


def _preview(position: Position, status: str) -> dict[str, Any]:
    """Return what can be known of a position in which cards may be hidden."""
    rules = position.rules
    hidden = [_cell(cell) for cell, card in zip(rules.cells, position.grid, strict=True) if card == HIDDEN]
    grid = [None if card == HIDDEN else card for card in position.grid]
    return {
        "status": None if hidden else status,
        "phase": position.phase,
        "grid": grid_data(grid, rules.columns),
        "hidden": hidden,
        "stock": position.stock,
        "cards_left": position.cards_left,
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
        "win_probability": hint.wins / hint.samples if hint.samples > hint.undecided else None,
        "interval": list(hint.interval),
        "wins": hint.wins,
        "undecided": hint.undecided,
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


def _legal_move(move: Move, position: Position) -> dict[str, Any]:
    rules, grid = position.rules, position.grid
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
