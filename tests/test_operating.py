"""The guide for operators: every example of it is run."""

import os
import re
import shutil
import socket
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from service.api.world import world
from service.app import create_app
from service.settings import Settings
from tests import bot, postgresql
from tests.conftest import KEY, SECRET, text_of
from tests.server import MONTECARLO, free_port, running, serving

WEB = Path(__file__).parent.parent / "service/web"


@pytest.fixture(scope="module")
def examples(migrated_file):
    """The examples of the page, as an operator copies them."""
    app = create_app(Settings(database_url=f"sqlite:///{migrated_file}", secret_key=SECRET, signing_keys=KEY))
    page = app.test_client().get("/docs/operating").text
    with app.app_context():
        world().database.close()
    names = ("secrets", "copy", "sqlite backup", "sqlite restore", "postgresql backup", "nginx", "partition")
    found = [unescape(text) for text in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]
    return dict(zip(names, found, strict=True))


def run(script, folder, **environment):
    """Run an example as it stands, up to the first command that fails; return all its output."""
    path = f"{Path(MONTECARLO).parent}:{postgresql.binaries() or ''}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def deal(url):
    """Deal a game."""
    return bot.post(f"{url}/v1/games", {"deal": {"kind": "pysol", "number": "24"}})


def resign(url, game):
    """Resign a game and return it."""
    return bot.post(f"{url}/v1/games/{game['id']}/moves", {"moves": [{"type": "resign"}]}, game["token"])["game"]


@contextmanager
def playing(url):
    """Let somebody play meanwhile."""
    stop = threading.Event()

    def play():
        games = 0
        while not stop.is_set():
            resign(url, deal(url))
            games += 1
        return games

    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(play)
        try:
            yield
        finally:
            stop.set()
        assert played.result() > 0


def test_the_secrets_it_makes_are_good_and_kept_from_others(examples, tmp_path):
    run(examples["secrets"], tmp_path)
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    made = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().splitlines())
    used = Settings(secret_key=made.pop("MONTECARLO_SECRET_KEY"), signing_keys=made.pop("MONTECARLO_SIGNING_KEYS"))
    assert len(used.secret()) >= 32
    assert len(used.keys().jwks["keys"]) == 1
    assert len(made["POSTGRES_PASSWORD"]) >= 32


def test_sqlite_is_backed_up_while_it_is_played_on_and_restored(examples, tmp_path):
    with serving(tmp_path, rate_limits="off") as url:
        kept = deal(url)
        with playing(url):
            assert ", 0 false" in run(examples["sqlite backup"], tmp_path)
        later = deal(url)
    run(examples["sqlite restore"], tmp_path)
    with serving(tmp_path) as url:
        assert resign(url, kept)["status"] == "lost"
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{url}/v1/games/{later['id']}")


def test_postgresql_is_backed_up_while_it_is_played_on_and_restored(examples, tmp_path, own_cluster):
    with postgresql.connect(own_cluster.url) as connection:
        connection.execute("CREATE DATABASE montecarlo")
    secrets = {"secret_key": SECRET, "signing_keys": KEY, "rate_limits": "off"}
    environment = {f"MONTECARLO_{name.upper()}": value for name, value in secrets.items()}
    environment |= {"PGHOST": str(own_cluster.folder), "PGUSER": "postgres"}
    with serving(tmp_path, database_url=text_of(own_cluster.url.set(database="montecarlo")), **secrets) as url:
        kept = deal(url)
        with playing(url):
            assert ", 0 false" in run(examples["postgresql backup"], tmp_path, **environment)
    with serving(tmp_path, database_url=text_of(own_cluster.url.set(database="restored")), **secrets) as url:
        assert resign(url, kept)["status"] == "lost"


def test_sqlite_is_copied_to_postgresql_and_tokens_stay_good(examples, tmp_path, postgresql_server):
    with postgresql.new_database(postgresql_server) as target:
        with serving(tmp_path, rate_limits="off") as url:
            kept = deal(url)
            resign(url, deal(url))
        # The secrets of the target are not made yet when it is copied to: those of the source serve.
        output = run(examples["copy"], tmp_path, POSTGRESQL=text_of(target))
        assert output.count("2 games audited, 0 false") == 2
        keys = {name: (tmp_path / f"montecarlo.db.{ending}").read_text() for name, ending in
                (("secret_key", "key"), ("signing_keys", "signing"))}  # fmt: skip
        with serving(tmp_path, database_url=text_of(target), **keys) as url:
            assert resign(url, kept)["status"] == "lost"


def test_the_tables_are_partitioned_by_what_the_page_shows(examples):
    assert examples["partition"].strip() == (WEB / "partition.sql").read_text().strip()  # run in `tests/test_store.py`


@contextmanager
def running_nginx(config, service):
    """Run nginx by the configuration of the page, with ports and folders for here."""
    folder, port = Path(postgresql.shared_folder()), free_port()
    folder.chmod(0o755)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    here = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    for old, new in (("listen 80;", f"listen {port};"), ("127.0.0.1:8000", service), ("http {", f"http {{ {here}")):
        assert old in config
        config = config.replace(old, new, 1)
    (folder / "nginx.conf").write_text(config.replace("http {", "http { access_log off;", 1))
    options = f"daemon off; pid {folder}/pid; error_log {folder}/error.log;"
    command = ["nginx", "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf", "-g", options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "error.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


@contextmanager
def slow_clients(port, count):
    """Let clients send a request a byte a second; they must not have come to its end when the block ends."""
    body = b'{"variant": "monte-carlo", "deal": {"kind": "numbered", "number": "1"}}' + b" " * 10_000
    head = (
        f"POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    clients, stop = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(count)], threading.Event()

    def send():
        for client in clients:
            client.sendall(head.encode())
        sent = 0
        while True:
            for client in clients:
                client.sendall(body[sent : sent + 1])
            sent += 1
            if sent == 1:
                under_way.set()
            if stop.wait(1):
                return sent

    under_way = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        try:
            under_way.wait()
            yield
        finally:
            stop.set()
            assert 0 < sending.result() < len(body)
    for client in clients:
        client.setblocking(False)
        with pytest.raises(BlockingIOError):  # neither answered nor closed
            client.recv(1)
        client.close()


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed (on Debian: apt-get install nginx-light)")
def test_five_hundred_slow_clients_stop_nobody_behind_nginx(examples, tmp_path):
    # Few threads: without the proxy five of these clients would hold them all.
    few = {"workers": "1", "threads": "4", "watchers": "1", "trusted_proxies": "1", "rate_limits": "off"}
    with (
        running(tmp_path, **few) as (url, _),
        running_nginx(examples["nginx"], url.removeprefix("http://")) as port,
        slow_clients(port, 500),
    ):
        proxy = f"http://127.0.0.1:{port}"
        games = [deal(proxy) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            ended = list(pool.map(lambda game: resign(proxy, game)["status"], games))
        assert ended == ["lost"] * 8
        stream = Request(f"{proxy}/v1/games/{games[0]['id']}/events", headers={"Accept": "text/event-stream"})
        with urlopen(stream) as events:
            assert b"dealt" in b"".join(events)
        with pytest.raises(HTTPError, match="403"):
            urlopen(f"{proxy}/metrics")
