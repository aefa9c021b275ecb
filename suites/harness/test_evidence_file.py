"""evidence.json: it holds to its schema, comes back as it was, is refused when it contradicts itself, and merges."""

import copy
import json

import pytest

from embedding_conformance.errors import UsageError
from embedding_conformance.report import changes, html, merging, schema, store, timings
from embedding_conformance.report.annotations import announce, render

from ..benchmarks.measure import Measurements
from . import report_load

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")


@pytest.fixture(scope="module")
def load():
    """The made-up run of 10,000 checks, on two subjects."""
    return report_load.evidence(report_load.SUBJECTS)


@pytest.fixture
def small(load):
    """Of it the first claims of one chapter, one of which is refuted."""
    return part(load, lambda claim_id: claim_id < "LOADA-12")


def part(load, wanted):
    """The evidence of the claims that are `wanted`, as a run with a selection would have given it."""
    made = {key: copy.deepcopy(value) for key, value in load.items() if key not in ("claims", "results", "figures")}
    made["claims"] = [copy.deepcopy(claim) for claim in load["claims"] if wanted(claim["id"])]
    made["results"] = [copy.deepcopy(one) for one in load["results"] if all(map(wanted, one["claims"]))]
    made["figures"] = []
    made["reconciliation"] |= {"collected": len(made["results"]), "reported": len(made["results"])}
    refuted = sum(claim["verdict"] == "refuted" for claim in made["claims"])
    made["verdict"] |= {"counts": made["verdict"]["counts"] | {"refuted": refuted, "verified": len(made["claims"]) - refuted},
                        "word": "refuted" if refuted else "verified", "exit": int(bool(refuted))}
    made["selection"] = {"by": ["-k", "some"], "claims": len(made["claims"]), "of": 1000, "partial": []}
    return made


def through_a_file(evidence, folder):
    path = folder / "evidence.json"
    path.write_text(store.dump(evidence), encoding="utf-8")
    return store.load(path)


def test_the_published_schema_is_that_of_the_models_and_accepts_what_is_written(load):
    published = json.loads(schema.PATH.read_text(encoding="utf-8"))
    assert schema.json_schema() == schema.PATH.read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(json.loads(store.dump(load)), published)


@pytest.mark.parametrize("change", [
    lambda data: data.pop("footer"), lambda data: data.update(more=1), lambda data: data["verdict"].update(word="partial"),
    lambda data: data["claims"][0].update(verdict="partial"), lambda data: data["results"]["time"].append(-1),
])
def test_the_schema_refuses_other_words_and_keys(small, change):
    published = json.loads(schema.PATH.read_text(encoding="utf-8"))
    data = json.loads(store.dump(small))
    jsonschema.validate(data, published)
    change(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, published)


def test_what_is_written_comes_back_and_gives_the_same_bytes(load, tmp_path):
    back = through_a_file(load, tmp_path)
    assert back == load
    assert store.dump(back) == store.dump(load)
    assert html.render(back) == html.render(load)
    assert (tmp_path / "evidence.json").stat().st_size < 2_000_000


@pytest.mark.parametrize(("change", "said"), [
    (lambda e: e["verdict"]["counts"].update(refuted=0), "its counts are"),
    (lambda e: e["results"].pop(), "it reports"),
    (lambda e: e["reconciliation"].update(collected=7), "collected 7 is not reported"),
    (lambda e: next(o for o in e["results"] if o["outcome"] == "violated").update(outcome="passed"), "and its checks say"),
    (lambda e: e["results"][25].update(outcome="violated"), "and its checks say refuted"),
    (lambda e: e["claims"][0].update(verdict="verified"), "and its subjects say refuted"),
    (lambda e: e["claims"][1].update(proven=False), "and its checks say unproven"),
    (lambda e: e["verdict"].update(exit=0), "its verdict is refuted, and its exit code 0 means verified"),
    (lambda e: e["verdict"].update(exit=0, word="verified"), "its exit code is 0, and its claims give 1"),
    (lambda e: e["results"].append(e["results"][0]) or e["reconciliation"].update(collected=121, reported=121), "twice"),
    (lambda e: e["claims"].pop(), "names claims that it does not hold"),
    (lambda e: e["proof"].update(faults=1), "faults and sound variants that it counts"),
    (lambda e: e["documents"]["passages"].update({"002:2": "changed"}), "and its checks say stale"),
])
def test_evidence_that_contradicts_itself_is_refused(small, tmp_path, change, said):
    through_a_file(small, tmp_path)
    change(small)
    with pytest.raises(UsageError, match=said):
        through_a_file(small, tmp_path)


def test_what_is_cut_off_or_of_another_schema_is_refused(small, tmp_path):
    path = tmp_path / "evidence.json"
    text = store.dump(small)
    for broken, said in ((text[:-300], "cut off"), (text.replace("evidence/1", "evidence/9"), "evidence/9"), ("[]", "none"),
                         (text.replace('"case":[', '"case":[0,'), "different lengths"),
                         (text.replace('"case":[', '"case":[9999999,', 1).replace('"module":[', '"module":[0,', 1), "lengths"),
                         (text.replace('"level":"must"', '"level":"may"', 1), "level")):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(UsageError, match=said):
            store.load(path)


def test_parts_merge_to_the_whole(load, tmp_path):
    parts = [part(load, lambda claim_id, end=end: claim_id.endswith(end)) for end in "0123456789"]
    merged = through_a_file(merging.merge(parts), tmp_path)
    assert merged["results"] == load["results"]
    assert merged["verdict"]["counts"] == load["verdict"]["counts"] and merged["verdict"]["exit"] == 1
    assert len(merged["merged"]) == 10
    assert store.dump(merging.merge(parts)) == store.dump(merging.merge(parts))
    assert "merged from 10 runs" in html.render(merged)


def test_parts_that_overlap_or_were_made_differently_do_not_merge(small):
    with pytest.raises(UsageError, match="stand in more than one"):
        merging.merge([small, small])
    for key, value in (("seed", 9), ("harness", "9")):
        with pytest.raises(UsageError, match="made with different"):
            merging.merge([small, {**small, "results": [], key: value}])


def test_two_subjects_judged_apart_stand_beside_each_other(small):
    apart = []
    for subject in report_load.SUBJECTS:
        one = copy.deepcopy(small)
        one["subjects"] = [known for known in one["subjects"] if known["name"] == subject]
        one["results"] = [result for result in one["results"] if result["subject"] == subject]
        one["reconciliation"] |= {"collected": len(one["results"]), "reported": len(one["results"])}
        for claim in one["claims"]:
            claim["subjects"] = {subject: claim["subjects"][subject]}
        apart.append(one)
    apart[0]["verdict"] |= {"exit": 0, "word": "verified"}
    merged = merging.merge(apart)
    assert [one["name"] for one in merged["subjects"]] == list(report_load.SUBJECTS)
    assert not list(store.contradictions(merged))
    assert {claim["id"]: claim["subjects"] for claim in merged["claims"]} \
        == {claim["id"]: claim["subjects"] for claim in small["claims"]}


def test_changes_since_an_earlier_run(small):
    earlier = copy.deepcopy(small)
    assert changes.compare(small, earlier)["since"]["changes"] == []
    refuted = next(claim for claim in earlier["claims"] if claim["verdict"] == "refuted")
    refuted["subjects"] = {subject: {"verdict": "verified", "reason": ""} for subject in refuted["subjects"]}
    found = changes.compare(small, earlier)["since"]["changes"]
    assert found == [{"claim": "LOADA-00", "subject": "onnx:build/int8", "was": "verified", "now": "refuted"}]
    assert changes.kind(found[0]) == "worse"
    assert changes.summarised(found) == "worse: LOADA-00" and changes.summarised([]) == "nothing changed"
    assert changes.summarised([one | {"claim": f"A-{number}"} for number in range(6) for one in found]) \
        == "worse: A-0, A-1, A-2, A-3 and 2 more"


def test_a_claim_that_is_judged_no_longer_is_not_passed_over(load):
    whole = part(load, lambda claim_id: claim_id < "LOADA-10" and claim_id != "LOADA-00")
    whole["selection"] = {"by": [], "claims": 9, "of": 1000, "partial": []}
    assert whole["verdict"]["exit"] == 0
    earlier = part(load, lambda claim_id: claim_id < "LOADA-10")
    compared = changes.compare(whole, earlier)
    assert compared["verdict"]["exit"] == 5 and "LOADA-00" in compared["verdict"]["reasons"][-1]
    assert not list(store.contradictions(compared))


def test_the_terminal_says_what_changed(command):
    """A layer that can be built from tables, and then cannot: what was verified then is neither passed over nor denied."""
    layer = ("class Layer:\n"
             "    def __init__(self, table=None): self.w = np.arange(40.0).reshape(10, 4) if table is None else table\n"
             "    def table(self): return self.w\n    def lookup(self, ids): return self.w[ids]\n")
    command.write("mine.py", f"import numpy as np\n{layer}")
    assert command("check", "python:mine.py:Layer", "--report", "monday").returncode == 0
    again = command("check", "python:mine.py:Layer", "--since", "monday/evidence.json")
    assert again.returncode == 0 and ": nothing changed\n" in again.stdout
    command.write("mine.py", f"import numpy as np\n{layer.replace('table=None', 'given=None').replace('if table', 'if given')}")
    fewer = command("check", "python:mine.py:Layer", "--since", "monday/evidence.json")
    assert fewer.returncode == 5, fewer.stdout + fewer.stderr
    assert "NOTHING CHECKED   33 claims verified, others not judged\n" in fewer.stdout
    assert ": other: DMODEL-04, FIELD-34, IDSEM-01, IDSEM-03 and 9 more\n" in fewer.stdout


def test_the_command_renders_and_merges(load, command):
    parts = [part(load, lambda claim_id, first=first: claim_id.startswith(first)) for first in ("LOADA", "LOADB")]
    for number, one in enumerate(parts):
        command.write(f"evidence-{number}.json", store.dump(one))
    done = command("report", "evidence-0.json", "evidence-1.json", "-o", "page.html")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("verdict=refuted claims=200 verified=180 refuted=20 ")
    command("report", "evidence-0.json", "evidence-1.json", "-o", "both.json")
    again = command("report", "both.json", "-o", "again.html", "--since", "both.json")
    assert again.returncode == 1 and "Nothing changed" in (command.folder / "again.html").read_text(encoding="utf-8")
    command("report", "both.json", "-o", "again.html")
    assert (command.folder / "page.html").read_bytes() == (command.folder / "again.html").read_bytes()
    refused = command("report", "both.json", "both.json", "-o", "x.html")
    assert refused.returncode == 4 and not (command.folder / "x.html").exists()
    assert command("report", "both.json", "-o", "x.pdf").returncode == 4


def test_benchmarks_come_from_the_file_of_pytest_benchmark(small, command):
    command.write("evidence.json", store.dump(small))
    stats = {"median": 0.002, "q1": 0.001, "q3": 0.0031, "rounds": 12, "iqr": 0.0021}
    command.write("bench.json", json.dumps({"benchmarks": [
        {"name": "test_lookup", "fullname": "b", "group": None, "stats": stats},
        {"name": "test_topk", "fullname": "a", "group": "k", "stats": {**stats, "median": 2.0, "q3": 2.5}}]}))
    command("report", "evidence.json", "--benchmarks", "bench.json", "-o", "r")
    kept = store.load(command.folder / "r" / "evidence.json")["benchmarks"]
    assert [one["name"] for one in kept] == ["test_topk", "test_lookup"]
    page = " ".join((command.folder / "r" / "index.html").read_text(encoding="utf-8").split())
    assert "<td>2 ms</td>" in page and "<td>2 s</td>" in page and "1 ms to 3.1 ms" in page and "Growth and ratios" not in page
    assert command("report", "evidence.json", "--benchmarks", "evidence.json", "-o", "x.html").returncode == 4


def bench_file(folder, name, *rows):
    """A file of pytest-benchmark whose one benchmark measured these rows: (size, seconds, peak, ratio, to)."""
    measured = Measurements()
    for size, seconds, peak, ratio, to in rows:
        measured.add("a whole run", size, seconds, to=to, ratio=ratio, peak=peak)
    path = folder / name
    path.write_text(json.dumps({"benchmarks": [{
        "name": "test_run", "fullname": "r", "stats": {"median": 1.0, "q1": 1.0, "q3": 1.0, "rounds": 1},
        "extra_info": {timings.KEPT: measured.kept()}}]}), encoding="utf-8")
    return path


def test_ratios_of_benchmarks_stand_beside_those_of_an_earlier_run(small, tmp_path):
    """By what was measured, at which size and to what; seconds of two runs are not compared."""
    floor = ("10 items", 1.5, None, 1.0, "itself")
    new = bench_file(tmp_path, "new.json", floor, ("10 items", 3.0, 3 * 2**20, 2.0, "the floor"),
                     ("20 items", 1e-5, 512, 9.0, "10 items"))
    old = bench_file(tmp_path, "old.json", floor, ("10 items", 9.0, None, 2.5, "the floor"))
    small["benchmarks"] = timings.read(new, old)
    assert [row["before"] for row in small["benchmarks"][0]["measured"]] == [1.0, 2.5, None]
    assert through_a_file(small, tmp_path)["benchmarks"] == small["benchmarks"]
    page = " ".join(html.render(small).split())
    assert 'rowspan="3">a whole run</th><td>10 items</td><td></td><td></td><td>it is the floor</td><td>1.5 s</td><td>' in page
    assert "<td>10 items</td><td>2</td><td>2.5</td><td>the floor</td><td>3 s</td><td>3 MiB</td>" in page
    assert "<td>20 items</td><td>9</td><td>new</td><td>10 items</td><td>10 \N{MICRO SIGN}s</td><td>0.5 KiB</td>" in page
    small["benchmarks"] = timings.read(new)
    assert "before</th>" not in html.render(small)


@pytest.mark.parametrize("change", [
    lambda one: one.update(extra_info={timings.KEPT: [{"what": "x"}]}), lambda one: one.update(extra_info={timings.KEPT: 5}),
    lambda one: one.update(extra_info=[]), lambda one: one["stats"].update(median=float("inf")),
    lambda one: one["stats"].update(q1=None), lambda one: one["extra_info"][timings.KEPT][0].update(ratio=float("nan")),
])
def test_a_file_of_benchmarks_that_was_changed_is_refused(tmp_path, change):
    path = bench_file(tmp_path, "bench.json", ("1", 1.0, None, 1.0, "itself"))
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data["benchmarks"][0])
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match=r"bench\.json: not a file of pytest-benchmark: "):
        timings.read(path)


def test_annotations_are_ten_at_most_and_stay_in_their_lines(load, small):
    lines = render(load)
    assert len(lines) == 10 and "and 91 more" in lines[-1]
    small["claims"][0]["says"]["en"] = "100 %\nof it"
    line = render(small)[0]
    assert line.startswith("::error file=suites/chapter_a/test_load.py,line=12,title=LOADA-00 refuted::100 %25%0Aof it ")
    for result in small["results"]:
        if result["subject"] == "onnx:build/int8":
            result["subject"] = "python:a,b.py:make"
    claim = small["claims"][0]
    claim["subjects"]["python:a,b.py:make"] = claim["subjects"].pop("onnx:build/int8")
    assert render(small)[0].startswith("::error file=a%2Cb.py,line=1,title=")


def test_annotations_are_printed_where_github_reads_them(small, monkeypatch, capsys):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    announce(small)
    assert not capsys.readouterr().out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    announce(small)
    assert capsys.readouterr().out.startswith("::error ")
