"""A small embedder in NumPy, part of the subject ``formulas``: it knows nothing and keeps every promise about embedders."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from itertools import pairwise

import numpy as np

WIDTH = 64
#: a word of letters and digits, a Chinese or Japanese character by itself, or another sign
TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s]")
LIMIT = 256
PROMPT = "query: "
DECLARES = {"normalized": True, "deterministic": True, "max_seq_length": LIMIT, "too_long": "error", "lowercase": False,
            "strip_accents": False, "prompts": {"query": PROMPT}}


class SmallEmbedder:
    """Mean pooling of the rows of hashed tokens and of hashed pairs of neighbours, so that the order of words counts."""

    def tokens(self, text: str) -> list[str]:
        """A mark for the start, then words and signs; raises ValueError beyond the limit."""
        found = ["<s>", *TOKEN.findall(text)]
        if len(found) > LIMIT:
            raise ValueError(f"the text has {len(found)} tokens, and at most {LIMIT} are taken")
        return found

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, 64] float32, rows of length one."""
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, texts: list[str]) -> np.ndarray:
        """[N, 64]: the texts with the prompt of a query before them."""
        return self.embed([f"{PROMPT}{text}" for text in texts])

    def _vector(self, text: str) -> np.ndarray:
        tokens = self.tokens(text)
        pairs = [f"{first} {second}" for first, second in pairwise(tokens)]
        total = np.stack([hashed_row(one) for one in [*tokens, *pairs]]).sum(axis=0)
        vector: np.ndarray = (total / np.linalg.norm(total)).astype(np.float32)
        return vector


@lru_cache(maxsize=1 << 16)
def hashed_row(token: str) -> np.ndarray:
    """[64]: numbers from -127.5 to 127.5 that look random and are the same everywhere."""
    digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=WIDTH).digest()
    row: np.ndarray = np.frombuffer(digest, np.uint8) - 127.5
    return row
