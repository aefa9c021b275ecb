"""A check that is made weaker turns the proof red, and the proof names the claim."""

import re

import pytest

#: claims whose smallest fault lies far above the bound, so that they would still catch every fault with a coarser one
ROOMY = ("NORM-01", "SIMM-01", "POOL-01")
NEAR = "COS-04"


def edit(checkout, name, old, new):
    path = checkout.folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def prove(checkout, expression):
    done = checkout("prove", "-k", expression, "-q")
    assert "Traceback" not in done.stderr and done.returncode == 1
    return [line for line in done.stdout.splitlines() if line.startswith("WRONG")]


def test_a_bound_ten_times_larger_is_noticed_for_every_claim(checkout):
    """Where faults slip through then, and where none does but the record says what was noticed before."""
    edit(checkout, "embedding_conformance/evidence.py", "np.asarray(bound.value, np.float64), difference.shape",
         "10 * np.asarray(bound.value, np.float64), difference.shape")
    wrong = prove(checkout, " or ".join((*ROOMY, NEAR)))
    for claim_id in ROOMY:
        assert any(re.search(f"a bound was moved: .*\\b{claim_id}\\b", line) for line in wrong), claim_id
        assert not any(f"{claim_id} does not catch" in line for line in wrong)
    assert any(f"{NEAR} does not catch it" in line for line in wrong)


OWN_VARIATION = """own = gaps(embedder.embed(seven()), np.concatenate([embedder.embed([one]) for one in seven()]))
    direction, length = (bounds.Bound(max(bound.value, 2 * gap.max()), bound.why)
                         for bound, gap in zip(bounds.network(bounds.steady(embedder.precision_of(found))), own))"""


@pytest.mark.parametrize(("claim_id", "name", "old", "new", "says"), [
    ("LOOKUP-04", "suites/lookup/test_row.py",
     "ids = np.arange(made.shape[0])\n        evidence.equal(made.lookup(ids), made.table(),",
     "ids = np.arange(min(1, made.shape[0] - 1), made.shape[0])\n        evidence.equal(made.lookup(ids), made.table()[ids],",
     "lookup/first-row-lost: LOOKUP-04 does not catch it"),
    ("POOL-02", "suites/pooling/test_texts.py",
     "direction, length = bounds.network(bounds.steady(embedder.precision_of(found)))", OWN_VARIATION,
     "pooling/padding-pooled: POOL-02 does not catch it"),
], ids=["row 0 is skipped", "the floor is the subject's own variation"])
def test_a_weakened_check_is_named(checkout, claim_id, name, old, new, says):
    edit(checkout, name, old, new)
    wrong = prove(checkout, claim_id)
    assert any(says in line for line in wrong), wrong
