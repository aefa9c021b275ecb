"""The scheme ``hf:`` on a directory of the documents' architecture, made on the spot: random weights, a small vocabulary."""

import json

import numpy as np
import pytest

from embedding_conformance.errors import NoVerdict, UsageError
from embedding_conformance.handles import Embedder, Encoder
from embedding_conformance.subjects import open_subject
from embedding_conformance.subjects.hf import DOCUMENTS, REVISION

from .model_folders import changed, copied, small_bert, write


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A BertModel of two layers, 384 wide, with an XLM-R tokenizer, mean pooling and no normalisation."""
    return small_bert(tmp_path_factory.mktemp("model"))


@pytest.fixture
def directory(made, tmp_path):
    """A copy that a test may change; the weights are shared."""
    return copied(made, tmp_path)


def test_every_claim_on_encoders_holds_for_it(made, command, tmp_path):
    """The chapters on encoders and pooling, in a process of their own."""
    done = command("check", f"hf:{made}", "-k", "encoder_input or pooling", "--report", str(tmp_path / "report"))
    last = done.stdout.strip().splitlines()[-1]
    assert "refuted=0 error=0" in last and "lost=0" in last, done.stdout + done.stderr
    claims = json.loads((tmp_path / "report" / "evidence.json").read_text())["claims"]
    verdicts = {claim["id"]: claim["verdict"] for claim in claims}
    assert verdicts["PARAM-01"] == "not applicable"
    assert verdicts["INPUT-01"] in ("verified", "unproven")  # unproven until the record of the proof is written


def test_declarations_come_from_its_files(made):
    """Each with the file that says it."""
    declares = open_subject(f"hf:{made}").declares
    found = {key: (declares[key].value, declares[key].origin) for key in ("pooling", "normalized", "max_seq_length")}
    assert found == {"pooling": ("mean", "1_Pooling/config.json"), "normalized": (False, "modules.json"),
                     "max_seq_length": (128, "sentence_bert_config.json")}


def test_long_texts_are_cut_at_the_declared_limit(directory):
    """And special tokens count."""
    changed(directory / "sentence_bert_config.json", max_seq_length=5)
    assert [len(ids) for ids in Encoder(open_subject(f"hf:{directory}")).token_ids(["The bank approved the loan."])] == [5]


@pytest.mark.parametrize("mode", ["cls", "max"])
def test_pooling_and_normalisation_are_those_of_its_files(directory, mode):
    """The word of newer files, and a third module."""
    write(directory / "1_Pooling" / "config.json", {"pooling_mode": mode})
    modules = json.loads((directory / "modules.json").read_text())
    write(directory / "modules.json", [*modules, {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}])
    subject = open_subject(f"hf:{directory}")
    text = ["The bank approved the loan."]
    states = Encoder(subject).hidden_states(text)[0]
    pooled = states[0] if mode == "cls" else states.max(axis=0)
    np.testing.assert_allclose(Embedder(subject).embed(text)[0], pooled / np.linalg.norm(pooled), rtol=1e-5)


@pytest.mark.parametrize("break_it", [
    lambda folder: (folder / "modules.json").unlink(),
    lambda folder: write(folder / "1_Pooling" / "config.json", {"pooling_mode_weightedmean_tokens": True}),
    lambda folder: changed(folder / "1_Pooling" / "config.json", pooling_mode_cls_token=True),
    lambda folder: write(folder / "modules.json", [{"type": f"a.{kind}", "path": path} for kind, path in (
        ("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"))]),
    lambda folder: (changed(folder / "1_Pooling" / "config.json", include_prompt=False),
                    write(folder / "config_sentence_transformers.json", {"prompts": {"document": "The king "}})),
], ids=["no modules", "another mode", "two modes", "a dense layer", "prompts that do not count"])
def test_no_embedder_without_a_pooling_that_can_be_computed(directory, break_it):
    """What is not declared is not assumed; the user may declare it."""
    break_it(directory)
    assert "embedder" not in open_subject(f"hf:{directory}").facets
    subject = open_subject(f"hf:{directory}", {"pooling": "mean", "normalized": True})
    assert np.linalg.norm(Embedder(subject).embed(["king"])) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("break_it", "says"), [
    (lambda folder: changed(folder / "config.json", auto_map={"AutoModel": "m.M"}), "auto_map"),
    (lambda folder: changed(folder / "config.json", model_type="own"), "of a model that Transformers .* does not know"),
    (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "pytorch_model.bin is a pickle"),
    (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer.json"),
    (lambda folder: (folder / "config.json").write_text("{"), "config.json is not valid JSON"),
    (lambda folder: (folder / "config.json").unlink(), "config.json: No such file"),
], ids=["remote code", "another model", "pickle", "no tokenizer", "broken", "no configuration"])
def test_what_cannot_be_loaded_is_refused(directory, break_it, says):
    """With one message that says what is wrong."""
    break_it(directory)
    with pytest.raises(UsageError, match=says):
        open_subject(f"hf:{directory}")


def test_a_folder_that_is_not_there():
    with pytest.raises(UsageError, match="there is no folder nowhere/to/be/found"):
        open_subject("hf:nowhere/to/be/found")


def test_an_unknown_pooling_is_refused(made):
    with pytest.raises(UsageError, match="pooling=sum, and only mean, cls, max"):
        open_subject(f"hf:{made}", {"pooling": "sum"})


def test_weights_of_another_model_give_no_verdict(directory):
    """A layer is missing: the model would be filled up with random numbers."""
    changed(directory / "config.json", num_hidden_layers=3)
    with pytest.raises(NoVerdict, match=r"missing \['encoder.layer.2"):
        Encoder(open_subject(f"hf:{directory}")).hidden_states(["king"])


def test_names_of_models_with_a_head_are_understood(directory, made):
    """The file of a masked language model, with the names of its day, is the same encoder."""
    from safetensors.torch import load_file, save_file

    def old(name):
        return f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")

    weights = {old(name): tensor for name, tensor in load_file(made / "model.safetensors").items() if "pooler" not in name}
    (directory / "model.safetensors").unlink()
    save_file(weights | {"cls.predictions.bias": weights[old("embeddings.LayerNorm.bias")].clone()},
              directory / "model.safetensors")
    text = ["The bank approved the loan."]
    found, expected = (Encoder(open_subject(f"hf:{folder}")).hidden_states(text)[0] for folder in (directory, made))
    np.testing.assert_array_equal(found, expected)


def test_weights_in_several_files_are_one_model(directory, made):
    """As the index says; the digest is that of all of them."""
    from safetensors.torch import load_file, save_file

    weights = load_file(made / "model.safetensors")
    files = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(sorted(weights))}
    for file in set(files.values()):
        save_file({name: tensor for name, tensor in weights.items() if files[name] == file}, directory / file)
    (directory / "model.safetensors").unlink()
    write(directory / "model.safetensors.index.json", {"metadata": {}, "weight_map": files})
    subject, whole = (open_subject(f"hf:{folder}") for folder in (directory, made))
    np.testing.assert_array_equal(Encoder(subject).hidden_states(["king"])[0], Encoder(whole).hidden_states(["king"])[0])
    assert Encoder(subject).weights().keys() == Encoder(whole).weights().keys()
    assert subject.facts["sha256"] != whole.facts["sha256"] and subject.declares["precision"].value == "float32"


def test_half_precision_is_kept(directory, made):
    """The model has the format of its file."""
    from safetensors.torch import load_file, save_file

    weights = {name: tensor.half() for name, tensor in load_file(made / "model.safetensors").items()}
    (directory / "model.safetensors").unlink()
    save_file(weights, directory / "model.safetensors")
    subject = open_subject(f"hf:{directory}")
    assert subject.declares["precision"].value == "float16"
    assert Encoder(subject).hidden_states(["king"])[0].dtype == np.float16


def test_a_broken_weights_file_gives_no_verdict(directory):
    (directory / "model.safetensors").unlink()
    (directory / "model.safetensors").write_bytes(b"PK\x03\x04" * 100)
    with pytest.raises(NoVerdict, match="no safetensors file"):
        open_subject(f"hf:{directory}")


def test_the_documents_model_is_looked_for_in_the_cache(made, tmp_path, monkeypatch):
    """Absent it gives no verdict and says how to get it; present it declares that it is the documents' model."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    with pytest.raises(NoVerdict, match=f"not in {tmp_path}/hub; fetch them with: hf download {DOCUMENTS}"):
        open_subject("hf:documents")
    snapshots = tmp_path / "hub" / f"models--{DOCUMENTS.replace('/', '--')}" / "snapshots"
    snapshots.mkdir(parents=True)
    (snapshots / REVISION).symlink_to(made)
    assert open_subject("hf:documents").declares["model"].value == "documents"


def test_the_claims_on_the_documents_table_pass_at_its_size():
    """Their checks on a table of that size that takes no memory."""
    import torch
    from embedding_conformance.suites.encoder_input import test_model, test_tables

    from embedding_conformance.evidence import ClaimViolation, Evidence

    class Stub:
        def __init__(self, rows, padding):
            self.embedding = lambda: torch.nn.Embedding(rows, 384, padding_idx=padding, device="meta")
            self.weights = lambda: {test_tables.WORDS: np.broadcast_to(np.float32(0), (rows, 384))}

    checks = [test_tables.test_the_shape_of_the_table, test_tables.test_the_count_of_its_numbers,
              test_tables.test_the_memory_of_the_table, test_model.test_how_the_layer_prints]
    for check in checks:
        check(Stub(250037, 0), Evidence())
        with pytest.raises(ClaimViolation):
            check(Stub(250002, 1), Evidence())
