"""ONNX exports of the bundled model, made on the spot."""

import logging
import shutil
import warnings
from pathlib import Path

from embedding_conformance.subjects.bundled import bundled, folder

#: what a directory needs beside the graph, so that nothing has to be declared
BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json", "modules.json",
          "1_Pooling/config.json")


def export(target: Path, model=None) -> Path:
    """The model in float32 as DIR/model.onnx: ids and mask in, the states of the last layer out."""
    import torch

    class LastState(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = bundled().module() if model is None else model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    target.mkdir(parents=True, exist_ok=True)
    ids, names = torch.ones(2, 8, dtype=torch.int64), ("input_ids", "attention_mask", "last_hidden_state")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no further package is deprecated, and traces
        torch.onnx.export(LastState().eval(), (ids, ids), str(target / "model.onnx"), input_names=names[:2],
                          output_names=names[2:], dynamic_axes={name: {0: "batch", 1: "length"} for name in names},
                          dynamo=False, opset_version=17)
    return target


def quantized(source: Path, target: Path) -> Path:
    """Dynamic int8, per channel, as DIR/model_quantized.onnx."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    target.mkdir(parents=True, exist_ok=True)
    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(str(source / "model.onnx"), str(target / "model_quantized.onnx"), weight_type=QuantType.QInt8,
                     per_channel=True)
    return target


def completed(target: Path) -> Path:
    """With the files of the model beside the graph."""
    for name in BESIDE:
        (target / name).parent.mkdir(exist_ok=True)
        shutil.copy(folder() / name, target / name)
    return target
