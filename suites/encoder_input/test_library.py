"""What PyTorch and Transformers take as usual, and how many numbers the documents' tables hold."""

import pytest


@pytest.mark.claim("DMODEL-01")
def test_the_width_of_the_original_model(module, evidence):
    """A Transformer of PyTorch without arguments is the base model of the paper."""
    import torch

    transformer = module.library("torch.nn.Transformer")
    with torch.device("meta"):
        model = module.call("the constructor", transformer, batch_first=True)
    evidence.equal(model.d_model, 512)
    evidence.equal(list(model.encoder.layers[0].self_attn.out_proj.weight.shape), [512, 512])


@pytest.mark.claim("DMODEL-04")
@pytest.mark.parametrize(("name", "key"), [("BertConfig", "hidden_size"), ("GPT2Config", "n_embd")])
def test_the_width_of_known_models(module, evidence, name, key):
    """The configurations of Transformers without arguments."""
    config = module.call("the constructor", module.library(f"transformers.{name}"))
    evidence.equal(getattr(config, key), 768)


@pytest.mark.claim("DMODEL-04")
@pytest.mark.parametrize("width", [128, 256, 512, 768, 4096])
def test_a_table_of_each_usual_width(layer, evidence, width):
    """Three rows of that width, looked up."""
    import numpy as np

    table = np.arange(3 * width, dtype=np.float32).reshape(3, width)
    evidence.equal(layer.with_table(table).lookup(np.array([2, 0])), layer.held(table)[[2, 0]])


@pytest.mark.claim("DMODEL-05")
def test_the_table_of_the_small_gpt_2(module, evidence):
    """A GPT2Model without arguments; no memory is taken for it."""
    import torch

    kind, config = (module.library(f"transformers.GPT2{name}") for name in ("Model", "Config"))
    with torch.device("meta"):
        model = module.call("the constructor", kind, config(n_layer=1))
    evidence.equal(list(model.get_input_embeddings().weight.shape), [50257, 768])


@pytest.mark.claim("PARAM-06")
@pytest.mark.parametrize(("rows", "width", "count"), [(30, 8, 240), (10_000, 512, 5_120_000), (6, 3, 18)])
def test_the_numbers_of_a_layer(module, evidence, rows, width, count):
    """All parameters of an nn.Embedding of the documents' sizes."""
    layer = module.call("the constructor", module.library("torch.nn.Embedding"), rows, width)
    evidence.equal(sum(parameter.numel() for parameter in layer.parameters()), count)


@pytest.mark.claim("PARAM-07")
@pytest.mark.parametrize(("rows", "width", "layers", "table", "all_of_it"), [
    (250037, 384, 12, 96_014_208, 117_653_760),
    (30522, 384, 6, 11_720_448, 22_713_216),
    (30522, 768, 12, 23_440_896, 109_482_240),
], ids=["documents", "bundled", "base"])
def test_the_share_of_the_table(module, evidence, rows, width, layers, table, all_of_it):
    """Of the documents' model 82 %, of the bundled one 52 %, of the base BERT 21 %; no memory is taken for them."""
    import torch

    kind, config = (module.library(f"transformers.Bert{name}") for name in ("Model", "Config"))
    sizes = config(vocab_size=rows, hidden_size=width, num_hidden_layers=layers, num_attention_heads=12,
                   intermediate_size=4 * width)
    with torch.device("meta"):
        model = module.call("the constructor", kind, sizes)
    evidence.equal(model.get_input_embeddings().weight.numel(), table)
    evidence.equal(sum(parameter.numel() for parameter in model.parameters()), all_of_it)
