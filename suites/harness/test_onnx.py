"""The scheme ``onnx:`` on small graphs, made on the spot."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from embedding_conformance.errors import Exit, Refusal  # noqa: E402
from embedding_conformance.handles import Embedder, Encoder  # noqa: E402
from embedding_conformance.subjects import onnx_graph, open_subject  # noqa: E402

from .model_folders import unigram, write  # noqa: E402

TEXTS = ["The bank approved the loan.", "The queen", "king"]
INT64 = TensorProto.INT64


def table(kind=np.float32):
    """[15, 4]: row i is a ramp, minus its square."""
    rows = np.arange(15)[:, None]
    return (rows * np.array([1, 0, 2, -1]) - rows**2 * np.array([0, 1, 0, 0]) / 8).astype(kind)


def graph(folder, *, outputs=("last_hidden_state",), inputs=None, kind=np.float32, ids=INT64, file="model.onnx",
          rows="input_ids"):
    """Looks rows up by one of its inputs; gives them for each token, or their sum over the mask for each text."""
    inputs = inputs or {"input_ids": ids, "attention_mask": ids}
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    nodes = [helper.make_node("Gather", ["table", rows], ["last_hidden_state"])]
    if "sentence_embedding" in outputs:
        nodes += [helper.make_node("Cast", ["attention_mask"], ["real"], to=number),
                  helper.make_node("Unsqueeze", ["real", "axis"], ["wide"]),
                  helper.make_node("Mul", ["last_hidden_state", "wide"], ["kept"]),
                  helper.make_node("ReduceSum", ["kept", "one"], ["sentence_embedding"], keepdims=0)]
    shapes = {"last_hidden_state": ["batch", "length", 4], "sentence_embedding": ["batch", 4]}
    made = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info(name, one, ["batch", "length"]) for name, one in inputs.items()],
        [helper.make_tensor_value_info(name, number, shapes[name]) for name in outputs],
        [numpy_helper.from_array(table(kind), "table"), numpy_helper.from_array(np.array([2]), "axis"),
         numpy_helper.from_array(np.array([1]), "one")])
    (folder / file).parent.mkdir(exist_ok=True)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(folder / file))


@pytest.fixture
def directory(tmp_path):
    """A graph with the states of tokens, and a tokenizer."""
    graph(tmp_path)
    unigram(tmp_path)
    return tmp_path


def with_pooling(folder, mode, normalized):
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), *([("Normalize", "2_Normalize")] if normalized else [])]
    write(folder / "modules.json", [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds])
    (folder / "1_Pooling").mkdir()
    write(folder / "1_Pooling" / "config.json", {"pooling_mode": mode})


def test_states_are_those_of_each_token(directory):
    """Of texts of different lengths together, without the padding; int32 ids are given where the graph asks for them."""
    subject = open_subject(f"onnx:{directory}")
    assert subject.facets == {"encoder", "tokenizer"}
    encoder = Encoder(subject)
    for ids, states in zip(encoder.token_ids(TEXTS), encoder.hidden_states(TEXTS, fresh=True), strict=True):
        np.testing.assert_array_equal(states, table()[ids])
    graph(directory, ids=TensorProto.INT32)
    assert len(Encoder(open_subject(f"onnx:{directory}")).hidden_states(TEXTS)) == 3


def test_a_graph_that_asks_for_positions_is_given_them(directory):
    """The tokens of every text count from 0, also of those that are filled up."""
    graph(directory, inputs=dict.fromkeys(("input_ids", "position_ids"), INT64), rows="position_ids")
    for states in Encoder(open_subject(f"onnx:{directory}")).hidden_states(TEXTS):
        np.testing.assert_array_equal(states, table()[:len(states)])


@pytest.mark.parametrize(("mode", "normalized"), [("mean", True), ("cls", False), ("max", True), ("lasttoken", True)])
def test_pooling_and_normalisation_are_those_of_the_directory(directory, mode, normalized):
    with_pooling(directory, mode, normalized)
    subject = open_subject(f"onnx:{directory}")
    assert (subject.declares["pooling"].value, subject.declares["pooling"].origin) == (mode, "1_Pooling/config.json")
    assert subject.declares["normalized"].value is normalized
    found = Embedder(subject).embed(TEXTS)
    for ids, vector in zip(Encoder(subject).token_ids(TEXTS), found, strict=True):
        rows = table()[ids].astype(np.float64)
        expected = {"mean": rows.mean(axis=0), "cls": rows[0], "max": rows.max(axis=0), "lasttoken": rows[-1]}[mode]
        np.testing.assert_allclose(vector, expected / (np.linalg.norm(expected) if normalized else 1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("outputs", [("last_hidden_state",), ("last_hidden_state", "sentence_embedding")])
def test_roles_have_the_prompts_of_the_file(directory, outputs):
    """What is embedded has them before it; tokens and states are those of the text alone."""
    graph(directory, outputs=outputs)
    with_pooling(directory, "mean", normalized=True)
    plain = open_subject(f"onnx:{directory}")
    write(directory / "config_sentence_transformers.json", {"prompts": {"query": "king ", "document": "The queen "}})
    subject = open_subject(f"onnx:{directory}")
    assert "embedder.embed_query" in subject.capabilities and "embedder.embed_query" not in plain.capabilities
    for ask, prompt in ((Embedder(subject).embed, "The queen "), (Embedder(subject).embed_query, "king ")):
        np.testing.assert_array_equal(ask(TEXTS), Embedder(plain).embed([prompt + text for text in TEXTS]))
    for ids, own in zip(Encoder(subject).token_ids(TEXTS), Encoder(plain).token_ids(TEXTS), strict=True):
        np.testing.assert_array_equal(ids, own)


def test_a_vector_that_the_graph_gives_is_taken(directory):
    """Whatever the directory says of pooling; padding does not count in this graph."""
    graph(directory, outputs=("last_hidden_state", "sentence_embedding"))
    subject = open_subject(f"onnx:{directory}")
    assert {"embedder", "encoder"} <= subject.facets
    expected = [table()[ids].sum(axis=0) for ids in Encoder(subject).token_ids(TEXTS)]
    np.testing.assert_allclose(Embedder(subject).embed(TEXTS), expected, rtol=1e-6)


def test_the_limit_and_the_folding_of_case_are_those_of_the_tokenizer(directory, tmp_path_factory):
    """Also where the tokenizer is declared, elsewhere."""
    elsewhere = tmp_path_factory.mktemp("tokenizer")
    unigram(elsewhere)
    write(elsewhere / "sentence_bert_config.json", {"max_seq_length": 4})
    (directory / "tokenizer.json").unlink()
    subject = open_subject(f"onnx:{directory}", {"tokenizer": str(elsewhere)})
    assert subject.declares["max_seq_length"].value == 4 and subject.declares["lowercase"].value is False
    assert [len(ids) for ids in Encoder(subject).token_ids(TEXTS)] == [4, 4, 3]


@pytest.mark.parametrize(("kind", "word"), [(np.float32, "float32"), (np.float16, "float16"), (np.float64, "float64")])
def test_precision_is_that_of_the_stored_numbers(directory, kind, word):
    graph(directory, kind=kind)
    declaration = open_subject(f"onnx:{directory}").declares["precision"]
    assert declaration.value == word and declaration.origin.startswith("the graph: 60 ")


@pytest.mark.parametrize(("operators", "stored", "precision", "says", "dynamic"), [
    (["MatMul"], {TensorProto.FLOAT: 9}, "float32", "9 FLOAT numbers", False),
    (["MatMul", "Cast", "Mul"], {TensorProto.INT8: 90, TensorProto.FLOAT: 9}, "int8", "weights only, 90 INT8 numbers", False),
    (["DynamicQuantizeLinear", "MatMulInteger", "MatMulInteger"], {TensorProto.FLOAT: 9}, "int8",
     "2 MatMulInteger, ranges taken from the whole batch", True),
    (["QuantizeLinear", "DequantizeLinear", "MatMul"], {TensorProto.FLOAT: 9}, "int8", "1 QuantizeLinear", False),
    (["DequantizeLinear", "MatMul"], {TensorProto.INT8: 90}, "int8", "weights only, 1 DequantizeLinear", False),
    (["DequantizeLinear", "MatMul"], {TensorProto.UINT4: 90}, "int4", "weights only, 1 DequantizeLinear", False),
    (["MatMulNBits"], {TensorProto.UINT8: 90}, "int4", "weights only, 1 MatMulNBits", False),
    (["Add"], {}, "", "", False),
])
def test_precision_is_read_from_the_operators(operators, stored, precision, says, dynamic):
    """And whether a text depends on its batch."""
    nodes = [helper.make_node(one, ["x"], ["y"], **({"bits": 4} if one == "MatMulNBits" else {})) for one in operators]
    numbers = [TensorProto(data_type=kind, dims=[count]) for kind, count in stored.items()]
    found, because, depends = onnx_graph.computed_in(nodes, numbers)
    assert (found, depends) == (precision, dynamic) and says in because


def without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def cut_off(folder):
    data = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(data[:len(data) // 2])


def several(folder):
    graph(folder, file="model_int8.onnx")
    graph(folder, file="onnx/model_O4.onnx")


def only_a_pooler(folder):
    """BERT's own, which is no vector of the text."""
    made = onnx.load(str(folder / "model.onnx"))
    made.graph.node[0].output[0] = made.graph.output[0].name = "pooler_output"
    del made.graph.output[0].type.tensor_type.shape.dim[1]
    onnx.save(made, str(folder / "model.onnx"))


BROKEN = {
    "no tokenizer": (without_tokenizer, Exit.USAGE, r"no tokenizer.json in .*--declare tokenizer=DIR"),
    "cut off": (cut_off, Exit.NO_VERDICT, "model.onnx is no ONNX file, or a cut off one"),
    "no graph": (lambda folder: (folder / "model.onnx").write_bytes(b""), Exit.NO_VERDICT, "model.onnx"),
    "text": (lambda folder: (folder / "model.onnx").write_text("hello " * 99), Exit.NO_VERDICT, "is no ONNX file"),
    "none": (lambda folder: (folder / "model.onnx").unlink(), Exit.USAGE, "no .onnx file in"),
    "several": (several, Exit.USAGE,
                "holds 3 models; pick one with @: model.onnx, model_int8.onnx, onnx/model_O4.onnx"),
    "unknown inputs": (lambda folder: graph(folder, inputs={"input_ids": INT64, "past_key": INT64}), Exit.USAGE,
                       "has the inputs input_ids, past_key; what can be given is input_ids, attention_mask"),
    "ids as floats": (lambda folder: graph(folder, inputs={"input_ids": TensorProto.FLOAT}), Exit.USAGE,
                      "takes input_ids as float, and ids are int64 or int32"),
    "only a pooler": (only_a_pooler, Exit.USAGE, "has the outputs pooler_output, and none of them"),
    "broken tokenizer": (lambda folder: (folder / "tokenizer.json").write_text('{"model": 1}'), Exit.NO_VERDICT,
                         "tokenizer.json cannot be read"),
    "remote code": (lambda folder: write(folder / "config.json", {"auto_map": {"AutoModel": "own.Own"}}), Exit.USAGE,
                    "auto_map.*never run"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_export_is_refused(directory, kind):
    """With one message and the right exit code."""
    break_it, code, says = BROKEN[kind]
    break_it(directory)
    with pytest.raises(Refusal, match=says) as caught:
        open_subject(f"onnx:{directory}")
    assert caught.value.exit == code and "\n" not in str(caught.value)


@pytest.mark.parametrize("picked", ["@model_int8.onnx", "@onnx/model_O4.onnx", "@model_O4.onnx", "/model_int8.onnx"])
def test_one_of_several_files(directory, picked):
    """By its path in the directory, its own name, or as a path."""
    several(directory)
    assert picked.rpartition("/")[2].lstrip("@") in open_subject(f"onnx:{directory}{picked}").title
    with pytest.raises(Refusal, match=r"no other.onnx in .*; there are: model.onnx"):
        open_subject(f"onnx:{directory}@other.onnx")


def test_an_unknown_pooling_is_refused(directory):
    with pytest.raises(Refusal, match="pooling=sum, and only mean, cls, max"):
        open_subject(f"onnx:{directory}", {"pooling": "sum"})


def test_declared_tokenizer_that_is_not_there(directory):
    with pytest.raises(Refusal, match=r"no tokenizer.json in nowhere, which --declare names"):
        open_subject(f"onnx:{directory}", {"tokenizer": "nowhere"})
