"""The report of an audit, for a person at a terminal."""

import json
from typing import Any

from service.engine.audit import Verdict
from service.engine.game import Position

_SIGNED = {True: "signed by a known key", False: "its signature is false", None: "not signed by a known key"}


def report(name: str, verdict: Verdict) -> str:
    """Say in a few lines what an audit found."""
    status = verdict.game.status if verdict.game else "not even dealt"
    words = [
        "VALID" if verdict.valid else "FALSE",
        _SIGNED[verdict.authentic],
        f"{'finished' if verdict.finished else 'not finished'} ({status})",
        "deal revealed" if verdict.revealed else "deal not revealed",
    ]
    lines = [f"{name}: {', '.join(words)}", f"  good up to version {verdict.checked}"]
    if verdict.fault:
        fault = verdict.fault
        lines.append(f"  fault at version {fault.version}: {fault.message} ({fault.code})")
        lines += [
            f"    {side}: {_short(value)}"
            for side, value in (("expected", fault.expected), ("found", fault.found))
            if value is not None
        ]
    lines += [f"  not checked: {unchecked.message}" for unchecked in verdict.unchecked]
    if verdict.game:
        lines += [f"  {line}" for line in board(verdict.game.position).splitlines()]
    return "\n".join(lines)


def board(position: Position) -> str:
    """Draw a position in letters: rows of cards, -- for a gap, and the stock."""
    cards = [card or "--" for card in position.grid]
    columns = position.rules.columns
    rows = [" ".join(cards[start : start + columns]) for start in range(0, len(cards), columns)]
    return "\n".join([*rows, f"stock {position.stock}, removed {len(position.removed)}"])


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
