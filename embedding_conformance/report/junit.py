"""JUnit XML: one suite a chapter, one case a check, claim ids as properties."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

from .failures import outdated

# What XML 1.0 cannot hold, even escaped.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(evidence: dict[str, Any]) -> str:
    """The XML text. A lost test is an error, a failure that is accepted is skipped, as pytest writes an expected failure, and a
    deviation that is outdated is a failure."""
    excused = {(claim["id"], subject): own["reason"] for claim in evidence["claims"]
               for subject, own in claim["subjects"].items() if own["verdict"] == "deviation"}
    root = ET.Element("testsuites", name="embedding-conformance")
    chapters: dict[str, list[ET.Element]] = {}
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for result in evidence["results"]:
        case = _case(result["nodeid"], result["claims"], result["seconds"])
        why = [excused.get((claim, result["subject"])) for claim in result["claims"]]
        if result["outcome"] == "violated" and all(why):
            ET.SubElement(case, "skipped", type="pytest.xfail", message=_clean("; ".join(filter(None, why))))
            totals["skipped"] += 1
        elif result["outcome"] == "violated":
            looks = [f"looks like {result['looks_like']}"] if result.get("looks_like") else []
            text = "\n".join([result["message"], f"bound: {result['bound']}", *looks, *result["worst"]])
            ET.SubElement(case, "failure", message=_clean(result["message"])).text = _clean(text)
            totals["failures"] += 1
        elif result["outcome"] == "error":
            ET.SubElement(case, "error", message=_clean(result["message"])).text = _clean("\n".join(result["detail"]))
            totals["errors"] += 1
        chapters.setdefault(result["nodeid"].partition("/")[0], []).append(case)
    for lost in evidence["reconciliation"]["lost"]:
        case = _case(lost["nodeid"], [], 0.0)
        ET.SubElement(case, "error", message=_clean(f"lost: {lost['why']}"))
        totals["errors"] += 1
        chapters.setdefault(lost["nodeid"].partition("/")[0], []).append(case)
    for number, one in enumerate(outdated(evidence), 1):
        case = _case(f"deviations::{one['claim']}[{number}]", [one["claim"]], 0.0)
        ET.SubElement(case, "failure", message=_clean(f"outdated: {one['why']}")).text = _clean(one["because"])
        totals["failures"] += 1
        chapters.setdefault("deviations", []).append(case)
    for chapter, cases in sorted(chapters.items()):
        suite = ET.SubElement(root, "testsuite", name=chapter, tests=str(len(cases)),
                              failures=str(sum(case.find("failure") is not None for case in cases)),
                              errors=str(sum(case.find("error") is not None for case in cases)),
                              skipped=str(sum(case.find("skipped") is not None for case in cases)))
        suite.extend(cases)
        totals["tests"] += len(cases)
    root.attrib |= {key: str(value) for key, value in totals.items()}
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _case(node_id: str, claims: list[str], seconds: float) -> ET.Element:
    module, _, name = node_id.partition("::")
    case = ET.Element("testcase", classname=_clean(module.removesuffix(".py").replace("/", ".")), name=_clean(name),
                      time=f"{seconds:.4f}")
    if claims:
        properties = ET.SubElement(case, "properties")
        for claim in claims:
            ET.SubElement(properties, "property", name="claim", value=claim)
    return case


def _clean(text: str) -> str:
    return FORBIDDEN.sub("�", text)
