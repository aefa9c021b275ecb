"""The verdict is one pure function; every word of it, and the exit code."""

import pytest

from embedding_conformance.claims import Catalogue, Claim
from embedding_conformance.errors import Exit
from embedding_conformance.verdict import Facts, exit_code, judge


def claim(claim_id, **keys):
    return Claim(id=claim_id, says={"en": "x", "zh": "x"}, **({"source": ["000:1"], "kind": "exact"} | keys))


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


def said(results, facts=PROVEN):
    """claim -> the word and the reason on the subject "s"."""
    found = judge(CATALOGUE, results, facts)
    return {claim_id: (own["s"].word, own["s"].reason) for claim_id, own in found.by_subject.items() if "s" in own}


def test_every_verdict_but_verified_says_why():
    results = [result("AA-01", "violated", message="3 off"), result("AA-02", "violated", message="5 off"),
               result("AA-03", "error", message="a file is missing")]
    assert said(results) == {
        "AA-01": ("refuted", "3 off"), "AA-02": ("blocked", "it rests on AA-01, which is refuted; by itself: 5 off"),
        "AA-03": ("error", "a file is missing"), "AA-04": ("refuted", "3 off")}
    assert said([], Facts(not_applicable={("AA-01", "s"): "no gradient"}))["AA-01"] == ("not applicable", "no gradient")
    assert said([result("AA-01", "passed")], Facts())["AA-01"] == (
        "unproven", "no registered fault has been shown to be caught by its tests")
    stale = Facts(proven=PROVEN.proven, stale_sources=frozenset({"000:1", "000:2"}))
    assert said([result("AA-01", "passed")], stale)["AA-01"] == ("stale", "the passage 000:1 no longer reads as it did")
    assert said([result("AA-01", "passed"), result("AA-02", "passed")]) == {
        "AA-01": ("verified", ""), "AA-02": ("verified", ""), "AA-04": ("verified", "by AA-01, AA-02")}


def test_all_changed_passages_are_named_and_an_unproven_claim_becomes_stale_too():
    two = Catalogue([claim("AA-01", source=["000:1", "001:2", "002:3"])])
    changed = Facts(stale_sources=frozenset({"000:1", "002:3"}))
    own = judge(two, [result("AA-01", "passed")], changed).by_subject["AA-01"]["s"]
    assert (own.word, own.reason) == ("stale", "the passage 000:1, 002:3 no longer reads as it did")


def test_an_error_that_a_test_reported_outweighs_a_lost_one():
    """What is known of the claim is told, and that the process died alone does not make the run one without a verdict."""
    facts = Facts(proven=PROVEN.proven, lost={"x": (["AA-01"], "s", "the process died")})
    own = judge(CATALOGUE, [result("AA-01", "error", message="a file is missing")], facts).by_subject["AA-01"]["s"]
    assert (own.word, own.reason, own.lost) == ("error", "a file is missing", False)
    before = judge(CATALOGUE, [result("AA-01", "error") | {"lost": True}, result("AA-01", "error", message="known")], PROVEN)
    assert before.overall["AA-01"].reason == "known"


def test_a_lost_test_makes_the_claims_that_follow_it_in_the_list_neither_lost_nor_unknown():
    facts = Facts(proven=PROVEN.proven, lost={"x": (["AA-01"], "s", "the process died")})
    found = judge(CATALOGUE, [result("AA-02", "passed")], facts)
    assert found.by_subject["AA-01"]["s"].reason == "the process died" and found.by_subject["AA-04"]["s"].lost
    assert found.by_subject["AA-02"]["s"].word == "verified" and not found.by_subject["AA-02"]["s"].lost


def test_an_informative_claim_is_never_judged_and_hides_none_behind_it():
    known = Catalogue([claim("AA-05", level="informative", why="it is a judgement"), claim("AA-06")])
    found = judge(known, [result("AA-05", "violated"), result("AA-06", "passed")], Facts(proven=frozenset({"AA-06"})))
    assert found.by_subject == {"AA-05": {}, "AA-06": {"s": found.overall["AA-06"]}}
    assert (found.overall["AA-05"].word, found.overall["AA-05"].reason) == ("informative", "it is a judgement")
    assert found.overall["AA-06"].word == "verified"


def test_a_proxy_of_a_proxy_is_judged_after_it_wherever_it_stands():
    known = Catalogue([claim("AA-01", proxy=["AA-02"]), claim("AA-02", proxy=["AA-03"]), claim("AA-03")])
    found = judge(known, [result("AA-03", "violated")], PROVEN)
    assert {claim_id: verdict.word for claim_id, verdict in found.overall.items()} == dict.fromkeys(
        ["AA-01", "AA-02", "AA-03"], "refuted")


def test_counts_of_chosen_claims_are_theirs_alone():
    found = judge(CATALOGUE, [result("AA-01", "passed"), result("AA-02", "violated")], PROVEN)
    assert {word: count for word, count in found.counts(["AA-01"]).items() if count} == {"verified": 1}
    assert {word: count for word, count in found.counts().items() if count} == {"verified": 1, "refuted": 2, "informative": 1}


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
