"""The scheme ``hf:``: a model of Transformers in a directory or on the hub, and ``hf:documents``, the documents' own model.

No code of the directory is run: weights come from safetensors, the tokenizer from its JSON file.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import NoVerdict, UsageError
from . import LayerSource, Subject, declared, hub, require_installed
from . import model_directory as files
from .bundled import MODEL, BertEncoder, bert_model
from .facets import FACETS, offered
from .tokenizers_stack import FastTokenizer, speaks_for_batches
from .torch_stack import TorchLayer, lookup_of, of_a_model, scaling

DOCUMENTS = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
REVISION = "e8f8c211226b894fcb81acc59f3b34ba3efd5f42"
#: what the encoder of a model that is no BERT can do; the oracle that knows the rest of BERT does not apply to it
OTHER = ("module.module", "encoder.tokens", "encoder.token_ids", "encoder.input_embeddings", "encoder.hidden_states",
         "encoder.config")


def open_subject(rest: str) -> Subject:
    """Open a model directory, an ID of the hub, or the documents' model from the local hub cache.

    An embedder is offered where a pooling is declared, by the directory or by the user.
    """
    name = f"hf:{rest}"
    for module in ("torch", "transformers", "tokenizers", "safetensors"):
        require_installed(module, "st", name)
    place = hub.Place(documents_folder(), DOCUMENTS, REVISION) if rest == "documents" else hub.find(rest, "hf")
    folder = place.folder
    config = files.configuration(folder, name)
    weights = files.weight_files(folder, name)
    if not files.is_file(folder / "tokenizer.json", name):
        raise UsageError(f"{name}: there is no tokenizer.json in {folder}; save the tokenizer as a fast one")
    digest = files.digest(weights)
    bert = config.get("model_type") == "bert"
    # The weights are read now: nearly every claim needs them, and what cannot be loaded is no verdict, not a failed claim.
    model = bert_model(folder / "config.json", tuple(weights), name) if bert else text_model(folder, name)
    words = lookup_of(model.get_input_embeddings())
    subject = Subject(
        name=name, title=f"{place.title}, {' x '.join(map(str, words.weight.shape))}, sha256 {digest[:12]}",
        capabilities=of_a_model(words) | {one for one in (MODEL if bert else OTHER) if not one.startswith("embedder.")},
        makers={},
        declares=declared({"out_of_range_below": "raise", "out_of_range_above": "raise"}, "torch.nn.Embedding")
        | files.architecture(config) | declared({"weights": digest}, weights[0].name) | files.precision(weights, name)
        | files.case_and_accents(folder, name) | files.limit(folder, config, name) | files.sentence_vectors(folder, name)
        | files.prompts(folder, name),
        facts={"sha256": digest, **({"revision": place.revision} if place.revision else {}), **scaling(model),
               **{package: version(package) for package in ("transformers", "tokenizers", "torch")}},
        completed=offer_embedder)
    if rest == "documents":
        subject.declares |= declared({"model": "documents", "trained": "en"}, f"{DOCUMENTS} at {REVISION[:12]}")

    def encoder() -> BertEncoder:
        value = {key: declaration.value for key, declaration in subject.declares.items()}
        made = BertEncoder(model, files.read_tokenizer(folder, name), value.get("max_seq_length"),
                           value.get("normalized", False), value.get("pooling", "mean"), tuple(weights),
                           value.get("prompts"))
        made.padding_id = config.get("pad_token_id") or 0
        return made

    source = LayerSource(lambda: TorchLayer(words))
    subject.makers = {"layer": lambda: source, "module": encoder, "encoder": encoder, "embedder": encoder}
    tokenizer = FastTokenizer(files.read_tokenizer(folder, name), files.special_tokens(folder, name))
    if speaks_for_batches(tokenizer):
        subject.capabilities |= offered(tokenizer, FACETS["tokenizer"])
        subject.makers["tokenizer"] = lambda: tokenizer
    return subject


def offer_embedder(subject: Subject) -> None:
    """Once it is known what the user declares: texts have vectors where a pooling is declared."""
    declaration = subject.declares.get("pooling")
    if declaration is None:
        return
    if declaration.value not in files.MODES:
        raise UsageError(f"{subject.name}: {declaration.origin} declares pooling={declaration.value}, and only "
                         f"{', '.join(files.MODES)} can be computed here")
    subject.capabilities |= {"embedder.embed", "embedder.embed_query"}


def text_model(folder: Path, name: str) -> Any:
    """A text model of any architecture that Transformers itself has, in evaluation mode; of two halves, the encoder.

    Raises `UsageError` for an architecture that it does not have, `NoVerdict` when the weights are not those of the model.
    """
    from .torch_stack import torch

    torch()
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING

    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (ValueError, KeyError) as error:
        raise UsageError(f"{name}: config.json is of a model that Transformers {version('transformers')} does not know: "
                         f"{' '.join(str(error).split())[:200]}") from error
    kind = AutoModelForTextEncoding if type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING else AutoModel
    try:
        model, found = kind.from_pretrained(folder, config=config, local_files_only=True, trust_remote_code=False,
                                            use_safetensors=True, dtype="auto", attn_implementation="eager",
                                            output_loading_info=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise NoVerdict(f"{name}: the model cannot be loaded: {' '.join(str(error).split())[:300]}") from error
    wrong = sorted(key for key in found["missing_keys"] if ".pooler." not in f".{key}")
    if wrong or found["mismatched_keys"]:
        other = sorted(map(str, found["mismatched_keys"]))
        raise NoVerdict(f"{name}: the weights do not fit the model: missing {wrong[:5]}, of another shape {other[:5]}")
    return model.eval()


def documents_folder() -> Path:
    """The documents' model in the hub cache of this machine."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    place = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folder = place / f"models--{DOCUMENTS.replace('/', '--')}" / "snapshots" / REVISION
    if not folder.is_dir():
        raise NoVerdict(f"hf:documents: the files of {DOCUMENTS} at {REVISION[:12]} are not in {place}; "
                        f"fetch them with: hf download {DOCUMENTS} --revision {REVISION}")
    return folder
