"""Signatures: the server's word, signed with Ed25519, that the log of a game had this head at this version.

A receipt is a compact JWS (RFC 7515, algorithm `Ed25519` of RFC 9864) whose payload is the canonical JSON of game,
version and head. Whoever keeps one can show later that a log was cut or rewritten.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from service.engine.errors import Unreadable

ALGORITHM = "Ed25519"
SEED_BYTES = 32
LONGEST_RECEIPT = 2048
MOST_RECEIPTS = 2000


@dataclass(frozen=True, slots=True)
class Statement:
    """What a receipt says: the log of `game` had the hash `head` at `version`."""

    game: str
    version: int
    head: str


class KeyRing:
    """Keys by their ids. The first signs, if it has a private part; the others are kept for what they signed before."""

    def __init__(self, keys: Iterable[OKPKey]) -> None:
        self.keys: Sequence[OKPKey] = tuple(keys)
        self._by_id = {str(key.thumbprint()): key for key in self.keys}
        if self.keys:
            self._header = _encode(orjson.dumps({"alg": ALGORITHM, "kid": str(self.keys[0].thumbprint())}))

    @classmethod
    def from_seeds(cls, seeds: Iterable[str]) -> "KeyRing":
        """Make keys of private seeds, each 32 bytes in base64url. Raises `Unreadable` with code `bad_key`."""
        return cls(_private(seed) for seed in seeds)

    @classmethod
    def from_jwks(cls, document: Any) -> "KeyRing":
        """Read the public keys that a server publishes. Raises `Unreadable` with code `bad_key`."""
        try:
            listed = document["keys"]
            return cls(OKPKey.import_key(key) for key in listed if key.get("crv") == ALGORITHM)
        except (KeyError, TypeError, AttributeError, ValueError, JoseError):
            raise Unreadable("bad_key", "this is no JWK Set with Ed25519 keys") from None

    @property
    def jwks(self) -> dict[str, Any]:
        """The public keys as a JWK Set (RFC 7517)."""
        return {
            "keys": [
                {**key.as_dict(private=False), "kid": id, "alg": ALGORITHM, "use": "sig"}
                for id, key in self._by_id.items()
            ]
        }

    def sign(self, statement: Statement) -> str:
        """Return a receipt."""
        said = {"game": statement.game, "head": statement.head, "version": statement.version}
        # Put together by hand, as RFC 7515 section 7.1 says: the library takes twice the time of the signature itself.
        signed = f"{self._header}.{_encode(orjson.dumps(said))}"
        signer: Any = self.keys[0].private_key
        return f"{signed}.{_encode(signer.sign(signed.encode()))}"

    def knows(self, receipt: str) -> bool:
        """Say whether a receipt names one of these keys."""
        return self._key(receipt) is not None

    def read(self, receipt: str) -> Statement | None:
        """Return what a receipt says, or None if none of these keys signed it."""
        key = self._key(receipt)
        if key is None:
            return None
        try:
            found = orjson.loads(jws.deserialize_compact(receipt, key, algorithms=[ALGORITHM]).payload)
            return Statement(found["game"], found["version"], found["head"])
        except (JoseError, ValueError, KeyError, TypeError):
            return None

    def _key(self, receipt: str) -> OKPKey | None:
        try:
            header = orjson.loads(_decode(receipt.partition(".")[0]))
            return self._by_id.get(header["kid"]) if header["alg"] == ALGORITHM else None
        except (ValueError, KeyError, TypeError):
            return None


def _private(seed: str) -> OKPKey:
    try:
        raw = _decode(seed)
    except ValueError:
        raw = b""
    if len(raw) != SEED_BYTES:
        raise Unreadable("bad_key", f"a signing key is {SEED_BYTES} bytes in base64url")
    # Ed25519 as a PKCS #8 document: a fixed head, then the seed.
    document = bytes.fromhex("302e020100300506032b657004220420") + raw
    return OKPKey.import_key(
        b"-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(document) + b"\n-----END PRIVATE KEY-----\n"
    )


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("not base64url") from None


def read_receipts(found: Any) -> tuple[str, ...]:
    """Return receipts that came with a log. Raises `Unreadable` with code `unreadable_log`."""
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(item, str) and len(item) <= LONGEST_RECEIPT for item in found):
        raise Unreadable("unreadable_log", "receipts is a list of strings, each a receipt as the service gave it")
    if len(found) > MOST_RECEIPTS:
        raise Unreadable("unreadable_log", f"at most {MOST_RECEIPTS} receipts can be held against a log at once")
    return tuple(dict.fromkeys(found))


NO_KEYS = KeyRing(())
