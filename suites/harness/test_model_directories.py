"""What is wrong with a model directory: each kind ends in one message and the right exit code, whatever reads it."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from embedding_conformance.errors import Exit, Refusal
from embedding_conformance.handles import Encoder
from embedding_conformance.subjects import open_subject

from .model_folders import changed, copied, small, small_bert, write

SCHEMES = ("hf", "st")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return small_bert(tmp_path_factory.mktemp("model"))


@pytest.fixture
def directory(made, tmp_path):
    return copied(made, tmp_path / "model")


def cut(path, share=0.7):
    """Only the beginning of the file is kept."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:int(len(data) * share)])


def loop(path):
    """A symbolic link to itself."""
    path.unlink()
    path.symlink_to(path.name)


def with_code(folder):
    """Code of the directory, which would leave a mark if it were run."""
    (folder / "own.py").write_text(f"open({str(folder / 'mark')!r}, 'w')\nclass Own: pass\n")
    changed(folder / "config.json", auto_map={"AutoModel": "own.Own", "AutoConfig": "own.Own"})


def with_own_module(folder):
    (folder / "own.py").write_text(f"open({str(folder / 'mark')!r}, 'w')\nclass Own: pass\n")
    write(folder / "modules.json", [{"idx": 0, "name": "0", "type": "own.Own", "path": ""}])


def sharded_and_one_lost(folder):
    (folder / "model.safetensors").unlink()
    write(folder / "model.safetensors.index.json", {"weight_map": {"a": "model-1.safetensors"}})


BROKEN = {
    "no configuration": (lambda folder: (folder / "config.json").unlink(), Exit.USAGE, "config.json: No such file"),
    "broken configuration": (lambda folder: (folder / "config.json").write_text("{"), Exit.USAGE,
                             "config.json is not valid JSON"),
    "configuration of another kind": (lambda folder: write(folder / "config.json", [1]), Exit.USAGE, "holds no object"),
    "cut off weights": (lambda folder: cut(folder / "model.safetensors"), Exit.NO_VERDICT, "model.safetensors is cut off"),
    "cut off in the header": (lambda folder: cut(folder / "model.safetensors", 1e-5), Exit.NO_VERDICT,
                              "is cut off, or no safetensors file"),
    "pickle only": (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), Exit.USAGE,
                    "pytorch_model.bin is a pickle, which can run code"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), Exit.USAGE, "there is no model.safetensors"),
    "a lost shard": (sharded_and_one_lost, Exit.NO_VERDICT, "names model-1.safetensors, which is missing"),
    "remote code": (with_code, Exit.USAGE, "auto_map.*never run"),
    "another architecture": (lambda folder: changed(folder / "config.json", model_type="distilbert"), Exit.NO_VERDICT,
                             "the weights do not fit the model"),
    "more layers": (lambda folder: changed(folder / "config.json", num_hidden_layers=3), Exit.NO_VERDICT,
                    "the weights do not fit the model"),
    "an unknown architecture": (lambda folder: changed(folder / "config.json", model_type="own"), Exit.USAGE,
                                "does not know"),
    "a loop of links": (lambda folder: loop(folder / "config.json"), Exit.USAGE, "Too many levels of symbolic links"),
    "weights that are a loop": (lambda folder: loop(folder / "model.safetensors"), Exit.USAGE,
                                "Too many levels of symbolic links"),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_directory_is_refused(directory, scheme, kind):
    """The message says what is wrong, and nothing of the directory was run."""
    break_it, code, says = BROKEN[kind]
    break_it(directory)
    with pytest.raises(Refusal, match=says) as caught:
        open_subject(f"{scheme}:{directory}")
    assert caught.value.exit == code
    assert str(caught.value).startswith(f"{scheme}:{directory}") and "\n" not in str(caught.value)
    assert not (directory / "mark").exists()


def test_modules_of_the_directory_itself_are_not_imported(directory):
    with_own_module(directory)
    with pytest.raises(Refusal, match=r"asks to import own.Own.*never run") as caught:
        open_subject(f"st:{directory}")
    assert caught.value.exit == Exit.USAGE and not (directory / "mark").exists()


@pytest.mark.parametrize("path", ["/etc", "../.."])
def test_modules_outside_of_the_directory_are_refused(directory, path):
    modules = json.loads((directory / "modules.json").read_text())
    write(directory / "modules.json", [modules[0], modules[1] | {"path": path}])
    for scheme in SCHEMES:
        with pytest.raises(Refusal, match="a path outside of its folder"):
            open_subject(f"{scheme}:{directory}")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_directory_itself_is_a_loop(tmp_path, scheme):
    (tmp_path / "model").symlink_to("model")
    with pytest.raises(Refusal, match="Too many levels of symbolic links") as caught:
        open_subject(f"{scheme}:{tmp_path / 'model'}")
    assert caught.value.exit == Exit.USAGE


@pytest.fixture
def readable(made):
    """A copy in a folder that every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        target = Path(shutil.copytree(made, Path(name) / "model"))
        yield target


def as_nobody(function):
    """What a function returns in a copy of this process that may read no more than others may; root may read everything."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(theirs, function().encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        return said.read()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json", "."])
def test_without_the_right_to_read(readable, scheme, file):
    open_subject(f"{scheme}:{readable}")  # the copy imports nothing, since it may not read the libraries either

    def attempt():
        try:
            open_subject(f"{scheme}:{readable}")
        except Refusal as refusal:
            return f"{refusal.exit:d} {refusal}"
        return "it was opened"

    (readable / file).chmod(0)
    said = as_nobody(attempt)
    (readable / file).chmod(0o755)
    if not said and as_nobody(lambda: str(os.access(pytest.__file__, os.R_OK))) != "True":
        pytest.skip("the library is loaded on the way, and the other user may not read it where it is installed here")
    assert said.startswith(f"4 {scheme}:{readable}") and "Permission denied" in said, said


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_command_says_one_line_and_no_traceback(directory, command, scheme):
    """From a shell: the message, the last line, the exit code."""
    cut(directory / "model.safetensors")
    done = command("check", f"{scheme}:{directory}")
    assert done.returncode == Exit.NO_VERDICT
    shown = done.stdout + done.stderr
    assert shown.count("is cut off") == 1 and "Traceback" not in shown
    assert done.stdout.strip().splitlines()[-1].startswith("verdict=inconclusive")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_vocabulary_of_a_hundred_thousand_lines(tmp_path, scheme):
    """The last of its words has the last id, and a row."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    small(tmp_path, "bert", vocab_size=100_000, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
          intermediate_size=8)
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"word{i}" for i in range(4, 100_000))]
    tokenizer = Tokenizer(models.WordLevel({entry: i for i, entry in enumerate(entries)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write(tmp_path / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]",
                                               "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"})
    subject = open_subject(f"{scheme}:{tmp_path}")
    encoder = Encoder(subject)
    assert encoder.token_ids(["word99999 word4 other"])[0].tolist() == [2, 99_999, 4, 1, 3]
    assert encoder.hidden_states(["word99999"])[0].shape == (3, 8)
    assert subject.facet("tokenizer").vocabulary_size == 100_000


@pytest.mark.parametrize(("kind", "config"), [
    ("roberta", {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 66}),
    ("distilbert", {"dim": 8, "n_heads": 2, "n_layers": 1, "hidden_dim": 8}),
    ("t5", {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_heads": 2, "num_layers": 1}),
    ("gpt2", {"n_embd": 8, "n_layer": 1, "n_head": 2}),
])
def test_other_architectures_are_judged_without_the_oracle_of_bert(tmp_path, kind, config):
    """States as wide as the model, the limit that its positions allow, and padding that changes nothing."""
    import numpy as np

    small(tmp_path, kind, vocab_size=40, pad_token_id=1, bos_token_id=0, eos_token_id=2, **(
        {"num_hidden_layers": 1} if kind == "roberta" else {}), **config)
    subject = open_subject(f"hf:{tmp_path}", {"pooling": "mean"})
    assert subject.declares["contextual"].value is True and "architecture" not in subject.declares
    assert "encoder.input_vectors" not in subject.capabilities
    limit = subject.declares.get("max_seq_length")
    assert {"roberta": 64, "distilbert": 512, "t5": None, "gpt2": 1024}[kind] == (limit.value if limit else None)
    encoder = Encoder(subject)
    alone, beside = (encoder.hidden_states(texts, fresh=True)[0] for texts in (
        ["The bank."], ["The bank.", "The bank approved the loan . The queen . The king ."]))
    assert alone.shape[1] == 8
    np.testing.assert_allclose(alone, beside, atol=1e-5)
