"""The files for Docker: good by their schema, and what they run runs, here without an engine."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from psycopg import sql
from ruamel.yaml import YAML

from tests import bot, postgresql
from tests.conftest import KEY, SECRET
from tests.server import free_port, running

ROOT = Path(__file__).parent.parent
COMPOSE = YAML(typ="safe").load(ROOT / "docker-compose.yml")
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
GIVEN = {"POSTGRES_PASSWORD": "p@ss/wörd", "MONTECARLO_SECRET_KEY": SECRET, "MONTECARLO_SIGNING_KEYS": KEY}


def instruction(name):
    """Return what the last such instruction of the Dockerfile says."""
    return re.findall(rf"^{name} +(.*)$", DOCKERFILE, re.MULTILINE)[-1]


def command_of(text):
    """Return a command that stands after CMD in its JSON form."""
    return json.loads(text[text.index("[") :])


def environment(service, **hosts):
    """Return the environment of a service, as compose makes it, with addresses here for the names of others."""

    def fill(found):
        name, _, default = found[1].partition(":")
        return GIVEN[name] if default.startswith("?") else default.removeprefix("-")

    values = {}
    for name, text in COMPOSE["services"][service]["environment"].items():
        value = re.sub(r"\$\{([^}]+)\}", fill, text)
        for host, address in hosts.items():
            value = re.sub(rf"(?<=[@/]){host}\b(?!.*{host})", address, value, count=1)
        values[name] = value
    return values


def test_the_compose_file_is_good_by_the_schema_of_the_specification():
    check = [Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run([*check, ROOT / "docker-compose.yml"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert COMPOSE["volumes"].keys() == {"data", "database"}
    for service in COMPOSE["services"].values():
        assert service["read_only"]
        assert service["restart"] == "unless-stopped"


def test_secrets_are_asked_for_and_not_in_the_file():
    secret = re.compile("PASSWORD|SECRET|KEYS")
    asked = 0
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if secret.search(name):
                assert re.fullmatch(r"\$\{\w+:\?make one, see /docs/operating\}", value), name
                asked += 1
    assert asked == 4


def test_what_the_image_is_made_of_is_there_and_it_runs_as_nobody_special():
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in allowed
    assert instruction("USER") == "10001"
    assert DOCKERFILE.count("\nFROM ") == 2


@pytest.fixture
def database(own_cluster, tmp_path):
    """The service `database`: its command, with the role, the password and the database that its image makes."""
    program, *options = COMPOSE["services"]["database"]["command"]
    assert program == "postgres"
    chosen = dict(option.split("=", 1) for option in options if option != "-c")
    values, port = environment("database"), free_port()
    with postgresql.connect(own_cluster.url) as connection:
        name, password = sql.Identifier(values["POSTGRES_USER"]), sql.Literal(values["POSTGRES_PASSWORD"])
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, password))
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(values["POSTGRES_DB"]), name))
    own_cluster.stop()
    (own_cluster.folder / "data/pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")
    shown = postgresql.Cluster(own_cluster.folder, listen_addresses="127.0.0.1", port=str(port), **chosen)
    shown.start()
    test = COMPOSE["services"]["database"]["healthcheck"]["test"]
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PATH": f"{postgresql.binaries()}:{os.environ['PATH']}"}
    subprocess.run(test[1:], env=os.environ | where, check=True, capture_output=True)
    return f"127.0.0.1:{port}"


@contextmanager
def running_redis(folder):
    """Run the service `limits`."""
    port, service = free_port(), COMPOSE["services"]["limits"]
    process = subprocess.Popen([*service["command"], "--port", str(port)], cwd=folder, stdout=subprocess.DEVNULL)
    ping = [service["healthcheck"]["test"][1], "-p", str(port), *service["healthcheck"]["test"][2:]]
    try:
        while subprocess.run(ping, capture_output=True).stdout != b"PONG\n":
            assert process.poll() is None
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def read_only(folder):
    """Return what runs a command with the whole file system read-only but for a small one, as compose does."""
    mounts = f"mount -t tmpfs none {folder} && mount -o remount,bind,ro /"
    return ("unshare", "--map-root-user", "--mount", "sh", "-c", f'{mounts} && exec "$0" "$@"')


@pytest.mark.skipif(
    not shutil.which("redis-server"), reason="Redis is not installed (on Debian: apt-get install redis)"
)
def test_what_compose_runs_runs(database, tmp_path):
    small = tmp_path / "tmp"
    small.mkdir()
    if subprocess.run([*read_only(small), "true"], capture_output=True).returncode:
        pytest.skip("a read-only file system needs unshare of util-linux, and a system that allows mounts in it")
    program, *arguments = command_of(instruction("CMD"))
    assert (program, arguments) == ("montecarlo", ["serve"])
    with running_redis(tmp_path) as redis:
        values = environment("service", database=database, limits=redis) | {"TMPDIR": str(small)}
        with running(tmp_path, before=read_only(small), environment=values) as (url, process):
            assert subprocess.run([*read_only(small), "touch", tmp_path / "file"], capture_output=True).returncode
            port = url.rpartition(":")[2]
            _, *check = command_of(instruction("HEALTHCHECK"))
            subprocess.run([sys.executable, *[part.replace("8000", port) for part in check]], check=True)
            game = bot.post(f"{url}/v1/games", {})
            answer = bot.post(f"{url}/v1/games/{game['id']}/moves", {"moves": [{"type": "resign"}]}, game["token"])
            assert answer["game"]["status"] == "lost"
            with urlopen(f"{url}/metrics") as metrics:
                assert b'montecarlo_moves_total{outcome="made",type="resign"} 1.0' in metrics.read()
            counted = subprocess.run(
                shlex.split(f"redis-cli -p {redis.rpartition(':')[2]} dbsize"), capture_output=True, text=True
            )
            assert int(counted.stdout) > 0
            process.terminate()
            grace = int(COMPOSE["services"]["service"]["stop_grace_period"].removesuffix("s"))
            assert process.wait(grace) == 0
