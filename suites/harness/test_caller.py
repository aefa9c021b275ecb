"""The caller's own files, modules and variables: they change neither how the suites run nor what they say."""

import shutil
import subprocess
import sys

import pytest

from .runs import LAYER, evidence_of, verdicts

SOME = "LOOKUP-01 or LOOKUP-02 or LOOKUP-05 or SHAPE-02"
#: the names of our folders, of our modules, and of what pytest looks for
NAMES = ("suites", "fixtures", "reports", "conftest", "oracle", "faults", "plugin", "claims", "report", "subjects", "data",
         "errors", "inputs", "harness", "test_row", "lookup", "noxfile", "sitecustomize_not")
CONFIGURATION = {
    "pytest.ini": "[pytest]\naddopts = --no-such-option -W error --cov-fail-under=100\npython_files = *.py\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-W error --cov-fail-under=100 -n 7"\ntestpaths = ["nowhere"]\n',
    "setup.cfg": "[tool:pytest]\naddopts = -p no:python\n",
    "tox.ini": "[pytest]\naddopts = --collect-only\n",
    "conftest.py": "raise RuntimeError('the conftest of the caller')\n",
    "../conftest.py": "raise RuntimeError('the conftest above')\n",
    "../pytest.ini": "[pytest]\naddopts = --boom\n",
    ".coveragerc": "[run]\nsource = nowhere\n",
}
VARIABLES = {
    "PYTEST_ADDOPTS": "--boom -W error", "PYTEST_PLUGINS": "nonsense", "PYTEST_DEBUG": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONSAFEPATH": "1",
    "PYTHONDEVMODE": "1", "PYTHONSTARTUP": "nonsense.py", "PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONBREAKPOINT": "nonsense.boom", "PYTHONUNBUFFERED": "1", "PYTHONNOUSERSITE": "1", "PYTHONFAULTHANDLER": "1",
    "COV_CORE_SOURCE": "nonsense", "COLUMNS": "7", "LINES": "x", "TMPDIR": "/no/such/folder", "GITHUB_STEP_SUMMARY": "",
    "EMBEDDING_CONFORMANCE_PARENT": "1",
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory, run_in):
    """The verdicts where nothing is in the way."""
    command = run_in(tmp_path_factory.mktemp("plain"))
    command.write("mine.py", LAYER)
    assert command("check", "python:mine.py:Layer", "-k", SOME).returncode == 0
    return verdicts(command)


@pytest.fixture
def hostile(tmp_path, run_in):
    """The command in a folder below another, with a sound subject."""
    (tmp_path / "below").mkdir()
    command = run_in(tmp_path / "below")
    command.write("mine.py", LAYER)
    return command


def test_variables(hostile, expected):
    hostile.environment |= VARIABLES
    done = hostile("check", "python:mine.py:Layer", "-k", SOME)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert verdicts(hostile) == expected


def test_configuration_files(hostile, expected):
    for name, text in CONFIGURATION.items():
        hostile.write(name, text)
    done = hostile("check", "python:mine.py:Layer", "-k", SOME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(hostile) == expected


def test_modules_named_like_ours(hostile, expected):
    for name in NAMES:
        hostile.write(f"{name}.py", f"raise RuntimeError('{name} of the caller')\n")
    hostile.write("tests/__init__.py", "raise RuntimeError('tests of the caller')\n")
    done = hostile("check", "python:mine.py:Layer", "-k", SOME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(hostile) == expected


def test_a_subject_in_a_module_named_like_ours(hostile):
    """Its own module is what he names, and the suites still find theirs; one of his may import another."""
    names = ["suites", "conftest", "oracle", "plugin", "json"]
    for name in names:
        hostile.write(f"{name}.py", LAYER + "class Own(Layer): pass\n")
    hostile.write("faults.py", "from oracle import Own\n")
    done = hostile("check", *(f"python:{name}.py:Own" for name in names), "python:faults:Own", "-k", SOME)
    assert done.returncode == 0, done.stdout + done.stderr
    titles = [one["title"] for one in evidence_of(hostile)["subjects"]]
    assert titles == [f"{name}.Own, built from tables" for name in [*names, "faults"]]


def test_search_path(hostile, expected):
    hostile.write("a.zip", "no archive")
    hostile.write("other/suites/__init__.py", "raise RuntimeError\n")
    hostile.write("other/conftest.py", "raise RuntimeError\n")
    ours = hostile.environment.get("PYTHONPATH", "")
    hostile.environment["PYTHONPATH"] = f"{ours}::other:a.zip:/no/such/folder:mine.py:.:/dev/null:ünï:"
    done = hostile("check", "python:mine.py:Layer", "-k", SOME)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert verdicts(hostile) == expected


def test_a_subject_string_in_make_needs_no_quotes(hostile):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    python = sys.executable
    hostile.write("Makefile", f"SUBJECT = python:mine.py:Layer\nall:\n\t{python} -m embedding_conformance check "
                  "$(SUBJECT) python:mine:Layer --declare out_of_range_above=raise -k LOOKUP-01\n")
    done = subprocess.run(["make", "-s"], cwd=hostile.folder, env=hostile.environment, text=True, capture_output=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["name"] for one in evidence_of(hostile)["subjects"]] == ["python:mine.py:Layer", "python:mine:Layer"]


#: every form of subject of the design; none may be cut, glued or substituted on its way
STRINGS = ("python:mine.py:Layer", "python:pkg.mod:NAME", "hf:org/model@8f8c211", "hf:documents",
           "onnx:dir/model@quantised.onnx", "openai:http://127.0.0.1:8080/v1@a-model",
           "vectors:stored.parquet@embedding", "fault:lookup/row-minus-one", "st:./a_folder", "normalized=true")


def test_a_subject_string_in_tox_needs_no_quotes(hostile):
    pytest.importorskip("tox")
    hostile.write("tox.ini", "[tox]\nno_package = true\n[testenv:x]\nallowlist_externals = embedding-conformance\ncommands =\n"
                  f"    embedding-conformance check {' '.join(STRINGS)} -k LOOKUP-01\n")
    done = subprocess.run([sys.executable, "-m", "tox", "config", "-e", "x", "-k", "commands"], cwd=hostile.folder, text=True,
                          env=hostile.environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[-len(STRINGS) - 2:-2] == list(STRINGS)


def test_a_subject_string_in_a_shell_needs_no_quotes(hostile):
    done = subprocess.run(["sh", "-c", f"printf '%s\\n' {' '.join(STRINGS)}"], cwd=hostile.folder, text=True,
                          capture_output=True, timeout=60, check=True)
    assert done.stdout.split() == list(STRINGS)
