"""Whatever is written where a user writes, the answer is what it means or one message that says what is wrong with it.

Each parser is one entry of `PARSERS`: a strategy for what is written, and the function that reads it. To add one, add an
entry. In the gate the examples are the same each time; ``tox -e fuzz`` draws many others.
"""

import copy
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("hypothesis")

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from embedding_conformance import claims, cli, subjects
from embedding_conformance.errors import Refusal, UsageError
from embedding_conformance.report import atomically, store
from embedding_conformance.verdict import WORDS

from .runs import LAYER

# Nothing of Hypothesis's own stays in the checkout.
set_hypothesis_home_dir(tempfile.mkdtemp(prefix="hypothesis-"))
settings.register_profile("gate", derandomize=True, database=None, deadline=None, max_examples=150,
                          suppress_health_check=list(HealthCheck))
settings.register_profile("fuzz", database=None, deadline=None, max_examples=5_000, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))

#: for what costs more to read
FEWER = settings(max_examples=settings().max_examples // 3)
#: text with what breaks parsers: halves of characters, commands to a terminal, digits that are none, long lines
ODD = st.text(st.one_of(st.characters(), st.sampled_from("\x00\x1b\n\r\u2028\ud800\udc80²٣:@#=[]{}*&/\\.~$% '\"")), max_size=60)
WORDS_OF_STRINGS = st.lists(st.one_of(ODD, st.sampled_from(
    ["..", "/", ":", "@", ".py", "mine.py", "mine", "Layer", "open", "documents", "/etc/passwd", "os", "sys", "__main__",
     "lookup/row-minus-one", "http://127.0.0.1:1", "-", "~", "x" * 5000])), max_size=6).map("".join)
JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ODD),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD, inner, max_size=4), max_leaves=12)
SUBJECTS = st.one_of(ODD, st.builds("{}:{}".format, st.sampled_from(sorted(subjects.ADAPTERS)), WORDS_OF_STRINGS))
DECLARED = st.one_of(ODD, st.builds("{}={}".format, st.sampled_from(sorted(subjects.DECLARATIONS)), st.one_of(
    ODD, JSON.map(json.dumps), st.integers().map(str), st.floats().map(str), st.sampled_from(["[" * 100_000, "9" * 5000]),
    st.sampled_from([word for words in subjects.CHOICES.values() for word in words]))))


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The working folder, with one file of the user's that may be loaded."""
    here, before = tmp_path_factory.mktemp("fuzz"), Path.cwd()
    (here / "mine.py").write_text(LAYER, encoding="utf-8")
    os.chdir(here)
    yield here
    os.chdir(before)


@pytest.fixture(scope="module")
def evidence(folder, run_in):
    """The text of sound evidence."""
    done = run_in(folder)("check", "python:mine.py:Layer", "-k", "LOOKUP-01 or LOOKUP-02", "--report", "sound")
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "sound" / "evidence.json").read_text(encoding="utf-8")


def one_message(refusal):
    assert str(refusal) and isinstance(refusal, Refusal)


def read_subject(text):
    scheme, _, rest = text.partition(":")
    if scheme in ("torch", "bundled", "tokenizers", "formulas", "documents") and not rest:
        return
    assert isinstance(subjects.open_subject(text), subjects.Subject)


def read_declaration(text):
    key, value = subjects.parse_declaration(text)
    checked = subjects.declared({key: value}, "--declare")[key].value
    assert isinstance(checked, (int, float) if subjects.DECLARATIONS[key] is float else subjects.DECLARATIONS[key])


PARSERS = {"subject": (SUBJECTS, read_subject), "declaration": (DECLARED, read_declaration)}


#: what the interpreter tells an audit hook of, and what reading a word must never do
FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "socket.getaddrinfo",
             "os.remove", "os.rename", "os.mkdir", "os.truncate", "os.chmod", "shutil.rmtree", "pickle.find_class"}
WATCHED = {"on": False}


def audit(event, args):
    """A hook stays until the interpreter ends, so it only looks while it is asked to."""
    if not WATCHED["on"] or any("__pycache__" in str(arg) for arg in args):  # an adapter is imported when it is first named
        return
    if event in FORBIDDEN:
        raise AssertionError(f"{event} {args}")
    if event == "open" and args[0] is not None and not isinstance(args[0], int):  # a number is a file that is open already
        writes = bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) if isinstance(args[2], int) else False
        if writes or args[0] == "/etc/passwd":
            raise AssertionError(f"{event} {args}")


@pytest.fixture(scope="module")
def hook():
    sys.addaudithook(audit)


@pytest.mark.parametrize("name", PARSERS)
def test_one_message_or_what_it_means(name, hook):
    """And on the way nothing is run, reached or written."""
    strategy, read = PARSERS[name]

    @given(strategy)
    @example("hf:" + "x" * 5000)
    @example("x" * 5000)
    @example("drift=nan")
    @example("max_seq_length=²")
    def holds(text):
        WATCHED["on"] = True
        try:
            read(text)
        except Refusal as refusal:
            one_message(refusal)
        finally:
            WATCHED["on"] = False

    holds()


CLAIM = {"id": "XX-01", "says": {"en": "One.", "zh": "一。"}, "source": ["000:1"], "kind": "exact"}
FIELDS = st.sampled_from(sorted(claims.Claim.model_fields))
CLAIMS = st.one_of(
    JSON,
    st.lists(st.builds(lambda changes, ident: CLAIM | changes | {"id": ident},
                       st.dictionaries(FIELDS, JSON, max_size=3), st.sampled_from(["XX-01", "XX-02", "YY-01", "x"]) | JSON),
             max_size=4),
    st.lists(st.builds(lambda after, proxy, ident: CLAIM | {"after": after, "proxy": proxy, "id": ident},
                       *[st.lists(st.sampled_from(["XX-01", "XX-02", "XX-03"]), max_size=3)] * 2,
                       st.sampled_from(["XX-01", "XX-02", "XX-03"])), max_size=4))


def read_claims(folder, text):
    root = folder / "claims"
    (root / "chapter").mkdir(parents=True, exist_ok=True)
    (root / "catalogue.yaml").write_text("version: 1\n", encoding="utf-8")
    (root / "chapter" / "claims.yaml").write_bytes(text)
    try:
        return claims.load(root)
    except UsageError as refusal:
        one_message(refusal)
        assert "claim" in str(refusal)
    return None


@given(CLAIMS.map(lambda value: yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")))
def test_a_catalogue_or_one_message(folder, text):
    read_claims(folder, text)


@given(st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(
    ["- id: XX-01\n", "  says: {en: a, zh: b}\n", "&a ", "*a ", "<<: *a\n", "!!python/object/apply:os.system [ls]\n", "? ",
     ": ", "- ", "[", "{", "|\n", "---\n", "...\n", "%YAML 1.2\n", "\t", "!!binary x\n", "!!set {a}\n", "2001-01-01",
     "2001-99-99", ".nan", "\x85", "'"]), max_size=12).map("".join).map(str.encode)))
@example(b"- ?")
def test_yaml_of_any_kind_is_a_catalogue_or_one_message(folder, text):
    read_claims(folder, text)


@pytest.mark.parametrize("place", ["note", "requires", "says", "source", "id", "nothing"])
def test_an_anchor_bomb_is_refused_at_once(folder, place):
    """Every line names the one before it nine times: a hundred lines would be more than memory holds."""
    lines = ["  - &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"  - &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in range(1, 100)]
    claim = CLAIM | {place: "*a99"} if place != "nothing" else CLAIM
    bomb = "\n".join(["- requires:", "   bomb:", *[f"  {line}" for line in lines],
                      *[f"  {key}: {value if value == '*a99' else json.dumps(value)}" for key, value in claim.items()
                        if key != "requires"]])
    read_claims(folder, b"[]")
    (folder / "claims" / "chapter" / "claims.yaml").write_text(bomb, encoding="utf-8")
    start = time.monotonic()
    with pytest.raises(UsageError, match=r"claims.yaml: aliases such as \*name are not read"):
        claims.load(folder / "claims")
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("text", ["- [" * 3000, "- {a: " * 3000, "- " * 3000, "[" * 100_000])
def test_deep_yaml_is_refused(folder, text):
    assert read_claims(folder, text.encode()) is None


def places(value, path=()):
    """Every place in a JSON value, as the way to it."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def changed(value, path, new):
    """A copy of a JSON value with something else in one place, or without it."""
    value = copy.deepcopy(value)
    if not path:
        return new
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if new is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return value


REMOVED = object()
NEW = st.one_of(JSON, st.just(REMOVED), st.sampled_from([*WORDS, 0, 1, -1, 10 ** 30, "", [], {}, None, True]))


@FEWER
@given(st.data())
def test_evidence_that_was_changed_is_refused_with_one_message(folder, evidence, data):
    """Or what was changed says nothing about a verdict; then it renders as before."""
    whole = json.loads(evidence)
    path = data.draw(st.sampled_from(list(places(whole))))
    text = json.dumps(changed(whole, path, data.draw(NEW)), default=lambda value: None)
    found = read_evidence(folder, text)
    if found is not None:
        assert found["verdict"]["exit"] == whole["verdict"]["exit"]
        assert store.dump(found)


@FEWER
@given(st.data())
def test_evidence_that_was_cut_or_spoilt_is_refused(folder, evidence, data):
    raw = evidence.encode()
    first = data.draw(st.integers(0, len(raw) - 1))
    last = data.draw(st.integers(first + 1, min(first + 200, len(raw))))
    read_evidence(folder, raw[:first] + data.draw(st.binary(max_size=5)) + raw[last:])
    assert read_evidence(folder, raw[:first].rstrip()) is None or raw[first:].isspace()


def read_evidence(folder, text):
    path = folder / "changed.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    try:
        return store.load(path)
    except UsageError as refusal:
        one_message(refusal)
        assert str(refusal).startswith(str(path))
    return None


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "NaN", "\ufeff{}"])
def test_json_that_overwhelms_a_parser_is_refused(folder, text):
    assert read_evidence(folder, text) is None
    with pytest.raises(UsageError):
        events_of(folder, text.encode() + b"\n")


EVENT = st.fixed_dictionaries({"event": st.sampled_from(
    ["opening", "opened", "collected", "not_applicable", "started", "result", "proved", "lost", "refused", "finished", "x",
     "_watch__x", "read"]) | JSON}, optional=dict.fromkeys(
        ("subject", "items", "nodeid", "claims", "results", "why", "exit", "message", "seconds", "not_applicable"), JSON))


@given(st.lists(EVENT | JSON, max_size=6), st.binary(max_size=5))
@example([{"event": "result", "nodeid": None}], b"")
@example([{"event": "result", "nodeid": None, "seconds": None}], b"")
def test_the_events_of_a_run_or_one_message(folder, lines, rest):
    text = "".join(json.dumps(line) + "\n" for line in lines).encode("utf-8", "surrogatepass") + rest
    try:
        assert store.dump(events_of(folder, text))
    except UsageError as refusal:
        one_message(refusal)


def events_of(folder, text):
    path = folder / "changed.jsonl"
    path.write_bytes(text)
    return cli._recovered(path)


@given(ODD)
def test_what_no_encoding_holds_can_be_written(folder, text):
    atomically(folder / "odd.json", json.dumps(text, ensure_ascii=False))
    assert json.loads((folder / "odd.json").read_text(encoding="utf-8")) == text
