"""The proof turns red when a fault is harmless, a sound variant broken, a catch missing or the record another."""

import json
import re

import pytest

from embedding_conformance import proof, proving
from embedding_conformance.claims import Catalogue, Claim
from embedding_conformance.errors import Exit, UsageError
from embedding_conformance.run import Outcome, Plan


def claim(claim_id, **keys):
    return Claim(id=claim_id, says={"en": "x", "zh": "x"}, source=["000:1"], chapter="first",
                 **({"kind": "exact"} | keys))


def specimen(name, breaks=(), *, sound=False, size="gross", raises=False):
    return proof.Specimen(name=name, says="x", sound=sound, facet="layer", base="numpy", breaks=tuple(breaks), size=size,
                          raises=raises, source="", change=lambda thing: thing, declares={})


def result(name, claim_id, outcome="passed", raised=False, times_bound=None):
    closest = None if times_bound is None else {"kind": "close", "measured": times_bound * 1e-6, "bound": 1e-6}
    return {"nodeid": f"first/t::t[{claim_id}-fault:{name}]", "subject": f"fault:{name}", "claims": [claim_id],
            "outcome": outcome, "raised": raised, "message": "m", "closest": closest}


def noise(claim_id, limit, outcome="passed"):
    return result("x", claim_id, outcome) | {"subject": "noise:layer", "limit": limit}


@pytest.fixture
def assess(tmp_path):
    (tmp_path / "first").mkdir()

    def run(claims, known, results):
        catalogue = Catalogue(claims)
        return proof.assess(catalogue, {one.name: one for one in known}, results, {one.id for one in claims}, tmp_path)
    return run


def test_a_caught_fault_proves_its_claim(assess):
    found = assess([claim("AA-01")], [specimen("first/bad", ["AA-01"])], [result("first/bad", "AA-01", "violated")])
    assert found.problems == [] and found.proven == {"AA-01"}
    assert found.records["first"]["claims"]["AA-01"]["caught"] == ["first/bad"]


def test_a_fault_that_is_not_caught_leaves_its_claim_unproven(assess):
    found = assess([claim("AA-01")], [specimen("first/bad", ["AA-01"])], [result("first/bad", "AA-01")])
    assert any("AA-01 does not catch it" in problem for problem in found.problems)
    assert any("AA-01 is unproven" in problem for problem in found.problems)
    assert found.proven == set()


def test_a_claim_without_any_fault_is_unproven(assess):
    assert "AA-01 is unproven: none of its tests catches a fault" in assess([claim("AA-01")], [], []).problems


def test_a_catch_that_was_not_declared_proves_nothing_but_is_recorded(assess):
    found = assess([claim("AA-01")], [specimen("first/bad")], [result("first/bad", "AA-01", "violated")])
    assert found.proven == set()
    assert found.records["first"]["claims"]["AA-01"]["caught"] == ["first/bad"]


def test_a_declared_catch_without_a_run_is_a_problem(assess):
    found = assess([claim("AA-01")], [specimen("first/bad", ["AA-01"])], [])
    assert any("no test of AA-01 was run on it" in problem for problem in found.problems)


def test_an_exception_is_no_catch_unless_the_fault_says_that_it_raises(assess):
    raised = [result("first/bad", "AA-01", "violated", raised=True)]
    assert assess([claim("AA-01")], [specimen("first/bad", ["AA-01"])], raised).proven == set()
    assert assess([claim("AA-01")], [specimen("first/bad", ["AA-01"], raises=True)], raised).proven == {"AA-01"}


def test_a_test_that_breaks_is_a_problem_and_no_catch(assess):
    found = assess([claim("AA-01")], [specimen("first/bad", ["AA-01"])], [result("first/bad", "AA-01", "error")])
    assert any("broke on fault:first/bad" in problem for problem in found.problems) and not found.proven


def test_a_refuted_sound_variant_is_a_problem(assess):
    known = [specimen("first/bad", ["AA-01"]), specimen("first/good", sound=True)]
    results = [result("first/bad", "AA-01", "violated"), result("first/good", "AA-01", "violated")]
    assert "first/good: a sound variant is refuted by AA-01" in assess([claim("AA-01")], known, results).problems


def test_a_sound_variant_may_declare_a_claim_that_it_breaks(assess):
    known = [specimen("first/bad", ["AA-01"]), specimen("first/good", ["AA-01"], sound=True)]
    results = [result("first/bad", "AA-01", "violated"), result("first/good", "AA-01", "violated")]
    assert assess([claim("AA-01")], known, results).problems == []
    not_broken = [results[0], result("first/good", "AA-01")]
    assert any("does not catch it" in one for one in assess([claim("AA-01")], known, not_broken).problems)


@pytest.mark.parametrize(("size", "said"), [("gross", "catches no subtle fault"), ("subtle", "catches no gross fault")])
def test_an_approximate_claim_needs_a_gross_and_a_subtle_fault(assess, size, said):
    claims = [claim("AA-01", kind="numeric", bound="rounding")]
    one = [specimen("first/bad", ["AA-01"], size=size)]
    caught = [result("first/bad", "AA-01", "violated", times_bound=9.0), noise("AA-01", 1e-6)]
    assert any(said in problem for problem in assess(claims, one, caught).problems)
    both = [*one, specimen("first/other", ["AA-01"], size="subtle" if size == "gross" else "gross")]
    assert assess(claims, both, [*caught, result("first/other", "AA-01", "violated")]).problems == []


def test_a_bound_that_no_fault_reaches_is_a_problem(assess):
    """Where all faults are caught by comparisons bit for bit, a bound beside these could be anything."""
    claims = [claim("AA-01", kind="numeric", bound="rounding")]
    known = [specimen("first/gross", ["AA-01"]), specimen("first/subtle", ["AA-01"], size="subtle")]
    results = [noise("AA-01", 1e-6), *(result(one.name, "AA-01", "violated") for one in known)]
    found = assess(claims, known, results).problems
    assert any("none of the faults that it must catch reaches its bound" in problem for problem in found)


@pytest.mark.parametrize(("limit", "size", "said"), [
    (1e-6, 8.0, []),
    (3.9e-6, 2.1, []),
    (2.6e-7, 31.0, []),
    (4.1e-6, 8.0, ["AA-01 notices noise from 4.1e-06 on, in the record from 1e-06 on"]),
    (2.4e-7, 8.0, ["AA-01 notices noise from 2.4e-07 on, in the record from 1e-06 on"]),
    (None, 8.0, ["AA-01 notices noise from none on, in the record from 1e-06 on"]),
    (1e-6, 1.9, ["first/bad is 1.9 times the bound of AA-01, in the record 8 times"]),
    (1e-6, 33.0, ["first/bad is 33 times the bound of AA-01, in the record 8 times"]),
])
def test_a_bound_that_was_moved_is_told(limit, size, said):
    margin = proof.Margin(faults={"first/bad": size, "first/new": 5.0}, limit=limit)
    assert proof.moved("AA-01", {"limit": 1e-6, "faults": {"first/bad": 8.0, "first/gone": 7.0}}, margin) == said
    assert proof.moved("AA-01", None, margin) == []


@pytest.mark.parametrize(("gross", "subtle", "sound", "limit", "said"), [
    (1e5, 20.0, 0.1, 1e-6, ""),
    (1e5, 3.0, 0.1, 1e-6, "more than a quarter of the smallest fault that it must catch, first/subtle"),
    (1e5, 100.0, 0.1, 1e-6, "not subtle: at least 1e+02 times the bound"),
    (1e5, 20.0, 0.1, None, "no amount of noise"),
])
def test_a_bound_must_leave_room_on_both_sides(assess, gross, subtle, sound, limit, said):
    claims = [claim("AA-01", kind="numeric", bound="rounding")]
    known = [specimen("first/gross", ["AA-01"]), specimen("first/subtle", ["AA-01"], size="subtle"),
             specimen("first/good", sound=True)]
    results = [result("first/gross", "AA-01", "violated", times_bound=gross), noise("AA-01", limit),
               result("first/subtle", "AA-01", "violated", times_bound=subtle),
               result("first/good", "AA-01", times_bound=sound)]
    found = assess(claims, known, results)
    assert len(found.problems) == bool(said) and all(said in problem for problem in found.problems)
    margin = found.margins["AA-01"]
    assert margin.smallest == pytest.approx(min(gross, subtle)) and margin.sound == pytest.approx(sound)
    assert margin.limit == limit and not margin.fragile
    assert assess(claims, known, [*results, result("first/good", "AA-01", times_bound=0.3)]).margins["AA-01"].fragile


def test_a_base_that_is_refuted_without_noise_is_a_problem(assess):
    claims = [claim("AA-01", kind="numeric", bound="rounding")]
    found = assess(claims, [], [noise("AA-01", None, "violated")])
    assert any("the sound base itself is refuted" in problem for problem in found.problems)


def test_a_changed_record_is_told_as_a_difference(assess):
    known = [specimen("first/bad", ["AA-01"]), specimen("first/more")]
    results = [result("first/bad", "AA-01", "violated"), result("first/more", "AA-01")]
    old = assess([claim("AA-01")], known, results).records["first"]
    new = assess([claim("AA-01")], known, [results[0], result("first/more", "AA-01", "violated")]).records["first"]
    assert proof.differences(old, old, "first") == []
    assert "first: AA-01: caught +first/more" in proof.differences(old, new, "first")
    assert proof.differences(None, new, "first") == ["first: there is no committed record"]
    assert "files changed" in proof.differences(old | {"digest": "x"}, old, "first")[0]


def test_records_are_committed_and_stable():
    for path in sorted(proof.record_path("x").parent.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        assert proof.dump(json.loads(text)) == text


def test_an_unknown_fault_names_the_nearest():
    with pytest.raises(UsageError, match='did you mean "lookup/row-minus-one"'):
        proof.specimen("row-minus-one")
    with pytest.raises(UsageError, match='did you mean "lookup/row-minus-one"'):
        proof.specimen("lookup/row-minus-two")


def prove(checkout, expression):
    done = checkout("prove", "-k", expression, "-q")
    assert "Traceback" not in done.stderr
    return done


def test_a_fault_made_harmless_turns_the_proof_red(checkout):
    path = checkout.folder / "suites" / "similarity" / "faults.py"
    harmless = path.read_text(encoding="utf-8").replace("matrix=lambda x: np.triu(similarity.matrix(x))",
                                                        "matrix=lambda x: similarity.matrix(x)")
    path.write_text(harmless, encoding="utf-8")
    done = prove(checkout, "SIMM-02")
    assert done.returncode == 1
    assert "similarity/upper-half-only: SIMM-02 does not catch it" in done.stdout


def test_a_broken_sound_variant_and_a_weakened_check_turn_the_proof_red(checkout):
    path = checkout.folder / "suites" / "similarity" / "faults.py"
    broken = path.read_text(encoding="utf-8").replace("return x @ x.T / np.outer(norms, norms)",
                                                      "return x @ x.T / np.outer(norms, norms) * np.float32(1.001)")
    path.write_text(broken, encoding="utf-8")
    tests = checkout.folder / "suites" / "similarity" / "test_matrix.py"
    text = tests.read_text(encoding="utf-8")
    weakened = re.sub(r"return bounds.cosine\(.*\)", "return bounds.Bound(100.0, 'weakened')", text)
    done = prove(checkout, "SIMM-03")
    assert done.returncode == 1
    assert "similarity/divided-after: a sound variant is refuted by SIMM-03" in done.stdout
    tests.write_text(weakened, encoding="utf-8")
    done = prove(checkout, "SIMM-03")
    assert done.returncode == 1
    assert "SIMM-03 is unproven" in done.stdout and "similarity/inner-products: SIMM-03 does not catch it" in done.stdout


def test_the_proof_ignores_what_a_claim_rests_on_and_agrees_in_two_processes(checkout):
    alone = prove(checkout, "LOOKUP-04")
    pair = checkout("prove", "-k", "LOOKUP-04", "-q", "-n", "2")
    assert alone.returncode == pair.returncode == 0
    without_time = [re.sub(r" seconds=.*", "", done.stdout) for done in (alone, pair)]
    assert without_time[0] == without_time[1]
    assert "claims=1" in without_time[0]


def test_an_interrupted_proof_says_nothing_of_what_it_did_not_reach(monkeypatch, capsys):
    outcome = Outcome(collected={"a": (["LOOKUP-01"], ""), "b": (["LOOKUP-02"], "")}, results={"a": {"outcome": "passed"}},
                      interrupted=True)
    monkeypatch.setattr(proving, "execute", lambda *args: outcome)
    assert proving.run_proof(Plan(prove=True, keyword="LOOKUP"), write=False, quiet=True) == Exit.INTERRUPTED
    said = capsys.readouterr().out
    assert "not reached 1 claims" in said and "LOOKUP-01 is unproven" in said and "LOOKUP-02" not in said
    assert said.splitlines()[-1].startswith("verdict=interrupted claims=0 ")


def test_a_proof_says_nothing_of_claims_whose_tests_were_chosen_in_part(monkeypatch, capsys):
    collected = {"a": (["LOOKUP-01"], ""), "b": (["LOOKUP-02"], "")}
    outcome = Outcome(collected=collected, results={node_id: {"outcome": "passed"} for node_id in collected},
                      partial={("LOOKUP-02", "")})
    monkeypatch.setattr(proving, "execute", lambda *args: outcome)
    assert proving.run_proof(Plan(prove=True, keyword="x"), write=False, quiet=True) == Exit.REFUTED
    said = capsys.readouterr().out
    assert "LOOKUP-01 is unproven" in said and "in part     LOOKUP-02: " in said and "LOOKUP-02 is unproven" not in said
    assert "left out" not in said


def test_what_a_proof_measured_is_kept_and_no_difference_of_the_record():
    margin = proof.Margin(sound=0.12345, faults={"b/two": 1234.56, "a/one": 4.5}, limit=1e-6)
    assert proving._measured(margin) == {"sound": 0.123, "limit": 1e-6, "faults": {"a/one": 4.5, "b/two": 1230.0}}
    new = {"digest": "d", "claims": {}, "specimens": {}}
    assert proof.differences({**new, "measured": {"LOOKUP-01": {}}}, new, "lookup") == []
