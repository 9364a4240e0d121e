"""Thousands of requests that schemathesis makes of the spec: right and wrong ones, alone and one after another."""

import json

import pytest

from tests.contract.tools import HERE, PIP, SPEC, needs, run
from tests.server import ask, serving


@needs("schemathesis", install=PIP)
@pytest.mark.parametrize("signed_in", [True, False], ids=["with tokens", "without"])
def test_what_the_spec_says_is_so(tmp_path, signed_in):
    with serving(tmp_path, rate_limits="off") as url:
        (tmp_path / "known.json").write_text(json.dumps(known_ids(url, signed_in)))
        run(
            "schemathesis", "--config-file", HERE / "schemathesis.toml", "run", f"{url}/openapi.json", "--checks", "all",
            "--report", "json", "--report-json-path", "report.json",
            folder=tmp_path,
            KNOWN_IDS=str(tmp_path / "known.json"),
            SIGNED_IN="yes" if signed_in else "no",
            PYTHONPATH=str(HERE.parent.parent),
        )  # fmt: skip
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["complete"]
    assert report["operations"]["tested"] == len(OPERATIONS)
    assert report["test_cases"]["generated"] > 1000
    # Nothing is tested of an operation that only ever refuses.
    assert {
        name for name, phases in report["valid_rates"].items() if any(rate["accepted"] for rate in phases.values())
    } == {name for name, operation in OPERATIONS.items() if signed_in or operation["security"] != [{"game_token": []}]}


OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in json.loads(SPEC.read_text())["paths"].items()
    for method, operation in methods.items()
    if "operationId" in operation
}


def known_ids(url, signed_in):
    """Deal games of several kinds, one of them over."""
    games = {}
    for body in (
        {},
        {"visibility": "private" if signed_in else "public"},
        {"variant": "block-ten", "deal": {"kind": "numbered", "number": "1"}},
        {"deal": {"kind": "pysol", "number": "24"}},
    ):
        game = ask(f"{url}/v1/games", body)
        games[game["id"]] = game["token"]
    ask(f"{url}/v1/games/{game['id']}/moves", {"moves": [{"type": "resign"}]}, game["token"])
    return {"game_id": games, "deal_id": {game["deal"]["id"]: None}}
