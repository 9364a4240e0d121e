"""Who may move and who may look."""

import pytest

from service.tokens import _read, make_token
from tests.client import refused

RESIGN = {"moves": [{"type": "resign"}]}


def test_looking_at_a_public_game_needs_no_token(client):
    game = client.deal()
    for path in ("", "/events", "/positions/1"):
        assert client.get(f"/v1/games/{game['id']}{path}").status_code == 200


def test_moving_needs_the_token(client):
    game, other = client.deal(), client.deal()
    path = f"/v1/games/{game['id']}/moves"
    response = client.post(path, RESIGN)
    refused(response, 401, "token_required")
    assert response.headers["WWW-Authenticate"] == "Bearer"
    refused(client.post(path, RESIGN, "mc_nonsense"), 401, "bad_token")
    refused(
        client.post(path, RESIGN, game["token"][:-1] + ("0" if game["token"][-1] != "0" else "1")), 401, "bad_token"
    )
    refused(client.post(path, RESIGN, other["token"]), 403, "not_yours")
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 1
    assert client.post(path, RESIGN, game["token"]).status_code == 201


@pytest.mark.parametrize(
    "header",
    ["Basic dXNlcjpwYXNz", "Bearer", "Bearer ", "bearer a b", "x", "", "Bearer é", "Bearer mc_", "Bearer mc__"],
)
def test_headers_that_are_no_token(client, header):
    game = client.deal()
    response = client.post(f"/v1/games/{game['id']}/moves", RESIGN, headers={"Authorization": header})
    refused(response, 401, "bad_token")


def test_a_private_game_is_not_found_by_others(client):
    game, other = client.deal(visibility="private"), client.deal()
    unknown = refused(client.get("/v1/games/00000000-0000-4000-8000-000000000000"), 404, "game_not_found")
    for path in ("", "/events", "/positions/1", "/positions/9"):
        for token in (None, other["token"], "mc_nonsense"):
            assert refused(client.get(f"/v1/games/{game['id']}{path}", token), 404, "game_not_found") == unknown
    for token in (None, other["token"], "mc_nonsense"):
        assert refused(client.post(f"/v1/games/{game['id']}/moves", RESIGN, token), 404, "game_not_found") == unknown


def test_a_private_game_is_open_to_its_token(client):
    game = client.deal(visibility="private")
    for path in ("", "/events", "/positions/1"):
        assert client.get(f"/v1/games/{game['id']}{path}", game["token"]).status_code == 200
    position = client.get(f"/v1/games/{game['id']}/positions/1", game["token"])
    assert position.headers["Cache-Control"].startswith("private")
    assert client.move(game, "resign").status_code == 201


def test_a_token_is_of_its_server(client, the_world):
    game = client.deal()
    forged = make_token(b"another secret", the_world.new_id(0))
    refused(client.post(f"/v1/games/{game['id']}/moves", RESIGN, forged), 401, "bad_token")


def test_what_is_no_token_is_not_kept(client):
    game = client.deal()
    _read.cache_clear()
    for bogus in ("x" * 5000, "mc_", game["token"] + "0", game["token"][:-1]):
        refused(client.move({**game, "token": bogus}, "resign"), 401, "bad_token")
    assert _read.cache_info().currsize == 0
