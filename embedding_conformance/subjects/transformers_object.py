"""Objects of Transformers and tokenizers that a user's own code made: a model with its tokenizer, a causal language model,
a tokenizer."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from . import Declaration, LayerSource, Subject, declared
from . import model_directory as files
from .bundled import MODEL, BertEncoder
from .facets import FACETS, offered
from .hf import OTHER, offer_embedder
from .interfaces import instance_of
from .tokenizers_stack import FastTokenizer, speaks_for_batches


def recognised(thing: Any, name: str) -> Subject | None:
    """The subject that such an object is; None for any other object."""
    if instance_of(thing, "tokenizers", "Tokenizer") or instance_of(thing, "transformers", "PreTrainedTokenizerBase"):
        return from_tokenizer(thing, name)
    pair = thing if isinstance(thing, (tuple, list)) else (getattr(thing, "model", None), getattr(thing, "tokenizer", None))
    if len(pair) == 2 and is_model(pair[0]) and (isinstance(thing, (tuple, list))
                                                or instance_of(thing, "transformers", "Pipeline")):
        return from_model(pair[0], pair[1], name)
    if not is_model(thing):
        return None
    if thing.get_output_embeddings() is None:
        raise UsageError(f"{name} is a {type(thing).__name__}, which reads no text by itself: return (model, tokenizer)")
    if not getattr(thing.config, "tie_word_embeddings", False):
        raise UsageError(f"{name} is a {type(thing).__name__} whose configuration does not tie its output to its input table; "
                         "return (model, tokenizer) to have it judged as an encoder")
    from .torch_tied import TorchTiedModel

    model = TorchTiedModel(thing.eval())
    return Subject(name=name, title=f"{name}, {type(thing).__name__}", capabilities=offered(model, FACETS["tied_model"]),
                   makers={"tied_model": lambda: model}, declares=precision(thing))


def is_model(thing: object) -> bool:
    return instance_of(thing, "transformers", "PreTrainedModel")


def fast(tokenizer: Any, name: str) -> Any:
    """A copy of the ``tokenizers.Tokenizer`` below; a slow tokenizer has none."""
    from tokenizers import Tokenizer

    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        raise UsageError(f"{name}: {type(tokenizer).__name__} is no fast tokenizer, and only these are judged")
    return Tokenizer.from_str(backend.to_str())


def facet_of(tokenizer: Any, name: str) -> FastTokenizer:
    """With the special tokens that Transformers knows it by, or else those of BERT."""
    return FastTokenizer(fast(tokenizer, name), files.special_of(tokenizer) or None)


def from_tokenizer(thing: Any, name: str) -> Subject:
    tokenizer = facet_of(thing, name)
    if not speaks_for_batches(tokenizer):
        raise UsageError(f"{name}: {type(thing).__name__} has no padding token, so that it cannot make batches")
    return Subject(name=name, title=f"{name}, {type(thing).__name__}", capabilities=offered(tokenizer, FACETS["tokenizer"]),
                   makers={"tokenizer": lambda: tokenizer})


def from_model(model: Any, tokenizer: Any, name: str) -> Subject:
    """A model with its tokenizer; an embedder too where the user declares a pooling."""
    from .torch_stack import TorchLayer, lookup_of, of_a_model, scaling

    backend = fast(tokenizer, name)
    body = model.base_model.eval()
    config = body.config.to_dict()
    plain = files.architecture(config)
    limit = getattr(tokenizer, "model_max_length", None)
    kept = declared({"max_seq_length": limit}, type(tokenizer).__name__) if limit and limit < 10**9 else {}
    declares = (declared({"out_of_range_below": "raise", "out_of_range_above": "raise"}, "torch.nn.Embedding")
                | {key: Declaration(one.value, "the model's config") for key, one in plain.items()} | kept | precision(model))
    facet = facet_of(tokenizer, name)
    words = lookup_of(body.get_input_embeddings())
    capabilities = {*of_a_model(words),
                    *(one for one in (MODEL if "architecture" in plain else OTHER) if not one.startswith("embedder."))}
    subject = Subject(name=name, title=f"{name}, {type(model).__name__} with its tokenizer", makers={}, declares=declares,
                      facts=scaling(body), capabilities=frozenset(capabilities), completed=offer_embedder)
    source = LayerSource(lambda: TorchLayer(words))

    def encoder() -> BertEncoder:
        value = {key: declaration.value for key, declaration in subject.declares.items()}
        made = BertEncoder(body, backend, value.get("max_seq_length"), value.get("normalized", False),
                           value.get("pooling", "mean"))
        made.padding_id = config.get("pad_token_id") or 0
        return made

    subject.makers = {"layer": lambda: source, "module": encoder, "encoder": encoder, "embedder": encoder}
    if speaks_for_batches(facet):
        subject.capabilities |= offered(facet, FACETS["tokenizer"])
        subject.makers["tokenizer"] = lambda: facet
    return subject


def precision(model: Any) -> dict[str, Declaration]:
    word = str(model.dtype).removeprefix("torch.")
    return declared({"precision": word}, "the model's dtype") if word in files.FORMATS.values() else {}
