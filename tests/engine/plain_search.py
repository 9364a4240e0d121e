"""The search that the others are held against: over positions of the engine, move by move, with nothing left out."""

from itertools import chain

from service.engine.events import Move
from service.engine.game import change_all, decide


def plain_verdict(position, order, budget=10**6):
    """Say "winnable", "unwinnable", or "undecided" when so many positions were visited."""
    visited, open_positions = {position}, [position]
    while open_positions:
        position = open_positions.pop()
        if position.won:
            return "winnable"
        for move in all_moves(position):
            after = change_all(position, decide(position, move, order))
            # Which cards were removed is told by what is left.
            key = (after.grid, after.dealt, after.phase)
            if key not in visited:
                if len(visited) == budget:
                    return "undecided"
                visited.add(key)
                open_positions.append(after)
    return "unwinnable"


def all_moves(position):
    """Every legal move; a pair in both directions, since in place that makes a difference."""
    moves = position.legal_moves
    other = (Move("remove", move.cells[::-1]) for move in moves if move.type == "remove" and len(move.cells) == 2)
    return chain(moves, other if position.rules.packing == "in-place" else ())
