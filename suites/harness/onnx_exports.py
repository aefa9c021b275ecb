"""ONNX exports of the bundled model, made on the spot."""

import logging
import shutil
import warnings
from pathlib import Path

from embedding_conformance.subjects.bundled import bundled, folder

#: what a directory needs beside the graph, so that nothing has to be declared
BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json", "modules.json",
          "1_Pooling/config.json")


def last_state(model, ids, mask):
    return {"last_hidden_state": model(input_ids=ids, attention_mask=mask).last_hidden_state}


def export(target: Path, model=None, outputs=last_state) -> Path:
    """The model in float32 as DIR/model.onnx: ids and mask in, and what `outputs` makes of the model and them out, by name."""
    import torch

    class Traced(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = bundled().module() if model is None else model

        def forward(self, input_ids, attention_mask):
            return tuple(outputs(self.model, input_ids, attention_mask).values())

    target.mkdir(parents=True, exist_ok=True)
    # Two texts, the second of which is shorter, so that no axis is taken for another and no mask for a constant.
    ids = torch.ones(2, 8, dtype=torch.int64)
    mask = ids.clone()
    mask[1, 5:] = 0
    traced = Traced().eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter that needs no further package is deprecated, and traces
        given = {"input_ids": ids, "attention_mask": mask}
        axes = {0: "batch", 1: "length"}
        made = {name: axes if value.ndim == 3 else {0: "batch"} for name, value in outputs(traced.model, ids, mask).items()}
        torch.onnx.export(traced, tuple(given.values()), str(target / "model.onnx"), input_names=list(given),
                          output_names=list(made), dynamic_axes=dict.fromkeys(given, axes) | made,
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
