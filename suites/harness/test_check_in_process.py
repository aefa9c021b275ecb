"""``embedding_conformance.check(obj)``: what it returns, and that it leaves the caller's process as it was."""

import gc
import os
import random
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref

import numpy as np
import pytest

import embedding_conformance
from embedding_conformance.errors import UsageError
from embedding_conformance.report import store


class Layer:
    def __init__(self, table):
        self.w = table.copy()

    def table(self):
        return self.w

    def lookup(self, ids):
        print("a subject that prints")
        warnings.warn("a subject that warns", DeprecationWarning, stacklevel=1)
        random.random()
        np.random.rand()
        return self.w[np.asarray(ids)]


class Wrong(Layer):
    def lookup(self, ids):
        return self.w[np.asarray(ids) - 1]


@pytest.fixture(scope="module")
def good():
    return embedding_conformance.check(Layer, keyword="LOOKUP or SHAPE")


def test_it_returns_what_the_command_prints(good):
    assert good and good.exit == 0 and good.verdict == "verified" and good.refuted == []
    text = repr(good)
    assert text == str(good) and text.startswith("judged in the caller's own process")
    assert text.splitlines()[-1].startswith("verdict=verified claims=") and f"{__name__}.Layer" in text
    assert "  lookup  " in text and "0x" not in text and "a subject that prints" not in text
    assert good.evidence["verdict"]["exit"] == 0 and "<pre>" in good._repr_html_()


def test_a_refuted_object_is_false_and_names_its_claims():
    found = embedding_conformance.check(Wrong, keyword="LOOKUP-01 or LOOKUP-02", seed=7)
    assert not found and found.exit == 1 and found.refuted == ["LOOKUP-01", "LOOKUP-02"]
    assert 'repeat      embedding_conformance.check(..., keyword="LOOKUP-01", seed=7)' in str(found)


def test_what_a_test_made_of_its_subject_goes_with_the_test():
    """However many tests there are, a few layers at a time are alive."""
    alive, most = weakref.WeakSet(), []

    class Counted(Layer):
        def __init__(self, table):
            super().__init__(table)
            alive.add(self)
            most.append(len(alive))

    assert embedding_conformance.check(Counted, keyword="LOOKUP or SHAPE")
    assert len(most) > 40 and max(most) < 20


def test_an_object_as_it_is_a_factory_and_a_string_are_taken():
    table = np.arange(40.0).reshape(10, 4)
    for subject in (Layer(table), lambda: Layer(table), "formulas"):
        found = embedding_conformance.check(subject, keyword="LOOKUP-01 or COS-01")
        assert found.verdict == "verified", found


def test_deviations_declarations_and_a_report(tmp_path):
    raises = {"out_of_range_below": "raise", "out_of_range_above": "raise"}
    found = embedding_conformance.check(Layer, declares=raises, keyword="LOOKUP-08", report=tmp_path)
    assert found.refuted == ["LOOKUP-08"] and str(tmp_path / "deviations.yaml") in str(found)
    accepted = embedding_conformance.check(Layer, declares=raises, keyword="LOOKUP-08", deviations={"LOOKUP-08": "by design"})
    assert accepted and "deviation  LOOKUP-08 accepted: by design" in str(accepted)
    outdated = embedding_conformance.check(Layer, keyword="LOOKUP-01", deviations={"LOOKUP-01": "by design"})
    assert outdated.exit == 1 and "OUTDATED  LOOKUP-01" in str(outdated)
    assert store.load(tmp_path / "evidence.json")["verdict"] == found.evidence["verdict"]


def test_wrong_arguments_are_refused_and_what_cannot_be_made_has_no_verdict():
    for arguments, said in (({"facets": "encodr"}, 'did you mean "encoder"'), ({"keyword": "and and"}, "and and"),
                            ({"declares": {"normalised": True}}, "normalized"),
                            ({"deviations": {"LOOKUP-01": ""}}, "no reason")):
        with pytest.raises(UsageError, match=said):
            embedding_conformance.check(Layer, **arguments)
    with pytest.raises(UsageError, match="no facet"):
        embedding_conformance.check(object())

    def broken():
        raise ValueError("no weights")

    found = embedding_conformance.check(broken)
    assert found.exit == 7 and found.verdict == "inconclusive" and "no weights" in str(found)
    assert embedding_conformance.check(Layer, keyword="no_such_word").exit == 5


def state():
    """What a run could leave behind in this process."""
    return {"threads": threading.active_count(), "files": len(os.listdir("/proc/self/fd")), "environment": dict(os.environ),
            "path": list(sys.path), "folder": os.getcwd(), "importers": list(sys.meta_path), "filters": list(warnings.filters),
            "random": random.getstate(), "numpy": str(np.random.get_state()), "out": sys.stdout, "err": sys.stderr,
            "last": getattr(sys, "last_value", None), "garbage": (gc.get_threshold(), gc.get_freeze_count())}


def test_the_process_is_as_it_was_and_the_evidence_the_same(good, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before, found = state(), []
    for _ in range(4):
        found.append(embedding_conformance.check(Layer, keyword="LOOKUP or SHAPE").evidence)
    assert state() == before and list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")
    for one in [*found, good.evidence]:
        del one["footer"], one["started"]
        for result in one["results"]:
            del result["seconds"]
    assert all(one == good.evidence for one in found)


def test_repeated_runs_keep_nothing(good):
    class Counted(Layer):
        made = 0

        def __init__(self, table):
            super().__init__(table)
            Counted.made += 1

        def __del__(self):
            Counted.made -= 1

    modules = len(sys.modules)
    for _ in range(3):
        assert embedding_conformance.check(Counted, keyword="LOOKUP-01 or LOOKUP-08 or ORDER").exit == 0
    gc.collect()
    assert Counted.made == 0 and len(sys.modules) == modules


def test_an_interrupt_is_the_caller_s(tmp_path):
    class Interrupted(Layer):
        def lookup(self, ids):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedding_conformance.check(Interrupted, keyword="LOOKUP-01", report=tmp_path)
    found = store.load(tmp_path / "evidence.json")
    assert found["verdict"]["word"] == "interrupted" and not found["footer"]["complete"]


def test_it_works_in_a_script_without_an_import_of_pytest(tmp_path):
    code = ("import sys, numpy as np, embedding_conformance\n"
            "class Layer:\n    def __init__(self, table): self.w = table\n    def table(self): return self.w\n"
            "    def lookup(self, ids): return self.w[ids]\n"
            "report = embedding_conformance.check(Layer, keyword='LOOKUP-01')\nprint(report)\nsys.exit(report.exit)\n")
    (tmp_path / "script.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 0 and "\n  Layer   Layer, built from tables   layer\n" in done.stdout, done.stdout + done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"script.py"}
