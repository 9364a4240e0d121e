"""Simulation: a player plays many numbered deals, and the odds are drawn, kept and shown."""

import json
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from service.engine.players import PERFECT, SLOW, Outcome, Tally, play
from service.engine.rules import Rules

ODDS = Path(__file__).parent / "odds.json"
_CHUNK = 50  # deals that a process plays before it tells of them
_SLOW_CHUNK = 1  # the same for players who think
_BAR = 40


def run(
    rules: Rules, tally: Tally, deals: int, jobs: int, stopped: Callable[[], bool] = lambda: False
) -> Iterator[int]:
    """Play on until so many deals are played, in order, or it is stopped; yield how many are after each handful.

    Raises `BrokenProcessPool` if one of the processes dies.
    """
    numbers = range(tally.start + tally.deals, tally.start + deals)
    chunk = _SLOW_CHUNK if tally.player in SLOW else _CHUNK
    chunks = (numbers[at : at + chunk] for at in range(0, len(numbers), chunk))
    play_chunk = partial(_play, rules, tally.player)
    for outcomes in map(play_chunk, chunks) if jobs == 1 else _played_by(jobs, play_chunk, chunks, stopped):
        for outcome in outcomes:
            tally.add(*outcome)
        yield tally.deals
        if jobs == 1 and stopped():
            return


def _play(rules: Rules, player: str, numbers: Sequence[int]) -> list[Outcome]:
    return [play(rules, player, number) for number in numbers]


def _played_by(
    jobs: int,
    play_chunk: Callable[[Sequence[int]], list[Outcome]],
    chunks: Iterator[Sequence[int]],
    stopped: Callable[[], bool],
) -> Iterator[list[Outcome]]:
    """Play chunks in so many processes; yield what came of each, in order. Stopped, it ends those that are begun."""
    with ProcessPoolExecutor(jobs, initializer=_ignore_signals) as pool:
        begun: deque[Future[list[Outcome]]] = deque()
        try:
            while True:
                while len(begun) <= jobs and not stopped() and (chunk := next(chunks, None)):
                    begun.append(pool.submit(play_chunk, chunk))
                if not begun:
                    return
                yield begun.popleft().result()
        except BaseException:
            # Nobody waits for them any more.
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _ignore_signals() -> None:
    # The parent stops and keeps what it has; a process told as well would print a traceback over it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def load(path: Path, fresh: Tally) -> Tally:
    """Return the tally kept in a file if it is of the same simulation, or a fresh one. Raises `ValueError`."""
    if not path.exists():
        return fresh
    try:
        kept = json.loads(path.read_text())
        same = all(kept[name] == getattr(fresh, name) for name in ("variant", "player", "start"))
        left = Counter({int(cards): count for cards, count in kept["cards_left"].items()})
        counts = [kept["deals"], kept["won"], kept["undecided"], *left.values()]
        whole = all(type(count) is int and count >= 0 for count in counts)
        whole = whole and counts[1] + counts[2] <= counts[0] and left.total() in (0, counts[0])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} holds no simulation") from None
    if not same:
        raise ValueError(f"{path} holds another simulation: {kept['variant']} by {kept['player']}")
    if not whole:
        raise ValueError(f"{path} holds counts that cannot be: begin anew with another file")
    return replace(fresh, deals=kept["deals"], won=kept["won"], undecided=kept["undecided"], cards_left=left)


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
    """Put a tally into the odds that the service shows. Raises `ValueError` if more deals are behind those there."""
    table = json.loads(ODDS.read_text())
    there = next((row["deals"] for row in table.get(tally.variant, []) if row["player"] == tally.player), 0)
    if tally.deals < there:
        raise ValueError(f"the odds shown are of {there} deals, and these of {tally.deals} only")
    kept = [row for row in table.get(tally.variant, []) if row["player"] != tally.player]
    row = {name: tally.data[name] for name in ("player", "start", "deals", "won", "undecided", "chance", "interval")}
    order = ["random", "first", "most-pairs", "fair", PERFECT]
    table[tally.variant] = sorted([*kept, row], key=lambda one: order.index(one["player"]))
    ODDS.write_text(json.dumps(table, indent=1) + "\n")
