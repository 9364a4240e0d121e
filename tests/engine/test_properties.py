"""What holds in every game of every rules, whatever its player does."""

import random
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from service.engine.errors import EngineError, IllegalMove
from service.engine.events import Deal, Dealt, Move
from service.engine.game import apply, begin, fold, fold_all
from service.engine.log import FIRST_PREVIOUS, event_hash, replay, write
from service.engine.rules import VARIANTS
from service.engine.state import freeze, thaw
from tests.engine.strategies import any_rules, orders, overridden, rules_of_any_kind
from tests.engine.table import Table, dealt

CODES = {
    "not_a_pair", "not_single", "not_touching", "not_in_line", "empty_cell", "same_cell", "nothing_to_close_up",
    "removals_remain", "refill_due", "nothing_to_refill", "nothing_to_undo", "nothing_to_redo", "game_over",
}  # fmt: skip
OTHERS = [Move(type) for type in ("close_up", "compact", "refill", "undo", "redo", "resign")]

every_variant = pytest.mark.parametrize("id", VARIANTS)
seeds = st.integers(0, 2**32)


def shuffled(rules, seed):
    cards = list(rules.pack.cards())
    random.Random(seed).shuffle(cards)
    return tuple(cards)


def random_moves(seed, table):
    """Make random legal moves, undo and redo among them; yield each with the table as it then is."""
    choice = random.Random(seed)
    for _ in range(400):
        moves = list(table.game.legal_moves)
        if "close_up" in table.legal and choice.random() < 0.3:
            moves = [Move("compact")]
        if table.game.over or (not moves and choice.random() < 0.5):
            return
        if not moves or choice.random() < 0.25:
            moves = [move for move in (Move("undo"), Move("redo")) if table.refusal(move) is None]
        if not moves:
            continue
        move = choice.choice(moves)
        if len(move.cells) == 2 and choice.random() < 0.5:
            move = Move("remove", move.cells[::-1])
        table.play(move)
        yield move


def places(table):
    """Every single cell and every two different cells in either order, as removals."""
    cells = table.rules.cells
    return [Move("remove", named) for named in [*((cell,) for cell in cells), *permutations(cells, 2)]]


class AnyGame(RuleBasedStateMachine):
    """A game of any rules in which anything is tried, beside its log, its frozen state and all its past."""

    @initialize(rules=any_rules, seed=seeds)
    def deal(self, rules, seed):
        self.table = Table(rules, shuffled(rules, seed))
        first = dealt(rules, self.table.order)
        self.entries = write("game", 0, [first], 0, FIRST_PREVIOUS)
        self.past = [self.table.game]

    def make(self, move):
        table = self.table
        before, events = table.game, apply(table.game, move, table.order)
        assert events
        self.entries += write("game", before.version, events, len(self.entries), self.entries[-1].hash)
        for event in events:
            table.game = fold(table.game, event, before.version + 1)
            self.past.append(table.game)
        return events

    def may(self, type):
        return self.table.refusal(type) is None

    @precondition(lambda self: self.table.position.removals and not self.table.game.over)
    @rule(pick=st.integers(0, 10**6), backwards=st.booleans())
    def remove(self, pick, backwards):
        removals = [move for move in self.table.game.legal_moves if move.type == "remove"]
        cells = removals[pick % len(removals)].cells
        removed, *_ = self.make(Move("remove", cells[::-1] if backwards else cells))
        assert self.table.position.removed[-len(cells) :] == removed.cards

    @precondition(lambda self: self.may("close_up"))
    @rule()
    def close_up(self):
        before = self.table.position
        self.make(Move("close_up"))
        assert self.table.position.grid != before.grid

    @precondition(lambda self: self.may("compact"))
    @rule()
    def compact(self):
        dealt_before = self.table.position.dealt
        self.make(Move("compact"))
        assert self.table.position.dealt == dealt_before

    @precondition(lambda self: self.may("refill"))
    @rule()
    def refill(self):
        self.make(Move("refill"))
        assert self.table.position.phase == "play"

    @precondition(lambda self: self.may("undo"))
    @rule()
    def undo(self):
        before = self.table.position
        (event,) = self.make(Move("undo"))
        assert self.table.position == self.past[event.to - 1].position
        redone = fold_all(self.table.game, apply(self.table.game, Move("redo"), self.table.order))
        assert redone.position == before

    @precondition(lambda self: self.may("redo"))
    @rule()
    def redo(self):
        before = self.table.position
        (event,) = self.make(Move("redo"))
        assert self.table.position == self.past[event.to - 1].position
        undone = fold_all(self.table.game, apply(self.table.game, Move("undo"), self.table.order))
        assert undone.position == before

    @precondition(lambda self: len(self.past) > 20 and not self.table.game.over)
    @rule()
    def resign(self):
        self.make(Move("resign"))
        assert self.table.game.status == "lost"

    @rule(move=st.sampled_from(OTHERS[:-1]) | st.tuples(st.integers(0, 200), st.integers(0, 200)))
    def try_anything(self, move):
        """A move is refused with a known code and changes nothing, or it is made."""
        before, cells = self.table.game, self.table.rules.cells
        if isinstance(move, tuple):
            move = Move("remove", tuple(cells[place % len(cells)] for place in move))
        try:
            self.make(move)
        except IllegalMove as refusal:
            assert refusal.code in CODES
            assert self.table.game is before

    @invariant()
    def no_card_is_lost_or_doubled(self):
        position, order = self.table.position, self.table.order
        on_grid = [card for card in position.grid if card]
        everywhere = [*on_grid, *position.removed, *order[position.dealt :]]
        assert Counter(everywhere) == Counter(self.table.rules.pack.cards())
        assert len(position.grid) == self.table.rules.size
        assert position.stock == len(order) - position.dealt
        assert position.cards_left == len(on_grid) + position.stock

    @invariant()
    def the_stock_keeps_its_order(self):
        game, order = self.table.game, self.table.order
        assert game.shown == order[: len(game.shown)]
        assert self.table.rules.size <= game.position.dealt <= len(game.shown)
        assert len(game.shown) == max(past.position.dealt for past in self.past)

    @invariant()
    def a_frozen_game_thaws_and_undoes_as_the_live_one(self):
        game, order = self.table.game, self.table.order
        thawed = thaw(game.rules, order, game.version, game.status, freeze(game))
        assert thawed == game
        for move in (Move("undo"), Move("redo")):
            if self.may(str(move)):
                again, live = (fold_all(of, apply(of, move, order)) for of in (thawed, game))
                assert again == live

    @invariant()
    def status_and_legal_moves_agree(self):
        game = self.table.game
        assert (game.status == "playing") == bool(game.legal_moves)
        assert (game.status == "won") == (len(game.position.removed) == game.rules.goal)
        assert len(game.position.removed) <= game.rules.goal
        for move in game.legal_moves:
            assert self.table.refusal(move) is None

    @invariant()
    def counts_of_assistance_are_those_of_the_log(self):
        game = self.table.game
        assert game.version == len(self.entries) == len(self.past)
        assert game.undos == sum(entry.type == "undone" for entry in self.entries)
        undone_refills = sum(
            before.position.dealt > after.position.dealt
            for before, after in zip(self.past, self.past[1:], strict=False)
        )
        assert game.undone_refills == undone_refills

    def teardown(self):
        if not hasattr(self, "table"):
            return
        for version, game in enumerate(self.past, start=1):
            assert replay(self.entries[:version]) == game
        previous = FIRST_PREVIOUS
        for version, entry in enumerate(self.entries, start=1):
            assert (entry.version, entry.previous, entry.hash) == (version, previous, event_hash(entry.document))
            previous = entry.hash


AnyGame.TestCase.settings = settings(deadline=None, max_examples=40, stateful_step_count=60)
TestAnyGame = AnyGame.TestCase


@every_variant
@given(seed=seeds, choices=seeds)
@settings(deadline=None, max_examples=4)
def test_the_log_folds_to_the_live_game_at_every_version(id, seed, choices):
    rules = VARIANTS[id].rules
    table = Table(rules, shuffled(rules, seed))
    first = Dealt(id, rules, Deal("secret"), table.order[: rules.size], rules.pack.size - rules.size)
    table.game, past = begin(first), []
    entries = write("game", 0, [first], 0, FIRST_PREVIOUS)
    past.append(table.game)
    before = table.game
    for move in random_moves(choices, table):
        events = apply(before, move, table.order)
        entries += write("game", before.version, events, len(entries), entries[-1].hash)
        for event in events:
            past.append(fold(past[-1], event, before.version + 1))
        before = table.game
        assert past[-1] == before
    assert [replay(entries[:version]) for version in range(1, len(past) + 1)] == past


@every_variant
@given(seed=seeds, choices=seeds)
@settings(deadline=None, max_examples=3)
def test_legal_moves_are_what_apply_accepts(id, seed, choices):
    rules = VARIANTS[id].rules
    table = Table(rules, shuffled(rules, seed))
    for count, _ in enumerate(random_moves(choices, table)):
        if count % 5 == 0:
            assert_legal_moves_are_what_apply_accepts(table)
    assert_legal_moves_are_what_apply_accepts(table)


@given(rules=overridden() | rules_of_any_kind(max_side=5), seed=seeds, choices=seeds)
@settings(deadline=None, max_examples=40)
def test_legal_moves_are_what_apply_accepts_by_any_rules(rules, seed, choices):
    table = Table(rules, shuffled(rules, seed))
    assert_legal_moves_are_what_apply_accepts(table)
    for count, _ in enumerate(random_moves(choices, table)):
        if count % 10 == 0:
            assert_legal_moves_are_what_apply_accepts(table)


def assert_legal_moves_are_what_apply_accepts(table):
    accepted = {move.cells for move in places(table) if table.refusal(move) is None}
    assert accepted == {cells[::-1] for cells in accepted}, "both orders are accepted or both refused"
    index = table.rules.index
    listed = [move.cells for move in table.game.legal_moves if move.type == "remove"]
    assert listed == sorted(cells for cells in accepted if index(cells[0]) <= index(cells[-1]))
    others = [move for move in OTHERS[:3] if table.refusal(move) is None]
    assert ("close_up" in table.legal) == (Move("close_up") in others)
    assert (Move("compact") in others) == (Move("close_up") in others)
    assert ("refill" in table.legal) == (Move("refill") in others)
    if "refill" in table.legal:
        assert table.legal == ["refill"]
    elif "close_up" in table.legal:
        assert table.legal[-1] == "close_up"
    assert set(table.legal).isdisjoint({"compact", "undo", "redo", "resign"})


@given(rules=any_rules, data=st.data(), choices=seeds)
@settings(deadline=None, max_examples=60)
def test_hidden_cards_matter_to_nothing_until_they_are_dealt(rules, data, choices):
    """Two games that have shown the same cards are the same game and answer alike, word for word."""
    order = data.draw(orders(rules))
    moves = list(random_moves(choices, Table(rules, order)))
    known = moves[: data.draw(st.integers(0, len(moves)))]
    table = Table(rules, order)
    table.play(*known)
    shown = len(table.game.shown)
    other = Table(rules, (*order[:shown], *data.draw(st.permutations(order[shown:]))))
    other.play(*known)
    assert other.game == table.game
    assert freeze(other.game) == freeze(table.game)
    assert other.game.status == table.game.status
    assert other.game.legal_moves == table.game.legal_moves

    for move in [*table.game.legal_moves, *places(table)[:: max(1, rules.size // 4)], *OTHERS]:
        answers = []
        for of in (table, other):
            try:
                answers.append([public(event) for event in apply(of.game, move, of.order)])
            except EngineError as refusal:
                answers.append((refusal.code, refusal.message))
        assert answers[0] == answers[1], move


def public(event):
    """An event without the cards that it deals."""
    return (event.type, event.cells, event.stock) if event.type == "refilled" else event


@given(rules=any_rules, seed=seeds, choices=seeds)
@settings(deadline=None, max_examples=40)
def test_undoing_all_leads_back_to_the_deal_and_redoing_all_to_the_end(rules, seed, choices):
    table = Table(rules, shuffled(rules, seed))
    opening = table.position
    for _ in random_moves(choices, table):
        pass
    if table.game.over:
        return
    while table.refusal("redo") is None:
        table.play("redo")
    end = table.position
    while table.refusal("undo") is None:
        table.play("undo")
    assert table.position == opening
    while table.refusal("redo") is None:
        table.play("redo")
    assert table.position == end


@every_variant
@given(seed=seeds)
@settings(deadline=None, max_examples=5)
def test_a_player_who_always_takes_the_first_legal_move_comes_to_an_end(id, seed):
    rules = VARIANTS[id].rules
    table = Table(rules, shuffled(rules, seed))
    moves = 0
    while table.legal:
        table.play(table.legal[0])
        moves += 1
        assert moves <= 2 * rules.pack.size
    assert table.game.status in ("won", "blocked")


@given(rules=any_rules, seed=seeds, choices=seeds)
@settings(deadline=None, max_examples=40)
def test_a_close_up_is_its_two_halves(rules, seed, choices):
    table = Table(rules, shuffled(rules, seed))
    for _ in random_moves(choices, table):
        if "close_up" not in table.legal:
            continue
        whole, halves = (Table(rules, table.order, table.game) for _ in range(2))
        whole.play("close_up")
        halves.play("compact")
        if halves.legal == ["refill"]:
            halves.play("refill")
        assert halves.position == whole.position


@given(rules=any_rules, seed=seeds, choices=seeds)
@settings(deadline=None, max_examples=40)
def test_a_close_up_packs_and_fills_as_the_packing_says(rules, seed, choices):
    """The packings, written again from their description."""
    table = Table(rules, shuffled(rules, seed))
    before = table.position
    for move in random_moves(choices, table):
        closes = move.type == "close_up" or (move.type == "remove" and rules.auto)
        if closes and not table.game.over:
            emptied = [rules.index(cell) for cell in move.cells]
            grid = [None if place in emptied else card for place, card in enumerate(before.grid)]
            assert list(table.position.grid) == closed_up(rules, grid, list(table.order[before.dealt :]), emptied)
        before = table.position


def closed_up(rules, grid, stock, emptied):
    def fill(places):
        for place in places:
            if stock and not grid[place]:
                grid[place] = stock.pop(0)

    def pack(places):
        cards = [grid[place] for place in places if grid[place]]
        for place in places:
            grid[place] = cards.pop(0) if cards else None

    everywhere = range(rules.size)
    match rules.packing:
        case "reading":
            pack(everywhere)
            fill(everywhere)
        case "columns":
            for column in range(rules.columns):
                pack(everywhere[column :: rules.columns])
            fill(everywhere)
        case "in-place":
            fill(emptied)
        case "fill-first":
            fill(everywhere)
            pack(everywhere)
    return grid
