"""Logs: a line of JSON for each request and each thing that went wrong.

Nothing that is secret comes into a line: neither tokens, nor seeds and keys, nor any card, hidden or not.
"""

import logging
import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

# Rows that PostgreSQL quotes; cards; tokens; receipts; hashes, commitments and seeds in hex, cut short or not; seeds in
# base64url.
_SECRET = re.compile(
    r"(?<=DETAIL:).*|\b[A2-9TJQK][CDHS]\b|\bmc_[\w-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]+|[0-9a-f]{48,}"
    r"|(?<![\w-])[\w-]{43}(?![\w-])"
)


class Answered(logging.LogRecord):
    """The record of a request that was answered.

    The usual ones find out what nobody reads here, as from where they were called, for a twentieth of a request's time.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        now = time.time()
        self.__dict__.update(_ANSWERED, created=now, msecs=now % 1 * 1000, process=os.getpid(), facts=facts)


REQUESTS = "service.requests"
_ANSWERED = logging.LogRecord(REQUESTS, logging.INFO, "", 0, "request", (), None).__dict__


class Lines(logging.Formatter):
    """Writes a record as a line of JSON; what it has in `facts` becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": f"{_second(int(record.created))}.{int(record.msecs):03d}+00:00",
            "level": record.levelname.lower(),
            "pid": record.process,
            "message": hidden(record.getMessage()),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["error"] = hidden(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


@lru_cache(maxsize=8)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()[:19]


def hidden(text: str) -> str:
    """Return a text with stars for what must not be known."""
    return _SECRET.sub("***", text)


def config(level: str) -> dict[str, Any]:
    """Return what `logging.config` makes of it."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": Lines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {"service": {"level": level.upper()}, "_granian": {"level": "ERROR"}},
    }
