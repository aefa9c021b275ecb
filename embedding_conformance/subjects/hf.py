"""The scheme ``hf:``: a BERT directory of Transformers, and ``hf:documents``, the documents' own model.

Nothing is fetched and no code of the directory is run: weights come from safetensors, the tokenizer from its JSON file.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import NoVerdict, UsageError
from . import Declaration, LayerSource, Subject, declared, require_installed
from .bundled import MODEL, BertEncoder, bert_model
from .torch_stack import TorchLayer

DOCUMENTS = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
REVISION = "e8f8c211226b894fcb81acc59f3b34ba3efd5f42"
#: how 1_Pooling/config.json names the modes that can be computed here: as a word, or by a switch for each (older files)
MODES = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}


def open_subject(rest: str) -> Subject:
    """Open a model directory, or the documents' model from the local hub cache.

    Opening reads configuration and the digest of the weights; the weights are loaded when a test needs them. An embedder
    is offered where a pooling is declared, by the directory or by the user.
    """
    name = f"hf:{rest}"
    for module in ("torch", "transformers", "tokenizers", "safetensors"):
        require_installed(module, "default", name)
    folder = documents_folder() if rest == "documents" else Path(rest)
    config = checked_config(folder, name)
    digest = sha256(folder / "model.safetensors")
    pooling, normalized = sentence_vectors(folder, name)
    subject = Subject(
        name=name, title=f"{folder.name if rest != 'documents' else DOCUMENTS}, {config['vocab_size']} x "
                         f"{config['hidden_size']}, sha256 {digest[:12]}",
        capabilities=frozenset({"layer.table", "layer.lookup", "layer.gradient", "layer.padding_id",
                                *(one for one in MODEL if not one.startswith("embedder."))}),
        makers={},
        declares=declared({"out_of_range_below": "raise", "out_of_range_above": "raise"}, "torch.nn.Embedding")
        | declared({"contextual": True, **architecture(config)}, "config.json")
        | declared({"weights": digest, **precision(folder / "model.safetensors", name)}, "model.safetensors")
        | limit(folder, config, name) | pooling | normalized,
        facts={"sha256": digest, **{package: version(package) for package in ("transformers", "tokenizers", "torch")}},
        completed=_offer_embedder)
    if rest == "documents":
        subject.declares |= declared({"model": "documents", "trained": "en"}, f"{DOCUMENTS} at {REVISION[:12]}")
        subject.facts["revision"] = REVISION

    def encoder() -> BertEncoder:
        return load(folder, name, subject.declares)

    def layer() -> LayerSource:
        return LayerSource(lambda: TorchLayer(subject.facet("encoder").module().get_input_embeddings()))

    subject.makers = {"layer": layer, "module": encoder, "encoder": encoder, "embedder": encoder}
    return subject


def _offer_embedder(subject: Subject) -> None:
    """Once it is known what the user declares: texts have vectors where a pooling is declared."""
    declaration = subject.declares.get("pooling")
    if declaration is None:
        return
    if declaration.value not in MODES:
        raise UsageError(f"{subject.name}: {declaration.origin} declares pooling={declaration.value}, and only "
                         f"{', '.join(MODES)} can be computed here")
    subject.capabilities |= {"embedder.embed", "embedder.embed_query"}


def load(folder: Path, name: str, declares: dict[str, Declaration]) -> BertEncoder:
    """The model and its tokenizer, with the limit, pooling and normalisation that are declared."""
    from tokenizers import Tokenizer

    model = bert_model(folder / "config.json", folder / "model.safetensors", name)
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the class that tokenizers raises is Exception itself
        raise NoVerdict(f"{name}: tokenizer.json cannot be read: {error}") from error
    value = {key: declaration.value for key, declaration in declares.items()}
    return BertEncoder(model, tokenizer, value["max_seq_length"], value.get("normalized", False),
                       value.get("pooling", "mean"), folder / "model.safetensors")


def checked_config(folder: Path, name: str) -> Any:
    """What config.json says, once the directory holds everything and asks to run none of its own code."""
    if not folder.is_dir():
        raise UsageError(f"{name}: there is no folder {folder}; name a model directory on this machine, or hf:documents")
    config = read_json(folder / "config.json", name)
    if "auto_map" in config:
        raise UsageError(f"{name}: config.json asks to run the directory's own Python code (auto_map); it is never run")
    if config.get("model_type") != "bert":
        raise UsageError(f"{name}: model_type is {config.get('model_type')!r}; only bert can be loaded here")
    if not (folder / "model.safetensors").is_file():
        pickled = next((path.name for path in sorted(folder.glob("*.bin"))), "")
        hint = f"; {pickled} is a pickle, which can run code: save the model as safetensors" if pickled else ""
        raise UsageError(f"{name}: there is no model.safetensors in {folder}{hint}")
    if not (folder / "tokenizer.json").is_file():
        raise UsageError(f"{name}: there is no tokenizer.json in {folder}; save the tokenizer as a fast one")
    return config


def architecture(config: dict[str, Any]) -> dict[str, Any]:
    """Declares the plain BERT that the oracle computes; a variant of it is judged without that oracle."""
    plain = (config.get("hidden_act", "gelu") == "gelu" and not config.get("is_decoder")
             and config.get("position_embedding_type", "absolute") == "absolute")
    return {"architecture": "bert"} if plain else {}


def sentence_vectors(folder: Path, name: str) -> tuple[dict[str, Declaration], dict[str, Declaration]]:
    """The declared pooling and normalisation, as modules.json and the pooling's own file say; empty where they do not.

    Modules that cannot be computed here, such as a linear layer, leave both undeclared.
    """
    if not (folder / "modules.json").is_file():
        return {}, {}
    modules = [(str(one["type"]).rpartition(".")[2], str(one["path"]))
               for one in read_json(folder / "modules.json", name)]
    if [kind for kind, _ in modules] not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return {}, {}
    file = Path(modules[1][1]) / "config.json"
    pooling = read_json(folder / file, name)
    modes = [mode for mode, switch in MODES.items() if pooling.get(switch) or pooling.get("pooling_mode") == mode]
    switches = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True]
    if len(modes) != 1 or len(switches) > 1:
        return {}, {}
    return declared({"pooling": modes[0]}, str(file)), declared({"normalized": len(modules) == 3}, "modules.json")


def limit(folder: Path, config: dict[str, Any], name: str) -> dict[str, Declaration]:
    """The largest number of tokens, and the file that says it."""
    positions = int(config.get("max_position_embeddings", 512))
    for file, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if (folder / file).is_file():
            value = read_json(folder / file, name).get(key)
            if value and value <= positions:  # a tokenizer without a limit has one of 10^30
                return declared({"max_seq_length": int(value)}, file)
    return declared({"max_seq_length": positions}, "config.json")


def read_json(path: Path, name: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: {path.name}: {error.strerror}; looked in {path.parent}") from error
    except ValueError as error:
        raise UsageError(f"{name}: {path.name} is not valid JSON: {error}") from error


def precision(path: Path, name: str) -> dict[str, str]:
    """The floating format in which the word table is stored, as the header of the file says (8 bytes of its size, JSON)."""
    with path.open("rb") as file:
        try:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        except (ValueError, OverflowError, MemoryError) as error:
            raise NoVerdict(f"{name}: {path.name} is no safetensors file: {error}") from error
    tables = [entry["dtype"] for stored, entry in header.items() if stored.endswith("word_embeddings.weight")]
    formats = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
    return {"precision": formats[tables[0]]} if tables and tables[0] in formats else {}


@cache
def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def documents_folder() -> Path:
    """The documents' model in the hub cache of this machine."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folder = hub / f"models--{DOCUMENTS.replace('/', '--')}" / "snapshots" / REVISION
    if not folder.is_dir():
        raise NoVerdict(f"hf:documents: the files of {DOCUMENTS} at {REVISION[:12]} are not in {hub}; "
                        f"fetch them with: hf download {DOCUMENTS} --revision {REVISION}")
    return folder
