"""The catalogue: what it refuses, and that the shipped one is whole."""

import textwrap

import pytest

from embedding_conformance import claims
from embedding_conformance.errors import UsageError

GOOD = """
- id: AA-01
  says: {en: One thing holds., zh: 一件事成立。}
  source: ["002:90"]
  kind: exact
  needs: [layer.lookup]
"""
TEST = """
import pytest
@pytest.mark.claim("AA-01")
def test_it(layer, evidence):
    \"\"\"One input.\"\"\"
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "catalogue.yaml").write_text("version: 3\n", encoding="utf-8")
    chapter = tmp_path / "first"
    chapter.mkdir()
    (chapter / "claims.yaml").write_text(GOOD, encoding="utf-8")
    (chapter / "test_it.py").write_text(TEST, encoding="utf-8")
    return tmp_path


def refusal(root, text, chapter="first"):
    (root / chapter / "claims.yaml").write_text(textwrap.dedent(text), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        claims.load(root)
    return str(caught.value)


def test_a_good_catalogue(root):
    catalogue = claims.load(root)
    claims.check_traced(catalogue, root)
    assert [claim.id for claim in catalogue] == ["AA-01"]
    assert catalogue.version == 3 and catalogue["AA-01"].chapter == "first"


@pytest.mark.parametrize(("old", "new", "said"), [
    ("needs:", "neds:", 'claim AA-01: unknown key "neds"; did you mean "needs"?'),
    ("kind: exact", "kind: exakt", "claim AA-01: kind:"),
    ("  kind: exact\n", "", 'the key "kind" is missing'),
    ("id: AA-01", "id: AA-1", "claim AA-1: id:"),
    ('["002:90"]', '["2:90"]', 'source "2:90" is neither'),
    ('["002:90"]', "[]", "source:"),
    ("layer.lookup", "lookup", 'need "lookup" is not FACET.METHOD'),
    ("zh: 一件事成立。", "zh: ''", "says.zh:"),
    ("needs: [layer.lookup]", "level: informative", "says `why`"),
    ("needs: [layer.lookup]", "why: because", "says `why`"),
    ("needs: [layer.lookup]", "after: [AA-09]", 'after names "AA-09"'),
    ("needs: [layer.lookup]", "proxy: [AA-01]", 'proxy names "AA-01", which is no other claim'),
    ("- id: AA-01\n", "AA-01:\n", "expected a list of claims"),
    ("says:", "says", "not valid YAML"),
])
def test_a_wrong_catalogue_is_refused_with_file_claim_and_key(root, old, new, said):
    message = refusal(root, GOOD.replace(old, new))
    assert said in message
    assert "first" in message or "AA-01" in message


def test_an_id_twice_is_refused_across_chapters_and_aliases(root):
    (root / "second").mkdir()
    assert "AA-01 stands twice" in refusal(root, GOOD, "second")
    assert "AA-01 stands twice" in refusal(root, GOOD.replace("AA-01", "BB-01") + "  aliases: [AA-01]\n", "second")


def test_claims_that_rest_on_each_other_in_a_circle_are_refused(root):
    second = GOOD.replace("AA-01", "AA-02") + "  after: [AA-01]\n"
    assert "in a circle" in refusal(root, GOOD + "  after: [AA-02]\n" + second)


@pytest.mark.parametrize(("old", "new", "said"), [
    ('@pytest.mark.claim("AA-01")\n', "", "names 0 claims"),
    ('"AA-01"', '"AA-02"', 'names "AA-02", which is no claim; did you mean "AA-01"?'),
    ('"AA-01"', '"AA-01", "AA-01", "AA-01", "AA-01"', "names 4 claims"),
    ("def test_it", "def tast_it", "AA-01 has no test"),
])
def test_tests_and_claims_must_match(root, old, new, said):
    (root / "first" / "test_it.py").write_text(TEST.replace(old, new), encoding="utf-8")
    claims.test_places.cache_clear()
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        claims.check_traced(claims.load(root), root)


def test_the_shipped_catalogue_is_whole():
    catalogue = claims.load()
    claims.check_traced(catalogue)
    assert len(catalogue) >= 38
    assert sum(claim.level == "informative" for claim in catalogue) <= 3


def test_lines_of_documents_find_their_claims():
    catalogue = claims.load()
    assert "SIMM-01" in {claim.id for claim in catalogue.citing("002", 311)}
    assert claims.covers("002:86-90", "002", 90) and not claims.covers("002:86-90", "002", 91)
    assert not claims.covers("owner/repo#12", "002", 12)
