"""Logs and audits over HTTP: what leaves the service proves its games, and what comes in is read, judged or refused."""

import gzip
import json
import random
import re
from dataclasses import replace

import pytest
from sqlalchemy import text

from service.api.world import set_world, world
from service.app import create_app
from service.engine.notation import format_log, parse_log
from service.engine.rules import VARIANTS
from service.engine.signatures import KeyRing, Statement
from service.settings import Settings
from tests.bench.mutations import change_a_field
from tests.client import Client, refused
from tests.engine.table import shortly
from tests.logs import chained, copied, play, play_long, play_moves, signed, unhashed

PYSOL_24 = {"kind": "pysol", "number": "24"}
PLAIN = {"Accept": "text/plain"}
OTHERS = KeyRing.from_seeds(["o" * 43])


@pytest.fixture
def app(app):
    """An app whose secret deals are the same each time; all variants begin with a move."""
    with app.app_context():
        set_world(app, replace(world(), random_bytes=random.Random("deals").randbytes))
    return app


@pytest.fixture(scope="module")
def auditor(migrated_file):
    """A client of an app that only audits, shared by tests that leave nothing behind."""
    app = create_app(
        Settings(
            database_url=f"sqlite:///{migrated_file}", secret_key="s" * 32, signing_keys="t" * 43, rate_limits=False
        )
    )
    app.testing = False
    yield Client(app)
    with app.app_context():
        world().database.close()


def log_of(client, game, token=None):
    response = client.get(f"/v1/games/{game['id']}/log", token)
    assert response.status_code == 200, response.text
    return response.json


def text_of(client, game, query=""):
    response = client.get(f"/v1/games/{game['id']}/log{query}", headers=PLAIN)
    assert (response.status_code, response.content_type) == (200, "text/plain; charset=utf-8")
    return response.text


def send(client, body, content_type="application/json"):
    """Send bytes, text or a document to be audited."""
    if isinstance(body, dict):
        body = json.dumps(body)
    return client.post("/v1/audits", data=body, content_type=content_type)


def verdict_on(client, body, content_type="application/json"):
    response = send(client, body, content_type)
    assert response.status_code == 200, response.text
    return response.json


def fault_of(client, body, content_type="application/json"):
    """Return version and code of the fault of a log, None if it is valid."""
    fault = verdict_on(client, body, content_type)["fault"]
    return fault and (fault["version"], fault["code"])


def missing(verdict):
    return [unchecked["code"] for unchecked in verdict["unchecked"]]


# -- The log


def test_the_log_holds_all_events_and_is_signed(client):
    game = client.first_moves(client.deal(deal=PYSOL_24), most=5)
    log = log_of(client, game)
    assert list(log) == ["format", "game", "events", "head", "seed", "signature"]
    assert (log["format"], log["game"], log["head"], log["seed"]) == (1, game["id"], game["head"], None)
    assert log["events"] == client.get(f"/v1/games/{game['id']}/events").json["items"]
    keys = KeyRing.from_jwks(client.get("/.well-known/jwks.json").json)
    assert keys.read(log["signature"]) == Statement(game["id"], game["version"], game["head"])


def test_the_log_of_a_secret_deal_has_the_seed_once_the_game_is_over(client):
    game = client.deal()
    assert log_of(client, game)["seed"] is None
    assert "Seed" not in text_of(client, game)
    game = client.play(game, "resign")
    assert log_of(client, game)["seed"] == game["deal"]["seed"]
    assert f'[Seed "{game["deal"]["seed"]}"]' in text_of(client, game)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/*", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("image/png", "application/json"),
        ("text/plain;q=0.5, application/json", "application/json"),
        ("text/plain", "text/plain"),
        ("text/*", "text/plain"),
        ("text/plain, application/json;q=0.5", "text/plain"),
    ],
)
def test_the_form_of_the_log_follows_accept(client, accept, kind):
    game = client.deal(deal=PYSOL_24)
    response = client.get(f"/v1/games/{game['id']}/log", headers={"Accept": accept} if accept else {})
    assert (response.status_code, response.mimetype) == (200, kind)
    assert response.headers["Vary"] == "Accept, Accept-Encoding"
    assert response.headers["Cache-Control"] == "no-store"
    ending = "txt" if kind == "text/plain" else "json"
    name = f"monte-carlo-{game['id'][-12:]}.{ending}"
    assert response.headers["Content-Disposition"] == f'inline; filename="{name}"'


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_text_and_the_document_are_the_same_log(client, variant):
    game = client.first_moves(client.deal(variant, deal={"client_seed": 'a "seed" \\ of mine\n'}), most=6)
    game = client.play(game, "undo", "redo", "undo")
    assert parse_log(text_of(client, game)) == log_of(client, game)
    assert parse_log(text_of(client, client.play(game, "resign"))) == log_of(client, game)


def test_the_main_line_is_notation_alone_and_marked(client):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)], "close_up", "undo", "undo", [(2, 4), (1, 5)])
    main = text_of(client, game, "?line=main")
    assert '[Line "main"]' in main
    assert main.endswith("\n1. 2Cd2-2De1 *\n")
    assert text_of(client, game, "?line=full") == text_of(client, game)
    assert "3. undo 4. undo" in text_of(client, game)
    assert fault_of(client, main, "text/plain") is None
    for headers in ({}, {"Accept": "application/json"}):
        problem = refused(client.get(f"/v1/games/{game['id']}/log?line=main", headers=headers), 422, "invalid_query")
        assert problem["errors"][0]["field"] == "line"


@pytest.mark.parametrize("query", ["line=", "line=MAIN", "line=side", "line=main&line=main", "main=1", "format=text"])
def test_no_other_line_is_asked_for(client, query):
    game = client.deal(deal=PYSOL_24)
    refused(client.get(f"/v1/games/{game['id']}/log?{query}", headers=PLAIN), 422, "invalid_query")
    refused(client.get(f"/v1/games/{game['id']}/audit?{query}"), 422, "invalid_query")


def test_a_private_game_shows_its_log_to_its_owner_alone(client):
    game, other = client.deal(visibility="private"), client.deal()
    for path in (f"/v1/games/{game['id']}/log", f"/v1/games/{game['id']}/audit"):
        for token in (None, "x", other["token"]):
            refused(client.get(path, token), 404, "game_not_found")
        assert client.get(path, game["token"]).status_code == 200
    assert verdict_on(client, log_of(client, game, game["token"]))["authentic"] is True


@pytest.mark.parametrize("path", ["log", "audit"])
def test_there_is_no_log_of_a_game_that_is_not(client, path):
    refused(client.get(f"/v1/games/00000000-0000-4000-8000-000000000000/{path}"), 404, "game_not_found")
    refused(client.get(f"/v1/games/no-uuid/{path}"), 404, "not_found")


def test_a_hidden_log_holds_no_card_that_was_not_shown(client):
    game = client.first_moves(client.deal(), most=4)
    shown = {card for row in game["grid"] for card in row} | set(game["removed_cards"])
    log, plain = log_of(client, game), re.sub(r"\[(Game|Head|Signature) .*", "", text_of(client, game))
    for written in (json.dumps(log["events"]), plain, text_of(client, game, "?line=main")):
        assert set(re.findall(r"\b[A23456789TJQK][CDHS](?=\b|[a-e]\d)", written)) == shown - {None}


# -- Audits of games that are kept


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_game_is_valid_at_every_stage(client, variant):
    game = client.deal(variant)
    for move in (None, 0, 0, "undo", "redo", 0, 0, "resign"):
        move = game["legal_moves"][0] if move == 0 and game["legal_moves"] else move
        game = client.play(game, move) if move else game
        verdict = client.get(f"/v1/games/{game['id']}/audit").json
        over = game["status"] in ("won", "lost")
        assert (verdict["valid"], verdict["authentic"], verdict["fault"]) == (True, True, None)
        assert (verdict["finished"], verdict["revealed"]) == (over, over)
        assert missing(verdict) == ([] if over else ["deal"])
        assert verdict["checked"] == game["version"]
        assert verdict["position"] == {name: game[name] for name in verdict["position"]}


@pytest.mark.parametrize("deal", [PYSOL_24, {"kind": "numbered", "number": "7"}])
def test_an_open_deal_leaves_nothing_unchecked(client, deal):
    game = client.first_moves(client.deal(deal=deal), most=5)
    verdict = client.get(f"/v1/games/{game['id']}/audit").json
    assert (verdict["valid"], verdict["finished"], verdict["revealed"], verdict["unchecked"]) == (True, False, True, [])


def test_a_joint_deal_is_proved_from_its_commitment_to_its_reveal(client):
    deal = client.post("/v1/deals", {}).json
    game = client.deal(deal={"id": deal["id"], "client_seed": "mine"})
    receipts = [game["receipt"]]
    for move in (game["legal_moves"][0], "close_up", "resign"):
        answer = client.move(game, move).json
        receipts.append(answer["receipt"])
    log = log_of(client, game)
    assert log["events"][0]["data"]["deal"]["commitment"] == deal["commitment"]
    verdict = verdict_on(client, log | {"receipts": receipts})
    assert (verdict["valid"], verdict["authentic"], verdict["revealed"], verdict["unchecked"]) == (True, True, True, [])


@pytest.mark.parametrize(
    ("change", "version", "code"),
    [
        ("UPDATE events SET data = replace(data, '2C', '2H') WHERE version = 2", 2, "unexpected_event"),
        ("UPDATE events SET at = at + 1 WHERE version = 3", 3, "wrong_hash"),
        ("UPDATE events SET at = 0 WHERE version = 3", 3, "time_goes_back"),
        ("UPDATE events SET hash = :zeros WHERE version = 1", 1, "wrong_hash"),
        ("UPDATE events SET type = 'compacted', data = '{}' WHERE version = 2", 2, "nothing_to_close_up"),
        ("DELETE FROM events WHERE version = 3", 3, "nothing_to_redo"),
        ("DELETE FROM events WHERE version = 6", 5, "wrong_head"),
        ("UPDATE games SET head = :zeros", 6, "wrong_head"),
    ],
)
def test_what_an_operator_changed_by_sql_is_found(client, the_world, change, version, code):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)], "undo", "redo", "undo", "redo")
    with the_world.database.writing() as connection:
        connection.execute(text(change), {"zeros": bytes(32)})
    verdict = client.get(f"/v1/games/{game['id']}/audit").json
    assert (verdict["fault"]["version"], verdict["fault"]["code"]) == (version, code)
    assert (verdict["valid"], verdict["authentic"]) == (False, False)


# -- Audits of logs that are sent


def test_a_log_sent_back_gets_the_verdict_of_the_game(client):
    game = client.first_moves(client.deal(deal=PYSOL_24), most=8)
    verdict = client.get(f"/v1/games/{game['id']}/audit").json
    assert verdict_on(client, log_of(client, game)) == verdict
    assert verdict_on(client, text_of(client, game), "text/plain") == verdict
    assert verdict_on(client, text_of(client, game), "text/plain; charset=utf-8") == verdict


def test_an_audit_changes_nothing_and_its_answer_is_not_kept(client, the_world):
    game = client.deal(deal=PYSOL_24)
    log = log_of(client, game)

    def rows():
        with the_world.database.reading() as connection:
            return [connection.execute(text(f"SELECT * FROM {table}")).all() for table in ("deals", "games", "events")]

    before = rows()
    for response in (send(client, log), send(client, b"{"), client.get(f"/v1/games/{game['id']}/audit")):
        assert response.headers["Cache-Control"] == "no-store"
    assert rows() == before


def test_a_log_of_another_server_is_audited_all_the_same(client):
    log = signed(play("monte-carlo", "elsewhere", "joint").log, OTHERS)
    verdict = verdict_on(client, log)
    assert (verdict["valid"], verdict["authentic"], missing(verdict)) == (True, None, ["signature"])


def test_a_log_made_by_hand_is_audited_as_far_as_it_goes(client):
    verdict = verdict_on(client, '[Deal "pysol 24"]\n\n1. 2De1-2Cd2 2. / 3. undo *', "text/plain")
    assert (verdict["valid"], verdict["authentic"], verdict["revealed"]) == (True, None, True)
    assert missing(verdict) == ["hashes", "times", "signature"]
    assert verdict["position"]["grid"][0] == ["4C", "5H", "QC", "5D", None]
    assert fault_of(client, unhashed(play("quatorze", "by hand", "deck").log)) is None


def test_a_false_log_is_a_verdict_that_says_where_and_what(client):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)], "close_up")
    log = log_of(client, game)
    log["events"][3]["data"]["cards"] = ["KC", "KD"]
    verdict = verdict_on(client, signed(chained(log)))
    assert (verdict["valid"], verdict["authentic"], verdict["checked"]) == (False, True, 3)
    fault = verdict["fault"]
    assert (fault["version"], fault["code"]) == (4, "unexpected_event")
    assert fault["expected"]["data"]["cards"] == ["AC", "9H"]
    assert fault["found"]["data"]["cards"] == ["KC", "KD"]
    assert verdict["position"]["version"] == 3


def test_not_even_the_deal_of_a_false_log_may_be_good(client):
    log = play("monte-carlo", "no deal", "pysol").log
    log["events"][0]["data"]["variant"] = "klondike"
    verdict = verdict_on(client, log)
    assert (verdict["fault"]["code"], verdict["checked"], verdict["position"]) == ("bad_deal", 0, None)


def test_receipts_catch_an_operator_who_cuts_or_rewrites_a_log(client, the_world):
    game = client.deal(deal=PYSOL_24)
    receipts = [game["receipt"]]
    receipts += [client.move(game, move).json["receipt"] for move in ([(1, 5), (2, 4)], "close_up", "undo")]
    log = log_of(client, game)
    assert fault_of(client, log | {"receipts": receipts}) is None
    cut = signed({**log, "events": log["events"][:2], "head": log["events"][1]["hash"]}, the_world.keys)
    assert fault_of(client, cut) is None
    verdict = verdict_on(client, cut | {"receipts": receipts})
    assert (verdict["authentic"], verdict["fault"]["code"]) == (True, "log_cut")
    rewritten = copied(log)
    rewritten["events"][-1]["at"] = "9999-12-31T23:59:59.999Z"
    rewritten = signed(chained(rewritten), the_world.keys)
    assert fault_of(client, rewritten) is None
    assert fault_of(client, rewritten | {"receipts": receipts}) == (5, "log_rewritten")


def test_receipts_in_a_text_stand_in_tags(client):
    game = client.deal(deal=PYSOL_24)
    receipt = client.move(game, [(1, 5), (2, 4)]).json["receipt"]
    whole = text_of(client, game)
    assert fault_of(client, f'[Receipt "{game["receipt"]}"]\n[Receipt "{receipt}"]\n{whole}', "text/plain") is None
    cut = log_of(client, game)
    cut = cut | {"events": cut["events"][:1], "head": cut["events"][0]["hash"], "receipts": [receipt]}
    assert fault_of(client, format_log(cut), "text/plain") == (1, "log_cut")


def test_old_receipts_stay_good_after_a_rotation_of_keys(client, change_world):
    game = client.deal(deal=PYSOL_24)
    before = log_of(client, game)
    changed = change_world(keys=KeyRing.from_seeds(["n" * 43, "t" * 43]))
    game = client.play(game, [(1, 5), (2, 4)])
    after = log_of(client, game)
    assert len(client.get("/.well-known/jwks.json").json["keys"]) == 2
    assert changed.keys.read(after["signature"]).version == 2
    assert KeyRing.from_seeds(["t" * 43]).read(after["signature"]) is None
    for log in (before, after, after | {"receipts": [before["signature"]]}):
        assert verdict_on(client, log)["authentic"] is True


def test_the_keys_are_published_for_all_to_check(client):
    response = client.get("/.well-known/jwks.json")
    assert response.headers["Cache-Control"].startswith("public")
    (key,) = response.json["keys"]
    assert (key["kty"], key["crv"], key["use"]) == ("OKP", "Ed25519", "sig")
    assert "d" not in key


# -- Bad input

LOG = play_moves("monte-carlo", "a game", "joint", "a2-b2 close_up undo e4-e5 resign").log
JSON = json.dumps(LOG).encode()
TEXT = format_log(LOG).encode()
ACCENTED = play_moves("monte-carlo", "a game", "pysol", "e1-d2").log | {"result": "é"}


def test_the_log_that_is_spoilt_below_is_good(auditor):
    for body, content_type in ((JSON, "application/json"), (TEXT, "text/plain")):
        verdict = verdict_on(auditor, body, content_type)
        assert (verdict["valid"], verdict["authentic"], verdict["finished"], verdict["revealed"]) == (True,) * 4


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b" ", "bad_json"),
        (JSON[:-1], "bad_json"),
        (JSON[: len(JSON) // 2], "bad_json"),
        (JSON + JSON, "bad_json"),
        (JSON + b"\n" + JSON, "bad_json"),
        (JSON + b"x", "bad_json"),
        (gzip.compress(JSON, mtime=0), "bad_json"),
        (bytes(range(256)), "bad_json"),
        (b"\0" * 1000, "bad_json"),
        (JSON.decode().encode("utf-16"), "bad_json"),
        (JSON.decode().encode("utf-16-le"), "bad_json"),
        (JSON.decode().encode("utf-32"), "bad_json"),
        (json.dumps(ACCENTED, ensure_ascii=False).encode("latin-1"), "bad_json"),
        (b"\xef\xbb\xbf" + JSON, "bad_json"),
        (TEXT, "bad_json"),
        (JSON.replace(b'"format": 1', b'"format": 1, "format": 1'), "bad_json"),
        (JSON.replace(b'"format": 1', b'"format": NaN'), "bad_json"),
        (JSON.replace(b'"format": 1', b'"format": 1e999'), "bad_json"),
        (JSON.replace(b'"format": 1', b'"format": ' + b"9" * 401), "bad_json"),
        (JSON.replace(b'"format": 1', b'"format": ' + b"[" * 51 + b"]" * 51), "bad_json"),
        (b'{"events":' * 100 + b"1" + b"}" * 100, "bad_json"),
        (b"[" * 1_000_000, "bad_json"),
        (b'{"a":' * 200_000, "bad_json"),
        (b"[" * 100_000 + b"]" * 100_000, "bad_json"),
    ],
    ids=shortly,
)
def test_what_is_no_json_is_unreadable(auditor, body, code):
    refused(send(auditor, body), 400, code)


@pytest.mark.parametrize(
    "body",
    [
        b" ",
        TEXT[:-5],
        TEXT[: len(TEXT) // 2],
        TEXT + TEXT,
        TEXT + b"\n\n" + TEXT,
        gzip.compress(TEXT, mtime=0),
        bytes(range(256)),
        b"\0" * 1000,
        TEXT.decode().encode("utf-16"),
        TEXT.decode().encode("utf-16-le"),
        b"[ClientSeed \"\xe9\"]\n" + TEXT,
        JSON,
        b"[" * 1_000_000,
        b"1. " * 100_000,
        b"[Deal \"" + b"\\" * 100_000,
        b"\\" * 1_000_000,
    ],
    ids=shortly,
)  # fmt: skip
def test_what_is_no_notation_cannot_be_read(auditor, body):
    refused(send(auditor, body, "text/plain"), 422, "unreadable_log")


def test_line_ends_of_windows_and_a_mark_of_byte_order_are_taken_in_notation(auditor):
    verdict = verdict_on(auditor, TEXT, "text/plain")
    for body in (TEXT.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + TEXT, b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n")):
        assert verdict_on(auditor, body, "text/plain") == verdict
    assert verdict_on(auditor, JSON.replace(b", ", b",\r\n"), "application/json") == verdict


@pytest.mark.parametrize(
    "content_type",
    [None, "", "text/html", "application/gzip", "application/x-chess-pgn", "multipart/form-data", "application/jsonl"],
)
def test_no_other_content_type_is_read(auditor, content_type):
    refused(send(auditor, JSON, content_type), 415, "wrong_content_type")


@pytest.mark.parametrize(
    "body", [b"null", b"true", b"0", b'"log"', b"[]", b"{}", b'{"events": []}', b'{"events": [1]}']
)
def test_json_that_is_no_log_cannot_be_read(auditor, body):
    refused(send(auditor, body), 422, "unreadable_log")


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "1"}, {"format": True}, {"format": 0}, {"format": None}, {"game": 1}, {"events": {}},
        {"events": [None]}, {"head": 1}, {"seed": 1}, {"signature": {}}, {"receipts": "x"}, {"receipts": [1]},
        {"note": "hello"}, {"\ud800": 1}, {"events": [{"type": "\ud800", "data": {}}]},
        {"events": [{"type": ["dealt"], "data": {}}]},
    ],
    ids=shortly,
)  # fmt: skip
def test_fields_that_cannot_be_read_are_refused(auditor, fields):
    refused(send(auditor, {**LOG, **fields}), 422, "unreadable_log")


@pytest.mark.parametrize("format", [2, 99, 2**63, 10**399])
def test_a_format_to_come_is_newer_than_known(auditor, format):
    problem = refused(send(auditor, {**LOG, "format": format}), 422, "unknown_format")
    assert "newer" in problem["detail"]


def test_a_deal_in_notation_that_cannot_be_is_refused(auditor):
    for tags, code in (
        ('[Variant "klondike"]', "unknown_variant"),
        ('[Deal "pysol 0"]', "bad_number"),
        ('[Deck "4C"]', "bad_deck"),
        ('[Deck "1C"]', "bad_card"),
        ('[Deal "pysol 24"]\n[Rules "rows=1"]', "impossible_rules"),
    ):
        refused(send(auditor, f"{tags}\n\n*", "text/plain"), 422, code)


def test_events_out_of_order_are_a_verdict(auditor):
    log = copied(LOG)
    log["events"].reverse()
    assert fault_of(auditor, log) == (1, "unexpected_event")
    log = copied(LOG)
    log["events"][1:3] = log["events"][2:0:-1]
    assert fault_of(auditor, log) == (2, "nothing_to_close_up")


def test_events_of_two_games_are_a_verdict(auditor):
    other = play_moves("monte-carlo", "another game", "pysol", "")
    assert fault_of(auditor, {**LOG, "events": LOG["events"] + other.log["events"]})[1] == "unexpected_event"


def test_a_seed_that_does_not_open_the_commitment_is_a_verdict(auditor):
    log = copied(LOG)
    log["events"][-1]["data"]["seed"] = log["seed"] = "0" * 64
    assert fault_of(auditor, signed(chained(log))) == (7, "commitment_not_opened")


@pytest.mark.parametrize(
    ("signature", "authentic"),
    [
        (None, None),
        ("", None),
        ("x", None),
        ("\ud800", None),
        (OTHERS.sign(Statement(LOG["game"], 7, LOG["head"])), None),
        (play("monte-carlo", "another game").log["signature"], False),
        (LOG["signature"][:-4] + "AAAA", False),
        (LOG["signature"], True),
    ],
    ids=shortly,
)
def test_a_signature_is_a_finding_of_its_own(auditor, signature, authentic):
    verdict = verdict_on(auditor, {**LOG, "signature": signature})
    assert (verdict["valid"], verdict["authentic"]) == (True, authentic)


ODD = [
    2**53, 2**63, 2**64, -(2**64), 10**399, 1.5, 1e308, -0.0, "\ud800", "\udfff\ud800", "\0", "x" * 10_000, [[[[]]]],
    {"\ud800": 1},
]  # fmt: skip
PATHS = (
    "game", "events/1/game", "events/1/version", "events/1/move", "events/1/at", "events/1/hash", "events/1/previous",
    "events/1/note", "events/1/data", "events/1/data/cells", "events/1/data/cells/0", "events/1/data/cells/0/row",
    "events/1/data/cards/0", "events/3/data/cards/0", "events/3/data/stock", "events/4/data/to",
    "events/0/data/grid/0/0", "events/0/data/stock", "events/0/data/format", "events/0/data/rules",
    "events/0/data/rules/rows", "events/0/data/rules/match", "events/0/data/deal/client_seed",
    "events/0/data/deal/kind", "events/0/data/variant", "events/6/data/seed", "events/6/data/cards_left", "head",
    "seed", "result",
)  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=shortly)
def test_odd_values_anywhere_are_a_verdict_or_refused(auditor, value):
    """What no JSON writer takes must come back in a verdict too, as far as a verdict names what it found."""
    broken = []
    for path in PATHS:
        *way, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        for log in (copied(LOG), unhashed(LOG)):
            holder = log
            for step in way:
                holder = holder[step]
            holder[last] = value
            response = auditor.app.test_client().post("/v1/audits", json=log)
            if response.status_code == 200:
                assert not (response.json["valid"] and response.json["authentic"]), path
            elif (response.status_code, response.json["code"]) not in (
                (422, "unreadable_log"),
                (422, "unknown_format"),
            ):
                broken.append((path, response.status_code))
    assert broken == []


def test_no_change_of_a_field_is_a_fault_of_the_server(auditor):
    choice = random.Random("odd")
    for _ in range(150):
        log = copied(LOG)
        change_a_field(choice, log)
        change_a_field(choice, log)
        assert send(auditor, log).status_code in (200, 422)


# -- How much is read


@pytest.fixture
def small(settings):
    """A client of an app that reads logs of at most 2,048 bytes."""
    app = create_app(replace(settings, audit_body_limit=2048))
    yield Client(app)
    with app.app_context():
        world().database.close()


def test_a_log_over_the_limit_is_refused(small):
    log = unhashed(play_moves("simple-pairs", "small", "pysol", "").log)
    body = json.dumps(log)
    assert verdict_on(small, body + " " * (2048 - len(body)))["valid"]
    refused(send(small, body + " " * (2049 - len(body))), 413, "body_too_large")
    refused(send(small, "*" * 2049, "text/plain"), 413, "body_too_large")


class Unread:
    """A body that must not be read."""

    def read(self, *_):
        raise AssertionError("the body was read")

    readline = readlines = __iter__ = read


def test_a_hundred_megabytes_are_refused_before_they_are_read(client):
    for content_type in ("application/json", "text/plain"):
        body = {"wsgi.input": Unread(), "CONTENT_LENGTH": str(10**8)}
        response = client.post("/v1/audits", content_type=content_type, environ_overrides=body)
        refused(response, 413, "body_too_large")


def test_a_log_may_be_longer_than_other_bodies(client):
    log = play_long(400).log
    body = json.dumps(log)
    assert 65_536 < len(body) < 2**20
    assert verdict_on(client, body)["valid"]
    refused(client.post("/v1/games", data=body, content_type="application/json"), 413, "body_too_large")


def test_a_log_of_ten_thousand_events_is_taken(auditor):
    log = play_long(10_000).log
    for body, content_type in ((json.dumps(log), "application/json"), (format_log(log), "text/plain")):
        verdict = verdict_on(auditor, body, content_type)
        assert (verdict["valid"], verdict["authentic"], verdict["checked"]) == (True, True, 10_000)
