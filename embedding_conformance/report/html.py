"""The page: one self-contained file that asks for nothing from anywhere and is whole without JavaScript."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from .evidence_file import last_line
from .failures import closest, failures, repeat
from .summary import headline

TEMPLATES = Path(__file__).parent / "templates"


def render(evidence: dict[str, Any]) -> str:
    """The same evidence gives the same bytes."""
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    chapters: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for claim in evidence["claims"]:
        chapters[claim["chapter"]].append(claim)
    checks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for result in evidence["results"]:
        for claim_id in result["claims"]:
            checks[claim_id].append(result)
    return _template().render(
        evidence=evidence, headline=headline(evidence), chapters=chapters, checks=checks, style=style,
        style_hash=_hash(style), failures=failures(evidence), closest=closest(evidence), last_line=last_line(evidence),
        repeat=lambda claim, subject: repeat(evidence, claim, subject))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["measure"] = _measure
    return environment.get_template("index.html.j2")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _measure(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
