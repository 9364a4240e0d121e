"""Limits: how often one may ask, counted in windows of time by token or address, and told in headers.

The headers are those of draft-ietf-httpapi-ratelimit-headers.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import fields

from flask import Flask, Response, current_app, g, request
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import FixedWindowRateLimiter

from service.api.problems import Problem
from service.api.reading import bearer
from service.api.world import world
from service.settings import Settings
from service.tokens import read_token

_KEY = "montecarlo-limits"
BY_TOKEN = ("moves",)
LONGEST_URL = 4096  # characters of path and query
MOST_HEADERS = 16384  # bytes, names and values


class Limits:
    """The limits in force, by name, and the counts of who asked how often."""

    def __init__(self, settings: Settings) -> None:
        self.rates = {
            declared.name.removeprefix("limit_"): parse(getattr(settings, declared.name))
            for declared in fields(settings)
            if declared.name.startswith("limit_")
        }
        here = MemoryStorage()
        self._counting = FixedWindowRateLimiter(_storage(settings.redis_url) or here)
        self._alone = FixedWindowRateLimiter(here)

    def take(self, name: str, who: str, cost: int) -> tuple[bool, int, int]:
        """Count a request if it is none too many; return whether, how many are left, and the seconds to the next window."""
        rate = self.rates[name]
        try:
            return _count(self._counting, rate, cost, name, who)
        except StorageError:
            # Better to count each worker by itself for a while than to refuse or to stop counting.
            logging.getLogger(__name__).exception("requests are not counted together")
            return _count(self._alone, rate, cost, name, who)


def _storage(url: str) -> Storage | None:
    return storage_from_string(url, wrap_exceptions=True, socket_timeout=1.0) if url else None  # type: ignore[return-value]


def _count(counting: FixedWindowRateLimiter, rate: RateLimitItem, cost: int, *who: str) -> tuple[bool, int, int]:
    # What is refused for many takes nothing from one.
    taken = (cost == 1 or counting.test(rate, *who, cost=cost)) and counting.hit(rate, *who, cost=cost)
    ends, left = counting.get_window_stats(rate, *who)
    return taken, max(left, 0), max(1, round(ends - time.time()))


def limit(name: str, cost: int = 1) -> None:
    """Count this request, or so many. Raises `Problem` if it is one too many."""
    limits: Limits | None = current_app.extensions[_KEY]
    if limits is None or not cost:
        return
    taken, left, wait = limits.take(name, _who(name), cost)
    rate = limits.rates[name]
    g.limits = {
        "RateLimit-Policy": f'"{name}";q={rate.amount};w={rate.get_expiry()}',
        "RateLimit": f'"{name}";r={left};t={wait}',
    }
    if not taken:
        raise Problem("too_many_requests", f"the limit is {rate}", headers={"Retry-After": str(wait)})


def _who(name: str) -> str:
    """Return whose requests are counted together: those with the token of a game, else those of an address."""
    token = bearer() if name in BY_TOKEN else None
    game = token and read_token(world().secret, token)
    return str(game) if game else request.remote_addr or ""


def rates() -> Sequence[tuple[str, str, str]]:
    """Return name, rate and help of each limit in force."""
    limits: Limits | None = current_app.extensions[_KEY]
    helps = {declared.name: declared.metadata["help"] for declared in fields(Settings)}
    if limits is None:
        return []
    return [(name, str(rate), helps[f"limit_{name}"].split(" As ")[0]) for name, rate in limits.rates.items()]


def _bound() -> None:
    """Refuse what no client of good will sends. Raises `Problem`."""
    environ = request.environ
    if len(environ.get("PATH_INFO", "")) + len(environ.get("QUERY_STRING", "")) > LONGEST_URL:
        raise Problem("uri_too_long", f"path and query have more than {LONGEST_URL} characters")
    sizes = (len(name) - 5 + len(value) for name, value in environ.items() if name.startswith("HTTP_"))
    if sum(sizes, len(environ.get("CONTENT_TYPE", ""))) > MOST_HEADERS:
        raise Problem("headers_too_large", f"the headers have more than {MOST_HEADERS} bytes")


def tell(response: Response) -> Response:
    """Say in an answer what is left."""
    response.headers.update(g.get("limits", {}))
    return response


def init_app(app: Flask, settings: Settings) -> None:
    """Limit an app as the settings say."""
    app.extensions[_KEY] = Limits(settings) if settings.rate_limits else None
    app.before_request(_bound)
    if settings.rate_limits:
        app.after_request(tell)
