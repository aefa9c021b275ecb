"""Sound models of the families that embedders come from raise no alarm, through Transformers and sentence-transformers alike.

Their networks are untrained, so what only training brings about is not asked: FIELD-16 is about it, as are the claims that need
``trained``. In bfloat16 PyTorch's gradient of a lookup loses small terms on the CPU, which GRAD-02 says rightly.
"""

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

from embedding_conformance.handles import Layer, Module
from embedding_conformance.subjects import open_subject
from embedding_conformance.subjects.torch_stack import lookup_of

from .families import FAMILIES, directory
from .runs import evidence_of

OF_TRAINING = {"FIELD-16"}
#: judged on each of them, by either way: a verdict on the rest would say little
EXPECTED = {"AGREE-01", "AGREE-05", "AGREE-08", "FIELD-01", "FIELD-19", "FIELD-29", "LOOKUP-01", "ORDER-06", "POOL-02",
            "TOK-06"}


def alarms(command, *words):
    """The claims that are not verified though they apply, and all verdicts."""
    done = command("check", *words)
    found = evidence_of(command)
    assert not found["reconciliation"]["lost"], done.stdout + done.stderr
    verdicts = {claim["id"]: claim["verdict"] for claim in found["claims"]}
    return {claim for claim, verdict in verdicts.items() if verdict not in ("verified", "not applicable")}, verdicts


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sound_model_raises_no_alarm_by_either_way(name, tmp_path, command):
    """Judged both ways, the one by the other: the same ids, states, pooled vectors and neighbours."""
    folder = directory(tmp_path, FAMILIES[name])
    raised, verdicts = alarms(command, f"hf:{folder}", f"st:{folder}", "--reference", f"st:{folder}")
    assert raised <= OF_TRAINING | ({"GRAD-02"} if FAMILIES[name].precision == "bfloat16" else set())
    assert not {claim for claim in EXPECTED if verdicts[claim] != "verified"}


def test_what_follows_the_pooling_is_not_taken_for_it(tmp_path, command):
    """A linear layer to another width, and vectors that are cut after they were scaled to length one."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    (tmp_path / "plain").mkdir()
    plain = str(directory(tmp_path / "plain", FAMILIES["e5"]))
    network, pooling, _ = SentenceTransformer(plain, device="cpu")
    SentenceTransformer(modules=[network, pooling, Dense(48, 64), Normalize()], device="cpu").save(str(tmp_path / "wider"))
    SentenceTransformer(plain, truncate_dim=24, device="cpu").save(str(tmp_path / "cut"))
    raised, verdicts = alarms(command, f"st:{tmp_path / 'wider'}", f"st:{tmp_path / 'cut'}")
    assert raised <= OF_TRAINING
    assert verdicts["FIELD-01"] == verdicts["FIELD-25"] == "verified"  # the first is of length one
    assert verdicts["FIELD-29"] == verdicts["SHAPE-09"] == "not applicable"
    subject = open_subject(f"hf:{tmp_path / 'cut'}")
    assert "embedder" not in subject.facets and "normalized" not in subject.declares


def test_what_scales_its_rows_is_judged_on_the_lookup_and_the_report_says_so(tmp_path):
    subject = open_subject(f"hf:{directory(tmp_path, FAMILIES['gemma'])}")
    assert subject.facts["scaling"] == "rows are multiplied by 6.9282 after the lookup"
    layer, embedding = Layer(subject), Module(subject).embedding()
    ids = np.array([5, 7, 5])
    np.testing.assert_array_equal(layer.lookup(ids), layer.table()[ids])
    assert embedding.weight is Module(subject).module().get_input_embeddings().weight and not embedding.training


def test_a_class_of_the_users_that_scales_is_judged_as_it_is():
    torch = pytest.importorskip("torch")

    class Scaled(torch.nn.Embedding):
        embed_scale = 2.0

        def forward(self, ids):
            return super().forward(ids) * self.embed_scale

    embedding = Scaled(3, 2)
    assert lookup_of(embedding) is embedding
