"""JSON as strict as the published spec: what two readers could take differently is refused."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from service.engine.errors import Unreadable
from service.engine.notation import parse_log

DEEPEST = 50
LONGEST_NUMBER = 400


def parse_json(body: bytes) -> Any:
    """Read one JSON value: UTF-8, keys once, no NaN, of modest depth and modest numbers.

    Raises `Unreadable` with code `bad_json`.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable("bad_json", f"the body is not UTF-8 at byte {error.start}") from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable("bad_json", f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise Unreadable("bad_json", f"the body is more than {DEEPEST} levels deep") from None
    if body.count(b"{") + body.count(b"[") > DEEPEST:  # else it cannot be deeper
        _check_depth(value)
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise Unreadable("bad_json", f"the key {twice[:40]!r} stands twice in one object")
    return found


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise Unreadable("bad_json", f"a number has more than {LONGEST_NUMBER} characters")
    return int(text)


def _float(text: str) -> float:
    value = float(text) if len(text) <= LONGEST_NUMBER else float("inf")
    if value in (float("inf"), float("-inf")):
        raise Unreadable("bad_json", "a number is too large")
    return value


def _no_constant(text: str) -> NoReturn:
    raise Unreadable("bad_json", f"{text} is not JSON")


# Made once: to make one costs more than to read a move.
_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=_int, parse_float=_float, parse_constant=_no_constant)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise Unreadable("bad_json", f"the body is more than {DEEPEST} levels deep")


def parse_log_file(content: bytes, *, plain: bool | None = None) -> Any:
    """Read a log as JSON or as notation, whichever it looks like if nothing is said.

    Raises `Unreadable` with code `bad_json` or `unreadable_log`, or what reading a deal raises.
    """
    if plain is None:
        plain = not content.lstrip().startswith(b"{")
    if not plain:
        return parse_json(content)
    try:
        return parse_log(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable("unreadable_log", f"the log is not UTF-8 text at byte {error.start}") from None
