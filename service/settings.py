"""Settings: environment variables with the prefix `MONTECARLO_`, each declared once with default and help."""

import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, EnvError, ValidationError, validate
from limits import parse_many
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from service.engine.errors import Unreadable
from service.engine.signatures import SEED_BYTES, KeyRing

PREFIX = "MONTECARLO_"


class BadSetting(ValueError):
    """A setting that cannot be used; the message names it and says what it takes."""


def _setting(kind: str, default: Any, help: str, check: Callable[[Any], Any] | None = None) -> Any:
    return field(default=default, metadata={"kind": kind, "help": help, "check": check})


def _limit(default: str, help: str) -> Any:
    return _setting("str", default, f"{help} As 300/minute, or 10/second.", _rate)


def _rate(text: str) -> None:
    try:
        one = len(parse_many(text)) == 1
    except ValueError:
        one = False
    if not one:
        raise ValidationError("must be a rate, as 300/minute or 10/second")


def _database(url: str) -> None:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValidationError("not a database URL") from None
    if parsed.drivername not in ("sqlite", "postgresql", "postgresql+psycopg"):
        raise ValidationError("must be sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME")
    if parsed.drivername != "sqlite":
        _want_library("psycopg", "postgresql")
    elif parsed.query:
        raise ValidationError("must be sqlite:///FILE and no more")
    elif parsed.database in (None, "", ":memory:"):
        raise ValidationError("must name a file, shared by the workers, and not memory")


def _redis(url: str) -> None:
    if not url:
        return
    try:
        parsed = urlsplit(url)
        good = parsed.scheme in ("redis", "rediss") and bool(parsed.hostname) and parsed.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValidationError("must be redis://HOST or redis://HOST:PORT/NUMBER, or rediss:// for TLS")
    _want_library("redis", "redis")


def _want_library(name: str, extra: str) -> None:
    if find_spec(name) is None:
        raise ValidationError(f"needs {name}, which is not installed: pip install .[{extra}] brings it")


def _host(name: str) -> None:
    try:
        found = name and address_of(name)
    except (OSError, UnicodeError):
        found = ""
    if not found:
        raise ValidationError("must be an address, or a name that has one")


def address_of(host: str) -> str:
    """Return the IP address of a host. Raises `OSError` if it has none."""
    return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])


def _secret(text: str) -> None:
    if text and len(text) < 32:
        raise ValidationError("must have at least 32 characters")


def _keys(text: str) -> None:
    try:
        KeyRing.from_seeds(text.split())
    except Unreadable as error:
        raise ValidationError(error.message) from None
    if text and not text.split():
        raise ValidationError("holds no key")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings in force."""

    database_url: str = _setting(
        "str", "sqlite:///montecarlo.db", "Where games are kept: sqlite:///FILE or postgresql+psycopg://...", _database
    )
    host: str = _setting("str", "127.0.0.1", "Address to listen on.", _host)
    port: int = _setting("int", 8000, "Port to listen on.", validate.Range(1, 65535))
    workers: int = _setting(
        "int", 2, "Processes that answer requests, best one for each processor.", validate.Range(1, 64)
    )
    threads: int = _setting("int", 64, "Requests that one process answers at a time.", validate.Range(1, 1024))
    watchers: int = _setting(
        "int", 512, "Event streams that one process keeps open at a time.", validate.Range(1, 10_000)
    )
    heartbeat: int = _setting(
        "int", 5, "Seconds after which a stream without news gives a sign of life.", validate.Range(1, 3600)
    )
    connections: int = _setting(
        "int",
        8,
        "Connections to PostgreSQL that one process opens at most, half of them for moves. On SQLite reads have one for "
        "each thread, moves 8.",
        validate.Range(6, 1024),
    )
    lock_timeout: int = _setting(
        "int",
        5000,
        "Milliseconds that a request waits for its turn at the database before it is answered 503; 0 for no limit.",
        validate.Range(0, 3_600_000),
    )
    statement_timeout: int = _setting(
        "int",
        10_000,
        "Milliseconds that PostgreSQL may take for one statement, likewise.",
        validate.Range(0, 3_600_000),
    )
    migrate: bool = _setting(
        "bool",
        True,
        "Whether montecarlo serve brings the database forward; if not, it refuses to start on an older schema.",
    )
    log_level: str = _setting(
        "str",
        "info",
        "What is logged: info (each request and more), warning or error.",
        validate.OneOf(["info", "warning", "error"]),
    )
    secret_key: str = _setting(
        "str",
        "",
        "Makes the tokens of games; 32 characters or more. On SQLite it is made at first start and kept beside the "
        "database; on PostgreSQL it must be set.",
        _secret,
    )
    signing_keys: str = _setting(
        "str",
        "",
        "Sign logs and receipts: Ed25519 seeds, each 32 bytes in base64url, separated by spaces. The first signs, all "
        "are published. On SQLite one is made at first start and kept beside the database; on PostgreSQL it must be set.",
        _keys,
    )
    audit_body_limit: int = _setting(
        "int", 16 * 2**20, "Bytes a log sent to be audited may have.", validate.Range(1024, 2**30)
    )
    body_limit: int = _setting("int", 65536, "Bytes a request's body may have.", validate.Range(1024, 2**30))

    rate_limits: bool = _setting("bool", True, "Whether requests are limited at all.")
    limit_games: str = _limit("300/minute", "New games and deals, by address.")
    limit_moves: str = _limit("3000/minute", "Moves, by game.")
    limit_hints: str = _limit("120/minute", "Hints, analyses and solutions, by address.")
    limit_audits: str = _limit("60/minute", "Audits and exports, by address.")
    limit_reads: str = _limit("3000/minute", "All other requests, by address.")
    redis_url: str = _setting(
        "str",
        "",
        "Where the workers count requests together, redis://HOST; without it each worker counts by itself.",
        _redis,
    )
    trusted_proxies: int = _setting(
        "int",
        0,
        "Reverse proxies in front, whose X-Forwarded-For, -Proto, -Host and -Prefix are believed.",
        validate.Range(0, 10),
    )
    hsts: int = _setting(
        "int",
        0,
        "Seconds for which browsers are told to come by HTTPS only; 0 tells them nothing.",
        validate.Range(0, 10**9),
    )

    @property
    def database(self) -> URL:
        """The database URL in parts."""
        return make_url(self.database_url)

    def secret(self) -> bytes:
        """Return the secret behind tokens, making it at the first start on SQLite.

        Raises `BadSetting` on PostgreSQL where it is not set.
        """
        return (self.secret_key or self._beside("key", "SECRET_KEY", _secret)).encode()

    def keys(self) -> KeyRing:
        """Return the keys that sign logs and receipts, making one at the first start on SQLite.

        Raises `BadSetting` on PostgreSQL where they are not set.
        """
        return KeyRing.from_seeds(self.signing_seeds().split())

    def signing_seeds(self) -> str:
        """Return what these keys are made of, as the setting has it. Raises `BadSetting` likewise."""
        return self.signing_keys or self._beside("signing", "SIGNING_KEYS", _keys)

    def rotate_keys(self) -> str:
        """Put a new signing key before the others, and return where the operator finds it or what to set."""
        seed = new_seed()
        if self.signing_keys:
            return f"Set {PREFIX}SIGNING_KEYS={seed} {self.signing_keys}"
        kept, path = self._beside("signing", "SIGNING_KEYS", _keys), Path(f"{self.database.database}.signing")
        part = _write_private(path, f"{seed}\n{kept}")
        os.replace(part, path)
        return f"{path} has a new first key; restart to sign with it"

    def _beside(self, ending: str, name: str, check: Callable[[str], None]) -> str:
        """Return what is kept in a file beside the SQLite database, making it if there is none.

        Raises `BadSetting` on PostgreSQL, or if the file holds nothing that can be used.
        """
        if self.database.get_backend_name() != "sqlite":
            raise BadSetting(f"{PREFIX}{name}: must be set with this database")
        path = Path(f"{self.database.database}.{ending}")
        if not path.exists():
            part = _write_private(path, new_seed())
            try:
                # A link never overwrites, so of two first starts at once both go on with the same secret.
                os.link(part, path)
            except FileExistsError:
                pass
            finally:
                part.unlink()
        try:
            kept = path.read_text()
            # A file without a word passes for none that is set, but here it was lost.
            check(kept or " ")
        except (ValidationError, UnicodeDecodeError) as error:
            raise BadSetting(f"{path}: {error if isinstance(error, ValidationError) else 'this is no text'}") from None
        return kept


def new_seed() -> str:
    """Return 32 random bytes in base64url."""
    return secrets.token_urlsafe(SEED_BYTES)


def _write_private(path: Path, text: str) -> Path:
    """Write a file beside another that only its owner can read, all of it on the disk, and return its path."""
    opened, part = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with open(opened, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(opened)
    except BaseException:
        os.unlink(part)
        raise
    return Path(part)


def load() -> Settings:
    """Read the settings from the environment.

    Raises `BadSetting` with the name of the first that cannot be used.
    """
    env = Env(prefix=PREFIX)
    values = {}
    for declared in fields(Settings):
        name, check = declared.name.upper(), declared.metadata["check"]
        try:
            values[declared.name] = getattr(env, declared.metadata["kind"])(name, declared.default, validate=check)
        except EnvError as error:
            reason = str(error).removeprefix(f'Environment variable "{PREFIX}{name}" invalid: ').strip("[]'")
            raise BadSetting(f"{PREFIX}{name}: {reason}") from None
    return Settings(**values)
