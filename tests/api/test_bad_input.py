"""Bad input of any kind gets its problem and changes nothing."""

import io
import json
import uuid

import pytest
from sqlalchemy import func, select

from service.store import deals, events, games
from tests.client import refused

PYSOL_24 = {"kind": "pysol", "number": "24"}
DECK = "4C 5H QC 5D 2D 7H AH 7S 2C QH"


@pytest.fixture(autouse=True)
def nothing_changes(client, the_world, request):
    """Count all rows before and after."""
    game = client.deal(deal=PYSOL_24)
    request.node.game = game

    def rows():
        with the_world.database.reading() as connection:
            counts = [connection.scalar(select(func.count()).select_from(table)) for table in (deals, games, events)]
            return counts, connection.execute(select(games.c.state, games.c.head)).all()

    before = rows()
    yield
    assert rows() == before


@pytest.fixture
def game(request):
    """The one game there is."""
    return request.node.game


@pytest.fixture(params=["/v1/games", "/v1/deals", "moves"])
def path(request, game):
    """Every path that takes a body."""
    return f"/v1/games/{game['id']}/moves" if request.param == "moves" else request.param


def send(client, game, path, body, content_type="application/json"):
    """Post bytes with the game's token."""
    return client.post(path, token=game["token"], data=body, content_type=content_type)


@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data"],
)
def test_another_content_type(client, game, path, content_type):
    refused(send(client, game, path, b"{}", content_type), 415, "wrong_content_type")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b"{", "bad_json"),
        (b"{}{}", "bad_json"),
        (b"   ", "bad_json"),
        (b"\xef\xbb\xbf{}", "bad_json"),
        (b"\xff\xfe{\x00}\x00", "bad_json"),
        (b'{"variant": "\xc3\x28"}', "bad_json"),
        (b'{"variant": "monte-carlo", "variant": "monte-carlo"}', "bad_json"),
        (b'{"deal": {"kind": "secret", "kind": "secret"}}', "bad_json"),
        (b'{"rules": {"rows": NaN}}', "bad_json"),
        (b'{"rules": {"rows": -Infinity}}', "bad_json"),
        (b'{"rules": {"rows": 1e999}}', "bad_json"),
        (b'{"rules": {"rows": ' + b"9" * 2000 + b"}}", "bad_json"),
        (b'{"rules": {"rows": 0.' + b"9" * 2000 + b"}}", "bad_json"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "bad_json"),
        (b"[" * 30_000 + b"]" * 30_000, "bad_json"),
        (b"[" * 60_000, "bad_json"),
        (b"'a'", "bad_json"),
        (b"{1: 2}", "bad_json"),
        (b"{} // no", "bad_json"),
    ],
)
def test_unreadable_bodies(client, game, path, body, code):
    refused(send(client, game, path, body), 400, code)


def test_a_body_that_is_packed(client, game, path):
    packed = client.post(
        path, token=game["token"], data=b"{}", headers={"Content-Encoding": "gzip"}, content_type="application/json"
    )
    refused(packed, 415, "wrong_content_type")


def test_a_body_of_unknown_length(client, game, path):
    environment = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = client.post(
        path,
        token=game["token"],
        input_stream=io.BytesIO(b"{}"),
        content_type="application/json",
        environ_overrides=environment,
    )
    refused(answer, 411, "length_required")


def test_many_keys_are_read_in_no_time(client, game, path):
    keys = ",".join(f'"{number:x}":0' for number in range(6000))
    refused(send(client, game, path, f'{{{keys},"zz":0,"zz":0}}'.encode()), 400, "bad_json")


def test_a_body_over_the_limit(client, game, path):
    body = json.dumps({"variant": "x" * 65_536}).encode()
    refused(send(client, game, path, body), 413, "body_too_large")


@pytest.mark.parametrize("body", [[], "monte-carlo", 1, 1.5, True, None])
def test_a_body_that_is_no_object(client, game, path, body):
    refused(send(client, game, path, json.dumps(body).encode()), 422, "invalid_body")


def test_unknown_fields(client, game, path):
    problem = refused(client.post(path, {"unexpected": 1}, game["token"]), 422, "invalid_body")
    assert {"field": "/unexpected", "message": "Unknown field."} in problem["errors"]


def test_unknown_parameters(client, game):
    for where in ("/v1/variants", "/v1/variants/monte-carlo", f"/v1/games/{game['id']}", "/healthz", "/readyz"):
        assert refused(client.get(f"{where}?x=1"), 422, "invalid_query")["errors"][0]["field"] == "x"
    here = f"/v1/games/{game['id']}"
    refused(client.get(f"{here}/events?x=1"), 422, "invalid_query")
    refused(client.get(f"{here}/positions/1?x=1"), 422, "invalid_query")
    refused(client.post(f"{here}/moves?x=1", {"moves": [{"type": "resign"}]}, game["token"]), 422, "invalid_query")
    refused(client.post("/v1/games?x=1", {}), 422, "invalid_query")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=1.0",
        "limit=%31%20",
        "limit=१",
        "after=-1",
        "after=99999999999999999999",
        "after=1&after=2",
        "after=1e3",
    ],
)
def test_bad_parameters(client, game, query):
    refused(client.get(f"/v1/games/{game['id']}/events?{query}"), 422, "invalid_query")


@pytest.mark.parametrize(
    "body",
    [
        {"variant": 1},
        {"variant": None},
        {"variant": ""},
        {"variant": ["monte-carlo"]},
        {"variant": "a\u0000b"},
        {"variant": "\ud800"},
        {"rules": []},
        {"rules": None},
        {"rules": {"rows": "5"}},
        {"rules": {"rows": 4.5}},
        {"rules": {"rows": True}},
        {"rules": {"rows": None}},
        {"rules": {"rows": 0}},
        {"rules": {"rows": -5}},
        {"rules": {"rows": 11}},
        {"rules": {"rows": 10**300}},
        {"rules": {"decks": 3}},
        {"rules": {"decks": True}},
        {"rules": {"ranks": ""}},
        {"rules": {"ranks": 5}},
        {"rules": {"match": "colour"}},
        {"rules": {"total": 1}},
        {"rules": {"total": 27}},
        {"rules": {"reach": "near"}},
        {"rules": {"columns": {"row": 1}}},
        {"rules": {"goal": 52}},
        {"visibility": "secret"},
        {"visibility": None},
        {"ranked": True},
        {"deal": []},
        {"deal": {"kind": "daily"}},
        {"deal": {"kind": None}},
        {"deal": {"id": "no-uuid"}},
        {"deal": {"id": 7}},
        {"deal": {"kind": "pysol", "number": 24}},
        {"deal": {"kind": "pysol", "number": "024"}},
        {"deal": {"kind": "pysol", "number": "+24"}},
        {"deal": {"kind": "pysol", "number": "24\n"}},
        {"deal": {"kind": "pysol", "number": "٢٤"}},
        {"deal": {"kind": "pysol", "number": "9" * 21}},
        {"deal": {"kind": "numbered", "number": "-1"}},
        {"deal": {"kind": "numbered", "number": "1.0"}},
        {"deal": {"client_seed": "x" * 65}},
        {"deal": {"client_seed": "♠" * 22}},
        {"deal": {"client_seed": 5}},
        {"deal": {"client_seed": "\udfff"}},
        {"deal": {"client_seed": "\u0000"}},
        {"deal": {"kind": "deck", "cards": ["4C"]}},
        {"deal": {"id": str(uuid.uuid4()), "number": "3"}},
        {"deal": {"id": str(uuid.uuid4()), "kind": "secret"}},
    ],
)
def test_games_that_do_not_fit(client, body):
    problem = refused(client.post("/v1/games", body), 422, "invalid_body")
    assert problem["errors"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"variant": "klondike"}, "unknown_variant"),
        ({"variant": "Monte-Carlo"}, "unknown_variant"),
        ({"variant": "monte-carlo "}, "unknown_variant"),
        ({"rules": {"rows": 10, "columns": 10}}, "impossible_rules"),
        ({"rules": {"ranks": "K2"}}, "impossible_rules"),
        ({"rules": {"ranks": "AA"}}, "impossible_rules"),
        ({"rules": {"total": 13}}, "impossible_rules"),
        ({"rules": {"match": "sum"}}, "impossible_rules"),
        ({"rules": {"fixed": "A23456789TJQK"}}, "impossible_rules"),
        ({"rules": {"packing": "in-place"}}, "impossible_rules"),
        ({"rules": {"match": "sum", "total": 13, "ranks": "A23", "rows": 2, "columns": 2}}, "impossible_rules"),
        ({"rules": {"single": "K", "fixed": "K"}}, "impossible_rules"),
        ({"deal": {"kind": "pysol", "number": "0"}}, "bad_number"),
        ({"deal": {"kind": "numbered", "number": "18446744073709551616"}}, "bad_number"),
        ({"deal": {"kind": "numbered"}}, "bad_deal"),
        ({"deal": {"kind": "pysol"}}, "bad_deal"),
        ({"deal": {"kind": "deck"}}, "bad_deal"),
        ({"deal": {"kind": "secret", "number": "1"}}, "bad_deal"),
        ({"deal": {"kind": "numbered", "number": "1", "client_seed": "x"}}, "bad_deal"),
        ({"deal": {"kind": "numbered", "number": "1", "cards": DECK}}, "bad_deal"),
        ({"deal": {"kind": "deck", "cards": DECK}}, "bad_deck"),
        ({"deal": {"kind": "deck", "cards": "1C"}}, "bad_card"),
        ({"deal": {"kind": "deck", "cards": "5\u017f"}}, "bad_card"),
        ({"deal": {"kind": "deck", "cards": "🂡"}}, "bad_card"),
    ],
)
def test_games_that_cannot_be(client, body, code):
    refused(client.post("/v1/games", body), 422, code)


def whole_deck(client):
    """Return the cards of a deal that is there already."""
    return client.post("/v1/deals", PYSOL_24).json["cards"].split()


def test_a_deck_of_51_cards_and_a_card_twice(client):
    cards = whole_deck(client)
    short = refused(client.post("/v1/deals", {"kind": "deck", "cards": " ".join(cards[1:])}), 422, "bad_deck")
    assert "missing 4C" in short["detail"]
    twice = refused(
        client.post("/v1/deals", {"kind": "deck", "cards": " ".join([cards[1], *cards[1:]])}), 422, "bad_deck"
    )
    assert "missing 4C" in twice["detail"]
    assert "too many 5H" in twice["detail"]


def test_a_deal_takes_no_client_seed_beforehand(client):
    refused(client.post("/v1/deals", {"client_seed": "x"}), 422, "invalid_body")


def test_an_open_deal_takes_no_client_seed(client, game):
    refused(client.post("/v1/games", {"deal": {"id": game["deal"]["id"], "client_seed": "x"}}), 422, "bad_deal")


@pytest.mark.parametrize(
    "move",
    [
        None,
        "undo",
        [],
        {},
        {"type": None},
        {"type": 1},
        {"type": "cheat"},
        {"type": "UNDO"},
        {"type": "remove", "cells": None},
        {"type": "remove", "cells": {}},
        {"type": "remove", "cells": "a1-b2"},
        {"type": "remove", "cells": [1, 2]},
        {"type": "remove", "cells": [None, None]},
        {"type": "remove", "cells": [[1, 1], [2, 2]]},
        {"type": "remove", "cells": [{"row": 1}]},
        {"type": "remove", "cells": [{"row": 1, "column": 1, "card": "4C"}]},
        {"type": "remove", "cells": [{"row": "1", "column": 1}]},
        {"type": "remove", "cells": [{"row": 1.5, "column": 1}]},
        {"type": "remove", "cells": [{"row": True, "column": 1}]},
        {"type": "remove", "cells": [{"row": None, "column": 1}]},
        {"type": "remove", "cells": [{"row": 0, "column": 1}]},
        {"type": "remove", "cells": [{"row": -1, "column": 1}]},
        {"type": "remove", "cells": [{"row": 11, "column": 1}]},
        {"type": "remove", "cells": [{"row": 10**30, "column": 1}]},
        {"type": "remove", "cells": [{"row": 1, "column": 1}] * 3},
        {"type": "undo", "to": 1},
    ],
)
def test_moves_that_do_not_fit(client, game, move):
    body = {"moves": [move]}
    refused(client.post(f"/v1/games/{game['id']}/moves", body, game["token"]), 422, "invalid_body")


@pytest.mark.parametrize(
    "body", [{}, {"moves": None}, {"moves": {}}, {"moves": []}, {"moves": "undo"}, {"move": "undo"}]
)
def test_no_moves(client, game, body):
    refused(client.post(f"/v1/games/{game['id']}/moves", body, game["token"]), 422, "invalid_body")


@pytest.mark.parametrize(
    ("moves", "status", "code"),
    [
        ([[(1, 1), (5, 5)]], 409, "not_a_pair"),
        ([[(1, 2), (1, 4)]], 409, "not_touching"),
        ([[(1, 5), (1, 5)]], 409, "same_cell"),
        ([[(1, 5)]], 409, "not_single"),
        ([[(6, 1), (5, 1)]], 422, "outside_grid"),
        ([[(1, 6), (1, 5)]], 422, "outside_grid"),
        ([[]], 422, "unreadable_move"),
        ([{"type": "undo", "cells": [{"row": 1, "column": 1}]}], 422, "unreadable_move"),
        (["close_up"], 409, "nothing_to_close_up"),
        (["compact"], 409, "nothing_to_close_up"),
        (["refill"], 409, "nothing_to_refill"),
        (["undo"], 409, "nothing_to_undo"),
        (["redo"], 409, "nothing_to_redo"),
        ([[(1, 5), (2, 4)], [(1, 5), (2, 4)]], 409, "empty_cell"),
        ([[(1, 5), (2, 4)], "undo", "undo"], 409, "nothing_to_undo"),
        (["resign", "undo"], 409, "game_over"),
    ],
)
def test_moves_that_are_not_legal(client, game, moves, status, code):
    problem = refused(client.move(game, *moves), status, code)
    assert code == "unreadable_move" or problem["move"] == len(moves) - 1


@pytest.mark.parametrize("id", ["1", "no-uuid", "00000000-0000-0000-0000-00000000000", "%00", "..", "null", "a" * 300])
def test_ids_that_are_none(client, game, id):
    for path in (f"/v1/games/{id}", f"/v1/games/{id}/events", f"/v1/games/{id}/positions/1", f"/v1/deals/{id}"):
        assert client.get(path).status_code == 404
    assert client.post(f"/v1/games/{id}/moves", {"moves": [{"type": "undo"}]}).status_code == 404


def test_ids_of_nothing(client, game):
    id = uuid.uuid4()
    for path in (f"/v1/games/{id}", f"/v1/games/{id}/events", f"/v1/games/{id}/positions/1"):
        refused(client.get(path), 404, "game_not_found")
    refused(client.post(f"/v1/games/{id}/moves", {"moves": [{"type": "undo"}]}, game["token"]), 404, "game_not_found")
    refused(client.get(f"/v1/deals/{id}"), 404, "deal_not_found")
    refused(client.post("/v1/games", {"deal": {"id": str(id)}}), 404, "deal_not_found")
    refused(client.get("/v1/variants/klondike"), 404, "variant_not_found")


@pytest.mark.parametrize("version", ["0", "-1", "01", "1.0", "x", "2", "999999999", "9" * 2000, "1e1", "%31%00", "१"])
def test_versions_that_are_none(client, game, version):
    assert client.get(f"/v1/games/{game['id']}/positions/{version}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/nope", "/v1", "/v1/", "/v1/games/", "/v2/games", "/v1/games//", "/docs/problems/nope", "/docs/nope.js"]
)
def test_unknown_paths(client, path):
    response = client.get(path)
    assert response.status_code in (404, 405)
    assert response.mimetype == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/games", "POST"),
        ("PUT", "/v1/variants", "GET"),
        ("GET", "/v1/deals", "POST"),
        ("PATCH", "/healthz", "GET"),
    ],
)
def test_unknown_methods(client, method, path, allow):
    response = client.ask(method, path)
    refused(response, 405, "method_not_allowed")
    assert allow in response.headers["Allow"]


def test_a_whole_float_is_an_integer(client):
    assert len(client.post("/v1/games", {"rules": {"rows": 11.0}}).json["errors"]) == 1


@pytest.mark.parametrize("host", ["a..b", ".a", "x" * 64, "ä", "", "a b", "[::1", "host:port"])
def test_hosts_that_are_none(client, host):
    for path in ("/healthz", "/v1/nowhere", "/docs/policy"):
        assert client.get(path, headers={"Host": host.encode().decode("latin-1")}).status_code in (200, 404)


def test_a_problem_names_no_more_than_a_hundred_faults(client):
    for body in ({f"field{n}": n for n in range(300)}, {"x" * 50_000: 1}):
        problem = refused(client.post("/v1/games", body), 422, "invalid_body")
        assert len(problem["errors"]) <= 100
    refused(client.post("/v1/positions", {"grid": [["x"] * 1000] * 10, "stock": 1}), 422, "invalid_body")
    refused(client.get("/v1/games?" + "&".join(f"a{n}=1" for n in range(400))), 422, "invalid_query")
