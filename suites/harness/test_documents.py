"""The documents: what has changed, moved or been added is found and named. On small documents made up here."""

import pytest
import yaml
from embedding_conformance.suites.documents import running, snippets

from embedding_conformance import documents
from embedding_conformance.claims import Catalogue, Claim
from embedding_conformance.errors import UsageError
from embedding_conformance.report.evidence_file import Context, assemble
from embedding_conformance.run import Outcome

FIRST = ["A title", "", "Cats sleep.", "Dogs run.", "", "import x", "", "Fish swim.", "", "import x", "Birds fly."]
SECOND = ["Nothing but one sentence."]


def catalogue(*sources):
    return Catalogue([Claim(id=f"AA-{number:02}", says={"en": "x", "zh": "x"}, source=[source], kind="exact", chapter="first")
                      for number, source in enumerate(sources, 1)])


CLAIMS = catalogue("000:3-4", "000:6", "000:8", "000:10-11", "001:1", "owner/repository#1")


class Shelf:
    """A folder with two documents, and what is kept about them."""

    def __init__(self, folder):
        self.folder = folder / "documents"
        self.folder.mkdir()
        self.fixture = folder / "documents.yaml"
        self.write(FIRST)
        self.write(SECOND, "001_b.txt")
        documents.renew(self.folder, CLAIMS, self.fixture)
        self.excuse({"000:1": "title"})

    def write(self, lines, name="000_a.txt", end="\n"):
        (self.folder / name).write_bytes((end.join(lines) + end).encode())

    def excuse(self, listed):
        kept = yaml.safe_load(self.fixture.read_text(encoding="utf-8"))
        self.fixture.write_text(yaml.safe_dump(kept | {"uncovered": listed}), encoding="utf-8")

    def read(self, claims=CLAIMS):
        return documents.read(claims, self.folder, self.fixture)

    def unaccounted(self):
        return self.read().unaccounted(CLAIMS)


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path)


def test_what_is_as_it_was_is_unchanged_and_accounted_for(shelf):
    assert set(shelf.read().state.values()) == {"unchanged"}
    assert shelf.read().stale() == set() and shelf.unaccounted() == []
    assert shelf.read().quote("000:3-4") == ["Cats sleep.", "Dogs run."]


def test_without_the_folder_nothing_is_known_of_the_text():
    known = documents.read(Catalogue([]), None)
    assert not known.given and known.state == {} and known.unaccounted(CLAIMS) == [] and known.quote("000:1") == []


def test_line_ends_and_the_last_one_do_not_matter(shelf):
    shelf.write(FIRST, end="\r\n")
    (shelf.folder / "001_b.txt").write_text(SECOND[0], encoding="utf-8")
    assert set(shelf.read().state.values()) == {"unchanged"} and shelf.unaccounted() == []


@pytest.mark.parametrize("above", [1, 3, 4, 5])
def test_a_moved_passage_holds_and_a_line_that_stands_twice_moves_to_its_own_place(shelf, above):
    shelf.write([*[""] * above, *FIRST])
    found = shelf.read()
    assert found.stale() == set() and shelf.unaccounted() == []
    assert found.state["000:6"] == f"moved to {6 + above}" and found.state["000:10-11"] == f"moved to {10 + above}"
    assert found.quote("000:10-11") == ["import x", "Birds fly."] and found.state["001:1"] == "unchanged"


def test_a_passage_may_stand_before_what_it_stood_behind(shelf):
    shelf.write([FIRST[0], "", FIRST[7], "", *FIRST[2:7]])
    assert shelf.read().state["000:8"] == "moved to 3"
    assert shelf.read().stale() == {"000:10-11"}


def test_one_changed_character_makes_a_passage_stale_and_no_other(shelf):
    shelf.write([line.replace("Dogs run.", "Dogs ran.") for line in FIRST])
    assert shelf.read().stale() == {"000:3-4"}
    assert shelf.unaccounted() == []  # its claims are stale, which says more


def test_a_listed_line_that_changed_is_named(shelf):
    shelf.write(["Another title", *FIRST[1:]])
    assert shelf.unaccounted() == ["000:1"]


@pytest.mark.parametrize("place", [0, 2, 4, 5, len(FIRST)])
def test_an_added_line_is_named_where_it_stands_now(shelf, place):
    shelf.write([*FIRST[:place], "Cows say moo.", *FIRST[place:]])
    assert shelf.unaccounted() == [f"000:{place + 1}"] and shelf.read().stale() == set()


def test_a_line_added_within_a_passage_is_named_and_makes_it_stale(shelf):
    shelf.write([*FIRST[:3], "Cats do not sleep.", *FIRST[3:]])
    assert shelf.unaccounted() == ["000:4"] and shelf.read().stale() == {"000:3-4"}


def test_a_second_copy_of_a_cited_line_is_an_added_line(shelf):
    shelf.write([*FIRST, "Fish swim."])
    assert shelf.unaccounted() == ["000:12"]


def test_a_line_that_no_claim_cites_is_named_until_it_is_listed(shelf):
    claims = catalogue("000:3-4", "000:6", "000:10-11", "001:1")
    assert shelf.read(claims).unaccounted(claims) == ["000:8"]
    shelf.excuse({"000:1": "title", "000:8": "transition"})
    assert shelf.read(claims).unaccounted(claims) == []


@pytest.mark.parametrize(("listed", "message"), [({"000:1": "headign"}, 'did you mean "heading"?'),
                                                 ({"000:12": "title"}, "000:12 lies outside its document"),
                                                 ({"007:1": "title"}, "007:1 lies outside its document")])
def test_a_list_with_a_mistake_is_refused(shelf, listed, message):
    shelf.excuse(listed)
    with pytest.raises(UsageError) as refusal:
        shelf.read()
    assert message in str(refusal.value)


def test_a_missing_folder_a_missing_document_and_an_unreadable_one_are_refused(shelf, tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        documents.read(CLAIMS, tmp_path / "nowhere", shelf.fixture)
    (shelf.folder / "001_b.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"001_b\.txt: it is not UTF-8"):
        shelf.read()
    (shelf.folder / "001_b.txt").unlink()
    with pytest.raises(UsageError, match=r"001_b\.txt is not in it"):
        shelf.read()


def test_a_citation_without_a_hash_or_outside_a_document_is_refused(shelf):
    with pytest.raises(UsageError, match=r"claim AA-01 cites 000:4, and documents\.yaml has no hash of it"):
        shelf.read(catalogue("000:4"))
    with pytest.raises(UsageError, match="000:99 lies outside its document"):
        documents.renew(shelf.folder, catalogue("000:99"), shelf.fixture)


def test_renewing_keeps_the_list_without_what_is_cited_now(shelf):
    shelf.excuse({"000:1": "title", "000:8": "transition", "000:10-11": "layout"})
    documents.renew(shelf.folder, catalogue("000:8", "000:10"), shelf.fixture)
    assert shelf.read(catalogue("000:8")).uncovered == {"000:1": "title", "000:10-11": "layout"}


def test_check_fails_on_a_line_that_nothing_accounts_for(checkout):
    shelf, fixture = checkout.folder / "shelf", checkout.folder / "fixtures" / "documents.yaml"
    shelf.mkdir()
    kept = yaml.safe_load(fixture.read_text(encoding="utf-8"))
    places = [f"{key}:{line}" for key, one in kept["documents"].items() for line in range(1, one["lines"] + 1)]
    for key, one in kept["documents"].items():
        text = "".join(f"line {line} of {key}\n" for line in range(1, one["lines"] + 1))
        (shelf / one["name"]).write_text(text, encoding="utf-8")
    fixture.write_text(yaml.safe_dump(kept | {"uncovered": dict.fromkeys(places, "layout")}), encoding="utf-8")
    documents.renew(shelf, path=fixture)
    checkout.write("mine.py", "class Layer:\n"
                              "    def __init__(self, table): self.t = table\n"
                              "    def table(self): return self.t\n"
                              "    def lookup(self, ids): return self.t[ids]\n")
    command = ["check", "python:mine.py:Layer", "--documents", "shelf"]
    assert "are not listed" not in checkout(*command).stdout
    with (shelf / kept["documents"]["002"]["name"]).open("a", encoding="utf-8") as file:
        file.write("one line more\n")
    done = checkout(*command)
    added = f"002:{kept['documents']['002']['lines'] + 1}"
    assert done.returncode == 1 and f"are not listed in documents.yaml: {added}\n" in done.stdout
    assert f"or the like: {added}." in next(checkout.folder.rglob("index.html")).read_text(encoding="utf-8")
    assert "are not listed" not in checkout(*command, "-k", "LOOKUP-01").stdout


def test_such_a_line_decides_the_exit_code_of_a_whole_run_and_of_no_other(shelf):
    def verdict(*selection):
        context = Context(CLAIMS, shelf.read(), {"first": {"claims": {"AA-01": {"proven": True}}, "specimens": {}}},
                          ["check"], list(selection))
        passed = {"nodeid": "n", "claims": ["AA-01"], "subject": "s", "outcome": "passed"}
        return assemble(context, Outcome(results={"n": passed}, collected={"n": (["AA-01"], "s")}))["verdict"]
    assert verdict()["exit"] == 0
    shelf.write([*FIRST, "Cows say moo."])
    assert verdict()["exit"] == 1 and "000:12" in verdict()["reasons"][0]
    assert verdict("-k", "AA-01")["exit"] == 0


def test_claims_about_the_text_need_the_documents(command):
    done = command("check", "documents")
    assert done.returncode == 4 and "--documents DIR" in done.stderr
    done = command("prove", "-k", "CFG-01")
    assert "left out" in done.stdout and "CFG-01" in done.stdout


def test_a_string_broken_over_two_lines_is_repaired_and_nothing_else():
    broken = 'x = 1\nprint("a\n", x)\ny = 2'
    assert snippets.problem(broken) == "unterminated string literal"
    assert snippets.repaired(broken) == 'x = 1\nprint("a\\n", x)\ny = 2'
    for other in ("x = (", "x = 1", 'print("a'):
        assert snippets.repaired(other) == other


def test_code_says_what_it_imports_sets_and_leaves_undefined():
    code = "import numpy as np\nfrom os.path import join\nV, d = 6, 3\nx = [np.sin(i) for i in range(V)]\nprint(x, z)"
    assert snippets.imported(code) == {"numpy", "os"} and snippets.undefined(code) == ["z"]
    assert snippets.constants(code) == {"V": 6, "d": 3} and snippets.arguments("f(1); a.f(x)", "f") == [1, None]


def test_code_runs_in_a_process_that_outlives_its_errors_and_not_its_end():
    assert running.run("import os\nos.remove('x')")["error"] == "not run: it imports os"
    assert running.run("x = [1]\nprint(x)\n1 / 0") | {"loaded": []} == {
        "error": "ZeroDivisionError: division by zero", "printed": ["[1]"], "values": {"__name__": "__main__", "x": [1]},
        "loaded": [], "moved": [], "passes": [], "state": {}}
    with pytest.raises(RuntimeError, match="ended with 3"):
        running.run("print.__self__.__import__('os')._exit(3)")
    assert running.run("y = 2")["values"]["y"] == 2
