"""Simulation: a player plays many numbered deals, and the odds are drawn, kept and shown."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

from service.engine.players import PERFECT, Tally, play
from service.engine.rules import Rules

ODDS = Path(__file__).parent / "odds.json"
_CHUNK = 50
_BAR = 40


def run(
    rules: Rules, tally: Tally, deals: int, jobs: int, stopped: Callable[[], bool] = lambda: False
) -> Iterator[int]:
    """Play on until so many deals are played, in order, or it is stopped; yield how many are after each handful."""
    numbers = range(tally.start + tally.deals, tally.start + deals)
    one = partial(play, rules, tally.player)
    if jobs == 1:
        for played, number in enumerate(numbers, start=1):
            tally.add(*one(number))
            if played % _CHUNK == 0 or played == len(numbers) or stopped():
                yield tally.deals
            if stopped():
                return
        return
    with ProcessPoolExecutor(jobs, initializer=_ignore_interrupts) as pool:
        try:
            for played, outcome in enumerate(pool.map(one, numbers, chunksize=_CHUNK), start=1):
                tally.add(*outcome)
                if played % _CHUNK == 0 or played == len(numbers) or stopped():
                    yield tally.deals
                if stopped():
                    return
        finally:
            pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    # The parent stops and keeps what it has; a worker told as well would print a traceback over it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def load(path: Path, fresh: Tally) -> Tally:
    """Return the tally kept in a file if it is of the same simulation, or a fresh one. Raises `ValueError`."""
    if not path.exists():
        return fresh
    kept = json.loads(path.read_text())
    if any(kept.get(name) != getattr(fresh, name) for name in ("variant", "player", "start")):
        raise ValueError(f"{path} holds another simulation: {kept.get('variant')} by {kept.get('player')}")
    left = Counter({int(cards): count for cards, count in kept["cards_left"].items()})
    return Tally(fresh.variant, fresh.player, fresh.start, kept["deals"], kept["won"], kept["undecided"], left)


def save(path: Path, tally: Tally) -> None:
    """Keep a tally, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(tally.data, indent=1) + "\n")
    os.replace(part, path)


def summary(tally: Tally) -> str:
    """Say in a sentence how often the player won."""
    data = tally.data
    if not tally.deals:
        return "no deal was played"
    low, high = data["interval"]
    text = f"{tally.player} won {tally.won} of {tally.deals} deals of {tally.variant}: {data['chance']:.1%}"
    text += f" (95% between {low:.1%} and {high:.1%})"
    return text + (f"; {tally.undecided} stayed undecided" if tally.undecided else "")


def bars(tally: Tally) -> str:
    """Draw in letters how many games ended with so many cards left."""
    if not tally.cards_left:
        return ""
    most = max(tally.cards_left.values())
    lines = [
        f"{left:>3} left {'█' * max(1, round(_BAR * count / most)):<{_BAR}} {count:>6} {count / tally.deals:>6.1%}"
        for left, count in sorted(tally.cards_left.items())
    ]
    return "\n".join(lines)


def chart(tally: Tally) -> str:
    """Draw the same as SVG."""
    most = max(tally.cards_left.values(), default=1)
    rows = sorted(tally.cards_left.items())
    height = 24 * len(rows) + 64
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{tally.variant}, player {tally.player}: cards left</title>",
        f'<rect width="640" height="{height}" fill="#fff"/>',
        f'<text x="16" y="28" font-size="15">{summary(tally)}</text>',
    ]
    for row, (left, count) in enumerate(rows):
        y, width = 48 + 24 * row, 440 * count / most
        colour = "#2a7d4f" if left == rows[0][0] and tally.won else "#4a6fa5"
        parts.append(f'<text x="60" y="{y + 14}" text-anchor="end">{left}</text>')
        parts.append(f'<rect x="70" y="{y}" width="{width:.1f}" height="18" fill="{colour}"/>')
        parts.append(f'<text x="{76 + width:.1f}" y="{y + 14}">{count / tally.deals:.1%}</text>')
    return "\n".join([*parts, "</svg>", ""])


@cache
def odds() -> dict[str, list[dict[str, Any]]]:
    """Return the odds that were measured, by variant."""
    found: dict[str, list[dict[str, Any]]] = json.loads(ODDS.read_text())
    return found


def publish(tally: Tally) -> None:
    """Put a tally into the odds that the service shows."""
    table = json.loads(ODDS.read_text())
    kept = [row for row in table.get(tally.variant, []) if row["player"] != tally.player]
    row = {name: tally.data[name] for name in ("player", "start", "deals", "won", "undecided", "chance", "interval")}
    order = ["random", "first", "most-pairs", "fair", PERFECT]
    table[tally.variant] = sorted([*kept, row], key=lambda one: order.index(one["player"]))
    ODDS.write_text(json.dumps(table, indent=1) + "\n")
