"""Simulation, solving and the bot, as commands."""

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from service import bot as bots
from service import simulate as simulation
from service.cli import main
from service.engine.players import PERFECT, PLAYERS, Tally
from service.engine.rules import VARIANTS
from service.simulate import bars, chart, load, odds, save, summary
from tests.logs import play
from tests.lossy import losing
from tests.server import MONTECARLO, serving

KEPT = {
    "variant": "monte-carlo",
    "player": "first",
    "start": 1,
    "deals": 5,
    "won": 1,
    "undecided": 0,
    "cards_left": {"0": 1, "4": 4},
}


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_the_first_pair_wins_about_three_deals_in_ten(run):
    result = run("simulate", "--deals", "300", "--json")
    told = json.loads(result.stdout)
    assert (told["deals"], told["variant"], told["player"]) == (300, "monte-carlo", "first")
    assert 0.2 < told["chance"] < 0.4
    assert told["interval"][0] < told["chance"] < told["interval"][1]
    assert sum(told["cards_left"].values()) == 300
    assert told["cards_left"]["0"] == told["won"]


@pytest.mark.parametrize("player", [*PLAYERS, PERFECT])
def test_every_player_plays_and_is_repeatable(run, player):
    one, two = (run("simulate", "--player", player, "--deals", "3", "--seed", "9", "--json").stdout for _ in range(2))
    assert one == two
    assert json.loads(one)["deals"] == 3


def test_jobs_change_nothing_but_the_time(run):
    one, two = (run("simulate", "--deals", "120", "--jobs", jobs, "--json").stdout for jobs in ("1", "2"))
    assert json.loads(one) == json.loads(two)


def test_a_simulation_goes_on_from_its_file(run, tmp_path):
    whole = run("simulate", "--deals", "90", "--json").stdout
    assert run("simulate", "--deals", "40", "--out", "kept.json").exit_code == 0
    assert json.loads((tmp_path / "kept.json").read_text())["deals"] == 40
    assert run("simulate", "--deals", "90", "--out", "kept.json", "--json").stdout == whole
    other = run("simulate", "--deals", "90", "--out", "kept.json", "--player", "random")
    assert other.exit_code == 2
    assert "another simulation" in other.output


def test_an_interrupted_simulation_keeps_what_it_had(tmp_path):
    command = [MONTECARLO, "simulate", "--deals", "1000000", "--out", "kept.json", "--jobs", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "kept.json").exists():  # kept from the first handful of deals on
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert 0 < kept["deals"] < 1000000
    assert f"of {kept['deals']} deals" in out


def test_a_stop_keeps_what_was_begun_and_waits_for_no_more():
    tally, rules = Tally("monte-carlo", "first", 1), VARIANTS["monte-carlo"].rules
    seen = list(simulation.run(rules, tally, 10**9, 2, lambda: tally.deals > 0))
    assert seen[-1] == tally.deals == tally.cards_left.total() <= 4 * 50


def test_a_process_that_was_killed_ends_it(run, monkeypatch):
    def killed(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(simulation, "play", killed)
    result = run("simulate", "--deals", "200", "--jobs", "2")
    assert (result.exit_code, "a process was killed after 0 deals" in result.stderr) == (2, True)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_second_interrupt_stops_at_once(tmp_path, jobs):
    command = [MONTECARLO, "simulate", "--variant", "monte-carlo-2-decks", "--player", "fair", "--deals", "100000"]
    process = subprocess.Popen(
        [*command, "--jobs", jobs, "--out", "kept.json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not (tmp_path / "kept.json").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    while b"again to stop" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert json.loads((tmp_path / "kept.json").read_text())["deals"] > 0


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        '"x"',
        KEPT | {"cards_left": [1]},
        KEPT | {"deals": "5"},
        KEPT | {"deals": 1e3},
        KEPT | {"deals": -5},
        KEPT | {"won": 9},
        KEPT | {"won": -3},
        KEPT | {"cards_left": {"0": "3"}},
        KEPT | {"cards_left": {"0": 1}},
    ],
)
def test_a_file_that_holds_no_simulation_is_refused(run, tmp_path, content):
    (tmp_path / "kept.json").write_text(content if isinstance(content, str) else json.dumps(content))
    result = run("simulate", "--deals", "10", "--out", "kept.json")
    assert (result.exit_code, "kept.json holds" in result.stderr) == (2, True)


@pytest.mark.parametrize("option", ["--out", "--svg"])
@pytest.mark.parametrize("path", ["none/x", "/dev/full"])
def test_a_file_that_cannot_be_written_is_refused_before_the_first_deal(run, option, path):
    result = run("simulate", "--deals", "100", option, path)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr


def test_no_deals_is_no_simulation(run):
    assert run("simulate", "--deals", "0").exit_code == 2
    assert run("simulate", "--player", "nobody").exit_code == 2
    assert run("simulate", "--variant", "klondike").exit_code == 2


def test_the_cards_left_are_drawn(run, tmp_path):
    tally = Tally("monte-carlo", "first", 1, 10, 3, 0, Counter({0: 3, 4: 6, 52: 1}))
    assert bars(tally).splitlines()[1].startswith("  4 left " + "█" * 40)
    assert "30.0%" in summary(tally)
    root = ElementTree.fromstring(chart(tally))
    assert root.find("{*}title").text == "monte-carlo, player first: cards left"
    assert len(root.findall("{*}rect")) == 4
    assert run("simulate", "--deals", "20", "--svg", "chart.svg").exit_code == 0
    ElementTree.parse(tmp_path / "chart.svg")


def test_a_tally_is_kept_whole(tmp_path):
    tally = Tally("fourteens", "fair", 5, 2, 1, 0, Counter({0: 1, 20: 1}))
    save(tmp_path / "kept.json", tally)
    assert load(tmp_path / "kept.json", Tally("fourteens", "fair", 5)) == tally


def test_the_odds_shown_are_of_variants_and_players_that_are(client):
    known = {*PLAYERS, PERFECT}
    assert set(odds()) <= set(VARIANTS)
    for variant, rows in odds().items():
        assert {row["player"] for row in rows} <= known
        for row in rows:
            assert row["chance"] == round(row["won"] / row["deals"], 5)
            assert row["deals"] >= (2_000 if row["player"] == "fair" else 20_000)
        assert client.get(f"/v1/variants/{variant}").json["odds"] == rows


def test_odds_are_published_by_the_command(run, tmp_path, monkeypatch):
    monkeypatch.setattr(simulation, "ODDS", tmp_path / "odds.json")
    (tmp_path / "odds.json").write_text("{}")
    for player in ("first", "random", "first"):
        assert run("simulate", "--player", player, "--deals", "5", "--publish").exit_code == 0
    (rows,) = json.loads((tmp_path / "odds.json").read_text()).values()
    assert [row["player"] for row in rows] == ["random", "first"]


def test_fewer_deals_never_take_the_place_of_more(run, tmp_path, monkeypatch):
    monkeypatch.setattr(simulation, "ODDS", tmp_path / "odds.json")
    (tmp_path / "odds.json").write_text("{}")
    assert run("simulate", "--deals", "20", "--publish").exit_code == 0
    before = (tmp_path / "odds.json").read_text()
    result = run("simulate", "--deals", "10", "--publish")
    assert (result.exit_code, "of 20 deals" in result.stderr) == (2, True)
    assert (tmp_path / "odds.json").read_text() == before


def test_what_is_undecided_may_be_won_or_not():
    sure, unsure = Tally("aces-square", PERFECT, 1, 100, 90, 0), Tally("aces-square", PERFECT, 1, 100, 90, 8)
    assert unsure.data["chance"] == sure.data["chance"] == 0.9
    assert unsure.data["interval"][0] == sure.data["interval"][0]
    assert unsure.data["interval"][1] == Tally("aces-square", PERFECT, 1, 100, 98, 0).data["interval"][1]


def test_solve_says_whether_and_how(run, tmp_path):
    result = run("solve", "--pysol", "24")
    verdict, line = result.output.split("\n", 1)
    assert verdict.startswith("winnable, ")
    text = f'[Deal "pysol 24"]\n[Result "won"]\n\n{line}'
    (tmp_path / "line.txt").write_text(text)
    assert "VALID" in run("audit", "line.txt").output
    assert run("solve", "--number", "3").output.startswith("unwinnable, ")
    assert run("solve", "--number", "1", "--nodes", "1").output.startswith("undecided, 1 ")
    assert json.loads(run("solve", "--number", "4", "--json").stdout)["verdict"] == "winnable"


def test_solve_takes_the_deal_of_a_log(run, tmp_path):
    (tmp_path / "log.json").write_text(json.dumps(play("monte-carlo", "solve").log))
    assert run("solve", "log.json").exit_code == 0
    hidden = play("monte-carlo", "solve").after(2)
    (tmp_path / "hidden.json").write_text(json.dumps(hidden))
    assert "not revealed" in run("solve", "hidden.json").output


@pytest.mark.parametrize(
    "arguments",
    [(), ("--number", "1", "--pysol", "1"), ("--number", "x"), ("--pysol", "0"), ("--deck", "AS"), ("--nodes", "0")],
)
def test_solve_of_nothing(run, arguments):
    assert run("solve", *arguments).exit_code == 2


@pytest.mark.parametrize("player", bots.PLAYERS)
def test_the_bot_plays_whole_games_over_http(tmp_path, player):
    with serving(tmp_path) as url:
        for variant in ("monte-carlo", "neighbour", "thirteens"):
            ended = subprocess.run(
                [MONTECARLO, "bot", "--url", url, "--variant", variant, "--player", player, "--games", "2"],
                capture_output=True,
                text=True,
            )
            assert ended.returncode == 0, ended.stderr
            assert len(ended.stdout.splitlines()) == 2
        refused = subprocess.run([MONTECARLO, "bot", "--url", url, "--variant", "no"], capture_output=True, text=True)
        assert (refused.returncode, "unknown_variant" in refused.stderr) == (1, True)


def test_the_bot_makes_no_move_twice_when_answers_are_lost(tmp_path):
    with serving(tmp_path) as url, losing(url, answers=0.2, requests=0.2) as line:
        *_, game = bots.play(bots.Server(line, pause=lambda _: None), "monte-carlo", "first")
        assert game["status"] in ("won", "blocked")
        audit = bots.Server(url).get(f"/v1/games/{game['id']}/audit")
        listed = bots.Server(url).get("/v1/games")["items"]
    assert audit["valid"]
    assert [dealt["id"] for dealt in listed] == [game["id"]], "one game was dealt"


@contextmanager
def answering(*answers):
    """Give the address of a server that sends these bytes in turn, the last for ever, and what it was asked."""
    asked, left = [], list(answers)

    class Handler(StreamRequestHandler):
        def handle(self):
            head = b"".join(iter(self.rfile.readline, b"\r\n"))
            asked.append(head.split(b" ", 2)[1].decode())
            self.wfile.write(left.pop(0) if len(left) > 1 else left[0])

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


def answer(body, status=b"200 OK", head=b"", length=None):
    """Return an answer in bytes."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status, length or len(body), head, body)


CUT, BUSY = answer(b'{"id', length=5000), b"503 Service Unavailable"


@pytest.mark.parametrize(
    "lost",
    [
        CUT,
        b"",
        answer(b"{}", BUSY, b"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
        answer(b"{}", BUSY, b"Retry-After: -5\r\n"),
        answer(b"{}", BUSY, b"Retry-After: 7\r\n"),
    ],
)
def test_the_bot_asks_again_when_an_answer_is_lost_or_the_server_busy(lost):
    waited, told = [], []
    with answering(lost, answer(b'{"items": []}')) as (url, asked):
        assert bots.Server(url, waited.append, told.append).get("/v1/games") == {"items": []}
    assert (len(asked), len(waited), len(told)) == (2, 1, 1)
    assert 0 < waited[0] < 11


def test_the_bot_gives_up_when_no_answer_comes_whole():
    with answering(CUT) as (url, asked), pytest.raises(bots.Unreachable):
        bots.Server(url, lambda _: None).get("/v1/games")
    assert len(asked) == 10


@pytest.mark.parametrize("other", [b"SSH-2.0-OpenSSH_9.2\r\n", answer(b"<html>"), answer(b"[]"), answer(b"{}")])
def test_the_bot_knows_what_is_no_such_server(run, other):
    with answering(other) as (url, asked):
        result = run("bot", "--url", url)
    assert (result.exit_code, len(asked)) == (1, 1)
    assert "is no such server" in result.stderr


@pytest.mark.parametrize("url", ["", "foo", "localhost:8000", "http://", "http://[::1", "ftp://localhost"])
def test_the_bot_refuses_an_address_that_is_none(run, url):
    result = run("bot", "--url", url)
    assert (result.exit_code, "is no such server" in result.stderr) == (1, True)
