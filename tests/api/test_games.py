"""Games over HTTP: dealing, moving, looking back."""

import pytest

from service.engine.log import event_hash
from service.engine.rules import VARIANTS
from tests.client import refused

PYSOL_24 = {"kind": "pysol", "number": "24"}


def test_an_empty_object_deals_a_game_of_monte_carlo(client):
    response = client.post("/v1/games", {})
    game = response.json
    assert response.headers["Location"] == f"/v1/games/{game['id']}"
    assert (game["variant"], game["status"], game["version"], game["phase"]) == ("monte-carlo", "playing", 1, "play")
    assert [len(row) for row in game["grid"]] == [5] * 5
    assert (game["stock"], game["removed"], game["cards_left"], game["score"]) == (27, 0, 52, -52)
    assert game["deal"]["kind"] == "secret"
    assert (game["deal"]["revealed"], game["deal"]["seed"]) == (False, None)


def test_a_known_deal_is_dealt_as_everywhere(client):
    game = client.deal(deal=PYSOL_24)
    assert game["grid"][0] == ["4C", "5H", "QC", "5D", "2D"]
    assert game["deal"] | {"id": None} == {
        "id": None,
        "kind": "pysol",
        "number": "24",
        "commitment": None,
        "client_seed": None,
        "fairness": "open",
        "revealed": True,
        "seed": None,
    }
    assert client.deal(deal=PYSOL_24)["deal"]["id"] == game["deal"]["id"]


def test_a_removal_leaves_gaps_and_the_answer_tells_all(client):
    game = client.deal(deal=PYSOL_24)
    response = client.move(game, [(1, 5), (2, 4)])
    answer = response.json
    assert response.status_code == 201
    assert [event["type"] for event in answer["events"]] == ["removed"]
    assert answer["events"][0]["data"]["cards"] == ["2D", "2C"]
    assert answer["game"]["grid"][0][4] is None
    assert answer["game"]["removed_cards"] == ["2D", "2C"]
    assert answer["game"]["version"] == 2
    assert answer["game"] == client.get(f"/v1/games/{game['id']}").json


def test_a_close_up_is_one_move_of_two_events(client):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)])
    answer = client.move(game, "close_up").json
    assert [(event["type"], event["version"], event["move"]) for event in answer["events"]] == [
        ("compacted", 3, 3),
        ("refilled", 4, 3),
    ]
    assert answer["game"]["stock"] == 25
    undone = client.play(game, "undo")
    assert (undone["stock"], undone["grid"]) == (27, game["grid"])
    assert undone["assistance"] == {"undos": 1, "undone_refills": 1, "hints": 0}
    assert client.play(game, "redo")["grid"] == answer["game"]["grid"]


def test_the_halves_of_a_close_up_are_moves_of_their_own(client):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)], "compact")
    assert game["phase"] == "refill"
    assert [move["type"] for move in game["legal_moves"]] == ["refill"]
    refused(client.move(game, "close_up"), 409, "refill_due")
    assert client.play(game, "refill", "undo")["phase"] == "refill"


def test_a_resigned_game_is_lost_and_its_deal_revealed(client):
    game = client.play(client.deal(), "resign")
    assert game["status"] == "lost"
    assert game["legal_moves"] == []
    assert game["deal"]["revealed"]
    deal = client.get(f"/v1/deals/{game['deal']['id']}").json
    assert deal["seed"] == game["deal"]["seed"]
    assert deal["cards"].split()[:5] == game["grid"][0]
    refused(client.move(game, "undo"), 409, "game_over")


@pytest.mark.parametrize("variant", VARIANTS)
def test_taking_the_first_legal_move_ends_every_variant(client, variant):
    game = client.first_moves(client.deal(variant, deal={"kind": "numbered", "number": "7"}))
    assert game["status"] in ("won", "blocked")
    rules, on_grid = game["rules"], sum(card is not None for row in game["grid"] for card in row)
    assert game["removed"] + on_grid + game["stock"] == 4 * len(rules["ranks"]) * rules["decks"]


def test_events_come_in_pages_and_link_up(client):
    game = client.first_moves(client.deal(deal=PYSOL_24), most=12)
    path, events = f"/v1/games/{game['id']}/events?limit=5", []
    while path:
        page = client.get(path).json
        assert 1 <= len(page["items"]) <= 5
        events += page["items"]
        path = page["next"]
    assert [event["version"] for event in events] == list(range(1, game["version"] + 1))
    assert events[-1]["hash"] == game["head"]
    for before, event in zip([None, *events], events, strict=False):
        assert event["previous"] == (before["hash"] if before else "0" * 64)
        assert event["hash"] == event_hash(event)


def test_an_empty_page_after_the_last_event(client):
    game = client.deal()
    assert client.get(f"/v1/games/{game['id']}/events?after=1").json == {"items": [], "next": None}
    assert client.get(f"/v1/games/{game['id']}/events?after=999999999").json == {"items": [], "next": None}


def test_every_position_can_be_looked_at_again(client):
    game = client.deal(deal=PYSOL_24)
    seen = {1: game}
    for move in ([(1, 5), (2, 4)], "close_up", "undo", "undo", "redo"):
        game = client.play(game, move)
        seen[game["version"]] = game
    for version, then in seen.items():
        response = client.get(f"/v1/games/{game['id']}/positions/{version}")
        assert response.json == {key: then[key] for key in response.json}
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    refused(client.get(f"/v1/games/{game['id']}/positions/{game['version'] + 1}"), 404, "version_not_found")


def test_the_position_of_a_finished_game_says_so(client):
    game = client.play(client.deal(), "resign")
    position = client.get(f"/v1/games/{game['id']}/positions/2").json
    assert (position["status"], position["legal_moves"]) == ("lost", [])
    assert client.get(f"/v1/games/{game['id']}/positions/1").json["status"] == "playing"


def test_a_batch_is_made_whole_or_not_at_all(client):
    game = client.deal(deal=PYSOL_24)
    problem = refused(client.move(game, [(1, 5), (2, 4)], "close_up", [(1, 1), (5, 5)]), 409, "not_a_pair")
    assert problem["move"] == 2
    assert client.get(f"/v1/games/{game['id']}").json["version"] == 1
    assert len(client.get(f"/v1/games/{game['id']}/events").json["items"]) == 1


def test_a_batch_of_64_moves_is_the_longest(client):
    game = client.play(client.deal(deal=PYSOL_24), [(1, 5), (2, 4)])
    assert client.play(game, *["undo", "redo"] * 32)["version"] == 66
    refused(client.move(game, *["undo", "redo"] * 32, "undo"), 422, "invalid_body")
    refused(client.move(game), 422, "invalid_body")


def test_hidden_cards_end_a_batch_until_the_deal_is_revealed(client):
    game = client.deal()
    first = game["legal_moves"][0]
    problem = refused(client.move(game, first, "close_up", "undo"), 409, "must_be_last")
    assert problem["move"] == 2
    assert client.play(game, first, "close_up")["stock"] < 27


def test_cards_already_shown_do_not_end_a_batch(client):
    game = client.deal()
    closed = client.play(game, game["legal_moves"][0], "close_up")
    assert client.play(closed, "undo", "redo", "undo", "close_up", "undo", "redo")["grid"] == closed["grid"]


def test_overrides_change_the_rules(client):
    game = client.deal("monte-carlo-thirteens", rules={"rows": 4})
    assert (len(game["grid"]), game["rules"]["rows"], game["rules"]["total"]) == (4, 4, 13)


def test_an_alias_is_told_by_its_id(client):
    assert client.deal("weddings")["variant"] == "monte-carlo"


def test_a_joint_deal_is_bound_before_the_client_takes_part(client):
    deal = client.post("/v1/deals", {}).json
    assert (deal["revealed"], deal["cards"], deal["seed"], deal["fairness"]) == (False, None, None, "committed")
    game = client.deal(deal={"id": deal["id"], "client_seed": "ich war dabei ♠"})
    assert game["deal"]["fairness"] == "joint"
    assert game["deal"]["commitment"] == deal["commitment"]
    assert game["deal"]["client_seed"] == "ich war dabei ♠"
    refused(client.post("/v1/games", {"deal": {"id": deal["id"]}}), 409, "deal_used")


def test_a_deal_of_another_pack_is_refused_and_stays_unused(client):
    deal = client.post("/v1/deals", {"variant": "monte-carlo-2-decks"}).json
    refused(client.post("/v1/games", {"deal": {"id": deal["id"]}}), 409, "pack_mismatch")
    assert client.deal("monte-carlo-2-decks", deal={"id": deal["id"]})["deal"]["fairness"] == "committed"


def test_an_open_deal_serves_many_games(client):
    deal = client.post("/v1/deals", {"kind": "numbered", "number": "18446744073709551615"}).json
    assert len(deal["cards"].split()) == 52
    grids = [client.deal(deal={"id": deal["id"]})["grid"] for _ in range(2)]
    assert grids[0] == grids[1]
    assert client.post("/v1/deals", {"kind": "numbered", "number": "18446744073709551615"}).json == deal


def test_a_deck_is_dealt_as_given(client):
    cards = client.post("/v1/deals", {"kind": "pysol", "number": "24"}).json["cards"]
    game = client.deal(deal={"kind": "deck", "cards": cards.lower().replace("t", "10")})
    assert game["grid"][0] == ["4C", "5H", "QC", "5D", "2D"]
    opening = client.get(f"/v1/games/{game['id']}/events").json["items"][0]
    assert opening["data"]["deck"] == cards


def test_times_never_go_back_within_a_game(client, change_world):
    change_world(now=lambda: 5_000)
    game = client.deal(deal=PYSOL_24)
    change_world(now=lambda: 4_000)
    game = client.play(game, [(1, 5), (2, 4)])
    change_world(now=lambda: 6_000)
    game = client.play(game, "undo")
    events = client.get(f"/v1/games/{game['id']}/events").json["items"]
    assert [event["at"][17:] for event in events] == ["05.000Z", "05.000Z", "06.000Z"]


def test_a_win_reveals_the_seed(client, change_world):
    from hashlib import sha256

    for number in range(200):
        change_world(random_bytes=lambda size, number=number: sha256(b"win %d" % number).digest()[:size])
        game = client.first_moves(client.deal())
        if game["status"] == "won":
            break
    assert (game["status"], game["cards_left"], game["score"], game["removed"]) == ("won", 0, 0, 52)
    last = client.get(f"/v1/games/{game['id']}/events?after={game['version'] - 1}").json["items"][0]
    assert last["type"] == "won"
    assert last["data"] == {"cards_left": 0, "seed": game["deal"]["seed"]}
    assert game["deal"]["seed"] == sha256(b"win %d" % number).digest().hex()


def test_a_log_has_an_end(client, monkeypatch):
    monkeypatch.setattr("service.commands.MOST_EVENTS", 5)
    game = client.deal(deal={"kind": "pysol", "number": "24"})
    game = client.play(game, game["legal_moves"][0], "undo", "redo", "undo")
    refused(client.move(game, "redo"), 409, "log_full")
    hint = client.post(f"/v1/games/{game['id']}/hints", {"level": "first"}, game["token"])
    refused(hint, 409, "log_full")
    assert client.play(game, "resign")["status"] == "lost"
