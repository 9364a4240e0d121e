"""The command `montecarlo`."""

import fcntl
import json
from hashlib import sha256
from itertools import count
from unittest.mock import patch
from uuid import UUID

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from service import __version__
from service.cli import main
from service.engine.search import solver_kind
from service.store import Id
from tests.client import SPEC
from tests.conftest import KEY
from tests.server import free_port


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in an empty folder; what it puts into the environment does not stay."""
    monkeypatch.chdir(tmp_path)
    with patch.dict("os.environ", {"MONTECARLO_DATABASE_URL": "sqlite:///montecarlo.db"}):
        yield lambda *arguments: CliRunner().invoke(main, arguments)


def test_version(run):
    assert run("--version").output == f"montecarlo, version {__version__}, {solver_kind()} solver\n"


def test_openapi_prints_the_published_spec(run):
    result = run("openapi")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == SPEC


def test_migrate_makes_the_tables_and_can_be_repeated(run, new_database):
    url = new_database()
    for _ in range(2):
        result = run("migrate", "--database-url", url)
        assert result.exit_code == 0, result.output
    engine = sa.create_engine(url)
    tables = set(sa.inspect(engine).get_table_names())
    engine.dispose()
    assert tables == {"deals", "games", "events", "answers", "alembic_version"}


def test_migrate_tells_what_it_waits_for(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MONTECARLO_LOCK_TIMEOUT", "20")
    with open(tmp_path / "montecarlo.db.lock", "a") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        monkeypatch.setattr("service.migrate.time.sleep", lambda _: holder.close())
        result = run("migrate")
    assert result.exit_code == 0
    assert result.stderr == (
        "the database is busy with other changes: another process had its turn for too long; trying again\n"
    )


@pytest.fixture
def stored(run, settings, new_database, monkeypatch):
    """A database without tables, named by the environment; the statements it gets."""
    url = new_database()
    for name, value in (("database_url", url), ("secret_key", settings.secret_key), ("signing_keys", KEY)):
        monkeypatch.setenv(f"MONTECARLO_{name.upper()}", value)
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


def test_a_start_on_the_schema_of_another_release_is_refused_in_one_line(run, stored):
    port = str(free_port())
    refused = run("serve", "--port", port, "--migrate", "off")
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1), refused.output
    assert "run montecarlo migrate" in refused.output
    assert run("migrate").exit_code == 0
    with stored.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    for arguments in (("serve", "--port", port), ("serve", "--port", port, "--migrate", "off"), ("migrate",)):
        refused = run(*arguments)
        assert (refused.exit_code, refused.output.count("\n")) == (2, 1), refused.output
        assert "newer release" in refused.output


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_bad_setting_stops_the_start(run, monkeypatch, command):
    monkeypatch.setenv("MONTECARLO_PORT", "eighty")
    result = run(command)
    assert result.exit_code == 2
    assert "MONTECARLO_PORT" in result.output


def test_help_tells_every_setting_of_serve(run):
    output = run("serve", "--help").output
    for name in ("HOST", "PORT", "WORKERS", "DATABASE_URL"):
        assert f"MONTECARLO_{name}" in output


@pytest.fixture
def played(client, tmp_path):
    """Logs in files, as a player takes them away: one finished, one not, with keys and receipts."""
    won = client.play(client.first_moves(client.deal(), most=3), "resign")
    game = client.deal("monte-carlo", deal={"kind": "pysol", "number": "24"})
    receipts = [game["receipt"], client.move(game, [(1, 5), (2, 4)]).json["receipt"]]
    (tmp_path / "finished.json").write_bytes(client.get(f"/v1/games/{won['id']}/log").data)
    (tmp_path / "open.txt").write_bytes(
        client.get(f"/v1/games/{game['id']}/log", headers={"Accept": "text/plain"}).data
    )
    (tmp_path / "keys.json").write_bytes(client.get("/.well-known/jwks.json").data)
    (tmp_path / "receipts.txt").write_text("\n".join(receipts))
    return tmp_path


def test_audit_reports_on_each_file(run, played):
    result = run("audit", "--keys", "keys.json", "finished.json", "open.txt")
    assert result.exit_code == 0, result.output
    first, second = result.output.split("open.txt:")
    assert first.startswith("finished.json: VALID, signed by a known key, finished (lost), deal revealed\n")
    assert second.startswith(
        " VALID, signed by a known key, not finished (playing), deal revealed\n  good up to version 2"
    )
    assert "4C 5H QC 5D --" in second


def test_audit_says_what_it_could_not_check(run, played):
    output = run("audit", "finished.json").output
    assert "VALID, not signed by a known key" in output
    assert "not checked: the log is signed with a key that is not known here" in output


def test_audit_of_a_false_log_ends_with_1(run, played):
    log = json.loads((played / "finished.json").read_text())
    log["events"][1]["data"]["cards"] = ["AS", "AH"]
    (played / "false.json").write_text(json.dumps(log))
    result = run("audit", "--keys", "keys.json", "false.json", "finished.json")
    assert result.exit_code == 1
    assert "false.json: FALSE" in result.output
    assert "fault at version 2: " in result.output
    assert '"AS", "AH"' in result.output
    assert "finished.json: VALID" in result.output


def test_audit_holds_receipts_against_a_log_cut_short(run, played):
    (played / "cut.txt").write_text('[Game "x"]\n[Deal "pysol 24"]\n[Result "*"]\n\n*\n')
    assert run("audit", "cut.txt").exit_code == 0
    assert run("audit", "--keys", "keys.json", "--receipts", "receipts.txt", "open.txt").exit_code == 0
    other = (played / "open.txt").read_text().replace("1. 2De1-2Cd2 *", "*").replace("Times", "Nothing")
    text = "\n".join(line for line in other.splitlines() if not line.startswith(("[Nothing", "[Head", "[Signature")))
    (played / "cut.txt").write_text(text)
    result = run("audit", "--keys", "keys.json", "--receipts", "receipts.txt", "cut.txt")
    assert result.exit_code == 1, result.output


def test_audit_of_what_is_no_log_ends_with_2(run, played):
    (played / "garbage").write_bytes(b"\x1f\x8b\x08\x00garbage")
    (played / "half.json").write_bytes((played / "finished.json").read_bytes()[:500])
    result = run("audit", "garbage", "half.json", "finished.json")
    assert result.exit_code == 2
    assert "garbage: cannot be read" in result.output
    assert "half.json: cannot be read" in result.output
    assert "finished.json: VALID" in result.output
    assert run("audit", "missing.json").exit_code == 2
    assert run("audit").exit_code == 2


def test_audit_prints_json_and_reads_standard_input(run, played, monkeypatch):
    result = CliRunner().invoke(main, ["audit", "--json", "-"], input=(played / "open.txt").read_bytes())
    verdict = json.loads(result.stdout)
    assert (verdict["name"], verdict["valid"], verdict["authentic"]) == ("<stdin>", True, None)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET data = replace(data, '1', '2') WHERE game = :game AND version > 1",
        "UPDATE events SET at = at + 1 WHERE game = :game AND version = 2",
        "UPDATE events SET hash = :zeros WHERE game = :game AND version = 4",
        "UPDATE events SET data = 'nonsense' WHERE game = :game AND version = 2",
        "UPDATE events SET type = 'undone' WHERE game = :game AND version = 2",
        "DELETE FROM events WHERE game = :game AND version = 4",
        "INSERT INTO events SELECT game, version + 1, version + 1, type, data, at, hash FROM events "
        "WHERE game = :game AND version = (SELECT version FROM games WHERE id = :game)",
        "UPDATE games SET state = replace(state, '\"dealt\":', '\"dealt\"\\:1') WHERE id = :game",
        "UPDATE games SET status = 'won' WHERE id = :game",
        "UPDATE games SET cards = substr(cards, 4) || ' ' || substr(cards, 1, 2) WHERE id = :game",
        "UPDATE games SET seed = :zeros WHERE id = :game",
        "UPDATE games SET deal_record = replace(deal_record, 'committed', 'joint') WHERE id = :game",
    ],
)
def test_audit_all_finds_exactly_the_game_an_operator_changed(
    run, client, the_world, change_world, settings, monkeypatch, change
):
    for name in ("database_url", "secret_key", "signing_keys"):
        monkeypatch.setenv(f"MONTECARLO_{name.upper()}", getattr(settings, name))
    draws = count()
    change_world(random_bytes=lambda size: sha256(b"operator %d" % next(draws)).digest()[:size])
    games = [client.deal() for _ in range(5)]
    assert client.first_moves(games[2], most=8)["version"] > 5
    for game in games[:2] + games[3:]:
        client.first_moves(game, most=8)
    assert run("audit", "--all").exit_code == 0
    statement = sa.text(change).bindparams(sa.bindparam("game", UUID(games[2]["id"]), Id))
    with the_world.database.writing() as connection:
        connection.execute(statement, {"zeros": bytes(32)})
    result = run("audit", "--all")
    assert result.exit_code == 1, result.output
    assert [game["id"] in result.stdout for game in games] == [False, False, True, False, False]
    assert "5 games audited, 1 false" in result.stderr


@pytest.mark.parametrize("command", [("prune",), ("audit", "--all")])
def test_a_database_without_tables_is_told_in_one_line_and_gets_no_keys(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.db").touch()
    result = run(*command, "--database-url", "sqlite:///empty.db")
    assert (result.exit_code, "run montecarlo migrate" in result.stderr) == (2, True)
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".key", ".signing")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "finished.json", "--keys", "open.txt"),
        ("audit", "finished.json", "--keys", "finished.json"),
        ("audit", "finished.json", "--receipts", "binary"),
        ("audit", "odd.json", "--receipts", "receipts.txt"),
        ("audit", "--all", "--database-url", "sqlite:///none.db"),
        ("migrate", "--database-url", "sqlite:////nonexistent/folder/x.db"),
        ("solve", "finished.json", "--variant", "thirteens"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(run, played, arguments):
    (played / "binary").write_bytes(b"\xff\xfe\x00")
    log = json.loads((played / "finished.json").read_text()) | {"receipts": 5}
    (played / "odd.json").write_text(json.dumps(log))
    before = sorted(played.iterdir())
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert sorted(played.iterdir()) == before
