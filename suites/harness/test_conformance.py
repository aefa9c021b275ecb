"""``conformance(...)`` in a repository that is not ours, whose configuration, fixtures and modules could be in the way."""

import os
import re
import subprocess
import sys

import pytest

from embedding_conformance.report import store

LIBRARY = """
import warnings
import numpy as np

class Layer:
    declares = {"out_of_range_below": "raise", "out_of_range_above": "raise"}
    def __init__(self, table):
        self.w = table.copy()
    def table(self):
        return self.w
    def lookup(self, ids):
        warnings.warn("looked up", DeprecationWarning)
        return self.w[np.asarray(ids)]

class Wrong(Layer):
    def lookup(self, ids):
        return self.w[np.asarray(ids) - 1]

def covered():
    return 1
"""
CONFTEST = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--seed", default="theirs")
    parser.addoption("--report", default="")

def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames and "number" in metafunc.fixturenames:
        metafunc.parametrize("number", [1, 2])

@pytest.fixture
def seed(request):
    return request.config.getoption("--seed")

@pytest.fixture
def layer():
    return "their layer"

@pytest.fixture
def evidence():
    raise RuntimeError("their evidence is for nobody else")

index = document = module = embedder = evidence

@pytest.fixture(autouse=True)
def seeded(seed, layer):
    assert (seed, layer) == ("theirs", "their layer")
    yield
"""
TESTS = """
import pytest
from embedding_conformance import conformance
from mylib import Layer, Wrong, covered
import fixtures, reports, suites

test_layer = conformance(Layer, deviations={"LOOKUP-08": "negative ids wrap, by design", "FIELD-39": "as LOOKUP-08"})
test_wrong = conformance(Wrong, facets=["layer"])

def test_own(seed, layer, number):
    assert (seed, layer) == ("theirs", "their layer") and number in (1, 2)
    assert fixtures.THEIRS and reports.THEIRS and suites.THEIRS and covered() == 1
"""
INI = """
[pytest]
pythonpath = .
python_functions = test_own test_layer test_wrong
filterwarnings = error
addopts = --strict-markers {more}
"""
LOOKUP_02 = "tests/test_x.py::test_wrong::lookup::test_rows_come_in_the_order_of_the_ids[LOOKUP-02-rolled]"


class Repository:
    """A repository of somebody else's, in which pytest is run."""

    def __init__(self, folder):
        self.folder = folder
        self.write("mylib.py", LIBRARY)
        self.write("tests/conftest.py", CONFTEST)
        self.write("tests/test_x.py", TESTS)
        self.write("pytest.ini", INI.format(more=""))
        for name in ("fixtures", "reports", "suites"):
            self.write(f"{name}/__init__.py", "THEIRS = True\n")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def pytest(self, *words):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
        return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=self.folder, text=True, capture_output=True,
                              env=environment, timeout=300, check=False)

    def summary(self, done):
        """The words of pytest's last line, such as {"passed": 3}."""
        return {word.rstrip("s"): int(count) for count, word in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return Repository(tmp_path_factory.mktemp("foreign"))


@pytest.fixture(scope="module")
def whole(repository):
    """A run of everything, with a report."""
    return repository.pytest("--conformance-report", "out", "-v")


def test_the_suites_stand_below_the_name(whole):
    assert "tests/test_x.py::test_layer::lookup::test_each_id_gets_its_row[LOOKUP-01] PASSED" in whole.stdout, whole.stdout
    assert "test_ids_outside_the_table_are_refused[LOOKUP-08-below] XFAIL" in whole.stdout
    assert "tests/test_x.py::test_layer::deviations[LOOKUP-08] PASSED" in whole.stdout
    assert f"{LOOKUP_02} FAILED" in whole.stdout
    assert "test_own[1] PASSED" in whole.stdout and "test_own[2] PASSED" in whole.stdout
    assert "0x" not in whole.stdout and " ERROR" not in whole.stdout and "their evidence" not in whole.stdout
    collected, deselected = re.search(r"collected (\d+) items(?: / (\d+) deselected)?", whole.stdout).groups()
    assert deselected is None and int(collected) == whole.stdout.count(" PASSED ") + whole.stdout.count(" FAILED ") \
        + whole.stdout.count(" XFAIL ")


def test_a_failure_shows_what_was_measured_and_not_the_suite_s_source(whole):
    head, _, rest = whole.stdout.partition("LOOKUP-01  A lookup returns the row of the table at that id, bit for bit.")
    assert head.rstrip("\n").endswith("_") or head.endswith("_ ")
    lines = rest.splitlines()[1:7]
    assert [line.split()[0] for line in lines] == ["measured", "bound", "worst", "expected", "found", "repeat"]
    assert lines[-1].split(maxsplit=1)[1] == \
        'pytest "tests/test_x.py::test_wrong::lookup::test_each_id_gets_its_row[LOOKUP-01]"'
    assert "Traceback" not in whole.stdout and "def test_" not in whole.stdout and "evidence.equal" not in whole.stdout


def test_the_section_counts_claims_and_says_what_does_not_apply(whole):
    section = whole.stdout.partition("embedding conformance ---")[2]
    layer = next(line for line in section.splitlines() if line.startswith("test_layer (mylib.Layer): "))
    assert re.search(r"^test_layer \(mylib\.Layer\): \d\d verified, 2 accepted; \d+ claims do not apply: .*layer\.step", layer)
    assert re.search(r"test_wrong \(mylib\.Wrong\): \d+ verified, \d+ blocked, \d+ refuted", section)


def test_the_report_is_that_of_check(whole, repository):
    assert whole.returncode == 1
    evidence = store.load(repository.folder / "out" / "evidence.json")
    assert [one["name"] for one in evidence["subjects"]] == ["tests/test_x.py::test_layer", "tests/test_x.py::test_wrong"]
    verdicts = {claim["id"]: claim["subjects"] for claim in evidence["claims"]}
    assert verdicts["LOOKUP-08"]["tests/test_x.py::test_layer"]["verdict"] == "deviation"
    assert verdicts["LOOKUP-01"]["tests/test_x.py::test_wrong"]["verdict"] == "refuted"
    assert evidence["selection"]["by"] == [] and evidence["footer"]["complete"]
    page = (repository.folder / "out" / "index.html").read_text(encoding="utf-8")
    assert "pytest &#34;tests/test_x.py::test_wrong&#34; -k LOOKUP-01" in page
    assert (repository.folder / "out" / "deviations.yaml").is_file()


def test_a_node_id_can_be_pasted_back_and_what_failed_last_is_run_again(whole, repository):
    pasted = repository.pytest(LOOKUP_02, "tests/test_x.py::test_layer::one_hot", "-q")
    one_hot = whole.stdout.count("test_layer::one_hot::")
    assert pasted.returncode == 1 and one_hot, pasted.stdout
    assert repository.summary(pasted)["failed"] == 1 and repository.summary(pasted)["passed"] == one_hot
    last = repository.pytest("--lf", "-q", "-k", "LOOKUP-02")
    assert repository.summary(last)["failed"] == 3 and "passed" not in repository.summary(last)


def test_two_processes_give_the_same_evidence(whole, repository):
    pytest.importorskip("xdist")
    pair = repository.pytest("-n", "2", "--conformance-report", "pair")
    assert pair.returncode == 1
    assert "test_layer (mylib.Layer): " in pair.stdout
    found = [store.load(repository.folder / name / "evidence.json") for name in ("out", "pair")]
    for one in found:
        del one["footer"], one["command"], one["started"]
        for result in one["results"]:
            del result["seconds"]
    assert found[0] == found[1]


def test_without_the_plugin_the_name_is_a_test_that_fails_and_says_how_to_load_it(repository):
    done = repository.pytest("-p", "no:embedding_conformance.plugin", "-q")
    assert done.returncode == 1 and repository.summary(done) == {"failed": 2, "passed": 2, **{
        word: count for word, count in repository.summary(done).items() if word not in ("failed", "passed")}}
    assert "nothing was judged" in done.stdout and "-p embedding_conformance.plugin" in done.stdout


def test_coverage_that_must_be_reached_is_not_disturbed(repository):
    pytest.importorskip("pytest_cov")
    done = repository.pytest("--cov=mylib", "--cov-fail-under=90", "-q", "-k", "LOOKUP-01 or test_own", "--deselect",
                             "tests/test_x.py::test_wrong")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Required test coverage of 90% reached" in done.stdout


def test_a_deviation_that_is_outdated_fails_by_itself_and_without_its_checks(tmp_path):
    repository = Repository(tmp_path)
    repository.write("pytest.ini", INI.format(more="").replace("test_wrong", "test_skipped"))
    repository.write("tests/test_x.py", """
import pytest
from embedding_conformance import conformance
from mylib import Layer

class TestGroup:
    @pytest.fixture(autouse=True)
    def prepared(self):
        self.value = 1

    test_skipped = pytest.mark.skip("not now")(conformance(Layer))
    test_layer = conformance(Layer, deviations={
        "LOOKUP-08": {"because": "by design", "until": "2020-01-31"}, "LOOKUP-01": "mended long ago", "LOOKUP-99": "no claim",
        "LOOKUP-02": {"because": "x", "case": "nowhere"}, "PAD-03": "there is no gradient"})
""")
    done = repository.pytest("-q", "--conformance-report", "out",
                             "-k", "TestGroup and (deviations or LOOKUP-08 or LOOKUP-01 or LOOKUP-02)")
    summary = repository.summary(done)
    assert done.returncode == 1 and summary["failed"] == 5 and summary["skipped"] > 1, done.stdout
    assert re.search(r"test_skipped \(mylib\.Layer\): 0 verified, \d+ checks skipped\n", done.stdout), done.stdout
    assert "test_skipped::" not in done.stdout and "LOOKUP-07" not in done.stdout and store.load(tmp_path / "out/evidence.json")
    for said in ("it ended on 2020-01-31: mend the failure", "it no longer fails: remove the entry", "LOOKUP-99 names no claim",
                 'no check of LOOKUP-02 has "nowhere" in its name', "4 outdated deviations"):
        assert said in done.stdout, said
    alone = repository.pytest("-q", "tests/test_x.py::TestGroup::test_layer::deviations[LOOKUP-08]")
    assert alone.returncode == 1 and repository.summary(alone)["failed"] == 1


@pytest.mark.parametrize(("call", "said"), [
    ("conformance(5)", "no facet: int offers none of lookup"),
    ("conformance('mylib.py:Layer')", "for Python write python:mylib.py:Layer"),
    ("conformance(Layer, facets='encodr')", 'there is no facet "encodr"; did you mean "encoder"?'),
    ("conformance(Layer, facets=['encoder'])", "mylib.Layer does not offer encoder; it offers layer"),
    ("conformance(Layer, declares={'normalised': True})", 'unknown declaration "normalised"; did you mean "normalized"?'),
    ("conformance(Layer, deviations={'LOOKUP-08': ''})", "it has no reason"),
    ("conformance(lambda: 1 / 0)", "raised ZeroDivisionError"),
])
def test_what_cannot_be_judged_is_an_error_of_one_message(tmp_path, call, said, monkeypatch):
    from embedding_conformance import own_tests
    from embedding_conformance.errors import Refusal

    (tmp_path / "mylib.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mylib", raising=False)
    import mylib

    from embedding_conformance import conformance

    asked = vars(eval(call, {"conformance": conformance, "Layer": mylib.Layer}))["embedding_conformance_asked"]
    with pytest.raises(Refusal) as refused:
        own_tests.opened(asked, "here", seed=0)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_an_object_that_cannot_be_judged_stops_the_collection(tmp_path):
    repository = Repository(tmp_path)
    repository.write("tests/test_x.py", "from embedding_conformance import conformance\n"
                                        "class Encoder:\n    def hidden_states(self, texts): pass\n"
                                        "test_own = conformance(5)\ntest_layer = conformance(Encoder)\n")
    done = repository.pytest("-q")
    assert done.returncode == 2 and "test_own: no facet: int offers none of lookup" in done.stdout
    assert "test_layer: no claim applies to it: it does not offer encoder." in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


def test_a_fixture_of_theirs_with_the_name_of_a_facet_makes_no_difference(tmp_path):
    repository = Repository(tmp_path)
    repository.write("tests/test_x.py", "from embedding_conformance import conformance\n"
                                        "class Pooler:\n    def normalize(self, x):\n        return x\n"
                                        "test_own = conformance(Pooler)\n")
    done = repository.pytest("--co", "-q")
    assert done.returncode == 0 and "tests/test_x.py::test_own::pooling::" in done.stdout, done.stdout


def test_no_two_tests_of_a_chapter_have_one_name():
    """Modules of a chapter share their place in a node id."""
    from embedding_conformance.claims import test_places as places

    names = [(place.path.parent.name, place.name) for place in places()]
    assert len(names) == len(set(names))


def test_importing_the_package_costs_nothing_and_unknown_names_point_to_the_one_line():
    code = ("import sys, embedding_conformance as ec; from embedding_conformance import conformance; conformance(5)\n"
            "assert not {'numpy', 'pytest', 'pydantic', 'yaml', 'torch'} & set(sys.modules), sys.modules.keys()\n"
            "assert not hasattr(ec, 'nope')\n"
            "try: ec.nope\nexcept AttributeError as error: assert 'conformance(Layer)' in str(error)\n"
            "try: from embedding_conformance import parametrize_with_checks\n"
            "except ImportError as error: assert 'conformance(Layer)' in str(error)\n")
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
