"""The docs: pages that lead somewhere, and examples that are run."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from service.api.problems import KINDS
from service.api.spec import log_schema
from service.engine.audit import FAULTS, audit
from service.engine.notation import parse_log
from tests.client import SPEC, closed

PAGES = ("/docs/fair-deals", "/docs/logs", "/docs/problems")
LOG_SCHEMA = json.loads((Path(__file__).parent.parent / "openapi/log.schema.json").read_text())


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_its_links_lead_somewhere(client, page):
    text = client.get(page).text
    assert text.count("<h1>") == 1
    assert "{{" not in text
    links = re.findall(r'href="([^"]+)"', text)
    assert len(links) >= 4
    for link in links:
        assert client.get(link).status_code in (200, 302), link


def check_deal(deal, commitment, script):
    """Run the script of the page as a reader would."""
    return subprocess.run(
        [sys.executable, "-c", script, commitment], input=json.dumps(deal), capture_output=True, text=True
    )


@pytest.mark.parametrize("variant", ["monte-carlo", "monte-carlo-2-decks", "simple-tens"])
def test_a_reader_can_check_a_deal_by_hand(client, variant):
    script = unescape(re.findall(r"<pre>(.*?)</pre>", client.get("/docs/fair-deals").text, re.DOTALL)[1])
    made = client.post("/v1/deals", {"variant": variant}).json
    client.play(client.deal(variant, deal={"id": made["id"], "client_seed": "Würfel 🎲"}), "resign")
    deal = client.get(f"/v1/deals/{made['id']}").json
    checked = check_deal(deal, made["commitment"], script)
    assert (checked.stdout, checked.stderr) == (f"fair: {deal['cards']}\n", "")
    assert check_deal(deal, "0" * 64, script).stderr == "unfair: the server was bound to another seed\n"
    other = deal | {"client_seed": "another"}
    assert check_deal(other, made["commitment"], script).stderr == "unfair: the cards are not those of the seed\n"


def test_the_notation_of_the_page_is_a_valid_log(client):
    text = unescape(re.findall(r"<pre>(.*?)</pre>", client.get("/docs/logs").text, re.DOTALL)[0])
    verdict = audit(parse_log(text))
    assert verdict.valid, verdict.fault


def test_every_fault_is_explained(client):
    page = client.get("/docs/logs").text
    source = (Path(__file__).parent.parent / "service/engine/audit.py").read_text()
    raised = set(re.findall(r'_fail(?:_whole)?\(\s*"(\w+)"', source)) | {"wrong_version", "wrong_move", "wrong_game"}
    assert raised - set(KINDS) == set(FAULTS) - set(KINDS)
    for code in FAULTS:
        assert f"<code>{code}</code>" in page


def test_the_schema_of_logs_is_that_of_the_spec(client):
    assert log_schema(SPEC) == LOG_SCHEMA
    assert client.get("/log.schema.json").json == LOG_SCHEMA
    validator = Draft202012Validator(closed(LOG_SCHEMA), format_checker=FormatChecker())
    for variant in ("monte-carlo", "thirteens"):
        game = client.first_moves(client.deal(variant))
        log = client.get(f"/v1/games/{game['id']}/log").json
        validator.validate(log)
        assert not validator.is_valid(log | {"events": log["events"] + [{}]})


def test_the_keys_are_published_without_their_private_parts(client, the_world):
    response = client.get("/.well-known/jwks.json")
    assert response.json == the_world.keys.jwks
    (key,) = response.json["keys"]
    assert key["kty"] == "OKP"
    assert "d" not in key
