"""What browsers ask for and are told."""

import gzip

import pytest

from tests.client import SPEC

ORIGIN = {"Origin": "https://cards.example"}
PATHS = ["/v1/games", "/v1/games/x", "/v1/games/x/moves", "/v1/nowhere", "/openapi.json", "/nowhere", "/docs/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
def test_a_preflight_is_right_on_every_path(client, path, method):
    asked = {
        **ORIGIN,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization, idempotency-key, if-match, prefer, last-event-id, content-type",
    }
    answer = client.app.test_client().options(path, headers=asked)
    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert method in answer.headers["Access-Control-Allow-Methods"]
    allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "idempotency-key", "if-match", "prefer", "last-event-id", "content-type"} <= set(allowed)
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert int(answer.headers["Access-Control-Max-Age"]) > 0


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_may_be_read_from_any_site_without_cookies(client, path):
    answer = client.get(path, headers=ORIGIN)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_every_documented_header_can_be_read(client):
    exposed = client.get("/v1/variants", headers=ORIGIN).headers["Access-Control-Expose-Headers"].split(", ")
    documented = {
        name
        for path in SPEC["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
        for response in operation["responses"].values()
        for name in response["headers"]
    }
    assert documented <= set(exposed)


def test_options_without_a_preflight_lists_the_methods(client):
    answer = client.app.test_client().options("/v1/games")
    assert answer.status_code == 200
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}


@pytest.mark.parametrize("path", ["/v1/variants", "/v1/nowhere", "/docs/", "/openapi.json", "/docs/problems"])
def test_answers_are_taken_as_what_they_say_they_are(client, path):
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Strict-Transport-Security" not in headers


def test_an_answer_that_is_still_good_keeps_the_policy_it_had(client):
    path = "/docs/oauth2-redirect.html"
    page = client.get(path)
    assert "script-src" in page.headers["Content-Security-Policy"]
    again = client.get(path, headers={"If-None-Match": page.headers["ETag"]})
    assert again.status_code == 304
    assert "Content-Security-Policy" not in again.headers


def test_https_only_where_it_is_set(client_with):
    client = client_with(hsts=3600)
    assert client.get("/healthz").headers["Strict-Transport-Security"] == "max-age=3600; includeSubDomains"


def test_large_answers_are_compressed_for_those_who_can_read_them(client):
    plain = client.get("/v1/variants")
    packed = client.app.test_client().get("/v1/variants", headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert gzip.decompress(packed.data) == plain.data
    assert "Content-Encoding" not in plain.headers
    small = client.app.test_client().get("/healthz", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in small.headers


@pytest.mark.parametrize("path", ["/v1/games/export", "/v1/games/{id}/log", "/v1/games/{id}/events"])
def test_lines_and_logs_are_compressed_too(client, path):
    game = client.first_moves(client.deal(deal={"kind": "pysol", "number": "24"}))
    asked = {"Accept": "application/x-ndjson, */*;q=0.1"}
    plain = client.get(path.format(**game), headers=asked)
    packed = client.app.test_client().get(path.format(**game), headers={**asked, "Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 2


def test_a_stream_is_never_compressed(client):
    game = client.play(client.deal(), "resign")
    asked = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
    assert (
        "Content-Encoding" not in client.app.test_client().get(f"/v1/games/{game['id']}/events", headers=asked).headers
    )
