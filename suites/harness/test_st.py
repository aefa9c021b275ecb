"""The scheme ``st:`` on small directories, made on the spot."""

import json

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

from embedding_conformance.errors import UsageError
from embedding_conformance.handles import Embedder, Encoder, Layer
from embedding_conformance.subjects import open_subject, st

from .model_folders import changed, copied, small_bert, write

TEXTS = ["The bank approved the loan.", "The queen", "king"]
PROMPTS = "config_sentence_transformers.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return small_bert(tmp_path_factory.mktemp("model"))


@pytest.fixture
def directory(made, tmp_path):
    return copied(made, tmp_path / "model")


def test_every_claim_on_encoders_and_pooling_holds_for_it(made, command):
    """The oracle of BERT included, since the directory holds one."""
    done = command("check", f"st:{made}", "-k", "encoder_input or pooling or POOL")
    last = done.stdout.strip().splitlines()[-1]
    assert "refuted=0 error=0" in last and "lost=0" in last, done.stdout + done.stderr
    evidence = json.loads((command.folder / "embedding-conformance-report" / "evidence.json").read_text())
    verdicts = {claim["id"]: claim["verdict"] for claim in evidence["claims"]}
    assert {verdicts[claim] for claim in ("INPUT-01", "POOL-02", "POOL-08")} <= {"verified", "unproven"}


def test_declarations_come_from_its_files(made):
    found = {key: (one.value, one.origin) for key, one in open_subject(f"st:{made}").declares.items()}
    assert found["pooling"] == ("mean", "1_Pooling/config.json") and found["normalized"] == (False, "modules.json")
    assert found["max_seq_length"] == (128, "sentence_bert_config.json")
    assert found["precision"] == ("float32", "model.safetensors") and found["lowercase"] == (False, "tokenizer.json")
    assert "prompts" not in found


def test_it_agrees_with_the_same_directory_through_transformers(made):
    """The same ids, and vectors that differ by rounding only."""
    through = [open_subject(f"{scheme}:{made}") for scheme in ("st", "hf")]
    ids = [[list(one) for one in Encoder(subject).token_ids(TEXTS)] for subject in through]
    assert ids[0] == ids[1]
    first, second = (Embedder(subject).embed(TEXTS) for subject in through)
    np.testing.assert_allclose(first, second, atol=1e-5)
    np.testing.assert_array_equal(Layer(through[0]).table(), Layer(through[1]).table())


def test_roles_have_the_prompts_of_the_file(directory):
    """A document and a query: the texts with what the file puts before them; tokens and states are those of the text alone."""
    write(directory / PROMPTS, {"prompts": {"query": "The king ", "document": "The loan "}})
    subject = open_subject(f"st:{directory}")
    assert subject.declares["prompts"].value == {"query": "The king ", "document": "The loan "}
    plain = open_subject(f"st:{directory}")
    plain.facet("embedder").model.prompts = {"query": "", "document": ""}
    embedder, bare = Embedder(subject), Embedder(plain)
    np.testing.assert_allclose(embedder.embed(TEXTS), bare.embed([f"The loan {text}" for text in TEXTS]), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_query(TEXTS), bare.embed([f"The king {text}" for text in TEXTS]), atol=1e-5)
    means = [rows.mean(axis=0) for rows in Encoder(subject).hidden_states([f"The loan {text}" for text in TEXTS])]
    np.testing.assert_allclose(embedder.embed(TEXTS), means, atol=1e-5)
    for ids, own in zip(Encoder(subject).token_ids(TEXTS), Encoder(plain).token_ids(TEXTS), strict=True):
        np.testing.assert_array_equal(ids, own)


def test_prompts_are_no_fault(directory, command):
    """Of no stage: vectors are those of the prompt and the text, once; through Transformers, too."""
    write(directory / PROMPTS, {"prompts": {"query": "The king ", "document": "The loan "}})
    roles = "FIELD-26 or FIELD-27 or FIELD-29"
    done = command("check", f"st:{directory}", "-k", f"AGREE or {roles}")
    assert done.returncode == 0 and " verified=12 " in done.stdout, done.stdout + done.stderr
    # The ids of texts that spell special tokens are the library's own, and no matter of prompts.
    done = command("check", f"hf:{directory}", "--reference", f"st:{directory}", "-k", f"AGREE-06 or AGREE-08 or {roles}")
    assert done.returncode == 0 and " verified=5 " in done.stdout, done.stdout + done.stderr


def test_a_prompt_that_is_not_pooled_leaves_the_pooling_undeclared(directory):
    write(directory / PROMPTS, {"prompts": {"query": "The king ", "document": "The loan "}})
    changed(directory / "1_Pooling" / "config.json", include_prompt=False)
    assert "pooling" not in open_subject(f"st:{directory}").declares


def test_without_prompts_there_is_no_role_of_a_query(made):
    assert "embedder.embed_query" not in open_subject(f"st:{made}").capabilities


def test_without_modules_nothing_is_promised_about_the_vector(directory):
    """The library pools as it likes, and the directory does not say how."""
    (directory / "modules.json").unlink()
    subject = open_subject(f"st:{directory}")
    assert "embedder" in subject.facets and not {"pooling", "normalized"} & subject.declares.keys()


def test_static_embeddings_are_an_embedder_and_no_encoder(directory, made, tmp_path):
    """A table and a tokenizer, without a network."""
    from safetensors.numpy import save_file

    target = tmp_path / "static"
    (target / "0_Static").mkdir(parents=True)
    save_file({"embedding.weight": np.arange(60, dtype=np.float32).reshape(15, 4)}, target / "0_Static" / "model.safetensors")
    (target / "0_Static" / "tokenizer.json").write_bytes((made / "tokenizer.json").read_bytes())
    write(target / "modules.json", [{"idx": 0, "name": "0", "path": "0_Static",
                                     "type": "sentence_transformers.models.StaticEmbedding"}])
    subject = open_subject(f"st:{target}")
    assert "embedder" in subject.facets and not {"encoder", "layer"} & subject.facets
    # "The bank" is the pieces 4 and 5; special tokens are left out.
    np.testing.assert_allclose(Embedder(subject).embed(["The bank"]), [[18, 19, 20, 21]])


def test_a_missing_library_and_an_old_one_say_what_to_install(made, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == st.LIBRARY else find(name, *rest))
    with pytest.raises(UsageError, match=r"^st: needs sentence-transformers: pip install 'embedding-conformance\[st\]'$"):
        open_subject(f"st:{made}")
    monkeypatch.undo()
    monkeypatch.setattr(st, "version", lambda package: "5.1.0")
    with pytest.raises(UsageError, match=r"st: needs sentence-transformers 6 or newer, and 5.1.0 is installed"):
        open_subject(f"st:{made}")
