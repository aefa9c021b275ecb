"""Texts for services, and how their answers are compared."""

import numpy as np

from ... import bounds
from ...data import generator
from ..encoder_input.oracle import gaps

#: texts that mean different things; neither the number of characters nor that of words rises or falls along the list
TEXTS = (
    "Where is the cat sleeping today?",
    "Paris",
    "The bond market fell sharply after the central bank raised its rates for the third time this year.",
    "recipe for lentil soup",
    "a",
    "Quantum computers factor integers, if they have enough qubits that are free of errors.",
    "黄河入海流",
    "def add(a, b):\n    return a + b",
)
NOUNS = ("harbour", "violin", "glacier", "invoice", "pepper", "satellite", "cathedral", "mushroom", "engine", "poem", "desert",
         "bicycle", "telescope", "orchard", "lawyer", "thunder")
#: texts that have been answered with numbers that are none
ODD = ("😀👩‍👩‍👧", "e\u0301\u0302\u0303", "\u200b", "مرحبا بالعالم", "import os, sys", "1234567890 " * 20, "\t\n", "A" * 300,
       "a\u0007b", "word " * 150)


def some(seed: int, count: int) -> list[str]:
    """Texts that differ in meaning, half of them made from the run's seed, in an order of no length."""
    draw = generator(seed, "texts for services")
    made = [f"{noun} {draw.integers(10, 99)}" for noun in draw.permutation(NOUNS)]
    return [text for pair in zip(TEXTS, made, strict=False) for text in pair][:count]


def agree(evidence, service, found, expected):
    """Every row has the direction and the length that it should have, as far as the declared precision goes."""
    evidence.equal(sizes(found), sizes(expected))
    direction, length = bounds.network(service.precision_of(found))
    turned, stretched = gaps(found, expected)
    evidence.at_most(turned.max(), direction, f"row {turned.argmax()}")
    evidence.at_most(stretched.max(), length, f"row {stretched.argmax()}")


def sizes(rows: np.ndarray) -> str:
    """The shape of vectors [N, d], in words."""
    return f"{len(rows)} vectors of {rows.shape[1]} numbers"


def nearest(found: np.ndarray, known: np.ndarray) -> list[int]:
    """For each row of `found` the row of `known` that has the largest cosine with it."""
    def unit(rows):
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        return rows / np.where(lengths == 0, 1, lengths)
    return [int(place) for place in np.argmax(unit(found) @ unit(known).T, axis=1)]


def outcome(answer) -> str:
    """ "refused" for a status 4xx and no page, or else what the service did."""
    if answer.is_html:
        return f"status {answer.title}, a page of HTML"
    return "refused" if answer.refuses else f"status {answer.title}{answer.said() if answer.status != 200 else ''}"
