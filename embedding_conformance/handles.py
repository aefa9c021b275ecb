"""What a test holds of its subject: one handle a facet. NumPy arrays at the border.

A handle counts the calls, so that a test which never called its subject cannot pass. It gives the subject copies of the
inputs, checks type and shape of every answer, and turns an exception, a wrong type or a wrong shape into a
`ClaimViolation`: an answer was owed, since tests stay within the domain of their claims.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from . import bounds
from .data import TABLE_SIZES, numbered_table
from .errors import Refusal, printable, said
from .evidence import ClaimViolation, HarnessFault, first, row, short, where
from .streaming import Pace, Summary
from .subjects import LayerSource, Subject, wire

#: the largest prime up to which every whole number is exact in a narrow format: numbered tables start anew after it, so
#: that they neither round nor overflow, and rows still differ from their neighbours
WHOLE = {"float16": 2039, "bfloat16": 251}
#: how much is taken from an iterator when nobody knows how much is due; one may never end
MOST_YIELDED = 1_000_000


class Handle:
    """Counts and guards the calls of one test on one facet of its subject."""

    facet = ""
    #: whether this process is the run's own, so that no Ctrl-C of a user's reaches it and an interrupt is the subject's doing
    in_own_process = False

    def __init__(self, subject: Subject):
        self.subject = subject
        self.calls = 0
        #: the copies that the last call handed over, so that a test can see whether the subject wrote into them
        self.given: tuple[Any, ...] = ()

    @property
    def object(self) -> Any:
        """What offers the facet, as the adapter made it."""
        return self.subject.facet(self.facet)

    def total_calls(self) -> int:
        """How often the test called its subject."""
        return self.calls

    def precision_of(self, answer: np.ndarray) -> str:
        """The precision that the subject declares, or else the format of one of its answers; whole numbers count as int8."""
        declaration = self.subject.declares.get("precision")
        if declaration is not None:
            return str(declaration.value)
        return str(answer.dtype) if str(answer.dtype) in bounds.UNIT_ROUNDOFF else "int8"

    def call(self, method: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the subject; what it raises is the measured value of a violation."""
        self.calls += 1
        self.given = args
        return self._guarded(method, lambda: function(*args, **kwargs))

    def _guarded(self, method: str, run: Callable[[], Any]) -> Any:
        """Run code of the subject's; whatever it raises, Ctrl-C and the wish to end the process included, is its answer."""
        try:
            with self.subject.surroundings:
                return run()
        except (ClaimViolation, Refusal):  # an adapter found the answer wrong, or lost the subject
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not Handle.in_own_process:
                raise
            message = f"{method} raised {type(error).__name__}: {short_text(error)}"
            raise ClaimViolation(message, "an answer", raised=True) from error

    def drained(self, method: str, answer: Any, count: int | None) -> Any:
        """What an iterator yields, one more than is wanted at most; any other answer as it is."""
        if not isinstance(answer, Iterator):
            return answer
        most = MOST_YIELDED if count is None else count + 1
        return self._guarded(method, lambda: list(islice(answer, most)))

    def whole(self, method: str, answer: Any) -> int:
        """The answer as a whole number."""
        try:
            return operator.index(answer)
        except Exception as error:
            raise ClaimViolation(f"{method} returned {short(answer)}", "a whole number") from error

    def mapping(self, method: str, answer: Any) -> dict[str, Any]:
        """The answer as a dictionary."""
        try:
            return dict(answer)
        except Exception as error:
            raise ClaimViolation(f"{method} returned {short(answer)}", "a mapping") from error

    def array(self, method: str, answer: Any, shape: tuple[int | None, ...] | None = None, *,
              finite: bool = True, copied: bool = True) -> np.ndarray:
        """The answer as an array of finite numbers of this shape; None stands for any size.

        It is the test's own: what the subject does later to the array that it returned does not change it, unless
        ``copied=False``.
        """
        answer = self.drained(method, answer, shape[0] if shape else None)
        try:
            if callable(getattr(answer, "detach", None)):  # a tensor that may carry a gradient
                answer = answer.detach().cpu()
                if str(answer.dtype) == "torch.bfloat16":
                    answer = answer.float()
            array = np.asarray(answer)
            if str(array.dtype) == "bfloat16":  # of ml_dtypes
                array = array.astype(np.float32)
        except BaseException as error:  # the answer may be an object of any kind, with code of its own
            raise ClaimViolation(f"{method} returned {short(answer)}", "an array of numbers") from error
        if array.dtype.kind not in "fiubV" or array.dtype.type is np.void:  # V: formats that are not NumPy's own, or records
            raise ClaimViolation(f"{method} returned {short(answer)}", "an array of numbers")
        if shape is not None and (array.ndim != len(shape)
                                  or any(want is not None and want != got
                                         for want, got in zip(shape, array.shape, strict=True))):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise ClaimViolation(f"{method} returned shape {list(array.shape)}", f"shape [{wanted}]")
        if finite and not all_finite(array):
            good = np.isfinite(array)
            place = first(~good)
            raise ClaimViolation(f"{method} returned {int((~good).sum())} of {array.size} numbers that are not finite",
                                 "finite numbers", [f"{where(place)}  {row(array, place)}"])
        return array.copy() if copied and (array is answer or array.base is not None) else array


class Layer(Handle):
    """A table of V rows and d columns, and the lookup in it."""

    facet = "layer"

    def __init__(self, subject: Subject, made: Any = None, given: np.ndarray | None = None):
        super().__init__(subject)
        self._made = made
        self._own = made is not None
        # A table that a test gave may hold anything, and has the shape that it was given in; the subject's own is finite.
        self._finite = given is None or bool(np.isfinite(given).all())
        self._shape: tuple[int | None, ...] = (None, None) if given is None else given.shape
        self._table: np.ndarray | None = None
        self._relatives: list[Layer] = []

    @property
    def object(self) -> Any:
        if self._made is None:
            with self.subject.surroundings:
                self._made = self.source.default()
        return self._made

    @property
    def source(self) -> LayerSource:
        """Where the subject's layers come from."""
        source: LayerSource = super().object
        return source

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and width of the table."""
        if self._table is None:
            # A large table that tests share is not looked through again for its shape alone.
            self._table = self._stored(finite=self._own or "table is finite" not in self.subject.memory)
        rows, width = self._table.shape
        return rows, width

    def table(self) -> np.ndarray:
        """[V, d]: what the layer stores."""
        return self._stored(finite=True)

    def _stored(self, *, finite: bool) -> np.ndarray:
        table = self.array("table", self.call("table", self.object.table), self._shape, finite=self._finite and finite,
                           copied=False)
        if finite and not self._own and "table" in self.subject.memory:  # else nobody watches whether it changes
            self.subject.memory["table is finite"] = True
        if not table.size:
            raise ClaimViolation(f"the table has shape {list(table.shape)}", "at least one row and one column")
        return table

    def lookup(self, ids: Any, *, as_laid_out: bool = False, as_returned: bool = False,
               finite: bool | None = None) -> np.ndarray:
        """ids.shape + [d]. Ids that are no array of integers are passed as they are, for claims about refusal.

        An array is copied, and so is laid out by rows and writable, unless its layout is what the claim is about. So is the
        answer, unless the claim is about whose memory it is.
        """
        if isinstance(ids, np.ndarray):
            answer = self.call("lookup", self.object.lookup, ids if as_laid_out else ids.copy())
            return self.array("lookup", answer, (*ids.shape, self.shape[1]), copied=not as_returned,
                              finite=self._finite if finite is None else finite)
        return self.array("lookup", self.call("lookup", self.object.lookup, ids))

    def with_table(self, table: np.ndarray, padding_id: int | None = None) -> Layer:
        """A layer of the same kind that holds the given table; needs the capability layer.with_table."""
        make = self.source.make
        if make is None:
            raise HarnessFault("this subject cannot be given a table; the claim must need layer.with_table")
        made = self.call("the constructor", make, table.copy(), padding_id)
        relative = Layer(self.subject, made, table)
        self._relatives.append(relative)
        return relative

    def held(self, given: np.ndarray) -> np.ndarray:
        """What a layer that was given this table holds: the same numbers at the precision that the subject declares.

        What a quantised layer holds is its own choice, within half a step of every row's scale; so that is looked up, once it
        was seen to lie there.
        """
        if self.quantised:
            own = self.with_table(given).table()
            bound = bounds.quantised(given, self.precision)
            limit, off = np.asarray(bound.value), np.abs(own.astype(np.float64) - given)
            if not (off <= limit).all():
                place = np.unravel_index(int(np.argmax(off / np.maximum(limit, np.finfo(float).tiny))), off.shape)
                raise ClaimViolation(f"{off[place]:.3g} off", f"{limit[place]:.3g}: {bound.why}",
                                     [where(place), f"given  {row(given, place)}", f"held   {row(own, place)}"])
            return own
        declaration = self.subject.declares.get("precision")
        if declaration is None:
            return given
        return bfloat16_numbers(given) if declaration.value == "bfloat16" else given.astype(declaration.value)

    @property
    def quantised(self) -> bool:
        """Whether the table is kept as whole numbers with a scale for each row."""
        declaration = self.subject.declares.get("precision")
        return declaration is not None and declaration.value in bounds.QUANTISED

    @property
    def largest(self) -> float:
        """A number that the layer can hold beside smaller ones, near the largest."""
        largest = float(np.finfo(np.float32).max)
        if self.quantised:  # codes times their scale may round up beyond the largest
            return largest / 2
        while not np.isfinite(self.held(np.array([largest], np.float32))).all():
            largest /= 2
        return largest

    def over(self, sizes: tuple[tuple[int, int], ...] = TABLE_SIZES) -> Iterator[Layer]:
        """Layers of these sizes whose rows name themselves; a subject that cannot be given a table, as it is."""
        if self.source.make is None:
            yield self
            return
        declaration = self.subject.declares.get("precision")
        modulus = WHOLE.get(declaration.value) if declaration else None
        for rows, width in sizes:
            table = numbered_table(rows, width)
            yield self.with_table(table if modulus is None else (table - 1) % modulus + 1)

    def total_calls(self) -> int:
        return self.calls + sum(relative.total_calls() for relative in self._relatives)

    @property
    def precision(self) -> str:
        """The floating format in which the table is kept: what the subject declares, or else its table's."""
        declaration = self.subject.declares.get("precision")
        return str(self.table().dtype if declaration is None else declaration.value)

    @property
    def padding_id(self) -> int | None:
        """The id whose row is padding, as the layer itself says."""
        value = getattr(self.object, "padding_id", None)
        return None if value is None else self.whole("padding_id", value)

    def gradient(self, ids: np.ndarray, output_gradient: np.ndarray) -> np.ndarray:
        """[V, d]: the gradient of the table when the output [*ids.shape, d] has the given gradient."""
        answer = self.call("gradient", self.object.gradient, ids.copy(), output_gradient.copy())
        return self.array("gradient", answer, self.shape, finite=self._finite)

    def step(self, ids: np.ndarray, output_gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        """[V, d]: the table after one step of gradient descent. Only on a layer that the test made `with_table`."""
        if not self._own:
            raise HarnessFault("a step changes the layer: take it on one that was made with_table")
        self.call("step", self.object.step, ids.copy(), output_gradient.copy(), learning_rate)
        return self.table().copy()

    def as_remembered(self) -> bool:
        """Whether the table of a subject that tests share still has the bits that it had when it was first looked at; if not,
        what it holds now is remembered, so that only the test that changed it is blamed.

        Where no code of the subject ran since the last comparison there is none: large tables take long.
        """
        memory, surroundings = self.subject.memory, self.subject.surroundings
        if memory.get("table compared") == surroundings.entered:
            return True
        table = self.array("table", self._guarded("table", self.object.table), finite=False, copied=False)
        bits = np.ascontiguousarray(table).view(np.uint8).ravel().data
        known = memory.get("table")
        same = known is None or known == bits  # of a bytearray, so no array of truth values is made for a large table
        if known is None or not same:
            memory["table"] = bytearray(bits)
            memory.pop("table is finite", None)
        memory["table compared"] = surroundings.entered
        return same


class LayerMaker(Handle):
    """Makes fresh layers, for claims about how a table begins."""

    facet = "layer_maker"

    def make_layer(self, rows: int, width: int, *, padding_id: int | None = None, seed: int = 0,
                   dtype: str = "float32") -> Layer:
        """A new layer with a table of this size, filled by its own initialisation from this seed."""
        made = self.call("make_layer", self.object.make_layer, rows, width, padding_id, seed, dtype)
        return Layer(self.subject, made)


class TrainingStep(Handle):
    """Steps of gradient descent on the mean squared error of looked-up rows: the documents' audit step."""

    facet = "training_step"

    def mse_step(self, table: np.ndarray, ids: np.ndarray, target: float | np.ndarray, *, learning_rate: float,
                 padding_id: int | None = None, steps: int = 1) -> dict[str, np.ndarray]:
        """The parts of the step by name: loss [], output [*ids.shape, d], output_gradient (the same), table_gradient [V, d],
        table_after [V, d], loss_after []. With several steps, gradients and output are those of the last one.

        `table_before` is the very array that the subject was given, as it is after the step.
        """
        given = table.copy()
        answer = self.call("mse_step", self.object.mse_step, given, ids.copy(), target, learning_rate, padding_id, steps)
        shapes = {"loss": (), "output": (*ids.shape, table.shape[1]), "output_gradient": (*ids.shape, table.shape[1]),
                  "table_gradient": table.shape, "table_after": table.shape, "loss_after": ()}
        if not isinstance(answer, (tuple, list)) or len(answer) != len(shapes):
            raise ClaimViolation(f"mse_step returned {short(answer)}", f"a tuple of {', '.join(shapes)}")
        parts = {name: self.array(name, part, shape) for (name, shape), part in zip(shapes.items(), answer, strict=True)}
        return parts | {"table_before": given}


class Trainer(Handle):
    """Trains tables on pairs of ids, for claims about what training does to vectors.

    A training is remembered for the run; a claim about repetition asks with ``fresh=True``.
    """

    facet = "trainer"

    def train(self, pairs: np.ndarray, rows: int, width: int, seeds: list[int], *, train_table: bool, steps: int,
              fresh: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs [P, 2] of (id, label) -> tables before and after [S, rows, width] and losses [S, steps], a row a seed.

        Labels count from 0 and are no ids: what the table is trained to predict. Losses are those before each step.
        """
        key = ("train", pairs.tobytes(), rows, width, tuple(seeds), train_table, steps)
        if fresh or key not in self.subject.memory:
            trained = self._train(pairs, rows, width, seeds, train_table, steps)
            if fresh:
                return trained
            self.subject.memory[key] = trained
        else:
            self.calls += 1
        found: tuple[np.ndarray, np.ndarray, np.ndarray] = self.subject.memory[key]
        return found

    def _train(self, pairs: np.ndarray, rows: int, width: int, seeds: list[int], train_table: bool,
               steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        answer = self.call("train", self.object.train, pairs.copy(), rows, width, list(seeds), train_table, steps)
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise ClaimViolation(f"train returned {short(answer)}", "a tuple of before, after, losses")
        before, after, losses = answer
        count = len(seeds)
        return (self.array("before", before, (count, rows, width)), self.array("after", after, (count, rows, width)),
                self.array("losses", losses, (count, steps)))


class Module(Handle):
    """The PyTorch module itself, for claims about PyTorch's and Transformers' own interface."""

    facet = "module"

    def module(self) -> Any:
        """The ``torch.nn.Module`` in evaluation mode."""
        return self.call("module", self.object.module)

    def library(self, name: str) -> Any:
        """What the library under this module offers by a dotted name, such as "torch.nn.Transformer"."""
        return self.call(name, self.object.library, name)

    def embedding(self) -> Any:
        """The ``nn.Embedding``: the module itself, or the lookup of a Transformers model."""
        from .subjects.torch_stack import lookup_of

        module = self.module()
        return lookup_of(module.get_input_embeddings()) if hasattr(module, "get_input_embeddings") else module


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

    def input_vectors(self, texts: list[str], *, fresh: bool = False) -> list[np.ndarray]:
        """What goes into the first layer for each text, [L, d] each: after positions, types and normalisation."""
        return [self.array("input_vectors", rows, (None, None)) for rows in self._ask("input_vectors", texts, fresh)]

    def weights(self) -> dict[str, np.ndarray]:
        """The model's arrays by name, as its file names them."""
        return self.mapping("weights", self.call("weights", self.object.weights))

    def config(self) -> dict[str, Any]:
        """What the model's configuration says, by the names that Transformers uses."""
        return self.mapping("config", self.call("config", self.object.config))

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
        answer = self.drained(method, self.call(method, getattr(self.object, method), list(texts)), len(texts))
        if not hasattr(answer, "__len__") or len(answer) != len(texts):
            raise ClaimViolation(f"{method} returned {short(answer)}", f"one entry for each of {len(texts)} texts")
        # They are remembered, so they must not be what the subject goes on writing to.
        return [entry.clone() if hasattr(entry, "clone") else copy.copy(entry) for entry in answer]


class Embedder(Handle):
    """Texts in, one vector a text out."""

    facet = "embedder"

    def embed(self, texts: list[str], *, fresh: bool = False, as_returned: bool = False) -> np.ndarray:
        """[N, d]; answers about a list of texts are remembered for the run unless they are asked for afresh.

        With `as_returned` the answer is no copy, for claims about whose memory it is.
        """
        return self._ask("embed", texts, fresh or as_returned, copied=not as_returned)

    def embed_query(self, texts: list[str], *, fresh: bool = False) -> np.ndarray:
        """[N, d]: the texts in the role of a query."""
        return self._ask("embed_query", texts, fresh)

    def _ask(self, method: str, texts: list[str], fresh: bool, *, copied: bool = True) -> np.ndarray:
        key = (method, tuple(texts))
        if fresh or key not in self.subject.memory:
            answer = self.call(method, getattr(self.object, method), list(texts))
            # All vectors of an embedder have one size, whatever was asked before.
            size = self.subject.memory.get("embedding size")
            vectors = self.array(method, answer, (len(texts), size), copied=copied)
            self.subject.memory["embedding size"] = vectors.shape[1]
            if fresh:
                return vectors
            self.subject.memory[key] = vectors.copy()  # a subject may write into its answers later
        else:
            self.calls += 1
        found: np.ndarray = self.subject.memory[key]
        return found


class TiedModel(Handle):
    """A causal language model whose output projection is its input table. Every test has a model of its own to change."""

    facet = "tied_model"

    def __init__(self, subject: Subject, made: Any = None):
        super().__init__(subject)
        self._made = made
        self._relatives: list[TiedModel] = []

    @property
    def object(self) -> Any:
        """Made anew, or a deep copy of an object that was given as it is."""
        if self._made is None:
            self._made = copy.deepcopy(super().object) if self.subject.shared else self.subject.new(self.facet)
        return self._made

    @property
    def padding_id(self) -> int | None:
        """The id whose row gets nothing from the input side, as the model itself says."""
        value = getattr(self.object, "padding_id", None)
        return None if value is None else self.whole("padding_id", value)

    def table(self) -> np.ndarray:
        """[V, d]: the shared table."""
        return self.array("table", self.call("table", self.object.table), (None, None)).copy()

    def assign(self, table: np.ndarray) -> None:
        """Write another table [V, d] into the model, by its input side."""
        self.call("assign", self.object.assign, table.copy())

    def hidden(self, ids: np.ndarray) -> np.ndarray:
        """[*ids.shape, d]: the states that the output projection reads."""
        return self.array("hidden", self.call("hidden", self.object.hidden, ids.copy()), (*ids.shape, None))

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """[*ids.shape, V]"""
        return self.array("logits", self.call("logits", self.object.logits, ids.copy()), (*ids.shape, None))

    def gradient(self, ids: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """[V, d]: the gradient of the shared table under the mean cross-entropy of the targets (ids.shape)."""
        answer = self.call("gradient", self.object.gradient, ids.copy(), targets.copy())
        return self.array("gradient", answer, (None, None))

    def step(self, ids: np.ndarray, targets: np.ndarray, learning_rate: float) -> None:
        """One step of gradient descent on that loss, of all that the model learns."""
        self.call("step", self.object.step, ids.copy(), targets.copy(), learning_rate)

    def parameter_count(self) -> int:
        """How many numbers the model stores."""
        return self.whole("parameter_count", self.call("parameter_count", self.object.parameter_count))

    def after(self, operation: str) -> TiedModel:
        """A copy of the model after an operation: "deepcopy", "to float64", "state dict" (into a new model), "save and
        load", "resize" (some rows more) or "untie" (an output projection of its own, which begins with the same numbers).
        """
        made = self.call(f"after {operation}", self.object.after, operation)
        relative = TiedModel(self.subject, made)
        self._relatives.append(relative)
        return relative

    def total_calls(self) -> int:
        return self.calls + sum(relative.total_calls() for relative in self._relatives)


class Tokenizer(Handle):
    """Text to ids and back."""

    facet = "tokenizer"

    def __init__(self, subject: Subject, made: Any = None):
        super().__init__(subject)
        self._made = made

    @property
    def object(self) -> Any:
        return super().object if self._made is None else self._made

    def encode(self, texts: list[str], *, max_length: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ids, mask and types as one batch, padded, [N, L] each; texts longer than `max_length` are cut at the end."""
        answer = self._encode(texts, max_length, True)
        ids, mask, types = (self.array("encode", part, (len(texts), None)) for part in answer)
        if not ids.shape == mask.shape == types.shape:
            raise ClaimViolation(f"ids, mask, types have shapes {ids.shape}, {mask.shape}, {types.shape}", "one shape")
        return ids, mask, types

    def ids(self, texts: list[str]) -> list[np.ndarray]:
        """The ids of each text, [L] each, without padding."""
        answer = self.drained("encode", self._encode(texts, None, False)[0], len(texts))
        if not hasattr(answer, "__len__") or len(answer) != len(texts):
            raise ClaimViolation(f"encode returned {short(answer)} for ids", f"one entry for each of {len(texts)} texts")
        return [self.array("encode", row, (None,)) for row in answer]

    def _encode(self, texts: list[str], max_length: int | None, pad: bool) -> Any:
        answer = self.call("encode", self.object.encode, list(texts), max_length, pad)
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise ClaimViolation(f"encode returned {short(answer)}", "a tuple of ids, mask, types")
        return answer

    def tokens(self, texts: list[str]) -> list[list[str]]:
        """The tokens of each text, special ones included."""
        answer = self.drained("tokens", self.call("tokens", self.object.tokens, list(texts)), len(texts))
        if not isinstance(answer, list) or len(answer) != len(texts):
            raise ClaimViolation(f"tokens returned {short(answer)}", f"a list for each of {len(texts)} texts")
        return answer

    def offsets(self, texts: list[str]) -> list[np.ndarray]:
        """[L, 2] a text: the characters of the text, from and up to, that a token stands for."""
        answer = self.drained("offsets", self.call("offsets", self.object.offsets, list(texts)), len(texts))
        if not hasattr(answer, "__len__") or len(answer) != len(texts):
            raise ClaimViolation(f"offsets returned {short(answer)}", f"one entry for each of {len(texts)} texts")
        return [self.array("offsets", pairs, (None, 2)) for pairs in answer]

    def decode(self, ids: Any) -> str:
        """The text of a list of ids, without special tokens."""
        return str(self.call("decode", self.object.decode, [int(i) for i in ids]))

    @property
    def special_ids(self) -> dict[str, int]:
        """Role ("padding", "unknown", "first", "last") -> id."""
        return self.mapping("special_ids", self.call("special_ids", lambda: self.object.special_ids))

    @property
    def vocabulary_size(self) -> int:
        """How many ids there are."""
        return self.whole("vocabulary_size", self.call("vocabulary_size", lambda: self.object.vocabulary_size))


class TokenizerMaker(Handle):
    """Trains tokenizers of several granularities on a small text."""

    facet = "tokenizer_maker"

    def train_tokenizer(self, kind: str, texts: list[str], vocabulary_size: int) -> Tokenizer:
        """A tokenizer by "character", "word", "bpe" or "wordpiece", trained on the texts."""
        made = self.call("train_tokenizer", self.object.train_tokenizer, kind, list(texts), vocabulary_size)
        return Tokenizer(self.subject, made)

    def with_vocabulary(self, kind: str, entries: list[str]) -> Tokenizer:
        """A tokenizer by "character", "word" or "wordpiece" whose entry i has id i; "[PAD]", "[UNK]", "[CLS]" and "[SEP]"
        have their roles where they are among the entries.
        """
        made = self.call("with_vocabulary", self.object.with_vocabulary, kind, list(entries))
        return Tokenizer(self.subject, made)


class Pooler(Handle):
    """From token states to one vector a text."""

    facet = "pooler"

    def pool(self, states: np.ndarray, mask: np.ndarray, mode: str) -> np.ndarray:
        """states [B, L, d] and mask [B, L] -> [B, d]; mode is "mean", "cls" or "max"."""
        answer = self.call("pool", self.object.pool, states.copy(), mask.copy(), mode)
        return self.array("pool", answer, (len(states), states.shape[2]))

    def normalize(self, vectors: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, d]: every row scaled to length one."""
        return self.array("normalize", self.call("normalize", self.object.normalize, vectors.copy()), vectors.shape)


class Encodings(Handle):
    """Codes that are computed and not learned."""

    facet = "encodings"

    def positions(self, length: int, width: int) -> np.ndarray:
        """[length, width]: a code of every position."""
        return self.array("positions", self.call("positions", self.object.positions, length, width), (length, width))

    def one_hot(self, ids: np.ndarray, rows: int) -> np.ndarray:
        """[*ids.shape, rows]: one at the place of the id, zeros elsewhere."""
        return self.array("one_hot", self.call("one_hot", self.object.one_hot, ids.copy(), rows), (*ids.shape, rows))


class Similarity(Handle):
    """Similarities of vectors."""

    facet = "similarity"

    def matrix(self, vectors: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, N], cosines of all pairs."""
        count = len(vectors)
        return self.array("matrix", self.call("matrix", self.object.matrix, vectors.copy()), (count, count))

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """[]: the inner product of two vectors [d]."""
        return self.array("dot", self.call("dot", self.object.dot, a.copy(), b.copy()), ())

    def cosine(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """[]: the cosine of two vectors [d]."""
        return self.array("cosine", self.call("cosine", self.object.cosine, a.copy(), b.copy()), ())

    def distance(self, a: np.ndarray, b: np.ndarray, kind: str) -> np.ndarray:
        """[]: the distance of two vectors [d]; kind is "euclidean" or "manhattan"."""
        return self.array("distance", self.call("distance", self.object.distance, a.copy(), b.copy(), kind), ())


class Projector(Handle):
    """Maps, straight lines and arithmetic in the space of the vectors."""

    facet = "projector"

    def project(self, vectors: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """[N, d] -> points [N, n], mean [d], axes [n, d]: principal components by falling variance."""
        answer = self.call("project", self.object.project, vectors.copy(), n)
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise ClaimViolation(f"project returned {short(answer)}", "a tuple of points, mean, axes")
        count, width = vectors.shape
        shapes = {"points": (count, n), "mean": (width,), "axes": (n, width)}
        points, mean, axes = (self.array(name, part, shape) for (name, shape), part in zip(shapes.items(), answer, strict=True))
        return points, mean, axes

    def interpolate(self, a: np.ndarray, b: np.ndarray, t: float, *, finite: bool = True) -> np.ndarray:
        """[d]: the point at t (0 is a, 1 is b) of the straight line, scaled to length one."""
        answer = self.call("interpolate", self.object.interpolate, a.copy(), b.copy(), t)
        return self.array("interpolate", answer, a.shape, finite=finite)

    def analogy(self, positive: np.ndarray, negative: np.ndarray, candidates: np.ndarray, *, exclude_inputs: bool,
                k: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of `candidates` [N, d] nearest by cosine to the sum of `positive` less the sum of `negative` ([P, d], [Q, d]):
        indices and scores [k]. With `exclude_inputs`, rows that are among the inputs are left out.
        """
        answer = self.call("analogy", self.object.analogy, positive.copy(), negative.copy(), candidates.copy(),
                           exclude_inputs, k)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise ClaimViolation(f"analogy returned {short(answer)}", "a tuple of indices, scores")
        return self.array("indices", answer[0], (k,)), self.array("scores", answer[1], (k,))


class Index(Handle):
    """Search among stored vectors. A score is the cosine, the inner product or the negative Euclidean distance."""

    facet = "index"

    def build(self, vectors: np.ndarray, metric: str, *, as_laid_out: bool = False) -> None:
        """Store vectors [N, d]; metric is "cosine", "dot" or "euclidean". They are copied, and so are laid out by rows and
        writable, unless their layout is what the claim is about."""
        self._count = len(vectors)
        self.call("build", self.object.build, vectors if as_laid_out else vectors.copy(), metric)

    def search(self, queries: np.ndarray, k: int, *, as_laid_out: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """queries [M, d] -> indices and scores [M, min(k, N)], nearest first, larger scores closer."""
        answer = self.call("search", self.object.search, queries if as_laid_out else queries.copy(), k)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise ClaimViolation(f"search returned {short(answer)}", "a tuple of indices, scores")
        shape = (len(queries), min(k, self._count))
        indices, scores = self.array("indices", answer[0], shape), self.array("scores", answer[1], shape, finite=False)
        if indices.dtype.kind not in "iu" or (indices.size and not 0 <= indices.min() <= indices.max() < self._count):
            raise ClaimViolation("search returned indices that are no rows", f"whole numbers from 0 to {self._count - 1}")
        return indices, scores

    def scores(self, queries: np.ndarray) -> np.ndarray:
        """queries [M, d] -> [M, N]: the score of every stored vector."""
        return self.array("scores", self.call("scores", self.object.scores, queries.copy()), (len(queries), self._count),
                          finite=False)

    def delete(self, row: int) -> None:
        """Take a vector out; the other rows keep their numbers."""
        self.call("delete", self.object.delete, row)


class Service(Handle):
    """An OpenAI-compatible ``/v1/embeddings``, request by request."""

    facet = "service"

    @property
    def model(self) -> str:
        """The model to ask for, by its name."""
        return str(getattr(self.object, "model", None) or "model")

    def post(self, body: bytes) -> wire.Answer:
        """What the service answers to the bytes of a request, whatever the status."""
        answer = self.call("post", self.object.post, body)
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise ClaimViolation(f"post returned {short(answer)}", "a tuple of status, headers, body")
        status, headers, content = answer
        if type(status) is not int or not isinstance(content, bytes) or not hasattr(headers, "items"):
            raise ClaimViolation(f"post returned {short(answer)}", "a number, a mapping and bytes")
        return wire.Answer(status, {str(name).lower(): str(value) for name, value in headers.items()}, content)

    def ask(self, inputs: Any, **options: Any) -> wire.Answer:
        """What the service answers to these inputs, a text or a list of texts, and the options of a request."""
        return self.post(wire.request(inputs, self.model, **options))

    def vectors(self, texts: list[str], **options: Any) -> np.ndarray:
        """[N, d] float32: row i is the vector of text i, by the index of its entry."""
        encoding = options.get("encoding_format", "float")
        return wire.vectors(self.ask(list(texts), **options), len(texts), encoding)

    def alone(self, texts: list[str]) -> np.ndarray:
        """[N, d] float32: the vectors of texts that were each asked for in a request of its own; remembered for the run."""
        memory = self.subject.memory
        new = [text for text in dict.fromkeys(texts) if ("alone", text) not in memory]
        memory.update({("alone", text): self.vectors([text])[0] for text in new})
        self.calls += not new
        found = [memory["alone", text] for text in texts]
        if len({len(vector) for vector in found}) != 1:
            raise ClaimViolation(f"vectors of {short([len(vector) for vector in found])} numbers", "one size")
        return np.stack(found)

    def together(self, requests: list[list[str]]) -> list[np.ndarray]:
        """[N, d] float32 for each list of texts; the requests are sent at the same time."""
        with ThreadPoolExecutor(len(requests)) as threads:
            return list(threads.map(self.vectors, requests))


class Store(Handle):
    """Stored vectors, read from the first row to the last in one pass for all tests of a run."""

    facet = "store"

    def summary(self) -> Summary:
        """What the pass found; the memory that it takes does not grow with the number of rows."""
        memory = self.subject.memory
        if "pass" not in memory:
            try:
                memory["pass"] = self._pass()
            except ClaimViolation as violation:  # the other tests learn it without another pass
                memory["pass"] = violation
        else:
            self.calls += 1
        if isinstance(memory["pass"], ClaimViolation):
            raise memory["pass"]
        found: Summary = memory["pass"]
        return found

    def _pass(self) -> Summary:
        precision, normalized = (self.subject.declares.get(key) for key in ("precision", "normalized"))
        total = getattr(self.object, "count", None)
        summary = Summary(str(precision.value) if precision else None, total,
                          normalized=normalized is not None and bool(normalized.value))
        report = Pace(self.subject, total)
        batches = iter(self.call("batches", self.object.batches))
        while (batch := self.call("batches", next, batches, None)) is not None:
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise ClaimViolation(f"batches gave {short(batch)}", "pairs of the number of a first row and an array")
            summary.add(int(batch[0]), self.array("batches", batch[1], (None, None), finite=False, copied=False))
            report(summary.count)
        return summary

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """numbers [K] -> [K, d]: the vectors of these rows, in the order of the numbers."""
        return self.array("rows", self.call("rows", self.object.rows, numbers.copy()), (len(numbers), None), finite=False)

    def texts(self) -> list[str]:
        """What the rows stand for, a text or an id each."""
        return list(self.call("texts", self.object.texts))

    def text_count(self) -> int:
        """How many texts there are; they are read one after the other and not kept."""
        return int(self.call("texts", lambda: sum(1 for _ in self.object.texts())))


class Document(Handle):
    """The documents' own text."""

    facet = "document"

    def lines(self, name: str) -> list[str]:
        """The lines of a document ("000", "001", "002"), the first is line 1 of the citations."""
        return list(self.call("lines", self.object.lines, name))


HANDLES: dict[str, type[Handle]] = {
    handle.facet: handle
    for handle in (Layer, LayerMaker, TrainingStep, Trainer, Module, TiedModel, Tokenizer, TokenizerMaker, Encoder, Embedder,
                   Pooler, Encodings, Similarity, Projector, Index, Store, Service, Document)
}


def all_finite(array: np.ndarray) -> bool:
    """Whether every number is finite. Of large arrays the sum is looked at first: it takes no second array, and what is not
    finite makes it so.
    """
    if array.dtype.kind == "f" and array.size > 100_000:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(array.sum()):
                return True
    return bool(np.isfinite(array).all())


def bfloat16_numbers(array: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 numbers, ties to even, as float32 (NumPy has no such format)."""
    bits = array.astype(np.float32).view(np.uint32)
    rounded: np.ndarray = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def short_text(error: BaseException) -> str:
    """The first line of what an exception says."""
    try:
        lines = str(error).strip().splitlines()
    except BaseException:
        return said(error)
    return printable(lines[0], 160) if lines else "(no message)"
