"""The matrix of claims and faults, a chapter each: which check was shown to catch which broken subject."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from . import svg
from .svg import number, tag

CELL, LEFT, TOP = 11.0, 230.0, 84.0


def view(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    """A chapter each: its faults and sound variants, and the drawn matrix of its claims with its faults."""
    found = []
    chapters = list(dict.fromkeys(claim["chapter"] for claim in evidence["claims"]))
    for chapter in chapters:
        own = {name: one for name, one in evidence["specimens"].items() if name.startswith(f"{chapter}/")}
        faults = {name: one for name, one in own.items() if not one["sound"]}
        claims = [claim["id"] for claim in evidence["claims"] if claim["chapter"] == chapter and claim["level"] == "must"
                  and not claim["proxy"]]
        if own:
            found.append({"chapter": chapter, "specimens": own, "claims": len(claims), "faults": len(faults),
                          "caught": sum(bool(one["caught_by"]) for one in faults.values()),
                          "elsewhere": sum(bool(one["caught_by"]) and not set(claims) & set(one["caught_by"])
                                           for one in faults.values()),
                          "svg": Markup(_matrix(chapter, claims, faults)) if claims and faults else ""})
    return found


def _matrix(chapter: str, claims: list[str], faults: dict[str, dict[str, Any]]) -> str:
    columns = {claim_id: index for index, claim_id in enumerate(claims)}
    declared, other = "", ""
    elsewhere = 0
    for row, one in enumerate(faults.values()):
        for claim_id in one["caught_by"]:
            if claim_id not in columns:
                elsewhere += 1
            elif claim_id in one["breaks"]:
                declared += f"M{columns[claim_id]} {row}h1"
            else:
                other += f"M{columns[claim_id]} {row}h1"
    across, down = LEFT + len(claims) * CELL + 2, TOP + len(faults) * CELL + 2
    grid = "".join(f"M{number(LEFT)} {number(TOP + row * CELL)}H{number(across - 2)}" for row in range(len(faults) + 1))
    grid += "".join(f"M{number(LEFT + column * CELL)} {number(TOP)}V{number(down - 2)}" for column in range(len(claims) + 1))
    place = f"translate({number(LEFT)} {number(TOP + CELL / 2)}) scale({number(CELL)})"
    parts = [tag("path", d=grid, stroke="currentColor", stroke_width="0.3", opacity="0.5", fill="none")]
    parts += [tag("path", d=marks, stroke=colour, stroke_width=width, transform=place)
              for marks, colour, width in ((declared, svg.GOOD, "0.8"), (other, svg.BLUE, "0.3")) if marks]
    names = [tag("text", name.partition("/")[2][:38], x=LEFT - 5, y=TOP + (row + 0.8) * CELL)
             for row, name in enumerate(faults)]
    ids = [tag("text", claim_id, x=4 - TOP, y=LEFT + (column + 0.8) * CELL) for column, claim_id in enumerate(claims)]
    parts += ['<g text-anchor="end">', *names, '</g><g transform="rotate(-90)">', *ids, "</g>"]
    caught = sum(bool(one["caught_by"]) for one in faults.values())
    desc = (f"{caught} of {len(faults)} faults are caught by a claim; a square is a catch that the fault declares, a bar "
            f"another one; {elsewhere} catches by claims of other chapters are not drawn. The list below has all of them.")
    return svg.picture(f"matrix-{chapter}", across, down, parts, f"Faults (rows) and claims (columns) of {chapter}", desc)
