"""Pictures: well-formed, accessible, kept as long as they are true, and without a hidden card."""

import re
from xml.etree import ElementTree

import pytest

from service.engine.rules import VARIANTS
from tests.client import refused

SVG = "{http://www.w3.org/2000/svg}"

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def shown(picture):
    """Return the cards that a picture draws, and check that it is well-formed and says what it is."""
    root = ElementTree.fromstring(picture.text)
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title.text
    assert description.text
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    symbols = {symbol.get("id") for symbol in root.iter(f"{SVG}symbol")}
    used = {use.get("href") for use in root.iter(f"{SVG}use")}
    assert {f"#{card}" for card in symbols} <= used
    assert used <= {f"#{part.get('id')}" for part in root.iter() if part.get("id")}
    return symbols


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_board_shows_the_cards_in_sight_and_a_replay_all_that_were(client, variant):
    game = client.deal(variant)
    here, seen = f"/v1/games/{game['id']}", set()
    for _ in range(4):
        cards = {card for row in game["grid"] for card in row if card}
        seen |= cards
        assert shown(client.get(f"{here}/board.svg")) == cards
        assert shown(client.get(f"{here}/replay.svg")) == seen
        game = client.first_moves(game, 1)


def test_a_replay_goes_on_for_ever_and_can_stand_still(client):
    game = client.first_moves(client.deal(deal={"kind": "pysol", "number": "24"}))
    text = client.get(f"/v1/games/{game['id']}/replay.svg").text
    for times, values in re.findall(r'values="([^"]+)" keyTimes="([^"]+)"', text):
        assert times.count(";") == values.count(";")
    starts = [[float(time) for time in times.split(";")] for times in re.findall(r'keyTimes="([^"]+)"', text)]
    assert all(times == sorted(times) and (times[0], times[-1]) == (0, 1) for times in starts)
    assert len(starts) > 50
    assert "prefers-reduced-motion" in text


def test_a_board_for_a_terminal(client):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    client.play(game, [(1, 5), (2, 4)])
    response = client.get(f"/v1/games/{game['id']}/board.txt?version=2")
    assert response.text == (
        "Monte Carlo, playing at version 2\n\n"
        "      a   b   c   d   e\n"
        "  1  4♣  5♥  Q♣  5♦   ·\n"
        "  2  7♥  A♥  7♠   ·  Q♥\n"
        "  3  9♠  2♠  K♦  J♠  5♠\n"
        "  4  6♣  9♣  3♣  6♥  J♣\n"
        "  5 10♥  K♥  6♠  7♦  8♣\n\n"
        "stock 27 · removed 2 · pairs 3\n"
    )


@pytest.mark.parametrize("picture", ["board.svg", "replay.svg", "board.txt"])
def test_a_version_can_be_kept_for_ever_and_what_goes_on_cannot(client, picture):
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    here = f"/v1/games/{game['id']}/{picture}"
    first = client.get(f"{here}?version=1")
    assert first.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    now = client.get(here)
    assert now.headers["Cache-Control"] == "no-cache"
    assert now.text == first.text
    known = {"If-None-Match": now.headers["ETag"]}
    assert client.get(here, headers=known).status_code == 304
    client.play(game, [(1, 5), (2, 4)], "close_up")
    assert client.get(here, headers=known).status_code == 200
    assert client.get(f"{here}?version=1").text == first.text
    assert client.get(here).text == client.get(f"{here}?version=4").text != first.text
    client.play(game, "undo", "undo")
    assert client.get(here).text != client.get(f"{here}?version=4").text
    refused(client.get(f"{here}?version=9"), 404, "version_not_found")
    refused(client.get(f"{here}?version=0"), 422, "invalid_query")


def test_a_private_game_is_drawn_for_its_owner_alone(client):
    game = client.deal(visibility="private")
    here = f"/v1/games/{game['id']}/board.svg?version=1"
    refused(client.get(here), 404, "game_not_found")
    assert client.get(here, game["token"]).headers["Cache-Control"].startswith("private")


def test_a_picture_opened_by_itself_can_run_nothing(client):
    response = client.get(f"/v1/games/{client.deal()['id']}/board.svg")
    assert response.headers["Content-Security-Policy"] == POLICY
    assert response.headers["X-Content-Type-Options"] == "nosniff"
