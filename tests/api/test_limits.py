"""Limits: how often one may ask, told in every answer, and refused beyond."""

import io
import shutil
import subprocess
import time

import pytest
import redis
from werkzeug.test import EnvironBuilder, run_wsgi_app

from tests.client import refused
from tests.server import free_port


@pytest.fixture
def limited(client_with):
    """Return a client of an app with these limits."""
    return lambda **limits: client_with(rate_limits=True, **limits)


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("games", "/v1/games", {}),
        ("games", "/v1/deals", {}),
        ("moves", "/v1/games/{id}/moves", {"moves": [{"type": "undo"}]}),
        ("hints", "/v1/games/{id}/hints", {"level": "first"}),
        ("hints", "/v1/games/{id}/analysis", None),
        ("audits", "/v1/audits", {"events": []}),
        ("audits", "/v1/games/{id}/audit", None),
        ("audits", "/v1/games/export", None),
        ("reads", "/v1/games/{id}", None),
        ("reads", "/v1/games", None),
        ("reads", "/v1/variants", None),
    ],
)
def test_each_limit(limited, client, name, path, body):
    game = client.deal()
    limited_client = limited(**{f"limit_{name}": "2/minute"})

    def ask():
        sent = {} if body is None else {"json": body}
        return limited_client.ask("GET" if body is None else "POST", path.format(**game), game["token"], **sent)

    left = []
    for _ in range(2):
        answer = ask()
        assert answer.headers["RateLimit-Policy"] == f'"{name}";q=2;w=60'
        left.append(answer.headers["RateLimit"].partition(";t=")[0])
    assert left == [f'"{name}";r=1', f'"{name}";r=0']
    answer = ask()
    refused(answer, 429, "too_many_requests")
    assert answer.headers["RateLimit"].startswith(f'"{name}";r=0;t=')
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


def test_moves_are_counted_by_game_and_what_is_no_token_by_address(limited):
    client = limited(limit_moves="1/minute")
    first, second = client.deal(), client.deal()
    for game in (first, second):
        assert client.move(game, "resign").status_code == 201
    refused(client.move(first, "undo"), 429, "too_many_requests")
    for bogus, status in (("x", 401), ("y", 429), ("z", 429)):
        assert client.move({**first, "token": bogus}, "undo").status_code == status


def test_each_move_of_a_batch_counts(limited):
    """What grows a log is limited, not only what knocks at the door."""
    client = limited(limit_moves="10/minute")
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    answer = client.move(game, game["legal_moves"][0], "undo", "redo", "undo")
    assert answer.headers["RateLimit"].startswith('"moves";r=6;')
    for left in (5, 4):  # the request itself counts, the moves that were refused do not
        answer = client.move(game, *["redo", "undo"] * 4)
        refused(answer, 429, "too_many_requests")
        assert answer.headers["RateLimit"].startswith(f'"moves";r={left};')
    assert client.move(game, "redo").status_code == 201
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 6


def test_what_is_refused_changes_nothing_and_is_not_kept(limited):
    client = limited(limit_games="1/minute")
    client.deal()
    refused(client.post("/v1/games", {}), 429, "too_many_requests")
    assert len(client.get("/v1/games").json["items"]) == 1


def test_health_is_not_limited(limited):
    client = limited(limit_reads="1/minute")
    assert all(client.get("/healthz").status_code == 200 for _ in range(3))


def test_no_limits_no_headers(client):
    assert "RateLimit" not in client.get("/v1/variants").headers


@pytest.mark.parametrize(("proxies", "counted"), [(0, ["same"] * 3), (1, ["2", "2", "3"]), (2, ["1", "1", "1"])])
def test_addresses_behind_proxies(limited, proxies, counted):
    """Only as many entries are believed as there are proxies of ours; what stands before was written by anyone."""
    client, seen = limited(limit_reads="100/minute", trusted_proxies=proxies), dict.fromkeys(counted, 100)
    for forwarded, who in zip(("9, 1, 2", "8, 1, 2", "9, 1, 3"), counted, strict=True):
        answer = client.get("/v1/variants", headers={"X-Forwarded-For": forwarded})
        seen[who] -= 1
        assert answer.headers["RateLimit"].startswith(f'"reads";r={seen[who]};')


@pytest.fixture
def redis_url(tmp_path):
    """A Redis of the test's own."""
    port = free_port()
    options = ["--port", str(port), "--dir", str(tmp_path), "--save", ""]
    with subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL) as server:
        url = f"redis://127.0.0.1:{port}"
        with redis.from_url(url) as connection:
            while True:
                try:
                    connection.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.02)
        yield url
        server.terminate()


@pytest.mark.skipif(
    not shutil.which("redis-server"), reason="redis-server is not installed (on Debian: apt-get install redis-server)"
)
def test_workers_count_together_in_redis_and_go_on_without(limited, redis_url):
    """Two apps stand for two workers; when the Redis goes, each counts by itself and nobody is turned away for it."""
    first, second = (limited(limit_reads="3/minute", redis_url=redis_url) for _ in range(2))
    asked = [client.get("/v1/variants") for client in (first, second, first, second)]
    assert [answer.status_code for answer in asked] == [200, 200, 200, 429]
    assert [answer.headers["RateLimit"].split(";")[1] for answer in asked] == ["r=2", "r=1", "r=0", "r=0"]
    with redis.from_url(redis_url) as connection:
        connection.shutdown(nosave=True)
    assert [client.get("/v1/variants").status_code for client in (first, second)] == [200, 200]


def test_without_its_redis_a_worker_counts_by_itself(limited):
    client = limited(limit_reads="2/minute", redis_url="redis://127.0.0.1:1")
    assert [client.get("/v1/variants").status_code for _ in range(3)] == [200, 200, 429]


def test_paths_and_headers_have_bounds(client):
    assert client.get(f"/v1/games?variant={'x' * 4000}").status_code == 422
    refused(client.get(f"/v1/games?variant={'x' * 4100}"), 414, "uri_too_long")
    refused(client.get(f"/{'x' * 5000}"), 414, "uri_too_long")
    refused(client.get("/v1/games", headers={"X-Long": "x" * 17000}), 431, "headers_too_large")
    refused(client.get("/v1/games", headers={f"X-{n}": "x" * 500 for n in range(40)}), 431, "headers_too_large")
    long = f"application/json; x={'x' * 17000}"
    refused(client.post("/v1/games", data=b"{}", content_type=long), 431, "headers_too_large")
    assert client.get("/v1/games", headers={"X-Long": "x" * 15000}).status_code == 200


def test_a_body_that_ends_without_a_length_as_in_http_2(client):
    def send(body):
        environment = EnvironBuilder("/v1/games", method="POST", content_type="application/json").get_environ()
        environment |= {"wsgi.input_terminated": True, "wsgi.input": io.BytesIO(body)}
        return run_wsgi_app(client.app, environment)[1]

    most = client.app.config["MAX_CONTENT_LENGTH"]
    bodies = (b"{}", b"", b"{}" + b" " * (most - 2), b"{}" + b" " * (most - 1))
    assert [send(body)[:3] for body in bodies] == ["201", "400", "201", "413"]
