"""The scheme ``st:``: a model of sentence-transformers, in a directory or on the hub, judged through that library.

No code of the directory is run, and no pickle is read.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NoVerdict, UsageError
from . import Declaration, LayerSource, Subject, declared, hub, require_installed
from . import model_directory as files
from .bundled import read_weights
from .facets import FACETS, offered
from .hf import text_model
from .tokenizers_stack import FastTokenizer, speaks_for_batches
from .torch_stack import TorchLayer, lookup_of, of_a_model, scaling, to_numpy, torch

LIBRARY = "sentence_transformers"
#: the first version that keeps a directory's own modules from being imported, and that has `preprocess`
OLDEST = 6
ENCODER = ("encoder.tokens", "encoder.token_ids", "encoder.input_embeddings", "encoder.hidden_states", "encoder.config")
BERT = ("encoder.input_vectors", "encoder.weights")


def open_subject(rest: str) -> Subject:
    """Open a model directory or an ID of the hub. What the library would have to unpickle or import is refused."""
    name = f"st:{rest}"
    require_installed(LIBRARY, "st", "st")
    if int(version("sentence-transformers").partition(".")[0]) < OLDEST:
        raise UsageError(f"st: needs sentence-transformers {OLDEST} or newer, and {version('sentence-transformers')} is "
                         "installed: pip install -U 'embedding-conformance[st]'")
    place = hub.find(rest, "st")
    folder, kinds = place.folder, module_kinds(place.folder, name)
    weights = checked_weights(folder, kinds, name)
    first = folder / (kinds[0][1] if kinds else "")
    network = not kinds or kinds[0][0] == "Transformer"
    declares = declared({"weights": files.digest(weights)}, weights[0].name) | files.precision(weights, name)
    if network:
        config = files.configuration(first, name)
        declares |= files.architecture(config) | files.limit(first, config, name)
        declares |= declared({"out_of_range_below": "raise", "out_of_range_above": "raise"}, "torch.nn.Embedding")
    if files.is_file(first / "tokenizer.json", name):
        declares |= files.case_and_accents(first, name)
    declares |= sentence_vectors(folder, kinds, name) | files.prompts(folder, name)
    if network:
        # The library fills up what the weights lack with random numbers and goes on.
        text_model(first, name)
    model = load(folder, name)
    encoder = SentenceEncoder(model, tuple(weights))
    capabilities = {"embedder.embed", *(["embedder.embed_query"] if "prompts" in declares else [])}
    makers: dict[str, Any] = {"embedder": lambda: encoder}
    if network:
        capabilities |= {*of_a_model(encoder.word_table()), *ENCODER}
        capabilities |= set(BERT) if "architecture" in declares else set()
        source = LayerSource(lambda: TorchLayer(encoder.word_table()))
        makers |= {"encoder": lambda: encoder, "layer": lambda: source}
    if speaks_for_batches(tokenizer := encoder.tokenizer()):
        capabilities |= offered(tokenizer, FACETS["tokenizer"])
        makers["tokenizer"] = lambda: tokenizer
    digest = str(declares["weights"].value)
    return Subject(
        name=name, title=f"{place.title}, {' '.join(kind for kind, _ in kinds) or 'Transformer'}, sha256 {digest[:12]}",
        capabilities=frozenset(capabilities), makers=makers, declares=declares,
        facts={"sha256": digest, **({"revision": place.revision} if place.revision else {}),
               **(scaling(model[0].auto_model) if network else {}),
               **{package: version(package) for package in ("sentence-transformers", "transformers", "torch")}})


def module_kinds(folder: Path, name: str) -> list[tuple[str, str]]:
    """The class and the folder of each module; one that is no part of the library would be code of the directory."""
    found = files.modules(folder, name)
    for kind, _ in found:
        if not kind.startswith(f"{LIBRARY}."):
            raise UsageError(f"{name}: modules.json asks to import {kind}, which is no part of sentence-transformers; it is "
                             "never run")
    return [(kind.rpartition(".")[2], path) for kind, path in found]


def checked_weights(folder: Path, kinds: list[tuple[str, str]], name: str) -> list[Path]:
    """All weights that the library will read, none of them a pickle."""
    if not kinds:
        files.configuration(folder, name)
        return files.weight_files(folder, name)
    found: list[Path] = []
    for kind, path in kinds:
        inside = folder / path
        if kind == "Transformer":
            files.configuration(inside, name)
            found += files.weight_files(inside, name)
        elif list(inside.glob("*.safetensors")) or list(inside.glob("*.bin")) or list(inside.glob("*.pt")):
            found += files.weight_files(inside, name)
    if not found:
        raise UsageError(f"{name}: there is no model.safetensors in {folder} and the folders that modules.json names")
    return found


def sentence_vectors(folder: Path, kinds: list[tuple[str, str]], name: str) -> dict[str, Declaration]:
    """Normalised, if that is the last module; pooled as its file says, if nothing but that comes after the network.

    Vectors that are cut are neither.
    """
    if not kinds or files.truncated(folder, name):
        return {}
    names = [kind for kind, _ in kinds]
    found = declared({"normalized": names[-1] == "Normalize"}, "modules.json")
    if names[:2] != ["Transformer", "Pooling"] or names[2:] not in ([], ["Normalize"]):
        return found
    path = Path(kinds[1][1]) / "config.json"
    mode = files.pooling_mode(folder / path, name)
    # Where a prompt is left out of the mean, the vector is not that of all states.
    whole = files.read_json(folder / path, name).get("include_prompt", True) or not files.prompts(folder, name)
    return found | (declared({"pooling": mode}, str(path)) if mode and whole else {})


def load(folder: Path, name: str) -> Any:
    """The model on the CPU. Raises `NoVerdict` where the library cannot load it."""
    torch()
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(str(folder), device="cpu", trust_remote_code=False, local_files_only=True,
                                    model_kwargs={"use_safetensors": True})
    except Exception as error:  # the library reads a dozen files and lets each error through
        raise NoVerdict(f"{name}: sentence-transformers cannot load it: {type(error).__name__}: "
                        f"{' '.join(str(error).split())[:300]}") from error
    return model.eval()


class SentenceEncoder:
    """A SentenceTransformer as embedder and, where its first module is a network, as encoder.

    The embedder puts the prompt of its role before a text; tokens and states are those of the text as it is.
    """

    def __init__(self, model: Any, stored: tuple[Path, ...]):
        self.model = model
        self.stored = stored

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d]"""
        found: np.ndarray = self.model.encode_document(texts, show_progress_bar=False)
        return found

    def embed_query(self, texts: list[str]) -> np.ndarray:
        """[N, d]"""
        found: np.ndarray = self.model.encode_query(texts, show_progress_bar=False)
        return found

    def word_table(self) -> Any:
        """The lookup of the network."""
        return lookup_of(self.model[0].auto_model.get_input_embeddings())

    def tokenizer(self) -> FastTokenizer | None:
        """A copy of the model's tokenizer, whose settings no call of the model can change; None for a slow one."""
        from tokenizers import Tokenizer

        own = getattr(self.model, "tokenizer", None)
        own = getattr(own, "backend_tokenizer", own)
        if not isinstance(own, Tokenizer):
            return None
        return FastTokenizer(Tokenizer.from_str(own.to_str()), files.special_of(self.model.tokenizer))

    def token_ids(self, texts: list[str]) -> list[np.ndarray]:
        features = self.model.preprocess(texts)
        return [ids[mask.bool()].numpy() for ids, mask in zip(features["input_ids"], features["attention_mask"], strict=True)]

    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [self.model.tokenizer.convert_ids_to_tokens(ids.tolist()) for ids in self.token_ids(texts)]

    def input_embeddings(self, texts: list[str]) -> list[np.ndarray]:
        """The rows that the network's own lookup gives, before they are scaled and positions and types are added."""
        with torch().inference_mode():
            return [to_numpy(self.word_table()(torch().from_numpy(ids))) for ids in self.token_ids(texts)]

    def input_vectors(self, texts: list[str]) -> list[np.ndarray]:
        """What goes into the first layer: after positions, types and normalisation."""
        with torch().inference_mode():
            return [to_numpy(self.model[0].auto_model.embeddings(input_ids=torch().from_numpy(ids)[None])[0])
                    for ids in self.token_ids(texts)]

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        """Last hidden states, one [L, d] a text."""
        found = self.model.encode(texts, prompt="", output_value=None, show_progress_bar=False)
        return [to_numpy(one["token_embeddings"][one["attention_mask"].bool()]) for one in found]

    def weights(self) -> dict[str, np.ndarray]:
        """The arrays of the weights files."""
        return {name: to_numpy(tensor) for name, tensor in read_weights(self.stored).items()}

    def config(self) -> dict[str, Any]:
        """The configuration of the network."""
        found: dict[str, Any] = self.model[0].auto_model.config.to_dict()
        return found
