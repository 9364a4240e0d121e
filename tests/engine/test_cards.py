import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine.cards import (
    RANKS,
    SUITS,
    VALUES,
    Cell,
    Pack,
    format_cards,
    parse_card,
    parse_cards,
    parse_cell,
)
from service.engine.errors import EngineError, Unreadable
from tests.engine.table import shortly

CARDS = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]
CELLS = [(row, column) for row in range(1, 11) for column in range(1, 11)]

LONG_S = "\N{LATIN SMALL LETTER LONG S}"  # an S in upper case
DOTLESS = "\N{LATIN SMALL LETTER DOTLESS I}"
FULLWIDTH_FIVE = "\N{FULLWIDTH DIGIT FIVE}"
FULLWIDTH_H = "\N{FULLWIDTH LATIN CAPITAL LETTER H}"
ARABIC_THREE = "\N{ARABIC-INDIC DIGIT THREE}"
SUPERSCRIPT_TWO = "\N{SUPERSCRIPT TWO}"
HEART = "\N{BLACK HEART SUIT}"

NO_CARDS = [
    "", " ", "A", "H", "HA", "1H", "0H", "11H", "13H", "010H", "100H", "1010", "101", "10", "10HH", "T10", "H10",
    "TH ", " TH", "T H", "T\tH", "TH\n", "TH\0", "-5H", "5h5h", "XH", "AX", "5,H", "--", "null",
    "10" * 20_000, "A" * 100_000, "5" + LONG_S, "k" + LONG_S, "5" + HEART, FULLWIDTH_FIVE + "H", "5" + FULLWIDTH_H,
    ARABIC_THREE + "H", SUPERSCRIPT_TWO + "H", "\u200bTH", "TH\u200b", "\ufeffTH", "T\u0397", "\u0410H", "\U0001f0a1",
    "1" + FULLWIDTH_FIVE,
]  # fmt: skip

NO_CELLS = [
    "", " ", "a", "1", "a0", "a00", "a01", "a11", "a010", "a100", "k1", "z9", "A1", "J10", "-1", "a-1", "a+1", "1.5",
    "a1.5", "a1.0", "a1e0", "1a", "11", "aa1", "a1b", "a1 ", " a1", "a 1", "a1\n", "a1\0", "a1_0", "a" + "1" * 5_000,
    "a" + "0" * 5_000 + "1", "a1" * 50_000, "a" + FULLWIDTH_FIVE, "a" + ARABIC_THREE, "a" + SUPERSCRIPT_TWO,
    "\N{FULLWIDTH LATIN SMALL LETTER A}1", "\N{CYRILLIC SMALL LETTER A}1", DOTLESS + "1", "\u200ba1",
]  # fmt: skip


@pytest.mark.parametrize("card", CARDS)
def test_every_card_reads_as_itself(card):
    assert parse_card(card) == card


@pytest.mark.parametrize("card", CARDS)
def test_lower_case_is_read_and_never_written(card):
    for text in (card.lower(), card[0].lower() + card[1], card[0] + card[1].lower()):
        assert parse_card(text) == card


@pytest.mark.parametrize(("text", "card"), [("10C", "TC"), ("10D", "TD"), ("10H", "TH"), ("10S", "TS"), ("10h", "TH")])
def test_ten_is_read_in_digits_and_never_written_so(text, card):
    assert parse_card(text) == card


@pytest.mark.parametrize("text", NO_CARDS, ids=shortly)
def test_what_is_no_card_is_refused(text):
    with pytest.raises(Unreadable, match=r"not a card") as refusal:
        parse_card(text)
    assert refusal.value.code == "bad_card"
    assert len(refusal.value.message) < 200


def test_no_other_text_of_up_to_two_characters_is_a_card():
    alphabet = string.printable + LONG_S + DOTLESS + FULLWIDTH_FIVE + FULLWIDTH_H + "\N{KELVIN SIGN}"
    read = set()
    for text in [a + b for a in ["", *alphabet] for b in alphabet]:
        try:
            read.add((text, parse_card(text)))
        except Unreadable:
            continue
    assert read == {
        (rank + suit, card)
        for card in CARDS
        for rank in (card[0], card[0].lower())
        for suit in (card[1], card[1].lower())
    }


@given(st.text(max_size=4))
@example("10\u017f")
@settings(deadline=None)
def test_any_text_is_a_card_or_refused(text):
    try:
        assert parse_card(text) in CARDS
    except Unreadable as refusal:
        assert refusal.code == "bad_card"


def test_cards_are_read_in_their_order_and_written_as_they_are_read():
    assert parse_cards(" 10h  kc\tAs ") == ("TH", "KC", "AS")
    assert format_cards(("TH", "KC", "AS")) == "TH KC AS"
    assert parse_cards("") == ()
    assert format_cards(()) == ""
    assert parse_cards(format_cards(CARDS)) == tuple(CARDS)


def test_one_bad_card_among_good_ones_is_named():
    with pytest.raises(Unreadable, match="'1H' is not a card") as refusal:
        parse_cards("AH 2H 1H 3H")
    assert refusal.value.code == "bad_card"


@pytest.mark.parametrize("text", ["AH,2H", "AH2H", "AH;2H", "AH-2H"])
def test_only_spaces_stand_between_cards(text):
    with pytest.raises(Unreadable):
        parse_cards(text)


@pytest.mark.parametrize(("row", "column"), CELLS)
def test_a_cell_reads_as_it_prints(row, column):
    cell = Cell(row, column)
    assert str(cell) == "abcdefghij"[column - 1] + str(row)
    assert parse_cell(str(cell)) == cell


def test_no_two_cells_print_alike():
    assert len({str(Cell(*cell)) for cell in CELLS}) == 100


@pytest.mark.parametrize("text", NO_CELLS, ids=shortly)
def test_what_is_no_cell_is_refused(text):
    with pytest.raises(Unreadable, match=r"not a cell") as refusal:
        parse_cell(text)
    assert refusal.value.code == "bad_cell"
    assert len(refusal.value.message) < 200


@given(st.text(max_size=4))
@settings(deadline=None)
def test_any_text_is_a_cell_that_prints_so_or_refused(text):
    try:
        assert str(parse_cell(text)) == text
    except Unreadable as refusal:
        assert refusal.code == "bad_cell"


def test_a_refusal_is_a_value_error_that_says_what_it_says():
    with pytest.raises(ValueError, match="not a card") as refusal:
        parse_card("XX")
    assert isinstance(refusal.value, EngineError)
    assert str(refusal.value) == refusal.value.message
    assert refusal.value.move is None


def test_a_pack_goes_by_decks_then_suits_then_ranks():
    assert Pack().cards() == tuple(rank + suit for suit in "CDHS" for rank in "A23456789TJQK")
    assert Pack(2).cards() == Pack().cards() * 2
    assert Pack(1, "A23456789").cards() == tuple(rank + suit for suit in "CDHS" for rank in "A23456789")
    assert Pack().cards("CSHD")[13:15] == ("AS", "2S")


@pytest.mark.parametrize(
    ("decks", "ranks", "size"), [(1, RANKS, 52), (2, RANKS, 104), (1, "A23456789", 36), (2, "QK", 16)]
)
def test_a_pack_knows_its_size(decks, ranks, size):
    pack = Pack(decks, ranks)
    assert pack.size == len(pack.cards()) == size


def test_ranks_count_from_ace_to_king():
    assert RANKS == "A23456789TJQK"
    assert SUITS == "CDHS"
    assert VALUES["A"] == 1
    assert [VALUES[rank] for rank in RANKS] == list(range(1, 14))
    assert (VALUES["J"], VALUES["Q"], VALUES["K"]) == (11, 12, 13)
