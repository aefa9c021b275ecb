"""The verdict is one pure function; every word of it, and the exit code."""

import pytest

from embedding_conformance.claims import Catalogue, Claim
from embedding_conformance.errors import Exit
from embedding_conformance.verdict import Facts, exit_code, judge


def claim(claim_id, **keys):
    return Claim(id=claim_id, says={"en": "x", "zh": "x"}, source=["000:1"], kind="exact", **keys)


def result(claim_id, outcome, subject="s", message="m"):
    return {"claims": [claim_id], "subject": subject, "outcome": outcome, "message": message}


CATALOGUE = Catalogue([
    claim("AA-01"), claim("AA-02", after=["AA-01"]), claim("AA-03", after=["AA-02"]), claim("AA-04", proxy=["AA-01", "AA-02"]),
    claim("AA-05", level="informative", why="it is a judgement"),
])
PROVEN = Facts(proven=frozenset({"AA-01", "AA-02", "AA-03"}))


def words(results, facts=PROVEN, subject="s"):
    found = judge(CATALOGUE, results, facts)
    return {claim_id: verdicts[subject].word for claim_id, verdicts in found.by_subject.items() if subject in verdicts}


def test_all_passed_and_proven_is_verified():
    found = words([result("AA-01", "passed"), result("AA-02", "passed")])
    assert found == {"AA-01": "verified", "AA-02": "verified", "AA-04": "verified"}


def test_passed_without_a_proof_is_unproven():
    assert words([result("AA-01", "passed")], Facts())["AA-01"] == "unproven"


def test_one_failed_check_refutes_whatever_else_passed():
    assert words([result("AA-01", "passed"), result("AA-01", "violated"), result("AA-01", "passed")])["AA-01"] == "refuted"


def test_an_error_outweighs_a_refutation():
    assert words([result("AA-01", "violated"), result("AA-01", "error")])["AA-01"] == "error"


def test_a_refuted_claim_that_rests_on_a_refuted_one_is_blocked_also_through_a_third():
    found = words([result("AA-01", "violated"), result("AA-02", "passed"), result("AA-03", "violated")])
    assert found["AA-01"] == "refuted" and found["AA-02"] == "verified" and found["AA-03"] == "blocked"


def test_a_claim_that_passes_is_not_blocked_and_other_subjects_do_not_block():
    found = judge(CATALOGUE, [result("AA-01", "violated"), result("AA-02", "violated", subject="t")], PROVEN)
    assert found.by_subject["AA-02"]["t"].word == "refuted"


def test_an_error_below_blocks_too():
    assert words([result("AA-01", "error"), result("AA-02", "violated")])["AA-02"] == "blocked"


def test_a_proxy_takes_the_worst_verdict():
    assert words([result("AA-01", "passed"), result("AA-02", "violated")])["AA-04"] == "refuted"


def test_a_changed_passage_makes_a_passing_claim_stale_but_a_failing_one_stays_refuted():
    facts = Facts(proven=PROVEN.proven, stale_sources=frozenset({"000:1"}))
    found = words([result("AA-01", "passed"), result("AA-02", "violated")], facts)
    assert found["AA-01"] == "stale" and found["AA-02"] == "refuted"


def test_not_applicable_only_where_no_check_could_run():
    facts = Facts(proven=PROVEN.proven, not_applicable={("AA-01", "s"): "no gradient", ("AA-02", "s"): "no gradient"})
    found = words([result("AA-02", "passed")], facts)
    assert found["AA-01"] == "not applicable" and found["AA-02"] == "verified"


def test_informative_whatever_the_results():
    found = judge(CATALOGUE, [], PROVEN)
    assert found.overall["AA-05"].word == "informative"
    assert "AA-01" not in found.overall


def test_overall_is_the_worst_over_the_subjects():
    found = judge(CATALOGUE, [result("AA-01", "passed"), result("AA-01", "violated", subject="t")], PROVEN)
    assert found.overall["AA-01"].word == "refuted"


def test_a_lost_test_is_an_error_without_a_verdict():
    facts = Facts(proven=PROVEN.proven, lost={"x": (["AA-01"], "s", "the process died")})
    found = judge(CATALOGUE, [result("AA-01", "passed"), result("AA-02", "passed")], facts)
    assert found.overall["AA-01"].word == "error" and found.overall["AA-01"].lost
    assert exit_code(found, found.overall, lost=1) == Exit.NO_VERDICT


@pytest.mark.parametrize(("results", "facts", "expected"), [
    ([result("AA-01", "passed")], PROVEN, Exit.VERIFIED),
    ([result("AA-01", "violated")], PROVEN, Exit.REFUTED),
    ([result("AA-01", "error")], PROVEN, Exit.REFUTED),
    ([result("AA-01", "passed")], Facts(), Exit.REFUTED),
    ([], PROVEN, Exit.NOTHING_CHECKED),
    ([], Facts(not_applicable={("AA-01", "s"): "why"}), Exit.NOTHING_CHECKED),
])
def test_exit_codes(results, facts, expected):
    found = judge(CATALOGUE, results, facts)
    assert exit_code(found, found.overall, lost=0) == expected


def test_refuted_outweighs_lost():
    facts = Facts(lost={"x": (["AA-02"], "s", "died")}, proven=PROVEN.proven)
    found = judge(CATALOGUE, [result("AA-01", "violated")], facts)
    assert exit_code(found, found.overall, lost=1) == Exit.REFUTED


def test_of_several_codes_the_design_s_order_decides():
    order = [Exit.INTERNAL, Exit.USAGE, Exit.INTERRUPTED, Exit.REFUTED, Exit.NO_VERDICT, Exit.NOTHING_CHECKED]
    for i, code in enumerate(order):
        assert Exit.worst(reversed(order[i:])) == code
    assert Exit.worst([]) == Exit.VERIFIED


def test_counts_add_up():
    found = judge(CATALOGUE, [result("AA-01", "passed"), result("AA-02", "violated")], PROVEN)
    assert sum(found.counts().values()) == len(found.overall)
