"""A made-up run to measure reports with: 10,000 checks of 1,000 claims, 100 failures, 12 figures.

``python suites/harness/report_load.py DIR`` writes the report of it; ``--pytest DIR`` writes the same load as a pytest suite,
for the reporters that this one is compared with.
"""

import random
import sys
from pathlib import Path

from embedding_conformance.claims import Catalogue, Claim, Statement
from embedding_conformance.documents import Documents
from embedding_conformance.report import write
from embedding_conformance.report.evidence_file import Context, assemble
from embedding_conformance.run import Outcome

CHAPTERS, CLAIMS_EACH, CASES, FAULTS, SOUND, FAILURES = 10, 100, 10, 600, 60, 100
SUBJECTS = ("python:mine.py:make", "onnx:build/int8")
ROUNDING = "rounding of an inner product of 384 terms in float32"


def claim_ids():
    """LOADA-00 to LOADJ-99."""
    return [f"LOAD{chr(65 + chapter)}-{number:02d}" for chapter in range(CHAPTERS) for number in range(CLAIMS_EACH)]


def catalogue():
    return Catalogue([Claim(
        id=claim_id, chapter=f"chapter_{claim_id[4].lower()}", kind="numeric", bound="rounding" if number % 2 else "exact",
        says=Statement(en=f"The number {number} that a subject answers agrees with the one that is computed apart from it.",
                       zh=f"被测对象给出的第{number}个数与独立算出的数一致。"),
        source=[f"002:{number % 350 + 1}"], needs=["layer.lookup"], note="Holds for finite tables.",
        after=[f"{claim_id[:5]}-00"] if number % 100 > 90 else [])
        for number, claim_id in enumerate(claim_ids())], version=1)


def records(draw):
    """What a proof would have kept: four faults a claim, effects from a few to a million times the bound."""
    made = {f"chapter_{chr(97 + chapter)}": {"digest": "", "claims": {}, "specimens": {}, "measured": {}}
            for chapter in range(CHAPTERS)}
    names = [f"chapter_{chr(97 + number % CHAPTERS)}/{'sound' if number >= FAULTS else 'fault'}-{number}"
             for number in range(FAULTS + SOUND)]
    for number, name in enumerate(names):
        made[name.partition("/")[0]]["specimens"][name] = {
            "says": "The answer is wrong in one place and right in all others.", "sound": number >= FAULTS, "facet": "layer",
            "size": "subtle" if number % 2 else "gross", "source": "", "breaks": [], "caught_by": []}
    for number, claim_id in enumerate(claim_ids()):
        chapter = f"chapter_{claim_id[4].lower()}"
        own = [name for name in names[:FAULTS] if name.startswith(f"{chapter}/")]
        caught = sorted(own[(number * 7 + step * 13) % len(own)] for step in range(4))
        made[chapter]["claims"][claim_id] = {"proven": True, "caught": caught, "passed_by": [names[-1]]}
        for place, name in enumerate(caught):
            made[chapter]["specimens"][name]["caught_by"].append(claim_id)
            if place % 2:
                made[chapter]["specimens"][name]["breaks"].append(claim_id)
        if number % 2:
            made[chapter]["measured"][claim_id] = {
                "sound": float(f"{draw.uniform(0.01, 0.2):.3g}"), "limit": 3.1e-6,
                "faults": {name: float(f"{10 ** draw.uniform(0.7, 6):.3g}") for name in caught}}
    return made


def results(draw, subjects, hostile):
    """Ten cases of every claim, shared among the subjects; one case of every tenth claim fails on the last subject."""
    made = {}
    for number, claim_id in enumerate(claim_ids()):
        for subject in subjects:
            for case in range(CASES // len(subjects)):
                module = f"chapter_{claim_id[4].lower()}/test_load.py"
                node_id = f"{module}::test_number_{number % 9}[{claim_id}-{subject}{hostile}-{case}]"
                fails = case == 0 and subject == subjects[-1] and number % (len(claim_ids()) // FAILURES) == 0
                measured = float(f"{draw.uniform(1e-9, 1e-8) * (1e4 if fails else 1):.6g}")
                closest = {"kind": "close", "compared": 384, "measured": measured, "bound": 4.58e-05 if number % 2 else 1e-07,
                           "why": ROUNDING, "where": f"at [{draw.randrange(90)}, {draw.randrange(90)}]",
                           "expected": "[0.0312 -0.5 1.25 0.75 ...]",
                           # What passes differs beyond the digits that are shown.
                           "actual": f"[0.0312 -0.5 1.2{draw.randrange(99) if fails else 5} 0.75 ...]"}
                made[node_id] = {"nodeid": node_id, "claims": [claim_id], "subject": subject + hostile, "seconds": 0.0012,
                                 "outcome": "violated" if fails else "passed", "raised": False, "message": "", "compared": 384,
                                 "kinds": ["close"], "closest": closest}
                if fails:
                    made[node_id] |= {"message": f"{measured:.3g} off, 1 of 384 numbers too far", "bound": f"1e-07: {ROUNDING}",
                                      "worst": [closest["where"], f"expected  {closest['expected']}",
                                                f"found     {closest['actual']}"]}
    return made


def figures(draw):
    """Six matrices of 64 x 64 and six maps of 500 points, the largest that one report may hold a dozen of."""
    made = []
    for number in range(6):
        names = [f"t{row}" for row in range(64)]
        values = [[float(f"{draw.uniform(-1, 1):.3g}") for _ in range(64)] for _ in range(64)]
        made.append({"kind": "matrix", "title": f"Cosines {number}",
                     "data": {"rows": names, "columns": names, "values": values}})
        points = [[float(f"{draw.gauss(0, 1):.3g}"), float(f"{draw.gauss(0, 1):.3g}")] for _ in range(500)]
        made.append({"kind": "map", "title": f"Map {number}", "data": {
            "points": points, "labels": [""] * 500, "explained": [0.41, 0.22]}})
    return made


def evidence(subjects=SUBJECTS[1:], hostile=""):
    """The evidence of the made-up run; `hostile` is put into the names of subjects and tests."""
    draw = random.Random(7)
    checks = results(draw, subjects, hostile)
    first = next(iter(checks.values()))
    first["figures"] = figures(draw)
    known_subjects = [{"name": name + hostile, "title": "a made-up layer" + hostile, "facets": ["layer"], "capabilities": [],
                 "facts": {"sha256": "0" * 12}, "declares": {"normalized": [True, "--declare"]}} for name in subjects]
    environment = {"python": "3.11.7", "platform": "Linux x86_64", "cpus": 2, "instructions": "AVX2",
                   "packages": {"numpy": "2.4.0"}, "omp_num_threads": "1", "byteorder": "little"}
    known = catalogue()
    context = Context(known, Documents(names={"002": "002.txt"}, hashes={}), records(draw), ["embedding-conformance", "check"])
    outcome = Outcome(opened={"subjects": known_subjects, "seed": 0, "environment": environment,
                              "started": "2026-01-01T00:00:00+00:00"},
                      collected={node_id: (one["claims"], one["subject"]) for node_id, one in checks.items()}, results=checks,
                      seconds=12.0)
    made = assemble(context, outcome)
    for claim in made["claims"]:
        claim["tests"] = [{"place": f"suites/{claim['chapter']}/test_load.py:12", "name": "test_number",
                           "says": "One number against the same from its own oracle."}]
    made["proof"]["outdated"] = []
    return made


PYTEST = '''
import pytest


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.verifies(f"LOAD-{FILE}-{{case // 10}}"))
                                  for case in range(100)])
def test_number(case, record_property):
    record_property("measured", case / 7)
    record_property("bound", 20.0)
    assert case != 57
'''


def pytest_suite(folder):
    """100 files of 100 cases with one failure in each, two properties a case, ten requirements in each for pytest-verifies."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = verifies(id): a requirement\n", encoding="utf-8")
    for number in range(100):
        text = PYTEST.replace("{FILE}", str(number)).replace("{{", "{").replace("}}", "}")
        (folder / f"test_load_{number:03d}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--pytest":
        pytest_suite(Path(sys.argv[2]))
    else:
        write(evidence(), Path(sys.argv[1]))
