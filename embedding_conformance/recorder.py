"""The command ``record``: embed texts with a subject and keep the vectors with their provenance."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from . import __version__, recordings
from .errors import Exit, NoVerdict, UsageError
from .texts import all_texts, read_texts

#: texts of one call
BATCH = 32


def make(name: str, folder: Path, own: Path | None, declare: list[str]) -> Exit:
    """Record a subject into a new folder. Raises `UsageError` or `NoVerdict`; then nothing is written."""
    recordings.refuse_to_overwrite(folder)
    texts = list(dict.fromkeys(one.text for one in [*all_texts(), *(read_texts(own) if own else [])]))
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    import numpy as np

    from .events import environment
    from .subjects import open_subject, parse_declaration

    subject = open_subject(name, dict(parse_declaration(text) for text in declare))
    if "embedder.embed" not in subject.capabilities:
        raise UsageError(f"record {name}: it offers no embedder, so it has no vectors of texts to be recorded")
    starts = range(0, len(texts), BATCH)
    if subject.remote:
        click.echo(f"requests {len(starts) + 1} with {len(texts) + 1} texts go to {subject.remote.where}")
        subject.remote.begin()
    parts = []
    for start in starts:
        parts.append(_embedded(subject, texts[start:start + BATCH]))
        _progress(min(start + BATCH, len(texts)), len(texts))
    if len({part.shape[1] for part in parts}) > 1:
        raise NoVerdict(f"{name}: vectors of different widths, {sorted({part.shape[1] for part in parts})}; nothing is kept")
    vectors = np.concatenate(parts)
    recordings.write(folder, vectors, texts, {
        "subject": name, "title": subject.title, "facts": subject.facts,
        "declares": {key: [one.value, one.origin] for key, one in sorted(subject.declares.items())},
        "dtype": str(vectors.dtype), "harness": __version__, "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment()})
    click.echo(f"recorded {len(texts)} vectors of {vectors.shape[1]} numbers in {folder}")
    click.echo(f"try      embedding-conformance check {name} --reference vectors:{folder}")
    return Exit.VERIFIED


def _embedded(subject: Any, texts: list[str]) -> Any:
    """[N, d] of finite numbers; anything else is no recording."""
    import numpy as np

    try:
        found = np.asarray(subject.facet("embedder").embed(list(texts)))
    except Exception as error:
        # What was raised may quote a text, and goes to a terminal.
        raise NoVerdict(f"{subject.name} raised {type(error).__name__} for {len(texts)} texts; nothing is kept") from error
    if found.ndim != 2 or len(found) != len(texts) or found.dtype.kind not in "fiuV" or not np.isfinite(found).all():
        raise NoVerdict(f"{subject.name} gave {found.dtype} of shape {list(found.shape)} for {len(texts)} texts, or numbers "
                        "that are not finite; nothing is kept")
    return found


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K  {done}/{total} texts", nl=done == total, err=True)
