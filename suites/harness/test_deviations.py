"""Accepted failures: what is accepted, what is outdated, what a file may hold, and that every output says so."""

import json
import xml.etree.ElementTree as ET
from datetime import date

import pytest

from embedding_conformance import deviations
from embedding_conformance.claims import Catalogue, Claim, load
from embedding_conformance.deviations import Deviation
from embedding_conformance.errors import Exit, UsageError
from embedding_conformance.report import drafts, html, junit, merging, store, summary
from embedding_conformance.report.annotations import render as annotations
from embedding_conformance.verdict import Facts, exit_code, judge


def claim(claim_id, **keys):
    return Claim(id=claim_id, says={"en": "x", "zh": "x"}, source=["000:1"], kind="exact", **keys)


def result(outcome, claim_id="AA-01", subject="s", message="5 of 9 numbers differ", case="one"):
    return {"nodeid": f"a/test_a.py::test_a[{claim_id}-{subject}-{case}]", "claims": [claim_id], "subject": subject,
            "outcome": outcome, "message": message}


CATALOGUE = Catalogue([claim("AA-01", aliases=["AA-09"]), claim("AA-02", after=["AA-01"]), claim("AA-03", proxy=["AA-01"]),
                       claim("AA-04", level="informative", why="it is a judgement")])


def judged(entry, *results, today="2027-01-01", **facts):
    entries = deviations.from_mapping(entry, "here", CATALOGUE)
    return judge(CATALOGUE, results, Facts(proven=frozenset({"AA-01", "AA-02"}), deviations=entries, today=today, **facts))


def standing(found):
    return [one.state for one in found.deviations]


def test_a_failure_that_is_accepted_is_a_deviation_and_does_not_fail_the_run():
    found = judged({"AA-01": "by design"}, result("violated"), result("passed", case="two"))
    assert found.by_subject["AA-01"]["s"].word == "deviation" and found.by_subject["AA-03"]["s"].word == "deviation"
    assert found.by_subject["AA-01"]["s"].reason == "accepted: by design"
    assert standing(found) == ["accepted"] and exit_code(found, found.overall, 0) == Exit.VERIFIED


def test_a_deviation_blocks_nothing_that_rests_on_its_claim():
    found = judged({"AA-01": "by design"}, result("violated"), result("violated", "AA-02"))
    assert found.by_subject["AA-02"]["s"].word == "refuted"


@pytest.mark.parametrize("narrowed", [{"case": "two"}, {"match": "shape"}, {"subject": "t"}, {"until": "2026-12-31"}])
def test_a_failure_beside_an_entry_is_refuted(narrowed):
    found = judged({"AA-01": {"because": "x", **narrowed}}, result("violated"))
    assert found.by_subject["AA-01"]["s"].word == "refuted"
    assert exit_code(found, found.overall, 0) == Exit.REFUTED


@pytest.mark.parametrize("narrowed", [{"case": "one"}, {"match": "numbers  differ"}, {"subject": "s"}, {"until": "2027-01-01"}])
def test_a_failure_within_an_entry_is_accepted(narrowed):
    found = judged({"AA-01": {"because": "x", **narrowed}}, result("violated"))
    assert found.by_subject["AA-01"]["s"].word == "deviation" and standing(found) == ["accepted"]


def test_every_failure_must_be_accepted_and_several_entries_may_do_it():
    failures = (result("violated"), result("violated", case="two", message="wrong shape"))
    one = {"because": "x", "match": "differ"}
    assert judged({"AA-01": one}, *failures).overall["AA-01"].word == "refuted"
    both = judged({"AA-01": [one, {"because": "y", "case": "two"}]}, *failures)
    assert both.overall["AA-01"].word == "deviation" and both.overall["AA-01"].reason == "accepted: x; accepted: y"


def test_an_error_is_never_accepted():
    assert judged({"AA-01": "x"}, result("violated"), result("error", case="two")).overall["AA-01"].word == "error"


@pytest.mark.parametrize(("entry", "results", "why"), [
    ({"AA-01": "x"}, [result("passed")], "it no longer fails: remove the entry"),
    ({"AA-01": {"because": "x", "case": "one"}}, [result("passed"), result("violated", case="two")], "it no longer fails"),
    ({"AA-01": {"because": "x", "match": "shape"}}, [result("violated")],
     'it fails otherwise than by "shape": 5 of 9 numbers differ: mend the failure, or write another `match`'),
    ({"AA-01": {"because": "x", "until": "2026-12-31"}}, [result("violated")], "it ended on 2026-12-31: mend the failure"),
    ({"AA-01": {"because": "x", "until": "2026-12-31"}}, [result("passed")], "it ended on 2026-12-31, and no longer fails"),
    ({"AA-01": {"because": "x", "case": "three"}}, [result("violated")], 'no check of AA-01 has "three" in its name'),
    ({"AB-01": "x"}, [result("passed")], 'AB-01 names no claim; did you mean "AA-01"?'),
    ({"AA-03": "x"}, [result("violated")], "AA-03 has no check of its own; it takes its verdict from AA-01"),
    ({"AA-04": "x"}, [result("passed")], "AA-04 is a claim that no check judges"),
])
def test_an_outdated_entry_fails_the_run_and_says_what_to_do(entry, results, why):
    found = judged(entry, *results)
    (one,) = found.deviations
    assert one.state == "outdated" and why in one.why
    assert one.deviation in deviations.from_mapping(entry, "here", CATALOGUE)
    assert exit_code(found, found.overall, 0) == Exit.REFUTED


@pytest.mark.parametrize(("entry", "results", "facts"), [
    ({"AA-02": "x"}, [result("passed")], {}),
    ({"AA-02": {"because": "x", "until": "2020-01-01"}}, [result("passed")], {}),
    ({"AA-01": {"because": "x", "subject": "t"}}, [result("passed")], {}),
    ({"AA-02": "x"}, [result("passed")], {"not_applicable": {("AA-02", "s"): "no gradient"}}),
    ({"AA-01": "x"}, [result("passed")], {"partial": frozenset({("AA-01", "s")})}),
    ({"AA-01": {"because": "x", "case": "three"}}, [result("passed")], {"partial": frozenset({("AA-01", "s")})}),
    ({"AA-01": "x"}, [result("passed")], {"lost": {"n": (["AA-01"], "s", "it died")}}),
])
def test_an_entry_is_not_outdated_by_checks_that_were_not_run(entry, results, facts):
    (one,) = judged(entry, *results, **facts).deviations
    assert one.state == "not judged" and one.deviation in deviations.from_mapping(entry, "here", CATALOGUE)


def test_an_alias_is_its_claim_and_on_an_unknown_day_nothing_has_ended():
    found = judged({"AA-09": {"because": "x", "until": date(2020, 1, 1)}}, result("violated"), today="")
    assert standing(found) == ["accepted"] and found.deviations[0].deviation.claim == "AA-01"


@pytest.mark.parametrize(("text", "line", "said"), [
    ("LOOKUP-08:\n", 1, "it has no reason"),
    ("LOOKUP-08: '  '\n", 1, "it has no reason"),
    ("LOOKUP-08:\n  because:\n  issue: a/b#1\n", 2, "it has no reason"),
    ("LOOKUP-08:\n  issue: a/b#1\n", 2, "it has no reason"),
    ("LOOKUP-08: x\n\nLOOKUP-08: y\n", 3, "LOOKUP-08 stands twice, first on line 1"),
    ("LOOKUP-08:\n  because: x\n  because: y\n", 3, "because stands twice"),
    ("LOOKUP-08:\n  because: x\n  untill: 2027-01-01\n", 3, 'unknown key "untill"; did you mean "until"?'),
    ("LOOKUP-08:\n  because: x\n  until: soon\n", 3, 'until is "soon", and must be a date'),
    ("LOOKUP-08:\n  because: x\n  until: 2027\n", 3, "must be a date"),
    ("LOOKUP-08: 5\n", 1, 'because is "5", and must be text'),
    ("LOOKUP-08: yes\n", 1, "must be text; put it in quotes"),
    ("LOOKUP-08: !!python/object/apply:os.system [ls]\n", 1, "tags ("),
    ("LOOKUP-08:\n  because: [a]\n", 2, "because is a list or a mapping"),
    ("- LOOKUP-08\n", 1, "expected lines such as"),
    ("LOOKUP-08: &a x\nLOOKUP-07: *a\n", 2, "references (*a) are not read here"),
    ("a: &a [x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\n", 2, "references"),
    ("[" * 5000, 1, "nested too deep"),
    ("LOOKUP-08: x\n: [\n", 2, "not valid YAML"),
    ("? [a]\n: x\n", 1, "a key must be a word"),
])
def test_what_a_file_may_not_hold_is_refused_with_its_line(tmp_path, text, line, said):
    path = tmp_path / "d.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        deviations.read(path, load())
    assert str(refused.value).startswith(f"{path}:{line}: ") and said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path):
    (tmp_path / "d.yaml").write_bytes(b"\xff\xfe\x00")
    for name, said in (("d.yaml", "UTF-8"), ("none.yaml", "No such file"), (".", "Is a directory")):
        with pytest.raises(UsageError, match=said):
            deviations.read(tmp_path / name, load())
    (tmp_path / "d.yaml").write_text("# nothing is accepted\n")
    assert deviations.read(tmp_path / "d.yaml", load()) == ()


@pytest.mark.parametrize("values", [["LOOKUP-08"], {"LOOKUP-08": ""}, {"LOOKUP-08": 5}, {"LOOKUP-08": {}},
                                    {"LOOKUP-08": {"because": "x", "til": 1}}, {"LOOKUP-08": {"because": "x", "until": 5}}])
def test_a_dictionary_is_refused_likewise(values):
    with pytest.raises(UsageError, match=r"^here: "):
        deviations.from_mapping(values, "here", CATALOGUE)


WRAPS = """
import numpy as np

class Layer:
    declares = {"out_of_range_below": "raise", "out_of_range_above": "raise"}
    def __init__(self, table):
        self.w = table.copy()
    def table(self):
        return self.w
    def lookup(self, ids):
        return self.w[np.asarray(ids)]
"""


def test_from_a_draft_to_a_green_run_and_back(command):
    """A draft is refused as it is; with its reasons written the run is green; when the failure is mended the run is red."""
    command.write("mine.py", WRAPS)
    folder = command.folder / "embedding-conformance-report"
    words = ("check", "python:mine.py:Layer", "-k", "LOOKUP", "--deviations", "known.yaml")
    first = command(*words[:-2])
    assert first.returncode == 1 and "deviations.yaml is drafted: write the reasons, then --deviations" in first.stdout
    drafted = (folder / "deviations.yaml").read_text(encoding="utf-8")
    command.write("known.yaml", drafted)
    refused = command(*words)
    assert refused.returncode == 4 and "it has no reason" in refused.stderr and "known.yaml:" in refused.stderr
    command.write("known.yaml", drafted.replace("because:", "because: negative ids wrap, by design\n  until: 2999-12-31"))
    green = command(*words)
    assert green.returncode == 0, green.stdout + green.stderr
    assert "deviation  LOOKUP-08 accepted until 2999-12-31: negative ids wrap, by design" in green.stdout
    assert " deviation=" in green.stdout.splitlines()[-1] and "outdated" not in green.stdout
    assert not (folder / "deviations.yaml").exists()
    evidence = store.load(folder / "evidence.json")
    page = html.render(evidence)
    assert page == (folder / "index.html").read_text(encoding="utf-8") and "Known failures" in page and "2999-12-31" in page
    assert "| accepted until 2999-12-31 | LOOKUP-08 negative ids wrap, by design | | |" in summary.render(evidence)
    root = ET.fromstring(junit.render(evidence).split("\n", 1)[1])
    assert root.get("failures") == "0" and int(root.get("skipped")) >= 1
    assert root.find(".//skipped").get("type") == "pytest.xfail"
    assert not annotations(evidence)
    command.write("mine.py", WRAPS.replace("return self.w[np.asarray(ids)]", "ids = np.asarray(ids)\n"
                  "        if ids.size and ids.min() < 0: raise IndexError\n        return self.w[ids]"))
    mended = command(*words)
    assert mended.returncode == 1 and "OUTDATED  LOOKUP-08" in mended.stdout and "no longer fails" in mended.stdout
    assert " outdated=" in mended.stdout.splitlines()[-1] and " refuted=0 " in mended.stdout.splitlines()[-1]
    evidence = store.load(folder / "evidence.json")
    assert "**outdated** | LOOKUP-08" in summary.render(evidence) and "outdated" in html.render(evidence)
    assert annotations(evidence)[0].startswith("::error file=known.yaml,line=")
    assert "no longer fails" in ET.fromstring(junit.render(evidence).split("\n", 1)[1]).find(".//failure").get("message")


@pytest.fixture(scope="module")
def small():
    """The evidence of a claim that fails on two subjects, of which the failure on one is accepted."""
    from . import report_load

    made = report_load.evidence(report_load.SUBJECTS)
    made["claims"] = [one for one in made["claims"] if one["id"] in ("LOADA-00", "LOADA-01")]
    made["results"] = [one for one in made["results"] if one["claims"][0] in ("LOADA-00", "LOADA-01")]
    made["figures"] = []
    made["reconciliation"] |= {"collected": len(made["results"]), "reported": len(made["results"])}
    made["selection"] |= {"by": ["-k", "x"], "claims": 2}
    made["deviations"] = [{**Deviation(claim="LOADA-00", because="known").model_dump(mode="json"), "until": "2027-03-31",
                           "state": "accepted", "why": ""}]
    return merging.merge([made, {**made, "results": [], "reconciliation": {**made["reconciliation"], "collected": 0,
                                                                           "reported": 0}}])


def test_evidence_with_deviations_comes_back_merges_and_may_not_contradict_itself(small, tmp_path):
    assert small["verdict"]["exit"] == 0 and small["verdict"]["counts"]["deviation"] == 1
    assert len(small["deviations"]) == 1
    path = tmp_path / "evidence.json"
    path.write_text(store.dump(small), encoding="utf-8")
    assert store.load(path) == small
    for change, said in ((lambda e: e["deviations"][0].update(state="not judged"), "accepted deviations does not follow"),
                         (lambda e: e["deviations"].clear(), "its checks say refuted"),
                         (lambda e: e["deviations"][0].update(until="2020-01-01"), "its checks say refuted"),
                         (lambda e: e["deviations"][0].update(because=""), "because")):
        changed = json.loads(json.dumps(small))
        change(changed)
        path.write_text(store.dump(changed), encoding="utf-8")
        with pytest.raises(UsageError, match=said):
            store.load(path)


def test_the_last_day_of_merged_runs_decides_what_has_ended(small):
    late = {**small, "results": [], "started": "2028-01-01T00:00:00+00:00", "merged": [],
            "reconciliation": {**small["reconciliation"], "collected": 0, "reported": 0}}
    merged = merging.merge([small, late])
    assert merged["deviations"][0]["state"] == "outdated" and merged["verdict"]["exit"] == 1


def test_a_draft_never_overwrites_what_its_user_edited(small, tmp_path):
    from embedding_conformance import report

    refuted = json.loads(json.dumps({**small, "deviations": []}))
    refuted["claims"][0]["subjects"]["onnx:build/int8"]["verdict"] = "refuted"
    first = report.write(refuted, tmp_path)
    assert first == tmp_path / "deviations.yaml" and report.write(refuted, tmp_path) == first
    edited = first.read_text(encoding="utf-8").replace("because:", "because: mine")
    first.write_text(edited, encoding="utf-8")
    second = report.write(refuted, tmp_path)
    assert second == tmp_path / "deviations.draft.yaml" and first.read_text(encoding="utf-8") == edited
    second.write_text("LOADA-00: mine too\n", encoding="utf-8")
    assert report.write(refuted, tmp_path) is None
    assert first.read_text(encoding="utf-8") == edited and second.read_text(encoding="utf-8") == "LOADA-00: mine too\n"


def test_hostile_text_in_a_draft_stays_in_its_comment(small):
    evil = json.loads(json.dumps(small))
    for one in evil["results"]:
        one["message"] = "x\nEVIL-01: accepted\u2028EVIL-02: y\x07\u202e"
    evil["claims"][0]["subjects"]["onnx:build/int8"]["verdict"] = "refuted"
    text = drafts.render(evil)
    assert [line for line in text.splitlines() if line.startswith("EVIL")] == []
    with pytest.raises(UsageError, match="LOADA-00: it has no reason"):
        path = drafts.Path("/dev/stdin")
        deviations._read_entry(path, "LOADA-00", deviations.yaml.compose(text).value[0][1], CATALOGUE)
