"""Terms: what a request asks in its headers besides what it does - once under a key, and only if nothing changed."""

import re
from collections.abc import Iterable
from hashlib import sha256

from flask import g, request

from service.api.problems import Problem
from service.api.reading import bearer
from service.api.world import world
from service.commands import Terms
from service.tokens import read_token

# Random UUIDs only: the others can be made by two who do not know of each other.
_RANDOM_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
# The header is a string of RFC 9651, in quotes; without them it is taken as well.
_KEY = re.compile(r'"([ !#-\[\]-~]{1,255})"|([!#-\[\]-~]{1,255})')


def terms() -> Terms:
    """Return the terms of the request. Raises `Problem`."""
    environ = request.environ
    if "HTTP_IDEMPOTENCY_KEY" not in environ and "HTTP_IF_MATCH" not in environ:
        return _NONE  # as most moves have it
    key = _key()
    return Terms(key, _request() if key else b"", _tags())


_NONE = Terms()


def conditions() -> Terms:
    """Return the terms of a request that has no need of a key, since twice is as good as once."""
    return Terms(tags=_tags())


def _key() -> bytes | None:
    """Return the digest of the key that the request is done once under, and of whose it is."""
    text = request.headers.get("Idempotency-Key")
    if text is None:
        return None
    found = _KEY.fullmatch(text)
    if not found:
        raise Problem("bad_header", "Idempotency-Key: send 1 to 255 printable characters, best a new random UUID")
    key, owner = found[1] or found[2], bearer()
    if owner is None or read_token(world().secret, owner) is None:
        # Of a request without a token nobody knows who sent it, and two strangers must never share a key.
        key, owner = key.lower(), ""
        if not _RANDOM_UUID.fullmatch(key):
            raise Problem("bad_header", "Idempotency-Key: without a token only a random UUID (version 4 or 7) is taken")
    return sha256(f"{owner}\n{key}".encode()).digest()


def _request() -> bytes:
    """Return the digest of what the request asks; how it wants to be answered may differ the next time."""
    asked = sha256(f"{request.method} {request.full_path}\n".encode())
    asked.update(g.body)
    return asked.digest()


def _tags() -> frozenset[str] | None:
    """Return the tags of If-Match, or None if any will do."""
    if "If-Match" not in request.headers or request.if_match.star_tag:
        return None
    return _plain(request.if_match.as_set())


def is_known(tag: str) -> bool:
    """Say whether the client has what an ETag names."""
    known = request.if_none_match
    return known.star_tag or tag.strip('"') in _plain(known.as_set(include_weak=True))


def _plain(tags: Iterable[str | None]) -> frozenset[str]:
    # A compressed answer has its encoding at the end of its tag; what it tags is the same.
    # An empty tag, which nothing here has, is read as None.
    return frozenset((tag or "").partition(":")[0] for tag in tags)


def etag(tag: str) -> dict[str, str]:
    """Return the header that names what an answer shows."""
    return {"ETag": f'"{tag}"'}
