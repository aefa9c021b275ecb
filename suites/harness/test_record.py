"""Recordings: what is written, that nothing is overwritten, and that they are references."""

import json

import numpy as np
import pytest

from embedding_conformance import recordings
from embedding_conformance.errors import UsageError
from embedding_conformance.reference import open_reference
from embedding_conformance.texts import all_texts, read_texts

MINE = """
import zlib
import numpy as np

STALE = []

def embed(texts):
    rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(16) for text in texts]
    return np.stack(rows).astype(np.float32)

def changed(texts):
    found = embed(texts)
    for row, text in enumerate(texts):
        if "dog" in text:
            found[row] += 1
    return found

def refusing(texts):
    raise ValueError("cannot embed " + texts[-1])

def ragged(texts):
    return np.full((len(texts), 3), np.nan)
"""


@pytest.fixture
def mine(command):
    command.write("mine.py", MINE)
    return command


def test_a_recording_holds_vectors_texts_and_where_they_come_from(mine):
    done = mine("record", "python:mine.py:embed", "-o", "monday", "--declare", "precision=float32")
    assert done.returncode == 0, done.stderr
    found = recordings.read(mine.folder / "monday")
    assert [one.text for one in found.texts] == [one.text for one in all_texts()]
    assert found.vectors.shape == (len(found.texts), 16) and found.vectors.dtype == np.float32
    assert found.about["subject"] == "python:mine.py:embed" and found.about["count"] == len(found.texts)
    assert found.about["declares"]["precision"] == ["float32", "--declare"]
    assert found.about["environment"]["packages"]["numpy"] == np.__version__
    assert sorted(path.name for path in mine.folder.iterdir() if path.is_dir() and path.name != "__pycache__") == ["monday"]


def test_nothing_is_overwritten(mine):
    assert mine("record", "python:mine.py:embed", "-o", "monday").returncode == 0
    before = (mine.folder / "monday" / "recording.json").read_bytes()
    done = mine("record", "python:mine.py:changed", "-o", "monday")
    assert done.returncode == 4 and "nothing is overwritten" in done.stderr
    assert (mine.folder / "monday" / "recording.json").read_bytes() == before


def test_an_empty_folder_is_filled_and_a_file_is_not_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    recordings.write(tmp_path / "empty", np.ones((1, 2)), ["a"], {})
    assert recordings.read(tmp_path / "empty").texts[0].text == "a"
    (tmp_path / "file").write_text("kept")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        recordings.write(tmp_path / "file", np.ones((1, 2)), ["a"], {})
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("name", ["refusing", "ragged"])
def test_what_cannot_be_recorded_leaves_nothing_and_quotes_nothing(mine, name):
    mine.write("q.txt", "a confidential line\n")
    done = mine("record", f"python:mine.py:{name}", "-o", "monday", "--texts", "q.txt")
    assert done.returncode == 7
    assert "confidential" not in done.stdout + done.stderr
    assert not (mine.folder / "monday").exists()


@pytest.mark.parametrize("name", [recordings.VECTORS, recordings.TEXTS])
def test_a_changed_file_is_noticed(tmp_path, name):
    folder = tmp_path / "made"
    recordings.write(folder, np.ones((2, 3)), ["a", "b"], {})
    data = bytearray((folder / name).read_bytes())
    data[-3] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(UsageError, match="sha256 differs"):
        recordings.read(folder)


def test_a_recording_is_a_reference_of_its_own_texts(tmp_path):
    folder = tmp_path / "made"
    recordings.write(folder, np.arange(9.0).reshape(3, 3), ["a", "b", "a"], {"declares": {"normalized": [True, "x"]}})
    reference = open_reference(f"vectors:{folder}", [])
    assert [one.text for one in reference.texts] == ["a", "b"]
    assert all(one.own for one in reference.texts)
    assert reference.embed(["b", "a"]).tolist() == [[3, 4, 5], [0, 1, 2]]
    assert reference.declared("normalized") is True
    assert reference.capabilities == {"reference.embed"}


def test_stored_vectors_need_their_texts(tmp_path):
    np.save(tmp_path / "v.npy", np.ones((2, 3), np.float32))
    with pytest.raises(UsageError, match="--texts FILE"):
        open_reference(f"vectors:{tmp_path / 'v.npy'}", [])
    (tmp_path / "q.txt").write_text("a\nb\n")
    assert open_reference(f"vectors:{tmp_path / 'v.npy'}", read_texts(tmp_path / "q.txt")).embed(["a"]).shape == (1, 3)


def test_the_same_subject_agrees_with_its_recording_and_a_changed_one_does_not(mine):
    assert mine("record", "python:mine.py:embed", "-o", "monday").returncode == 0
    for name, word in (("embed", "passed"), ("changed", "violated")):
        mine("check", f"python:mine.py:{name}", "--reference", "vectors:monday", "-k", "AGREE-08 or AGREE-12", "--report", name)
        events = [json.loads(line) for line in (mine.folder / name / "events.jsonl").read_text().splitlines()]
        outcomes = {one["claims"][0]: one["outcome"] for one in events if one["event"] == "result"}
        assert outcomes == {"AGREE-08": word, "AGREE-12": word}
    evidence = json.loads((mine.folder / "changed" / "evidence.json").read_text())
    assert evidence["reference"]["name"] == "vectors:monday"
    stale = sum("dog" in one.text for one in all_texts())
    worst = next(one["worst"][0] for one in events if one["event"] == "result" and one["claims"] == ["AGREE-12"])
    assert worst.startswith(f"{stale} of {len(all_texts())} differ: at most ")
    assert "monday/texts.jsonl:" in worst and "chased" not in worst


def test_compare_says_what_to_type(command):
    done = command("compare", "onnx:int8", "st:org/name")
    assert done.returncode == 4
    assert "embedding-conformance check onnx:int8 --reference st:org/name" in done.stderr
