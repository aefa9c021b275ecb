"""``bad-rows.txt``: the rows of stored vectors that are at fault, for whoever has to embed them again."""

from __future__ import annotations

from typing import Any

NAME = "bad-rows.txt"


def render(evidence: dict[str, Any]) -> str:
    """A line for each claim that rows violate, and below it the rows, one number or range a line; empty without any."""
    says = {claim["id"]: claim["says"]["en"] for claim in evidence["claims"]}
    parts = []
    for result in evidence["results"]:
        if result.get("rows"):
            claims = "; ".join(f"{claim_id} {says.get(claim_id, '')}" for claim_id in result["claims"])
            parts.append(f"# {result['subject']}: {claims} {result['message']}\n")
            parts += [f"{first}\n" if last == first + 1 else f"{first}-{last - 1}\n" for first, last in result["rows"]]
    return "".join(["# Rows count from 0; a range names its first and its last row.\n", *parts]) if parts else ""
