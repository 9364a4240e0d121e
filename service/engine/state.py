"""The folded state of a game as a few short texts, so that a move reads one record however long the log is.

Only public things are in it. The line of moves is bounded by the rules (every removal takes a card, every
close-up follows one), so it stays short after ten thousand undos.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from service.engine.cards import Card, format_cards
from service.engine.game import Game, Position, Step
from service.engine.rules import Rules

_GAP = "--"


def freeze(game: Game) -> dict[str, Any]:
    """Return the state of a game as JSON values; version and outcome are kept beside it."""
    position = game.position
    return {
        "grid": " ".join([card or _GAP for card in position.grid]),
        "dealt": position.dealt,
        "removed": format_cards(position.removed),
        "phase": position.phase,
        "shown": len(game.shown),
        "line": _freeze_steps(game.line),
        "undone": _freeze_steps(game.undone),
        "undos": game.undos,
        "undone_refills": game.undone_refills,
        "hints": game.hints,
    }


def thaw(rules: Rules, order: Sequence[Card], version: int, status: str, state: Mapping[str, Any]) -> Game:
    """Return the game that `freeze` gave this state of, given the order of its deal."""
    grid = tuple(None if card == _GAP else card for card in split_cards(state["grid"]))
    position = Position(rules, grid, state["dealt"], split_cards(state["removed"]), state["phase"])
    *earlier, last = _thaw_steps(state["line"])
    return Game(
        position,
        version,
        shown=tuple(order[: state["shown"]]),
        line=(*earlier, Step(last.version, last.effects, position)),
        undone=tuple(_thaw_steps(state["undone"])),
        over=status if status in ("won", "lost") else None,
        undos=state["undos"],
        undone_refills=state["undone_refills"],
        hints=state["hints"],
    )


def lean(game: Game) -> Game:
    """Return a game as `thaw` gives it: of its steps only the last has its position, a seventh of the memory."""
    return Game(
        game.position,
        game.version,
        game.shown,
        (*_lean(game.line[:-1]), game.line[-1]),
        (*_lean(game.undone),),
        game.over,
        game.undos,
        game.undone_refills,
        game.hints,
    )


def _lean(steps: Sequence[Step]) -> list[Step]:
    return [step if step.position is None else Step(step.version, step.effects) for step in steps]


def split_cards(text: str) -> tuple[Card, ...]:
    """Return cards written by `format_cards`, taken at their word."""
    return cast(tuple[Card, ...], tuple(text.split()))


def _freeze_steps(steps: Iterable[Step]) -> str:
    return " ".join([f"{step.version}{step.effects}" for step in steps])


def _thaw_steps(text: str) -> list[Step]:
    return [Step(int(version), effects) for version, effects in re.findall(r"(\d+)(\S*)", text)]
