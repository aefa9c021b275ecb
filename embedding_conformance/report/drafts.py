"""A draft of accepted deviations for the failures of a run. Its reasons are empty, so that it is refused as it is.

A file that its user has edited is never overwritten: the first line of a draft holds a digest of the rest.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

NAMES = ("deviations.yaml", "deviations.draft.yaml")
FIRST = re.compile(r"# Drafted by embedding-conformance \(([0-9a-f]{12})\)\.\n")
SAYS = """\
# The failures of the last run that are not accepted. To accept one, write why; an entry without a reason is refused. Keep the
# file beside your code and give it to `check ... --deviations FILE`. One that no longer fails, or has ended, fails the run.
"""
#: failing subjects that an entry names
MOST = 3


def render(evidence: dict[str, Any]) -> str:
    """The text of the draft, or nothing where no check failed that could be accepted."""
    failed: dict[str, dict[str, str]] = {}
    for result in evidence["results"]:
        for claim_id in result["claims"] if result["outcome"] == "violated" else ():
            failed.setdefault(claim_id, {}).setdefault(result["subject"], result["message"])
    entries = []
    for claim in evidence["claims"]:
        refused = {subject: message for subject, message in failed.get(claim["id"], {}).items()
                   if claim["subjects"].get(subject, {}).get("verdict") in ("refuted", "blocked")}
        if refused:
            entries.append(_entry(claim, refused))
    return _signed(SAYS + "".join(entries)) if entries else ""


def _entry(claim: dict[str, Any], refused: dict[str, str]) -> str:
    lines = [f"\n# {_comment(claim['says']['en'])}"]
    lines += [f"# on {_comment(subject)}: {_comment(message)}" for subject, message in list(refused.items())[:MOST]]
    lines += [f"# and on {len(refused) - MOST} more subjects"] if len(refused) > MOST else []
    lines += [f"{claim['id']}:", "  because:", "  # issue: owner/repo#1", "  # until: 2030-12-31",
              "  # match: words of the message above"]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Text in one line, without what YAML does not read even in a comment."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))[:300]


def _signed(text: str) -> str:
    return f"# Drafted by embedding-conformance ({hashlib.sha256(text.encode()).hexdigest()[:12]}).\n{text}"


def untouched(path: Path) -> bool:
    """Whether nobody's work is lost when this file is written or removed: it is absent, or a draft as it was written."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    except (OSError, UnicodeDecodeError):
        return False
    first = FIRST.match(text)
    return first is not None and _signed(text[first.end():]) == text


def place(folder: Path) -> Path | None:
    """Where a draft may be written: the first of `NAMES` that nobody has edited; None where there is none."""
    return next((folder / name for name in NAMES if untouched(folder / name)), None)
