"""Tokens of games: a guest who makes a game gets one, and moving needs it.

A token names its game and carries an HMAC of that name under the server's secret, so there is nothing to store,
and a repeated answer can carry the token again.
"""

import base64
import hmac
from functools import lru_cache
from uuid import UUID

_PREFIX = "mc_"
_LENGTH = len(_PREFIX) + 22 + 1 + 64


def make_token(secret: bytes, game: UUID) -> str:
    """Return the token of a game."""
    mac = hmac.digest(secret, b"montecarlo/token/v1:" + game.bytes, "sha256")
    return f"{_PREFIX}{_text(game.bytes)}_{mac.hex()}"


def read_token(secret: bytes, token: str) -> UUID | None:
    """Return the game that a token is for, or None if this server never made it."""
    # Nothing of another length is looked at or kept.
    return _read(secret, token) if len(token) == _LENGTH else None


@lru_cache(maxsize=4096)
def _read(secret: bytes, token: str) -> UUID | None:
    name = token.removeprefix(_PREFIX).rpartition("_")[0]
    try:
        game = UUID(bytes=base64.urlsafe_b64decode(name + "=="))
    except ValueError:
        return None
    # Compared as bytes: a header may hold characters that the text form of this function refuses.
    return game if hmac.compare_digest(make_token(secret, game).encode(), token.encode()) else None


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
