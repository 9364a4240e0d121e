"""Lists of games: filters, pages, and logs in bulk."""

import json

import pytest

from service.engine.audit import audit
from tests.client import refused


@pytest.fixture
def dealt(client, change_world):
    """Games of several kinds, one dealt every minute, last first."""
    now = 1_800_000_000_000

    def clock():
        nonlocal now
        now += 60_000
        return now

    change_world(now=clock)
    games = [
        client.deal(deal={"kind": "pysol", "number": "24"}),
        client.deal("monte-carlo-wave"),
        client.deal(),
        client.deal(visibility="private"),
        client.deal(deal={"kind": "pysol", "number": "24"}, metadata={"label": "again"}),
    ]
    client.play(games[2], "resign")
    del games[3]
    return [client.get(f"/v1/games/{game['id']}").json for game in reversed(games)]


def ids(response):
    """Return the ids of a page."""
    assert response.status_code == 200, response.text
    return [game["id"] for game in response.json["items"]]


def test_public_games_are_listed_the_last_dealt_first(client, dealt):
    assert ids(client.get("/v1/games")) == [game["id"] for game in dealt]
    for listed, game in zip(client.get("/v1/games").json["items"], dealt, strict=True):
        assert listed == {name: game[name] for name in listed}


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("status=lost", [1]),
        ("status=won", []),
        ("variant=monte-carlo", [0, 1, 3]),
        ("variant=weddings", [0, 1, 3]),
        ("variant=monte-carlo-wave&status=playing", [2]),
        ("variant=monte-carlo&status=lost", [1]),
        ("deal=ffffffff-ffff-4fff-bfff-ffffffffffff", []),
    ],
)
def test_filters(client, dealt, query, places):
    assert ids(client.get(f"/v1/games?{query}")) == [dealt[place]["id"] for place in places]


def test_games_of_one_deal(client, dealt):
    assert ids(client.get(f"/v1/games?deal={dealt[0]['deal']['id']}")) == [dealt[0]["id"], dealt[3]["id"]]


def test_games_of_a_time(client, dealt):
    since, until = dealt[2]["created_at"], dealt[0]["created_at"]
    assert ids(client.get("/v1/games", query_string={"since": since})) == [game["id"] for game in dealt[:3]]
    assert ids(client.get("/v1/games", query_string={"until": until})) == [game["id"] for game in dealt[1:]]
    both = {"since": since, "until": until}
    assert ids(client.get("/v1/games", query_string=both)) == [game["id"] for game in dealt[1:3]]
    for time in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59-12:00"):
        assert client.get("/v1/games", query_string={"since": time, "until": time}).json["items"] == []


def test_pages_follow_on_and_stay_as_they_were(client, dealt):
    page, found = client.get("/v1/games?limit=2"), []
    while True:
        found += ids(page)
        following = page.json["next"]
        assert page.headers.get("Link") == (f'<{following}>; rel="next"' if following else None)
        if not following:
            break
        client.deal()  # what is dealt meanwhile comes before the first page
        page = client.get(following)
    assert found == [game["id"] for game in dealt]


def test_pages_keep_their_filters(client, dealt):
    page = client.get("/v1/games?limit=1&variant=weddings&status=playing")
    assert ids(page) == [dealt[0]["id"]]
    assert ids(client.get(page.json["next"])) == [dealt[3]["id"]]
    assert client.get(page.json["next"]).json["next"] is None


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=101", "limit=x", "limit=-1", "status=over", "deal=1", "cursor=1", "cursor=", "since=yesterday",
        "since=2026-01-01T00:00:00", "until=1", "page=2", "status=won&status=lost", "variant=",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v1/games", "/v1/games/export"])
def test_queries_that_are_none(client, path, query):
    if path.endswith("export") and query == "limit=101":
        query = "limit=1001"
    refused(client.get(f"{path}?{query}"), 422, "invalid_query")


def test_a_variant_that_is_none(client):
    refused(client.get("/v1/games?variant=klondike"), 422, "unknown_variant")


def test_private_games_are_listed_nowhere(client, dealt):
    game = client.deal(visibility="private")
    for path in ("/v1/games", "/v1/games/export"):
        assert game["id"] not in client.get(path).text
        assert game["id"] not in client.get(f"{path}?deal={game['deal']['id']}", game["token"]).text
    client.ask("PATCH", f"/v1/games/{game['id']}", game["token"], json={"visibility": "public"})
    assert game["id"] in client.get("/v1/games").text


def test_logs_are_exported_one_a_line(client, dealt, the_world):
    export = client.get("/v1/games/export")
    assert export.mimetype == "application/x-ndjson"
    logs = [json.loads(line) for line in export.text.splitlines()]
    assert [log["game"] for log in logs] == [game["id"] for game in dealt]
    for log in logs:
        assert log == client.get(f"/v1/games/{log['game']}/log").json
        assert audit(log, the_world.keys).valid
    assert [bool(log["seed"]) for log in logs] == [game["status"] == "lost" for game in dealt]


def test_exports_go_on_where_they_ended(client, dealt):
    first = client.get("/v1/games/export?limit=3")
    assert len(first.text.splitlines()) == 3
    following = first.headers["Link"].partition(">")[0].removeprefix("<")
    second = client.get(following)
    assert [json.loads(line)["game"] for line in second.text.splitlines()] == [dealt[3]["id"]]
    assert "Link" not in second.headers
