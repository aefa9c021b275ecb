"""The documents as a reader meets them: their lines in order, each with the claims that cite it."""

from __future__ import annotations

from typing import Any

from ..documents import split_source


def view(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    """A document each: name, hash, how its lines are accounted for, and its blocks of lines with the same claims."""
    documents = evidence["documents"]
    citing: dict[tuple[str, int], dict[str, str]] = {}
    for claim in evidence["claims"]:
        for source in claim["source"]:
            place = split_source(source["cite"])
            if place and source["state"] != "changed":
                moved = source["state"].removeprefix("moved to ")
                start = int(moved) if moved.isdigit() else place[1]
                for line in range(start, start + place[2] - place[1] + 1):
                    citing.setdefault((place[0], line), {})[claim["id"]] = claim["verdict"]
    missing = set(documents["unaccounted"])
    found = []
    for key, lines in documents["lines"].items():
        blocks: list[dict[str, Any]] = []
        counts = {"cited": 0, "elsewhere": 0, "listed": 0, "blank": 0, "missing": 0}
        for number, line in enumerate(lines, 1):
            cite = f"{key}:{number}"
            claims = citing.get((key, number), {})
            kind = ("cited" if claims else "missing" if cite in missing else "blank" if not line.strip()
                    else "listed" if cite in documents["listed"] else "elsewhere")
            why = {"missing": "no claim cites this line", "listed": documents["listed"].get(cite, ""),
                   "elsewhere": "claims that do not concern what was judged here"}.get(kind, "")
            counts[kind] += 1
            last = blocks[-1] if blocks else None
            blank = not line.strip() and not claims
            if last and (blank or (last["claims"] == claims and last["why"] == why and last["lines"][-1].strip())):
                last["lines"].append(line)
            else:
                blocks.append({"first": number, "lines": [line], "claims": claims, "why": why, "missing": cite in missing})
        for block in blocks:
            while len(block["lines"]) > 1 and not block["lines"][-1].strip():
                block["lines"].pop()
            block["last"] = block["first"] + len(block["lines"]) - 1
        found.append({"key": key, "name": documents["names"][key], "sha256": documents["sha256"].get(key, ""),
                      "counts": counts, "blocks": [block for block in blocks if any(line.strip() for line in block["lines"])]})
    return found
