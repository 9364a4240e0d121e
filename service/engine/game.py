"""The game: `apply` decides what a move does and answers with events, `fold` applies one event.

A `Game` is what its events fold to, and holds public things only. The hidden order of the cards is an argument of
`apply` and of nothing else, so no position, hint or refusal made from a `Game` can depend on a card not yet shown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from service.engine.cards import Card, Cell, parse_cell
from service.engine.errors import IllegalMove
from service.engine.events import (
    Change,
    Compacted,
    Dealt,
    Event,
    Hinted,
    Move,
    Redone,
    Refilled,
    Removed,
    Resigned,
    Undone,
    Won,
)
from service.engine.rules import Rules

Grid = tuple[Card | None, ...]


@dataclass(frozen=True)
class Position:
    """What lies on the table.

    grid: a card or None for each cell, in reading order
    dealt: how many cards of the order have been dealt so far; the others are the stock
    removed: the cards removed, first removed first
    phase: "play", or "refill" between the two halves of a close-up
    """

    rules: Rules
    grid: Grid
    dealt: int
    removed: tuple[Card, ...] = ()
    phase: str = "play"

    @property
    def stock(self) -> int:
        """Cards in the stock."""
        return self.rules.pack.size - self.dealt

    @property
    def cards_left(self) -> int:
        """Cards of the pack that are not removed."""
        return self.rules.pack.size - len(self.removed)

    @property
    def won(self) -> bool:
        """Whether every card that these rules could ever remove is removed."""
        return len(self.removed) == self.rules.goal

    @cached_property
    def removals(self) -> tuple[tuple[int, ...], ...]:
        """Every legal removal by places in reading order, each pair once, in reading order."""
        return tuple(self._removals()) if self.phase == "play" else ()

    def _removals(self) -> Iterator[tuple[int, ...]]:
        grid, partners, singles = self.grid, self.rules.partners, self.rules.singles
        for a, near in self.rules.within_reach:
            card = grid[a]
            if card is None:
                continue
            if card in singles:
                yield (a,)
            pairs = partners.get(card, frozenset())  # none for a card of another pack, as false logs have them
            for b in near:
                if grid[b] in pairs:
                    yield (a, b)

    @property
    def open(self) -> bool:
        """Whether any move is legal."""
        return self.phase == "refill" or any(True for _ in self._removals()) or self.closable

    @cached_property
    def closable(self) -> bool:
        """Whether a close-up is legal: it would change the grid, and nothing forbids it now."""
        if self.rules.auto or self.phase != "play" or not self.would_change:
            return False
        return self.rules.close_up == "free" or not self.removals

    @cached_property
    def would_change(self) -> bool:
        """Whether closing up would move or deal a card."""
        return None in self.grid and (self.stock > 0 or self.packed != self.grid)

    @cached_property
    def packed(self) -> Grid:
        """The grid with its cards closed up as the packing says, before any is dealt."""
        rules, grid = self.rules, self.grid
        if rules.packing == "in-place":
            return grid
        if rules.packing == "columns":
            columns = [_closed(grid[column :: rules.columns]) for column in range(rules.columns)]
            return tuple(card for row in zip(*columns, strict=True) for card in row)
        return _closed(grid)

    @cached_property
    def legal_moves(self) -> tuple[Move, ...]:
        """Every legal move but undo, redo and resign: removals in reading order, then the close-up."""
        if self.phase == "refill":
            return (Move("refill"),)
        cells = self.rules.cells
        moves = [Move("remove", tuple(cells[place] for place in places)) for places in self.removals]
        return (*moves, Move("close_up")) if self.closable else tuple(moves)


@dataclass(frozen=True, slots=True)
class Step:
    """A move on the line from the deal to the present, or one taken back from it.

    version: the version whose position this step leads to
    effects: what it did, as `-a1b2` (removed), `+` (compacted), `*d5e5` (refilled)
    position: the position it leads to, where it is still in memory
    """

    version: int
    effects: str
    position: Position | None = field(default=None, compare=False)

    @property
    def refills(self) -> bool:
        """Whether it dealt cards from the stock."""
        return "*" in self.effects


@dataclass(frozen=True)
class Game:
    """What the events of a game fold to.

    position: what lies on the table now
    version: number of events so far
    shown: the cards dealt so far in the order of the deal, those of moves taken back included
    line: the steps that lead from the deal to the present; the first is the deal itself
    undone: the steps taken back, next to redo first
    over: "won" or "lost" when the game has ended
    undos, undone_refills: how often a move was taken back, and how often one that had shown cards
    hints: how many hints were given
    """

    position: Position
    version: int
    shown: tuple[Card, ...]
    line: tuple[Step, ...]
    undone: tuple[Step, ...] = ()
    over: str | None = None
    undos: int = 0
    undone_refills: int = 0
    hints: int = 0

    @property
    def rules(self) -> Rules:
        """The rules it is played by."""
        return self.position.rules

    @property
    def status(self) -> str:
        """Say "playing", "blocked" (nothing is left but undo and resign), "won" or "lost"."""
        return self.over or ("playing" if self.position.legal_moves else "blocked")

    @property
    def legal_moves(self) -> tuple[Move, ...]:
        """Every legal move but undo, redo and resign; none when the game is over."""
        return () if self.over else self.position.legal_moves

    def undo_position(self) -> Position:
        """Return the position before the last step: kept in memory, or made again from the cards shown."""
        earlier = self.line[:-1]
        if earlier[-1].position is not None:
            return earlier[-1].position
        opening = self.shown[: self.rules.size]
        position = Position(self.rules, opening, len(opening))
        for step in earlier:
            position = _replay(position, step.effects, self.shown)
        return position


def begin(dealt: Dealt) -> Game:
    """Return the game that the first event opens."""
    position = Position(dealt.rules, dealt.grid, len(dealt.grid))
    return Game(position, version=1, shown=dealt.grid, line=(Step(1, "", position),))


def apply(game: Game, move: Move, order: Sequence[Card], seed: str | None = None) -> tuple[Event, ...]:
    """Decide what a move does to a game, given the order of its deal and the secret that its end reveals.

    Raises `IllegalMove` with the reason, or `Unreadable` with code `outside_grid`.
    """
    position = game.position
    if game.over:
        raise IllegalMove("game_over", f"the game is {game.over}; no move is left in it")
    if move.type == "undo":
        if len(game.line) == 1:
            raise IllegalMove("nothing_to_undo", "no move is left to undo")
        return (Undone(game.line[-2].version),)
    if move.type == "redo":
        if not game.undone:
            raise IllegalMove("nothing_to_redo", "no move was undone since the last new one")
        return (Redone(game.undone[0].version),)
    if move.type == "resign":
        return (Resigned(position.cards_left, seed),)
    changes = tuple(decide(position, move, order))
    gone = len(position.removed) + sum(len(happened.cards) for happened in changes if isinstance(happened, Removed))
    if gone < position.rules.goal:
        return changes
    return (*changes, Won(position.rules.pack.size - gone, seed))


def fold(game: Game, event: Event, move: int) -> Game:
    """Apply an event that belongs to the move which began at version `move`."""
    version = game.version + 1
    match event:
        case Removed() | Compacted() | Refilled():
            position, shown = change(game.position, event), game.shown
            if isinstance(event, Refilled) and position.dealt > len(shown):
                shown = (*shown[: game.position.dealt], *event.cards)
            goes_on = move != version
            line = game.line[:-1] if goes_on else game.line
            step = Step(version, (game.line[-1].effects if goes_on else "") + _effect(event), position)
            # Written out, since `replace` takes as long as all of the above.
            return Game(position, version, shown, (*line, step), (), None, game.undos, game.undone_refills, game.hints)
        case Undone():
            taken, position = game.line[-1], game.undo_position()
            before = game.line[-2]
            return Game(
                position,
                version,
                game.shown,
                (*game.line[:-2], Step(before.version, before.effects, position)),
                (taken, *game.undone),
                None,
                game.undos + 1,
                game.undone_refills + taken.refills,
                game.hints,
            )
        case Redone():
            again = game.undone[0]
            position = again.position or _replay(game.position, again.effects, game.shown)
            line = (*game.line, Step(again.version, again.effects, position))
            return replace(game, position=position, version=version, line=line, undone=game.undone[1:])
        case Hinted():
            return replace(game, version=version, hints=game.hints + 1)
        case Resigned():
            return replace(game, version=version, over="lost")
        case Won():
            return replace(game, version=version, over="won")
        case Dealt():
            raise ValueError("a game is dealt once, by its first event")


def fold_all(game: Game, events: Iterable[Event]) -> Game:
    """Apply the events of one move."""
    move = game.version + 1
    for event in events:
        game = fold(game, event, move)
    return game


def change_all(position: Position, changes: Iterable[Change]) -> Position:
    """Return what changes, one after another, make of a position."""
    for happened in changes:
        position = change(position, happened)
    return position


def _closed(places: Grid) -> Grid:
    cards = [card for card in places if card is not None]
    return (*cards, *[None] * (len(places) - len(cards)))


def decide(position: Position, move: Move, order: Sequence[Card]) -> Iterator[Change]:
    """Say what a removal or a close-up does, if it is legal; the other moves need a game. Raises `IllegalMove`."""
    rules = position.rules
    if move.type == "remove":
        removed = Removed(move.cells, _check_removal(position, move.cells))
        yield removed
        if rules.auto:
            yield from _close(change(position, removed), order, move.cells)
        return
    if move.type == "refill":
        if position.phase != "refill":
            raise IllegalMove("nothing_to_refill", "refill is the second half of a close-up, after compact")
        yield _refill(position, order, _gaps(position))
        return
    _check_close_up(position)
    if move.type == "compact":
        yield Compacted()
    else:
        yield from _close(position, order, ())


def _close(position: Position, order: Sequence[Card], named: Sequence[Cell]) -> Iterator[Change]:
    """Say what a whole close-up does, after a removal of the named cells where it follows one by itself."""
    fill_at_once = position.rules.packing in ("in-place", "fill-first")
    if fill_at_once and position.stock:
        # In place only the cells just emptied are open while stock is left, and the first named is served first.
        refilled = _refill(position, order, named if position.rules.packing == "in-place" else _gaps(position))
        yield refilled
        position = change(position, refilled)
    if position.packed != position.grid:
        compacted = Compacted()
        yield compacted
        position = change(position, compacted)
    if not fill_at_once and position.stock and None in position.grid:
        yield _refill(position, order, _gaps(position))


def _refill(position: Position, order: Sequence[Card], gaps: Sequence[Cell]) -> Refilled:
    cards = tuple(order[position.dealt : position.dealt + len(gaps)])
    return Refilled(tuple(gaps[: len(cards)]), cards, position.stock - len(cards))


def _gaps(position: Position) -> tuple[Cell, ...]:
    return tuple(cell for cell, card in zip(position.rules.cells, position.grid, strict=True) if card is None)


def _check_removal(position: Position, cells: Sequence[Cell]) -> tuple[Card, ...]:
    """Return the cards on the cells. Raises `IllegalMove` if they cannot be removed together."""
    rules = position.rules
    places = [rules.index(cell) for cell in cells]
    if position.phase == "refill":
        raise IllegalMove("refill_due", "the grid is closed up and not refilled; refill comes next")
    if len(set(places)) < len(places):
        raise IllegalMove("same_cell", "a pair is two different cells")
    cards: list[Card] = []
    for cell, place in zip(cells, places, strict=True):
        card = position.grid[place]
        if card is None:
            raise IllegalMove("empty_cell", f"row {cell.row}, column {cell.column} is empty")
        cards.append(card)
    if len(cards) == 1:
        if cards[0] not in rules.singles:
            raise IllegalMove("not_single", f"{cards[0]} is not removed alone by these rules")
    elif cards[1] not in rules.partners.get(cards[0], frozenset()):
        raise IllegalMove("not_a_pair", f"{cards[0]} and {cards[1]} are not a pair by these rules")
    elif not rules.reaches(*places):
        if rules.reach == "touching":
            raise IllegalMove("not_touching", f"{cards[0]} and {cards[1]} do not touch; rows do not wrap")
        raise IllegalMove("not_in_line", f"{cards[0]} and {cards[1]} share neither a row nor a column")
    return tuple(cards)


def _check_close_up(position: Position) -> None:
    if position.phase == "refill":
        raise IllegalMove("refill_due", "the grid is closed up and not refilled; refill comes next")
    if position.rules.auto or not position.would_change:
        raise IllegalMove("nothing_to_close_up", "closing up would change nothing")
    if not position.closable:
        raise IllegalMove("removals_remain", "by these rules the grid closes up only when no removal is left")


def change(position: Position, happened: Change) -> Position:
    """Return what a change makes of a position."""
    rules, phase = position.rules, "play"
    grid, dealt, removed = list(position.grid), position.dealt, position.removed
    match happened:
        case Removed(cells, cards):
            for cell in cells:
                grid[rules.index(cell)] = None
            removed = (*removed, *cards)
        case Compacted():
            grid = list(position.packed)
            phase = "refill" if position.stock and None in grid else "play"
        case Refilled(cells, cards):
            for cell, card in zip(cells, cards, strict=True):
                grid[rules.index(cell)] = card
            dealt += len(cards)
    return Position(rules, tuple(grid), dealt, removed, phase)


def _effect(change: Change) -> str:
    match change:
        case Removed(cells):
            return "-" + "".join(map(str, cells))
        case Refilled(cells):
            return "*" + "".join(map(str, cells))
        case _:
            return "+"


def _replay(position: Position, effects: str, shown: Sequence[Card]) -> Position:
    """Return where a step leads that starts from a position and only deals cards already shown."""
    for kind, text in re.findall(r"([-+*])([a-j0-9]*)", effects):
        cells = tuple(parse_cell(cell) for cell in re.findall(r"[a-j]\d+", text))
        happened: Change
        if kind == "-":
            cards = (position.grid[position.rules.index(cell)] for cell in cells)
            happened = Removed(cells, tuple(card for card in cards if card is not None))
        elif kind == "*":
            happened = _refill(position, shown, cells)
        else:
            happened = Compacted()
        position = change(position, happened)
    return position
