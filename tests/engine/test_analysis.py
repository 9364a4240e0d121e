"""The analysis of a game: every variant, every version."""

from itertools import groupby
from random import Random

import pytest

from service.engine import log
from service.engine.analysis import analyse
from service.engine.deals import number_seed, v1_order
from service.engine.events import Deal, Dealt, Move
from service.engine.game import apply, begin, fold_all
from service.engine.rules import VARIANTS

GAME = "00000000-0000-7000-8000-000000000000"


def play(variant, number, moves=12):
    """Play so many moves at random and resign; return the log and the order of the deal."""
    rules, chance = VARIANTS[variant].rules, Random(number)
    order = v1_order(rules.pack, number_seed(number))
    dealt = Dealt(variant, rules, Deal("numbered"), order[: rules.size], rules.pack.size - rules.size)
    game, entries = begin(dealt), log.write(GAME, 0, [dealt], 0, log.FIRST_PREVIOUS)
    for _ in range(moves):
        if game.status != "playing":
            break
        events = apply(game, chance.choice(game.legal_moves), order)
        entries += log.write(GAME, game.version, events, 0, entries[-1].hash)
        game = fold_all(game, events)
    if not game.over:
        entries += log.write(GAME, game.version, apply(game, Move("resign"), order), 0, entries[-1].hash)
    return entries, order


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_move_is_judged_as_a_whole_and_a_win_is_kept_by_what_is_best(variant):
    for number in range(1, 6):
        entries, order = play(variant, number)
        played, analysis = list(log.games(entries)), analyse(entries, order)
        assert [seen.version for seen in analysis.versions] == [entry.version for entry in entries]
        for _, events in groupby(entries, lambda entry: entry.move):
            *within, end = (entry.version - 1 for entry in events)
            assert {analysis.versions[place].verdict for place in within} <= {analysis.versions[end].verdict}
            assert all(analysis.versions[place].best is None for place in within)
            if analysis.versions[end].best:
                apply(played[end], analysis.versions[end].best, order)  # is legal
        if analysis.thrown_away:
            game = played[analysis.thrown_away.version - 1]
            for move in analysis.thrown_away.line:
                game = fold_all(game, apply(game, move, order))
            assert game.over == "won"
