"""Characters, words and pieces of words."""

import re

import numpy as np
import pytest

from ...bounds import Bound
from ...data import generator, numbered_table, texts, training_text
from .reading import content_ids, content_tokens, english, word

KINDS = ("character", "word", "wordpiece", "bpe")
ENOUGH = 10_000


def made_up_words(seed, count):
    """Words of random letters, too long to be a word by chance, every other one capitalised."""
    random = generator(seed, "made-up words")
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = ["".join(random.permutation(letters)[:size]) for size in random.integers(6, 11, count)]
    return [one.title() if i % 2 else one for i, one in enumerate(["zxqv", "Wfyjk", *words])]


@pytest.mark.claim("GRAN-01")
@pytest.mark.parametrize("kind", KINDS)
def test_every_granularity_gives_ids_of_a_table(tokenizer_maker, evidence, kind):
    """The training text by each kind of tokenizer: ids from 0 to V-1, which find a row each in a table of V rows."""
    tokenizer = tokenizer_maker.train_tokenizer(kind, training_text(), 600)
    table = numbered_table(tokenizer.vocabulary_size, 4)
    for ids in tokenizer.ids(training_text()):
        evidence.equal([str(ids.dtype), bool(ids.min() >= 0 and ids.max() < len(table))], ["int64", True])
        evidence.equal(list(table[ids].shape), [len(ids), 4])


@pytest.mark.claim("GRAN-02")
def test_hello_is_five_characters_of_four_kinds(tokenizer_maker, evidence):
    """A character tokenizer that has seen nothing else."""
    tokenizer = tokenizer_maker.train_tokenizer("character", ["hello"], ENOUGH)
    evidence.equal(content_tokens(tokenizer, "hello"), ["h", "e", "l", "l", "o"])
    evidence.equal(tokenizer.vocabulary_size - len(tokenizer.special_ids), 4)


def mean_length(tokenizer, lines):
    return float(np.mean([len(content_ids(tokenizer, line)) for line in lines]))


@pytest.mark.claim("GRAN-03")
def test_characters_need_few_entries_and_long_sequences(tokenizer_maker, evidence):
    """Forty English sentences: fewer characters than words in the vocabulary, and more of them in a sentence than pieces,
    and more pieces than words."""
    lines = english()
    characters, pieces, words = (tokenizer_maker.train_tokenizer(kind, lines, size)
                                 for kind, size in (("character", ENOUGH), ("wordpiece", 300), ("word", ENOUGH)))
    evidence.greater(words.vocabulary_size, 2 * characters.vocabulary_size, 1, "entries are counted")
    by_character, by_piece, by_word = (mean_length(one, lines) for one in (characters, pieces, words))
    evidence.greater(by_character, 4 * by_word, 0, "an English word has more than three letters and a space before it")
    evidence.greater(by_character, by_piece, 1, "one token more in every sentence")
    evidence.greater(by_piece, by_word, 1, "one token more in every sentence")


def words_for_each_token(tokenizer, words):
    """In how many different words a token occurs, on average over the tokens that occur."""
    found = {}
    for one in words:
        for number in content_ids(tokenizer, one):
            found.setdefault(number, set()).add(one)
    return float(np.mean([len(places) for places in found.values()]))


@pytest.mark.claim("GRAN-04")
def test_a_character_occurs_in_many_words(tokenizer_maker, evidence):
    """The words of the training text: a character stands in at least three times as many of them as a piece of a word."""
    lines = english()
    words = sorted({found for line in lines for found in re.findall("[a-z]+", line.lower())})
    spread, narrow = (words_for_each_token(tokenizer_maker.train_tokenizer(kind, lines, 300), words)
                      for kind in ("character", "wordpiece"))
    evidence.greater(spread, 3 * narrow, 0, "three times as many; eighteen times were measured")


@pytest.mark.claim("GRAN-05")
def test_words_are_split_at_spaces(tokenizer_maker, evidence):
    """Two words, known and separated by a space."""
    tokenizer = tokenizer_maker.train_tokenizer("word", ["hello world"], ENOUGH)
    evidence.equal(content_tokens(tokenizer, "hello world"), ["hello", "world"])


@pytest.mark.claim("GRAN-06")
def test_unseen_words_share_one_id(tokenizer_maker, evidence, seed):
    """Made-up words all get the id of the unknown, none enters the vocabulary, and the text cannot be had back."""
    tokenizer = tokenizer_maker.train_tokenizer("word", english(), ENOUGH)
    size = tokenizer.vocabulary_size
    for unseen in ["foo", "bar", *made_up_words(seed, 6)]:
        ids = content_ids(tokenizer, unseen)
        evidence.equal(ids, [tokenizer.special_ids.get("unknown")])
        evidence.equal(tokenizer.decode(ids) == unseen, False)
    evidence.equal(tokenizer.vocabulary_size, size)


@pytest.mark.claim("GRAN-07")
def test_the_word_vocabulary_keeps_growing(tokenizer_maker, evidence):
    """From half of the text to all of it: a quarter more words at least, a tenth more characters at most."""
    def growth(kind):
        half, whole = (tokenizer_maker.train_tokenizer(kind, lines, ENOUGH)
                       for lines in (english()[:len(english()) // 2], english()))
        entries = [one.vocabulary_size - len(one.special_ids) for one in (half, whole)]
        return entries[1] / entries[0] - 1

    evidence.greater(growth("word"), 0.25, 0, "a quarter; a text of 10,000 characters was measured to gain 41 %")
    evidence.at_most(growth("character"), Bound(0.1, "a tenth; the alphabet is nearly complete after half of the text"))


@pytest.mark.claim("GRAN-08")
def test_pieces_are_the_longest_that_fit(tokenizer_maker, evidence):
    """One word with three pieces, with longer or shorter ones beside them, and with the whole word as an entry."""
    pieces = ["[PAD]", "[UNK]", "un", "##believ", "##able"]
    cases = [(pieces, ["un", "##believ", "##able"]),
             ([*pieces, "u", "##n", "##be", "##liev", "##a"], ["un", "##believ", "##able"]),
             ([*pieces, "unbe", "##liev"], ["unbe", "##liev", "##able"]),
             ([*pieces, "unbelievable"], ["unbelievable"])]
    for vocabulary, expected in cases:
        evidence.equal(content_tokens(tokenizer_maker.with_vocabulary("wordpiece", vocabulary), "unbelievable"), expected)


@pytest.mark.claim("GRAN-09")
def test_pieces_cover_unseen_words(tokenizer_maker, evidence, seed):
    """WordPiece with 300 entries: made-up words are spelt by known pieces, and the vocabulary stays as it is."""
    tokenizer = tokenizer_maker.train_tokenizer("wordpiece", english(), 300)
    evidence.equal(tokenizer.vocabulary_size <= 300, True)
    for unseen in made_up_words(seed, 20):
        evidence.equal("".join(one.removeprefix("##") for one in content_tokens(tokenizer, unseen)), unseen.lower())
    evidence.equal(tokenizer.vocabulary_size <= 300, True)


@pytest.mark.claim("GRAN-09")
def test_bytes_cover_every_text(tokenizer_maker, evidence):
    """BPE over bytes, trained on English: any text comes back exactly."""
    tokenizer = tokenizer_maker.train_tokenizer("bpe", english(), 400)
    evidence.equal(tokenizer.vocabulary_size <= 400, True)
    for text in ("猫吃鱼", "Crème  brûlée", "e\u0301 a\n\tb", "🙂👩‍🚀", "\x00\x7f\ufffd", "السلام"):
        evidence.equal(tokenizer.decode(tokenizer.ids([text])[0]), text)


@pytest.mark.claim("GRAN-09")
def test_made_up_words_are_not_unknown(tokenizer, evidence, seed):
    """Made-up words with and without a capital: none becomes the unknown token."""
    unknown = tokenizer.special_ids.get("unknown")
    for unseen in made_up_words(seed, 20):
        ids = content_ids(tokenizer, unseen)
        evidence.equal([unknown in ids, len(ids) > 0], [False, True])


@pytest.mark.claim("GRAN-10")
def test_wordpiece_marks_what_continues(tokenizer_maker, evidence, seed):
    """Words of the training text and made-up ones: every piece but the first of a word bears ##."""
    tokenizer = tokenizer_maker.train_tokenizer("wordpiece", english(), 300)
    for one in ["unbelievably", "bank", *made_up_words(seed, 6)]:
        tokens = content_tokens(tokenizer, one)
        evidence.equal([token.startswith("##") for token in tokens], [False] + [True] * (len(tokens) - 1))


@pytest.mark.claim("GRAN-10")
def test_byte_pairs_mark_where_words_start(tokenizer_maker, evidence, seed):
    """A sentence by BPE over bytes: a Ġ for every space, at the start of a token, and no ##."""
    tokenizer = tokenizer_maker.train_tokenizer("bpe", english(), 400)
    for text in (texts()["lookup"], " ".join(made_up_words(seed, 6))):
        tokens = content_tokens(tokenizer, text)
        evidence.equal("".join(tokens), text.replace(" ", "Ġ"))
        evidence.equal([token.rfind("Ġ") > 0 for token in tokens], [False] * len(tokens))


@pytest.mark.claim("GRAN-11")
def test_a_rare_word_is_several_tokens(tokenizer, evidence):
    """A rare word is several tokens that spell it; a frequent one is a single token."""
    tokens = content_tokens(tokenizer, "unbelievably")
    evidence.greater(len(tokens), 1, 1, "tokens are counted")
    evidence.equal("".join(word(token).removeprefix("##") for token in tokens), "unbelievably")
    evidence.equal([word(token) for token in content_tokens(tokenizer, "bank")], ["bank"])


@pytest.mark.claim("GRAN-11")
def test_a_rare_word_has_several_vectors(tokenizer, layer, evidence):
    """As many looked-up rows as the word has tokens, no two of them equal."""
    rows = layer.lookup(np.array(content_ids(tokenizer, "unbelievably")))
    evidence.greater(len(np.unique(rows, axis=0)), 1, 1, "vectors are counted")
    evidence.equal(len(rows), len(content_tokens(tokenizer, "unbelievably")))


@pytest.mark.claim("GRAN-12")
def test_a_small_model_learns_characters(tokenizer_maker, evidence):
    """A table that predicts the next character, trained on nine tenths of the text, judged on the last one."""
    tokenizer = tokenizer_maker.train_tokenizer("character", english(), ENOUGH)
    ids = np.array(content_ids(tokenizer, "\n".join(english())))
    evidence.equal(bool(ids.max() < tokenizer.vocabulary_size), True)
    start = len(ids) * 9 // 10
    blind, loss = next_token_losses(ids[:start], ids[start:], tokenizer.vocabulary_size)
    evidence.at_most(loss, Bound(0.8 * np.log(tokenizer.vocabulary_size), "four fifths of the loss of guessing, log V"))
    evidence.greater(blind, loss, 0.3, "half of what the character before was measured to gain, 0.6")


def next_token_losses(seen, unseen, size):
    """Mean cross-entropy on unseen ids of the frequencies alone and of a [size, size] table of logits after 100 steps of
    gradient descent from zero, the simplest of Karpathy's exercises (a bigram model)."""
    counts = np.zeros((size, size))
    np.add.at(counts, (seen[:-1], seen[1:]), 1)
    frequencies = (counts.sum(axis=0) + 1) / (counts.sum() + size)
    logits = np.zeros((size, size))
    for _ in range(100):
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        logits -= 50.0 * (chances * counts.sum(axis=1, keepdims=True) - counts) / counts.sum()
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return -np.log(frequencies[unseen[1:]]).mean(), -np.log(chances[unseen[:-1], unseen[1:]]).mean()


@pytest.mark.claim("GRAN-13")
@pytest.mark.parametrize("kind", ["character", "wordpiece"])
def test_the_sentence_is_three_tokens(tokenizer_maker, evidence, kind):
    """The documents' sentence by tokenizers that know its characters and keep characters apart."""
    tokenizer = tokenizer_maker.train_tokenizer(kind, training_text(), 600)
    evidence.equal(content_tokens(tokenizer, texts()["vocabulary"]["sentence"]), ["猫", "吃", "鱼"])


@pytest.mark.claim("GRAN-13")
def test_byte_pairs_may_split_or_join_the_sentence(tokenizer_maker, evidence):
    """BPE that never saw Chinese needs its nine bytes; BPE that saw the sentence often makes it one token."""
    sentence = texts()["vocabulary"]["sentence"]
    for lines, count in ((english(), len(sentence.encode())), ([sentence] * 50, 1)):
        tokenizer = tokenizer_maker.train_tokenizer("bpe", lines, 300)
        evidence.equal(len(content_ids(tokenizer, sentence)), count)


@pytest.mark.claim("GRAN-14")
def test_rare_words_are_split_and_frequent_ones_kept(tokenizer, evidence):
    """Four rare words and five frequent ones."""
    for rare in ("unbelievably", "embeddings", "nanotokenizer", "xylophagous"):
        evidence.greater(len(content_ids(tokenizer, rare)), 1, 1, "tokens are counted")
    for frequent in ("the", "and", "in", "bank", "river"):
        evidence.equal(len(content_ids(tokenizer, frequent)), 1)
