"""A PostgreSQL server for tests: the one of `TEST_DATABASE_URL`, else a cluster of our own, else none and a reason.

The cluster is started by the first test that wants it, serves all processes of the run, and listens on a socket only.
"""

import fcntl
import getpass
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url

# What a power cut would lose is no loss here.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
MISSING_PROGRAMS = "the programs of PostgreSQL are not installed (on Debian: apt-get install postgresql)"
MISSING = (
    f"{MISSING_PROGRAMS}, nor is TEST_DATABASE_URL=postgresql+psycopg://USER@HOST/NAME set to a server on which the user "
    "may make databases"
)


def binaries() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL on this machine; they are seldom on the path."""
    found = [Path(path).parent for path in [shutil.which("initdb")] if path]
    found += [path.parent for path in Path("/usr").glob("lib/postgresql/*/bin/initdb")]
    found += [path.parent for path in Path("/usr").glob("pgsql-*/bin/initdb")]
    return max(found, key=lambda folder: [int(part) for part in re.findall(r"\d+", str(folder))], default=None)


def unprivileged() -> str:
    """Return who runs a server: we ourselves, or another user where we are root, which PostgreSQL refuses."""
    if os.geteuid():
        return getpass.getuser()
    known = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


class Cluster:
    """A cluster in a folder, with its socket beside its data."""

    def __init__(self, folder: Path, **options: str) -> None:
        programs = binaries()
        if programs is None:
            raise LookupError(MISSING)
        self._programs, self.folder, self._user, self._options = programs, folder, unprivileged(), options
        self.url = URL.create("postgresql+psycopg", "postgres", database="postgres", query={"host": str(folder)})

    @property
    def runs(self) -> bool:
        """Whether it was started and not stopped."""
        return (self.folder / "data/postmaster.pid").exists()

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return int((self.folder / "data/postmaster.pid").read_text().split()[0])

    def make(self) -> None:
        """Make the files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.chown(self.folder, self._user)
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C")

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self._options}
        given = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        self._run("pg_ctl", "start", "--wait", "--silent", f"--log={self.folder}/log", f"--options={given}")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is a crash."""
        self._run("pg_ctl", "stop", "--wait", "--silent", f"--mode={mode}")

    def _run(self, program: str, *arguments: str) -> None:
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam(self._user)
            user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": ()}
        command = [self._programs / program, f"--pgdata={self.folder}/data", *arguments]
        # Its output goes to a file: a server that inherits a pipe keeps whoever reads from it waiting.
        with tempfile.TemporaryFile() as output:
            ended = subprocess.run(command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT, **user)
            output.seek(0)
            if ended.returncode:
                raise RuntimeError(f"{program} failed: {output.read().decode()}")


def shared_folder() -> str:
    """Return a new folder for the cluster that the processes of one run share."""
    return tempfile.mkdtemp(prefix="montecarlo-test-")


def shared_server(folder: Path) -> URL:
    """Return a server to make databases on, started if it must be. Raises `LookupError` if there is none."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        return make_url(given).set(drivername="postgresql+psycopg")
    cluster = Cluster(folder / "cluster", max_connections="300", **FAST)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not cluster.runs:
            folder.chmod(0o755)
            cluster.make()
            cluster.start()
    return cluster.url


def remove_shared(folder: Path) -> None:
    """Stop the cluster of a run, if it was started, and remove it."""
    if (folder / "cluster/data/postmaster.pid").exists():
        Cluster(folder / "cluster").stop("immediate")
    shutil.rmtree(folder)


def connect(url: URL) -> psycopg.Connection[Any]:
    """Connect outside of transactions."""
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True, options="-c lock_timeout=10s -c client_min_messages=error")


@contextmanager
def new_database(server: URL, *, like: URL | None = None) -> Iterator[URL]:
    """Give a database of its own, empty or a copy of one that nobody is connected to."""
    name = f"montecarlo_test_{uuid.uuid4().hex}"
    template = sql.Identifier(like.database if like and like.database else "template0")
    with connect(server) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), template))
        try:
            yield server.set(database=name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def empty(connection: psycopg.Connection[Any], tables: Sequence[str]) -> None:
    """Take everything out of tables."""
    connection.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, tables))))
