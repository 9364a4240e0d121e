import dataclasses
import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.cards import RANKS, Cell
from service.engine.errors import EngineError, ImpossibleRules, Unreadable
from service.engine.rules import DEFAULT_VARIANT, VARIANTS, Rules, find_variant
from tests.engine.strategies import rules_of_any_kind
from tests.engine.table import shortly

FIELDS = (
    "decks", "ranks", "rows", "columns", "match", "total", "equals", "single", "fixed", "reach", "close_up", "packing",
)  # fmt: skip
ALL, NINE = "A23456789TJQK", "A23456789"
TABLE = {
    "monte-carlo": (1, ALL, 5, 5, "rank", None, "", "", "", "touching", "free", "reading", 52),
    "monte-carlo-wave": (1, ALL, 5, 5, "rank", None, "", "", "", "touching", "wave", "reading", 52),
    "monte-carlo-4x5": (1, ALL, 4, 5, "rank", None, "", "", "", "touching", "free", "reading", 52),
    "monte-carlo-thirteens": (1, ALL, 5, 5, "sum", 13, "", "K", "", "touching", "free", "reading", 52),
    "monte-carlo-fourteens": (1, ALL, 5, 5, "sum", 14, "", "", "", "touching", "free", "reading", 52),
    "fourteens": (1, ALL, 5, 5, "sum", 14, "", "", "", "line", "free", "reading", 52),
    "aces-square-5x5": (1, ALL, 5, 5, "suit", None, "", "", "", "line", "free", "reading", 48),
    "monte-carlo-2-decks": (2, ALL, 5, 5, "rank", None, "", "", "", "touching", "free", "reading", 104),
    "weddings-columns": (1, ALL, 5, 5, "rank", None, "", "", "", "touching", "free", "columns", 52),
    "neighbour": (1, ALL, 5, 5, "sum", 13, "", "K", "", "touching", "auto", "reading", 52),
    "simple-carlo": (1, ALL, 5, 5, "rank", None, "", "", "", "anywhere", "auto", "reading", 52),
    "quatorze": (1, ALL, 5, 5, "sum", 14, "", "", "", "line", "auto", "fill-first", 52),
    "aces-square": (1, ALL, 4, 4, "suit", None, "", "", "A", "line", "auto", "in-place", 48),
    "simple-pairs": (1, ALL, 3, 3, "rank", None, "", "", "", "anywhere", "auto", "in-place", 52),
    "block-ten": (1, ALL, 3, 3, "sum", 10, "JQK", "", "", "anywhere", "auto", "in-place", 48),
    "simple-tens": (1, NINE, 3, 3, "sum", 10, "", "", "", "anywhere", "auto", "in-place", 36),
    "thirteens": (1, ALL, 2, 5, "sum", 13, "", "K", "", "anywhere", "auto", "in-place", 52),
}
VALUE = {rank: value for value, rank in enumerate(ALL, start=1)}
SUM = {"match": "sum", "total": 13}
SMALL = {"rows": 2, "columns": 2}

every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.id)


# -- The published variants


def test_seventeen_variants_are_published_in_order():
    assert list(VARIANTS) == list(TABLE)
    assert len(VARIANTS) == 17


@pytest.mark.parametrize("id", TABLE)
def test_a_variant_has_exactly_the_values_of_the_table(id):
    *values, goal = TABLE[id]
    rules = VARIANTS[id].rules
    assert rules.data == dict(zip(FIELDS, values, strict=True))
    assert rules.goal == goal


@every_variant
def test_a_variant_says_what_it_is(variant):
    assert variant is VARIANTS[variant.id]
    assert find_variant(variant.id) is variant
    for text in (variant.name, variant.summary, variant.source):
        assert text.strip() == text != ""
    assert variant.summary.endswith(".")


def test_no_two_variants_are_the_same():
    for values in ([variant.rules for variant in VARIANTS.values()], [variant.name for variant in VARIANTS.values()]):
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("alias", ["weddings", "good-neighbours", "quilt"])
def test_monte_carlo_is_found_under_its_other_names(alias):
    assert find_variant(alias).id == "monte-carlo"


def test_the_default_is_monte_carlo_and_the_default_rules_are_its_rules():
    assert DEFAULT_VARIANT == "monte-carlo"
    assert find_variant(DEFAULT_VARIANT).rules == Rules()


@pytest.mark.parametrize("name", ["", "Monte-Carlo", "monte_carlo", "monte-carlo ", "x" * 100_000], ids=shortly)
def test_an_unknown_variant_is_refused(name):
    with pytest.raises(Unreadable) as refusal:
        find_variant(name)
    assert refusal.value.code == "unknown_variant"
    assert len(refusal.value.message) < 200


@every_variant
def test_rules_are_frozen_and_survive_json(variant):
    with pytest.raises(dataclasses.FrozenInstanceError):
        variant.rules.rows = 4
    assert Rules(**json.loads(json.dumps(variant.rules.data))) == variant.rules


# -- Overrides


def test_any_value_can_be_overridden():
    rules = find_variant("monte-carlo-thirteens").rules.override({"rows": 4})
    assert rules == Rules(rows=4, match="sum", total=13, single="K")


def test_overriding_nothing_changes_nothing():
    assert Rules().override({}) == Rules()


def test_an_override_leaves_the_variant_as_it_was():
    find_variant("neighbour").rules.override({"columns": 7})
    assert find_variant("neighbour").rules.columns == 5


@pytest.mark.parametrize("match", ["rank", "suit"])
def test_leaving_sums_drops_what_goes_with_them(match):
    rules = find_variant("block-ten").rules.override({"match": match})
    assert (rules.match, rules.total, rules.equals) == (match, None, "")


def test_naming_the_match_that_is_there_already_drops_nothing():
    rules = find_variant("block-ten").rules
    assert rules.override({"match": "sum"}) == rules


@pytest.mark.parametrize(
    ("id", "changes"),
    [
        ("monte-carlo", {"match": "sum"}),
        ("monte-carlo", {"total": 13}),
        ("monte-carlo-thirteens", {"match": "rank", "total": 13}),
        ("monte-carlo-thirteens", {"total": None}),
        ("thirteens", {"close_up": "free"}),
        ("monte-carlo", {"packing": "fill-first"}),
        ("simple-tens", {"rows": 7, "columns": 7}),
        ("thirteens", {"fixed": "K"}),
        ("block-ten", {"ranks": "A23456789"}),
    ],
    ids=shortly,
)
def test_an_override_that_makes_no_game_is_refused(id, changes):
    with pytest.raises(ImpossibleRules):
        find_variant(id).rules.override(changes)


# -- Rules by which no game can be played


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"decks": 0}, "decks is 1 or 2"),
        ({"decks": 3}, "decks is 1 or 2"),
        ({"decks": -1}, "decks is 1 or 2"),
        ({"ranks": ""}, "ranks holds ranks"),
        ({"ranks": "KA"}, "ranks holds ranks"),
        ({"ranks": "AAK"}, "ranks holds ranks"),
        ({"ranks": "A1K"}, "ranks holds ranks"),
        ({"ranks": "A 2"}, "ranks holds ranks"),
        ({"ranks": "a23"}, "ranks holds ranks"),
        ({"ranks": "A23456789" * 10_000}, "ranks holds ranks"),
        ({"single": "X"}, "single holds ranks"),
        ({"single": "KQ"}, "single holds ranks"),
        ({"single": "KK"}, "single holds ranks"),
        ({"fixed": "KA"}, "fixed holds ranks"),
        ({"equals": "KJ", **SUM}, "equals holds ranks"),
        ({"ranks": NINE, "single": "K"}, "single holds ranks"),
        ({"ranks": NINE, "fixed": "K"}, "fixed holds ranks"),
        ({"ranks": NINE, "equals": "K", **SUM}, "equals holds ranks"),
        ({"rows": 1}, "rows is 2 to 10"),
        ({"rows": 0}, "rows is 2 to 10"),
        ({"rows": -5}, "rows is 2 to 10"),
        ({"rows": 11}, "rows is 2 to 10"),
        ({"columns": 1}, "columns is 2 to 10"),
        ({"columns": 11}, "columns is 2 to 10"),
        ({"columns": 10**30}, "columns is 2 to 10"),
        ({"match": "colour"}, "match is one of rank, suit, sum"),
        ({"reach": "row"}, "reach is one of touching, line, anywhere"),
        ({"close_up": "never"}, "close_up is one of free, wave, auto"),
        ({"packing": "in_place"}, "packing is one of reading, columns, in-place, fill-first"),
        ({"rows": 9, "columns": 6}, "54 cells is larger than the pack of 52"),
        ({"rows": 10, "columns": 10}, "100 cells is larger than the pack of 52"),
        ({"ranks": NINE, "rows": 6, "columns": 7}, "42 cells is larger than the pack of 36"),
        ({"match": "sum"}, "total goes with match"),
        ({"match": "rank", "total": 13}, "total goes with match"),
        ({"match": "suit", "total": 13}, "total goes with match"),
        ({"match": "sum", "total": 1}, "total is 2 to 26"),
        ({"match": "sum", "total": 0}, "total is 2 to 26"),
        ({"match": "sum", "total": -13}, "total is 2 to 26"),
        ({"match": "sum", "total": 27}, "total is 2 to 26"),
        ({"equals": "JQK"}, "equals goes with match"),
        ({"match": "suit", "equals": "JQK"}, "equals goes with match"),
        ({"single": "QK", "fixed": "AK"}, "cannot be both single and fixed"),
        ({"packing": "in-place"}, 'in-place goes with close_up "auto" only'),
        ({"packing": "in-place", "close_up": "wave"}, 'in-place goes with close_up "auto" only'),
        ({"packing": "fill-first"}, 'fill-first goes with close_up "auto" only'),
        ({"packing": "fill-first", "close_up": "wave"}, 'fill-first goes with close_up "auto" only'),
        ({"fixed": ALL}, "no two cards"),
        ({"fixed": ALL[1:], "match": "suit"}, "no two cards"),
        ({**SMALL, "ranks": "A2345", "match": "sum", "total": 11}, "no two cards"),
        ({**SMALL, "ranks": "A2345", "match": "sum", "total": 10, "fixed": "5"}, "no two cards"),
        ({**SMALL, "ranks": "A23456", "match": "sum", "total": 11, "fixed": "5"}, "no two cards"),
        ({**SMALL, "ranks": "AQ", "match": "sum", "total": 13, "fixed": "A"}, "no two cards"),
        ({**SMALL, "ranks": "K", "match": "suit"}, "no two cards"),
    ],
    ids=shortly,
)
def test_impossible_rules_are_refused_with_the_reason(values, reason):
    with pytest.raises(ImpossibleRules) as refusal:
        Rules(**values)
    assert reason in refusal.value.message
    assert refusal.value.code == "impossible_rules"
    assert len(refusal.value.message) < 200
    assert isinstance(refusal.value, EngineError)


@pytest.mark.parametrize(
    "values",
    [
        SMALL,
        {"rows": 5, "columns": 10},
        {"decks": 2, "rows": 10, "columns": 10},
        {"rows": 4, "columns": 9, "ranks": NINE},
        {**SMALL, "ranks": "K"},
        {**SMALL, "ranks": "K", "match": "suit", "decks": 2},
        {"match": "sum", "total": 2},
        {"match": "sum", "total": 26},
        {"match": "sum", "total": 14, "equals": ALL},
        {"single": ALL},
        {"fixed": ALL[1:]},
        {"single": "K", "fixed": "A"},
        *({"close_up": "auto", "packing": packing} for packing in ("reading", "columns", "in-place", "fill-first")),
        *({"close_up": "wave", "packing": packing} for packing in ("reading", "columns")),
    ],
    ids=shortly,
)
def test_rules_at_the_limits_are_possible(values):
    rules = Rules(**values)
    assert {name: rules.data[name] for name in values} == values


# -- Pairs and reach


def pairs(rules, a, b):
    """Whether two cards are a pair, straight from the words of the design."""
    if a[0] in rules.fixed or b[0] in rules.fixed:
        return False
    if a == b and rules.decks == 1:
        return False
    if rules.match == "suit":
        return a[1] == b[1]
    if rules.match == "rank":
        return a[0] == b[0]
    if a[0] in rules.equals or b[0] in rules.equals:
        return a[0] == b[0]
    return VALUE[a[0]] + VALUE[b[0]] == rules.total


@given(rules_of_any_kind())
@settings(deadline=None, max_examples=60)
def test_partners_are_those_that_make_a_pair(rules):
    cards = sorted(set(rules.pack.cards()))
    assert sorted(rules.partners) == cards
    for a in cards:
        assert rules.partners[a] == {b for b in cards if pairs(rules, a, b)}


@pytest.mark.parametrize(
    ("id", "a", "b", "pair"),
    [
        ("monte-carlo", "5H", "5C", True),
        ("monte-carlo", "AH", "KH", False),
        ("monte-carlo", "5H", "5H", False),
        ("monte-carlo-2-decks", "5H", "5H", True),
        ("monte-carlo-thirteens", "AH", "QC", True),
        ("monte-carlo-thirteens", "2H", "JH", True),
        ("monte-carlo-thirteens", "KH", "KC", False),
        ("monte-carlo-fourteens", "AH", "KC", True),
        ("monte-carlo-fourteens", "7H", "7C", True),
        ("block-ten", "5H", "5C", True),
        ("block-ten", "AH", "9C", True),
        ("block-ten", "JH", "JC", True),
        ("block-ten", "TH", "TC", False),
        ("block-ten", "QH", "KC", False),
        ("aces-square", "2H", "KH", True),
        ("aces-square", "AH", "KH", False),
        ("aces-square", "2H", "2C", False),
        ("aces-square-5x5", "AH", "KH", True),
    ],
)
def test_some_cards_pair_and_some_do_not(id, a, b, pair):
    partners = VARIANTS[id].rules.partners
    assert (b in partners[a]) == (a in partners[b]) == pair


@pytest.mark.parametrize("id", TABLE)
def test_only_kings_are_ever_removed_alone(id):
    kings = {"KC", "KD", "KH", "KS"}
    assert VARIANTS[id].rules.singles == (kings if "K" in VARIANTS[id].rules.single else set())


def near(reach, a, b):
    if reach == "touching":
        return max(abs(a.row - b.row), abs(a.column - b.column)) == 1
    return reach == "anywhere" or a.row == b.row or a.column == b.column


@pytest.mark.parametrize("reach", ["touching", "line", "anywhere"])
@pytest.mark.parametrize("size", [(5, 5), (4, 5), (2, 5), (3, 3), (2, 2), (10, 10), (2, 10), (10, 2)], ids=str)
def test_reach_goes_by_rows_and_columns(reach, size):
    rules = Rules(decks=2, rows=size[0], columns=size[1], reach=reach)
    cells = rules.cells
    for a, (place, later) in enumerate(rules.within_reach):
        assert place == a
        assert later == tuple(b for b in range(a + 1, len(cells)) if near(reach, cells[a], cells[b]))
    for a, cell in enumerate(cells):
        for b, other in enumerate(cells):
            assert a == b or rules.reaches(a, b) == near(reach, cell, other)


@pytest.mark.parametrize(("cell", "neighbours"), [((1, 1), 3), ((1, 3), 5), ((3, 5), 5), ((5, 5), 3), ((3, 3), 8)])
def test_a_cell_touches_eight_others_in_the_middle_and_fewer_at_the_edge(cell, neighbours):
    rules = Rules()
    place = rules.index(Cell(*cell))
    assert sum(rules.reaches(place, other) for other in range(25) if other != place) == neighbours


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (2, 10), (10, 3)])
def test_cells_are_counted_in_reading_order(rows, columns):
    rules = Rules(rows=rows, columns=columns)
    assert rules.cells == tuple(Cell(row, column) for row in range(1, rows + 1) for column in range(1, columns + 1))
    assert [rules.index(cell) for cell in rules.cells] == list(range(rules.size)) == list(range(rows * columns))


@pytest.mark.parametrize(
    "cell", [(0, 1), (1, 0), (0, 0), (-1, 1), (1, -1), (-4, -4), (5, 1), (1, 6), (5, 6), (10**30, 1), (1, -(10**30))]
)
def test_a_cell_outside_the_grid_is_refused(cell):
    with pytest.raises(Unreadable) as refusal:
        Rules(rows=4).index(Cell(*cell))
    assert refusal.value.code == "outside_grid"
    assert "4 rows and 5 columns" in refusal.value.message


# -- The goal


def most_removable(rules):
    """The most cards that can be removed if cells did not matter, by trying everything."""
    cards = rules.pack.cards()
    places = range(len(cards))
    partners = [{b for b in places if a != b and pairs(rules, cards[a], cards[b])} for a in places]

    @cache
    def most(left):
        if not left:
            return 0
        first, rest = min(left), left - {min(left)}
        answers = [most(rest)]
        if cards[first][0] in rules.single and cards[first][0] not in rules.fixed:
            answers.append(1 + most(rest))
        answers += [2 + most(rest - {other}) for other in partners[first] & rest]
        return max(answers)

    total, unseen = 0, set(range(len(cards)))
    while unseen:
        family, edge = set(), {min(unseen)}
        while edge:
            family |= edge
            edge = {other for card in edge for other in partners[card]} - family
        total += most(frozenset(family))
        unseen -= family
    return total


@every_variant
def test_the_goal_of_a_variant_is_the_most_that_can_be_removed(variant):
    assert variant.rules.goal == most_removable(variant.rules)


@given(rules_of_any_kind(max_ranks=5, max_side=2))
@settings(deadline=None, max_examples=150)
def test_the_goal_is_the_most_that_can_be_removed(rules):
    assert rules.goal == most_removable(rules)


@pytest.mark.parametrize(
    ("values", "goal"),
    [
        ({"match": "suit", "fixed": "A"}, 48),
        ({"match": "suit", "single": "K"}, 52),
        ({"match": "suit", "decks": 2}, 104),
        ({"match": "suit", "decks": 2, "fixed": "A"}, 96),
        ({"match": "suit", "ranks": NINE}, 32),
        ({"match": "sum", "total": 13}, 48),
        ({"match": "sum", "total": 13, "single": "K", "fixed": "A"}, 44),
        ({"match": "sum", "total": 13, "single": "AK", "fixed": "Q"}, 48),
        ({"match": "sum", "total": 14, "equals": "K"}, 48),
        ({"match": "sum", "total": 26}, 4),
        ({"match": "sum", "total": 10, "equals": "JQK", "decks": 2}, 96),
        ({"fixed": "AK"}, 44),
        ({"ranks": "AK", "rows": 2, "columns": 4}, 8),
    ],
    ids=shortly,
)
def test_the_goal_counts_only_what_the_rules_can_remove(values, goal):
    assert Rules(**values).goal == goal


@given(st.sampled_from(RANKS), st.sampled_from(["rank", "suit"]))
@settings(deadline=None, max_examples=30)
def test_fixing_a_rank_never_raises_the_goal(rank, match):
    assert Rules(match=match, fixed=rank).goal <= Rules(match=match).goal
