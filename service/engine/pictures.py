"""Pictures of games: cards, boards and replays as SVG, and a board as text. Pure functions of what is public.

The cards are drawn here once, as symbols with the card for an id. A picture carries those it shows, and a page that
plays carries all; colours come from style sheets by the classes `face`, `ink` and the suit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from service.engine.cards import COLUMNS, RANKS, SUITS, Card, Pack
from service.engine.game import Grid, Position

WIDTH, HEIGHT = 50, 70  # of a card
_GAP, _MARGIN, _FOOT = 6, 14, 26
_SECONDS, _MOVING, _REST = 1.2, 0.4, 2  # of a step, the part of it in which cards move, and steps to rest at the end

# Ranks are lines of round pens in a box of 10 x 14, so that cards look alike whatever fonts there are.
_STROKES = {
    "A": "M.5 14 5 0l4.5 14M2.1 9.4h5.8",
    "2": "M1 3.7C1 1.4 2.7 0 5 0s4 1.5 4 3.8C9 7 4.9 9.2 1 14h8.3",
    "3": "M1 0h7.6L4.7 5.3C7.4 5.3 9.2 7 9.2 9.6S7.4 14 4.8 14C2.8 14 1.4 13.1.7 11.5",
    "4": "M7 14V0L.6 9.9h9.2",
    "5": "M8.6 0H2.3L1.5 6C2.4 5.3 3.5 4.9 4.8 4.9c2.6 0 4.4 1.9 4.4 4.5S7.4 14 4.8 14C2.8 14 1.3 13.1.6 11.5",
    "6": "M7.5 0C4 2.5.8 5.7.8 9.6.8 12.3 2.6 14 5 14s4.2-1.8 4.2-4.4S7.4 5.3 5 5.3.8 7 .8 9.6",
    "7": "M.8 0h8.4L3.8 14",
    "8": "M5 6.4C2.9 6.4 1.5 5.2 1.5 3.2S2.9 0 5 0s3.5 1.2 3.5 3.2S7.1 6.4 5 6.4 .8 7.9.8 10.2 2.6 14 5 14s4.2-1.5 4.2-3.8S7.4 6.4 5 6.4",
    "9": "M2.5 14C6 11.5 9.2 8.3 9.2 4.4 9.2 1.7 7.4 0 5 0S.8 1.8.8 4.4 2.6 8.7 5 8.7 9.2 7 9.2 4.4",
    "T": "M-1.6 2.2 1 0v14M8 0c2.1 0 3.2 2 3.2 7S10.1 14 8 14 4.8 12 4.8 7 5.9 0 8 0",
    "J": "M7.8 0v9.8C7.8 12.6 6.4 14 4.3 14S.9 12.7.6 10.6",
    "Q": "M5 0c2.8 0 4.4 2.4 4.4 7S7.8 14 5 14 .6 11.6.6 7 2.2 0 5 0M5.8 10.6l3.2 3.4",
    "K": "M1 0v14M9.2 0 1 8.7M4.1 5.6 9.6 14",
}
# Suits fill a box of 20 x 20.
_SUITS = {
    "C": "M10 1a4.3 4.3 0 0 1 3.5 6.8A4.4 4.4 0 1 1 11 14.6c.1 1.9.8 3.3 2.2 4.4H6.8c1.4-1.1 2.1-2.5 2.2-4.4A4.4 4.4 0 1 1 6.5 7.8 4.3 4.3 0 0 1 10 1",
    "D": "M10 .5c1.9 3.7 4.2 6.8 7.2 9.5-3 2.7-5.3 5.8-7.2 9.5C8.1 15.8 5.8 12.7 2.8 10 5.8 7.3 8.1 4.2 10 .5",
    "H": "M10 18.8C5.5 14.6 1 11.2 1 6.6 1 3.6 3.2 1.6 5.7 1.6 7.5 1.6 9.1 2.6 10 4.4 10.9 2.6 12.5 1.6 14.3 1.6 16.8 1.6 19 3.6 19 6.6c0 4.6-4.5 8-9 12.2",
    "S": "M10 .6c4.2 4.3 8.8 7.2 8.8 11.3 0 2.5-1.8 4.2-4 4.2-1.5 0-2.9-.7-3.8-2 .2 2 .9 3.6 2.3 4.9H6.7c1.4-1.3 2.1-2.9 2.3-4.9-.9 1.3-2.3 2-3.8 2-2.2 0-4-1.7-4-4.2C1.2 7.8 5.8 4.9 10 .6",
}
# What court cards wear, in a box of 24 x 12: a plumed cap, a coronet, a crown.
_COURTS = {
    "J": "M2 12h20l-2-4.5c-3 .6-6.5.1-8.5-1.5C9.5 8.2 5.5 8.4 3.5 7.5zM13 5c2-4.5 6-5.5 10-4.5-1 3-4 5-8.5 5.8z",
    "Q": "M3 12h18l2-8-5.5 3L12 1.5 6.5 7 1 4zM1 3.2a1.5 1.5 0 1 0-.01 0M23 3.2a1.5 1.5 0 1 0-.01 0",
    "K": "M3 12h18l2.5-9.5-6.5 4L12 0 7 6.5l-6.5-4z",
}
_STYLE = """
.face{fill:#fdfcf8;stroke:#0003}.ink{fill:none;stroke-width:2.1;stroke-linecap:round;stroke-linejoin:round}
.C,.S{fill:#1d2430;stroke:#1d2430}.D,.H{fill:#c4202f;stroke:#c4202f}.suit{stroke:none}
.gap{fill:none;stroke:#fff4;stroke-dasharray:3 4}.told{font:600 11px system-ui,sans-serif;fill:#fff}
@media (prefers-reduced-motion:no-preference){.still{display:none}}@media (prefers-reduced-motion:reduce){.moving{display:none}}
"""


def symbols(cards: Iterable[Card] = Pack().cards()) -> str:
    """Return the symbols of these cards, to stand in `<defs>` or a hidden `<svg>`; use them as `<use href="#TH"/>`."""
    shown = sorted(set(cards))
    parts = [f'<path id="rank-{rank}" d="{_STROKES[rank]}"/>' for rank in RANKS if any(c[0] == rank for c in shown)]
    parts += [f'<path id="suit-{suit}" d="{_SUITS[suit]}"/>' for suit in SUITS if any(c[1] == suit for c in shown)]
    return "".join(parts + [_card(card) for card in shown])


def _card(card: Card) -> str:
    rank, suit = card
    big = f'<use href="#suit-{suit}" class="suit" transform="translate(18 36) scale(1.4)"/>'
    if rank in _COURTS:
        big = (
            f'<path class="suit" d="{_COURTS[rank]}" transform="translate(20.5 33) scale(.96)"/>'
            f'<use href="#suit-{suit}" class="suit" transform="translate(22.5 46.5) scale(.95)"/>'
        )
    return (
        f'<symbol id="{card}" viewBox="0 0 {WIDTH} {HEIGHT}"><rect class="face" x=".5" y=".5" width="49" height="69" rx="5"/>'
        f'<g class="{suit}"><use href="#rank-{rank}" class="ink" transform="translate(7 8) scale(1.45)"/>'
        f'<use href="#suit-{suit}" class="suit" transform="translate(30 8) scale(.62)"/>{big}</g></symbol>'
    )


def board_svg(name: str, position: Position, status: str, version: int) -> str:
    """Return a picture of a position of a game, whose rules have a name."""
    grid = position.grid
    title = _title(name, status, version)
    return _svg(position, title, _rows(position), symbols(filter(None, grid)), _still(position))


def replay_svg(name: str, line: Sequence[Position], status: str, version: int) -> str:
    """Return a moving picture of the positions that a game went through, first to last, over and over.

    Who wants less motion sees the last position.
    """
    last = line[-1]
    steps = len(line) + _REST
    actors = list(_actors(line))
    moving = "".join(_moving(actor, last, len(line), steps) for actor in actors)
    width, height = _size(last)
    bar = (
        f'<rect y="{height - 3}" width="{width}" height="3" fill="#fff8">'
        f'<animate attributeName="width" values="0;{width};{width}" keyTimes="0;{len(line) / steps:.4f};1" '
        f'dur="{steps * _SECONDS:.1f}s" repeatCount="indefinite"/></rect>'
    )
    drawn = f'<g class="moving">{moving}{bar}</g><g class="still">{_still(last)}</g>'
    title = f"{_title(name, status, version)}, replayed"
    return _svg(
        last, title, f"{len(line) - 1} moves. At the end: {_rows(last)}", symbols(a.card for a in actors), drawn
    )


def board_text(name: str, position: Position, status: str, version: int) -> str:
    """Return a board to be read in a terminal, with the names that cells have in notation."""
    marks = dict(zip(SUITS, "♣♦♥♠", strict=True))
    columns = position.rules.columns
    lines = [_title(name, status, version), "", "   " + "".join(f"{COLUMNS[i]:>4}" for i in range(columns))]
    for row in range(position.rules.rows):
        cards = position.grid[row * columns : (row + 1) * columns]
        texts = ("·" if card is None else card[0].replace("T", "10") + marks[card[1]] for card in cards)
        lines.append(f"{row + 1:>3}" + "".join(f"{text:>4}" for text in texts))
    return "\n".join([*lines, "", _counts(position), ""])


def _title(name: str, status: str, version: int) -> str:
    return f"{name}, {status} at version {version}"


def _counts(position: Position) -> str:
    return f"stock {position.stock} · removed {len(position.removed)} · pairs {len(position.removals)}"


def _rows(position: Position) -> str:
    columns = position.rules.columns
    rows = (position.grid[i : i + columns] for i in range(0, len(position.grid), columns))
    return f"{'; '.join(' '.join(card or '--' for card in row) for row in rows)}. {_counts(position)}"


def _size(position: Position) -> tuple[int, int]:
    rules = position.rules
    width = 2 * _MARGIN + rules.columns * (WIDTH + _GAP) - _GAP
    return max(width, 190), 2 * _MARGIN + rules.rows * (HEIGHT + _GAP) - _GAP + _FOOT


def _place(place: int, position: Position) -> tuple[int, int]:
    row, column = divmod(place, position.rules.columns)
    return _MARGIN + column * (WIDTH + _GAP), _MARGIN + row * (HEIGHT + _GAP)


def _use(card: Card, x: float, y: float, inside: str = "") -> str:
    return f'<use href="#{card}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}">{inside}</use>'


def _still(position: Position) -> str:
    cards = (_use(card, *_place(place, position)) for place, card in enumerate(position.grid) if card)
    told = f'<text class="told" x="{_MARGIN}" y="{_size(position)[1] - 16}">{_counts(position)}</text>'
    return "".join(cards) + told


def _svg(position: Position, title: str, description: str, defs: str, drawn: str) -> str:
    width, height = _size(position)
    gaps = "".join(
        f'<rect class="gap" x="{x + 0.5}" y="{y + 0.5}" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="5"/>'
        for x, y in (_place(place, position) for place in range(position.rules.size))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title desc"><title id="title">{escape(title)}</title>'
        f'<desc id="desc">{escape(description)}</desc><style>{_STYLE}</style><defs>{defs}</defs>'
        f'<rect width="{width}" height="{height}" rx="10" fill="#2c6654"/>{gaps}'
        f"{drawn}</svg>\n"
    )


@dataclass
class _Actor:
    """A card through a replay: where it lies from which step on, and the step in which it leaves."""

    card: Card
    places: list[tuple[int, int]] = field(default_factory=list)
    leaves: int | None = None


def _actors(line: Sequence[Position]) -> Iterator[_Actor]:
    """Follow every card from the step that deals it to the one that removes it."""
    on: dict[int, _Actor] = {}
    for step, position in enumerate(line):
        came = _origins({place: actor.card for place, actor in on.items()}, position.grid)
        now = {}
        for place, card in enumerate(position.grid):
            if card is not None:
                actor = on.pop(came[place]) if place in came else _Actor(card)
                if not actor.places or actor.places[-1][1] != place:
                    actor.places.append((step, place))
                now[place] = actor
        for actor in on.values():
            actor.leaves = step
            yield actor
        on = now
    yield from on.values()


def _origins(before: Mapping[int, Card], after: Grid) -> Mapping[int, int]:
    """Say from which place each card came that lay on the grid before; with two decks any of its twins may be it."""
    left = dict(before)
    came = {}
    for stays in (True, False):
        for place, card in enumerate(after):
            if card is not None and place not in came:
                found = [origin for origin, other in left.items() if other == card and (origin == place or not stays)]
                if found:
                    came[place] = found[0]
                    del left[found[0]]
    return came


def _moving(actor: _Actor, position: Position, steps: int, whole: int) -> str:
    """Return a card with the times at which it comes, moves and leaves."""
    width, height = _size(position)
    outside = {"in": (0, height), "out": (width - WIDTH, height)}
    (first, place), *moves = actor.places
    at = _place(place, position)
    keys = [(0.0, at, 1)]
    if first:
        keys = [(0.0, outside["in"], 0), (float(first), outside["in"], 1), (first + _MOVING, at, 1)]
    for step, place in moves:
        keys += [(step, at, 1), (step + _MOVING, (at := _place(place, position)), 1)]
    if actor.leaves is not None:
        keys += [(actor.leaves, at, 1), (actor.leaves + _MOVING, outside["out"], 0)]
    keys.append((whole, keys[-1][1], keys[-1][2]))
    times = ";".join(f"{step / whole:.4f}".rstrip("0").rstrip(".") for step, _, _ in keys)
    common = f'keyTimes="{times}" dur="{whole * _SECONDS:.1f}s" repeatCount="indefinite"'
    values = ";".join(f"{x} {y}" for _, (x, y), _ in keys)
    seen = ";".join(str(opacity) for _, _, opacity in keys)
    return (
        f'<g opacity="{keys[0][2]}" transform="translate({keys[0][1][0]} {keys[0][1][1]})">{_use(actor.card, 0, 0)}'
        f'<animateTransform attributeName="transform" type="translate" values="{values}" {common}/>'
        f'<animate attributeName="opacity" values="{seen}" {common}/></g>'
    )
