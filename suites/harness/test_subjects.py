"""Subject strings, recognition of Python objects, declarations."""

import numpy as np
import pytest

from embedding_conformance.errors import NoVerdict, UsageError
from embedding_conformance.subjects import declared, open_subject, parse_declaration
from embedding_conformance.subjects.python_object import from_object


class Layer:
    def __init__(self, table, padding_id=None):
        self.w = table.copy()

    def table(self):
        return self.w

    def lookup(self, ids):
        return self.w[ids]


@pytest.mark.parametrize(("name", "said"), [
    ("http://tei:8080/v1", "for an OpenAI-compatible service write openai:http://tei:8080/v1"),
    ("intfloat/e5-base-v2", "st:intfloat/e5-base-v2 (sentence-transformers) or hf:intfloat/e5-base-v2"),
    ("mine.py:make", "write python:mine.py:make"),
    ("mine.py::make", "write python:mine.py:make"),
    ("mylib.testing:make", "write python:mylib.testing:make"),
    ("PAD-03", "that is a claim: check -k PAD-03"),
    ("torhc", 'did you mean "torch"'),
    ("./build", "a path alone does not say"),
    ("torch:x", "write torch"),
    ("python:", "write python:FILE.py:NAME"),
    ("python:x", "write python:FILE.py:NAME"),
    ("zzz", "name one of torch, bundled"),
    ("x" * 5000, "name one of torch, bundled"),
    ("a/" + "x" * 5000, "there is no such path"),
    ("hf:" + "x" * 5000, "File name too long"),
    ("st:a\nb", "holds no line breaks"),
    ("onnx:" + "x" * 5000, "File name too long"),
])
def test_what_is_no_subject_is_told_how_to_write_it(name, said):
    with pytest.raises(UsageError) as caught:
        open_subject(name)
    assert said in str(caught.value)


@pytest.mark.parametrize(("files", "said"), [
    (["model.onnx", "tokenizer.json"], "it looks like an ONNX export (model.onnx, tokenizer.json): onnx:"),
    (["onnx/model.onnx", "onnx/model_O4.onnx"], "it looks like an ONNX export (onnx/model.onnx, onnx/model_O4.onnx): onnx:"),
    (["modules.json", "config.json", "model.safetensors", "onnx/model.onnx"], "sentence-transformers (modules.json): st:"),
    (["config.json", "model.safetensors"], "a model of Transformers (config.json, model.safetensors): hf:"),
    (["b.npy", "a.parquet"], "it looks like stored vectors (a.parquet, b.npy): vectors:"),
    (["readme.txt"], "a path alone does not say what it holds"),
])
def test_a_folder_is_told_by_what_it_holds(tmp_path, files, said):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(UsageError) as caught:
        open_subject(str(tmp_path))
    assert said in str(caught.value)
    assert not said.endswith(":") or str(caught.value).endswith(str(tmp_path))


@pytest.mark.parametrize(("name", "said"), [("v.npy", "vectors:"), ("m.onnx", "onnx:"), ("x.txt", "a path alone")])
def test_a_file_is_told_by_its_ending(tmp_path, name, said):
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match=said):
        open_subject(str(tmp_path / name))


def test_a_class_with_a_table_is_built_from_tables():
    subject = from_object(Layer, "Layer")
    assert {"layer.table", "layer.lookup", "layer.with_table", "layer.padding_id"} <= subject.capabilities
    assert not subject.shared


def test_an_object_is_judged_as_it_is():
    subject = from_object(Layer(np.ones((3, 2), np.float32)), "obj")
    assert subject.capabilities == {"layer.table", "layer.lookup"} and subject.shared


def test_a_function_of_texts_is_an_embedder():
    subject = from_object(lambda texts: np.ones((len(texts), 4)), "f")
    assert subject.facets == {"embedder"}


def test_a_factory_without_parameters_is_called():
    assert from_object(lambda: Layer(np.ones((3, 2), np.float32)), "make").facets == {"layer"}


def test_a_factory_that_needs_something_else_is_refused():
    with pytest.raises(UsageError, match="needs a, b; name a factory"):
        from_object(lambda a, b: None, "make")
    with pytest.raises(UsageError, match="takes a table, but also needs mode"):
        from_object(lambda table, mode: None, "make")


@pytest.mark.parametrize(("thing", "error", "said"), [
    (lambda: 1 / 0, NoVerdict, r"make raised ZeroDivisionError: division by zero \(test_subjects.py:\d+\)"),
    (lambda: None, NoVerdict, "returned None"),
    (type("C", (), {"look_up": lambda self: 0}), UsageError, 'nearest: "look_up" for "lookup"'),
    (type("C", (), {"lookup": lambda self: 0}), UsageError, "offers lookup but not table"),
    (type("C", (), {}), UsageError, "offers none of"),
    (type("C", (), {"embed": lambda self, texts: 0, "declares": [1]}), UsageError, "must be a dictionary"),
])
def test_what_cannot_be_judged_says_why(thing, error, said):
    with pytest.raises(error, match=said):
        from_object(thing, "make")


def test_an_nn_embedding_is_a_layer_and_a_module():
    torch = pytest.importorskip("torch")
    subject = from_object(torch.nn.Embedding(5, 3), "emb")
    assert subject.facets == {"layer", "module"}
    assert from_object(lambda table: torch.nn.Embedding.from_pretrained(torch.tensor(table)), "make").facets == {"layer"}


def test_declarations_are_checked_by_name_type_and_word():
    assert declared({"normalized": True}, "x")["normalized"].value is True
    for wrong in ({"normalised": True}, {"normalized": 1}, {"precision": "fp32"}, {"max_seq_length": True}):
        with pytest.raises(UsageError):
            declared(wrong, "x")
    assert parse_declaration("normalized=true") == ("normalized", True)
    assert parse_declaration("max_seq_length=256") == ("max_seq_length", 256)
    for wrong in ("normalized", "normalized=yes", "max_seq_length=x", "foo=1"):
        with pytest.raises(UsageError):
            parse_declaration(wrong)


def test_a_later_declaration_wins_and_keeps_its_origin():
    subject = open_subject("torch", {"out_of_range_below": "wrap"})
    declaration = subject.declares["out_of_range_below"]
    assert (declaration.value, declaration.origin) == ("wrap", "--declare")
    assert "--declare out_of_range_below=raise" not in subject.does_not_declare({"out_of_range_above": "raise"})
    assert "it declares out_of_range_below=wrap" in subject.does_not_declare({"out_of_range_below": "raise"})
    assert "--declare normalized=true" in subject.does_not_declare({"normalized": True})


def test_a_list_stands_for_any_of_its_values_and_any_for_every_promise():
    subject = from_object(Layer, "Layer")
    subject.declares = declared({"precision": "int8", "out_of_range_below": "undefined"}, "here")
    assert not subject.does_not_declare({"precision": ["int8", "int4"]})
    assert not subject.does_not_declare({"precision": "any"})
    assert subject.does_not_declare({"precision": ["float32", "float64"]}) == \
        "it declares precision=int8, and this needs float32 or float64"
    assert subject.does_not_declare({"out_of_range_below": "any"})
    assert subject.does_not_declare({"recall": "any"}) == "it does not declare recall (--declare recall=...)"


def test_a_declared_metric_limits_what_is_judged():
    subject = from_object(Layer, "Layer")
    assert not subject.declares_other_metric({"dot"})
    subject.declares = declared({"metric": "cosine"}, "here")
    assert not subject.declares_other_metric({"cosine"}) and not subject.declares_other_metric(set())
    assert subject.declares_other_metric({"cosine", "dot"}) == "it declares metric=cosine, and this needs cosine and dot"


def test_an_approximate_index_says_how_much_it_finds():
    with pytest.raises(UsageError, match=r"recall=0\.95"):
        open_subject("formulas", {"exact": False})
    open_subject("formulas", {"exact": False, "recall": 0.5})
