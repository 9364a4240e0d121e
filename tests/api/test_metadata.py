"""What a client keeps on its game: changed by PATCH, seen with the game, and never part of its log."""

import pytest

from tests.client import refused


def change(client, game, body, **options):
    """Change a game."""
    return client.ask("PATCH", f"/v1/games/{game['id']}", game["token"], json=body, **options)


def test_strings_are_kept_changed_and_taken_away(client):
    game = client.deal(metadata={"label": "first", "skin": "dark"})
    assert game["metadata"] == {"label": "first", "skin": "dark"}
    changed = change(client, game, {"metadata": {"label": "second", "skin": None, "note": "höher"}})
    assert changed.json["metadata"] == {"label": "second", "note": "höher"}
    assert client.get(f"/v1/games/{game['id']}").json == changed.json
    assert client.get(f"/v1/games/{game['id']}").headers["ETag"] == changed.headers["ETag"]
    assert client.play(game, "resign")["metadata"] == changed.json["metadata"]


def test_none_of_it_is_in_the_log(client):
    game = client.deal(metadata={"label": "findme"})
    before = client.get(f"/v1/games/{game['id']}/log").text
    change(client, game, {"metadata": {"label": "findmetoo"}, "visibility": "private"})
    after = client.get(f"/v1/games/{game['id']}/log", game["token"]).text
    assert before == after
    assert "findme" not in after


def test_visibility_is_changed(client):
    game = client.deal()
    assert change(client, game, {"visibility": "private"}).json["visibility"] == "private"
    refused(client.get(f"/v1/games/{game['id']}"), 404, "game_not_found")
    assert change(client, game, {"visibility": "public"}).status_code == 200
    assert client.get(f"/v1/games/{game['id']}").status_code == 200


def test_what_changes_nothing_keeps_the_tag(client):
    game = client.deal(metadata={"label": "x"})
    tag = client.get(f"/v1/games/{game['id']}").headers["ETag"]
    for body in ({}, {"metadata": {}}, {"metadata": {"label": "x", "gone": None}}, {"visibility": "public"}):
        assert change(client, game, body).headers["ETag"] == tag


def test_a_merge_patch_is_taken(client):
    game = client.deal()
    body = '{"metadata": {"label": "x"}}'
    answer = client.ask(
        "PATCH", f"/v1/games/{game['id']}", game["token"], data=body, content_type="application/merge-patch+json"
    )
    assert answer.json["metadata"] == {"label": "x"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"": "x"}, {"a" * 41: "x"}, {"a b": "x"}, {"ä": "x"}, {"a\n": "x"}, {"a": "x" * 201}, {"a": 1}, {"a": {}},
        {"a": "\ud800"}, {"a": "\0"}, [], "x", None, {str(n): "x" for n in range(17)},
    ],
)  # fmt: skip
def test_metadata_that_is_none_is_refused(client, metadata):
    game = client.deal()
    refused(change(client, game, {"metadata": metadata}), 422, "invalid_body")
    refused(client.post("/v1/games", {"metadata": metadata}), 422, "invalid_body")
    assert client.get(f"/v1/games/{game['id']}").json["metadata"] == {}


def test_no_more_than_sixteen_come_together(client):
    game = client.deal(metadata={str(n): "x" for n in range(16)})
    refused(change(client, game, {"metadata": {"17": "x"}}), 422, "too_much_metadata")
    assert change(client, game, {"metadata": {"17": "x", "0": None}}).status_code == 200


def test_what_is_taken_away_makes_room(client):
    game = client.deal(metadata={f"old{n}": "x" for n in range(16)})
    body = {"metadata": {**{f"old{n}": None for n in range(16)}, **{f"new{n}": "y" for n in range(16)}}}
    assert change(client, game, body).json["metadata"] == {f"new{n}": "y" for n in range(16)}


def test_faults_point_to_the_strings(client):
    problem = refused(client.post("/v1/games", {"metadata": {"a": 1, "b c": "x"}}), 422, "invalid_body")
    assert {fault["field"] for fault in problem["errors"]} == {"/metadata/a", "/metadata/b c"}


def test_only_the_owner_changes_a_game(client):
    game, other = client.deal(), client.deal()
    refused(change(client, {**game, "token": None}, {}), 401, "token_required")
    refused(change(client, {**game, "token": "x"}, {}), 401, "bad_token")
    refused(change(client, {**game, "token": other["token"]}, {}), 403, "not_yours")
    for body in ({"status": "won"}, {"visibility": "secret"}, {"visibility": None}, {"id": "x"}, []):
        refused(change(client, game, body), 422, "invalid_body")
