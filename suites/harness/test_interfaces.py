"""Objects written for other libraries, as the scheme ``python:`` recognises them."""

import numpy as np
import pytest

from embedding_conformance.errors import UsageError
from embedding_conformance.handles import Embedder, Encoder, Layer, TiedModel, Tokenizer
from embedding_conformance.subjects.python_object import from_object

from .model_folders import small_bert

TEXTS = ["The bank", "The queen approved the loan."]


def numbers(texts):
    return [[float(len(text)), 1.0] for text in texts]


class LangChain:
    def embed_documents(self, texts):
        return numbers(texts)

    def embed_query(self, text):
        assert isinstance(text, str)
        return [float(len(text)), 2.0]


class Both(LangChain):
    """Methods of its own too, which come first."""

    def embed(self, texts):
        return [[0.0, 0.0] for _ in texts]


class Encodes:
    def encode(self, texts):
        return np.array(numbers(texts))


class Roles(Encodes):
    def encode_query(self, texts):
        return [[one, 2.0] for one, _ in numbers(texts)]

    def encode_document(self, texts):
        return [[one, 3.0] for one, _ in numbers(texts)]


class Generates:
    def embed(self, texts):
        yield from map(np.array, numbers(texts))


class Called:
    declares = {"normalized": False}  # noqa: RUF012

    def __call__(self, texts):
        return numbers(texts)


@pytest.mark.parametrize(("thing", "second"), [
    (LangChain(), 1.0), (Both(), 0.0), (Encodes(), 1.0), (Roles(), 3.0), (Generates(), 1.0), (Called(), 1.0), (numbers, 1.0),
    (LangChain, 1.0), (lambda: numbers, 1.0), (Encodes, 1.0),
], ids=["LangChain", "own methods first", "encode", "roles", "generator", "callable", "function", "class of LangChain's",
        "factory of a function", "class"])
def test_an_embedder_by_any_of_its_names(thing, second):
    subject = from_object(thing, "mine.thing")
    assert subject.facets == {"embedder"}
    found = Embedder(subject).embed(TEXTS)
    assert found.shape == (2, 2) and found[0, 1] == second


@pytest.mark.parametrize("thing", [LangChain(), Both(), Roles()])
def test_a_query_has_a_role_of_its_own(thing):
    """One string at a time for LangChain's method, all texts at once for the others."""
    np.testing.assert_array_equal(Embedder(from_object(thing, "mine")).embed_query(TEXTS), [[8, 2], [28, 2]])


def test_declarations_of_the_object_count():
    assert from_object(Called(), "mine").declares["normalized"].origin == "Called.declares"


class Codec:
    def encode(self, texts):
        return numbers(texts)

    def decode(self, ids):
        return ""


def test_what_encodes_and_decodes_is_not_guessed():
    """It may be a tokenizer; --facet says which is meant."""
    with pytest.raises(UsageError, match="may be an embedder or a tokenizer: say --facet embedder"):
        from_object(Codec(), "mine.codec")
    assert from_object(Codec(), "mine.codec", frozenset({"embedder"})).facets == {"embedder"}
    with pytest.raises(UsageError, match="not tokens, so it cannot be judged as a tokenizer"):
        from_object(Codec(), "mine.codec", frozenset({"tokenizer"}))


def test_the_command_passes_the_facet_on(command):
    command.write("mine.py", "class Codec:\n    def encode(self, texts): return [[float(len(t)), 1.0] for t in texts]\n"
                             "    def decode(self, ids): return ''\n")
    assert "say --facet embedder" in command("check", "python:mine.py:Codec").stderr
    done = command("check", "python:mine.py:Codec", "--facet", "embedder", "-k", "SHAPE-11")
    assert "verified=1" in done.stdout, done.stdout + done.stderr


def test_tensors_are_arrays():
    """Alone or in a list, with a gradient or in a format that NumPy does not know."""
    torch = pytest.importorskip("torch")

    class Tensors:
        def embed(self, texts):
            return [torch.tensor(row, dtype=torch.bfloat16, requires_grad=True) for row in numbers(texts)]

    np.testing.assert_array_equal(Embedder(from_object(Tensors(), "mine")).embed(TEXTS), numbers(TEXTS))
    whole = from_object(lambda texts: torch.tensor(numbers(texts), requires_grad=True), "mine")
    np.testing.assert_array_equal(Embedder(whole).embed(TEXTS), numbers(TEXTS))


def test_a_module_is_known_by_its_methods_and_not_by_what_every_module_has():
    """`train` trains nothing, and a module inside is no method; a module that only computes is no subject."""
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.pool = torch.nn.Embedding(5, 3), torch.nn.AvgPool1d(2)

    with pytest.raises(UsageError, match="offers none of lookup, embed, encode"):
        from_object(Model(), "mine.model")

    class Sentences(Model):
        def encode(self, texts):
            return numbers(texts)

    assert from_object(Sentences(), "mine.model").facets == {"embedder"}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    transformers = pytest.importorskip("transformers")
    folder = small_bert(tmp_path_factory.mktemp("model"))
    return (transformers.BertModel.from_pretrained(folder, local_files_only=True).eval(),
            transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True))


def test_a_model_with_its_tokenizer(pair):
    """As a pair, from a factory, or in a pipeline: an encoder with its layer; an embedder where a pooling is declared."""
    import transformers

    pipeline = transformers.pipeline("feature-extraction", model=pair[0], tokenizer=pair[1])
    for thing in (pair, list(pair), lambda: pair, pipeline):
        subject = from_object(thing, "mine.pair")
        assert subject.facets == {"encoder", "layer", "module", "tokenizer"}
        ids = Encoder(subject).token_ids(TEXTS)[0]
        np.testing.assert_array_equal(Encoder(subject).input_embeddings(TEXTS)[0], Layer(subject).table()[ids])
    assert subject.declares["architecture"].value == "bert"


def test_a_pair_is_an_embedder_once_a_pooling_is_declared(command, tmp_path):
    (tmp_path / "model").mkdir()
    small_bert(tmp_path / "model")
    command.write("mine.py", "from transformers import AutoModel, AutoTokenizer\n"
                             "def make():\n"
                             f"    return AutoModel.from_pretrained({str(tmp_path / 'model')!r}), "
                             f"AutoTokenizer.from_pretrained({str(tmp_path / 'model')!r})\n")
    done = command("check", "python:mine.py:make", "--declare", "pooling=mean", "-k", "pooling or INPUT-01 or INPUT-08")
    last = done.stdout.strip().splitlines()[-1]
    assert "refuted=0 error=0" in last and "verified=9" in last, done.stdout + done.stderr


def test_a_tokenizer_of_transformers_or_of_tokenizers(pair):
    import tokenizers

    for thing in (pair[1], tokenizers.Tokenizer.from_str(pair[1].backend_tokenizer.to_str())):
        try:
            subject = from_object(thing, "mine.tokenizer")
        except UsageError as error:  # the bare one does not say which of its tokens is padding
            assert isinstance(thing, tokenizers.Tokenizer) and "no padding token" in str(error)
            continue
        assert subject.facets == {"tokenizer"}
        assert Tokenizer(subject).ids(["The bank"])[0].tolist() == [0, 4, 5, 2]


def test_a_causal_language_model_is_a_tied_model():
    """If its configuration ties the tables; a model without an output projection needs its tokenizer."""
    transformers = pytest.importorskip("transformers")
    settings = {"vocab_size": 20, "n_embd": 8, "n_layer": 1, "n_head": 1, "bos_token_id": 0, "eos_token_id": 0}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings))
    subject = from_object(lambda: model, "mine.make")
    assert subject.facets == {"tied_model"}
    assert TiedModel(subject).logits(np.array([1, 2])).shape == (2, 20)
    untied = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings, tie_word_embeddings=False))
    with pytest.raises(UsageError, match="does not tie"):
        from_object(untied, "mine.untied")
    with pytest.raises(UsageError, match=r"reads no text by itself: return \(model, tokenizer\)"):
        from_object(model.base_model, "mine.body")
