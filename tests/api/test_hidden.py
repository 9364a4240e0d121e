"""Nothing that a client can reach depends on hidden cards before the reveal.

Twins are two games whose visible cards agree and whose stocks differ. Whatever is asked of both must be answered
alike, byte for byte, but for ids, times, commitments, hashes and tokens.
"""

import random
import re

import pytest

from service.engine.rules import VARIANTS
from service.store import games
from tests.client import SPEC, as_move

_OWN = [
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"[0-9a-f]{64}",
    r'"(\d+)-(\d+)-[0-9a-f]{24}"',
    r"\d{4}-\d\d-\d\dT[\d:.]+Z",
    r"mc_[\w-]+",
    r"eyJ[\w-]+\.[\w.-]+",
    r'filename="[\w.-]+"',
]


def told(response):
    """Return all a client sees of an answer, with what is a game's own blanked out."""
    headers = "\n".join(f"{name}: {value}" for name, value in sorted(response.headers))
    return response.status_code, re.sub("|".join(_OWN), "*", f"{headers}\n\n{response.text}")


@pytest.fixture
def twins(client, monkeypatch):
    """Deal two games alike in sight and different in stock."""

    def deal(variant, draw):
        rules = VARIANTS[variant].rules
        order = list(rules.pack.cards())
        draw.shuffle(order)
        seen, stock = order[: rules.size], order[rules.size :]
        other = draw.sample(stock, len(stock))
        assert other != stock
        dealt = []
        for cards in (seen + stock, seen + other):
            monkeypatch.setattr("service.store.deal_order", lambda *_, dealt_now=tuple(cards), **__: dealt_now)
            dealt.append(client.deal(variant))
        return dealt

    return deal


def everything(client, game):
    """Ask all that can be asked of a game without changing it."""
    here, token = f"/v1/games/{game['id']}", game["token"]
    yield client.get(f"/v1/deals/{game['deal']['id']}")
    for who in (None, token):
        for path in ("", "/events?after=1", "/positions/1", "/positions/2", "/positions/99"):
            yield client.get(f"{here}{path}", who)
        for picture in ("board.svg", "replay.svg", "board.txt", "board.svg?version=1", "replay.svg?version=99"):
            yield client.get(f"{here}/{picture}", who)
        yield client.get(f"{here}/events", who, headers={"Accept": "application/x-ndjson"})
        for listed in (f"/v1/games?deal={game['deal']['id']}", f"/v1/games/export?deal={game['deal']['id']}"):
            yield client.get(listed, who)
        for line in ("full", "main"):
            yield client.get(f"{here}/log?line={line}", who, headers={"Accept": "text/plain"})
        log = client.get(f"{here}/log", who)
        yield from (log, client.get(f"{here}/audit", who), client.post("/v1/audits", log.json))
        yield client.get(f"{here}/analysis", who)
        yield client.get(f"/v1/deals/{game['deal']['id']}/solution?variant={game['variant']}", who)
    for moves in trials(game):
        yield client.post(f"{here}/moves?validate_only=true", {"moves": [as_move(move) for move in moves]}, token)
    yield client.ask("PATCH", here, token, json={"metadata": {"seen": "yes"}})
    for hint in ({"level": "first"}, {"level": "fair", "samples": 20}, {"level": "solve"}):
        yield client.post(f"{here}/hints", hint, token)
    for moves in peeps(game):
        response = client.move(game, *moves)
        assert response.status_code in (409, 422)
        yield response


def trials(game):
    """List moves to try without making them: what is legal, what is not, and what deals cards."""
    yield from ([move] for move in game["legal_moves"])
    yield from ([move, "close_up"] for move in game["legal_moves"])
    yield from (["close_up"], ["compact", "refill"], ["resign"], ["resign", "undo"])
    yield from peeps(game)


def peeps(game):
    """List moves that must be refused: illegal ones, and batches that would show cards before a refusal."""
    legal = [[(cell["row"], cell["column"]) for cell in move["cells"]] for move in game["legal_moves"]]
    cells = [(row, column) for row in range(1, 7) for column in range(1, 7)]
    draw = random.Random(5)
    pairs = [[draw.choice(cells), draw.choice(cells)] for _ in range(30)]
    yield from ([pair] for pair in pairs if pair not in legal and pair[::-1] not in legal)
    yield from (["refill"], ["redo"], ["undo", "undo", "undo"])
    removals = [move for move in legal if move]
    if removals:
        dealt = [removals[0]] if game["rules"]["close_up"] == "auto" else [removals[0], "close_up"]
        for after in ("undo", "redo", "close_up", "refill", [(1, 1), (1, 2)], *removals):
            yield [*dealt, after]


@pytest.mark.parametrize("variant", VARIANTS)
def test_twins_are_told_alike(client, twins, variant):
    draw = random.Random(variant)
    for _ in range(3):
        answers = [[told(response) for response in everything(client, game)] for game in twins(variant, draw)]
        assert answers[0] == answers[1]
        assert len(answers[0]) > 10


@pytest.mark.parametrize("variant", ["monte-carlo", "monte-carlo-wave", "weddings-columns"])
def test_twins_are_told_alike_up_to_the_first_refill(client, twins, variant):
    first, second = twins(variant, random.Random(3))
    while first["legal_moves"] and first["legal_moves"][0]["type"] == "remove":
        move = first["legal_moves"][0]
        answers = [client.move(game, move) for game in (first, second)]
        assert told(answers[0]) == told(answers[1])
        first, second = (
            answer.json["game"] | {"token": game["token"]}
            for answer, game in zip(answers, (first, second), strict=True)
        )
        assert told(client.get(f"/v1/games/{first['id']}")) == told(client.get(f"/v1/games/{second['id']}"))


def test_no_hidden_card_is_anywhere_in_the_answers(client, the_world):
    game = client.deal()
    with the_world.database.reading() as connection:
        row = connection.execute(games.select()).mappings().one()
    seed, hidden = row["seed"].hex(), row["cards"].split()[25:]
    for response in everything(client, game):
        assert seed not in response.text
        assert " ".join(hidden[:3]) not in response.text
        assert '","'.join(hidden[:3]) not in response.text


def test_every_operation_that_reads_is_asked():
    """A new way to read a game must come into `everything`."""
    reading = {
        operation["operationId"]
        for path in SPEC["paths"].values()
        for method, operation in path.items()
        if method == "get"
    }
    assert reading == {
        "list_variants", "get_variant", "get_deal", "get_game", "list_games", "export_games", "list_events", "get_position", "get_log", "audit_game", "get_analysis", "get_solution", "get_health", "get_readiness",
        "get_board_svg", "get_board_text", "get_replay_svg",
    }  # fmt: skip
