"""References, the texts of a comparison, diagnosis, and what of them reaches a report."""

import importlib
import json

import numpy as np
import pytest

from embedding_conformance import diagnosis
from embedding_conformance.bounds import Bound
from embedding_conformance.collection import withheld
from embedding_conformance.errors import UsageError
from embedding_conformance.evidence import ClaimViolation, Evidence, Explanation, HarnessFault
from embedding_conformance.handles import Embedder
from embedding_conformance.reference import default_reference, of_subject, open_reference, unit
from embedding_conformance.subjects import declared, open_subject
from embedding_conformance.subjects.python_object import from_object
from embedding_conformance.texts import Text, agreement_texts, all_texts, few_texts, read_texts

# --- texts -------------------------------------------------------------------------------------------------------------


def test_texts_of_a_user_are_cited_by_line(tmp_path):
    path = tmp_path / "q.txt"
    path.write_bytes("\ufefffirst\r\n\n  second  \n".encode())
    assert read_texts(path) == [Text("first", "q.txt:1", True), Text("  second  ", "q.txt:3", True)]
    assert read_texts(path)[0].shown() == "q.txt:1"


def test_texts_may_come_as_lines_of_json(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"text": "a\\nb", "id": 3}\n\n{"text": "c"}\n')
    assert [(one.text, one.cite) for one in read_texts(path)] == [("a\nb", "q.jsonl:1"), ("c", "q.jsonl:3")]


@pytest.mark.parametrize(("name", "content", "says"), [
    ("q.txt", b"\n \n", "no text in it"), ("q.txt", b"ab\xff", "not UTF-8: byte 2"),
    ("q.jsonl", b'{"text": "a"}\nsecret\n', "q.jsonl:2"), ("q.jsonl", b'{"text": 1}\n', "no text"),
    ("none.txt", None, "none.txt")])
def test_texts_that_cannot_be_read_are_refused_without_a_quote(tmp_path, name, content, says):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=says) as caught:
        read_texts(path)
    assert "secret" not in str(caught.value)


def test_the_harness_texts_are_apart_from_each_other_and_few_are_some_of_them():
    texts = [one.text for one in agreement_texts()]
    assert len(set(texts)) == len(texts) and all(isinstance(text, str) and text for text in texts)
    assert set(few_texts()) < set(agreement_texts()) and len(few_texts()) == 10
    assert texts != sorted(texts, key=len)


def test_what_a_subject_says_is_withheld():
    assert withheld("embed raised ValueError: cannot embed my secret").startswith("embed raised ValueError (what it said")
    assert withheld("token_ids returned ['my', 'secret']").startswith("token_ids returned (what")
    assert withheld("0.3 worst") == "0.3 worst"


# --- references --------------------------------------------------------------------------------------------------------


def test_the_default_reference_of_the_bundled_model_is_the_oracle():
    subject = open_subject("bundled")
    reference = default_reference(subject, few_texts())
    assert reference is default_reference(subject, few_texts()) and reference.is_oracle
    assert reference.declared("precision") == "float64"
    found = reference.embed(["hello world"])[0]
    assert found[:5] == pytest.approx([-0.034478, 0.03102, 0.00673, 0.02611, -0.039362], abs=6e-6)


def test_there_is_no_default_reference_for_what_is_no_bert():
    assert default_reference(from_object(lambda texts: np.ones((len(texts), 2)), "f"), few_texts()) is None


def test_a_subject_that_embeds_is_a_reference_and_one_that_does_not_is_none():
    reference = open_reference("bundled", [Text("x", "q:1", True)])
    assert {"reference.token_ids", "reference.embed", "reference.scale"} <= reference.capabilities
    assert reference.texts[-1].text == "x" and not reference.is_oracle
    with pytest.raises(UsageError, match="no encoder and no embedder"):
        open_reference("formulas", [])


def test_a_reference_that_answers_with_something_else_is_no_fault_of_the_subject():
    def f(texts):
        return np.full((len(texts), 2), np.nan)
    with pytest.raises(ValueError, match="the reference f gave"):
        of_subject(from_object(f, "f"), []).embed(["a"])


# --- the gateway -------------------------------------------------------------------------------------------------------


def test_texts_agree_judges_each_by_its_own_bound():
    evidence = Evidence()
    evidence.texts_agree([1.0, 0.1], Bound(np.array([1.0, 0.2]), "why"), "d", lambda place: [f"text {place}"])
    with pytest.raises(ClaimViolation) as caught:
        evidence.texts_agree([1.0, 0.3], Bound(np.array([1.0, 0.2]), "why"), "d", lambda place: [f"text {place}"],
                             lambda: Explanation("x"))
    assert caught.value.worst == ["text 1"] and caught.value.explanation == Explanation()
    assert [one.measured for one in evidence.comparisons] == [1.0, 0.3]
    explaining = Evidence(explains=True)
    with pytest.raises(ClaimViolation) as caught:
        explaining.texts_agree([1.0], Bound(0.0, "why"), "d", lambda place: [], lambda: Explanation("x", "y"))
    assert caught.value.explanation == Explanation("x", "y")


@pytest.mark.parametrize(("distances", "bound"), [([np.nan], 1.0), ([1.0], np.inf), ([1.0], -1.0), ([], 1.0)])
def test_texts_agree_refuses_what_says_nothing(distances, bound):
    with pytest.raises(HarnessFault):
        Evidence().texts_agree(distances, Bound(bound, "why"), "d", lambda place: [])


# --- diagnosis ---------------------------------------------------------------------------------------------------------


def diagnosed(unexplained, **residuals):
    return diagnosis.explain(unexplained, [(name.replace("_", "/"), value) for name, value in residuals.items()],
                             abs, lambda one, other: abs(one - other))


def test_a_fault_is_named_only_if_it_leaves_a_quarter_at_most():
    assert diagnosed(1.0, a_x=0.25, b_x=1.0).named.name == "a/x"
    assert diagnosed(1.0, a_x=0.26, b_x=2.0).named is None
    assert diagnosed(1.0, a_x=0.2, b_x=0.5).named is None
    assert diagnosed(1.0, a_x=0.1, b_x=0.5).named.name == "a/x"
    assert diagnosed(0.0, a_x=0.0).named is None
    assert diagnosed(1.0).named is None


def test_doubles_and_variants_of_a_fault_are_no_rivals():
    attempts = [("a/x", 0.1), ("a/x (more)", 0.11), ("b/y", 0.1 + 1e-14), ("c/z", 0.9)]
    found = diagnosis.explain(1.0, attempts, abs, lambda one, other: abs(one - other))
    assert found.named.name == "a/x" and found.rival.name == "c/z"
    assert str(found) == "a/x: applied to the reference it gives this subject within 0.1 (next: c/z, 0.9)"


def test_a_difference_that_nothing_explains_says_so():
    assert str(diagnosed(1.0, a_x=0.5)) == "no registered fault explains it (the closest of 1, a/x, leaves 0.5 of 1)"
    assert str(diagnosed(1.0)) == "no registered fault can be tried here"


def test_every_candidate_can_be_applied_to_the_oracle():
    """Those that could not would silently explain nothing."""
    whole = default_reference(open_subject("bundled"), few_texts()).whole
    texts = ["the cat", "a small harbour lay behind the hills"]
    for seam in ("ids", "input", "states", "batch", "pooling", "length", "rows"):
        known = diagnosis.candidates(seam)
        answers = diagnosis.tried(whole, [seam], lambda broken: broken.embed(texts), lambda broken: False)
        assert [name for name, _ in answers] == [one.name for one in known] and known


def test_a_black_box_is_explained_by_texts_and_rows():
    stages = importlib.import_module("embedding_conformance.suites.agreement.stages")

    def plain(texts):
        return unit(np.stack([np.random.default_rng(list(text.encode())).standard_normal(8) for text in texts]))

    reference = of_subject(from_object(plain, "plain"), list(few_texts()))
    for change, name in [(lambda texts: plain(texts)[::-1], "agreement/rows-reversed"),
                         (lambda texts: plain([f"query: {text}" for text in texts]), "agreement/stray-prefix ('query: ')"),
                         (lambda texts: plain([text.lower() for text in texts]), "lower case"),
                         (lambda texts: plain(texts) * 3, "")]:
        found = stages.look_at_vectors(Embedder(from_object(change, "changed")), reference)
        assert (found.named.name if found.named else "") == name


def test_int8_is_judged_by_the_declared_drift_or_the_ceiling():
    stages = importlib.import_module("embedding_conformance.suites.agreement.stages")
    subject = from_object(lambda texts: np.ones((len(texts), 2)), "f")
    reference = default_reference(open_subject("bundled"), few_texts())
    subject.declares |= declared({"precision": "int8"}, "test")
    answer = np.ones((1, 2), np.float32)
    assert stages.network_bounds(reference, Embedder(subject), answer)[0].value == 0.25
    subject.declares |= declared({"drift": 0.01}, "test")
    assert stages.network_bounds(reference, Embedder(subject), answer)[0].value == 0.01
    subject.declares |= declared({"precision": "float16"}, "test")
    assert stages.network_bounds(reference, Embedder(subject), answer)[0].value == 1e-4


# --- the command -------------------------------------------------------------------------------------------------------

SUBJECTS = """
import zlib
import numpy as np

def vector(text):
    found = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(16)
    return found / np.linalg.norm(found)

def plain(texts):
    return np.stack([vector(text) for text in texts]).astype(np.float32)

def reversed_rows(texts):
    return plain(texts)[::-1]

def refusing(texts):
    if any("confidential" in text for text in texts):
        raise ValueError(f"no vector for {texts!r}")
    return plain(texts)

def sulking(texts):
    raise LookupError("the reference is down: " + " ".join(texts))
"""


@pytest.fixture
def given(command):
    command.write("mine.py", SUBJECTS)
    command.write("q.txt", "a confidential line\nanother confidential one\n")
    return command


def outcomes(folder):
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    return {one["claims"][0]: one for one in events if one["event"] == "result"}


def test_a_difference_is_named_in_every_report_and_can_be_repeated(given):
    done = given("check", "python:mine.py:reversed_rows", "--reference", "python:mine.py:plain", "--texts", "q.txt", "-k",
                 "AGREE-10", "--report", "r")
    assert done.returncode == 1
    assert "looks like  agreement/rows-reversed" in done.stdout
    assert "--reference python:mine.py:plain --texts q.txt --seed 0 -k AGREE-10" in done.stdout
    assert "reference" in done.stdout and f"{len(all_texts()) + 2}, of which those of q.txt" in done.stdout
    for name in ("index.html", "summary.md", "junit.xml"):
        assert "agreement/rows-reversed" in (given.folder / "r" / name).read_text(encoding="utf-8")
    evidence = json.loads((given.folder / "r" / "evidence.json").read_text(encoding="utf-8"))
    assert evidence["reference"]["name"] == "python:mine.py:plain" and evidence["reference"]["own"] == "q.txt"
    again = given("report", "r/evidence.json", "-o", "again.html")
    assert "AGREE-10" in (given.folder / "again.html").read_text(encoding="utf-8"), again.stderr


@pytest.mark.parametrize("subject", ["reversed_rows", "refusing"])
@pytest.mark.parametrize("reference", ["plain", "sulking"])
def test_own_texts_are_never_quoted(given, subject, reference):
    done = given("check", f"python:mine.py:{subject}", "--reference", f"python:mine.py:{reference}", "--texts", "q.txt", "-k",
                 "AGREE-", "-v", "--report", "r")
    written = "".join(path.read_text(encoding="utf-8") for path in (given.folder / "r").iterdir() if path.is_file())
    assert "confidential" not in done.stdout + done.stderr + written
    # The subject is asked first; a reference that fails says nothing about it.
    expected = "error" if (subject, reference) == ("reversed_rows", "sulking") else "violated"
    assert outcomes(given.folder / "r")["AGREE-08"]["outcome"] == expected


def test_without_a_reference_the_chapter_does_not_apply(given):
    done = given("check", "python:mine.py:plain", "-k", "AGREE-08")
    assert done.returncode == 5
    assert "no reference (--reference SUBJECT)" in done.stdout


@pytest.mark.parametrize(("reference", "code", "says"), [
    ("nothing", 4, 'unknown subject "nothing"'), ("formulas", 4, "nothing to compare|no encoder and no embedder"),
    ("python:mine.py:none", 4, "none")])
def test_a_reference_that_cannot_be_opened_ends_the_run(given, reference, code, says):
    done = given("check", "python:mine.py:plain", "--reference", reference, "-k", "AGREE-08")
    assert done.returncode == code
    assert any(word in done.stderr for word in says.split("|"))
