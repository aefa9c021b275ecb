"""The code of the documents parses and runs, as far as it does."""

import re

import pytest

from ...data import texts
from . import running, snippets


@pytest.mark.claim("DOC-01")
def test_one_snippet_does_not_parse(document, evidence):
    """All nine pieces of code, as they stand; the line where the sixth experiment breaks is the one before its last."""
    codes = snippets.experiments(document.lines("002"))
    codes += [snippets.example(document.lines(name)) for name in ("000", "001")]
    broken = [snippets.problem(code) for code in codes]
    evidence.equal(broken, ["", "", "", "", "", "unterminated string literal", "", "", ""])
    *_, opened, closed = codes[snippets.RETRIEVAL].split("\n")
    evidence.equal([opened.count('"'), closed.count('"')], [1, 1])


@pytest.mark.claim("DOC-01")
def test_a_line_feed_repairs_it(document, evidence):
    """The sixth experiment with the two halves of its string joined by an escaped line feed."""
    code = snippets.experiment(document, snippets.RETRIEVAL)
    evidence.equal(r"\n" in code.split("\n")[-1], True)
    evidence.equal([snippets.problem(code)], [""])


@pytest.mark.claim("DOC-02")
def test_there_are_seven_experiments_that_need_nothing_else(document, evidence):
    """For each of them: what it imports beyond NumPy, PyTorch and Transformers, and the names that it does not define."""
    codes = [snippets.repaired(code) for code in snippets.experiments(document.lines("002"))]
    evidence.equal([(snippets.imported(code) - snippets.MODULES, snippets.undefined(code)) for code in codes],
                   [(set(), [])] * 7)


@pytest.mark.claim("DOC-02")
@pytest.mark.parametrize("number", range(7))
def test_each_experiment_runs_by_itself(document, evidence, number):
    """Run with nothing defined before, and with the bundled model in the place of the one that it names."""
    did = running.run(snippets.experiment(document, number))
    evidence.equal([did["error"], bool(did["printed"])], ["", True])


@pytest.mark.claim("DOC-03")
@pytest.mark.parametrize(("name", "variable", "ids", "shape"), [
    ("000", "token_ids", texts()["order"]["ids"], "torch.Size([3, 8])"),
    ("001", "ids", texts()["batch"], "torch.Size([1, 4, 512])")], ids=["000", "001"])
def test_the_examples_print_the_shape_that_they_state(document, evidence, name, variable, ids, shape):
    """Run as printed, without an error: the first line is the shape that the document states; the ids are ours."""
    lines = document.lines(name)
    did = running.run(snippets.example(lines))
    evidence.equal([did["error"], *did["printed"][:1]], ["", shape])
    evidence.equal([stated for line in lines for stated in re.findall(r"torch\.Size\(\[.*?\]\)", line)], [shape])
    evidence.equal(did["values"].get(variable), ids)
