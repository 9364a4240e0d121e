import hashlib
import hmac
import random
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine.cards import Pack, format_cards
from service.engine.deals import (
    ALGORITHMS,
    KINDS,
    LARGEST_NUMBER,
    LARGEST_PYSOL,
    commitment,
    deck_order,
    number_seed,
    order,
    parse_number,
    pysol_order,
    v1_order,
)
from service.engine.errors import Unreadable
from service.engine.rules import VARIANTS, Rules
from tests.engine.table import Table, shortly

FULL, TWO_DECKS, NINES = Pack(), Pack(2), Pack(1, "A23456789")
PACKS = [FULL, TWO_DECKS, NINES]
NUMBERS = [0, 1, 2, 24, 617, 31999, 32000, 10**6, 2**32, 2**53 + 1, 2**63, 2**64 - 1]

every_pack = pytest.mark.parametrize("pack", PACKS, ids=["52 cards", "104 cards", "36 cards"])
seeds = st.binary(min_size=32, max_size=32)
client_seeds = st.text(st.characters(exclude_categories=["Cs"]), max_size=16)


# -- Algorithm v1, written again from its description


def v1_again(cards, seed, client_seed):
    """Shuffle as the design says; return the order and how many words were dropped."""
    cards, dropped = list(cards), 0
    key = hmac.new(seed, b"montecarlo/deal/v1:" + client_seed.encode("utf-8"), hashlib.sha256).digest()
    stream = hashlib.shake_256(key).digest(8 * len(cards))
    words = (int.from_bytes(stream[at : at + 4], "big") for at in range(0, len(stream), 4))
    for i in reversed(range(1, len(cards))):
        w = next(words)
        while w >= 2**32 // (i + 1) * (i + 1):
            w, dropped = next(words), dropped + 1
        j = w % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards), dropped


def low_to_high(pack):
    return [rank + suit for _ in range(pack.decks) for suit in "CDHS" for rank in pack.ranks]


@every_pack
@given(seed=seeds, client_seed=client_seeds)
@example(seed=bytes(32), client_seed="")
@example(seed=b"\xff" * 32, client_seed="caf\u00e9 \U0001f0a1")
@example(seed=bytes(range(32)), client_seed="\u00e9" * 32)
@example(seed=bytes(range(32)), client_seed="\0")
@settings(deadline=None, max_examples=60)
def test_v1_shuffles_as_it_is_specified(pack, seed, client_seed):
    assert v1_order(pack, seed, client_seed) == v1_again(low_to_high(pack), seed, client_seed)[0]


def test_v1_drops_words_that_would_make_low_cards_likelier():
    """Words are dropped so seldom that only a pack of a thousand decks and a chosen seed show it."""
    pack = Pack(1000)
    expected, dropped = v1_again(low_to_high(pack), b"\1" * 32, "")
    assert dropped == 1
    assert v1_order(pack, b"\1" * 32) == expected


@pytest.mark.parametrize("decks", [3, 4, 10, 40])
def test_v1_reads_its_stream_on_without_a_seam(decks):
    pack = Pack(decks)
    assert v1_order(pack, bytes(32), "on") == v1_again(low_to_high(pack), bytes(32), "on")[0]


@every_pack
def test_a_numbered_deal_is_v1_with_the_hash_of_its_number(pack):
    for number in NUMBERS:
        seed = hashlib.sha256(f"montecarlo/number/v1:{number}".encode("ascii")).digest()
        assert number_seed(number) == seed
        expected = v1_again(low_to_high(pack), seed, "")[0]
        assert order(pack, "numbered", number=str(number)) == expected


@every_pack
@given(seed=seeds, client_seed=client_seeds)
@settings(deadline=None, max_examples=30)
def test_a_shuffled_pack_is_the_pack(pack, seed, client_seed):
    assert Counter(v1_order(pack, seed, client_seed)) == Counter(low_to_high(pack))


def test_the_client_seed_matters_to_its_last_byte():
    orders = {v1_order(FULL, bytes(32), seed) for seed in ("", "a", "A", "b", "aa", "e\u0301", "\u00e9", "\0")}
    assert len(orders) == 8


def test_the_seed_matters_in_every_byte():
    orders = {v1_order(FULL, bytes(at) + b"\1" + bytes(31 - at)) for at in range(32)}
    assert len(orders) == 32


def test_a_secret_deal_takes_its_seed_and_the_clients():
    assert order(FULL, "secret", seed=b"s" * 32) == v1_order(FULL, b"s" * 32, "")
    assert order(FULL, "secret", seed=b"s" * 32, client_seed="c") == v1_order(FULL, b"s" * 32, "c")


def test_only_secret_deals_take_a_client_seed():
    assert order(FULL, "numbered", number="7", client_seed="c") == order(FULL, "numbered", number="7")
    assert order(FULL, "pysol", number="7", client_seed="c") == order(FULL, "pysol", number="7")


@pytest.mark.parametrize("seed", [bytes(32), b"\xff" * 32, bytes(range(32))], ids=["zeros", "ones", "counting"])
def test_the_commitment_is_a_hash_of_the_seed(seed):
    assert commitment(seed) == hashlib.sha256(b"montecarlo/commitment/v1:" + seed).hexdigest()


def test_hashes_are_those_that_any_other_program_computes():
    """Computed with sha256sum."""
    assert commitment(bytes(32)) == "13d29595705ad87542f11d2d72e55280a151a95f6439c8e006d27b91ac613462"
    assert number_seed(0).hex() == "118766fda637cf03c4081a6c313529b4c77d1466047d26f518a2301527c8eb41"


def test_every_kind_of_deal_names_its_algorithm():
    assert set(KINDS) == {"secret", "numbered", "pysol", "deck"}
    assert ALGORITHMS == {"secret": "v1", "numbered": "v1", "pysol": "pysol", "deck": "deck"}


# -- The deals of PySolFC


def test_pysol_deal_24_begins_as_it_does_in_pysol():
    assert format_cards(pysol_order(FULL, 24)[:10]) == "4C 5H QC 5D 2D 7H AH 7S 2C QH"
    assert Table(Rules(), order(FULL, "pysol", number="24")).rows[:2] == ["4C 5H QC 5D 2D", "7H AH 7S 2C QH"]


def pysol_again(cards, number):
    """Shuffle a list as PySolFC does, by its two generators."""
    cards, generator, state = list(cards), random.Random(number), number
    for i in reversed(range(1, len(cards))):
        if number < 32000:
            state = (state * 214013 + 2531011) % 8589934592
            j = (state // 65536) % 32768 % (i + 1)
        else:
            j = int(generator.random() * (i + 1))
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards[::-1])


@every_pack
@pytest.mark.parametrize("number", [1, 2, 11982, 31998, 31999, 32000, 32001, 10**9, 2**64, 10**20 - 1])
def test_pysol_deals_come_from_two_generators(pack, number):
    cards = [rank + suit for _ in range(pack.decks) for suit in "CSHD" for rank in pack.ranks]
    if number < 32000 and pack.size == 52:
        cards = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]
    assert pysol_order(pack, number) == pysol_again(cards, number)
    assert order(pack, "pysol", number=str(number)) == pysol_order(pack, number)


@every_pack
@given(number=st.integers(1, LARGEST_PYSOL))
@settings(deadline=None, max_examples=20)
def test_a_pysol_deal_holds_the_pack(pack, number):
    assert Counter(pysol_order(pack, number)) == Counter(low_to_high(pack))


# -- Numbers


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        ("numbered", "0", 0),
        ("numbered", "1", 1),
        ("numbered", "18446744073709551615", 2**64 - 1),
        ("pysol", "1", 1),
        ("pysol", "24", 24),
        ("pysol", "18446744073709551616", 2**64),
        ("pysol", "99999999999999999999", 10**20 - 1),
    ],
)
def test_a_number_is_read(kind, text, number):
    assert parse_number(kind, text) == number


def test_the_largest_numbers_are_these():
    assert LARGEST_NUMBER == 2**64 - 1
    assert LARGEST_PYSOL == 99_999_999_999_999_999_999


NO_NUMBERS = [
    "", " ", "00", "01", "007", "-1", "+1", "-0", "1.0", "1.5", "1e3", "0x10", "1_000", "1,000", " 1", "1 ", "1\n",
    "1\0", "100000000000000000000", "0" * 21, "1" * 21, "9" * 5_000, "0" * 100_000, "ten", "\N{FULLWIDTH DIGIT ONE}",
    "\N{ARABIC-INDIC DIGIT THREE}", "1\N{SUPERSCRIPT TWO}", "\N{MATHEMATICAL BOLD DIGIT ONE}", "\N{MINUS SIGN}1",
    "\u200b1", "\N{ROMAN NUMERAL FIVE}", "NaN", "inf", "None",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["numbered", "pysol"])
@pytest.mark.parametrize("text", NO_NUMBERS, ids=shortly)
def test_what_is_no_number_is_refused(kind, text):
    with pytest.raises(Unreadable, match=f"the number of a {kind} deal") as refusal:
        parse_number(kind, text)
    assert refusal.value.code == "bad_number"
    assert len(refusal.value.message) < 200


@pytest.mark.parametrize(("kind", "text"), [("pysol", "0"), ("numbered", str(2**64)), ("numbered", "9" * 20)])
def test_a_number_out_of_bounds_is_refused(kind, text):
    with pytest.raises(Unreadable) as refusal:
        order(FULL, kind, number=text)
    assert refusal.value.code == "bad_number"


@given(st.text(st.sampled_from("0123456789+-_. e\u0663\uff11"), max_size=22))
@settings(deadline=None)
def test_a_number_read_prints_as_it_was_written(text):
    try:
        assert str(parse_number("numbered", text)) == text
    except Unreadable as refusal:
        assert refusal.code == "bad_number"


# -- Explicit decks


@every_pack
def test_any_order_of_the_pack_is_a_deck(pack):
    cards = low_to_high(pack)[::-1]
    assert order(pack, "deck", cards=" ".join(cards)) == tuple(cards)


def test_a_deck_is_read_as_generously_as_its_cards():
    cards = low_to_high(FULL)
    text = "\n".join(card.lower().replace("t", "10") for card in cards)
    assert deck_order(FULL, text) == tuple(cards)


def deck_fault(pack, cards):
    with pytest.raises(Unreadable) as refusal:
        deck_order(pack, " ".join(cards))
    assert len(refusal.value.message) < 200
    return refusal.value.code, refusal.value.message


def test_a_deck_with_a_card_missing_says_which():
    cards = [card for card in low_to_high(FULL) if card != "7S"]
    assert deck_fault(FULL, cards) == ("bad_deck", "51 cards are not this pack of 52: missing 7S")


def test_a_deck_with_a_card_twice_says_which():
    cards = ["7S" if card == "KD" else card for card in low_to_high(FULL)]
    assert deck_fault(FULL, cards) == ("bad_deck", "52 cards are not this pack of 52: missing KD; too many 7S")


def test_a_deck_with_a_card_more_says_which():
    assert deck_fault(FULL, [*low_to_high(FULL), "KD"]) == ("bad_deck", "53 cards are not this pack of 52: too many KD")


def test_a_deck_with_an_unknown_card_says_which():
    code, message = deck_fault(FULL, ["1H", *low_to_high(FULL)[1:]])
    assert code == "bad_card"
    assert "'1H'" in message


def test_a_deck_of_no_cards_is_refused():
    assert deck_fault(FULL, [])[0] == "bad_deck"


def test_two_decks_want_every_card_twice():
    assert deck_fault(TWO_DECKS, low_to_high(FULL))[0] == "bad_deck"
    assert deck_fault(FULL, low_to_high(TWO_DECKS))[0] == "bad_deck"


def test_a_pack_that_ends_at_the_nines_holds_no_king():
    cards = ["KD" if card == "9D" else card for card in low_to_high(NINES)]
    assert deck_fault(NINES, cards) == ("bad_deck", "36 cards are not this pack of 36: missing 9D; too many KD")


# -- Worked examples


@pytest.mark.parametrize("number", ["0", "1", "20200101", "18446744073709551615"])
@pytest.mark.parametrize("id", VARIANTS)
def test_the_first_card_goes_to_the_first_cell_and_the_stock_follows(id, number):
    rules = VARIANTS[id].rules
    cards = order(rules.pack, "numbered", number=number)
    table = Table(rules, cards)
    assert table.position.grid == cards[: rules.size]
    assert table.position.stock == len(cards) - rules.size


def test_the_example_with_the_fives_and_the_nines():
    """Seed 000; the cards that the example leaves open are filled in."""
    table = Table.deal(Rules(), "5H 7S QC 2D 9C 9H 5C AS 3C KC 4D JH 8S 2H TD QS AC JD 4S 7C 3H 6C KH 6D TS 3D 8H")
    assert table.legal[0] == "a1-b2"
    assert table.refusal("e1-a2") == "not_touching"
    assert table.play("a1-b2") == ["removed"]
    assert table.position.stock == 27
    assert table.play("close_up") == ["compacted", "refilled"]
    assert table.rows[0] == "7S QC 2D 9C 9H"
    assert table.rows[4] == "KH 6D TS 3D 8H"
    assert table.position.stock == 25
    assert "d1-e1" in table.legal


def test_the_example_with_three_pairs():
    """Seed 002; the cards that the example leaves open are filled in."""
    grid = "KH 5S 4S AC 9D 8D 9H QD TC QC KD JD KS 3S 2C 4H 7D JS 7C 2D QS 4C AS QH 8H"
    table = Table.deal(Rules(), grid)
    assert table.legal == ["b3-c4", "e3-e4", "a4-b5"]
    assert table.refusal("c2-e2") == "not_touching"
    table.play("a4-b5", "b3-c4", "e3-e4")
    assert table.legal == ["close_up"]
    table.play("close_up")
    assert table.rows[2] == "KD KS 3S 7D 7C"
    assert table.position.grid[19:] == table.order[25:31]
    assert table.position.stock == 21
    assert {"a3-b3", "d3-e3"} <= set(table.legal)
