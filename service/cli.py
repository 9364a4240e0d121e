"""The command `montecarlo`."""

import json
import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from service import __version__, settings
from service.examples import build_spec
from service.migrate import migrate as bring_forward
from service.settings import PREFIX, BadSetting, Settings
from service.store import Store


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
@click.version_option(__version__, prog_name="montecarlo")
def main() -> None:
    """Run the game service for Monte Carlo Solitaire."""


@main.command()
@_overrides("host", "port", "workers", "database_url")
def serve() -> None:
    """Bring the database forward and answer requests until stopped."""
    used = settings.load()
    used.secret()
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
def openapi() -> None:
    """Print the OpenAPI spec, made from the code."""
    click.echo(json.dumps(build_spec(), indent=2, ensure_ascii=False))


def _migrate(used: Settings) -> None:
    store = Store(used.database)
    bring_forward(store)
    store.close()
