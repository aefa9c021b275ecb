"""The scheme ``onnx:``: an ONNX export, run by ONNX Runtime on the ids of its directory's tokenizer.json."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NoVerdict, UsageError
from . import Declaration, Subject, declared, onnx_graph, require_installed
from . import model_directory as files
from .facets import FACETS, offered
from .onnx_graph import Graph, Tensor
from .pooling import POOLINGS, Pooling
from .tokenizers_stack import FastTokenizer, speaks_for_batches

#: what a graph may ask for, and where a tokenizer's encoding holds it; positions are counted
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids", "position_ids": ""}
WHOLE = {"INT64": np.int64, "INT32": np.int32}
#: outputs of one row a text that are no vector of the text: BERT's own pooler was trained for another task
NOT_VECTORS = ("pooler_output",)


def open_subject(rest: str) -> Subject:
    """Open a directory with one .onnx file, or with several of which one is picked. Its tokenizer, pooling and
    normalisation are those of the directory; a tokenizer elsewhere is declared."""
    name = f"onnx:{rest}"
    for module in ("onnxruntime", "onnx", "tokenizers"):
        require_installed(module, "onnx", "onnx")
    path = find(rest, name)
    # Exports in a folder of their own lie below the model that they were made from.
    below = path.parent.name == "onnx" and not files.is_file(path.parent / "tokenizer.json", name)
    folder = path.parent.parent if below else path.parent
    graph = onnx_graph.read(path, name)
    check_inputs(graph, path, name)
    states, vectors = outputs(graph)
    session = start(path, name)
    digest = files.sha256(path)
    declares = declared({"weights": digest}, path.name)
    declares |= declared({"precision": graph.precision}, graph.because) if graph.precision else {}
    declares |= files.sentence_vectors(folder, name) if files.is_file(folder / "modules.json", name) else {}
    declares |= files.prompts(folder, name)
    if files.is_file(folder / "config.json", name):
        declares |= {key: value for key, value in files.architecture(files.configuration(folder, name)).items()
                     if key == "contextual"}
    facts = {"sha256": digest, "graph": graph.because,
             **{package: version(package) for package in ("onnxruntime", "tokenizers")}}
    subject = Subject(name=name, title=f"{path.name} of {path.parent.resolve().name}, sha256 {digest[:12]}",
                      capabilities=frozenset(), makers={}, declares=declares, facts=facts)

    def completed(subject: Subject) -> None:
        """Once it is known where the tokenizer is: offer what the outputs give."""
        place = tokenizer_folder(subject, folder, name)
        config = files.optional_json(place / "config.json", name)
        subject.declares = files.limit(place, config, name) | files.case_and_accents(place, name) | subject.declares
        pooling = subject.declares.get("pooling")
        if pooling and not vectors and pooling.value not in files.MODES:
            raise UsageError(f"{name}: {pooling.origin} declares pooling={pooling.value}, and only {', '.join(files.MODES)} "
                             "can be computed here")
        tokenizer = files.read_tokenizer(place, name)
        encoder = OnnxEncoder(session, graph.inputs, states, vectors, tokenizer, subject.declares)
        embeds = bool(vectors or (states and pooling))
        subject.capabilities = frozenset({
            *(["encoder.tokens", "encoder.token_ids", "encoder.hidden_states"] if states else []),
            *(["embedder.embed"] if embeds else []),
            *(["embedder.embed_query"] if embeds and "prompts" in subject.declares else [])})
        if not subject.capabilities:
            raise UsageError(f"{name}: {path.name} has the outputs {', '.join(one.name for one in graph.outputs)}, and none of "
                             "them is the states of tokens [B, L, d] or one vector a text [B, d]")
        subject.makers = {"encoder": lambda: encoder, "embedder": lambda: encoder}
        if speaks_for_batches(alone := FastTokenizer(files.read_tokenizer(place, name), files.special_tokens(place, name))):
            subject.capabilities |= offered(alone, FACETS["tokenizer"])
            subject.makers["tokenizer"] = lambda: alone

    subject.completed = completed
    return subject


def find(rest: str, name: str) -> Path:
    """The file that DIR[@FILE] names; FILE alone is understood too. Raises `UsageError` that lists several."""
    if files.is_file(Path(rest), name) and rest.endswith(".onnx"):
        return Path(rest)
    directory, at, picked = (rest, "", "") if Path(rest).is_dir() else rest.rpartition("@")
    folder = Path(directory if at else rest)
    if not folder.is_dir():
        raise UsageError(f"{name}: there is no folder {folder}; name the directory of an ONNX export")
    found = {path.relative_to(folder).as_posix(): path for place in (folder, folder / "onnx")
             for path in sorted(place.glob("*.onnx"))}
    if picked:
        # A file in DIR/onnx is known by its own name as well.
        found |= {path.name: path for path in reversed(found.values())}
        if picked not in found:
            raise UsageError(f"{name}: there is no {picked} in {folder}; there are: {', '.join(found) or 'no .onnx files'}")
        return found[picked]
    if not found:
        raise UsageError(f"{name}: there is no .onnx file in {folder}")
    if len(found) > 1:
        raise UsageError(f"{name} holds {len(found)} models; pick one with @: {', '.join(found)}")
    return next(iter(found.values()))


def check_inputs(graph: Graph, path: Path, name: str) -> None:
    """Refuse a graph that asks for what a tokenizer does not give."""
    strange = [one.name for one in graph.inputs if one.name not in INPUTS]
    if strange or "input_ids" not in [one.name for one in graph.inputs]:
        raise UsageError(f"{name}: {path.name} has the inputs {', '.join(one.name for one in graph.inputs)}; what can be given "
                         f"is {', '.join(INPUTS)}")
    for one in graph.inputs:
        if one.kind not in WHOLE:
            raise UsageError(f"{name}: {path.name} takes {one.name} as {one.kind.lower()}, and ids are int64 or int32")


def outputs(graph: Graph) -> tuple[str, str]:
    """The names of the outputs with the states of tokens [B, L, d] and with a vector a text [B, d], or empty strings."""
    states = next((one.name for one in graph.outputs if one.axes == 3), "")
    vectors = next((one.name for one in graph.outputs if one.axes == 2 and one.name not in NOT_VECTORS), "")
    return states, vectors


def start(path: Path, name: str) -> Any:
    """The runtime's session for a file, on the CPU with one thread; no library beside the file is loaded."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what matters is raised
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a class for each kind of failure, with no common one but this
        raise NoVerdict(f"{name}: ONNX Runtime {version('onnxruntime')} cannot load {path.name}: "
                        f"{' '.join(str(error).split())[:300]}") from error


def tokenizer_folder(subject: Subject, folder: Path, name: str) -> Path:
    """Where tokenizer.json lies: as declared, or beside the model."""
    declaration = subject.declares.get("tokenizer")
    place = Path(str(declaration.value)) if declaration else folder
    if not files.is_file(place / "tokenizer.json", name):
        said = f"which {declaration.origin} names" if declaration else "name the folder that has it: --declare tokenizer=DIR"
        raise UsageError(f"{name}: there is no tokenizer.json in {place}{', ' if declaration else '; '}{said}")
    return place


class OnnxEncoder:
    """An ONNX session with its tokenizer, as encoder and as embedder.

    Texts are run in batches of similar length, filled up at the end; the lists that it returns hold no padding. The embedder
    puts the prompt of its role before a text; tokens and states are those of the text as it is.
    """

    batch_size = 32

    def __init__(self, session: Any, inputs: tuple[Tensor, ...], states: str, vectors: str, tokenizer: Any,
                 declares: dict[str, Declaration]):
        value = {key: declaration.value for key, declaration in declares.items()}
        self.session, self.inputs, self.states, self.vectors, self.tokenizer = session, inputs, states, vectors, tokenizer
        self.pooling, self.normalized = value.get("pooling", ""), value.get("normalized", False)
        self.prompts: dict[str, str] = value.get("prompts", {})
        self.padding_id = (tokenizer.padding or {}).get("pad_id", 0)
        tokenizer.no_padding()
        if "max_seq_length" in value:
            tokenizer.enable_truncation(value["max_seq_length"])

    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [encoding.tokens for encoding in self.tokenizer.encode_batch(texts)]

    def token_ids(self, texts: list[str]) -> list[np.ndarray]:
        return [np.array(encoding.ids) for encoding in self.tokenizer.encode_batch(texts)]

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        """The output for each token, one [L, d] a text."""
        return [states[:length] for states, length in self._run(texts, self.states)]

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d]: the graph's own vector of each text; where it gives none, its states as the directory pools them."""
        return self._embedded([self.prompts.get("document", "") + text for text in texts])

    def embed_query(self, texts: list[str]) -> np.ndarray:
        """[N, d]: the same in the role of a query."""
        return self._embedded([self.prompts.get("query", "") + text for text in texts])

    def _embedded(self, texts: list[str]) -> np.ndarray:
        if self.vectors:
            return np.stack([vector for vector, _ in self._run(texts, self.vectors)])
        pooled = np.stack([POOLINGS[self.pooling](states.astype(np.float64)).astype(states.dtype)
                           for states in self.hidden_states(texts)])
        return Pooling().normalize(pooled) if self.normalized else pooled

    def _run(self, texts: list[str], output: str) -> list[tuple[np.ndarray, int]]:
        """One output for each text, with the number of its tokens."""
        encodings = self.tokenizer.encode_batch(texts)
        order = sorted(range(len(encodings)), key=lambda i: len(encodings[i].ids))
        found: list[Any] = [None] * len(encodings)
        for start in range(0, len(order), self.batch_size):
            chosen = order[start:start + self.batch_size]
            longest = len(encodings[chosen[-1]].ids)
            feed = {one.name: np.stack([self._row(encodings[i], one, longest) for i in chosen]) for one in self.inputs}
            (rows,) = self.session.run([output], feed)
            for i, row in zip(chosen, rows, strict=True):
                found[i] = row, len(encodings[i].ids)
        return found

    def _row(self, encoding: Any, tensor: Tensor, longest: int) -> np.ndarray:
        # Texts are filled up at the end, so that their own tokens have the positions from 0 on.
        values = list(range(longest)) if tensor.name == "position_ids" else getattr(encoding, INPUTS[tensor.name])
        filling = self.padding_id if tensor.name == "input_ids" else 0
        return np.array(values + [filling] * (longest - len(values)), dtype=WHOLE[tensor.kind])
