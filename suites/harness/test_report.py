"""Reports are functions of the evidence: equal bytes, equal numbers, nothing escapes, nothing is lost."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from embedding_conformance import proof, report
from embedding_conformance.claims import load
from embedding_conformance.documents import known
from embedding_conformance.errors import Exit
from embedding_conformance.report import html, junit, summary
from embedding_conformance.report.evidence_file import Context, assemble, last_line
from embedding_conformance.run import Outcome

EVIL = "<script>alert(1)</script> | @all `x` \u202e\x00 ]]> &"


def outcome(**changes):
    subject = {"name": EVIL, "title": EVIL, "facets": ["layer"], "capabilities": [], "facts": {"k": EVIL},
               "declares": {"precision": [EVIL, "--declare"]}}
    results = {}
    for claim, state in (("LOOKUP-01", "violated"), ("LOOKUP-02", "violated"), ("LOOKUP-04", "passed"), ("LOOKUP-07", "error")):
        node_id = f"lookup/test_row.py::test_x[{claim}-{EVIL}]"
        closest = {"kind": "close", "compared": 3, "measured": 1e-9, "bound": 1e-7, "why": "rounding", "where": "",
                   "expected": "", "actual": ""}
        results[node_id] = {"nodeid": node_id, "claims": [claim], "subject": EVIL, "outcome": state, "raised": False,
                            "message": f"{state} {EVIL}", "seconds": 0.01, "compared": 3, "kinds": ["close"],
                            "closest": closest, "bound": "bit for bit", "worst": [EVIL], "detail": [EVIL]}
    collected = {node_id: (one["claims"], EVIL) for node_id, one in results.items()}
    collected["lookup/test_row.py::lost[LOOKUP-06-x]"] = (["LOOKUP-06"], EVIL)
    made = Outcome(opened={"subjects": [subject], "seed": 5, "environment": {
        "python": "3", "platform": "x", "cpus": 2, "instructions": "", "packages": {"numpy": "2"}}},
        collected=collected, results=results, lost={"lookup/test_row.py::lost[LOOKUP-06-x]": EVIL},
        not_applicable={("LOOKUP-08", EVIL): EVIL}, seconds=1.0)
    for key, value in changes.items():
        setattr(made, key, value)
    return made


@pytest.fixture
def context():
    catalogue = load()
    return Context(catalogue, known(catalogue), proof.read_records(catalogue), ["embedding-conformance", "check", EVIL])


@pytest.fixture
def evidence(context):
    return json.loads(json.dumps(assemble(context, outcome())))


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            if key in ("href", "src"):
                self.links.append(value)


def test_the_page_holds_no_script_but_its_own_no_request_and_no_dead_link(evidence):
    page = Page(html.render(evidence))
    assert page.tags.count("script") == 1 and "img" not in page.tags and "link" not in page.tags
    assert all(link.startswith("#?v=") or (link.startswith("#") and link[1:] in page.ids) for link in page.links)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_has_every_claim_and_its_numbers(evidence):
    text = html.render(evidence)
    for claim in evidence["claims"]:
        assert f'id="{claim["id"]}"' in text
    for word, count in evidence["verdict"]["counts"].items():
        assert not count or f"{count} {word}" in text
    assert "collected 5 = reported 4\n + lost 1" in text
    assert "passages were not checked" in text


def test_the_same_evidence_gives_the_same_bytes(evidence):
    for render in (html.render, junit.render, summary.render):
        assert render(evidence) == render(json.loads(json.dumps(evidence)))


def test_the_order_in_which_checks_finish_changes_nothing(context):
    one = outcome()
    twice = {f"a{node_id}": {**result, "nodeid": f"a{node_id}", "message": "another"}
             for node_id, result in one.results.items()}
    results = {**one.results, **twice}
    collected = {node_id: (result["claims"], EVIL) for node_id, result in results.items()}
    forth = assemble(context, outcome(results=results, collected=collected, lost={}))
    back = assemble(context, outcome(results=dict(reversed(results.items())), collected=collected, lost={}))
    assert json.dumps(forth) == json.dumps(back)


def test_junit_is_valid_xml_and_counts_the_same(evidence):
    root = ET.fromstring(junit.render(evidence).split("\n", 1)[1])
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "2", "2")
    assert {one.get("value") for one in root.iter("property")} == {"LOOKUP-01", "LOOKUP-02", "LOOKUP-04", "LOOKUP-07"}


def test_the_summary_is_a_comment_as_it_stands(evidence):
    text = summary.render(evidence)
    assert text.splitlines()[0] == "<!-- embedding-conformance -->"
    assert len(text.partition("<details>")[0].splitlines()) <= 25
    outside = re.sub(r"(`+)(?:(?!\1).)*\1", "", text, flags=re.DOTALL)  # a code span is no markup
    assert "<script>" not in outside and "@all" not in outside
    assert last_line(evidence) in text


def test_a_long_summary_is_cut_and_says_so(evidence):
    claim = evidence["claims"][0]
    evidence["claims"] = [claim] * 3000
    text = summary.render(evidence)
    assert len(text) <= summary.MOST_CHARACTERS and "The list is cut" in text


def test_every_output_has_the_same_counts(evidence):
    counts = evidence["verdict"]["counts"]
    line = dict(part.split("=") for part in last_line(evidence).split())
    assert line["verdict"] == "refuted" and line["refuted"] == str(counts["refuted"]) == "1"
    assert line["blocked"] == str(counts["blocked"]) == "1"
    assert int(line["claims"]) == sum(counts.values()) == len(evidence["claims"])
    assert line["lost"] == "1"


def test_what_is_not_proven_or_lost_is_never_green(context):
    only_lost = outcome(results={}, collected={"a[LOOKUP-06-x]": (["LOOKUP-06"], EVIL)}, lost={"a[LOOKUP-06-x]": "died"})
    assert assemble(context, only_lost)["verdict"]["exit"] == Exit.NO_VERDICT
    passed = {"n": {**next(iter(outcome().results.values())), "claims": ["LOOKUP-04"], "outcome": "passed"}}
    good = outcome(results=passed, collected={"n": (["LOOKUP-04"], EVIL)}, lost={})
    assert assemble(context, good)["verdict"]["exit"] == Exit.VERIFIED
    context.records = {}
    found = assemble(context, good)
    assert found["verdict"]["exit"] == Exit.REFUTED and found["verdict"]["counts"]["unproven"] == 1


def test_a_gate_asks_that_every_claim_is_verified_but_the_listed_ones(context):
    context.unverified = []
    reasons = assemble(context, outcome())["verdict"]["reasons"]
    assert any(reason.startswith("not verified on any subject, and not listed") and "BANK-01" in reason for reason in reasons)
    context.unverified = ["LOOKUP-04", "NOPE-01"]
    reasons = assemble(context, outcome())["verdict"]["reasons"]
    assert any("listed as unverified without need: LOOKUP-04, NOPE-01" in reason for reason in reasons)


def test_files_appear_whole_or_not_at_all(evidence, tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    report.write(evidence, tmp_path)
    before = (tmp_path / "index.html").read_bytes()
    monkeypatch.setitem(report.FILES, "index.html", lambda evidence: None)  # cannot be written
    with pytest.raises(TypeError):
        report.write(evidence, tmp_path)
    assert (tmp_path / "index.html").read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".index")]
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_the_job_summary_is_appended(evidence, tmp_path, monkeypatch):
    target = tmp_path / "job.md"
    target.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    report.write(evidence, tmp_path / "r")
    assert target.read_text().startswith("before\n<!-- embedding-conformance -->")


def test_contrast_colours_exist_for_every_verdict(evidence):
    style = (html.TEMPLATES / "style.css").read_text()
    for word in evidence["verdict"]["counts"]:
        assert re.search(rf"\.{word.replace(' ', '-')}\b", style), word
