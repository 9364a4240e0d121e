"""The test vectors for programs in other languages: `python -m tests.vectors` writes them to `openapi/vectors/`."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from service.engine import deals
from service.engine.audit import audit
from service.engine.cards import RANKS, Pack, format_cards
from service.engine.log import canonical
from service.engine.notation import format_log, parse_log
from service.engine.rules import VARIANTS
from tests.logs import KEYS, chained, copied, hint, play, play_moves, signed, unhashed

FOLDER = Path(__file__).parent.parent / "openapi" / "vectors"
_PACKS = (Pack(), Pack(2), Pack(1, "A23456789"))


def _deals() -> list[dict[str, Any]]:
    listed = []

    def add(pack: Pack, kind: str, seed: bytes = b"", number: str = "", client_seed: str = "") -> None:
        order = deals.order(pack, kind, seed=seed, number=number, client_seed=client_seed)
        asked: dict[str, Any] = {"kind": kind, "decks": pack.decks, "ranks": pack.ranks}
        if kind == "secret":
            asked |= {"seed": seed.hex(), "client_seed": client_seed}
        else:
            asked["number"] = number
        listed.append({**asked, "cards": format_cards(order)})

    for pack in _PACKS:
        for number in ("0", "1", "617", "18446744073709551615"):
            add(pack, "numbered", number=number)
        for number in ("1", "24", "31999", "32000", "78173453496201008399"):
            add(pack, "pysol", number=number)
        for client_seed in ("", "correct horse battery staple", "Würfel 🎲"):
            add(pack, "secret", seed=sha256(f"vector {client_seed}".encode()).digest(), client_seed=client_seed)
    given = format_cards(reversed(Pack().cards()))
    listed.append({"kind": "deck", "decks": 1, "ranks": RANKS, "cards": given})
    return listed


def _commitments() -> list[dict[str, str]]:
    seeds = [bytes(32), bytes([255] * 32), *(sha256(b"vector %d" % number).digest() for number in range(3))]
    return [{"seed": seed.hex(), "commitment": deals.commitment(seed)} for seed in seeds]


def _events() -> list[dict[str, Any]]:
    listed = []
    for log in (
        play("monte-carlo", "events", "joint", client_seed='♠ "quoted" \\ \u0007 é').log,
        play("block-ten", "events", "deck").log,
    ):
        kinds: set[str] = set()
        for event in log["events"]:
            if event["type"] not in kinds:
                kinds.add(event["type"])
                plain = {key: value for key, value in event.items() if key != "hash"}
                listed.append({"event": plain, "canonical": canonical(plain).decode(), "hash": event["hash"]})
    return listed


def _notation() -> list[dict[str, Any]]:
    logs = [
        ("a joint deal to its end", play("monte-carlo", "notation", "joint", client_seed='"\\\n').log),
        ("kings alone, closing up by itself", play("neighbour", "notation", "numbered").log),
        ("the halves of a close-up, undone", play("weddings-columns", "notation", "pysol", halves=1, undo=0.3).log),
        ("own rules", play("monte-carlo", "notation", "deck", rules={"rows": 4, "close_up": "wave"}).log),
        ("not over", play("thirteens", "notation", finish=False).log),
    ]
    listed = [{"name": name, "text": format_log(log), "log": log} for name, log in logs]
    main = format_log(logs[2][1], main=True)
    listed.append({"name": "a main line, undone moves left out", "text": main, "log": parse_log(main)})
    by_hand = '[Variant "monte-carlo"]\n[Deal "pysol 24"]\n[Result "*"]\n\n1. 2De1-2Cd2 2. / 3. undo *\n'
    listed.append({"name": "made by hand, cards dealt not named", "text": by_hand, "log": parse_log(by_hand)})
    return listed


def _verdict(log: dict[str, Any]) -> dict[str, Any]:
    verdict = audit(log, KEYS)
    return {
        "valid": verdict.valid,
        "authentic": verdict.authentic,
        "finished": verdict.finished,
        "revealed": verdict.revealed,
        "checked": verdict.checked,
        "fault": verdict.fault and {"version": verdict.fault.version, "code": verdict.fault.code},
        "unchecked": [unchecked.code for unchecked in verdict.unchecked],
    }


def _valid() -> list[dict[str, Any]]:
    kinds = ("secret", "joint", "numbered", "pysol", "deck")
    listed = []
    for place, variant in enumerate(VARIANTS):
        played = play(variant, "vector", kinds[place % len(kinds)])
        log = played.log | {"receipts": played.receipts[::7]}
        listed.append({"name": f"{variant}, finished", "log": log, "verdict": _verdict(log)})
    cut = play("monte-carlo", "vector", "joint").after(9)
    listed.append({"name": "not finished, not revealed", "log": cut, "verdict": _verdict(cut)})
    bare = {"events": [{"type": e["type"], "data": e["data"]} for e in cut["events"]]}
    listed.append({"name": "without hashes", "log": bare, "verdict": _verdict(bare)})
    open_deal = unhashed(play_moves("monte-carlo", "story", "pysol", "").log)
    hinted = _hinted(open_deal, ("first", 0, 0), ("fair", 340, 400), ("solve", 1, 1))
    listed.append({"name": "hints of each level", "log": hinted, "verdict": _verdict(hinted)})
    return listed


def _hinted(log: dict[str, Any], *hints: tuple[str, int, int]) -> dict[str, Any]:
    """Return a log without hashes with hints at its end, of the first legal move."""
    other = copied(log)
    other["events"] += [hint(log, *given) for given in hints]
    return other


def _false() -> list[dict[str, Any]]:
    played = play("monte-carlo", "false", "joint", undo=0.3)
    log = played.log
    listed: list[dict[str, Any]] = []

    def add(name: str, changed: dict[str, Any]) -> None:
        listed.append({"name": name, "log": changed, "verdict": _verdict(changed)})

    def first(kind: str) -> int:
        return next(place for place, event in enumerate(log["events"]) if event["type"] == kind)

    def changed(kind: str, **data: Any) -> dict[str, Any]:
        other = copied(log)
        other["events"][first(kind)]["data"] |= data
        return other

    removed, refilled, undone = first("removed"), first("refilled"), first("undone")
    add("another card removed, nothing else changed", changed("removed", cards=["AS", "AH"]))
    add("another card removed, the chain recomputed", chained(changed("removed", cards=["AS", "AH"]), removed + 1))
    other_cards = log["events"][refilled]["data"]["cards"][::-1]
    swapped = changed("refilled", cards=other_cards)
    add("cards dealt in another order, signed anew", signed(chained(swapped, refilled + 1)))
    add("undone to another version, the chain recomputed", chained(changed("undone", to=0), undone + 1))
    add("a cell too many", chained(changed("removed", cells=[{"row": 1, "column": 1}]), removed + 1))
    add("another commitment", chained(_deal_changed(log, commitment="0" * 64)))
    add("another client seed", chained(_deal_changed(log, client_seed="someone else")))
    add("an unknown kind of deal", chained(_deal_changed(log, kind="weekly")))
    dropped, doubled, turned = copied(log), copied(log), copied(log)
    del dropped["events"][removed]
    doubled["events"].insert(removed, copied(log)["events"][removed])
    turned["events"][removed], turned["events"][removed + 1] = turned["events"][removed + 1], turned["events"][removed]
    add("an event dropped", dropped)
    add("an event twice", doubled)
    add("two events in the wrong order", turned)
    late, odd = copied(log), copied(log)
    late["events"][removed]["at"] = "2000-01-01T00:00:00.000Z"
    odd["events"][removed]["at"] = "2026-02-30T00:00:00.000Z"
    add("a time before the one before", chained(late, removed + 1))
    add("a time that is none", chained(odd, removed + 1))
    stranger = copied(log)
    stranger["events"][removed]["game"] = "00000000-0000-4000-8000-000000000000"
    add("an event of another game", chained(stranger, removed + 1))
    for name, value in (
        ("head", "0" * 64),
        ("seed", "0" * 64),
        ("result", "won" if _result(log) == "lost" else "lost"),
    ):
        add(f"another {name}", log | {name: value})
    add("signed for another log", log | {"signature": play("monte-carlo", "another").log["signature"]})
    end = play("neighbour", "false").log
    end["events"] = end["events"][:2]
    add("cut within a move", chained(end | {"seed": None}))
    short = played.after(5) | {"receipts": played.receipts[-2:]}
    add("cut after a move and signed anew, against a receipt", signed(short))
    story = play_moves("monte-carlo", "story", "pysol", "resign")
    add("a game resigned goes on", chained(_goes_on(story.log)))
    rewritten = play("monte-carlo", "false", "joint", undo=0.2).log | {"receipts": played.receipts}
    add("rewritten and signed anew, against receipts", rewritten)
    secret, open_deal = unhashed(played.after(5)), unhashed(story.after(0))
    add("a solution of a deal that is not revealed", _hinted(secret, ("solve", 1, 1)))
    add("a solution for many orders", _hinted(open_deal, ("solve", 3, 7)))
    add("a fair hint that tried no order", _hinted(open_deal, ("fair", 0, 0)))
    return listed


def _deal_changed(log: dict[str, Any], **changes: Any) -> dict[str, Any]:
    other = copied(log)
    other["events"][0]["data"]["deal"] |= changes
    return other


def _goes_on(log: dict[str, Any]) -> dict[str, Any]:
    other = copied(log)
    last = other["events"][-1]
    other["events"].append(
        {**last, "version": last["version"] + 1, "move": last["version"] + 1, "type": "undone", "data": {"to": 1}}
    )
    return other


def _result(log: dict[str, Any]) -> str:
    return {"won": "won", "resigned": "lost"}[log["events"][-1]["type"]]


def build() -> dict[str, Any]:
    """Return the vectors by file."""
    return {
        "deals.json": {"ranks": RANKS, "deals": _deals()},
        "commitments.json": {"commitments": _commitments()},
        "events.json": {"events": _events()},
        "notation.json": {"notation": _notation()},
        "logs-valid.json": {"keys": KEYS.jwks, "logs": _valid()},
        "logs-false.json": {"keys": KEYS.jwks, "logs": _false()},
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in build().items():
        (FOLDER / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
