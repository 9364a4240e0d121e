"""Signatures: a receipt is read by those who know the key, says what was signed, and nothing else is one."""

import base64
import hashlib
import hmac
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.errors import Unreadable
from service.engine.signatures import LONGEST_RECEIPT, NO_KEYS, SEED_BYTES, KeyRing, Statement, read_receipts
from tests.engine.table import shortly

SEED = bytes(range(SEED_BYTES))
SAID = Statement("00000000-0000-4000-8000-000000000001", 7, "5e" * 32)


def encode(data):
    """Return bytes, text or JSON in base64url, as a JWS has them."""
    if not isinstance(data, bytes):
        data = (data if isinstance(data, str) else json.dumps(data)).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


KEYS = KeyRing.from_seeds([encode(SEED)])
OTHERS = KeyRing.from_seeds([encode(b"o" * SEED_BYTES)])
RECEIPT = KEYS.sign(SAID)
HEAD, PAYLOAD, SIGNATURE = RECEIPT.split(".")
KEY_ID = json.loads(decode(HEAD))["kid"]


def made(header, payload=PAYLOAD, seed=SEED):
    """Return a receipt with any header, really signed with a key."""
    signed = f"{encode(header)}.{payload}"
    return f"{signed}.{encode(Ed25519PrivateKey.from_private_bytes(seed).sign(signed.encode()))}"


# -- Signing and reading


def test_a_receipt_says_what_was_signed():
    assert KEYS.knows(RECEIPT)
    assert KEYS.read(RECEIPT) == SAID


def test_a_receipt_is_a_compact_jws_that_anyone_can_check():
    assert json.loads(decode(HEAD)) == {"alg": "Ed25519", "kid": KEY_ID}
    assert decode(PAYLOAD).decode() == f'{{"game":"{SAID.game}","head":"{SAID.head}","version":7}}'
    public = Ed25519PublicKey.from_public_bytes(decode(KEYS.jwks["keys"][0]["x"]))
    public.verify(decode(SIGNATURE), f"{HEAD}.{PAYLOAD}".encode())


def test_the_same_statement_has_the_same_receipt():
    assert KEYS.sign(SAID) == RECEIPT
    assert KEYS.read(made({"alg": "Ed25519", "kid": KEY_ID})) == SAID
    assert len(RECEIPT) < LONGEST_RECEIPT


@pytest.mark.parametrize(
    "other", [Statement("other", 7, SAID.head), Statement(SAID.game, 8, SAID.head), Statement(SAID.game, 7, "0" * 64)]
)
def test_another_statement_has_another_receipt(other):
    assert KEYS.sign(other) != RECEIPT
    assert KEYS.read(KEYS.sign(other)) == other


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 2**53), st.text("0123456789abcdef"))
@settings(deadline=None, max_examples=50)
def test_whatever_is_signed_is_read(game, version, head):
    assert KEYS.read(KEYS.sign(Statement(game, version, head))) == Statement(game, version, head)


# -- Keys


def test_public_keys_read_what_private_keys_signed():
    published = json.loads(json.dumps(KEYS.jwks))
    readers = KeyRing.from_jwks(published)
    assert readers.read(RECEIPT) == SAID
    assert readers.jwks == published


def test_what_is_published_holds_nothing_private():
    ring = KeyRing((*KEYS.keys, *OTHERS.keys))
    assert [set(key) for key in ring.jwks["keys"]] == [{"kty", "crv", "x", "kid", "alg", "use"}] * 2
    assert [(key["kty"], key["crv"], key["alg"], key["use"]) for key in ring.jwks["keys"]] == [
        ("OKP", "Ed25519", "Ed25519", "sig")
    ] * 2
    assert encode(SEED) not in json.dumps(ring.jwks)


def test_the_id_of_a_key_is_its_thumbprint():
    (key,) = KEYS.jwks["keys"]
    told = f'{{"crv":"Ed25519","kty":"OKP","x":"{key["x"]}"}}'  # RFC 7638: these members, in this order, no space
    assert key["kid"] == KEY_ID == encode(hashlib.sha256(told.encode()).digest())


def test_the_key_of_a_published_test_vector():
    """RFC 8032, section 7.1, test 1."""
    ring = KeyRing.from_seeds(
        [encode(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))]
    )
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert decode(ring.jwks["keys"][0]["x"]).hex() == public


def test_an_unknown_key_reads_nothing():
    for ring in (OTHERS, NO_KEYS, KeyRing.from_jwks({"keys": []})):
        assert not ring.knows(RECEIPT)
        assert ring.read(RECEIPT) is None
    assert NO_KEYS.jwks == {"keys": []}


def test_old_keys_read_after_a_rotation_and_the_first_signs():
    rotated = KeyRing.from_seeds([encode(b"o" * SEED_BYTES), encode(SEED)])
    assert rotated.read(RECEIPT) == SAID
    assert rotated.sign(SAID) == OTHERS.sign(SAID)
    assert [key["kid"] for key in rotated.jwks["keys"]] == [OTHERS.jwks["keys"][0]["kid"], KEY_ID]
    assert KEYS.read(rotated.sign(SAID)) is None


def test_an_old_key_may_be_kept_by_its_public_part_alone():
    ring = KeyRing((*OTHERS.keys, *KeyRing.from_jwks(KEYS.jwks).keys))
    assert ring.read(RECEIPT) == SAID
    assert OTHERS.read(ring.sign(SAID)) == SAID


def test_a_key_given_twice_is_published_once():
    assert KeyRing.from_seeds([encode(SEED), encode(SEED)]).jwks == KEYS.jwks


def test_keys_of_other_kinds_are_passed_over():
    others = [
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "X25519", "x": encode(SEED)},
    ]
    assert KeyRing.from_jwks({"keys": [*others, *KEYS.jwks["keys"]]}).jwks == KEYS.jwks


@pytest.mark.parametrize(
    "document",
    [
        None, [], "", 1, {}, {"keys": None}, {"keys": 1}, {"keys": [None]}, {"keys": ["x"]}, {"keys": [1]},
        {"keys": [{"crv": "Ed25519"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": ""}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": 5}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": None}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "\ud800"}]},
    ],
    ids=shortly,
)  # fmt: skip
def test_what_is_no_set_of_keys_is_refused(document):
    with pytest.raises(Unreadable) as refusal:
        KeyRing.from_jwks(document)
    assert refusal.value.code == "bad_key"


@pytest.mark.parametrize(
    "seed",
    [
        "",
        "t",
        "t" * 42,
        "t" * 44,
        "t" * 86,
        encode(SEED[1:]),
        encode(SEED + b"x"),
        "=" * 43,
        "é" * 43,
        " " * 43,
    ],
    ids=shortly,
)
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(Unreadable) as refusal:
        KeyRing.from_seeds([seed])
    assert refusal.value.code == "bad_key"


# -- Forgeries


def flipped(part, place):
    return part[:place] + ("A" if part[place] != "A" else "B") + part[place + 1 :]


@pytest.mark.parametrize("part", [0, 1, 2], ids=["header", "payload", "signature"])
def test_a_receipt_changed_in_any_character_is_none(part):
    for place in range(len(RECEIPT.split(".")[part])):
        parts = RECEIPT.split(".")
        parts[part] = flipped(parts[part], place)
        assert KEYS.read(".".join(parts)) is None, place


def test_a_signature_has_one_form_only():
    """Base64 leaves bits over at its end, padding and blanks; none of them makes a second receipt of the first."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=*. \n"
    same = [letter for letter in letters if KEYS.read(RECEIPT[:-1] + letter)]
    assert same == [RECEIPT[-1]]
    for other in (
        f"{RECEIPT}=",
        f"{RECEIPT}==",
        f"{RECEIPT}\n",
        f" {RECEIPT}",
        f"{HEAD}.{PAYLOAD}.{SIGNATURE[:9]}\n{SIGNATURE[9:]}",
    ):
        assert KEYS.read(other) is None, other


def test_a_statement_put_under_another_signature_is_none():
    _, payload, _ = KEYS.sign(Statement(SAID.game, 8, "0" * 64)).split(".")
    assert KEYS.read(f"{HEAD}.{payload}.{SIGNATURE}") is None


def test_a_receipt_signed_by_another_under_a_known_name_is_none():
    forgery = made({"alg": "Ed25519", "kid": KEY_ID}, seed=b"o" * SEED_BYTES)
    assert KEYS.knows(forgery)
    assert KEYS.read(forgery) is None


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "HS256", "HS512", "ES256", "RS256", "EdDSA", "ed25519", "", None, 1, []]
)
def test_no_other_algorithm_is_taken(algorithm):
    header = {"alg": algorithm, "kid": KEY_ID}
    for forgery in (made(header), f"{encode(header)}.{PAYLOAD}.", f"{encode(header)}.{PAYLOAD}.{SIGNATURE}"):
        assert not KEYS.knows(forgery)
        assert KEYS.read(forgery) is None


@pytest.mark.parametrize("hash", ["sha256", "sha512"])
def test_the_public_key_is_no_secret_to_sign_with(hash):
    """A reader that lets the header choose would take the published key for the secret of an HMAC."""
    (key,) = KEYS.jwks["keys"]
    for algorithm in ("HS256", "HS512", "Ed25519"):
        for secret in (key["x"].encode(), decode(key["x"]), json.dumps(key).encode()):
            signed = f"{encode({'alg': algorithm, 'kid': KEY_ID})}.{PAYLOAD}"
            forgery = f"{signed}.{encode(hmac.digest(secret, signed.encode(), hash))}"
            assert KEYS.read(forgery) is None


def test_a_key_inside_the_header_is_not_trusted():
    (key,) = OTHERS.jwks["keys"]
    for header in ({"alg": "Ed25519", "jwk": key}, {"alg": "Ed25519", "kid": KEY_ID, "jwk": key}):
        assert KEYS.read(made(header, seed=b"o" * SEED_BYTES)) is None


@pytest.mark.parametrize(
    "payload",
    ["", "{}", "[]", "null", "1", '"x"', "{", '{"game":"x"}', '{"game":"x","version":1}', b"\xff", "[" * 2000],
    ids=shortly,
)
def test_a_payload_that_is_no_statement_is_none(payload):
    assert KEYS.read(made({"alg": "Ed25519", "kid": KEY_ID}, encode(payload))) is None


GARBAGE = [
    "", ".", "..", "...", "....", "x", "a.b", "a.b.c", "a.b.c.d.e", "é.é.é", "\ud800.x.y", "\0", " ", "\n", "=",
    "*.*.*", "e30.e30.e30", HEAD, f"{HEAD}.", f"{HEAD}..", f"{HEAD}.{PAYLOAD}", f".{PAYLOAD}.{SIGNATURE}",
    f"{RECEIPT}.", f"{RECEIPT}.x", f"{HEAD}.{PAYLOAD}.é", f"{HEAD}.é.{SIGNATURE}", f"{HEAD}.\ud800.{SIGNATURE}",
    RECEIPT[::-1], RECEIPT * 2, "x" * 100_000,
    *(encode(header) + f".{PAYLOAD}.{SIGNATURE}" for header in (
        None, 1, "x", [], {}, [KEY_ID], {"kid": KEY_ID}, {"alg": "Ed25519"}, {"alg": "Ed25519", "kid": None},
        {"alg": "Ed25519", "kid": [KEY_ID]}, {"alg": "Ed25519", "kid": {}}, {"alg": "Ed25519", "kid": ""},
    )),
    encode("[" * 5000) + f".{PAYLOAD}.{SIGNATURE}",
]  # fmt: skip


@pytest.mark.parametrize("receipt", GARBAGE, ids=shortly)
def test_garbage_is_no_receipt(receipt):
    assert KEYS.read(receipt) is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
more = st.dictionaries(
    st.sampled_from(["crit", "b64", "typ", "cty", "jwk", "jku", "x5c", "x5u", "x5t", "zip", "enc", "x"]),
    json_values,
    max_size=3,
)


@given(st.text(), more)
@settings(deadline=None, max_examples=200)
def test_any_text_and_any_header_is_read_or_not(text, header):
    for receipt in (text, f"{HEAD}.{text}.{SIGNATURE}", f"{HEAD}.{PAYLOAD}.{text}"):
        assert KEYS.read(receipt) is None or receipt == RECEIPT
    assert KEYS.read(made({"alg": "Ed25519", "kid": KEY_ID, **header})) in (None, SAID)


# -- Receipts beside a log


def test_receipts_are_a_list_of_strings():
    assert read_receipts(None) == read_receipts([]) == ()
    assert read_receipts([RECEIPT, "x", "x" * LONGEST_RECEIPT]) == (RECEIPT, "x", "x" * LONGEST_RECEIPT)


@pytest.mark.parametrize(
    "found",
    [RECEIPT, {}, 0, False, (RECEIPT,), [None], [RECEIPT, 1], [[RECEIPT]], ["x" * (LONGEST_RECEIPT + 1)]],
    ids=shortly,
)
def test_anything_else_is_refused(found):
    with pytest.raises(Unreadable) as refusal:
        read_receipts(found)
    assert refusal.value.code == "unreadable_log"
