"""Runs the documents' code in a child process, all of it in one, and remembers what each piece of code did."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

import embedding_conformance

from . import snippets

#: a snippet takes less than a second; the first one also loads PyTorch, Transformers and the model
SECONDS = 120.0


@cache
def run(code):
    """What the code did, as `child.run` describes it. Code that imports anything unexpected is not run."""
    if surplus := snippets.imported(code) - snippets.MODULES:
        return {"error": f"not run: it imports {', '.join(sorted(surplus))}", "printed": [], "values": {}, "loaded": [],
                "moved": [], "passes": [], "state": {}}
    process = _child()
    clock = threading.Timer(SECONDS, process.kill)
    clock.start()
    try:
        process.stdin.write(json.dumps(code) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except BrokenPipeError:
        answer = ""
    finally:
        clock.cancel()
    if not answer:
        _child.cache_clear()
        raise RuntimeError(f"the process that runs the documents' code ended with {process.wait()}")
    found = json.loads(answer)
    if "broken" in found:
        raise RuntimeError(f"the documents' code could not be run: {found['broken']}")
    return found


@cache
def _child():
    """A process that runs code until its input ends, with this one at the latest."""
    folder = tempfile.gettempdir()
    package = Path(embedding_conformance.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]),
                                "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
                                "PYTHONUTF8": "1"}
    return subprocess.Popen([sys.executable, "-P", "-m", f"{__package__}.child"], cwd=folder, env=environment, text=True,
                            encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
