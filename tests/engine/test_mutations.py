"""No mutation of a log passes as valid and authentic; `python -m tests.bench.mutations` tries ten thousand."""

import pytest

from tests.bench.mutations import MUTATIONS, OUTCOMES, PASSED, run


@pytest.fixture(scope="module")
def found():
    return run(600, seed="six hundred")


def test_no_mutation_passes_as_valid_and_authentic(found):
    assert [kind for kind, outcome in found if outcome == PASSED] == []


def test_every_kind_of_mutation_is_tried(found):
    tried = {kind: sum(found[kind, outcome] for outcome in OUTCOMES) for kind in MUTATIONS}
    assert sum(tried.values()) == 600
    assert min(tried.values()) == 600 // len(MUTATIONS)


def test_mutations_come_to_every_other_outcome(found):
    assert {outcome for _, outcome in found} == set(OUTCOMES) - {PASSED}


@pytest.mark.parametrize("kind", [kind for kind in MUTATIONS if "recomputed" not in kind and "signed" not in kind])
def test_only_what_is_recomputed_or_said_twice_leaves_the_same_log(found, kind):
    assert not found[kind, "same log"] or kind == "the seed changed"


def test_a_lawful_change_is_valid_and_no_longer_authentic(found):
    outcomes = {outcome for kind, outcome in found if kind == "a lawful change, the chain recomputed"}
    assert outcomes == {"not authentic"}


def test_a_receipt_refutes_what_the_operator_signed_anew(found):
    outcomes = {outcome for kind, outcome in found if "receipts kept" in kind}
    assert "invalid" in outcomes
    assert "not authentic" not in outcomes
