"""States and masks for poolers: the documents' own, designed ones, and ones made from the seed."""

import numpy as np

from ...data import generator, states

#: what stands in padding: as large as no state is, of both signs, so that a trace of it shows
FILLER = np.array([900.0, -700.0, 800.0])


def ragged(seed, purpose, lengths, width):
    """A list of states [L, width], float32, of both signs, with columns of different size and means away from zero."""
    drawn = generator(seed, purpose)
    scale = np.linspace(0.5, 2, width)
    return [((drawn.standard_normal((length, width)) - 1) * scale).astype(np.float32) for length in lengths]


def batch(texts, before=0, after=0, side="end"):
    """Lists of states as one array [N, L, d] and its mask [N, L], with padding at the side and more before and after."""
    longest, width = max(map(len, texts)), texts[0].shape[1]
    array = np.empty((len(texts), before + longest + after, width), texts[0].dtype)
    array[:] = np.resize(FILLER, width)
    mask = np.zeros(array.shape[:2], np.int64)
    for i, text in enumerate(texts):
        start = before + (longest - len(text) if side == "start" else 0)
        array[i, start:start + len(text)] = text
        mask[i, start:start + len(text)] = 1
    return array, mask


def designed(seed):
    """Batches by name: the documents' sentences, padding on either side, one token, sizes that are alike."""
    lengths = (3, 1, 11, 5, 2, 11, 7)
    return {
        "documents": states()["retrieval"],
        "words": states()["words"],
        "one text": states()["pooling"],
        "padding at the end": batch(ragged(seed, "end", lengths, 33), after=3),
        "padding at the start": batch(ragged(seed, "start", lengths, 33), side="start"),
        "padding around": batch(ragged(seed, "around", lengths, 5), before=2, after=4),
        "one token": batch(ragged(seed, "token", (1,), 7)),
        "length as width": batch(ragged(seed, "square", (5, 2, 4, 1, 3), 5)),
    }


def unpadded(array, mask):
    """The texts of a batch, each as a list entry [L, d] without padding."""
    return [rows[real.astype(bool)] for rows, real in zip(array, mask, strict=True)]
