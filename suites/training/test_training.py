"""What training does to the vectors of words: topics, and control runs by the same trainer.

Twelve words of three topics, four each, their ids in turn; each word is seen with three labels of its topic (twice each)
and three that all topics share. Row 0 is padding and row 13 a word that never occurs. Tables are trained from ten seeds.
"""

from typing import NamedTuple

import numpy as np
import pytest

from ...bounds import Bound

SEEDS = list(range(10))
STEPS = 100
WORDS = np.arange(1, 13)
TOPICS = WORDS % 3
#: each topic's words get labels of all three topics in turn, so that no topic is left
PERMUTED = (WORDS // 4) % 3
#: all words are used alike
EQUAL = np.zeros(12, np.int64)


def pairs(topics):
    """[108, 2]: (id of a word, label) for words that belong to these topics."""
    labels = {topic: [*range(3 * topic, 3 * topic + 3)] * 2 + [9, 10, 11] for topic in range(3)}
    return np.array([(word, label) for word, topic in zip(WORDS, topics, strict=True) for label in labels[topic]])


def trained(trainer, topics, *, width=16, train_table=True, fresh=False):
    """before, after [10, 14, width] and losses [10, 100]."""
    return trainer.train(pairs(topics), 14, width, SEEDS, train_table=train_table, steps=STEPS, fresh=fresh)


class Cosines(NamedTuple):
    """[S] each: the mean cosine of words within a topic, and between topics."""

    within: np.ndarray
    between: np.ndarray

    @property
    def margin(self):
        return self.within - self.between


def cosines(tables):
    """Of tables [S, V, d], for the topics as they are."""
    rows = tables[:, WORDS].astype(np.float64)
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    cosine = rows @ rows.transpose(0, 2, 1)
    alike = TOPICS[:, None] == TOPICS
    return Cosines(cosine[:, alike & ~np.eye(12, dtype=bool)].mean(axis=1), cosine[:, ~alike].mean(axis=1))


@pytest.mark.claim("TRAIN-03")
def test_training_changes_the_rows_that_were_seen(trainer, evidence):
    """From all seeds, the rows that have changed are the twelve words; the unseen word and padding keep their bits."""
    before, after, _ = trained(trainer, TOPICS)
    for old, new in zip(before, after, strict=True):
        evidence.equal(np.flatnonzero((old != new).any(axis=1)).tolist(), WORDS.tolist())


@pytest.mark.claim("TRAIN-04")
@pytest.mark.parametrize("control", ["permuted", "equal", "frozen"])
def test_words_of_a_topic_approach_each_other(trainer, evidence, control):
    """Within a topic less between topics, from every seed, against a control run from the same seed."""
    before, after, _ = trained(trainer, TOPICS)
    other = {"permuted": lambda: trained(trainer, PERMUTED), "equal": lambda: trained(trainer, EQUAL),
             "frozen": lambda: trained(trainer, TOPICS, train_table=False)}[control]()[1]
    for margin, controlled in zip(cosines(after).margin, cosines(other).margin, strict=True):
        evidence.greater(margin, controlled, 0.5, "half of what training was measured to make, 0.98 to 1.01")
    random = Bound(0.25, "three times what random tables were measured to have")
    evidence.at_most(np.abs(cosines(before).margin).max(), random)


@pytest.mark.claim("TRAIN-05")
def test_words_of_different_topics_stay_apart(trainer, evidence):
    """Between topics: less alike than within, and less than where all words are used alike."""
    found, equal = cosines(trained(trainer, TOPICS)[1]), cosines(trained(trainer, EQUAL)[1])
    for within, between, controlled in zip(*found, equal.between, strict=True):
        evidence.greater(within, between, 0.5, "half of what training was measured to make, 0.98 to 1.01")
        evidence.greater(controlled, between, 0.5, "half of what equal use was measured to add, 0.95")


@pytest.mark.claim("TRAIN-06")
def test_without_a_gradient_to_the_table_nothing_arises(trainer, evidence):
    """The head alone is trained: the loss falls, and the table keeps its bits, so its margin does not change."""
    before, after, losses = trained(trainer, TOPICS, train_table=False)
    evidence.equal(after, before)
    evidence.greater(losses[:, 0].min(), losses[:, -1].max(), 0.2, "half of what the head alone was measured to gain")
    free = trained(trainer, TOPICS)
    evidence.equal(free[0], before)
    for gained in cosines(free[1]).margin - cosines(free[0]).margin:
        evidence.greater(gained, 0.0, 0.5, "half of what training was measured to make, 0.98 to 1.01")


@pytest.mark.claim("TRAIN-07")
def test_other_data_make_another_table(trainer, evidence):
    """Two data sets from the same tables: every word's row differs, rows that neither saw do not."""
    before, one, _ = trained(trainer, TOPICS)
    other_before, other, _ = trained(trainer, PERMUTED)
    evidence.equal(other_before, before)
    apart = np.abs(one[:, WORDS].astype(np.float64) - other[:, WORDS]).max(axis=2)
    evidence.greater(apart.min(), 0.0, float(before.std()) / 2, "half of the spread with which the tables began")
    evidence.equal(one[:, [0, 13]], other[:, [0, 13]])


@pytest.mark.claim("TRAIN-07")
def test_the_same_data_and_seed_make_the_same_table(trainer, evidence):
    """Trained anew, bit for bit; another seed makes another table."""
    before, after, losses = trained(trainer, TOPICS)
    again = trained(trainer, TOPICS, fresh=True)
    evidence.equal(again[0], before)
    evidence.equal(again[1], after)
    evidence.equal(again[2], losses)
    for i in range(1, len(SEEDS)):
        evidence.differs(after[i], after[i - 1], float(before.std()) / 2, "half of the spread of new tables")


@pytest.mark.claim("TRAIN-08")
def test_a_trained_table_has_a_lower_loss(trainer, evidence):
    """Two columns for twelve words, from every seed: the loss at the end against that with the same table frozen."""
    _, _, free = trained(trainer, TOPICS, width=2)
    _, _, frozen = trained(trainer, TOPICS, width=2, train_table=False)
    for loss, controlled in zip(free[:, -1], frozen[:, -1], strict=True):
        evidence.greater(controlled, loss, 0.2, "half of what was measured, 0.43 nats at the least")
