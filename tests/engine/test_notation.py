"""Notation: what is written is read back to the last byte, and what people write by hand is understood or refused."""

import gzip
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.audit import audit
from service.engine.cards import format_cards
from service.engine.deals import LONGEST_CLIENT_SEED, pysol_order
from service.engine.errors import EngineError, Unreadable
from service.engine.log import event_hash
from service.engine.notation import format_log, parse_log
from service.engine.rules import VARIANTS
from tests.engine.table import shortly, text_of
from tests.engine.test_traces import RECORDED, VARIANT_OF
from tests.logs import KEYS, KINDS, play, play_long, play_moves

PACK = VARIANTS["monte-carlo"].rules.pack
DECK = format_cards(pysol_order(PACK, 24))  # 4C 5H QC 5D 2D / 7H AH 7S 2C QH / ..., then AC 9H 5C TC
PYSOL = '[Deal "pysol 24"]\n\n'

every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def fault_of(text, keys=KEYS):
    """Return version and code of the fault of a log in notation, None if it is valid."""
    verdict = audit(parse_log(text), keys)
    return None if verdict.fault is None else (verdict.fault.version, verdict.fault.code)


def check_both_ways(log):
    """Write a log, read it back, and write it again; return the text."""
    text = format_log(log)
    assert parse_log(text) == log
    assert format_log(parse_log(text)) == text
    return text


def tags_of(text):
    return dict(re.findall(r'^\[(\w+) "(.*)"\]$', text, re.MULTILINE))


def moves_of(text):
    return text.split("\n\n", 1)[1]


# -- Both ways


@every_variant
@every_kind
@pytest.mark.parametrize("finish", [True, False], ids=["finished", "unfinished"])
def test_a_log_is_read_back_as_it_was_written(variant, kind, finish):
    game = play(variant, "written", kind, finish=finish)
    text = check_both_ways(game.log)
    assert audit(parse_log(text), KEYS).authentic
    assert all(len(line) <= 78 for line in moves_of(text).splitlines())


@every_variant
def test_a_log_cut_after_any_move_is_read_back(variant):
    game = play(variant, "cut", "joint")
    for moves in range(len(game.receipts)):
        check_both_ways(game.after(moves))


def test_receipts_stand_in_tags_of_their_own():
    game = play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up")
    text = check_both_ways({**game.log, "receipts": game.receipts})
    assert text.count("[Receipt ") == 3
    assert audit(parse_log(text), KEYS).unchecked == []


def test_a_log_that_is_not_signed_is_read_back():
    assert "Signature" not in check_both_ways({**play("monte-carlo", "unsigned").log, "signature": None})


@pytest.mark.parametrize(
    ("variant", "rules"),
    [
        ("monte-carlo", {"rows": 4, "columns": 6}),
        ("monte-carlo", {"decks": 2, "rows": 10, "columns": 10}),
        ("monte-carlo", {"ranks": "A2345", "single": "A", "fixed": "23", "rows": 3, "columns": 4}),
        ("monte-carlo", {"match": "sum", "total": 10, "equals": "JQK"}),
        ("monte-carlo-thirteens", {"match": "suit", "single": ""}),
        ("monte-carlo-thirteens", {"match": "rank", "reach": "line", "close_up": "wave"}),
        ("block-ten", {"equals": "", "packing": "fill-first"}),
        ("aces-square", {"fixed": "", "close_up": "free", "packing": "columns"}),
        ("simple-tens", {"ranks": "A23456789TJQK"}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["joint", "deck"])
def test_rules_of_ones_own_are_written_as_what_differs(variant, rules, kind):
    game = play(variant, "own rules", kind, rules=rules)
    text = check_both_ways(game.log)
    changed = {word.partition("=")[0]: word.partition("=")[2] for word in tags_of(text)["Rules"].split()}
    assert changed.items() >= {name: str(value) for name, value in rules.items()}.items()
    assert set(changed) <= {*rules, "total", "equals"}
    assert audit(parse_log(text), KEYS).valid


@pytest.mark.parametrize(
    "client_seed",
    [
        'a "quoted" word', "it's", '"', '"]', '\\', '\\\\', 'ends in \\', '\\"', "\\n", "\\r", "two\nlines", "\n", "\r",
        "\r\n", "a\ttab", "no\u00a0break", " spaces around ", " ", "[Event]", '[Seed "x"]', '"]\n[Seed "x',
        "]\n\n1. undo *", "\u2660\U0001f0a1\U0001f600", "e\u0301", "\u2028\u2029\x85\x0b\x0c\x1c", "\x00",
        "\x7f\x1b[0m", "\ufeff", "\ufffe", "*", "won", "none", "{}", "%s", "x" * LONGEST_CLIENT_SEED,
    ],
    ids=shortly,
)  # fmt: skip
@pytest.mark.parametrize("kind", ["secret", "joint"])
def test_any_client_seed_is_read_back(client_seed, kind):
    game = play("simple-pairs", "seeds", kind, client_seed=client_seed)
    assert audit(parse_log(check_both_ways(game.log)), KEYS).authentic


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=16))
@settings(deadline=None, max_examples=150)
def test_whatever_a_client_seed_holds_it_is_read_back(client_seed):
    game = play_moves("simple-pairs", "seeds", "joint", "")
    dealt = game.log["events"][0]
    dealt["data"]["deal"]["client_seed"] = client_seed
    dealt["hash"] = game.log["head"] = event_hash(dealt)
    check_both_ways(game.log)


def test_a_thousand_undos_and_redos_are_read_back():
    text = check_both_ways(play_long(2_002).log)
    assert (moves_of(text).count("undo"), moves_of(text).count("redo")) == (1_000, 1_000)
    by_hand = text.replace(f'[Started "{tags_of(text)["Started"]}"]\n', "")
    assert audit(parse_log(by_hand)).game.undos == 1_000


def test_a_text_is_fit_to_be_read_and_posted():
    text = format_log(play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up undo compact refill resign").log)
    assert moves_of(text) == (
        "1. KHe1-KCd2 2. / KD 9D 3. undo 4. /- 5. /+ KD 9D 6. resign lost\n"
    )  # fmt: skip
    assert list(tags_of(text)) == [
        "Game", "Variant", "Deal", "Grid", "Started", "Times", "Head", "Signature", "Result",
    ]  # fmt: skip
    assert tags_of(text)["Grid"].startswith("4S 6S TH QD KH 8S")


def test_a_game_that_closes_up_by_itself_names_what_was_dealt_after_the_removal():
    text = format_log(play_moves("simple-pairs", "small 3", "deck", "").log)
    assert moves_of(text) == "*\n"
    game = play("simple-pairs", "closes up", "deck", undo=0)
    (first, second), dealt = (game.log["events"][place]["data"]["cards"] for place in (1, 2))
    assert re.match(rf"1\. {first}\w\d-{second}\w\d / {' '.join(dealt)}\s2\. ", moves_of(format_log(game.log)))


# -- The main line


@every_variant
@every_kind
def test_the_main_line_leaves_out_what_was_undone_and_says_so(variant, kind):
    for finish in (True, False):
        game = play(variant, "main", kind, undo=0.25, finish=finish)
        text = format_log(game.log, main=True)
        assert tags_of(text)["Line"] == "main"
        assert not {"Started", "Times", "Head", "Signature", "Receipt"} & set(tags_of(text))
        assert not re.search("undo|redo", moves_of(text))
        verdict, whole = audit(parse_log(text), KEYS), audit(game.log, KEYS)
        assert (verdict.fault, verdict.authentic) == (None, None)
        assert (verdict.finished, verdict.revealed) == (whole.finished, whole.revealed)
        assert verdict.game.position == whole.game.position
        assert verdict.game.undos == 0


def test_the_main_line_of_a_game_that_was_all_undone_is_empty():
    log = play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up undo undo").log
    assert moves_of(format_log(log, main=True)) == "*\n"


def test_the_main_line_follows_a_redo_and_forgets_a_branch():
    log = play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up undo undo redo redo undo c2-b3 close_up").log
    assert moves_of(format_log(log, main=True)) == "1. KHe1-KCd2 2. 3Dc2-3Cb3 3. / KD 9D 2H 5S *\n"


def test_the_full_line_is_not_marked():
    assert "Line" not in tags_of(format_log(play("monte-carlo", "full").log))


# -- The recorded games


def by_hand(record):
    """Write a recorded game as a person would: who dealt it, and the moves, with no card that was not yet in sight."""
    rules = VARIANTS[VARIANT_OF[record["game"]]].rules
    words = []
    for number, step in enumerate((step for step in record["steps"] if "action" in step), start=1):
        kind, *places = step["action"]
        cards = step["cells"].split()
        removed = "-".join(f"{cards[place]}{rules.cells[place]}" for place in places)
        words.append(f"{number}. {'/' if kind == 'deal' else removed}")
    result = "won" if record["steps"][-1]["won"] else "*"
    tags = f'[Variant "{VARIANT_OF[record["game"]]}"]\n[Deal "pysol {record["number"]}"]\n[Result "{result}"]'
    return f"{tags}\n\n{' '.join([*words, result])}\n"


@pytest.mark.parametrize("name", VARIANT_OF)
def test_every_game_of_pysol_is_valid_in_notation_and_ends_in_its_position(name):
    with gzip.open(RECORDED, "rt", encoding="ascii") as lines:
        records = [record for record in map(json.loads, lines) if record["game"] == name]
    assert len(records) == 20
    for record in records:
        log, last = parse_log(by_hand(record)), record["steps"][-1]
        verdict = audit(log)
        assert (verdict.fault, verdict.authentic, verdict.revealed) == (None, None, True), record["number"]
        assert verdict.finished == last["won"], record["number"]
        position = verdict.game.position
        assert text_of(position.grid) == last["cells"], record["number"]
        assert (position.stock, len(position.removed)) == (last["stock"], last["removed"]), record["number"]
        assert parse_log(format_log(log)) == log, record["number"]


# -- Logs made by hand


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (f"{PYSOL}*", 1),
        (f"{PYSOL}1. 2De1-2Cd2 *", 2),
        (f"{PYSOL}1. 2De1-2Cd2 2. / *", 4),
        (f"{PYSOL}1. 2De1-2Cd2 2. / AC 9H *", 4),
        (f"{PYSOL}1. 2Cd2-2De1 2. /- 3. /+ 4. undo 5. undo 6. redo *", 7),
        ('[Variant "monte-carlo"]\n[Deal "pysol 24"]\n[Result "lost"]\n\n1. resign lost\n', 2),
        (f'[Variant "weddings"]\n{PYSOL}1. 2De1-2Cd2 2. / *', 4),
        (f'[Deck "{DECK}"]\n\n1. 2De1-2Cd2 2. / *', 4),
        (f'[Deal "deck"]\n[Deck "{DECK.lower()}"]\n\n1. 2de1-2cd2 2. / ac 9h *', 4),
        (f'[Deck "{DECK.replace("T", "10")}"]\n\n1. 2De1-2Cd2 2. 9Sa3-9Cb4 3. / AC 9H 5C 10C *', 5),
        ('[Deal "numbered 0"]\n[Rules "rows=4"]\n\n*', 1),
        ('[Deal "pysol 99999999999999999999"]\n*', 1),
        ("*", None),
    ],
    ids=shortly,
)
def test_what_people_write_is_understood(text, version):
    if version is None:
        with pytest.raises(Unreadable):
            parse_log(text)
        return
    verdict = audit(parse_log(text))
    assert (verdict.fault, verdict.checked) == (None, version)
    assert {unchecked.code for unchecked in verdict.unchecked} == {"hashes", "times", "signature"}


def test_a_deck_dealt_by_hand_is_the_deck_of_the_log():
    log = parse_log(f'[Deck "{DECK.lower().replace("t", "10")}"]\n\n1. 2De1-2Cd2 2. / *')
    assert log["events"][0]["data"]["deck"] == DECK
    assert log["events"][-1]["data"]["cards"] == ["AC", "9H"]


NEAT = (
    '[Variant "monte-carlo"]\n[Deal "pysol 24"]\n[Result "*"]\n\n1. 2De1-2Cd2 2. 9Sa3-9Cb4 3. / AC 9H 5C TC 4. undo *\n'
)


@pytest.mark.parametrize(
    "text",
    [
        NEAT.replace("\n", "\r\n"),
        f"\ufeff{NEAT}",
        "\ufeff" + NEAT.replace("\n", "\r\n"),
        NEAT.replace("\n", "\n\n\n"),
        f"\n\n  \n{NEAT}\n\n",
        NEAT.replace("2. ", "\n\n2.\n"),
        NEAT.replace(" ", "   ").replace("   \"", " \"").replace("pysol   24", "pysol 24"),
        NEAT.replace("1. ", "\t1.\t"),
        NEAT.replace("[", "  [").replace("]", "]  "),
        NEAT.replace("2D", "2d").replace("9C", "9c").replace("TC", "10c").replace("9H", "9h"),
        NEAT.replace('[Result "*"]\n', ""),
        NEAT.replace('[Variant "monte-carlo"]\n', ""),
        NEAT.rstrip("\n"),
    ],
    ids=shortly,
)  # fmt: skip
def test_line_ends_blanks_and_small_letters_make_no_difference(text):
    assert parse_log(text) == parse_log(NEAT)


def test_a_file_with_windows_line_ends_is_the_same_log():
    log = play("monte-carlo", "windows", "joint", client_seed="two\r\nlines").log
    assert parse_log("\ufeff" + format_log(log).replace("\n", "\r\n")) == log


# -- False logs


@pytest.mark.parametrize(
    ("moves", "version", "code"),
    [
        ("1. 2De1-2Hd2 *", 2, "unexpected_event"),
        ("1. 2Dd2-2Ce1 *", 2, "unexpected_event"),
        ("1. 2De1-2Cd2 2. / AC 9C *", 4, "unexpected_event"),
        ("1. 2De1-2Cd2 2. / 9H AC *", 4, "unexpected_event"),
        ("1. 2De1-2Cd2 2. / AC *", 4, "unexpected_event"),
        ("1. 2De1-2Cd2 2. / AC 9H 7S *", 4, "unexpected_event"),
        ("1. 2De1-2Cd2 2. / AC 9H 3. undo 4. / AC 9S *", 7, "unexpected_event"),
        ("1. 2De1-2Cd2 2. /- 3. /+ AC 9S *", 4, "unexpected_event"),
        ("1. 4Ca1-5Hb1 *", 2, "not_a_pair"),
        ("1. 4Ca1 *", 2, "not_single"),
        ("1. 5Hb1-5Dd1 *", 2, "not_touching"),
        ("1. 2De1-2De1 *", 2, "same_cell"),
        ("1. 2De1-2Cd2 2. 2De1-2Cd2 *", 3, "empty_cell"),
        ("1. 2Da6-2Cd2 *", 2, "outside_grid"),
        ("1. 2Df1-2Cd2 *", 2, "outside_grid"),
        ("1. / *", 2, "nothing_to_close_up"),
        ("1. /- *", 2, "nothing_to_close_up"),
        ("1. undo *", 2, "nothing_to_undo"),
        ("1. redo *", 2, "nothing_to_redo"),
        ("1. 2De1-2Cd2 2. /- 3. / *", 4, "refill_due"),
        ("1. 2De1-2Cd2 2. /- 3. 7Ha2-7Sc2 *", 4, "refill_due"),
        ("1. resign 2. undo lost", 3, "game_over"),
        ("1. resign 2. resign lost", 3, "game_over"),
        ("1. 2De1-2Cd2 won", 2, "wrong_result"),
        ("1. resign *", 2, "wrong_result"),
        ("lost", 1, "wrong_result"),
    ],
)
def test_a_false_log_is_a_verdict(moves, version, code):
    assert fault_of(PYSOL + moves) == (version, code)
    assert fault_of(f'[Deck "{DECK}"]\n\n{moves}') == (version, code)


def test_what_follows_an_illegal_move_is_left_out():
    log = parse_log(f"{PYSOL}1. 2De1-2Cd2 2. undo 3. undo 4. 2De1-2Cd2 5. resign lost")
    assert [event["type"] for event in log["events"]] == ["dealt", "removed", "undone", "undone"]


@pytest.mark.parametrize(
    "moves",
    [
        "1. 2De1-2Cd2 / KC KD *",
        "1. 2De1-2Cd2 / AC 9H *",
        "1. 2De1-2Cd2 2. /- AC 9H *",
        "1. 2De1-2Cd2 2. /+ AC 9H *",
        "1. 2De1-2Cd2 2. /+ *",
    ],
)
def test_cards_said_to_be_dealt_where_none_are_do_not_pass(moves):
    assert not passes(PYSOL + moves)


def test_a_close_up_of_an_empty_stock_deals_no_cards():
    """A tiny game with the stock gone: two cards are left in the last cells, and a close-up moves them up."""
    tags = '[Rules "ranks=A2 rows=2 columns=3 reach=anywhere"]\n[Deck "AC AD AH AS 2C 2D 2H 2S"]\n\n'
    moves = "1. ACa1-ADb1 2. / 2H 2S 3. AHa1-ASb1 4. /"
    assert fault_of(f"{tags}{moves} *") is None
    assert not passes(f"{tags}{moves} 2C *")


def passes(text):
    """Say whether a log in notation is valid; what cannot be read is not."""
    try:
        return audit(parse_log(text), KEYS).valid
    except EngineError:
        return False


@pytest.mark.parametrize("kind", ["pysol", "numbered", "deck", "joint"])
def test_a_grid_that_the_deal_does_not_give_is_a_verdict(kind):
    text = format_log(play("monte-carlo", "grid", kind).log, main=True)
    grid = tags_of(text)["Grid"].split()
    other = " ".join([grid[1], grid[0], *grid[2:]])
    assert fault_of(text.replace(tags_of(text)["Grid"], other, 1)) == (1, "wrong_cards")


def test_a_seed_that_does_not_open_the_commitment_is_a_verdict():
    text = format_log(play_moves("monte-carlo", "a game", "joint", "a2-b2 resign").log)
    assert fault_of(text.replace(tags_of(text)["Seed"], "0" * 64)) == (3, "commitment_not_opened")
    assert fault_of(text.replace(tags_of(text)["Commitment"], "0" * 64)) == (3, "commitment_not_opened")
    assert fault_of(re.sub(r"\[Seed .*\n", "", text)) == (3, "commitment_not_opened")
    assert fault_of(text.replace(tags_of(text)["Seed"], "x")) == (3, "commitment_not_opened")


def test_cards_of_a_hidden_deal_are_read_as_they_are_named():
    text = format_log(play_moves("monte-carlo", "a game", "joint", "a2-b2 close_up").log, main=True)
    assert moves_of(text) == "1. TSa2-TCb2 2. / AS 5C *\n"
    assert fault_of(text) is None
    assert fault_of(text.replace("/ AS 5C", "/ AS JS")) is None  # nothing known is against it before the reveal
    assert fault_of(text.replace("/ AS 5C", "/ AS TC")) == (4, "wrong_cards")
    assert not passes(text.replace("/ AS 5C", "/ AS"))
    assert not passes(text.replace("/ AS 5C", "/"))


@pytest.mark.parametrize(
    ("tag", "change", "version", "code"),
    [
        ("Head", lambda head: head[::-1], 6, "wrong_head"),
        ("Times", lambda times: times.replace(times.split()[0], "1", 1), 6, "wrong_head"),
        ("Times", lambda times: " ".join(["-1", *times.split()[1:]]), 2, "time_goes_back"),
        ("Started", lambda _: "2026-11-01T12:00:00.001Z", 6, "wrong_head"),
        ("Game", lambda id: id[::-1], 6, "wrong_head"),
    ],
)
def test_a_changed_tag_is_a_verdict_and_the_log_no_longer_authentic(tag, change, version, code):
    text = format_log(play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up undo redo").log)
    value = tags_of(text)[tag]
    changed = text.replace(f'[{tag} "{value}"]', f'[{tag} "{change(value)}"]')
    assert fault_of(changed) == (version, code)
    assert audit(parse_log(changed), KEYS).authentic is (tag == "Head")


# -- What cannot be read


FULL = format_log(play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up").log)
BROKEN = {
    "nothing": "",
    "blanks": " \r\n\t\n",
    "tags alone": PYSOL,
    "no result": f"{PYSOL}1. 2De1-2Cd2",
    "a result that is none": f"{PYSOL}1. 2De1-2Cd2 draw",
    "a result in capitals": f"{PYSOL}1. resign LOST",
    "another result than the tag's": f'[Result "won"]\n{PYSOL}1. resign lost',
    "a tag of a result that is none": f'[Result "draw"]\n{PYSOL}*',
    "a result before the end": f"{PYSOL}1. 2De1-2Cd2 * 2. undo *",
    "tags after moves": f"1. undo *\n{PYSOL}",
    "a tag among the moves": f'{PYSOL}1. 2De1-2Cd2\n[Variant "monte-carlo"]\n2. undo *',
    "two games in one text": f"{FULL}\n{FULL}",
    "two games without tags between": f"{FULL}\n{moves_of(FULL)}",
    "a tag twice": f"{PYSOL[:-1]}{PYSOL}*",
    "an unknown tag": f'[Event "World Cup"]\n{PYSOL}*',
    "a tag in small letters": '[deal "pysol 24"]\n\n*',
    "a tag without quotes": "[Deal pysol 24]\n\n*",
    "a tag that is not closed": '[Deal "pysol 24"\n\n*',
    "a tag with a quote in it": '[Deal "pysol "24"]\n\n*',
    "a tag that ends in a backslash": '[Deal "pysol 24\\"]\n\n*',
    "two tags in one line": '[Variant "monte-carlo"] [Deal "pysol 24"]\n\n*',
    "moves after a tag in its line": '[Deal "pysol 24"] *',
    "moves without numbers": f"{PYSOL}2De1-2Cd2 *",
    "numbers from 0": f"{PYSOL}0. 2De1-2Cd2 *",
    "numbers from 2": f"{PYSOL}2. 2De1-2Cd2 *",
    "a number left out": f"{PYSOL}1. 2De1-2Cd2 3. undo *",
    "a number twice": f"{PYSOL}1. 2De1-2Cd2 1. undo *",
    "a number with a zero before it": f"{PYSOL}01. 2De1-2Cd2 *",
    "a number without end": f"{PYSOL}{'1' * 5000}. undo *",
    "a number in Arabic digits": f"{PYSOL}\u0661. 2De1-2Cd2 *",
    "a number without a move": f"{PYSOL}1. *",
    "a number without a space": f"{PYSOL}1.2De1-2Cd2 *",
    "two moves under one number": f"{PYSOL}1. 2De1-2Cd2 undo *",
    "nonsense": f"{PYSOL}1. castle *",
    "prose": "I dealt a game and won it.",
    "a move of chess": f"{PYSOL}1. e4 *",
    "a move in capitals": f"{PYSOL}1. UNDO *",
    "an undo to somewhere": f"{PYSOL}1. 2De1-2Cd2 2. undo 1 *",
    "a cell without its card": f"{PYSOL}1. e1-d2 *",
    "a card without its cell": f"{PYSOL}1. 2D-2C *",
    "three cards": f"{PYSOL}1. 2De1-2Cd2-2Hc3 *",
    "a card that is none": f"{PYSOL}1. 1De1-2Cd2 *",
    "a cell of row 0": f"{PYSOL}1. 2De0-2Cd2 *",
    "a cell of row 11": f"{PYSOL}1. 2De11-2Cd2 *",
    "a cell in Arabic digits": f"{PYSOL}1. 2De\u0661-2Cd2 *",
    "a cell of column k": f"{PYSOL}1. 2Dk1-2Cd2 *",
    "a dealt card that is none": f"{PYSOL}1. 2De1-2Cd2 2. / 1D *",
    "a gap dealt": f"{PYSOL}1. 2De1-2Cd2 2. / -- *",
    "a long s for a suit": f"{PYSOL}1. 5\u017fe1 *",
    "dealt cards without a slash": f"{PYSOL}1. 2De1-2Cd2 AC *",
    "a comment": f"{PYSOL}{{well played}} *",
    "a null byte": f"{PYSOL}\0 *",
    "JSON": '{"format": 1}',
    "a JSON list": "[1, 2]",
    "a grid too small": f'[Grid "4C 5H"]\n{PYSOL}*',
    "a grid too large": f'[Grid "{DECK}"]\n{PYSOL}*',
    "a hidden deal without a grid": '[Deal "secret"]\n\n*',
    "a kind of deal that is none": '[Deal "daily 2026-11-01"]\n\n*',
    "an empty deal": '[Deal ""]\n\n*',
    "rules that are none": f'[Rules "goal=52"]\n{PYSOL}*',
    "rules without a value": f'[Rules "rows"]\n{PYSOL}*',
    "rows that are no number": f'[Rules "rows=five"]\n{PYSOL}*',
    "rows without end": f'[Rules "rows={"9" * 5000}"]\n{PYSOL}*',
    "rows in Arabic digits": f'[Rules "rows=\u0665"]\n{PYSOL}*',
    "fewer times than moves": FULL.replace(tags_of(FULL)["Times"], "1"),
    "more times than moves": FULL.replace(tags_of(FULL)["Times"], "1 2 3"),
    "no times": FULL.replace(f'[Times "{tags_of(FULL)["Times"]}"]\n', ""),
    "times that are no numbers": FULL.replace(tags_of(FULL)["Times"], "1 x"),
    "times with a point": FULL.replace(tags_of(FULL)["Times"], "1 1.5"),
    "times in Arabic digits": FULL.replace(tags_of(FULL)["Times"], "1 \u0661"),
    "times without end": FULL.replace(tags_of(FULL)["Times"], f"1 {'9' * 5000}"),
    "times past the year 9999": FULL.replace(tags_of(FULL)["Started"], "9999-12-31T23:59:59.999Z"),
    "times before the year 1": FULL.replace(tags_of(FULL)["Times"], "1 -99999999999999"),
    "a start that is no time": FULL.replace(tags_of(FULL)["Started"], "yesterday"),
    "a start in the year 0": FULL.replace(tags_of(FULL)["Started"], "0000-01-01T00:00:00.000Z"),
    "a start that never was": FULL.replace(tags_of(FULL)["Started"], "2026-02-30T00:00:00.000Z"),
    "a start in the 25th hour": FULL.replace(tags_of(FULL)["Started"], "2026-11-01T25:00:00.000Z"),
    "a start in seconds": FULL.replace(tags_of(FULL)["Started"], "1793534400"),
    "a start of a day": FULL.replace(tags_of(FULL)["Started"], "2026-11-01"),
    "a start in no zone": FULL.replace(tags_of(FULL)["Started"], "2026-11-01T12:00:00.000"),
    "an empty start": FULL.replace(tags_of(FULL)["Started"], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_refused(name):
    with pytest.raises(Unreadable) as refusal:
        parse_log(BROKEN[name])
    assert refusal.value.code == "unreadable_log"
    assert refusal.value.message


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ('[Variant "klondike"]', "unknown_variant"),
        ('[Variant ""]', "unknown_variant"),
        ('[Deal "pysol 0"]', "bad_number"),
        ('[Deal "pysol"]', "bad_number"),
        ('[Deal "pysol 24 25"]', "bad_number"),
        ('[Deal "pysol  24"]', "bad_number"),
        ('[Deal "pysol 024"]', "bad_number"),
        ('[Deal "pysol \u0662\u0664"]', "bad_number"),
        (f'[Deal "numbered {2**64}"]', "bad_number"),
        (f'[Deal "numbered {"9" * 5000}"]', "bad_number"),
        ('[Deal "deck"]', "bad_deck"),
        (f'[Deck "{DECK[3:]}"]', "bad_deck"),
        (f'[Deck "{DECK} 4C"]', "bad_deck"),
        ('[Deck "4C 1C"]', "bad_card"),
        (f'[Variant "monte-carlo-2-decks"]\n[Deck "{DECK}"]', "bad_deck"),
        ('[Deal "pysol 24"]\n[Grid "4C 1C"]', "bad_card"),
        ('[Deal "pysol 24"]\n[Rules "rows=11"]', "impossible_rules"),
        ('[Deal "pysol 24"]\n[Rules "total=13"]', "impossible_rules"),
        ('[Deal "pysol 24"]\n[Rules "match=colour"]', "impossible_rules"),
        ('[Deal "pysol 24"]\n[Rules "ranks="]', "impossible_rules"),
    ],
    ids=shortly,
)
def test_a_deal_that_cannot_be_is_refused_as_everywhere(tags, code):
    with pytest.raises(EngineError) as refusal:
        parse_log(f"{tags}\n\n*")
    assert refusal.value.code == code


@pytest.mark.parametrize("name", VARIANTS["monte-carlo"].rules.data)
@pytest.mark.parametrize("value", ["none", "", "0", "999", "x", "K2", "A"])
def test_rules_of_any_value_are_read_or_refused(name, value):
    try:
        parse_log(f'[Rules "{name}={value}"]\n{PYSOL}*')
    except EngineError as refusal:
        assert refusal.code in ("unreadable_log", "impossible_rules", "bad_number")


@pytest.mark.parametrize(
    "text",
    [
        '[Deal "secret"]\n[Grid "TC 2C 3C 4C 5C 6C 7C 8C 9C"]\n\n*',
        '[Deal "secret"]\n[Grid "TC 2C 3C 4C 5C 6C 7C 8C 9C"]\n\n1. TCa1-2Cb1 *',
        '[Deal "secret"]\n[Grid "AC 2C 3C 4C 5C 6C 7C 8C 9C"]\n\n1. ACa1-9Cc3 / TC KC 2. TCa1-2Cb1 *',
        '[Deal "pysol 24"]\n[Grid "TC 2C 3C 4C 5C 6C 7C 8C 9C"]\n\n1. TCa1-2Cb1 *',
    ],
    ids=["in sight", "removed", "dealt", "in sight of an open deal"],
)
def test_cards_that_the_pack_does_not_hold_do_not_pass(text):
    assert not passes(f'[Variant "simple-tens"]\n{text}')


# -- Anything at all

words = st.sampled_from(
    ["1.", "2.", "3.", "/", "/-", "/+", "undo", "redo", "resign", "*", "won", "lost", "2De1-2Cd2", "AC", "10C", "?fair"]
)  # fmt: skip
tags = st.sampled_from(
    [
        "Game", "Variant", "Rules", "Deal", "Commitment", "ClientSeed", "Fairness", "Seed", "Deck", "Grid", "Line",
        "Started", "Times", "Head", "Signature", "Receipt", "Result",
    ]
)  # fmt: skip
tag_values = st.text(max_size=12) | st.sampled_from(
    [
        "", "pysol 24", "secret", "deck", "numbered 7", "monte-carlo", "simple-pairs", "rows=2", "ranks=A2", "0" * 64,
        DECK,        "2026-11-01T12:00:00.000Z", "1", "1 2", "-1", "*", "won", "joint", "4C 5H QC 5D",
    ]
)  # fmt: skip
texts = st.builds(
    lambda tags, words: "".join(f'[{name} "{value}"]\n' for name, value in tags) + "\n" + " ".join(words),
    st.lists(st.tuples(tags, tag_values), max_size=5),
    st.lists(words, max_size=10),
)


@given(st.text() | texts)
@settings(deadline=None, max_examples=400)
def test_any_text_is_read_or_refused(text):
    passes(text)


WHOLE = [
    format_log(play(variant, "damaged", kind, finish=place % 2 == 0).log)
    for place, (variant, kind) in enumerate(zip(list(VARIANTS)[6:], KINDS * 4, strict=False))
]
pieces = st.text(max_size=3) | words | st.sampled_from(["\n", " ", '"', "]", "[", "\\", "0", "1", "A", "K", "-", "??"])


@given(
    st.integers(0, len(WHOLE) - 1),
    st.lists(st.tuples(st.integers(0, 10**5), st.integers(0, 12), pieces), min_size=1, max_size=3),
)
@settings(deadline=None, max_examples=400)
def test_no_damage_makes_another_log_pass(place, damages):
    text = WHOLE[place]
    for start, length, piece in damages:
        start %= len(text)
        text = text[:start] + piece + text[start + length :]
    try:
        log = parse_log(text)
    except EngineError:
        return
    verdict = audit(log, KEYS)
    if verdict.valid and verdict.authentic:
        whole = parse_log(WHOLE[place])
        assert log | {"receipts": None, "seed": None} == whole | {"receipts": None, "seed": None}
