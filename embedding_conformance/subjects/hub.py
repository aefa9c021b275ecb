"""Model directories by name: a folder, or an ID of the model hub, from its cache on this machine or fetched once.

Only the named model is asked for, and only where HF_HUB_OFFLINE is not set; the revision that was found is recorded.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import NoVerdict, UsageError
from . import require_installed

#: what `run` tells its child, which keeps libraries off the network: the caller has not asked to stay offline
MAY_FETCH = "EMBEDDING_CONFORMANCE_MAY_FETCH"
#: files that a model is judged from; pickles and other exports are not fetched
WANTED = ("*.json", "*.safetensors", "*.txt", "*.model")
ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
SECONDS = 3600
FETCH = """
import sys
from huggingface_hub import snapshot_download
print(snapshot_download(sys.argv[1], revision=sys.argv[2] or None, allow_patterns=sys.argv[3:]))
"""


@dataclass(frozen=True)
class Place:
    """The folder of a model, what to call it, and the revision where it has one."""

    folder: Path
    title: str
    revision: str = ""


def find(rest: str, scheme: str) -> Place:
    """The place that DIR_OR_ID[@REVISION] names.

    Raises `UsageError` for what is neither, and `NoVerdict` for an ID that is not on this machine and cannot be fetched.
    """
    name = f"{scheme}:{rest}"
    if is_folder(Path(rest), name):
        return Place(Path(rest), Path(rest).resolve().name)
    model, _, revision = rest.partition("@")
    if revision and Path(model).is_dir():
        raise UsageError(f"{name}: {model} is a folder, and folders have no revisions")
    if not ID.fullmatch(model) or Path(rest).exists():
        what = "is a file" if Path(rest).is_file() else f"there is no folder {rest}"
        raise UsageError(f"{name}: {what}; name a model directory on this machine, or an ID such as "
                         "sentence-transformers/all-MiniLM-L6-v2")
    require_installed("huggingface_hub", "st", name)
    folder = cached(model, revision) or fetched(model, revision, name)
    return Place(folder, model, folder.name)


def is_folder(path: Path, name: str) -> bool:
    """Whether there is such a folder. Raises `UsageError` where it cannot be read, or is a loop of symbolic links."""
    try:
        if path.is_dir():
            next(path.iterdir(), None)
            return True
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{name}: {path}: {error.strerror}") from error
    return False


def cached(model: str, revision: str) -> Path | None:
    """The folder of a revision in the hub's cache on this machine."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, revision=revision or None, local_files_only=True, allow_patterns=list(WANTED)))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise UsageError(f"{model}: {error}") from error


def fetched(model: str, revision: str, name: str) -> Path:
    """The folder of a revision after it was fetched, in a process of its own, the only one that goes to the hub."""
    command = f"hf download {model}{f' --revision {revision}' if revision else ''}"
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0") and not os.environ.get(MAY_FETCH):
        raise NoVerdict(f"{name}: there is no such folder, the model is not in the hub's cache on this machine, and "
                        f"HF_HUB_OFFLINE is set; fetch it with: {command}")
    environment = os.environ | {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    try:
        done = subprocess.run([sys.executable, "-P", "-c", FETCH, model, revision, *WANTED], env=environment, text=True,
                              capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoVerdict(f"{name}: the model was not fetched within {SECONDS} s") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise NoVerdict(f"{name}: there is no such folder, the model is not in the hub's cache on this machine, and it could "
                        f"not be fetched: {said[-1].strip()[:300] if said else 'no reason was given'}")
    return Path(done.stdout.splitlines()[-1])
