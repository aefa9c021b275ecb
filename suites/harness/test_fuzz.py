"""Whatever is written where a user writes, the answer is what it means or one message that says what is wrong with it.

Each parser is one entry of `PARSERS`: a strategy for what is written, and the function that reads it. To add one, add an
entry. In the gate the examples are the same each time; ``tox -e fuzz`` draws many others.
"""

import base64
import copy
import json
import os
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("hypothesis")

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from embedding_conformance import claims, cli, deviations, subjects
from embedding_conformance.errors import Refusal, UsageError
from embedding_conformance.evidence import ClaimViolation
from embedding_conformance.report import atomically, store
from embedding_conformance.subjects import limits, openai_service, service_client, wire
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


# --- accepted failures -------------------------------------------------------------------------------------------------


KNOWN = claims.Catalogue([claims.Claim(id="LOOKUP-08", says={"en": "x", "zh": "x"}, source=["000:1"], kind="exact",
                                       aliases=["LOOKUP-99"])])
WRITTEN = st.one_of(ODD, st.sampled_from(
    ["", " ", "x", "by design", "2027-03-31", "20270331", "2027-02-30", "2027-03-31 10:00:00", "0", "yes", "null", "~", "=",
     "<<", ".nan", "1e3", "0x1F", "a: b", "x #y", "-", "x" * 5000, "# x", "[a]", "{a: b}"]))
#: a field as YAML writes a value; most are texts that need no quotes or have them
FIELD = st.one_of(WRITTEN.map(lambda text: yaml.safe_dump(text, allow_unicode=True, width=10**6).removesuffix("...\n").strip()),
                  WRITTEN, WRITTEN.map(json.dumps), JSON.map(json.dumps),
                  st.sampled_from(["", "[]", "{}", "[[]]", "&a x", "*a", "!!str x", "|", '"\\UFFFFFFFF"', '"\\ud800"']))
KEY = st.one_of(st.sampled_from(deviations.KEYS), st.sampled_from(["claim", "origin", "untill", "", "<<", "? x"]), WRITTEN)
ENTRY = st.one_of(FIELD, st.dictionaries(KEY, FIELD, max_size=3).map(
    lambda fields: "{" + ", ".join(f"{key}: {value}" for key, value in ({"because": "x"} | fields).items()) + "}"))
FILE = st.lists(st.one_of(
    st.builds("{}: {}\n".format, st.sampled_from(["LOOKUP-08", "LOOKUP-99", "AA-01", '"\\e"', "?", "<<", "1", "~"]) | WRITTEN,
              ENTRY),
    st.builds("{}:\n- {}\n- {}\n".format, st.sampled_from(["LOOKUP-08", "AA-01"]), ENTRY, ENTRY),
    st.sampled_from(["---\n", "...\n", "%YAML 1.2\n", "\t", "# x\n", "- x\n", "\ufeff", "\x85", "["]), ODD),
    max_size=4).map("".join)
EMPTY = ("", "~", "null", "Null", "NULL")


def read_deviations(folder, text):
    path = folder / "deviations.yaml"
    path.write_bytes(text)
    try:
        return deviations.read(path, KNOWN)
    except UsageError as refusal:
        one_message(refusal)
        assert str(refusal).startswith(f"{path}:")
    return None


def as_it_says(value):
    return " ".join(value.split())


@given(FILE.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60))
@example(b'LOOKUP-08: "\\UFFFFFFFF"')
@example(b'LOOKUP-08: "\\U00110000"')
@example(b"LOOKUP-08: []")
@example(b'LOOKUP-08: {because: x, until: "2027-03-31"}')
@example(b'"\\ud800": "\\ud800"')
def test_accepted_failures_are_those_of_the_file_or_one_message(folder, text):
    """What is accepted is what YAML says when it takes every value for text."""
    found = read_deviations(folder, text)
    if found is None:
        return
    entries = [(claim, one) for claim, value in (yaml.load(text.decode(), yaml.BaseLoader) or {}).items()
               for one in (value if isinstance(value, list) else [value])]
    assert len(found) == len(entries)
    for deviation, (claim, value) in zip(found, entries, strict=True):
        entry = value if isinstance(value, dict) else {"because": value}
        assert deviation.claim == ("LOOKUP-08" if claim == "LOOKUP-99" else claim)
        assert deviation.because and deviation.because == as_it_says(entry["because"])
        for key in ("issue", "match", "case", "subject"):
            assert getattr(deviation, key) in (as_it_says(entry.get(key, "")), *[""] * (entry.get(key) in EMPTY))
        until = entry.get("until", "")
        assert deviation.until == (None if until in EMPTY else date.fromisoformat(until))
        assert bool(deviation.unknown) == (deviation.claim != "LOOKUP-08")
        assert set(entry) <= set(deviations.KEYS)


PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20).filter(str.strip)
MEANT = st.one_of(PLAIN, st.lists(st.fixed_dictionaries({"because": PLAIN}, optional=dict.fromkeys(
    ("match", "case", "subject", "issue"), PLAIN) | {"until": st.dates()}), min_size=1, max_size=3))


@given(st.dictionaries(st.sampled_from(["LOOKUP-08", "LOOKUP-99", "AA-01"]) | PLAIN, MEANT, max_size=4))
def test_accepted_failures_come_back_as_they_were_written(folder, meant):
    found = read_deviations(folder, yaml.safe_dump(meant, allow_unicode=True).encode())
    assert found is not None
    entries = [(claim, one if isinstance(one, dict) else {"because": one}) for claim, value in meant.items()
               for one in (value if isinstance(value, list) else [value])]
    texts = ("because", "match", "case", "subject", "issue")
    assert sorted((one.claim, str(one.until), *(getattr(one, key) for key in texts)) for one in found) == sorted(
        (claim.replace("LOOKUP-99", "LOOKUP-08"), str(entry.get("until")), *(as_it_says(entry.get(key, "")) for key in texts))
        for claim, entry in entries)


#: what a test in Python may hold, and what no file can
ANYTHING = st.one_of(JSON, st.dates(), st.datetimes(), st.binary(max_size=3), st.just(np.zeros(2)), st.just(np.float32(1)),
                     st.just(Ellipsis), st.tuples(ODD, ODD), st.sampled_from(["x", "2027-03-31"]))


@given(ANYTHING | st.dictionaries(st.sampled_from(["LOOKUP-08", "LOOKUP-99"]) | ODD, ANYTHING | st.dictionaries(
    st.sampled_from(deviations.KEYS) | ODD, ANYTHING, max_size=3).map(lambda fields: {"because": "x"} | fields), max_size=3))
@example({"LOOKUP-08": {"because": "x", "match": np.zeros(2)}})
@example({"LOOKUP-08": []})
def test_a_dictionary_of_accepted_failures_or_one_message(values):
    try:
        found = deviations.from_mapping(values, "here", KNOWN)
    except UsageError as refusal:
        one_message(refusal)
        assert str(refusal).startswith("here: ")
        return
    assert len(found) >= len(values)
    for deviation in found:
        assert deviation.because and (deviation.until is None or type(deviation.until) is date)
        assert isinstance(deviation.match, str) and isinstance(deviation.case, str)


# --- what a service answers --------------------------------------------------------------------------------------------


NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([None, True, "0.5", 10**39, 10**400, 1e39, 1e-50, [0.5], {}]))
EMBEDDINGS = st.one_of(
    st.lists(NUMBERS, max_size=3), st.lists(st.floats(width=32), min_size=24, max_size=24),
    st.binary(max_size=9).map(base64.b64encode).map(bytes.decode),
    st.sampled_from(["AAAA", "AACAPw==", "AAC=", "AADAfw==", "AACA Pw==", "="]))
PLACES = st.one_of(st.integers(-2, 4), st.sampled_from([None, True, 0.0, 1.0, "0", 10**30]))
ENTRIES = st.one_of(JSON, st.fixed_dictionaries({}, optional={"index": PLACES, "embedding": EMBEDDINGS}))
DEEP = st.sampled_from(["[", '{"data":', '{"error":', '{"data":[{"index":0,"embedding":[']).flatmap(
    lambda opening: st.integers(1, 2000).map(lambda depth: opening * depth))
ODD_BODIES = st.one_of(st.binary(max_size=60), JSON.map(json.dumps).map(str.encode), DEEP.map(str.encode), st.sampled_from(
    [b"", b"<html>", b"NaN", b"null", b"9" * 5000, b"\xff\xfe{}", b'{"error": {"message": "\\ud800\\u001b[2J"}}',
     b'{"error": "' + b"x" * 5000 + b'"}', b'{"data": null}', b"[" * 400 + b"]" * 400,
     b'{"detail": ' + b"[" * 900 + b"]" * 900 + b"}"]))


FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(FINITE, min_size=width, max_size=width), min_size=1,
                                                        max_size=4))


def written(rows, order, encoding):
    """The value of an answer with these rows, whose entries stand in this order."""
    return {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}, "data": [
        {"object": "embedding", "index": place, "embedding": wire.encode(rows[place]) if encoding == "base64" else rows[place]}
        for place in order]}


def spoilt(draw, value):
    """The value of an answer with one thing in it that is mostly wrong."""
    data = value["data"] if isinstance(value, dict) and isinstance(value.get("data"), list) else []
    place = draw(st.sampled_from(range(len(data)))) if data else 0
    kind = draw(st.sampled_from(["type", "index", "number", "embedding", "entry", "count", "any"]))
    if not data or not isinstance(data[place], dict) or kind == "any":
        return changed(value, draw(st.sampled_from(list(places(value)))), draw(JSON))
    entry, index, row = data[place], data[place].get("index"), data[place].get("embedding")
    if kind == "type" and type(index) is int:
        new = [entry | {"index": draw(st.sampled_from([bool, float, str]))(index)}]
    elif kind == "index":
        new = [entry | {"index": draw(PLACES)}]
    elif kind == "number" and isinstance(row, list):
        new = [entry | {"embedding": [*row[1:], *draw(st.lists(NUMBERS, min_size=1, max_size=2))]}]
    elif kind == "count":
        new = draw(st.sampled_from([[], [entry, entry]]))
    else:
        new = [entry | {"embedding": draw(EMBEDDINGS)}] if kind == "embedding" else [draw(ENTRIES)]
    return value | {"data": [*data[:place], *new, *data[place + 1:]]}


@st.composite
def bodies(draw, count, encoding="float"):
    """The sound answer to so many texts, or one that was spoilt, or anything."""
    kind = draw(st.sampled_from(["sound", *["spoilt"] * 4, "cut", "odd"]))
    if kind == "odd":
        return draw(ODD_BODIES)
    rows = draw(st.lists(st.lists(FINITE, min_size=2, max_size=2), min_size=count, max_size=count))
    value = written(rows, draw(st.permutations(range(count))), encoding)
    for _ in range(draw(st.sampled_from([1, 1, 2])) if kind == "spoilt" else 0):
        value = spoilt(draw, value)
    body = json.dumps(value).encode()
    return body[:draw(st.integers(0, len(body) - 1))] if kind == "cut" else body


def meant(body, count, encoding):
    """The rows of an answer in the order of their index, read apart from `wire`: number by number."""
    rows = {}
    for entry in json.loads(body)["data"]:
        assert type(entry["index"]) is int and entry["index"] not in rows
        row = entry["embedding"]
        assert encoding == "base64" or {type(number) for number in row} <= {int, float}
        rows[entry["index"]] = np.frombuffer(base64.b64decode(row, validate=True), "<f4") if encoding == "base64" else row
    assert set(rows) == set(range(count))
    return np.array([rows[place] for place in range(count)], dtype=np.float32)


def one_violation(violation):
    assert 0 < len(str(violation)) < 1000 and json.dumps(violation.worst)


@given(ROWS, st.sampled_from(["float", "base64"]), st.randoms(use_true_random=False))
def test_sound_vectors_are_read_in_the_order_of_their_index(rows, encoding, random):
    order = random.sample(range(len(rows)), len(rows))
    answer = wire.Answer(200, {}, json.dumps(written(rows, order, encoding)).encode())
    np.testing.assert_array_equal(wire.vectors(answer, len(rows), encoding), np.array(rows, np.float32))


ASKED = st.tuples(st.integers(0, 3), st.sampled_from(["float", "base64"])).flatmap(
    lambda asked: st.tuples(st.just(asked[0]), st.just(asked[1]), bodies(*asked)))


@given(ASKED, ODD, st.sampled_from([200] * 9 + [201, 400, 500, 999]))
@example((1, "float", b'{"data": [{"index": false, "embedding": [1]}]}'), "", 200)
@example((1, "float", b'{"data": [{"index": 0.0, "embedding": [1]}]}'), "", 200)
@example((2, "float", b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}'), "", 200)
@example((1, "float", b'{"data": [{"index": 0, "embedding": [true]}]}'), "", 200)
@example((1, "float", b'{"data": [{"index": 0, "embedding": [1' + b"0" * 400 + b"]}]}"), "", 200)
@example((1, "float", b'{"data": [{"index": 0, "embedding": [1e39]}]}'), "", 200)
@example((1, "float", b'{"data": [{"index": 0, "embedding": [NaN]}]}'), "", 200)
@example((1, "base64", b'{"data": [{"index": 0, "embedding": "AADAfw=="}]}'), "", 200)
@example((1, "base64", b'{"data": [{"index": 0, "embedding": "AA CAPw=="}]}'), "", 200)
@example((1, "base64", b'{"data": [{"index": 0, "embedding": "AAAAAAA="}]}'), "", 200)
@example((1, "float", b"[" * 100_000), "", 200)
@example((1, "float", b'{"data": [{"index": ' + b"9" * 5000 + b"}]}"), "", 200)
def test_vectors_are_those_of_the_answer_or_a_violation(asked, media, status):
    """And they are finite, of one width, and in the order of the texts, whatever the order of the entries."""
    count, encoding, body = asked
    answer = wire.Answer(status, {"content-type": media}, body)
    assert isinstance(answer.said(), str) and len(answer.said()) < 200
    try:
        found = wire.vectors(answer, count, encoding)
    except ClaimViolation as violation:
        one_violation(violation)
        return
    assert status == 200 and found.dtype == np.float32 and found.ndim == 2 and found.shape[1] > 0 and np.isfinite(found).all()
    np.testing.assert_array_equal(found, meant(body, count, encoding))


class Answering(service_client.Client):
    """A client whose requests are answered from a list, without a network."""

    def __init__(self, answers):
        super().__init__("http://127.0.0.1:1/v1", "")
        self.answers, self.gave = iter(answers), []

    def _send(self, method, url, body, seconds):
        answer = next(self.answers, None)
        if isinstance(answer, wire.Answer):
            self.gave.append((url, body, answer))
            return answer
        raise service_client.Failed("broke off its answer", answer or "broken")


STATUSES = st.sampled_from([200] * 12 + [201, 301, 307, 400, 401, 404, 408, 413, 418, 422, 429, 500, 503, 599])
#: httpx gives header fields as text that UTF-8 holds
HEADERS = st.dictionaries(st.sampled_from(["content-type", "location", "retry-after", "date"]), st.one_of(ODD.map(
    lambda text: text.encode("utf-8", "replace").decode()), st.sampled_from(
        ["text/html", "http://[::1", "//x", "http://127.0.0.1:1/v2", "0", "9" * 5000, "²", "Thu, 01 Jan 2026 00:00:00 GMT",
         "1 Jan 2026 00:00:00 +99999999999999", "1 Jan 2026 00:00:00 -0000", "1 Jan 0001 00:00:00 +2359"])), max_size=2)
NAMES = st.lists(st.one_of(ODD, st.sampled_from(["a", "b:latest", "", None, 5])), max_size=3)
LISTS = st.one_of(NAMES.map(lambda names: json.dumps({"data": [{"id": name} for name in names]}).encode()),
                  st.builds(lambda name: json.dumps({"model_id": name}).encode(), JSON), ODD_BODIES)


def answers(of):
    return st.lists(st.builds(wire.Answer, STATUSES, HEADERS, of) | st.sampled_from(["refused", "broken", "late", "unfit"]),
                    min_size=1, max_size=9)


@pytest.fixture
def patient(monkeypatch):
    """A client that never sleeps, and asks for two texts at a time."""
    monkeypatch.setattr(limits.LIMITS, "seconds", 0.0)
    monkeypatch.setattr(openai_service, "BATCH", 2)


def named(answer, *, alone):
    """The names in a list of models, or the one of text-embeddings-inference; none where one of them is no name."""
    try:
        value = json.loads(answer.body)
        names = [value["model_id"]] if alone else [one["id"] for one in value["data"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return names if answer.status == 200 and all(isinstance(name, str) and name for name in names) else []


@given(answers(LISTS), st.sampled_from(["", "a", "b"]))
@example([wire.Answer(200, {}, b'{"data": [{"id": "a"}, {"id": "b"}]}')], "")
@example([wire.Answer(200, {}, b'{"data": [5]}'), wire.Answer(404, {}, b"")], "")
@example([wire.Answer(307, {"location": "http://[::1"}, b"")], "")
@example([wire.Answer(404, {}, b""), wire.Answer(200, {}, b"5")], "")
def test_the_model_is_one_that_is_served_or_one_message(patient, given_answers, wanted):
    client = Answering(given_answers)
    try:
        model = openai_service._choose(client, client.base, wanted)
    except Refusal as refusal:
        one_message(refusal)
        return
    url, _, last = client.gave[-1]
    served = named(last, alone=url.endswith("/info"))
    assert model in ({wanted, f"{wanted}:latest"} & set(served) if wanted and served else [wanted] if wanted else served)
    assert wanted or len(served) == 1


@given(answers(st.sampled_from([b"{}", b"<", b'{"error": {"message": "no"}}']) | ODD_BODIES))
@example([wire.Answer(429, {"retry-after": "1 Jan 2026 00:00:00 +99999999999999"}, b"")])
def test_the_first_request_succeeds_or_there_is_one_message(patient, given_answers):
    client = Answering(given_answers)
    try:
        openai_service.begin(client, "m")
    except Refusal as refusal:
        one_message(refusal)
        return
    assert 200 <= client.gave[-1][2].status < 300 and client.gave[-1][0].endswith("/embeddings")


ONE, ANOTHER = (wire.Answer(200, {}, json.dumps(written([[number]], [0], "float")).encode()) for number in (0.5, 0.25))


@given(answers(st.integers(1, 2).flatmap(bodies)), st.integers(0, 5))
@example([wire.Answer(413, {}, b""), ONE, ANOTHER], 2)
@example([ONE, "broken", ONE, ONE, ANOTHER], 1)
def test_texts_are_embedded_or_there_is_one_reason(patient, given_answers, count):
    """Also where requests are repeated, or divided because the service takes fewer texts."""
    client = Answering(given_answers)
    client.proven = b"{}"
    texts = [f"text {place}" for place in range(count)]
    try:
        found = openai_service.Service(client, "m").embed(texts)
    except ClaimViolation as violation:
        one_violation(violation)
        return
    except (Refusal, openai_service.Refused, service_client.NoAnswer) as reason:
        assert str(reason)
        return
    asked = [(json.loads(body)["input"], answer) for _, body, answer in client.gave
             if body != client.proven and answer.status == 200]
    assert [text for inputs, _ in asked for text in inputs] == texts and len(found) == count
    np.testing.assert_array_equal(found, np.concatenate([meant(answer.body, len(inputs), "float") for inputs, answer in asked]))
