"""Embedders that differ from the sound ones and are sound."""

import copy
from functools import cache

import numpy as np

from ...proof import altered, sound
from ..pooling.faults import unit
from .faulty import SMALL, asking


@sound("embedder", base=SMALL)
def one_text_at_a_time(embedder):
    """Every text in a call of its own."""
    return asking(embedder, lambda ask, texts: np.concatenate([ask([text]) for text in texts]))


@sound("embedder", base=SMALL)
def sorted_and_put_back(embedder):
    """Texts are sorted by length for the batch, and rows are put back in order."""
    def change(ask, texts):
        order = np.argsort([len(text) for text in texts], kind="stable")
        return ask([texts[i] for i in order])[np.argsort(order)]
    return asking(embedder, change)


@sound("embedder", base=SMALL)
def each_text_once(embedder):
    """Duplicates are embedded once and given to all."""
    def change(ask, texts):
        different = list(dict.fromkeys(texts))
        return ask(different)[[different.index(text) for text in texts]]
    return asking(embedder, change)


@sound("embedder", base=SMALL)
def answers_in_double_precision(embedder):
    """Rows are lists of Python's numbers."""
    return asking(embedder, lambda ask, texts: ask(texts).astype(np.float64).tolist())


@sound("embedder", base=SMALL, declares={"precision": "float16"})
def answers_in_half_precision(embedder):
    """Rows are rounded to float16, as declared."""
    return asking(embedder, lambda ask, texts: ask(texts).astype(np.float16))


@sound("embedder", base=SMALL, declares={"precision": "float16", "deterministic": False})
def half_precision_that_varies(embedder):
    """Rows vary by as much as sums in float16 do."""
    drawn = np.random.default_rng(0)
    return asking(embedder, lambda ask, texts: (ask(texts) * (1 + 5e-4 * drawn.standard_normal((len(texts), 64)))).astype(
        np.float16))


@sound("embedder", base=SMALL)
def a_store_that_copies(embedder):
    """Rows are kept by role and text, and copies are handed out."""
    def keeping(ask):
        known = {}

        def stored(texts):
            known.update((text, ask([text])[0]) for text in texts if text not in known)
            return np.stack([known[text] for text in texts])
        return stored
    return altered(embedder, embed=keeping(embedder.embed), embed_query=keeping(embedder.embed_query))


@sound("embedder", base=SMALL)
def empty_texts_refused(embedder):
    """A call with a blank text is refused with an error that says why."""
    def change(ask, texts):
        if not all(text.strip() for text in texts):
            raise ValueError("a text is blank")
        return ask(texts)
    return asking(embedder, change)


@sound("embedder", base=SMALL, declares={"prompts": {"document": "passage: "}})
def prompt_for_documents(embedder):
    """Documents have a prompt, and queries have none."""
    return altered(embedder, embed=lambda texts: embedder.embed([f"passage: {text}" for text in texts]),
                   embed_query=embedder.embed)


@sound("embedder", base=SMALL, declares={"lowercase": True})
def small_letters(embedder):
    """Texts are made small, as declared."""
    return asking(embedder, lambda ask, texts: ask([text.lower() for text in texts]))


@sound("embedder", base=SMALL, declares={"normalized": False})
def longer_vectors(embedder):
    """Vectors have length three, and nothing is declared about lengths."""
    return asking(embedder, lambda ask, texts: 3 * ask(texts))


@sound("embedder", declares={"prompts": {"query": "query: ", "document": "passage: "}},
       breaks=["TOY-08", "BASE-01", "BASE-07", "BASE-09"])
def prompts_for_both(embedder):
    """Both roles have a prompt, as models of the kind of e5 do; what rests on the bare texts does not hold."""
    return altered(embedder, embed=lambda texts: embedder.embed([f"passage: {text}" for text in texts]),
                   embed_query=lambda texts: embedder.embed([f"query: {text}" for text in texts]))


def network(embedder, change=lambda model: model, dtype="float32", pool=lambda states: states.mean(axis=0)):
    """The model after `change`, whose rows are kept by text; `dtype` is the format of the answers."""
    from ...subjects.bundled import BertEncoder

    model = BertEncoder(change(copy.deepcopy(embedder.module())), embedder.tokenizer, embedder.max_seq_length)
    known = {}

    def embed(texts):
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            vectors = unit(np.stack([pool(states) for states in model.hidden_states(new)]))
            known.update(zip(new, vectors.astype(dtype), strict=True))
        return np.stack([known[text] for text in texts])
    return altered(embedder, embed=embed, embed_query=embed)


@sound("embedder", declares={"precision": "float16"}, breaks=["BASE-01", "BASE-07", "BASE-09"])
@cache
def weights_in_half_precision(embedder):
    """Weights and answers are rounded to float16, as declared."""
    return network(embedder, lambda model: model.half().float(), "float16")


@sound("embedder", declares={"precision": "bfloat16"}, breaks=["BASE-01", "BASE-07", "BASE-09"])
@cache
def weights_in_bfloat16(embedder):
    """Weights are rounded to bfloat16, as declared."""
    return network(embedder, lambda model: model.bfloat16().float())


@sound("embedder", declares={"precision": "float16"}, breaks=["BASE-01", "BASE-07", "BASE-09"])
@cache
def another_gelu_and_epsilon(embedder):
    """GELU by a hyperbolic tangent and normalisations that add 1e-5: as large as what the declared float16 may lose."""
    import torch

    def change(model):
        for part in model.modules():
            if isinstance(part, torch.nn.LayerNorm):
                part.eps = 1e-5
            if hasattr(part, "intermediate_act_fn"):
                part.intermediate_act_fn = torch.nn.GELU(approximate="tanh")
        return model
    return network(embedder, change)


@sound("embedder")
def pooled_in_another_order(embedder):
    """The states of a text are added up from the last to the first, one by one."""
    def embed(texts):
        sums = [np.add.accumulate(states[::-1], axis=0)[-1] for states in embedder.hidden_states(texts)]
        return unit(np.stack(sums))
    return altered(embedder, embed=embed, embed_query=embed)


@sound("embedder")
@cache
def padded_before_the_text(embedder):
    """Batches of seven in the order of the texts, with the padding before each and positions that begin after it."""
    import torch

    @cache
    def batch(texts):
        ids = [row.tolist() for row in embedder.token_ids(texts)]
        longest = max(map(len, ids))
        padded = torch.tensor([[0] * (longest - len(row)) + row for row in ids])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in ids])
        with torch.inference_mode():
            states = embedder.module()(input_ids=padded, attention_mask=mask,
                                       position_ids=(mask.cumsum(dim=1) - 1).clamp_min(0)).last_hidden_state
        return (states * mask[:, :, None]).sum(dim=1).numpy()

    def embed(texts):
        return unit(np.concatenate([batch(tuple(texts[start:start + 7])) for start in range(0, len(texts), 7)]))
    return altered(embedder, embed=embed, embed_query=embed)
