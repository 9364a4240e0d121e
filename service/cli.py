"""The command `montecarlo`."""

import json
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels
from sqlalchemy.exc import SQLAlchemyError

from service import __version__, copying, logs, metrics, settings
from service.api.spec import log_schema
from service.api.world import make_world, open_database
from service.app import STOP_WITHIN
from service.bot import PLAYERS as BOTS
from service.bot import NoSuchServer, Unreachable
from service.bot import Refused as BotRefused
from service.bot import Server as BotServer
from service.bot import play as play_over_http
from service.commands import World, audit_stored
from service.commands import prune as pruned
from service.database import Database, Unavailable
from service.engine.audit import Verdict, deal_of
from service.engine.audit import audit as check
from service.engine.deals import order as deal_order
from service.engine.errors import EngineError
from service.engine.game import Position
from service.engine.notation import line_text
from service.engine.players import PERFECT, PLAYERS, Tally
from service.engine.rules import DEFAULT_VARIANT, find_variant
from service.engine.search import DEFAULT_BUDGET, solver_kind
from service.engine.search import solve as solve_position
from service.engine.signatures import NO_KEYS, KeyRing, read_receipts
from service.examples import build_spec
from service.migrate import WrongSchema
from service.migrate import check as check_schema
from service.migrate import migrate as bring_forward
from service.report import report
from service.schemas import solution_document, verdict_document
from service.settings import PREFIX, BadSetting, Settings
from service.simulate import bars, chart, load, publish, run, save, summary
from service.store import count_games, game_ids
from service.strict_json import parse_json, parse_log_file


class _Failed(click.ClickException):
    """A command that could not do its work; status 1 is for logs found false."""

    exit_code = 2


class _Group(click.Group):
    """Turns a bad setting or a database that is not there into one line and exit status 2."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BadSetting as error:
            raise click.UsageError(str(error), context) from None
        except WrongSchema as wrong:
            raise _Failed(str(wrong)) from None
        except (Unavailable, SQLAlchemyError) as error:
            reason = error.reason if isinstance(error, Unavailable) else str(error).splitlines()[0]
            raise _Failed(f"the database cannot be used: {reason}") from None
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise  # whoever read the output has seen enough; click ends quietly
            raise _Failed(str(error)) from None


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
@_overrides("host", "port", "workers", "database_url", "migrate")
def serve() -> None:
    """Bring the database forward and answer requests until stopped."""
    used = settings.load()
    _check_free(used)
    used.secret()
    # A worker that is started later signs with the same keys, whatever was put into the file meanwhile.
    os.environ[f"{PREFIX}SIGNING_KEYS"] = used.signing_seeds()
    _prepare_database(used, check_schema if not used.migrate else _bring_forward)
    click.echo(f"Monte Carlo Solitaire {__version__} on http://{used.host}:{used.port}, docs at /docs", err=True)
    # Workers that import anew: what they count goes to the shared folder only if that was named before.
    multiprocessing.set_start_method("spawn")
    with metrics.shared():
        Granian(
            "service.app:create_worker",
            factory=True,
            address=settings.address_of(used.host),
            port=used.port,
            interface=Interfaces.WSGI,
            workers=used.workers,
            # A thread for each watcher, asleep nearly all the time, besides those that answer.
            blocking_threads=used.threads + used.watchers,
            workers_kill_timeout=STOP_WITHIN,
            respawn_failed_workers=True,
            respawn_interval=0.5,
            log_level=LogLevels.error,
            log_dictconfig=logs.config(used.log_level),
        ).serve()
    # The workers end without a word to SQLite. On a disk that is full it stays as it is.
    with suppress(Unavailable):
        _prepare_database(used, lambda database: database.settle())


@main.command()
@_overrides("database_url")
def migrate() -> None:
    """Bring the database to the schema of this release."""
    _prepare_database(settings.load(), _bring_forward)


@main.command()
@click.option(
    "--days", type=click.IntRange(1, 36500), default=30, show_default=True, help="Age of the games that are removed."
)
@_overrides("database_url")
def prune(days: int) -> None:
    """Remove games that nobody ever played, and answers kept for retries longer than a day.

    What has been played is never removed. It can run beside the service.
    """
    gone = {"answers": 0, "games": 0}
    with _existing_world() as world:
        for kind, count in pruned(world, days):
            gone[kind] += count
            click.echo(f"\r{gone['games']} games, {gone['answers']} answers", nl=False, err=True)
    click.echo(f"\r{gone['games']} games and {gone['answers']} answers removed")


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
    """Audit logs, as JSON, one a line or not, or notation, from FILES or - for standard input.

    Ends with 0 if every log is valid and none has a false signature, 1 if one is not, and 2 if one cannot be read.
    """
    if stored == bool(files):
        raise click.UsageError("give FILES, or --all for the database", context)
    if stored:
        context.exit(_audit_stored(as_json))
    try:
        ring = KeyRing.from_jwks(parse_json(keys.read())) if keys else NO_KEYS
        kept = [line.strip() for line in receipts if line.strip()] if receipts else []
    except EngineError as error:
        raise click.UsageError(f"--keys: {error.message}", context) from None
    except UnicodeDecodeError:
        raise click.UsageError("--receipts: this is no text", context) from None
    worst = 0
    for name, content in _logs(files):
        try:
            log = parse_log_file(content)
            if kept and isinstance(log, dict):
                log["receipts"] = [*read_receipts(log.get("receipts")), *kept]
            verdict = check(log, ring)
        except EngineError as error:
            click.echo(f"{name}: cannot be read: {error.message} ({error.code})", err=True)
            worst = 2
            continue
        click.echo(_line_of(name, verdict) if as_json else report(name, verdict))
        worst = max(worst, 0 if verdict.valid and verdict.authentic is not False else 1)
    context.exit(worst)


def _logs(files: Sequence[BinaryIO]) -> Iterator[tuple[str, bytes]]:
    """Yield each log with a name for it; a file of several may have one a line, as an export has."""
    for file in files:
        name = getattr(file, "name", "<stdin>")
        first = file.readline()
        try:
            whole_line = isinstance(json.loads(first), dict)
        except (ValueError, RecursionError):
            whole_line = False
        if not whole_line:
            yield name, first + file.read()
            continue
        for number, line in enumerate(chain([first], file), 1):
            if line.strip():
                yield f"{name}:{number}" if number > 1 else name, line


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """Give what is set by the first interrupt, or by SIGTERM; the second stops at once, as it always does."""
    stopped = threading.Event()

    def stop(*_: object) -> None:
        # No exception: it could come in the middle of anything, and leave a lock held for ever.
        stopped.set()
        signal.signal(signal.SIGINT, before)
        click.echo("\nstopping after the deals being played; again to stop at once", err=True)

    before, at_end = signal.signal(signal.SIGINT, stop), signal.signal(signal.SIGTERM, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, at_end)


_NEW_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


def _check_file(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that could not be written, before hours are spent on what goes into it."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"nothing can be written in {path.parent}", context, option)
    if path and path.exists() and not path.is_file():
        raise click.BadParameter(f"{path} is no file", context, option)
    return path


@main.command()
@click.option("--variant", default=DEFAULT_VARIANT, show_default=True, help="Id or alias of a variant.")
@click.option("--player", type=click.Choice([*PLAYERS, PERFECT]), default="first", show_default=True, help="Who plays.")
@click.option("--deals", type=click.IntRange(1, 10**9), default=1000, show_default=True, help="How many deals to play.")
@click.option("--seed", type=click.IntRange(0, 2**63), default=1, show_default=True, help="Number of the first deal.")
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes to play in.")
@click.option("--out", type=_NEW_FILE, callback=_check_file, help="JSON file to keep; played on from there.")
@click.option("--svg", type=_NEW_FILE, callback=_check_file, help="File to draw the cards left in.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--publish", "published", is_flag=True, help="Put the result into the odds that the service shows.")
def simulate(
    variant: str,
    player: str,
    deals: int,
    seed: int,
    jobs: int,
    out: Path | None,
    svg: Path | None,
    as_json: bool,
    published: bool,
) -> None:
    """Let a player play numbered deals and tell the odds. Stopped, it keeps what it has."""
    try:
        found = find_variant(variant)
        tally = Tally(found.id, player, seed)
        tally = load(out, tally) if out else tally
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    label = f"{found.id}, {player}"
    with (
        _stoppable() as stopped,
        click.progressbar(length=max(deals, tally.deals), label=label, file=sys.stderr) as bar,
    ):
        bar.update(tally.deals)
        try:
            for played in run(found.rules, tally, deals, jobs, stopped.is_set):
                bar.update(played - bar.pos)
                if out:
                    save(out, tally)
        except BrokenProcessPool:
            raise _Failed(f"a process was killed after {tally.deals} deals; with --out they can be played on") from None
    if stopped.is_set():
        click.echo("stopped; what was played counts", err=True)
    if svg:
        svg.write_text(chart(tally))
    if published:
        try:
            publish(tally)
        except ValueError as error:
            raise _Failed(str(error)) from None
    click.echo(json.dumps(tally.data) if as_json else f"{summary(tally)}\n{bars(tally)}".rstrip())


@main.command()
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="Where the server is.")
@click.option("--variant", default=DEFAULT_VARIANT, show_default=True, help="Id or alias of a variant.")
@click.option("--player", type=click.Choice([*BOTS]), default="first", show_default=True, help="How to play.")
@click.option("--games", type=click.IntRange(1, 10**9), default=1, show_default=True, help="How many to play.")
def bot(url: str, variant: str, player: str, games: int) -> None:
    """Play games through the API of a server, as any bot would."""
    won = 0
    try:
        server = BotServer(url, told=lambda why: click.echo(f"asking again: {why}", err=True))
        for _ in range(games):
            *_, game = play_over_http(server, variant, player)
            won += game["status"] == "won"
            click.echo(f"{game['id']} {game['status']} with {game['cards_left']} cards left")
    except BotRefused as refused:
        raise click.ClickException(f"{refused} ({refused.problem.get('code', 'no code')})") from None
    except Unreachable as error:
        raise click.ClickException(f"{url} does not answer: {error}") from None
    except NoSuchServer as error:
        raise click.ClickException(f"{url} is no such server: {error}") from None
    click.echo(f"{won} of {games} won", err=True)


@main.command()
@click.argument("file", required=False, type=click.File("rb"))
@click.option("--variant", help=f"Id or alias of a variant, without a FILE.  [default: {DEFAULT_VARIANT}]")
@click.option("--number", help="Number of a deal.")
@click.option("--pysol", help="PySolFC number of a deal.")
@click.option("--deck", help="All cards of the pack, first dealt first.")
@click.option(
    "--nodes", type=click.IntRange(1, 10**10), default=DEFAULT_BUDGET, show_default=True, help="Most to visit."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def solve(
    file: BinaryIO | None,
    variant: str | None,
    number: str | None,
    pysol: str | None,
    deck: str | None,
    nodes: int,
    as_json: bool,
) -> None:
    """Say whether a deal can be won, and how: a number, a deck, or the deal of a log in FILE (- for standard input)."""
    given = [(kind, value) for kind, value in (("numbered", number), ("pysol", pysol), ("deck", deck)) if value]
    if len(given) + (file is not None) != 1:
        raise click.UsageError("give one of --number, --pysol, --deck or FILE")
    if file is not None and variant:
        raise click.UsageError("the variant stands in the FILE")
    try:
        if file is not None:
            rules, order = deal_of(parse_log_file(file.read()))
        else:
            rules = find_variant(variant or DEFAULT_VARIANT).rules
            (kind, value), *_ = given
            order = deal_order(rules.pack, kind, number=value, cards=value)
    except EngineError as error:
        raise click.UsageError(error.message) from None
    solution = solve_position(Position(rules, order[: rules.size], rules.size), order, nodes)
    if as_json:
        click.echo(json.dumps(solution_document(solution)))
        return
    click.echo(f"{solution.verdict}, {solution.nodes} positions visited")
    if solution.moves:
        click.echo(line_text(rules, order, solution.moves))


@main.command()
@_overrides("database_url")
def rotate_keys() -> None:
    """Make a new key to sign with; the old ones stay published."""
    click.echo(settings.load().rotate_keys())


def _check_free(used: Settings) -> None:
    """Refuse an address in use: the workers share theirs, so the system would let another server share it as well."""
    address = settings.address_of(used.host)
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, used.port))
        except OSError as error:
            raise BadSetting(f"{PREFIX}HOST, {PREFIX}PORT: {used.host}:{used.port}: {error.strerror}") from None


@main.command("copy")
@click.option("--from", "source_url", required=True, help="URL of the database to copy.")
@click.option("--to", "target_url", required=True, help="URL of the database to bring to the same state.")
@click.option("--json", "as_json", is_flag=True, help="Print each false game as a line of JSON.")
@click.pass_context
def copy_database(context: click.Context, source_url: str, target_url: str, as_json: bool) -> None:
    """Copy a database into another, and audit every game there.

    Stopped, it goes on where it was when it is run again. Copy while the service runs, stop the service, copy once
    more for what has changed, and start it on the other database, with the same secret and signing keys.

    Ends with 0 if all games are there and valid, else with 1.
    """
    if source_url == target_url:
        raise click.UsageError("--from and --to are the same database")
    with _existing_world(source_url) as source:
        target = open_database(replace(_settings_of(target_url), statement_timeout=0))
        try:
            _bring_forward(target)
            with source.database.reading() as connection:
                total = count_games(connection)
            with click.progressbar(length=total, label="Copying", file=sys.stderr) as bar:
                for seen in copying.copy(source.database, target):
                    bar.update(seen)
            with click.progressbar(length=total, label="Comparing", file=sys.stderr) as bar:
                differing = 0
                for seen, differ in copying.differences(source.database, target):
                    differing += differ
                    bar.update(seen)
            bad = _audit_games(replace(source, database=target), as_json)
        except KeyboardInterrupt:
            raise _Failed("stopped; run it again to go on") from None
        except copying.Diverged as diverged:
            raise _Failed(str(diverged)) from None
        finally:
            target.close()
    if differing:
        click.echo(f"{differing} games have changed meanwhile; copy again", err=True)
    context.exit(1 if bad or differing else 0)


def _settings_of(database_url: str) -> Settings:
    os.environ[f"{PREFIX}DATABASE_URL"] = database_url
    return settings.load()


@contextmanager
def _existing_world(database_url: str | None = None) -> Iterator[World]:
    """Give the world of a database that is there already with its tables, that of the settings or another."""
    used = _settings_of(database_url) if database_url else settings.load()
    path = used.database.database if used.database.get_backend_name() == "sqlite" else None
    if path and not Path(path).exists():
        raise click.UsageError(f"there is no database {path}")
    _prepare_database(used, check_schema)
    world = make_world(replace(used, statement_timeout=0))
    try:
        yield world
    finally:
        world.database.close()


def _audit_stored(as_json: bool) -> int:
    with _existing_world() as world:
        return 1 if _audit_games(world, as_json) else 0


def _audit_games(world: World, as_json: bool) -> int:
    """Audit every game of the database, print those that are false and return how many there are."""
    with world.database.reading() as connection:
        total, bad = count_games(connection), 0
        with click.progressbar(game_ids(connection), length=total, label="Auditing", file=sys.stderr) as ids:
            for id in ids:
                verdict = audit_stored(world, id)
                if not verdict.valid or verdict.authentic is False:
                    bad += 1
                    click.echo(_line_of(str(id), verdict) if as_json else f"\n{report(str(id), verdict)}")
    click.echo(f"{total} games audited, {bad} false", err=True)
    return bad


def _line_of(name: str, verdict: Verdict) -> str:
    return json.dumps({"name": name, **verdict_document(verdict)})


def _bring_forward(database: Database) -> None:
    bring_forward(database, lambda busy: click.echo(f"{busy}: {busy.reason}; trying again", err=True))


def _prepare_database(used: Settings, prepare: Callable[[Database], None]) -> None:
    database = open_database(used)
    try:
        prepare(database)
    finally:
        database.close()
