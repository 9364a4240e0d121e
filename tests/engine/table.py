"""A table to play on in tests: moves are given by their text, refusals are returned by their code."""

from collections import Counter

from service.engine.cards import parse_cards
from service.engine.deals import ALGORITHMS
from service.engine.errors import EngineError
from service.engine.events import Deal, Dealt, parse_move
from service.engine.game import Game, Position, Step, apply, begin, fold_all

GAP = "--"


def dealt(rules, order, variant="monte-carlo", deal=None):
    """Return the first event of a game with this order of its pack."""
    deal = deal or Deal("deck")
    deck = tuple(order) if deal.kind == "deck" else None
    stock = rules.pack.size - rules.size
    return Dealt(variant, rules, deal, tuple(order[: rules.size]), stock, deck, ALGORITHMS[deal.kind])


def shortly(text):
    """Name a parametrized test by its text, however long or odd that is."""
    return ascii(text)[:60]


def text_of(grid):
    return " ".join(card or GAP for card in grid)


def beginning_with(rules, cards):
    """Return an order of the pack that begins with these cards; the others follow as they come in the pack."""
    first = parse_cards(cards)
    rest = Counter(rules.pack.cards())
    rest.subtract(first)
    assert min(rest.values()) >= 0, "a card is in the order more often than in the pack"
    return (*first, *rest.elements())


class Table:
    """A game and the order of its deal."""

    def __init__(self, rules, order, game=None):
        self.rules = rules
        self.order = tuple(order)
        self.game = game or begin(dealt(rules, self.order))

    @classmethod
    def deal(cls, rules, cards):
        """Deal an order that begins with these cards."""
        return cls(rules, beginning_with(rules, cards))

    @classmethod
    def set_up(cls, rules, grid, stock=""):
        """Lay out a game in its middle: all cards that are neither on the grid nor in the stock are removed."""
        places = tuple(None if word == GAP else parse_cards(word)[0] for word in grid.split())
        assert len(places) == rules.size
        left = [*(card for card in places if card), *parse_cards(stock)]
        removed = Counter(rules.pack.cards())
        removed.subtract(left)
        order = (*removed.elements(), *left)
        assert len(order) == rules.pack.size
        position = Position(rules, places, len(order) - len(parse_cards(stock)), tuple(removed.elements()))
        return cls(rules, order, Game(position, 1, order[: position.dealt], (Step(1, "", position),)))

    @property
    def position(self):
        return self.game.position

    @property
    def grid(self):
        return text_of(self.position.grid)

    @property
    def rows(self):
        grid, columns = self.position.grid, self.rules.columns
        return [text_of(grid[start : start + columns]) for start in range(0, len(grid), columns)]

    @property
    def legal(self):
        return [str(move) for move in self.game.legal_moves]

    @property
    def left(self):
        """All cards that are not removed, as often as they are there."""
        return Counter(self.rules.pack.cards()) - Counter(self.position.removed)

    def play(self, *moves):
        """Make moves one after another; return the types of the events of the last."""
        events = ()
        for move in moves:
            events = apply(self.game, parse_move(move) if isinstance(move, str) else move, self.order)
            self.game = fold_all(self.game, events)
        return [event.type for event in events]

    def refusal(self, move):
        """Return the code with which a move is refused, None if it is legal."""
        try:
            apply(self.game, parse_move(move) if isinstance(move, str) else move, self.order)
        except EngineError as refusal:
            return refusal.code
        return None
