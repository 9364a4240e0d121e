"""Observing: each request has an id, is timed and counted, and leaves a line in the log."""

from __future__ import annotations  # those of inner functions would else be worked out at each call

import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import uuid_utils
from flask import Flask, Response, has_request_context, request
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram

from service import metrics
from service.engine.errors import EngineError
from service.engine.events import Move
from service.logs import REQUESTS, Answered

_LOG = logging.getLogger(REQUESTS)
# No underscore and no dot, so that a token or a receipt sent by mistake comes into no log.
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
# Where they are kept in the environment of a request.
_BEGUN, _ID = "montecarlo.begun", "montecarlo.id"
_METHODS = ("GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE")


def init_app(app: Flask) -> None:
    """Observe an app. The first to be initialised, so that all others are timed."""
    app.wsgi_app = _named(app.wsgi_app)  # type: ignore[method-assign]
    app.after_request(_end)
    app.logger.addFilter(_name_request)
    app.add_url_rule("/metrics", view_func=get_metrics)


def get_metrics() -> Response:
    """Give all that was counted, for Prometheus to collect."""
    return Response(metrics.exposition(), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


@contextmanager
def counting(moves: Sequence[Move]) -> Iterator[None]:
    """Count moves that are made in the block, or the one that is refused there."""
    try:
        yield
    except EngineError as error:
        if error.move is not None:
            _moves(moves[error.move].type, error.code).inc()
        raise
    for move in moves:
        _moves(move.type, "made").inc()


@lru_cache(maxsize=1024)
def _moves(type: str, outcome: str) -> Counter:
    return metrics.MOVES.labels(type, outcome)


def _named(app: Any) -> Any:
    """Give each request of an app an id, and note when it began."""

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        environ[_BEGUN], environ[_ID] = time.perf_counter(), _request_id(environ)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            headers.append(("X-Request-Id", environ[_ID]))
            return start_response(status, headers, *more)

        return app(environ, start)

    return answer


def _request_id(environ: Mapping[str, Any]) -> str:
    """Return the id that the client gave, that of its trace, or a new one."""
    given = environ.get("HTTP_X_REQUEST_ID", "")
    if _REQUEST_ID.fullmatch(given):
        return str(given)
    trace = _TRACEPARENT.fullmatch(environ.get("HTTP_TRACEPARENT", ""))
    return trace[1] if trace else str(uuid_utils.uuid4())


def _end(response: Response) -> Response:
    environ, rule = request.environ, request.url_rule
    method = environ["REQUEST_METHOD"]
    facts = {
        "request": environ[_ID],
        "method": method if method in _METHODS else "other",
        "route": rule.rule if rule else None,
        "status": response.status_code,
    }
    response.call_on_close(partial(_record, facts, environ[_BEGUN], response.mimetype != "text/event-stream"))
    return response


def _record(facts: dict[str, Any], begun: float, timed: bool) -> None:
    taken = time.perf_counter() - begun
    requests, seconds = _counters(facts["method"], facts["route"] or "none", facts["status"])
    requests.inc()
    if timed:
        seconds.observe(taken)
    if _LOG.isEnabledFor(logging.INFO):
        _LOG.handle(Answered({**facts, "ms": round(taken * 1000, 2)}))


@lru_cache(maxsize=1024)
def _counters(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return metrics.REQUESTS.labels(method, route, status), metrics.SECONDS.labels(method, route)


def _name_request(record: logging.LogRecord) -> bool:
    if has_request_context():
        record.facts = {"request": request.environ.get(_ID)}
    return True
