"""Valid logs are found valid, and each way of being false has its fault at its version.

A false log is written as a forger with all means would write it: changed, its chain recomputed, and signed anew.
"""

import json
from functools import cache
from hashlib import sha256
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine import deals
from service.engine.audit import FAULTS, audit
from service.engine.cards import RANKS
from service.engine.errors import Unreadable
from service.engine.events import EVENT_TYPES
from service.engine.log import event_hash
from service.engine.rules import VARIANTS
from service.engine.signatures import LONGEST_RECEIPT, NO_KEYS, KeyRing, Statement
from tests.bench.mutations import same
from tests.logs import KEYS, KINDS, chained, copied, hint, play, play_long, play_moves, signed, unhashed

OTHER_GAME = "11111111-1111-4111-8111-111111111111"
TINY = {"ranks": "A2", "rows": 2, "columns": 2}
OTHERS = KeyRing.from_seeds(["o" * 43])

every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_kind = pytest.mark.parametrize("kind", KINDS)

# The games that are made false below, each with the types of its events by version.
PLAYED = {
    # 5D AC 8H 4S JH / TS TC 2S 8D 6C / 3S QD 5S KS KH / 9S QH 3D 4D 3C / 8C AH 2C 2H 3H, then AS 5C 7D 4H JS 5H ...
    # 2 removed, 3 compacted, 4 refilled, 5 undone, 6 redone, 7 undone, 8 removed, 9 compacted, 10 refilled, 11 removed,
    # 12 compacted, 13 refilled, 14 undone, 15 refilled, 16 resigned
    "secret": (
        "monte-carlo", "a game", "joint",
        "a2-b2 close_up undo redo undo e4-e5 close_up c1-b2 compact refill undo refill resign",
    ),
    "playing": ("monte-carlo", "a game", "joint", "a2-b2 close_up undo redo undo e4-e5 close_up"),
    # 4S 6S TH QD KH / 8S JC 3D KC 7S / 5H 3C AH QS 9C / 6C AC 5D 7C AS / 7D 9H 3S 5C 8H, then KD 9D ...
    # 2 removed, 3 compacted, 4 refilled, 5 undone, 6 redone
    "pysol": ("monte-carlo", "a game", "pysol", "e1-d2 close_up undo redo"),
    "numbered": ("monte-carlo", "a game", "numbered", ""),
    "deck": ("monte-carlo", "a game", "deck", ""),
    "half": ("monte-carlo", "a game", "pysol", "e1-d2 compact"),
    "wave": ("monte-carlo-wave", "wave", "joint", "b1-c2"),
    "line": ("fourteens", "line", "joint", ""),
    "two decks": ("monte-carlo-2-decks", "a game", "secret", ""),
    "resigned": ("monte-carlo", "a game", "pysol", "resign"),
}  # fmt: skip


@cache
def played(name):
    """Return one of the games above, or a tiny one that is won: 2 removed, 3 refilled, 4, 5, 6 removed, 7, 8 won."""
    if name == "won":
        return play_moves("simple-pairs", "small 3", "joint", "a1-b1 a1-b1 a1-b1 a2-b2", rules=TINY)
    if name == "won, open":
        return play("simple-pairs", "small 3", "deck", rules=TINY, undo=0)
    return play_moves(*PLAYED[name])


def log_of(name):
    return copied(played(name).log)


def fault_of(log, keys=KEYS):
    """Return version and code of the fault of a log, None if it is valid."""
    verdict = audit(log, keys)
    return None if verdict.fault is None else (verdict.fault.version, verdict.fault.code)


def missing(verdict):
    """Return the codes of what a verdict leaves unchecked."""
    return [unchecked.code for unchecked in verdict.unchecked]


# -- Valid logs


@every_variant
@every_kind
def test_a_finished_game_is_valid_authentic_and_revealed(variant, kind):
    game = play(variant, "audited", kind)
    verdict = audit(game.log, KEYS)
    assert (verdict.fault, verdict.valid, verdict.authentic) == (None, True, True)
    assert (verdict.finished, verdict.revealed, missing(verdict)) == (True, True, [])
    assert verdict.checked == verdict.game.version == len(game.log["events"])
    assert verdict.game.over == ("won" if game.log["events"][-1]["type"] == "won" else "lost")


@every_variant
@pytest.mark.parametrize("kind", ["joint", "pysol"])
def test_a_game_cut_after_any_move_is_valid_and_not_finished(variant, kind):
    game = play(variant, "cut", kind)
    for moves in range(len(game.receipts) - 1):
        log = game.after(moves)
        verdict = audit(log, KEYS)
        assert (verdict.fault, verdict.authentic, verdict.finished) == (None, True, False), moves
        assert verdict.revealed == (kind == "pysol"), moves
        assert missing(verdict) == ([] if verdict.revealed else ["deal"]), moves
        assert verdict.checked == verdict.game.version == len(log["events"]), moves


@every_variant
def test_receipts_of_every_move_agree_with_the_log(variant):
    game = play(variant, "receipts", "joint")
    verdict = audit({**game.log, "receipts": game.receipts}, KEYS)
    assert (verdict.valid, missing(verdict)) == (True, [])


@every_kind
def test_a_seed_given_early_reveals_the_deal(kind):
    game = play("monte-carlo", "early", kind)
    verdict = audit({**game.after(2), "seed": game.log["seed"]}, KEYS)
    assert (verdict.valid, verdict.finished, verdict.revealed, missing(verdict)) == (True, False, True, [])


def test_a_numbered_deal_may_say_the_seed_that_its_number_stands_for():
    log = log_of("numbered")
    seed = deals.number_seed(int(log["events"][0]["data"]["deal"]["number"])).hex()
    assert audit({**log, "seed": seed}, KEYS).valid


def test_an_unsigned_log_is_neither_authentic_nor_not():
    for signature in (None, "", "x", "a.b.c", "\ud800", "é.é.é"):
        verdict = audit({**log_of("secret"), "signature": signature}, KEYS)
        assert (verdict.valid, verdict.authentic, missing(verdict)) == (True, None, ["signature"])
    log = log_of("secret")
    del log["signature"]
    assert audit(log, KEYS).authentic is None


def test_a_log_signed_with_an_unknown_key_is_neither_authentic_nor_not():
    for log, keys in ((signed(log_of("secret"), OTHERS), KEYS), (log_of("secret"), NO_KEYS), (log_of("won"), OTHERS)):
        verdict = audit(log, keys)
        assert (verdict.valid, verdict.authentic, missing(verdict)) == (True, None, ["signature"])


@every_variant
@every_kind
def test_a_log_made_by_hand_is_audited_as_far_as_it_goes(variant, kind):
    log = unhashed(play(variant, "by hand", kind, halves=0).log)
    verdict = audit(log, KEYS)
    assert (verdict.fault, verdict.authentic, verdict.finished, verdict.revealed) == (None, None, True, True)
    assert missing(verdict) == ["hashes", "times", "signature"]


def test_a_log_by_hand_may_have_places_and_times():
    log = log_of("secret")
    for event in log["events"]:
        del event["hash"], event["previous"]
    assert missing(audit(log | {"signature": None}, KEYS)) == ["hashes", "signature"]
    log["events"][4]["version"] = 4
    assert fault_of(log) == (5, "wrong_version")


def test_fields_that_are_null_are_as_good_as_missing():
    log = unhashed(log_of("pysol"))
    names = ("game", "version", "move", "at", "previous", "hash")
    log["events"] = [event | dict.fromkeys(names) for event in log["events"]]
    log |= dict.fromkeys(("game", "head", "seed", "signature", "receipts"))
    assert audit(log).valid


def test_a_close_up_by_halves_without_places_may_be_read_as_a_whole_one():
    log = unhashed(play_moves("monte-carlo", "a game", "pysol", "e1-d2 compact refill").log)
    assert audit(log).valid


def test_halves_that_are_one_move_are_told_from_two_by_their_move():
    whole = play_moves("monte-carlo", "a game", "pysol", "e1-d2 close_up undo").log
    halves = play_moves("monte-carlo", "a game", "pysol", "e1-d2 compact refill undo").log
    assert (fault_of(whole), fault_of(halves)) == (None, None)
    assert [log["events"][-1]["data"]["to"] for log in (whole, halves)] == [2, 3]


def test_a_log_of_two_thousand_undos_and_redos_is_valid():
    game = play_long(2_000)
    verdict = audit({**game.log, "receipts": game.receipts[::200]}, KEYS)
    assert (verdict.valid, verdict.authentic, verdict.checked, verdict.game.undos) == (True, True, 2_000, 999)


def test_what_cannot_be_known_of_an_unrevealed_deal_is_left_to_the_end():
    """The operator deals another card than the secret gives: found when the secret opens, and not before."""
    log = log_of("secret")
    for version in (10, 13, 15):
        cards = log["events"][version - 1]["data"]["cards"]
        log["events"][version - 1]["data"]["cards"] = ["QC" if card == "4H" else card for card in cards]
    early = copied({**log, "events": log["events"][:15], "seed": None})
    assert fault_of(signed(chained(early))) is None
    assert fault_of(signed(chained(log))) == (10, "unexpected_event")


def test_an_audit_does_not_change_the_log():
    log = log_of("secret") | {"receipts": played("secret").receipts}
    before = json.dumps(log)
    audit(log, KEYS)
    assert json.dumps(log) == before


# -- False logs


def changed(version, /, **fields):
    """Return what changes fields of an event."""
    return lambda log: log["events"][version - 1].update(fields)


def data(version, /, **fields):
    """Return what changes fields of the data of an event."""
    return lambda log: log["events"][version - 1]["data"].update(fields)


def deal(**fields):
    """Return what changes fields of the deal in the first event."""
    return lambda log: log["events"][0]["data"]["deal"].update(fields)


def rules(**fields):
    """Return what changes fields of the rules in the first event."""
    return lambda log: log["events"][0]["data"]["rules"].update(fields)


def without(version, *names):
    """Return what leaves a field out, found by names from an event on."""

    def change(log):
        holder = holder_of(log, version, names)
        del holder[names[-1]]

    return change


def altered(by, version, *names):
    """Return what changes a value by a function, found by names from an event on."""

    def change(log):
        holder = holder_of(log, version, names)
        holder[names[-1]] = by(holder[names[-1]])

    return change


def holder_of(log, version, names):
    holder = log["events"][version - 1]
    for name in names[:-1]:
        holder = holder[name]
    return holder


def top(**fields):
    """Return what changes fields of the log itself."""
    return lambda log: log.update(fields)


def dropped(version):
    """Return what leaves an event out."""
    return lambda log: log["events"].pop(version - 1)


def ended(version):
    """Return what cuts a log after a version."""
    return lambda log: log.update(events=log["events"][:version])


def then(type, /, **fields):
    """Return what adds an event that is a move by itself."""

    def change(log):
        version = len(log["events"]) + 1
        log["events"].append({**log["events"][-1], "version": version, "move": version, "type": type, "data": fields})

    return change


def at(*cells):
    """Return cells as JSON, each given by a letter and a number."""
    return [{"row": int(cell[1:]), "column": "abcdefghijk".index(cell[0]) + 1} for cell in cells]


def removes(*cells):
    """Return what adds a removal of cells."""
    return then("removed", cells=at(*cells), cards=["5H"] * len(cells))


def first_cards(*cards):
    """Return what puts cards into the first row."""
    return lambda log: log["events"][0]["data"]["grid"][0].__setitem__(slice(0, len(cards)), list(cards))


def both(*changes):
    """Return what makes several changes."""
    return lambda log: [change(log) for change in changes]


def won_too_early(log):
    del log["events"][6:]
    then("won", cards_left=2, seed=log["seed"])(log)
    log["events"][-1]["move"] = 6


def in_disorder(log):
    log["events"][1:3] = log["events"][2:0:-1]


upside_down = altered(lambda grid: grid[::-1], 1, "data", "grid")


def dealt_twice(log):
    log["events"].insert(1, {**log["events"][0], "version": 2, "move": 2})


# Game, change, version and code of the fault; the version of what is wrong with the log as a whole is its length.
FALSE = {
    # places
    "a version that does not follow": ("secret", changed(5, version=6), 5, "wrong_version"),
    "a version twice": ("secret", changed(5, version=4), 5, "wrong_version"),
    "a version from 0": ("secret", changed(1, version=0), 1, "wrong_version"),
    "a version in a string": ("secret", changed(5, version="5"), 5, "wrong_version"),
    "a version that is true": ("secret", changed(1, version=True), 1, "wrong_version"),
    "a version with a point": ("secret", changed(5, version=5.0), 5, "wrong_version"),
    "a version left out": ("secret", without(5, "version"), 5, "wrong_version"),
    "an undo and its redo left out": ("secret", both(dropped(6), dropped(5)), 5, "wrong_version"),
    "a move counted to the one before": ("secret", changed(5, move=3), 5, "wrong_move"),
    "the first half of a close-up counted to another move": ("secret", changed(3, move=2), 3, "wrong_move"),
    "the last event counted to another move": ("secret", changed(16, move=15), 16, "wrong_move"),
    "the win counted as a move of its own": ("won", changed(8, move=8), 8, "wrong_move"),
    "a move that is true": ("secret", changed(1, move=True), 1, "wrong_move"),
    "a move with a point": ("secret", changed(2, move=2.0), 2, "wrong_move"),
    "a move left out": ("secret", without(5, "move"), 5, "wrong_move"),
    "an event of another game": ("secret", changed(9, game=OTHER_GAME), 9, "wrong_game"),
    "an event of no game": ("secret", without(9, "game"), 9, "wrong_game"),
    "a log of another game than its events": ("secret", top(game=OTHER_GAME), 1, "wrong_game"),
    "a log of no game whose events are of one": ("secret", top(game=None), 1, "wrong_game"),
    # times
    "a time without milliseconds": ("secret", changed(3, at="2026-11-01T12:00:09Z"), 3, "wrong_time"),
    "a time in microseconds": ("secret", changed(3, at="2026-11-01T12:00:09.000000Z"), 3, "wrong_time"),
    "a time of another zone": ("secret", changed(3, at="2026-11-01T12:00:09.000+00:00"), 3, "wrong_time"),
    "a time in small letters": ("secret", changed(3, at="2026-11-01t12:00:09.000z"), 3, "wrong_time"),
    "a time with a line break": ("secret", changed(3, at="2026-11-01T12:00:09.000Z\n"), 3, "wrong_time"),
    "a time with an Arabic digit": ("secret", changed(3, at="\u0662026-11-01T12:00:09.000Z"), 3, "wrong_time"),
    "milliseconds with an Arabic digit": ("secret", changed(1, at="2026-11-01T12:00:00.00\u0660Z"), 1, "wrong_time"),
    "a day that never was": ("secret", changed(3, at="2027-02-29T12:00:09.000Z"), 3, "wrong_time"),
    "a 25th hour": ("secret", changed(3, at="2026-11-01T24:00:00.000Z"), 3, "wrong_time"),
    "a leap second": ("secret", changed(3, at="2026-12-31T23:59:60.000Z"), 3, "wrong_time"),
    "a year 0": ("secret", changed(1, at="0000-01-01T00:00:00.000Z"), 1, "wrong_time"),
    "a time in milliseconds": ("secret", changed(3, at=1793534400000), 3, "wrong_time"),
    "a time left out": ("secret", without(3, "at"), 3, "wrong_time"),
    "a time that is null": ("secret", changed(1, at=None), 1, "wrong_time"),
    "an event older than the deal": ("secret", changed(5, at="2026-11-01T11:59:59.999Z"), 5, "time_goes_back"),
    "an event newer than all that follow": ("secret", changed(5, at="2026-11-01T23:59:59.999Z"), 6, "time_goes_back"),
    # what happened
    "no deal": ("secret", dropped(1), 1, "unexpected_event"),
    "a deal twice": ("pysol", dealt_twice, 2, "unexpected_event"),
    "events out of order": ("pysol", in_disorder, 2, "nothing_to_close_up"),
    "another card removed": ("pysol", data(2, cards=["KH", "KD"]), 2, "unexpected_event"),
    "the cards removed the other way round": ("pysol", data(2, cards=["KC", "KH"]), 2, "unexpected_event"),
    "no cards removed": ("pysol", data(2, cards=[]), 2, "unexpected_event"),
    "a removal without cards": ("pysol", without(2, "data", "cards"), 2, "unexpected_event"),
    "a removal without cells": ("pysol", without(2, "data", "cells"), 2, "unexpected_event"),
    "a removal of no cells": ("pysol", data(2, cells=[]), 2, "unexpected_event"),
    "a removal of three cells": ("pysol", data(2, cells=at("e1", "d2", "a1")), 2, "unexpected_event"),
    "cells that are a string": ("pysol", data(2, cells="e1d2"), 2, "unexpected_event"),
    "cells that are strings": ("pysol", data(2, cells=["e1", "d2"]), 2, "unexpected_event"),
    "cells that are null": ("pysol", data(2, cells=[None, None]), 2, "unexpected_event"),
    "a row that is true": ("pysol", altered(bool, 2, "data", "cells", 0, "row"), 2, "unexpected_event"),
    "a row with a point": ("pysol", altered(float, 2, "data", "cells", 0, "row"), 2, "unexpected_event"),
    "a cell with a card": ("pysol", data(2, cells=[at("e1")[0] | {"card": "KH"}, *at("d2")]), 2, "unexpected_event"),
    "a close-up that says something": ("pysol", data(3, moved=3), 3, "unexpected_event"),
    "a close-up left out": ("pysol", both(dropped(3), changed(3, version=3)), 3, "unexpected_event"),
    "another card dealt than the number gives": ("pysol", data(4, cards=["KD", "9H"]), 4, "unexpected_event"),
    "cards dealt in another order": ("pysol", data(4, cards=["9D", "KD"]), 4, "unexpected_event"),
    "fewer cards dealt": ("pysol", data(4, cells=at("d5"), cards=["KD"], stock=26), 4, "unexpected_event"),
    "cards dealt to other cells": ("pysol", data(4, cells=at("e5", "d5")), 4, "unexpected_event"),
    "another stock": ("pysol", data(4, stock=26), 4, "unexpected_event"),
    "a stock with a point": ("pysol", data(4, stock=25.0), 4, "unexpected_event"),
    "an undo to another version": ("secret", data(5, to=1), 5, "unexpected_event"),
    "an undo to a version to come": ("secret", data(5, to=5), 5, "unexpected_event"),
    "an undo in a string": ("secret", data(5, to="2"), 5, "unexpected_event"),
    "an undo to nowhere": ("secret", without(5, "data", "to"), 5, "unexpected_event"),
    "an undo over two moves": ("secret", data(7, to=1), 7, "unexpected_event"),
    "an undo of half a close-up that was whole": ("secret", data(7, to=3), 7, "unexpected_event"),
    "an undo of a half that takes back the whole": ("secret", data(14, to=11), 14, "unexpected_event"),
    "a redo to another version": ("secret", data(6, to=3), 6, "unexpected_event"),
    "a redo that is true": ("pysol", data(6, to=True), 6, "unexpected_event"),
    "other cards after an undone refill": ("playing", data(10, cards=["5C", "AS", "7D", "4H"]), 10, "unexpected_event"),
    "a new card after an undone refill": ("playing", data(10, cards=["JS", "5C", "7D", "4H"]), 10, "unexpected_event"),
    "a redone half with other cards": ("secret", data(15, cards=["JS", "7C"]), 15, "unexpected_event"),
    "a dealt card that is none": ("playing", data(4, cards=["AS", 5]), 4, "unexpected_event"),
    "dealt cards that are no list": ("playing", data(4, cards="AS5C"), 4, "unexpected_event"),
    "dealt cards left out": ("playing", without(4, "data", "cards"), 4, "unexpected_event"),
    "more cards dealt than cells": ("playing", data(4, cards=["AS", "5C", "7D"]), 4, "unexpected_event"),
    "fewer cards dealt than cells": ("playing", data(4, cards=["AS"]), 4, "unexpected_event"),
    "won too early": ("won", won_too_early, 7, "unexpected_event"),
    "won as a first move": ("pysol", then("won", cards_left=0, seed=None), 7, "unexpected_event"),
    "a win left out before another move": ("won", changed(8, type="resigned"), 8, "unexpected_event"),
    "a win of more cards than are left": ("won", data(8, cards_left=2), 8, "unexpected_event"),
    "a win with a point": ("won", data(8, cards_left=0.0), 8, "unexpected_event"),
    "a win that is false": ("won", data(8, cards_left=False), 8, "unexpected_event"),
    "a score that is better": ("secret", data(16, cards_left=44), 16, "unexpected_event"),
    "a score left out": ("secret", without(16, "data", "cards_left"), 16, "unexpected_event"),
    "an open deal that opens a seed at the end": ("resigned", data(2, seed="0" * 64), 2, "unexpected_event"),
    "an event with another field": ("secret", changed(5, note="hello"), 5, "unexpected_event"),
    "the deal with another field": ("secret", changed(1, note=None), 1, "unexpected_event"),
    "an undo with another field": ("secret", data(5, version=2), 5, "unexpected_event"),
    "a removal that is called a refill": ("pysol", changed(2, type="refilled"), 2, "nothing_to_close_up"),
    "no version of the rules": ("secret", without(1, "data", "rules_version"), 1, "bad_deal"),
    "a version of the rules that never was": ("secret", data(1, rules_version=0), 1, "bad_deal"),
    # the deal
    "an unknown variant": ("secret", data(1, variant="klondike"), 1, "bad_deal"),
    "an alias for a variant": ("secret", data(1, variant="weddings"), 1, "bad_deal"),
    "a variant that is a list": ("secret", data(1, variant=["monte-carlo"]), 1, "bad_deal"),
    "a variant that is null": ("secret", data(1, variant=None), 1, "bad_deal"),
    "impossible rules": ("secret", rules(packing="in-place"), 1, "bad_deal"),
    "rules with a match that is none": ("secret", rules(match="colour"), 1, "bad_deal"),
    "rules without ranks": ("secret", rules(ranks=""), 1, "bad_deal"),
    "rules in another order of ranks": ("secret", rules(ranks=RANKS[::-1]), 1, "bad_deal"),
    "rules with a field too many": ("secret", rules(goal=52), 1, "bad_deal"),
    "rules with a field too few": ("secret", without(1, "data", "rules", "reach"), 1, "bad_deal"),
    "rules that are a list": ("secret", data(1, rules=["rank"]), 1, "bad_deal"),
    "rules that are null": ("secret", data(1, rules=None), 1, "bad_deal"),
    "rows in a string": ("secret", rules(rows="5"), 1, "bad_deal"),
    "rows with a point": ("secret", rules(rows=5.0), 1, "bad_deal"),
    "decks that are true": ("secret", rules(decks=True), 1, "bad_deal"),
    "rows that are null": ("secret", rules(rows=None), 1, "bad_deal"),
    "rows without end": ("secret", rules(rows=2**53), 1, "bad_deal"),
    "ranks that are a list": ("secret", rules(ranks=list(RANKS)), 1, "bad_deal"),
    "a total where cards pair by rank": ("secret", rules(total=13), 1, "bad_deal"),
    "another algorithm": ("secret", data(1, algorithm="v2"), 1, "bad_deal"),
    "the algorithm of another kind": ("pysol", data(1, algorithm="v1"), 1, "bad_deal"),
    "a ranked game, which there is not yet": ("secret", data(1, ranked=True), 1, "bad_deal"),
    "ranked that is 0": ("secret", data(1, ranked=0), 1, "bad_deal"),
    "ranked that is null": ("secret", data(1, ranked=None), 1, "bad_deal"),
    "ranked that is an empty list": ("secret", data(1, ranked=[]), 1, "bad_deal"),
    "a deadline": ("secret", data(1, deadline="2026-11-02T00:00:00.000Z"), 1, "bad_deal"),
    "a kind of deal that is none": ("secret", deal(kind="daily"), 1, "bad_deal"),
    "a kind of deal that is a list": ("secret", deal(kind=["secret"]), 1, "bad_deal"),
    "a deal that is null": ("secret", data(1, deal=None), 1, "bad_deal"),
    "a deal with a field too many": ("secret", deal(seed=None), 1, "bad_deal"),
    "a deal with a field too few": ("secret", without(1, "data", "deal", "fairness"), 1, "bad_deal"),
    "a secret deal with a number": ("secret", deal(number="7"), 1, "bad_deal"),
    "a secret deal without a commitment": ("secret", deal(commitment=None), 1, "bad_deal"),
    "a commitment too short": ("secret", deal(commitment="0" * 63), 1, "bad_deal"),
    "a commitment in capitals": ("secret", altered(str.upper, 1, "data", "deal", "commitment"), 1, "bad_deal"),
    "a commitment that is a number": ("secret", deal(commitment=0), 1, "bad_deal"),
    "no client seed": ("secret", deal(client_seed=None), 1, "bad_deal"),
    "a client seed too long": ("secret", deal(client_seed="\u2660" * 22), 1, "bad_deal"),
    "a client seed that is a number": ("secret", deal(client_seed=5), 1, "bad_deal"),
    "a joint deal without a client seed": ("secret", deal(client_seed=""), 1, "bad_deal"),
    "a secret deal that calls itself open": ("secret", deal(fairness="open"), 1, "bad_deal"),
    "a fairness that is none": ("secret", deal(fairness="fair"), 1, "bad_deal"),
    "an open deal that calls itself committed": ("pysol", deal(fairness="committed"), 1, "bad_deal"),
    "an open deal with a commitment": ("pysol", deal(commitment="0" * 64), 1, "bad_deal"),
    "an open deal with a client seed": ("pysol", deal(client_seed=""), 1, "bad_deal"),
    "a pysol deal without a number": ("pysol", deal(number=None), 1, "bad_deal"),
    "a pysol deal of the number 0": ("pysol", deal(number="0"), 1, "bad_deal"),
    "a number with a zero before it": ("numbered", deal(number="024"), 1, "bad_deal"),
    "a number that is one": ("numbered", deal(number=24), 1, "bad_deal"),
    "a number beyond all": ("numbered", deal(number=str(2**64)), 1, "bad_deal"),
    "a number in Arabic digits": ("numbered", deal(number="\u0662\u0664"), 1, "bad_deal"),
    "a deck without its cards": ("deck", data(1, deck=None), 1, "bad_deal"),
    "a deck of a card too few": ("deck", altered(lambda deck: deck[3:], 1, "data", "deck"), 1, "bad_deal"),
    "a deck in small letters": ("deck", altered(str.lower, 1, "data", "deck"), 1, "bad_deal"),
    "a deck that is a list": ("deck", altered(str.split, 1, "data", "deck"), 1, "bad_deal"),
    "a numbered deal with its cards": ("numbered", data(1, deck="AC"), 1, "bad_deal"),
    "a grid with a card that is none": ("secret", first_cards("1H"), 1, "bad_deal"),
    "a grid with an unknown card": ("secret", first_cards("??"), 1, "bad_deal"),
    "a grid with a gap": ("secret", first_cards(None), 1, "bad_deal"),
    "a grid with a list for a card": ("secret", first_cards(["5D"]), 1, "bad_deal"),
    "a grid in one row": ("secret", altered(lambda grid: [[*chain(*grid)]], 1, "data", "grid"), 1, "bad_deal"),
    "a grid that is null": ("secret", data(1, grid=None), 1, "bad_deal"),
    "a grid left out": ("secret", without(1, "data", "grid"), 1, "bad_deal"),
    "a deal with another field in its data": ("secret", data(1, note=1), 1, "bad_deal"),
    "a deal of cards that other rules have": ("secret", rules(ranks="A23456789TJQ"), 1, "bad_deal"),
    # the cards
    "a row less": ("secret", altered(lambda grid: grid[:-1], 1, "data", "grid"), 1, "wrong_cards"),
    "a stock of a card more": ("secret", data(1, stock=28), 1, "wrong_cards"),
    "another card in sight of a revealed deal": ("secret", first_cards("AC", "5D"), 1, "wrong_cards"),
    "another card in sight of a numbered deal": ("numbered", upside_down, 1, "wrong_cards"),
    "another card in sight than the deck has": ("deck", upside_down, 1, "wrong_cards"),
    "another number": ("numbered", deal(number="25"), 1, "wrong_cards"),
    "another client seed": ("secret", deal(client_seed="mine"), 1, "wrong_cards"),
    "a card twice in sight of a hidden deal": ("playing", first_cards("AC", "AC"), 1, "wrong_cards"),
    "a card thrice in two decks": ("two decks", first_cards("KH", "KH", "KH"), 1, "wrong_cards"),
    "a dealt card that lies on the grid": ("playing", data(4, cards=["AS", "2S"]), 4, "wrong_cards"),
    "a dealt card that was removed": ("playing", data(4, cards=["AS", "TS"]), 4, "wrong_cards"),
    "a card dealt twice in one refill": ("playing", data(10, cards=["AS", "5C", "7D", "7D"]), 10, "wrong_cards"),
    "a card dealt again after it was undone": ("playing", data(10, cards=["AS", "5C", "AS", "4H"]), 10, "wrong_cards"),
    "a dealt card of no pack": ("playing", data(4, cards=["AS", "1C"]), 4, "wrong_cards"),
    "a dealt card that is not known": ("playing", data(4, cards=["AS", "??"]), 4, "wrong_cards"),
    # the secret
    "a seed that does not open the commitment": ("secret", data(16, seed="0" * 64), 16, "commitment_not_opened"),
    "a commitment to another seed": ("secret", deal(commitment="0" * 64), 16, "commitment_not_opened"),
    "an end that keeps the seed": ("secret", both(data(16, seed=None), top(seed=None)), 16, "commitment_not_opened"),
    "a seed too short": ("secret", data(16, seed="0" * 62), 16, "commitment_not_opened"),
    "a seed in capitals": ("secret", altered(str.upper, 16, "data", "seed"), 16, "commitment_not_opened"),
    "a seed that is a number": ("secret", data(16, seed=0), 16, "commitment_not_opened"),
    "a win that does not open the commitment": ("won", data(8, seed="0" * 64), 8, "commitment_not_opened"),
    "a win that keeps the seed": ("won", both(data(8, seed=None), top(seed=None)), 8, "commitment_not_opened"),
    "a seed given early that does not open": ("playing", top(seed="0" * 64), 10, "commitment_not_opened"),
    "a seed given early that is none": ("playing", top(seed="x"), 10, "commitment_not_opened"),
    "an end without its seed where the log has it": ("secret", without(16, "data", "seed"), 16, "unexpected_event"),
    "another seed than the end gives": ("secret", top(seed="0" * 64), 16, "wrong_seed"),
    "a seed of a pysol deal": ("pysol", top(seed="0" * 64), 6, "wrong_seed"),
    "a seed of a deck": ("deck", top(seed="0" * 64), 1, "wrong_seed"),
    "another seed than the number's": ("numbered", top(seed="0" * 64), 1, "wrong_seed"),
    # the whole
    "another result": ("secret", top(result="won"), 16, "wrong_result"),
    "a result of a game that goes on": ("pysol", top(result="lost"), 6, "wrong_result"),
    "a result that is none": ("secret", top(result="draw"), 16, "wrong_result"),
    "no result of a game that is won": ("won", top(result="*"), 8, "wrong_result"),
    "a removal that closes up by itself, cut before it does": ("won", ended(2), 3, "log_ends_within_move"),
    "a win left out": ("won", ended(7), 8, "log_ends_within_move"),
    "the win of an open deal left out": ("won, open", lambda log: log["events"].pop(), 8, "log_ends_within_move"),
    # illegal moves
    "a pair that is none": ("pysol", removes("a1", "b1"), 7, "not_a_pair"),
    "a card alone": ("pysol", removes("a1"), 7, "not_single"),
    "a card with itself": ("pysol", removes("e1", "e1"), 7, "same_cell"),
    "a pair across the table": ("pysol", removes("e1", "c5"), 7, "not_touching"),
    "a pair in no line": ("line", removes("c2", "d1"), 2, "not_in_line"),
    "a gap": ("half", both(dropped(3), removes("e1", "d2")), 3, "empty_cell"),
    "a row that is not there": ("pysol", removes("a6", "a5"), 7, "outside_grid"),
    "a column that is not there": ("pysol", removes("f1", "e1"), 7, "outside_grid"),
    "a row 0": ("pysol", removes("a0", "a1"), 7, "outside_grid"),
    "a close-up of a full grid": ("pysol", then("compacted"), 7, "nothing_to_close_up"),
    "a refill of a full grid": ("pysol", then("refilled", cells=[], cards=[], stock=25), 7, "nothing_to_close_up"),
    "a close-up while pairs are left": ("wave", then("compacted"), 3, "removals_remain"),
    "a removal between the halves": ("half", removes("c2", "b3"), 4, "refill_due"),
    "a second half that is a first": ("half", then("compacted"), 4, "refill_due"),
    "an undo of the deal": ("numbered", then("undone", to=1), 2, "nothing_to_undo"),
    "a redo of nothing": ("pysol", then("redone", to=4), 7, "nothing_to_redo"),
    "a move after resigning": ("resigned", then("undone", to=1), 3, "game_over"),
    "resigning twice": ("resigned", then("resigned", cards_left=52, seed=None), 3, "game_over"),
    "a move after a win": ("won", then("undone", to=5), 9, "game_over"),
}  # fmt: skip


def forged(name, change):
    """Return a false log that is consistent in itself and signed by the server's own key."""
    log = log_of(name)
    change(log)
    return signed(chained(copied(log)))


@pytest.mark.parametrize("name", FALSE)
def test_a_false_log_is_refuted_where_it_goes_wrong_even_if_the_server_signed_it(name):
    game, change, version, code = FALSE[name]
    verdict = audit(forged(game, change), KEYS)
    assert (verdict.fault.version, verdict.fault.code) == (version, code), verdict.fault
    assert (verdict.valid, verdict.authentic) == (False, True)
    assert verdict.fault.message
    assert verdict.checked in (version - 1, version)
    assert (verdict.game.version if verdict.game else 0) == verdict.checked


@pytest.mark.parametrize("name", ["secret", "won", "pysol", "numbered", "deck", "two decks"])
def test_a_number_is_neither_its_float_nor_a_truth(name):
    """Every number and truth of every event, as another value that Python takes for the same."""
    passed = []
    for version, event in enumerate(log_of(name)["events"], start=1):
        for path in paths(event):
            log = log_of(name)
            holder = log["events"][version - 1]
            for step in path[:-1]:
                holder = holder[step]
            value = holder[path[-1]]
            for other in (float(value), int(value), *([bool(value)] if value in (0, 1) else [])):
                holder[path[-1]] = other
                if type(other) is not type(value) and audit(chained(copied(log)), KEYS).valid:
                    passed.append((version, *path, other))
    assert passed == []


def paths(value):
    """Yield where numbers and truths stand in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        if isinstance(part, int):
            yield (name,)
        yield from ((name, *path) for path in paths(part))


def rehashed(version, /, **fields):
    """Return what changes an event and recomputes its hash, and no other."""

    def change(log):
        event = log["events"][version - 1]
        event |= fields
        event["hash"] = event_hash(event)

    return change


# False logs whose chain is not recomputed, or of one event only.
BROKEN = {
    "a changed event": ("secret", data(2, cards=["TC", "TS"]), 2, "unexpected_event"),
    "a changed time": ("secret", changed(16, at="2026-11-01T23:59:59.999Z"), 16, "wrong_hash"),
    "a changed client seed": ("playing", deal(client_seed="mine"), 1, "wrong_hash"),
    "a changed commitment": ("playing", deal(commitment="0" * 64), 1, "wrong_hash"),
    "a changed hash": ("secret", changed(5, hash="0" * 64), 5, "wrong_hash"),
    "a hash in capitals": ("secret", altered(str.upper, 5, "hash"), 5, "wrong_hash"),
    "a hash left out": ("secret", without(5, "hash"), 5, "wrong_hash"),
    "a hash that is null": ("secret", changed(1, hash=None), 1, "wrong_hash"),
    "a hash that is a number": ("secret", changed(16, hash=0), 16, "wrong_hash"),
    "a hash turned round": ("secret", altered(lambda hash: hash[::-1], 5, "hash"), 5, "wrong_hash"),
    "a changed link": ("secret", changed(5, previous="0" * 64), 5, "wrong_previous"),
    "a changed link with its hash": ("secret", rehashed(5, previous="0" * 64), 5, "wrong_previous"),
    "a link left out": ("secret", without(5, "previous"), 5, "wrong_previous"),
    "a link that is null": ("secret", rehashed(1, previous=None), 1, "wrong_previous"),
    "a first event that has one before": ("secret", rehashed(1, previous="1" + "0" * 63), 1, "wrong_previous"),
    "a changed time with its hash": ("secret", rehashed(1, at="2026-11-01T11:00:00.000Z"), 2, "wrong_previous"),
    "a changed last time with its hash": ("secret", rehashed(16, at="2026-11-01T23:59:59.999Z"), 16, "wrong_head"),
    "another head": ("secret", top(head="0" * 64), 16, "wrong_head"),
    "the head before": ("secret", lambda log: log.update(head=log["events"][-1]["previous"]), 16, "wrong_head"),
    "a head in capitals": ("secret", lambda log: log.update(head=log["head"].upper()), 16, "wrong_head"),
    "an empty head": ("secret", top(head=""), 16, "wrong_head"),
    "a last event dropped": ("playing", lambda log: log["events"].pop(), 9, "wrong_head"),
    "a last move dropped": ("pysol", ended(5), 5, "wrong_head"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_log_whose_chain_is_broken_is_false_and_not_authentic(name):
    game, change, version, code = BROKEN[name]
    log = log_of(game)
    change(log)
    assert fault_of(log) == (version, code)
    # The signature is the word for the chain of the events; the head that stands beside it is only a claim.
    assert audit(log, KEYS).authentic is (log["events"] == played(game).log["events"])


def test_hashes_are_checked_where_only_some_events_have_them():
    log = unhashed(log_of("pysol"))
    log["events"][0] = log_of("pysol")["events"][0]
    assert fault_of(log) == (1, "wrong_game")
    assert fault_of({**log, "game": log_of("pysol")["game"]}) == (2, "wrong_version")


def test_what_has_no_canonical_form_has_no_hash():
    """A lone surrogate is in no UTF-8, so nothing can be the hash of an event that holds one."""
    for nothing in (b"", b"null", b"{}"):
        for events in (1, 6):
            log, previous = log_of("pysol") | {"game": "\ud800"}, "0" * 64
            log["events"] = log["events"][:events]
            for event in log["events"]:
                event |= {"game": "\ud800", "previous": previous, "hash": sha256(nothing).hexdigest()}
                previous = event["hash"]
            assert not passes(log | {"head": previous})


def passes(log, keys=KEYS):
    """Say whether a log is valid; what cannot be read is not."""
    try:
        return audit(log, keys).valid
    except Unreadable:
        return False


# -- Signatures


def test_a_signature_moved_from_another_game_is_false():
    other = play("monte-carlo", "another game", "joint")
    verdict = audit({**log_of("secret"), "signature": other.log["signature"]}, KEYS)
    assert (verdict.valid, verdict.authentic) == (True, False)


def test_a_signature_of_an_earlier_version_is_false():
    game = played("secret")
    for receipt in game.receipts[:-1]:
        assert audit({**game.log, "signature": receipt}, KEYS).authentic is False


def test_a_signature_of_another_head_is_false():
    log = log_of("secret")
    signature = KEYS.sign(Statement(log["game"], 16, "0" * 64))
    assert audit({**log, "signature": signature}, KEYS).authentic is False


def test_a_signature_that_was_tampered_with_is_false():
    log = log_of("secret")
    head, payload, signature = log["signature"].split(".")
    for forgery in (
        f"{head}.{payload}.{signature[:-4]}AAAA",
        f"{head}.{payload[:-2]}AA.{signature}",
        f"{head}..",
        head,
    ):
        assert audit({**log, "signature": forgery}, KEYS).authentic is False


def test_a_signed_log_without_its_hashes_is_not_what_was_signed():
    log = log_of("pysol")
    for event in log["events"]:
        del event["hash"]
    verdict = audit(log, KEYS)
    assert (verdict.valid, verdict.authentic) == (True, False)


# -- Receipts


@pytest.mark.parametrize("moves", range(5))
def test_a_log_cut_by_the_operator_and_signed_anew_is_caught_by_a_receipt(moves):
    game = played("secret")
    cut = signed(game.after(moves))
    length = len(cut["events"])
    assert (fault_of(cut), audit(cut, KEYS).authentic) == (None, True)
    assert fault_of({**cut, "receipts": game.receipts[: moves + 1]}) is None
    for receipt in game.receipts[moves + 1 :]:
        verdict = audit({**cut, "receipts": [receipt]}, KEYS)
        assert (verdict.fault.version, verdict.fault.code, verdict.checked) == (length, "log_cut", length)
        assert (verdict.fault.expected, verdict.fault.found) == (KEYS.read(receipt).version, length)


def test_a_game_played_otherwise_by_the_operator_is_caught_by_a_receipt():
    game = played("pysol")
    other = play_moves("monte-carlo", "a game", "pysol", "c2-b3 close_up undo redo")
    assert other.log["game"] == game.log["game"]
    assert audit(other.log, KEYS).authentic
    assert fault_of({**other.log, "receipts": game.receipts[:1]}) is None
    for receipt in game.receipts[1:]:
        verdict = audit({**other.log, "receipts": [game.receipts[0], receipt]}, KEYS)
        assert (verdict.fault.version, verdict.fault.code) == (6, "log_rewritten")
        assert verdict.fault.expected == KEYS.read(receipt).head


def test_a_time_changed_by_the_operator_is_caught_by_a_receipt():
    game = played("secret")
    log = log_of("secret")
    log["events"][-1]["at"] = "2026-11-01T23:59:59.999Z"
    log = signed(chained(log))
    assert audit(log, KEYS).authentic
    assert fault_of(log | {"receipts": game.receipts[:-1]}) is None
    assert fault_of(log | {"receipts": game.receipts}) == (16, "log_rewritten")


def test_receipts_stay_good_after_a_rotation_of_keys():
    rotated = KeyRing((*OTHERS.keys, *KEYS.keys))
    log = signed(played("pysol").after(1), rotated)
    assert audit(log | {"receipts": played("pysol").receipts[:2]}, rotated).authentic
    assert fault_of(log | {"receipts": played("pysol").receipts}, rotated) == (2, "log_cut")


@pytest.mark.parametrize(
    "receipts",
    [
        ["", "x", "a.b.c", "..", "\ud800"],
        [OTHERS.sign(Statement(played("pysol").log["game"], 99, "0" * 64))],
        [receipt[:-8] for receipt in played("pysol").receipts],
        play("monte-carlo", "another game", "joint").receipts,
    ],
    ids=["garbage", "of another key", "cut short", "of another game"],
)
def test_receipts_that_say_nothing_of_the_log_are_listed_as_such(receipts):
    verdict = audit({**log_of("pysol"), "receipts": receipts}, KEYS)
    assert (verdict.valid, missing(verdict)) == (True, ["receipt"] * len(receipts))


def test_receipts_have_nothing_to_be_held_against_without_hashes():
    game = played("pysol")
    log = unhashed(game.log) | {"game": game.log["game"], "receipts": game.receipts}
    verdict = audit(log, KEYS)
    assert verdict.valid
    assert missing(verdict).count("receipt") == len(game.receipts)


CAUGHT_BY_RECEIPTS = {"log_cut", "log_rewritten"}
ILLEGAL = {
    "not_a_pair", "not_single", "not_touching", "not_in_line", "empty_cell", "same_cell", "outside_grid",
    "nothing_to_close_up", "removals_remain", "refill_due", "nothing_to_undo", "nothing_to_redo", "game_over",
}  # fmt: skip


def test_every_fault_that_an_audit_can_find_is_found_above():
    found = {code for *_, code in (*FALSE.values(), *BROKEN.values())}
    assert found | CAUGHT_BY_RECEIPTS == set(FAULTS) | ILLEGAL


# -- What cannot be read


@pytest.mark.parametrize(
    "log",
    [None, True, 0, 1.5, "", "log", [], [{}], {}, {"format": 1}],
    ids=repr,
)
def test_what_is_no_log_cannot_be_read(log):
    with pytest.raises(Unreadable) as refusal:
        audit(log)
    assert refusal.value.code == "unreadable_log"


@pytest.mark.parametrize(
    "fields",
    [
        {"events": None},
        {"events": []},
        {"events": {}},
        {"events": "dealt"},
        {"events": [None]},
        {"events": [[]]},
        {"events": ["dealt"]},
        {"events": [{}]},
        {"events": [{"type": "dealt"}]},
        {"events": [{"data": {}}]},
        {"events": [{"type": "dealt", "data": []}]},
        {"events": [{"type": "dealt", "data": None}]},
        {"events": [{"type": "shuffled", "data": {}}]},
        {"events": [{"type": "Dealt", "data": {}}]},
        {"events": [{"type": None, "data": {}}]},
        {"events": [{"type": 1, "data": {}}]},
        {"events": [{"type": ["dealt"], "data": {}}]},
        {"events": [{"type": {"dealt": 1}, "data": {}}]},
        {"format": "1"},
        {"format": True},
        {"format": 1.0},
        {"format": None},
        {"format": 0},
        {"format": -1},
        {"format": [1]},
        {"game": 1},
        {"game": ["x"]},
        {"head": 0},
        {"head": False},
        {"seed": {}},
        {"signature": 1},
        {"signature": []},
        {"result": 1},
        {"receipts": "x"},
        {"receipts": {}},
        {"receipts": [1]},
        {"receipts": [None]},
        {"receipts": [["x"]]},
        {"receipts": ["x" * (LONGEST_RECEIPT + 1)]},
        {"note": "hello"},
        {"": None},
        {"\ud800": 1},
    ],
    ids=lambda fields: ascii(fields)[:60],
)
def test_a_log_with_a_field_that_cannot_be_read_is_refused(fields):
    with pytest.raises(Unreadable) as refusal:
        audit({**log_of("pysol"), **fields}, KEYS)
    assert refusal.value.code == "unreadable_log"


@pytest.mark.parametrize("place", [0, 3, 5])
def test_the_message_names_the_event_that_cannot_be_read(place):
    log = log_of("pysol")
    log["events"][place] = None
    with pytest.raises(Unreadable, match=f"event {place + 1} "):
        audit(log)


@pytest.mark.parametrize("format", [2, 3, 2**53, 10**400])
def test_a_newer_format_is_said_to_be_newer(format):
    with pytest.raises(Unreadable, match="newer") as refusal:
        audit({**log_of("pysol"), "format": format})
    assert refusal.value.code == "unknown_format"


@pytest.mark.parametrize("name", ["format", "rules_version"])
@pytest.mark.parametrize("version", [2, 2**53, 10**400])
def test_a_deal_of_a_newer_kind_is_said_to_be_newer(name, version):
    log = log_of("pysol")
    log["events"][0]["data"][name] = version
    with pytest.raises(Unreadable, match="newer") as refusal:
        audit(chained(log) if version < 2**53 else log, KEYS)
    assert refusal.value.code == "unknown_format"


def test_the_events_of_one_move_happen_at_one_time():
    log = log_of("pysol")
    place = next(place for place, event in enumerate(log["events"]) if event["move"] < event["version"])
    for event in log["events"][place:]:
        event["at"] = "2030-01-01T00:00:00.000Z"
    verdict = audit(signed(chained(log)), KEYS)
    assert (verdict.fault.version, verdict.fault.code) == (place + 1, "wrong_time")


def test_a_head_left_out_is_no_fault():
    verdict = audit(log_of("pysol") | {"head": None}, KEYS)
    assert (verdict.valid, verdict.authentic) == (True, True)


# -- Anything at all

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 60)
    | st.sampled_from([2**53, 2**63, 2**64, -(2**64), 10**400, 1.0, 0.0, -0.0, 1e308, 5e-324, 1.5])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "\ud800", "\udfff", "\0", "\u2028", "5H", "10H", "??", "a1", "*", "0" * 64, "x" * 5000])
    | st.sampled_from([*EVENT_TYPES, *VARIANTS, "secret", "pysol", "joint", "reading", RANKS])
    | st.text(max_size=8)
)
NAMES = (
    "format", "game", "head", "seed", "signature", "receipts", "result", "version", "move", "at", "previous", "hash",
    "cells", "cards", "row", "column", "stock", "to", "cards_left", "deal", "rules", "grid", "kind", "number",
)  # fmt: skip
names = st.sampled_from(NAMES) | st.text(max_size=4)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
    max_leaves=20,
) | st.integers(1, 400).map(lambda depth: json.loads("[" * depth + "]" * depth))
events = st.fixed_dictionaries(
    {"type": st.sampled_from([*EVENT_TYPES]) | scalars, "data": values}, optional=dict.fromkeys(NAMES, values)
)


logs = st.fixed_dictionaries({"events": st.lists(events, max_size=4)}, optional=dict.fromkeys(NAMES, scalars))


@given(values | logs)
@settings(deadline=None, max_examples=150)
def test_no_document_by_chance_is_a_valid_log_and_none_breaks_the_audit(log):
    assert not passes(log)


@cache
def games_to_damage():
    """Return logs of all variants and kinds of deals, finished and not."""
    games = zip(VARIANTS, KINDS * 4, strict=False)
    return [play(variant, "damaged", kind, finish=place % 3 > 0).log for place, (variant, kind) in enumerate(games)]


def damaged(log, pick, value):
    """Replace one node anywhere in a document, picked by a number, by any value."""
    nodes, holders = [], [log]
    for holder in holders:  # grows while it is walked
        for name, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
            nodes.append((holder, name))
            if isinstance(part, dict | list):
                holders.append(part)
    holder, name = nodes[pick % len(nodes)]
    holder[name] = value


def rewritten(log):
    """Recompute the chain of a damaged log as far as that can be done."""
    try:
        return chained(log)
    except (TypeError, ValueError, KeyError, AttributeError):
        return log


def text(value):
    """Return a JSON value as text, in which 1 is neither true nor 1.0."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("name", "level", "wins", "samples", "possible"),
    [
        ("playing", "first", 0, 0, True),
        ("playing", "first", 1, 1, False),
        ("playing", "fair", 0, 1, True),
        ("playing", "fair", 400, 1000, True),
        ("playing", "fair", 0, 0, False),
        ("playing", "fair", 2, 1, False),
        ("playing", "fair", 0, 1001, False),
        ("playing", "fair", True, 1, False),
        ("playing", "solve", 1, 1, False),
        ("playing", "best", 1, 1, False),
        ("pysol", "solve", 1, 1, True),
        ("pysol", "solve", 0, 1, True),
        ("pysol", "solve", 0, 0, True),
        ("pysol", "solve", 3, 7, False),
        ("half", "fair", 0, 0, True),
        ("half", "fair", 1, 1, False),
        ("resigned", "fair", 1, 1, False),
    ],
)
def test_a_hint_is_one_that_can_have_been_given(name, level, wins, samples, possible):
    log = unhashed(played(name).log)
    log["events"].append(hint(log, level, wins, samples))
    assert passes(log) is possible


def test_a_log_longer_than_any_game_is_none():
    log = unhashed(played("playing").log)
    event = hint(log, "first")
    log["events"] += [event] * (10_004 - len(log["events"]))
    assert passes(log)
    log["events"].append(event)
    with pytest.raises(Unreadable, match="at most 10004 events"):
        audit(log)


damages = st.lists(st.tuples(st.integers(0, 10**6), values), min_size=1, max_size=3)


@given(st.integers(0, len(VARIANTS) - 1), damages, st.booleans())
@example(0, [(0, 10**400)], False)
@settings(deadline=None, max_examples=300)
def test_no_damage_makes_another_log_pass_and_none_breaks_the_audit(place, damages, rewrite):
    whole = games_to_damage()[place]
    log = copied(whole)
    for pick, value in damages:
        damaged(log, pick, value)
    log = rewritten(log) if rewrite else log
    try:
        verdict = audit(log, KEYS)
    except Unreadable:
        return
    if verdict.valid:
        assert not verdict.authentic or same(whole, log)
        assert rewrite or text(whole["events"]) == text(log["events"])
        assert rewrite or log["head"] in (None, whole["head"])


@given(st.integers(0, len(VARIANTS) - 1), damages)
@settings(deadline=None, max_examples=150)
def test_damage_to_a_log_made_by_hand_never_breaks_the_audit(place, damages):
    log = unhashed(games_to_damage()[place])
    for pick, value in damages:
        damaged(log, pick, value)
    passes(log)
