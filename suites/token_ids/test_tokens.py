"""How a tokenizer turns text into ids, and what comes with them."""

import itertools
import unicodedata
from contextlib import contextmanager

import numpy as np
import pytest

from ...data import texts
from ...subjects.torch_stack import to_numpy
from .reading import content_ids, content_tokens, entries, mixed_batch, word


def lists(arrays):
    """Arrays of ids as lists, so that values alone are compared."""
    return [np.asarray(array).tolist() for array in arrays]


@pytest.mark.claim("TOK-01")
@pytest.mark.parametrize("kind", ["character", "wordpiece"])
def test_a_sentence_becomes_the_example_ids(tokenizer_maker, evidence, kind):
    """The documents' sentence as tokens, as ids in a vocabulary of 30 entries, and back as text."""
    sentence = texts()["vocabulary"]["sentence"]
    tokenizer = tokenizer_maker.with_vocabulary(kind, entries(texts()["vocabulary"]["ids"]))
    evidence.equal(content_tokens(tokenizer, sentence), list(sentence))
    ids = content_ids(tokenizer, sentence)
    evidence.equal(ids, texts()["order"]["ids"])
    evidence.equal(tokenizer.decode(ids).replace(" ", ""), sentence)


@pytest.mark.claim("TOK-02")
def test_rows_depend_on_ids_and_ids_on_text_alone(tokenizer, layer, evidence):
    """Two sentences tokenised and looked up, before and after other texts and lookups."""
    pair = [texts()["lookup"], texts()["pooling"]]
    ids = tokenizer.ids(pair)
    rows = [layer.lookup(one) for one in ids]
    tokenizer.encode(mixed_batch())
    layer.lookup(np.array([0, 5, 3]))
    evidence.equal(lists(tokenizer.ids(pair)), lists(ids))
    table = layer.table()
    for one, before in zip(ids, rows, strict=True):
        evidence.equal(layer.lookup(one), before)
        evidence.equal(before, table[one])


@contextmanager
def negated(table):
    """The table with every sign changed, and changed back, which restores every bit."""
    import torch

    with torch.no_grad():
        table.neg_()
        try:
            yield
        finally:
            table.neg_()


@pytest.mark.claim("TOK-02")
def test_another_table_gives_other_rows_for_the_same_ids(encoder, module, evidence):
    """The model's table with every sign changed: the ids stay, the looked-up rows change sign."""
    pair = [texts()["lookup"], texts()["pooling"]]
    ids, rows = encoder.token_ids(pair, fresh=True), encoder.input_embeddings(pair, fresh=True)
    with negated(module.embedding().weight):
        ids_after, rows_after = encoder.token_ids(pair, fresh=True), encoder.input_embeddings(pair, fresh=True)
    evidence.equal(lists(ids_after), lists(ids))
    for before, after in zip(rows, rows_after, strict=True):
        evidence.equal(after, -before)


@pytest.mark.claim("TOK-03")
def test_there_is_a_vector_for_every_token(tokenizer, layer, evidence):
    """Texts of a mixed batch: as many looked-up vectors as tokens."""
    batch = mixed_batch()
    for tokens, ids in zip(tokenizer.tokens(batch), tokenizer.ids(batch), strict=True):
        evidence.equal(len(layer.lookup(ids)), len(tokens))


@pytest.mark.claim("TOK-03")
def test_the_encoder_keeps_the_number_of_tokens(encoder, evidence):
    """Texts of a mixed batch, asked together: as many ids and vectors as tokens."""
    batch = mixed_batch()
    counts = [[len(entry) for entry in asked(batch)]
              for asked in (encoder.tokens, encoder.token_ids, encoder.input_embeddings)]
    evidence.equal(counts[1], counts[0])
    evidence.equal(counts[2], counts[0])


@pytest.mark.claim("TOK-04")
@pytest.mark.parametrize("rows", [30, 28, 27])
def test_the_largest_id_needs_a_row(layer, evidence, rows):
    """The example ids on tables of 30 and 28 rows, and on one of 27, which has no row 27."""
    ids = np.array(texts()["order"]["ids"])
    for made in layer.over(((rows, 8),)):
        if ids.max() < made.shape[0]:
            evidence.equal(made.lookup(ids), made.table()[ids])
        else:
            evidence.refuses(lambda made=made: made.lookup(ids))


@pytest.mark.claim("TOK-04")
def test_every_id_of_a_text_has_a_row(tokenizer, layer, evidence):
    """The ids of a mixed batch, padding included, lie in the table, and so does the last id of the vocabulary."""
    ids, _, _ = tokenizer.encode(mixed_batch())
    rows, _ = layer.shape
    evidence.equal(bool(ids.min() >= 0 and ids.max() < rows), True)
    evidence.equal(tokenizer.vocabulary_size <= rows, True)


@pytest.mark.claim("TOK-05")
def test_position_one_is_the_first_word(tokenizer, evidence):
    """After the token that opens the text come "the" and "bank"."""
    tokens, ids = tokenizer.tokens([texts()["lookup"]])[0], tokenizer.ids([texts()["lookup"]])[0]
    evidence.equal(int(ids[0]) == tokenizer.special_ids.get("first"), True)
    evidence.equal([word(token) for token in tokens[1:3]], ["the", "bank"])


def long_text():
    """Far more than 128 tokens, with other words at its end than at its beginning."""
    return "the cat and the fish " * 60 + "a dog in the river " * 60


def after_every_text(tokenizer):
    """The ids with which texts that share no ending end alike: whatever special tokens stand there."""
    endings = [ids[::-1] for ids in tokenizer.ids(["the", "of", "and", "in"])]
    alike = [row[0] for row in itertools.takewhile(lambda row: len(set(row)) == 1, zip(*endings, strict=False))]
    return [int(one) for one in alike[::-1]]


@pytest.mark.claim("TOK-06")
def test_texts_are_cut_at_the_limit(tokenizer, evidence):
    """A long text keeps its first tokens and the closing one, 128 in all; a short one beside it is as it was."""
    short = texts()["lookup"]
    whole = tokenizer.ids([long_text()])[0].tolist()
    closing = after_every_text(tokenizer)
    ids, mask, _ = tokenizer.encode([long_text(), short], max_length=128)
    evidence.equal(ids[0][mask[0] == 1].tolist(), whole[:128 - len(closing)] + closing)
    evidence.equal(ids[1][mask[1] == 1].tolist(), tokenizer.ids([short])[0].tolist())
    evidence.equal(tokenizer.encode([short], max_length=128)[0].shape[1], len(tokenizer.ids([short])[0]))


@pytest.mark.claim("TOK-06")
def test_the_limit_counts_every_token(tokenizer, evidence):
    """Texts of growing length on both sides of the limit, each with its own length or 128."""
    words = long_text().split()
    growing = [" ".join(words[:count]) for count in range(100, 135)]
    lengths = np.array([len(ids) for ids in tokenizer.ids(growing)])
    _, mask, _ = tokenizer.encode(growing, max_length=128)
    evidence.equal(mask.sum(axis=1).tolist(), np.minimum(lengths, 128).tolist())


@pytest.mark.claim("TOK-07")
def test_batches_are_padded_to_their_longest_text(tokenizer, evidence):
    """A mixed batch and then a narrower one: real ids where the mask is 1, the padding id where it is 0."""
    for batch in (mixed_batch(), [texts()["lookup"], "x"]):
        alone = [tokenizer.ids([text])[0].tolist() for text in batch]
        ids, mask, _ = tokenizer.encode(batch)
        evidence.equal(ids.shape[1], max(map(len, alone)))
        evidence.equal([row[kept == 1].tolist() for row, kept in zip(ids, mask, strict=True)], alone)
        evidence.equal(sorted(set(ids[mask == 0].tolist())), [tokenizer.special_ids.get("padding")])


@pytest.mark.claim("TOK-08")
def test_every_token_knows_its_characters(tokenizer, evidence):
    """Words after Chinese, an accent and an emoji: the characters of each Latin piece are its letters."""
    for text in (texts()["lookup"], "猫 🙂 the bank", "Crème brûlée, THE bank!"):
        tokens, offsets = tokenizer.tokens([text])[0], tokenizer.offsets([text])[0]
        evidence.equal(len(offsets), len(tokens))
        pieces = [word(token).removeprefix("##").removesuffix("</w>") for token in tokens]
        found = [plain(text[start:end]).strip() for start, end in offsets.tolist()]
        latin = [i for i, piece in enumerate(pieces) if piece.isascii() and piece.isalpha()]
        evidence.equal([found[i] for i in latin], [pieces[i] for i in latin])


def plain(text):
    """Lower case, without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")


@pytest.mark.claim("TOK-09")
@pytest.mark.parametrize("count", [1, 9])
def test_batches_are_two_dimensional_int64(tokenizer, evidence, count):
    """One text and nine: ids, mask and types have the shape [B, L] and the type int64."""
    for part in tokenizer.encode(mixed_batch()[:count]):
        evidence.equal([part.ndim, len(part), str(part.dtype)], [2, count, "int64"])


@pytest.mark.claim("TOK-10")
def test_ids_and_tokens_stand_for_each_other(tokenizer, evidence):
    """A mixed batch: one token an id, the same token wherever the id stands, and the other way round.

    Unigram tokenizers show what is unknown by its own letters, so that the id of the unknown has many tokens.
    """
    batch = mixed_batch()
    tokens, ids = tokenizer.tokens(batch), lists(tokenizer.ids(batch))
    evidence.equal([len(entry) for entry in tokens], [len(entry) for entry in ids])
    pairs = {pair for entry in zip(ids, tokens, strict=True) for pair in zip(*entry, strict=True)}
    unknown = tokenizer.special_ids.get("unknown")
    known = [number for number, _ in pairs if number != unknown]
    evidence.equal(len(set(known)), len(known))
    evidence.equal(len({token for _, token in pairs}), len(pairs))


@pytest.mark.claim("TOK-11")
@pytest.mark.parametrize("row, before", [(0, "the"), (1, "we sat on the river")])
def test_the_word_bank_is_found(tokenizer, evidence, row, before):
    """In each of the two sentences one token is the word, without the mark of a word's start, and follows these words."""
    sentence = texts()["bank"]["contexts"][row]
    places = [i for i, token in enumerate(tokenizer.tokens([sentence])[0]) if word(token) == "bank"]
    evidence.equal(len(places), 1)
    evidence.equal(tokenizer.decode(tokenizer.ids([sentence])[0][:places[0]]).strip().lower(), before)


@pytest.mark.claim("TOK-12")
def test_single_texts_have_type_zero(tokenizer, evidence):
    """The types of a mixed batch are zeros of the shape of the ids."""
    ids, _, types = tokenizer.encode(mixed_batch())
    evidence.equal(types.tolist(), np.zeros(ids.shape, int).tolist())


@pytest.mark.claim("TOK-12")
def test_a_model_takes_missing_types_for_zeros(tokenizer, module, evidence):
    """States without types and with zeros are equal bit for bit; with ones they differ."""
    import torch

    ids, mask, _ = (torch.from_numpy(part) for part in tokenizer.encode([texts()["lookup"]]))

    def states(**types):
        with torch.inference_mode():
            found = module.call("forward", module.module(), input_ids=ids, attention_mask=mask, **types)
        return to_numpy(found.last_hidden_state)

    missing = states()
    evidence.equal(missing, states(token_type_ids=torch.zeros_like(ids)))
    evidence.differs(missing, states(token_type_ids=torch.ones_like(ids)), 1e-2,
                     "a hundredth of the size of a layer-normalised state, about 1")


@pytest.mark.claim("TOK-13")
def test_recorded_tokens(tokenizer, evidence):
    """Tokens and ids of the documents' sentence and of words that are split, kept whole or unknown."""
    for text, recorded in texts()["recorded_tokens"].items():
        evidence.equal(tokenizer.tokens([text])[0], recorded["tokens"])
        evidence.equal(tokenizer.ids([text])[0].tolist(), recorded["ids"])
    evidence.equal(tokenizer.vocabulary_size, 30522)
