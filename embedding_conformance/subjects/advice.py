"""What to write instead of a string that names no subject."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ..claims import ID
from ..errors import nearest
from . import STORED

HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w.-]+)?")


def advice(name: str, schemes: Iterable[str], forms: Iterable[str]) -> str:
    """The rest of the message: ``: for Python write python:mine.py:make``."""
    if name.startswith(("http://", "https://")):
        return f": for an OpenAI-compatible service write openai:{name}"
    if ID.fullmatch(name):
        return f": that is a claim: check -k {name}, or claims {name}"
    path, _, attribute = name.replace("::", ":").rpartition(":")
    if path.endswith(".py") and attribute:
        return f": for Python write python:{path}:{attribute}"
    if name.endswith(".py") and _exists(name):
        return f": for Python write python:{name}:NAME, with the name of your object, class or factory"
    if path and all(part.isidentifier() for part in [*path.split("."), attribute]):
        return f": for Python write python:{path}:{attribute}"
    if _exists(name):
        return _by_content(Path(name), name)
    if HUB_ID.fullmatch(name) and not name.startswith("."):
        return f": there is no such path; for a model of the hub write st:{name} (sentence-transformers) or hf:{name}"
    if os.sep in name:
        return ": a path alone does not say what it holds, and this one does not exist"
    return nearest(name, schemes) or f": name one of {', '.join(forms)}"


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a path, or with a character that none may have
        return False


def _by_content(path: Path, name: str) -> str:
    """Whether a file or folder looks like a model, an export or stored vectors."""
    if path.is_file():
        if path.suffix == ".onnx":
            return f": it looks like an ONNX export: onnx:{name}"
        if path.suffix in STORED:
            return f": it looks like stored vectors: vectors:{name}"
        return ": a path alone does not say what it holds; your own code is python:FILE.py:NAME"
    held = {one.name for one in path.iterdir()} if os.access(path, os.R_OK) else set()
    below = {f"onnx/{one.name}" for one in (path / "onnx").glob("*.onnx")}
    exports = sorted(one for one in held | below if one.endswith(".onnx"))
    weights = sorted(one for one in held if one.startswith("model") and one.endswith(".safetensors"))
    if "modules.json" in held:
        return f": it looks like a model of sentence-transformers (modules.json): st:{name}"
    if "config.json" in held and weights:
        return f": it looks like a model of Transformers (config.json, {weights[0]}): hf:{name}"
    if exports:
        seen = [*exports[:3], *(["tokenizer.json"] if "tokenizer.json" in held else [])]
        return f": it looks like an ONNX export ({', '.join(seen)}): onnx:{name}"
    if stored := sorted(one for one in held if one.endswith(STORED)):
        return f": it looks like stored vectors ({', '.join(stored[:3])}): vectors:{name}"
    return ": a path alone does not say what it holds; your own code is python:FILE.py:NAME"
