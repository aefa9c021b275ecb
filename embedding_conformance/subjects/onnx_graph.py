"""What an ONNX file says without being run: inputs, outputs, and the precision that its operators compute in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import NoVerdict

#: operators that take whole-number ranges from what is computed together, so that a text depends on its batch
DYNAMIC = ("MatMulInteger", "ConvInteger", "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "MatMulIntegerToFloat",
           "DynamicQuantizeLSTM")
#: operators that compute with whole numbers, whose ranges were fixed when the file was made
STATIC = ("QLinearMatMul", "QLinearConv", "QGemm", "QAttention", "QuantizeLinear")
#: operators that unpack stored whole numbers, and compute with floating ones
UNPACKING = ("DequantizeLinear", "MatMulNBits", "GatherBlockQuantized")
FORMATS = {"DOUBLE": "float64", "FLOAT": "float32", "FLOAT16": "float16", "BFLOAT16": "bfloat16",
           "INT8": "int8", "UINT8": "int8", "INT4": "int4", "UINT4": "int4"}


@dataclass(frozen=True)
class Tensor:
    """An input or output: its name, its element type such as INT64, and how many axes it has; None if it is not said."""

    name: str
    kind: str
    axes: int | None


@dataclass(frozen=True)
class Graph:
    """`precision` is empty where it cannot be told; `because` are the operators or numbers that say it."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    precision: str
    because: str
    dynamic: bool


def read(path: Path, name: str) -> Graph:
    """Read a file without the numbers that it keeps beside itself. Raises `NoVerdict` where it is none."""
    import onnx

    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # of protobuf's own kinds, which differ between its versions
        raise NoVerdict(f"{name}: {path.name} is no ONNX file, or a cut off one: "
                        f"{' '.join(str(error).split())[:200]}") from error
    graph = model.graph
    stored = {one.name: one for one in graph.initializer}
    if not graph.node or not graph.output:
        raise NoVerdict(f"{name}: {path.name} holds no graph")
    inputs = tuple(tensor(one) for one in graph.input if one.name not in stored)
    precision, because, dynamic = computed_in(graph.node, stored.values())
    return Graph(inputs, tuple(map(tensor, graph.output)), precision, because, dynamic)


def tensor(value: Any) -> Tensor:
    from onnx import TensorProto

    described = value.type.tensor_type
    return Tensor(value.name, TensorProto.DataType.Name(described.elem_type),
                  len(described.shape.dim) if described.HasField("shape") else None)


def computed_in(nodes: Any, stored: Any) -> tuple[str, str, bool]:
    """The precision, what says it, and whether whole-number ranges are taken from the batch."""
    from onnx import TensorProto

    operators = Counter(node.op_type for node in nodes)
    sizes: Counter[str] = Counter()
    for one in stored:
        count = 1
        for size in one.dims:
            count *= size
        sizes[TensorProto.DataType.Name(one.data_type)] += count
    for operator in DYNAMIC:
        if operators[operator]:
            return "int8", f"the graph: {operators[operator]} {operator}, ranges taken from the whole batch", True
    for operator in STATIC:
        if operators[operator]:
            return "int8", f"the graph: {operators[operator]} {operator}", False
    for operator in UNPACKING:
        if operators[operator]:
            bits = {one.i for node in nodes if node.op_type == operator for one in node.attribute if one.name == "bits"}
            narrow = 4 in bits or bool(sizes["INT4"] + sizes["UINT4"])
            return "int4" if narrow else "int8", f"the graph: weights only, {operators[operator]} {operator}", False
    known = Counter({kind: size for kind, size in sizes.items() if kind in FORMATS})
    if not known:
        return "", "", False
    (most, count), = known.most_common(1)
    whole = most in ("INT8", "UINT8", "INT4", "UINT4")
    return FORMATS[most], f"the graph: {'weights only, ' if whole else ''}{count} {most} numbers", False
