"""Random single mutations of logs, none of which may pass as true: `python -m tests.bench.mutations [N]`.

Counted by kind and by what the audit says. A mutation that leaves the same log is no mutation: what was changed is
recomputed to what it was, or only left out where it stands elsewhere in the log too.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from service.engine.audit import audit
from service.engine.cards import RANKS, SUITS
from service.engine.errors import Unreadable
from service.engine.events import EVENT_TYPES
from service.engine.log import event_hash
from service.engine.rules import VARIANTS
from tests.logs import KEYS, KINDS, Played, chained, copied, play, signed

Log = dict[str, Any]
OUTCOMES = ("invalid", "not authentic", "unreadable", "same log", "PASSED")
PASSED = OUTCOMES[-1]


# A value into another, near enough to be overlooked


def another(random: Random, value: Any) -> Any:
    """Return another value for one in a log."""
    while True:
        found = _near(random, value)
        if json.dumps(found) != json.dumps(value):
            return found


def _near(random: Random, value: Any) -> Any:
    anything = [None, True, False, 0, 1, 1.0, -1, 2**53, "", "x", "0" * 64, [], {}, [value], {"x": value}]
    if random.random() < 0.2:
        return random.choice(anything)
    if isinstance(value, bool):
        return random.choice([not value, int(value)])
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, random.randrange(100), float(value), str(value), bool(value)])
    if isinstance(value, str):
        return _another_text(random, value)
    if isinstance(value, list):
        place = random.randrange(len(value) + 1)
        return random.choice([value[:place], value[place:], value[::-1], value + value[:1], value[1:] + value[:1]])
    if isinstance(value, dict):
        left_out = random.choice([*value, "x"])
        return random.choice([{name: part for name, part in value.items() if name != left_out}, value | {"x": 1}])
    return random.choice(anything)


def _another_text(random: Random, text: str) -> Any:
    if text in EVENT_TYPES:
        return random.choice([*EVENT_TYPES, "hinted"])
    if len(text) == 2 and random.random() < 0.9:
        return random.choice(RANKS) + random.choice(SUITS)
    place = random.randrange(len(text) + 1)
    changed = text[:place] + random.choice("0123456789abcdefXYZ -\u0660\u00e9") + text[place + 1 :]
    return random.choice([changed, changed, changed, text[:place], text + text[:1], text.upper(), text.swapcase()])


def change_a_field(random: Random, whole: Any) -> None:
    """Change one value anywhere in an object, leave one out, or add one."""
    inner = [(whole, name) for name in whole]
    for holder, name in inner:  # grows while it is walked
        value = holder[name]
        if isinstance(value, dict):
            inner += [(value, key) for key in value]
        elif isinstance(value, list):
            inner += [(value, place) for place in range(len(value))]
    holder, name = random.choice(inner)
    if random.random() < 0.1:
        del holder[name]
    else:
        holder[name] = another(random, holder[name])


# One mutation of each kind; each changes a log in place, or returns another


def change(random: Random, log: Log, _: Played) -> None:
    """Change a field of an event."""
    change_a_field(random, random.choice(log["events"]))


def drop(random: Random, log: Log, _: Played) -> None:
    """Leave out an event."""
    del log["events"][random.randrange(len(log["events"]))]


def double(random: Random, log: Log, _: Played) -> None:
    """Write an event twice."""
    place = random.randrange(len(log["events"]))
    log["events"].insert(place, copied(log["events"][place]))


def swap(random: Random, log: Log, _: Played) -> None:
    """Swap an event with the next."""
    events = log["events"]
    place = random.randrange(len(events) - 1)
    events[place : place + 2] = events[place : place + 2][::-1]


def move_between(random: Random, log: Log, other: Played) -> None:
    """Put an event of another game of the variant into a place, or before it."""
    place = random.randrange(min(len(log["events"]), len(other.log["events"])))
    log["events"][place : place + random.randrange(2)] = [copied(other.log["events"][place])]


def change_and_hash(random: Random, log: Log, _: Played) -> None:
    """Change a field of an event and recompute the hash of this one event."""
    event = random.choice(log["events"])
    change_a_field(random, event)
    event["hash"] = event_hash(event)


def rewrite(random: Random, log: Log, other: Played) -> Log:
    """Change the events in one of the ways above, number them anew as a forger would, and recompute the chain."""
    random.choice(EVENT_KINDS)(random, log, other)
    if random.random() < 0.5:
        _renumber(log)
    return chained(log)


def _renumber(log: Log) -> None:
    moves: dict[Any, int] = {}
    for version, event in enumerate(log["events"], start=1):
        begins = str(event.get("move")) == str(event.get("version"))
        move = version if begins or version == 1 else log["events"][version - 2]["move"]
        moves[str(event.get("version"))] = version
        event |= {"game": log["game"], "version": version, "move": move}
        if isinstance(event.get("data"), dict) and "to" in event["data"]:
            event["data"]["to"] = moves.get(str(event["data"]["to"]), event["data"]["to"])


def keep_the_rules(random: Random, log: Log, _: Played) -> Log:
    """Cut the log before a move, or let all that follows happen a year later, and recompute the chain."""
    events = log["events"]
    place = random.choice([place for place, event in enumerate(events) if event["move"] == event["version"]])
    if place and random.random() < 0.5:
        del events[place:]
        log["seed"] = None
    for event in events[place:]:
        event["at"] = event["at"].replace("2026", "2027")
    return chained(log)


def rewrite_and_sign(random: Random, log: Log, other: Played) -> Log:
    """Recompute the chain after a change and sign it anew, as an operator could; the player kept the receipts."""
    return signed(random.choice([rewrite, keep_the_rules])(random, log, other))


def change_the_top(random: Random, log: Log, other: Played, name: str) -> None:
    """Change a field of the log itself, or take it from another game."""
    given = other.log[name]
    log[name] = given if given != log[name] and random.random() < 0.3 else another(random, log[name])


EVENT_KINDS: Sequence[Callable[[Random, Log, Played], None]] = (change, drop, double, swap, move_between)
MUTATIONS: dict[str, Callable[[Random, Log, Played], Log | None]] = {
    "a field of an event changed": change,
    "an event dropped": drop,
    "an event doubled": double,
    "two events swapped": swap,
    "an event of another game": move_between,
    "a field changed, that hash recomputed": change_and_hash,
    "any of these, the chain recomputed": rewrite,
    "a lawful change, the chain recomputed": keep_the_rules,
    "either of them, signed anew, receipts kept": rewrite_and_sign,
    "the game changed": lambda random, log, other: change_the_top(random, log, other, "game"),
    "the head changed": lambda random, log, other: change_the_top(random, log, other, "head"),
    "the seed changed": lambda random, log, other: change_the_top(random, log, other, "seed"),
    "the signature changed": lambda random, log, other: change_the_top(random, log, other, "signature"),
}


def games() -> dict[str, list[Played]]:
    """Play games of all variants and kinds of deals, finished and not."""
    played = {}
    for variant in VARIANTS:
        played[variant] = [play(variant, f"{variant} {kind}", kind, finish=kind != "pysol") for kind in KINDS]
        longest = max(played[variant], key=lambda game: len(game.receipts))
        half = len(longest.receipts) // 2
        played[variant].append(Played(longest.after(half), longest.receipts[: half + 1]))
    return played


def same(log: Log, found: Log) -> bool:
    """Say whether two documents say the same; seed and head may be left out, for the last event of a log has them."""
    plain = [json.dumps(document | {"seed": None, "head": None}, sort_keys=True) for document in (log, found)]
    return plain[0] == plain[1] and all(found[name] in (None, log[name]) for name in ("seed", "head"))


def outcome(log: Log, found: Log, receipts: Sequence[str]) -> str:
    """Return what the audit makes of a mutated log."""
    try:
        verdict = audit(found | {"receipts": receipts}, KEYS)
    except Unreadable:
        return "unreadable"
    if not verdict.valid:
        return "invalid"
    if not verdict.authentic:
        return "not authentic"
    return "same log" if same(log, found) else PASSED


def mutated(count: int, seed: str) -> Iterator[tuple[str, Played, Log]]:
    """Yield the kind of so many mutations, the game, and its log mutated, with receipts where the player kept some."""
    random, played = Random(seed), games()
    for done in range(count):
        kind = list(MUTATIONS)[done % len(MUTATIONS)]
        game, other = _two_games(random, played[random.choice(list(played))])
        log = copied(game.log)
        log = MUTATIONS[kind](random, log, other) or log
        yield kind, game, log | {"receipts": game.receipts if kind.endswith("receipts kept") else []}


def run(count: int, seed: str = "mutations", tell: Callable[[int], None] = lambda done: None) -> Counter[Any]:
    """Mutate so many logs and count pairs of kind and outcome."""
    found = Counter[Any]()
    for done, (kind, game, log) in enumerate(mutated(count, seed)):
        receipts = log.pop("receipts")
        found[kind, outcome(game.log, log, receipts)] += 1
        tell(done + 1)
    return found


def _two_games(random: Random, played: Sequence[Played]) -> Sequence[Played]:
    while True:
        chosen = random.sample(played, 2)
        if chosen[0].log["game"] != chosen[1].log["game"]:
            return chosen


def main(count: int = 10_000) -> int:
    """Print a table and return the exit status."""

    def tell(done: int) -> None:
        if done % 250 == 0 or done == count:
            print(f"\r{done}/{count}", end="" if done < count else "\n", file=sys.stderr, flush=True)

    found = run(count, tell=tell)
    print(f"{'':<43}" + "".join(f"{outcome:>15}" for outcome in OUTCOMES))
    for kind in MUTATIONS:
        print(f"{kind:<43}" + "".join(f"{found[kind, outcome]:>15}" for outcome in OUTCOMES))
    totals = [sum(found[kind, outcome] for kind in MUTATIONS) for outcome in OUTCOMES]
    print(f"{f'all {sum(totals)}':<43}" + "".join(f"{total:>15}" for total in totals))
    return 1 if totals[-1] else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
