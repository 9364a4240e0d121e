"""The docs: pages that lead somewhere, and examples that are run."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.request import urlopen

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from service.api.problems import KINDS
from service.api.spec import log_schema
from service.engine.audit import FAULTS, audit
from service.engine.notation import parse_log
from tests.client import SPEC, closed
from tests.server import MONTECARLO, ask, serving

PAGES = (
    "/docs/front-ends", "/docs/bots", "/docs/auditors", "/docs/policy", "/docs/fair-deals", "/docs/logs", "/docs/operating",
    "/docs/problems"
)  # fmt: skip
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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for the examples."""
    with serving(tmp_path_factory.mktemp("docs"), rate_limits="off") as url:
        yield url


def examples(url):
    """Return the examples of a page, as a reader copies them."""
    with urlopen(url) as page:
        return [unescape(found) for found in re.findall(r"<pre>(.*?)</pre>", page.read().decode(), re.DOTALL)]


@pytest.mark.skipif(
    not shutil.which("node"),
    reason="the examples for front ends run in node, which is not installed (on Debian: apt-get install nodejs)",
)
def test_the_examples_for_front_ends_run(server):
    curl, *script = examples(f"{server}/docs/front-ends")
    assert curl == f"curl {server}/v1/games --json '{{}}'"
    command = ["node", "--input-type=module", "--eval", "\n".join(script)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert re.fullmatch(r"52 cards, \d+ legal moves", lines[0])
    assert any(line.startswith("409 same_cell - ") for line in lines)
    assert re.fullmatch(r"seen \d+ resigned", lines[-1])


def test_the_example_for_bots_plays_a_game(server):
    script, _ = examples(f"{server}/docs/bots")
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert re.fullmatch(r"(won|blocked) with \d+ cards left\n", ended.stdout), ended.stderr


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed here; the examples for auditors use it")
def test_the_examples_for_auditors_run(server, tmp_path):
    games = [ask(f"{server}/v1/games", {}) for _ in range(5)]
    path = f"PATH={Path(MONTECARLO).parent}:$PATH\nset -e -o pipefail\n"

    def run(script):
        ended = subprocess.run(["bash", "-c", path + script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    one, every = examples(f"{server}/docs/auditors?game={games[0]['id']}")
    assert run(one).startswith("game.json: VALID, signed by a known key")
    # In small pages, so that they follow on.
    with urlopen(f"{server}/v1/games/export") as export:
        count = len(export.read().splitlines())
    assert run(every.replace("limit=1000", "limit=2")) == f"{count}\n"
    _, bulk = examples(f"{server}/docs/bots")
    assert len(run(bulk).splitlines()) >= 1


def test_the_policy_states_the_limits_in_force(client, client_with):
    limited = client_with(rate_limits=True, limit_moves="7/second", body_limit=2345)
    text = limited.get("/docs/policy").text
    assert "7 per 1 second" in text
    assert "2345 bytes" in text
    assert "per 1 minute" not in client.get("/docs/policy").text, "no limits, none stated"
