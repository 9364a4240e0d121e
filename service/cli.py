"""The command `montecarlo`."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, BinaryIO, TextIO

import click
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from service import __version__, settings
from service.api.spec import log_schema
from service.api.world import make_world
from service.commands import audit_stored
from service.engine.audit import Verdict
from service.engine.audit import audit as check
from service.engine.errors import EngineError
from service.engine.search import solver_kind
from service.engine.signatures import NO_KEYS, KeyRing
from service.examples import build_spec
from service.migrate import migrate as bring_forward
from service.report import report
from service.schemas import verdict_document
from service.settings import PREFIX, BadSetting, Settings
from service.store import Store, count_games, game_ids
from service.strict_json import parse_json, parse_log_file


class _Group(click.Group):
    """Turns a bad setting into one line and exit status 2."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BadSetting as error:
            raise click.UsageError(str(error), context) from None


def _overrides(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options for settings; what is given there goes before the environment."""

    def keep(_: click.Context, option: click.Parameter, value: Any) -> None:
        if value is not None:
            os.environ[f"{PREFIX}{str(option.name).upper()}"] = str(value)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for declared in reversed(fields(Settings)):
            if declared.name in names:
                function = click.option(
                    f"--{declared.name.replace('_', '-')}",
                    expose_value=False,
                    callback=keep,
                    help=f"{declared.metadata['help']} [{PREFIX}{declared.name.upper()}, default {declared.default}]",
                )(function)
        return function

    return decorate


@click.group(cls=_Group)
@click.version_option(f"{__version__}, {solver_kind()} solver", prog_name="montecarlo")
def main() -> None:
    """Run the game service for Monte Carlo Solitaire."""


@main.command()
@_overrides("host", "port", "workers", "database_url")
def serve() -> None:
    """Bring the database forward and answer requests until stopped."""
    used = settings.load()
    used.secret(), used.keys()
    _migrate(used)
    click.echo(f"Monte Carlo Solitaire {__version__} on http://{used.host}:{used.port}, docs at /docs", err=True)
    Granian(
        "service.app:create_app",
        factory=True,
        address=used.host,
        port=used.port,
        interface=Interfaces.WSGI,
        workers=used.workers,
        blocking_threads=used.threads,
        # Without it a stop waits for every open connection to end by itself.
        workers_kill_timeout=10,
        log_level=LogLevels.error,
    ).serve()


@main.command()
@_overrides("database_url")
def migrate() -> None:
    """Bring the database to the schema of this release."""
    _migrate(settings.load())


@main.command()
@click.option("--log", is_flag=True, help="Print the JSON Schema of logs instead.")
def openapi(log: bool) -> None:
    """Print the OpenAPI spec, made from the code."""
    spec = build_spec()
    click.echo(json.dumps(log_schema(spec) if log else spec, indent=2, ensure_ascii=False))


@main.command()
@click.argument("files", nargs=-1, type=click.File("rb"))
@click.option("--keys", type=click.File("rb"), help="A JWK Set, as a server gives it at /.well-known/jwks.json.")
@click.option("--receipts", type=click.File("r"), help="Receipts you kept, one a line.")
@click.option("--json", "as_json", is_flag=True, help="Print each verdict as a line of JSON.")
@click.option("--all", "stored", is_flag=True, help="Audit every game of the database instead of files.")
@_overrides("database_url")
@click.pass_context
def audit(
    context: click.Context,
    files: Sequence[BinaryIO],
    keys: BinaryIO | None,
    receipts: TextIO | None,
    as_json: bool,
    stored: bool,
) -> None:
    """Audit logs, as JSON or notation, from FILES or - for standard input.

    Ends with 0 if every log is valid and none has a false signature, 1 if one is not, and 2 if one cannot be read.
    """
    if stored == bool(files):
        raise click.UsageError("give FILES, or --all for the database", context)
    if stored:
        context.exit(_audit_stored(as_json))
    ring = KeyRing.from_jwks(parse_json(keys.read())) if keys else NO_KEYS
    kept = [line.strip() for line in receipts if line.strip()] if receipts else []
    worst = 0
    for file in files:
        name = getattr(file, "name", "<stdin>")
        try:
            log = parse_log_file(file.read())
            if kept and isinstance(log, dict):
                log["receipts"] = [*(log.get("receipts") or ()), *kept]
            verdict = check(log, ring)
        except EngineError as error:
            click.echo(f"{name}: cannot be read: {error.message} ({error.code})", err=True)
            worst = 2
            continue
        click.echo(_line_of(name, verdict) if as_json else report(name, verdict))
        worst = max(worst, 0 if verdict.valid and verdict.authentic is not False else 1)
    context.exit(worst)


@main.command()
@_overrides("database_url")
def rotate_keys() -> None:
    """Make a new key to sign with; the old ones stay published."""
    click.echo(settings.load().rotate_keys())


def _audit_stored(as_json: bool) -> int:
    """Audit every game of the database; print those that are false and return the exit status."""
    used = settings.load()
    world = make_world(used)
    with world.store.reading() as connection:
        total, bad = count_games(connection), 0
        with click.progressbar(game_ids(connection), length=total, label="Auditing", file=sys.stderr) as ids:
            for id in ids:
                verdict = audit_stored(world, id)
                if not verdict.valid or verdict.authentic is False:
                    bad += 1
                    click.echo(_line_of(str(id), verdict) if as_json else f"\n{report(str(id), verdict)}")
    click.echo(f"{total} games audited, {bad} false", err=True)
    world.store.close()
    return 1 if bad else 0


def _line_of(name: str, verdict: Verdict) -> str:
    return json.dumps({"name": name, **verdict_document(verdict)})


def _migrate(used: Settings) -> None:
    store = Store(used.database)
    bring_forward(store)
    store.close()
