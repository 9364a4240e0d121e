"""Hypothesis strategies of rules and of orders."""

from hypothesis import assume
from hypothesis import strategies as st

from service.engine.cards import RANKS, VALUES
from service.engine.errors import ImpossibleRules
from service.engine.rules import CLOSE_UPS, MATCHES, PACKINGS, REACHES, SMALLEST, VARIANTS, Rules

published = st.sampled_from([variant.rules for variant in VARIANTS.values()])


def some_of(ranks, least=0, most=13):
    """Some of these ranks, low to high."""
    chosen = st.sets(st.sampled_from(ranks), min_size=least, max_size=most) if ranks else st.just(set())
    return chosen.map(lambda some: "".join(rank for rank in ranks if rank in some))


@st.composite
def rules_of_any_kind(draw, max_ranks=13, max_side=10):
    """Rules of all fields, not only those that someone would publish."""
    ranks = draw(some_of(RANKS, 1, max_ranks))
    decks = draw(st.sampled_from((1, 2)))
    size = decks * len(ranks) * 4
    rows = draw(st.integers(SMALLEST, min(max_side, size // SMALLEST)))
    columns = draw(st.integers(SMALLEST, min(max_side, size // rows)))
    match = draw(st.sampled_from(MATCHES))
    total, equals = None, ""
    if match == "sum":
        total = draw(st.sampled_from(sorted({VALUES[a] + VALUES[b] for a in ranks for b in ranks})))
        equals = draw(some_of(ranks))
    fixed = draw(st.just("") | some_of(ranks))
    single = draw(st.just("") | some_of("".join(rank for rank in ranks if rank not in fixed)))
    close_up = draw(st.sampled_from(CLOSE_UPS))
    packing = draw(st.sampled_from(PACKINGS if close_up == "auto" else PACKINGS[:2]))
    reach = draw(st.sampled_from(REACHES))
    try:
        return Rules(decks, ranks, rows, columns, match, total, equals, single, fixed, reach, close_up, packing)
    except ImpossibleRules:  # no pair at all
        assume(False)


@st.composite
def overridden(draw):
    """Rules of a published variant with one or two fields changed."""
    rules = draw(published)
    changes = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "decks": st.sampled_from((1, 2)),
                "rows": st.integers(2, 6),
                "columns": st.integers(2, 6),
                "single": st.sampled_from(("", "K", "AK", "J")),
                "reach": st.sampled_from(REACHES),
                "match": st.sampled_from(("rank", "suit")),
                "close_up": st.sampled_from(CLOSE_UPS),
                "packing": st.sampled_from(PACKINGS),
            },
        )
    )
    try:
        return rules.override(changes)
    except ImpossibleRules:
        return rules


any_rules = published | overridden() | rules_of_any_kind()


def orders(rules):
    """Any order of the pack of these rules."""
    return st.permutations(rules.pack.cards()).map(tuple)
