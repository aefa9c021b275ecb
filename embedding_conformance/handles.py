"""What a test holds of its subject: one handle a facet. NumPy arrays at the border.

A handle counts the calls, so that a test which never called its subject cannot pass. It gives the subject copies of the
inputs, checks type and shape of every answer, and turns an exception, a wrong type or a wrong shape into a
`ClaimViolation`: an answer was owed, since tests stay within the domain of their claims.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .data import TABLE_SIZES, numbered_table
from .evidence import ClaimViolation, HarnessFault, first, row, short, where
from .subjects import LayerSource, Subject


class Handle:
    """Counts and guards the calls of one test on one facet of its subject."""

    facet = ""

    def __init__(self, subject: Subject):
        self.subject = subject
        self.calls = 0

    @property
    def object(self) -> Any:
        """What offers the facet, as the adapter made it."""
        return self.subject.facet(self.facet)

    def total_calls(self) -> int:
        """How often the test called its subject."""
        return self.calls

    def call(self, method: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the subject; what it raises is the measured value of a violation."""
        self.calls += 1
        try:
            return function(*args, **kwargs)
        except (Exception, SystemExit) as error:
            message = f"{method} raised {type(error).__name__}: {short_text(error)}"
            raise ClaimViolation(message, "an answer", raised=True) from error

    def array(self, method: str, answer: Any, shape: tuple[int | None, ...] | None = None, *,
              finite: bool = True) -> np.ndarray:
        """The answer as an array of finite numbers of this shape; None stands for any size."""
        try:
            if callable(getattr(answer, "detach", None)):  # a tensor that may carry a gradient
                answer = answer.detach().cpu()
                if str(answer.dtype) == "torch.bfloat16":
                    answer = answer.float()
            array = np.asarray(answer)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ClaimViolation(f"{method} returned {short(answer)}", "an array of numbers") from error
        if array.dtype.kind not in "fiubV":
            raise ClaimViolation(f"{method} returned {short(answer)}", "an array of numbers")
        if shape is not None and (array.ndim != len(shape)
                                  or any(want is not None and want != got
                                         for want, got in zip(shape, array.shape, strict=True))):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise ClaimViolation(f"{method} returned shape {list(array.shape)}", f"shape [{wanted}]")
        if finite and not (good := np.isfinite(array)).all():
            place = first(~good)
            raise ClaimViolation(f"{method} returned {int((~good).sum())} of {array.size} numbers that are not finite",
                                 "finite numbers", [f"{where(place)}  {row(array, place)}"])
        return array


class Layer(Handle):
    """A table of V rows and d columns, and the lookup in it."""

    facet = "layer"

    def __init__(self, subject: Subject, made: Any = None, *, finite: bool = True):
        super().__init__(subject)
        self._made = made
        self._finite = finite
        self._table: np.ndarray | None = None
        self._relatives: list[Layer] = []

    @property
    def object(self) -> Any:
        if self._made is None:
            self._made = self.source.default()
        return self._made

    @property
    def source(self) -> LayerSource:
        return super().object

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and width of the table."""
        if self._table is None:
            self._table = self.table()
        rows, width = self._table.shape
        return rows, width

    def table(self) -> np.ndarray:
        """[V, d]: what the layer stores."""
        table = self.array("table", self.call("table", self.object.table), (None, None), finite=self._finite)
        if not table.size:
            raise ClaimViolation(f"the table has shape {list(table.shape)}", "at least one row and one column")
        return table

    def lookup(self, ids: Any) -> np.ndarray:
        """ids.shape + [d]. Ids that are no array of integers are passed as they are, for claims about refusal."""
        if isinstance(ids, np.ndarray):
            answer = self.call("lookup", self.object.lookup, ids.copy())
            return self.array("lookup", answer, (*ids.shape, self.shape[1]), finite=self._finite)
        return self.array("lookup", self.call("lookup", self.object.lookup, ids))

    def with_table(self, table: np.ndarray, padding_id: int | None = None) -> Layer:
        """A layer of the same kind that holds the given table; needs the capability layer.with_table."""
        make = self.source.make
        if make is None:
            raise HarnessFault("this subject cannot be given a table; the claim must need layer.with_table")
        made = self.call("the constructor", make, table.copy(), padding_id)
        relative = Layer(self.subject, made, finite=bool(np.isfinite(table).all()))
        self._relatives.append(relative)
        return relative

    def held(self, given: np.ndarray) -> np.ndarray:
        """What a layer that was given this table holds: the same numbers at the precision that the subject declares."""
        declaration = self.subject.declares.get("precision")
        return given if declaration is None else given.astype(declaration.value)

    def over(self, sizes: tuple[tuple[int, int], ...] = TABLE_SIZES) -> Iterator[Layer]:
        """Layers of these sizes whose rows name themselves; a subject that cannot be given a table, as it is."""
        if self.source.make is None:
            yield self
            return
        for rows, width in sizes:
            yield self.with_table(numbered_table(rows, width))

    def total_calls(self) -> int:
        return self.calls + sum(relative.total_calls() for relative in self._relatives)

    def fingerprint(self) -> int:
        """A checksum of the table of a subject that tests share: it must be the same after a test as before."""
        return zlib.adler32(np.ascontiguousarray(self.array("table", self.object.table())).view(np.uint8).data)


class Module(Handle):
    """The PyTorch module itself, for claims about PyTorch's and Transformers' own interface."""

    facet = "module"

    def module(self) -> Any:
        """The ``torch.nn.Module`` in evaluation mode."""
        return self.call("module", self.object.module)

    def embedding(self) -> Any:
        """The ``nn.Embedding``: the module itself, or the input embeddings of a Transformers model."""
        module = self.module()
        return module.get_input_embeddings() if hasattr(module, "get_input_embeddings") else module


class Encoder(Handle):
    """A text encoder seen from inside. Lists hold one entry a text, without padding, special tokens included.

    Answers about a text are remembered for the run; all texts that a test asks for and that are new go to the subject in
    one call. A claim about order or batches asks with ``fresh=True``: its texts all go to the subject, in their order.
    """

    facet = "encoder"

    def tokens(self, texts: list[str], *, fresh: bool = False) -> list[list[str]]:
        """The tokens of each text."""
        return self._ask("tokens", texts, fresh)

    def token_ids(self, texts: list[str], *, fresh: bool = False) -> list[np.ndarray]:
        """The ids of each text, [L] each."""
        return [self.array("token_ids", ids, (None,)) for ids in self._ask("token_ids", texts, fresh)]

    def input_embeddings(self, texts: list[str], *, fresh: bool = False) -> list[np.ndarray]:
        """The looked-up rows of each text, [L, d] each."""
        return [self.array("input_embeddings", rows, (None, None)) for rows in self._ask("input_embeddings", texts, fresh)]

    def hidden_states(self, texts: list[str], *, fresh: bool = False) -> list[np.ndarray]:
        """The states of the last layer for each text, [L, d] each."""
        return [self.array("hidden_states", rows, (None, None)) for rows in self._ask("hidden_states", texts, fresh)]

    def _ask(self, method: str, texts: list[str], fresh: bool) -> list[Any]:
        if fresh:
            return self._answers(method, texts)
        memory = self.subject.memory
        new = [text for text in dict.fromkeys(texts) if (method, text) not in memory]
        if new:
            memory.update({(method, text): entry for text, entry in zip(new, self._answers(method, new), strict=True)})
        else:
            self.calls += 1
        return [memory[method, text] for text in texts]

    def _answers(self, method: str, texts: list[str]) -> list[Any]:
        answer = self.call(method, getattr(self.object, method), list(texts))
        if not hasattr(answer, "__len__") or len(answer) != len(texts):
            raise ClaimViolation(f"{method} returned {short(answer)}", f"one entry for each of {len(texts)} texts")
        return list(answer)


class Embedder(Handle):
    """Texts in, one vector a text out."""

    facet = "embedder"

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d]; answers about a list of texts are remembered for the run."""
        key = ("embed", tuple(texts))
        if key not in self.subject.memory:
            answer = self.call("embed", self.object.embed, list(texts))
            self.subject.memory[key] = self.array("embed", answer, (len(texts), None))
        else:
            self.calls += 1
        return self.subject.memory[key]


class Encodings(Handle):
    """Codes that are computed and not learned."""

    facet = "encodings"

    def positions(self, length: int, width: int) -> np.ndarray:
        """[length, width]: a code of every position."""
        return self.array("positions", self.call("positions", self.object.positions, length, width), (length, width))


class Similarity(Handle):
    """Similarities of vectors."""

    facet = "similarity"

    def matrix(self, vectors: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, N], cosines of all pairs."""
        count = len(vectors)
        return self.array("matrix", self.call("matrix", self.object.matrix, vectors.copy()), (count, count))


HANDLES: dict[str, type[Handle]] = {
    handle.facet: handle for handle in (Layer, Module, Encoder, Embedder, Encodings, Similarity)
}


def short_text(error: BaseException) -> str:
    """The first line of what an exception says."""
    lines = str(error).strip().splitlines()
    return short_line(lines[0]) if lines else "(no message)"


def short_line(line: str) -> str:
    return line if len(line) <= 160 else f"{line[:157]}..."
