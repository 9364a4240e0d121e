"""Vectors for other languages, and golden logs that stay valid for ever."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from service.engine import deals
from service.engine.audit import audit
from service.engine.cards import Pack, format_cards
from service.engine.log import canonical
from service.engine.notation import format_log, parse_log
from service.engine.rules import VARIANTS
from service.engine.signatures import KeyRing
from tests.vectors import FOLDER, build

GOLDEN = Path(__file__).parent / "data" / "golden"
FILES = ("deals.json", "commitments.json", "events.json", "notation.json", "logs-valid.json", "logs-false.json")


def vectors(name):
    """Return a file of vectors."""
    return json.loads((FOLDER / name).read_text())


def test_the_vectors_are_those_of_the_code():
    made = json.loads(json.dumps(build()))
    assert set(made) == set(FILES) == {path.name for path in FOLDER.glob("*.json")}
    for name in FILES:
        assert made[name] == vectors(name), f"{name}: python -m tests.vectors"


def test_deals_of_every_kind_are_there_and_agree():
    listed = vectors("deals.json")["deals"]
    assert len(listed) >= 20
    assert {deal["kind"] for deal in listed} == set(deals.KINDS)
    assert any(deal.get("client_seed") for deal in listed)
    for deal in listed:
        pack = Pack(deal["decks"], deal["ranks"])
        seed, client_seed = bytes.fromhex(deal.get("seed", "")), deal.get("client_seed", "")
        told = {"seed": seed, "number": deal.get("number", ""), "client_seed": client_seed, "cards": deal["cards"]}
        order = deals.order(pack, deal["kind"], **told)
        assert format_cards(order) == deal["cards"]


def test_commitments_and_hashes_agree():
    for entry in vectors("commitments.json")["commitments"]:
        hashed = sha256(b"montecarlo/commitment/v1:" + bytes.fromhex(entry["seed"])).hexdigest()
        assert hashed == entry["commitment"] == deals.commitment(bytes.fromhex(entry["seed"]))
    listed = vectors("events.json")["events"]
    assert {entry["event"]["type"] for entry in listed} >= {"dealt", "removed", "compacted", "refilled"}
    for entry in listed:
        assert canonical(entry["event"]).decode() == entry["canonical"]
        assert sha256(entry["canonical"].encode()).hexdigest() == entry["hash"]


def test_notation_reads_as_its_log():
    for entry in vectors("notation.json")["notation"]:
        assert parse_log(entry["text"]) == entry["log"], entry["name"]
        if "hand" not in entry["name"] and "main" not in entry["name"]:
            assert format_log(entry["log"]) == entry["text"], entry["name"]


@pytest.mark.parametrize("name", ["logs-valid.json", "logs-false.json"])
def test_verdicts_agree(name):
    found = vectors(name)
    keys = KeyRing.from_jwks(found["keys"])
    for entry in found["logs"]:
        verdict, said = audit(entry["log"], keys), entry["verdict"]
        fault = verdict.fault and {"version": verdict.fault.version, "code": verdict.fault.code}
        assert (verdict.valid, verdict.authentic, verdict.checked, fault) == (
            said["valid"],
            said["authentic"],
            said["checked"],
            said["fault"],
        ), entry["name"]
        assert (said["valid"] and said["authentic"] is not False) == (name == "logs-valid.json"), entry["name"]


def test_valid_logs_of_every_variant_are_there():
    logs = vectors("logs-valid.json")["logs"]
    assert {entry["log"]["events"][0]["data"]["variant"] for entry in logs} == set(VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_golden_log_stays_valid(variant):
    keys = KeyRing.from_jwks(json.loads((GOLDEN / "keys.json").read_text()))
    log = json.loads((GOLDEN / f"{variant}.json").read_text())
    text = (GOLDEN / f"{variant}.txt").read_text()
    for document in (log, parse_log(text)):
        verdict = audit(document, keys)
        assert verdict.valid, verdict.fault
        assert (verdict.authentic, verdict.finished, verdict.revealed, verdict.unchecked) == (True, True, True, [])
    assert parse_log(text)["events"] == log["events"]
