"""Sixteen faults planted in the bundled model, in PyTorch and its tokenizer: nothing of this is shared with the registry."""

import copy

import numpy as np

from embedding_conformance.subjects import bundled


class Planted:
    """A whole embedder around the bundled model; a fault overrides one method. Batches are padded and hold `batch` texts."""

    batch = 32

    def __init__(self, model=None):
        from tokenizers import Tokenizer

        self.model = model or bundled.bundled().model
        self.tokenizer = Tokenizer.from_file(str(bundled.folder() / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def token_ids(self, texts):
        return [np.array(self.tokenizer.encode(text).ids) for text in texts]

    def input_vectors(self, texts):
        import torch

        with torch.inference_mode():
            return [self.model.embeddings(torch.from_numpy(ids)[None], **self.extra(len(ids), 1))[0].float().numpy()
                    for ids in self.token_ids(texts)]

    def extra(self, length, rows):
        """Further inputs of the model: none."""
        return {}

    def padded(self, ids):
        """ids [B, L], attention mask, pooling mask, each row's own place."""
        import torch

        longest = max(map(len, ids))
        rows = torch.zeros(len(ids), longest, dtype=torch.long)
        mask = torch.zeros(len(ids), longest, dtype=torch.long)
        for row, one in enumerate(ids):
            rows[row, :len(one)], mask[row, :len(one)] = torch.from_numpy(one), 1
        return rows, mask, mask

    def batches(self, texts):
        """For each text its states with those of the padding [L, d], and the mask of what is pooled [L]."""
        import torch

        ids, answers = self.token_ids(texts), []
        with torch.inference_mode():
            for start in range(0, len(ids), self.batch):
                rows, attended, pooled = self.padded(ids[start:start + self.batch])
                states = self.run(rows, attended)
                answers += list(zip(states.float().numpy(), pooled.numpy().astype(bool), strict=True))
        return answers

    def run(self, rows, attended):
        return self.model(input_ids=rows, attention_mask=attended, **self.extra(rows.shape[1], len(rows))).last_hidden_state

    def hidden_states(self, texts):
        lengths = [len(ids) for ids in self.token_ids(texts)]
        return [states[:length] for (states, _), length in zip(self.batches(texts), lengths, strict=True)]

    def embed(self, texts):
        return self.scale(np.stack([self.pool(states[mask]) for states, mask in self.batches(texts)]))

    def pool(self, states):
        return states.mean(axis=0)

    def scale(self, pooled):
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


class MissingNormalisation(Planted):
    def scale(self, pooled):
        return pooled


class ClsForMean(Planted):
    def pool(self, states):
        return states[0]


class MaxForMean(Planted):
    def pool(self, states):
        return states.max(axis=0)


class PaddingPooledIn(Planted):
    def padded(self, ids):
        rows, mask, _ = super().padded(ids)
        return rows, mask, mask * 0 + 1


class AttentionMaskIgnored(Planted):
    def padded(self, ids):
        rows, mask, _ = super().padded(ids)
        return rows, mask * 0 + 1, mask


class LeftPadding(Planted):
    def padded(self, ids):
        rows, mask, _ = super().padded(ids)
        return rows.flip(1), mask.flip(1), mask.flip(1)

    def run(self, rows, attended):
        # Each row is flipped as a whole above, so its own ids are turned round again.
        for row, mask in zip(rows, attended, strict=True):
            row[mask.bool()] = row[mask.bool()].flip(0)
        return super().run(rows, attended)

    def hidden_states(self, texts):
        return [states[mask] for states, mask in self.batches(texts)]


class TruncatedAt32(Planted):
    def __init__(self, model=None):
        super().__init__(model)
        self.tokenizer.enable_truncation(32)


class RowsSwapped(Planted):
    def __init__(self, model=None):
        super().__init__(copy.deepcopy(model or bundled.bundled().model))
        table = self.model.get_input_embeddings().weight.data
        one, other = (self.tokenizer.token_to_id(word) for word in ("river", "harbour"))
        table[[one, other]] = table[[other, one]]


class StrayPrefix(Planted):
    def token_ids(self, texts):
        return super().token_ids(["query: " + text for text in texts])


class PositionsShifted(Planted):
    def extra(self, length, rows):
        import torch

        return {"position_ids": torch.arange(1, length + 1)[None].expand(rows, -1)}


class TokenTypeOne(Planted):
    def extra(self, length, rows):
        import torch

        return {"token_type_ids": torch.ones(rows, length, dtype=torch.long)}


class LastLayerSkipped(Planted):
    def __init__(self, model=None):
        super().__init__(copy.deepcopy(model or bundled.bundled().model))
        self.model.encoder.layer = self.model.encoder.layer[:-1]


class OneBiasLost(Planted):
    def __init__(self, model=None):
        super().__init__(copy.deepcopy(model or bundled.bundled().model))
        self.model.encoder.layer[3].output.dense.bias.data.zero_()


class NoiseOnTheWeights(Planted):
    def __init__(self, model=None):
        import torch

        super().__init__(copy.deepcopy(model or bundled.bundled().model))
        generator = torch.Generator().manual_seed(1)
        for parameter in self.model.parameters():
            if parameter.ndim == 2:
                parameter.data *= 1 + 0.02 * torch.randn(parameter.shape, generator=generator)


class SpecialTokensMissing(Planted):
    def token_ids(self, texts):
        return [np.array(self.tokenizer.encode(text, add_special_tokens=False).ids or [101]) for text in texts]


class FixedPadding(Planted):
    def __init__(self, model=None):
        super().__init__(model)
        self.tokenizer.enable_padding(length=128)


#: the name that a diagnosis should give; weights with noise are no registered fault
FAULTS = {
    MissingNormalisation: "agreement/not-normalised",
    ClsForMean: "pooling/first-state-for-the-mean",
    MaxForMean: "agreement/max-for-mean",
    PaddingPooledIn: "agreement/padding-in-the-mean",
    AttentionMaskIgnored: "encoder_input/padding-attended",
    LeftPadding: "agreement/left-padding",
    TruncatedAt32: "agreement/truncated-early",
    RowsSwapped: "agreement/vocabulary-rows-swapped",
    StrayPrefix: "agreement/stray-prefix",
    PositionsShifted: "agreement/positions-shifted",
    TokenTypeOne: "agreement/token-type-one",
    LastLayerSkipped: "encoder_input/last-layer-skipped",
    OneBiasLost: "encoder_input/one-bias-lost",
    NoiseOnTheWeights: "",
    SpecialTokensMissing: "agreement/special-tokens-missing",
    FixedPadding: "agreement/fixed-padding",
}


class Half(Planted):
    """The model in float16, as it says."""

    declares = {"precision": "float16"}  # noqa: RUF012

    def __init__(self, model=None):
        super().__init__(copy.deepcopy(bundled.bundled().model).half())


class TanhGelu(Planted):
    declares = {"precision": "float16"}  # noqa: RUF012

    def __init__(self, model=None):
        import torch

        super().__init__(copy.deepcopy(bundled.bundled().model))
        for layer in self.model.encoder.layer:
            layer.intermediate.intermediate_act_fn = torch.nn.GELU(approximate="tanh")


class OtherEpsilon(Planted):
    declares = {"precision": "float16"}  # noqa: RUF012

    def __init__(self, model=None):
        import torch

        super().__init__(copy.deepcopy(bundled.bundled().model))
        for module in self.model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.eps = 1e-5


class OtherBatchSize(Planted):
    batch = 3


class SortedInput(Planted):
    """Texts are sorted by length into batches, and rows put back into the order of the texts."""

    def batches(self, texts):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        found = super().batches([texts[i] for i in order])
        answers = [None] * len(texts)
        for place, answer in zip(order, found, strict=True):
            answers[place] = answer
        return answers


SOUND = (Planted, Half, TanhGelu, OtherEpsilon, OtherBatchSize, SortedInput)


def dynamic_int8(model):
    """A copy of a model as a dynamic int8 export computes it: each linear layer with int8 weights, a scale for each output, and
    uint8 activations whose range is taken from the whole batch (DynamicQuantizeLinear, MatMulInteger); int8 tables.
    """
    import torch

    class Whole(torch.nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.scale = linear.weight.abs().amax(dim=1) / 127
            self.whole = torch.round(linear.weight / self.scale[:, None])
            self.bias = linear.bias

        def forward(self, x):
            low, high = x.min().clamp(max=0), x.max().clamp(min=0)
            step = (high - low) / 255
            zero = torch.round(-low / step)
            rounded = torch.clamp(torch.round(x / step) + zero, 0, 255) - zero
            return rounded @ self.whole.T * (step * self.scale) + self.bias

    model = copy.deepcopy(model)
    with torch.no_grad():
        for part in model.encoder.modules():
            for name, child in part.named_children():
                if isinstance(child, torch.nn.Linear):
                    setattr(part, name, Whole(child))
        for table in (model.embeddings.word_embeddings, model.embeddings.position_embeddings,
                      model.embeddings.token_type_embeddings):
            step = table.weight.abs().max() / 127
            table.weight.copy_(torch.round(table.weight / step) * step)
    return model
