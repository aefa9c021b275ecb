"""The facet ``layer_maker`` of the subject ``torch``: fresh layers, filled by PyTorch's own initialisation."""

from __future__ import annotations

from .torch_stack import TorchLayer, torch


class TorchMaker:
    """Makes every layer right after seeding the CPU generator; the generator's state outside is left as it was."""

    def make_layer(self, rows: int, width: int, padding_id: int | None, seed: int, dtype: str) -> TorchLayer:
        """A new nn.Embedding with a table [rows, width] of this format."""
        with torch().random.fork_rng(devices=[]):
            torch().manual_seed(seed)
            return TorchLayer(torch().nn.Embedding(rows, width, padding_idx=padding_id, dtype=getattr(torch(), dtype)))
