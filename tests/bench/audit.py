"""Time of a full audit against hashing the same events alone: `python -m tests.bench.audit [ROUNDS]`.

Prints for logs of some lengths both times, their ratio, and the memory that an audit takes at its peak beside the size
of the document.
"""

import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from service.engine.audit import audit
from service.engine.log import event_hash
from tests.logs import KEYS, play, play_long


def seconds(work: Callable[[], Any], repeat: int) -> float:
    """Return how long one of several runs takes."""
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - start) / repeat


def main(rounds: int = 7) -> None:
    """Print a table."""
    logs = {f"{variant}": play(variant, "bench", undo=0.2).log for variant in ("monte-carlo", "neighbour", "fourteens")}
    logs |= {f"{length} events": play_long(length).log for length in (100, 1_000, 10_000)}
    print(
        f"{'log':<14} {'events':>7} {'hashing us':>11} {'audit us':>9} {'ratio':>6} {'document kB':>12} {'peak kB':>8}"
    )
    for name, log in logs.items():
        events, repeat = log["events"], max(1, 3000 // len(log["events"]))
        pairs = []
        for _ in range(rounds):
            hashing = seconds(lambda events=events: [event_hash(event) for event in events], repeat)
            pairs.append((hashing, seconds(lambda log=log: audit(log, KEYS), repeat)))
        hashing, whole = (statistics.median(pair[side] for pair in pairs) / len(events) * 1e6 for side in (0, 1))
        ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
        tracemalloc.start()
        verdict = audit(log, KEYS)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if not verdict.valid:
            raise SystemExit(f"{name} is not valid: {verdict.fault}")
        size = len(json.dumps(log)) / 1000
        print(
            f"{name:<14} {len(events):>7} {hashing:>11.2f} {whole:>9.2f} {ratio:>6.1f} {size:>12.0f} {peak / 1000:>8.0f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
