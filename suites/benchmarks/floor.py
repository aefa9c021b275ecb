"""Processes that a whole run is compared with, started as ``python -m suites.benchmarks.floor NAME ARGUMENT``.

`floor ITEMS` is the least that judging the reference stack can cost: PyTorch and the classes of Transformers that the suites
use are imported, the bundled model is loaded, every text of the suites is encoded once, and pytest runs as many empty items.
`reader NUMBER` is the work of one of the seven experiments as a reader runs it by itself, with the bundled model.
`vectors FOLDER` writes vectors of length one to files in a folder, as many as their names say. `sum FILE` prints the least
of the seconds that it takes to read one of them, mapped into memory, and to add all its numbers up; `pass FILE` prints the
seconds of the pass that judges it.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np

#: rows of stored vectors, and numbers in a row
VECTORS, WIDTH = (10_000, 100_000, 1_000_000), 384


def every_text():
    """All strings of the suites' texts that a model could encode, each once: those of the experiments, of the probe and for
    agreement.
    """
    from embedding_conformance.data import texts
    from embedding_conformance.texts import all_texts

    def strings(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for one in value.values():
                yield from strings(one)
        elif isinstance(value, list):
            for one in value:
                yield from strings(one)

    return list(dict.fromkeys([*strings(texts()), *(one.text for one in all_texts())]))


def floor(items):
    import pytest
    import torch
    from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel  # noqa: F401

    from embedding_conformance.subjects.bundled import bundled

    torch.set_num_threads(1)
    bundled().embed(every_text())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_empty.py"
        file.write_text(f"import pytest\n@pytest.mark.parametrize('i', range({items}))\ndef test_empty(i):\n    pass\n")
        with contextlib.redirect_stdout(io.StringIO()):
            assert pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder, str(file)]) == 0


def vectors(folder):
    from embedding_conformance.data import generator

    for count in VECTORS:
        rows = np.lib.format.open_memmap(Path(folder) / f"{count}.npy", "w+", np.float32, (count, WIDTH))
        for start in range(0, count, VECTORS[0]):
            drawn = generator(0, f"benchmark rows {start}").standard_normal((VECTORS[0], WIDTH), dtype=np.float32)
            rows[start:start + VECTORS[0]] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        rows.flush()


def added_up(file):
    from .measure import seconds

    rows = np.load(file, mmap_mode="r")
    print(seconds(lambda: [float(rows[start:start + 2_500].sum()) for start in range(0, len(rows), 2_500)])[0])


def judged(file):
    from embedding_conformance.handles import Store
    from embedding_conformance.subjects import open_subject

    from .measure import seconds

    print(seconds(lambda: Store(open_subject(f"vectors:{file}")).summary())[0])


def reader(number):
    from embedding_conformance.data import texts

    {0: lookup, 1: audit_step, 2: pooling, 3: cosine, 4: semantic_map, 5: retrieval, 6: analogy}[number](texts())


def loaded():
    import torch
    from transformers import AutoModel, AutoTokenizer

    from embedding_conformance.subjects.bundled import folder

    torch.set_num_threads(1)
    return AutoTokenizer.from_pretrained(folder()), AutoModel.from_pretrained(folder()).eval()


def sentence_vectors(sentences):
    import torch

    tokenizer, model = loaded()
    batch = tokenizer(sentences, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1)
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()


def lookup(texts):
    import torch

    tokenizer, model = loaded()
    with torch.inference_mode():
        assert model.get_input_embeddings()(tokenizer(texts["lookup"], return_tensors="pt")["input_ids"]).ndim == 3


def audit_step(texts):
    import torch

    torch.manual_seed(texts["seeded"]["seed"])
    layer = torch.nn.Embedding(texts["seeded"]["rows"], texts["seeded"]["width"], padding_idx=texts["seeded"]["padding"])
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.tensor(texts["seeded"]["ids"])).square().mean().backward()
    optimizer.step()


def pooling(texts):
    assert sentence_vectors([texts["pooling"]]).shape[0] == 1


def cosine(texts):
    import torch

    vectors = torch.randn(6, 8)
    assert torch.nn.functional.cosine_similarity(vectors[:, None], vectors[None], dim=-1).shape == (6, 6)


def semantic_map(texts):
    vectors = sentence_vectors(texts["map"])
    centred = vectors - vectors.mean(axis=0)
    assert np.linalg.svd(centred, full_matrices=False)[2][:2].shape[0] == 2


def retrieval(texts):
    entry = texts["retrieval"]
    vectors = sentence_vectors([entry["query"], *(document["text"] for document in entry["documents"])])
    assert (vectors[1:] @ vectors[0]).argsort().size == 6


def analogy(texts):
    vectors = sentence_vectors(["king", "man", "woman", "queen"])
    assert np.isfinite(vectors[0] - vectors[1] + vectors[2]).all()


if __name__ == "__main__":
    {"floor": lambda number: floor(int(number)), "reader": lambda number: reader(int(number)), "vectors": vectors,
     "sum": added_up, "pass": judged}[sys.argv[1]](sys.argv[2])
