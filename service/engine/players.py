"""Players: ways to play that are measured against each other, and by which the odds of a variant are told."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from service.engine import hints
from service.engine.cards import Card
from service.engine.deals import number_seed, v1_order
from service.engine.events import Deal, Dealt, Move
from service.engine.game import Game, Position, apply, begin, fold_all
from service.engine.rules import Rules
from service.engine.search import solve

PERFECT_BUDGET = 5_000_000


def first(game: Game, chance: Random) -> Sequence[Move]:
    """Take the first pair in reading order; close up when there is none."""
    return hints.first(game).plan


def random(game: Game, chance: Random) -> Sequence[Move]:
    """Take any legal move."""
    return (chance.choice(game.legal_moves),)


def most_pairs(game: Game, chance: Random) -> Sequence[Move]:
    """Take as many cards as a wave can, the first such way in reading order."""
    return hints.largest(game.position)


def fair(game: Game, chance: Random) -> Sequence[Move]:
    """Follow the hint of level `fair`."""
    return hints.fair(game).plan


# Each gives the next moves, seeing no more than a player at the table.
PLAYERS: Mapping[str, Callable[[Game, Random], Sequence[Move]]] = {
    "first": first,
    "random": random,
    "most-pairs": most_pairs,
    "fair": fair,
}
PERFECT = "perfect"  # sees all cards: wins whatever can be won
SLOW = ("fair", PERFECT)  # who think, the first for seconds a deal

# Whether a deal was won, whether that stayed undecided, and the cards left.
Outcome = tuple[bool, bool, int | None]


@dataclass
class Tally:
    """What a player made of the numbered deals from `start` on.

    cards_left: how many games ended with so many cards left
    undecided: for the perfect player, deals that the search gave up
    """

    variant: str
    player: str
    start: int
    deals: int = 0
    won: int = 0
    undecided: int = 0
    cards_left: Counter[int] = field(default_factory=Counter)

    @property
    def data(self) -> dict[str, Any]:
        """The tally as JSON values, with the chance and its interval, in which what is undecided may be won or not."""
        low, high = hints.interval(self.won, self.deals)[0], hints.interval(self.won + self.undecided, self.deals)[1]
        return {
            "variant": self.variant,
            "player": self.player,
            "start": self.start,
            "deals": self.deals,
            "won": self.won,
            "undecided": self.undecided,
            "chance": round(self.won / self.deals, 5) if self.deals else None,
            "interval": [round(low, 5), round(high, 5)],
            "cards_left": {str(left): self.cards_left[left] for left in sorted(self.cards_left)},
        }

    def add(self, won: bool, undecided: bool, left: int | None) -> None:
        """Count one deal."""
        self.deals += 1
        self.won += won
        self.undecided += undecided
        if left is not None:
            self.cards_left[left] += 1


def play(rules: Rules, player: str, number: int) -> Outcome:
    """Play a numbered deal."""
    order = v1_order(rules.pack, number_seed(number))
    if player == PERFECT:
        verdict = solve(Position(rules, order[: rules.size], rules.size), order, PERFECT_BUDGET, line=False).verdict
        return verdict == "winnable", verdict == "undecided", None
    game, chance = begin(_dealt(rules, order)), Random(number)  # noqa: S311 - repeatable on purpose
    while game.status == "playing":
        for move in PLAYERS[player](game, chance):
            game = fold_all(game, apply(game, move, order))
    return game.status == "won", False, game.position.cards_left


def _dealt(rules: Rules, order: Sequence[Card]) -> Dealt:
    return Dealt("", rules, Deal("numbered"), tuple(order[: rules.size]), rules.pack.size - rules.size)
