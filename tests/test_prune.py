"""Pruning: what nobody played goes after a time, what was played stays for ever."""

import uuid

import pytest
from click.testing import CliRunner

from service import commands, store
from service.cli import main

DAY = 24 * 3600 * 1000
START = 1_800_000_000_000


@pytest.fixture
def at(change_world):
    """Set the clock to so many days after the start."""
    return lambda days: change_world(now=lambda: START + round(days * DAY))


def ids(client):
    """Return all public games, the last dealt first."""
    return [game["id"] for game in client.get("/v1/games?limit=100").json["items"]]


def removed(world, days=30):
    """Prune and return how much went of each kind."""
    gone = {"answers": 0, "games": 0}
    for kind, count in commands.prune(world, days):
        gone[kind] += count
    return gone


def test_unplayed_games_go_after_their_time_and_played_ones_stay(client, at):
    at(0)
    unplayed = client.deal()
    played = client.play(client.deal(), "resign")
    hinted = client.deal(deal={"kind": "pysol", "number": "24"})
    client.post(f"/v1/games/{hinted['id']}/hints", {"level": "first"}, hinted["token"])
    blocked = client.first_moves(client.deal(deal={"kind": "pysol", "number": "24"}))
    world = at(31)
    young = client.deal()
    assert removed(world) == {"answers": 0, "games": 1}
    assert set(ids(client)) == {played["id"], hinted["id"], blocked["id"], young["id"]}
    assert client.get(f"/v1/games/{unplayed['id']}").status_code == 404
    assert client.get(f"/v1/deals/{unplayed['deal']['id']}").status_code == 404
    assert client.get(f"/v1/deals/{hinted['deal']['id']}").status_code == 200, "an open deal stays"
    assert client.get(f"/v1/games/{played['id']}/audit").json["valid"]
    assert removed(world) == {"answers": 0, "games": 0}


def test_an_unplayed_game_of_an_open_deal_leaves_the_deal(client, at):
    at(0)
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    assert removed(at(31))["games"] == 1
    assert client.get(f"/v1/deals/{game['deal']['id']}").status_code == 200


def test_all_of_many_go(client, at, monkeypatch):
    at(0)
    for _ in range(7):
        client.deal()
    world, remove = at(31), store.remove_unplayed
    monkeypatch.setattr(store, "remove_unplayed", lambda connection, until: remove(connection, until, most=3))
    assert removed(world)["games"] == 7
    assert ids(client) == []


def test_answers_go_after_a_day(client, at):
    at(0)
    for _ in range(3):
        client.post("/v1/games", {}, headers={"Idempotency-Key": str(uuid.uuid4())})
    assert removed(at(1))["answers"] == 0
    assert removed(at(1.01)) == {"answers": 3, "games": 0}


def test_the_command_says_what_went(client, at, settings, database_url, monkeypatch):
    monkeypatch.setenv("MONTECARLO_SECRET_KEY", settings.secret_key)
    monkeypatch.setenv("MONTECARLO_SIGNING_KEYS", settings.signing_keys)
    monkeypatch.setenv("MONTECARLO_DATABASE_URL", database_url)
    at(-20_000)  # long ago
    client.deal()
    run = CliRunner().invoke(main, ["prune", "--days", "7"])
    assert run.exit_code == 0, run.output
    assert run.stdout.endswith("1 games and 0 answers removed\n")
    assert CliRunner().invoke(main, ["prune", "--days", "0"]).exit_code == 2


def test_no_database_no_pruning(tmp_path, monkeypatch):
    monkeypatch.setenv("MONTECARLO_DATABASE_URL", f"sqlite:///{tmp_path}/none.db")
    run = CliRunner().invoke(main, ["prune"])
    assert (run.exit_code, list(tmp_path.iterdir())) == (2, [])
