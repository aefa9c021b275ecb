"""Faulty and sound tokenizers and makers of tokenizers, and layers that read something into the number of an id."""

import copy
import re

import numpy as np

from ...proof import altered, fault, sound

# --- layers ------------------------------------------------------------------------------------------------------------


def reading_numbers(layer, change):
    """The layer with a function of ids and rows in the place of the rows; what is refused stays refused."""
    def lookup(ids):
        rows = layer.lookup(ids)
        return change(np.asarray(ids), rows).astype(rows.dtype)
    return altered(layer, lookup=lookup)


@fault("layer", ["IDSEM-01", "IDSEM-04"])
def number_added(layer):
    """A hundredth of the id is added to every number of its vector."""
    return reading_numbers(layer, lambda ids, rows: rows + 0.01 * ids[..., None])


@fault("layer", ["IDSEM-01", "IDSEM-03", "IDSEM-04"])
def number_through_a_line(layer):
    """The id as a number goes through an affine map, and no table is read."""
    return reading_numbers(layer, lambda ids, rows: ids[..., None] * np.arange(1, rows.shape[-1] + 1) + 0.5)


@fault("layer", ["IDSEM-01", "IDSEM-03"])
def number_through_sines(layer):
    """The id as a number goes through sines of several frequencies, and no table is read."""
    return reading_numbers(layer, lambda ids, rows: np.sin(ids[..., None] / np.arange(1, rows.shape[-1] + 1)))


@fault("layer", ["IDSEM-01"], size="subtle")
def number_scales(layer):
    """Vectors grow with their id, by one part in a hundred thousand an id."""
    return reading_numbers(layer, lambda ids, rows: rows * (1 + 1e-5 * ids[..., None]))


@fault("layer", ["IDSEM-01"])
def number_hashed(layer):
    """Rows are chosen by a hash of the number."""
    return reading_numbers(layer, lambda ids, rows: layer.table()[(ids * 2654435761 >> 3) % len(layer.table())])


@fault("layer", ["IDSEM-01", "IDSEM-04"])
def rows_kept_sorted(layer):
    """The rows of a given table are sorted before they are kept, so that they do not move with their ids."""
    table = layer.table()[np.lexsort(layer.table().T)]

    def lookup(ids):
        layer.lookup(ids)  # what is refused stays refused
        return table[ids]
    return altered(layer, table=table.copy, lookup=lookup)


@fault("layer", ["IDSEM-08"])
def numbers_returned(layer):
    """The ids come back as floating-point numbers, without a vector."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids) is not None and np.asarray(ids, np.float32))


@fault("layer", ["IDSEM-08"])
def whole_numbers_returned(layer):
    """Vectors come as whole numbers, as a quantised table stores them."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).astype(np.int32))


@fault("layer", ["TOK-04"], source="jax-ml/jax#3774, jax-ml/jax#14193, jax-ml/jax#9839")
def clamped(layer):
    """Ids beyond the last row get the last row."""
    def lookup(ids):
        ids = np.asarray(ids)
        return layer.lookup(np.minimum(ids, len(layer.table()) - 1) if ids.dtype.kind in "iu" else ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["TOK-04"], raises=True)
def last_row_out_of_reach(layer):
    """The bound is checked with one too few: the last row is refused."""
    def lookup(ids):
        if np.asarray(ids).dtype.kind in "iu" and np.size(ids) and np.max(ids) >= len(layer.table()) - 1:
            raise IndexError("index out of range in self")
        return layer.lookup(ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["TOK-02"], base="bundled")
def rows_move_with_use(layer):
    """The layer keeps a state: every lookup shifts the table by one row for the next."""
    calls = []

    def lookup(ids):
        calls.append(1)
        return layer.lookup((np.asarray(ids) + len(calls) - 1) % len(layer.table()))
    return altered(layer, lookup=lookup)


@fault("layer", ["TOK-03", "GRAN-11"], base="bundled")
def vector_for_the_whole(layer):
    """All tokens together get one vector, the mean of theirs."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).mean(axis=0, keepdims=True))


# --- modules and encoders ----------------------------------------------------------------------------------------------


@fault("module", ["IDSEM-06"])
def whole_number_table(module):
    """The table holds whole numbers, with which integers multiply; vectors are cast on their way out."""
    embedding = copy.deepcopy(module.module())
    table = embedding.weight.detach().long()
    del embedding.weight
    embedding.weight = table
    embedding.forward = lambda ids: type(embedding).forward(embedding, ids).float()
    return altered(module, module=lambda: embedding)


@fault("module", ["IDSEM-06"])
def number_times_a_row(module):
    """The id as a number multiplies one row, which stands for the whole table."""
    embedding = copy.deepcopy(module.module())
    embedding.forward = lambda ids: ids[..., None].float() * embedding.weight[1]
    return altered(module, module=lambda: embedding)


@fault("module", ["TOK-12"], base="bundled")
def ones_for_missing_types(module):
    """A model that is given no types takes ones."""
    import torch

    model = copy.deepcopy(module.module())
    inner = type(model).forward

    def forward(self, input_ids, token_type_ids=None, **kwargs):
        types = torch.ones_like(input_ids) if token_type_ids is None else token_type_ids
        return inner(self, input_ids=input_ids, token_type_ids=types, **kwargs)
    model.__class__ = type("Model", (type(model),), {"forward": forward})
    return altered(module, module=lambda: model)


@fault("encoder", ["TOK-02"])
def ids_ranked_by_table(encoder):
    """Tokeniser and table share a state: the id of a token is the rank of its row by the first number of the row."""
    def token_ids(texts):
        table = encoder.module().get_input_embeddings().weight.detach().numpy()
        ranks = np.argsort(np.argsort(table[:, 0], kind="stable"), kind="stable")
        return [ranks[ids] for ids in encoder.token_ids(texts)]
    return altered(encoder, token_ids=token_ids)


@fault("encoder", ["TOK-03"])
def vector_for_each_word(encoder):
    """The vectors of the pieces of a word are averaged to one."""
    def input_embeddings(texts):
        found = []
        for tokens, rows in zip(encoder.tokens(texts), encoder.input_embeddings(texts), strict=True):
            starts = [i for i, token in enumerate(tokens) if not token.startswith("##")]
            found.append(np.stack([part.mean(axis=0) for part in np.split(rows, starts[1:])]))
        return found
    return altered(encoder, input_embeddings=input_embeddings)


# --- tokenizers --------------------------------------------------------------------------------------------------------


def each(tokenizer, change):
    """The tokenizer with a function of the ids of one text [L] in their place, padded soundly."""
    def rows(texts, limit):
        found = (np.asarray(change(ids), dtype=np.int64) for ids in tokenizer.encode(texts, None, False)[0])
        return [cut(tokenizer, ids, limit) for ids in found]
    return encoding(tokenizer, rows)


def cut(tokenizer, ids, limit):
    """The ids of one text cut at the limit, as a sound tokenizer does: the closing token is kept."""
    if limit is None or len(ids) <= limit:
        return ids
    last = tokenizer.special_ids.get("last")
    return ids[:limit] if last is None else np.append(ids[:limit - 1], last)


def encoding(tokenizer, rows, *, side="end", width=0):
    """The tokenizer with `rows(texts, max_length)`, a list of ids [L] a text, in the place of its own, padded soundly."""
    def encode(texts, max_length=None, pad=True):
        found = rows(texts, max_length)
        masks = [np.ones_like(row) for row in found]
        if pad:
            longest = max([width, *map(len, found)])
            found = [filled(row, longest, tokenizer.special_ids["padding"], side) for row in found]
            masks = [filled(row, longest, 0, side) for row in masks]
        types = [np.zeros_like(row) for row in found]
        return tuple(np.stack(part) if pad else part for part in (found, masks, types))
    return altered(tokenizer, encode=encode)


def filled(row, longest, value, side):
    room = longest - len(row)
    return np.pad(row, (0, room) if side == "end" else (room, 0), constant_values=value)


def batches(tokenizer, change):
    """The tokenizer with `change(ids, mask, types)` applied to every padded batch."""
    def encode(texts, max_length=None, pad=True):
        found = tokenizer.encode(texts, max_length, pad)
        return change(*found) if pad else found
    return altered(tokenizer, encode=encode)


@fault("tokenizer", ["TOK-02"], base="bundled")
def ids_move_with_use(tokenizer):
    """The tokenizer keeps a state: every call shifts the ids by one for the next."""
    calls = []

    def change(ids):
        return (ids + calls[-1]) % tokenizer.vocabulary_size
    moved = each(tokenizer, change)
    return altered(moved, encode=lambda *args, **kwargs: (calls.append(len(calls)), moved.encode(*args, **kwargs))[1])


@fault("tokenizer", ["TOK-03", "TOK-10"], base="bundled")
def special_tokens_forgotten(tokenizer):
    """Tokens come without those that open and close the text, ids with them."""
    return altered(tokenizer, tokens=lambda texts: [tokens[1:-1] for tokens in tokenizer.tokens(texts)])


@fault("tokenizer", ["TOK-03"], base="bundled", source="UKPLab/sentence-transformers#3275")
def padding_left_in(tokenizer):
    """The ids of a text, asked for without padding, are padded to a multiple of eight."""
    def encode(texts, max_length=None, pad=True):
        parts = tokenizer.encode(texts, max_length, pad)
        return parts if pad else tuple([np.pad(row, (0, -len(row) % 8)) for row in part] for part in parts)
    return altered(tokenizer, encode=encode)


@fault("tokenizer", ["TOK-04"], base="bundled", source="huggingface/transformers#1062")
def token_added_beyond_the_table(tokenizer):
    """A special token of its own is added to open every text, and the table is not resized."""
    beyond = tokenizer.vocabulary_size
    found = each(tokenizer, lambda ids: [beyond, *ids[1:]])
    return altered(found, vocabulary_size=beyond + 1, special_ids=tokenizer.special_ids | {"first": beyond})


@fault("tokenizer", ["TOK-05"])
def no_special_tokens(tokenizer):
    """Texts are not opened and closed by tokens of their own, so that position 1 is the second word."""
    found = each(tokenizer, lambda ids: ids[1:-1])
    return altered(found, tokens=lambda texts: [tokens[1:-1] for tokens in tokenizer.tokens(texts)])


@fault("tokenizer", ["TOK-05", "GRAN-09"], source="vllm-project/vllm#11184")
def capitals_unknown(tokenizer):
    """The text is not brought to lower case, and every word with a capital is unknown."""
    lower = "".join(chr(code) for code in range(97, 123))

    def hidden(texts):
        # ꔀ stands in no vocabulary here.
        return [" ".join("ꔀ" if word[0] not in lower and word[0].isascii() and word[0].isalpha() else word
                         for word in text.split()) for text in texts]
    return altered(tokenizer, tokens=lambda texts: tokenizer.tokens(hidden(texts)),
                   encode=lambda texts, max_length=None, pad=True: tokenizer.encode(hidden(texts), max_length, pad))


@fault("tokenizer", ["TOK-06"])
def not_cut(tokenizer):
    """The limit is ignored."""
    return altered(tokenizer, encode=lambda texts, max_length=None, pad=True: tokenizer.encode(texts, None, pad))


@fault("tokenizer", ["TOK-06"])
def cut_at_512(tokenizer):
    """The limit is 512, that of the position table, whatever the caller asks for."""
    return altered(tokenizer, encode=lambda texts, max_length=None, pad=True: tokenizer.encode(texts, 512, pad))


@fault("tokenizer", ["TOK-06"], source="qdrant/fastembed#689")
def cut_at_half(tokenizer):
    """A file of the tokenizer names half of the limit, and the smaller one wins."""
    return altered(tokenizer, encode=lambda texts, max_length=None, pad=True: tokenizer.encode(
        texts, max_length and max_length // 2, pad))


@fault("tokenizer", ["TOK-06"])
def special_tokens_not_counted(tokenizer):
    """The tokens that open and close a text come on top of the limit."""
    return altered(tokenizer, encode=lambda texts, max_length=None, pad=True: tokenizer.encode(
        texts, max_length and max_length + 2, pad))


@fault("tokenizer", ["TOK-06"])
def closing_token_cut_off(tokenizer):
    """A text is cut after its special tokens are there, so that the closing one is lost."""
    return encoding(tokenizer, lambda texts, limit: [row[:limit] for row in tokenizer.encode(texts, None, False)[0]])


@fault("tokenizer", ["TOK-06"], source="ollama/ollama#14259")
def cut_at_the_start(tokenizer):
    """What is too long loses its beginning instead of its end."""
    def rows(texts, limit):
        return [row if limit is None or len(row) <= limit else np.append(row[:1], row[1 - limit:])
                for row in tokenizer.encode(texts, None, False)[0]]
    return encoding(tokenizer, rows)


@fault("tokenizer", ["TOK-06", "TOK-07"], source="HazyResearch/m2#43")
def padded_to_the_limit(tokenizer):
    """Every text is padded to 128 tokens, whatever its batch."""
    return encoding(tokenizer, lambda texts, limit: tokenizer.encode(texts, limit, False)[0], width=128)


@fault("tokenizer", ["TOK-07"], source="ROCm/FastFlowLM#647")
def widest_batch_kept(tokenizer):
    """A batch is as wide as the widest that was ever asked for."""
    widths = [0]

    def encode(texts, max_length=None, pad=True):
        rows = tokenizer.encode(texts, max_length, False)[0]
        widths[0] = max([widths[0], *map(len, rows)])
        return encoding(tokenizer, lambda *_: rows, width=widths[0]).encode(texts, max_length, pad)
    return altered(tokenizer, encode=encode)


@fault("tokenizer", ["TOK-07"])
def ragged(tokenizer):
    """A batch is not padded at all."""
    return altered(tokenizer, encode=lambda texts, max_length=None, pad=True: tuple(
        [row.tolist() for row in part] for part in tokenizer.encode(texts, max_length, False)))


@fault("tokenizer", ["TOK-07"], source="jkrukowski/swift-embeddings#20, gosha20777/keras2cpp#24")
def no_mask(tokenizer):
    """The mask is 1 throughout, as if nothing were padding."""
    return batches(tokenizer, lambda ids, mask, types: (ids, np.ones_like(mask), types))


@fault("tokenizer", ["TOK-07"])
def mask_of_another_id(tokenizer):
    """The mask is 0 where the id is that of the opening token, as when padding is taken to be 0 and is 1."""
    return batches(tokenizer, lambda ids, mask, types: (
        ids, (ids != tokenizer.special_ids["first"]).astype(np.int64), types))


@fault("tokenizer", ["TOK-07"], source="huggingface/text-embeddings-inference#705")
def padded_with_another_id(tokenizer):
    """The tokenizer's own padding id is ignored, and another one fills the batch."""
    other = tokenizer.special_ids["unknown"]
    return batches(tokenizer, lambda ids, mask, types: (np.where(mask == 0, other, ids), mask, types))


@fault("tokenizer", ["TOK-08"], source="mit-nlp/MITIE#17")
def offsets_in_bytes(tokenizer):
    """Offsets count the bytes of the UTF-8 text instead of its characters."""
    def offsets(texts):
        return [np.array([[len(text[:place].encode()) for place in pair] for pair in pairs.tolist()])
                for text, pairs in zip(texts, tokenizer.offsets(texts), strict=True)]
    return altered(tokenizer, offsets=offsets)


@fault("tokenizer", ["TOK-08"])
def offsets_in_squeezed_text(tokenizer):
    """Offsets count in the text without its spaces."""
    def offsets(texts):
        return [np.array([[len(text[:place].replace(" ", "")) for place in pair] for pair in pairs.tolist()])
                for text, pairs in zip(texts, tokenizer.offsets(texts), strict=True)]
    return altered(tokenizer, offsets=offsets)


@fault("tokenizer", ["TOK-08"], raises=True)
def slow(tokenizer):
    """A tokenizer of the slow kind, which knows no offsets."""
    def offsets(texts):
        raise NotImplementedError("offsets are not available with Python tokenizers")
    return altered(tokenizer, offsets=offsets)


@fault("tokenizer", ["TOK-09"])
def narrow_ids(tokenizer):
    """Ids, mask and types are int32."""
    return batches(tokenizer, lambda *parts: tuple(part.astype(np.int32) for part in parts))


@fault("tokenizer", ["TOK-09"])
def floating_ids(tokenizer):
    """Ids, mask and types are floating-point numbers."""
    return batches(tokenizer, lambda *parts: tuple(part.astype(np.float32) for part in parts))


@fault("tokenizer", ["TOK-09"])
def single_text_without_an_axis(tokenizer):
    """One text gives vectors instead of matrices of one row."""
    return batches(tokenizer, lambda *parts: tuple(part[0] if len(part) == 1 else part for part in parts))


@fault("tokenizer", ["TOK-10"])
def text_for_tokens(tokenizer):
    """In the place of its tokens comes the decoded text."""
    return altered(tokenizer, tokens=lambda texts: [[tokenizer.decode(ids.tolist())]
                                                    for ids in tokenizer.encode(texts, None, False)[0]])


@fault("tokenizer", ["TOK-10"])
def continuation_marks_lost(tokenizer):
    """Tokens come without the mark ##, so that one token stands for two ids."""
    return altered(tokenizer, tokens=lambda texts: [[token.removeprefix("##") for token in tokens]
                                                    for tokens in tokenizer.tokens(texts)])


@fault("tokenizer", ["TOK-10"], source="danny-avila/rag_api#161, langchain-ai/langchain#35252")
def ids_crowded(tokenizer):
    """Ids of a larger vocabulary are taken modulo a smaller size."""
    return each(tokenizer, lambda ids: ids % 97)


def respelt(tokenizer, spelling):
    """The tokenizer with `spelling(token)`, a list of tokens, in the place of each token."""
    return altered(tokenizer, tokens=lambda texts: [[part for token in tokens for part in spelling(token)]
                                                    for tokens in tokenizer.tokens(texts)])


@fault("tokenizer", ["TOK-11"])
def bank_split(tokenizer):
    """The word bank is split into two pieces."""
    return respelt(tokenizer, lambda token: ["ban", "##k"] if token == "bank" else [token])


@fault("tokenizer", ["TOK-11"])
def end_of_word_marked(tokenizer):
    """Tokens bear a mark where a word ends, as those of CLIP do."""
    return respelt(tokenizer, lambda token: [token if token.startswith("[") else f"{token}</w>"])


@fault("tokenizer", ["TOK-11"])
def bank_found_in_banks(tokenizer):
    """Every token that begins with the letters r or b is called bank."""
    return respelt(tokenizer, lambda token: ["bank" if token[0] in "rb" else token])


@fault("tokenizer", ["TOK-12"])
def types_of_ones(tokenizer):
    """Single texts have type 1."""
    return batches(tokenizer, lambda ids, mask, types: (ids, mask, np.ones_like(types)))


@fault("tokenizer", ["TOK-12"])
def types_and_mask_exchanged(tokenizer):
    """Mask and types come in each other's place."""
    return batches(tokenizer, lambda ids, mask, types: (ids, types, mask))


@fault("tokenizer", ["TOK-12"])
def no_types(tokenizer):
    """Only ids and mask are returned."""
    return batches(tokenizer, lambda ids, mask, types: (ids, mask))


@fault("tokenizer", ["TOK-13"], base="bundled")
def ids_of_another_vocabulary(tokenizer):
    """Every id is one higher, as after an entry was inserted at the top of the file."""
    return each(tokenizer, lambda ids: (ids + 1) % tokenizer.vocabulary_size)


@fault("tokenizer", ["TOK-13"], base="bundled", size="subtle")
def one_entry_missing(tokenizer):
    """One rare entry is missing, and its word is spelt by others."""
    whole, parts = tokenizer.encode(["unbelievable", "un believable"], None, False)[0]

    def change(ids):
        return [part for number in ids for part in (parts[1:-1] if number == whole[1] else [number])]
    return each(tokenizer, change)


@fault("tokenizer", ["GRAN-09"])
def made_up_words_unknown(tokenizer):
    """A word that is no entry as a whole is unknown."""
    def rows(texts, limit):
        found = []
        for text in texts:
            pieces = [tokenizer.encode([word], None, False)[0][0][1:-1] for word in text.split()]
            unknown = np.array([tokenizer.special_ids["unknown"]])
            ids = [part if len(part) == 1 else unknown for part in pieces]
            found.append(np.concatenate([[tokenizer.special_ids["first"]], *ids, [tokenizer.special_ids["last"]]]))
        return [cut(tokenizer, ids, limit) for ids in found]
    return encoding(tokenizer, rows)


@fault("tokenizer", ["GRAN-11", "GRAN-14"])
def whole_words_only(tokenizer):
    """Every word is one token, however rare."""
    first = tokenizer.special_ids["first"]

    def tokens(texts):
        return [["[CLS]", *text.lower().split(), "[SEP]"] for text in texts]

    def rows(texts, limit):
        return [np.array([first, *(4 + hash_of(word) % (tokenizer.vocabulary_size - 4) for word in text.lower().split()),
                          tokenizer.special_ids["last"]])[:limit] for text in texts]
    return altered(encoding(tokenizer, rows), tokens=tokens)


def hash_of(word):
    """A number of a word that is the same in every run."""
    return int.from_bytes(word.encode(), "big") % 1_000_003


@fault("tokenizer", ["GRAN-11", "GRAN-14", "TOK-05", "TOK-11"])
def letters_only(tokenizer):
    """Every word is spelt by its letters, however frequent."""
    spelt = {}

    def spell(texts):
        # Spaces between letters make each of them a word of its own.
        return [spelt.setdefault(text, " ".join(text)) for text in texts]
    return altered(tokenizer, tokens=lambda texts: tokenizer.tokens(spell(texts)),
                   encode=lambda texts, max_length=None, pad=True: tokenizer.encode(spell(texts), max_length, pad))


@fault("tokenizer", ["GRAN-11"], base="bundled")
def pieces_lost(tokenizer):
    """Only the first piece of every word is kept."""
    def first_pieces(tokens):
        return [i for i, token in enumerate(tokens) if not token.startswith("##")]

    def rows(texts, limit):
        found = zip(tokenizer.tokens(texts), tokenizer.encode(texts, None, False)[0], strict=True)
        return [cut(tokenizer, ids[first_pieces(tokens)], limit) for tokens, ids in found]
    return altered(encoding(tokenizer, rows), tokens=lambda texts: [
        [tokens[i] for i in first_pieces(tokens)] for tokens in tokenizer.tokens(texts)])


# --- makers of tokenizers ----------------------------------------------------------------------------------------------


def making(maker, kind, change):
    """The maker with `change(tokenizer)` applied to what it makes of one kind; any kind when `kind` is empty."""
    def changed(method):
        return lambda made, *args: change(method(made, *args)) if kind in ("", made) else method(made, *args)
    return altered(maker, train_tokenizer=changed(maker.train_tokenizer), with_vocabulary=changed(maker.with_vocabulary))


def instead(maker, wanted, given):
    """The maker that trains another kind than the one that is asked for."""
    return altered(maker, train_tokenizer=lambda kind, texts, size: maker.train_tokenizer(
        given if kind == wanted else kind, texts, size))


@fault("tokenizer_maker", ["IDSEM-02", "IDSEM-07", "TOK-01"])
def entries_sorted(maker):
    """The entries of a given vocabulary are sorted before they are numbered."""
    return altered(maker, with_vocabulary=lambda kind, entries: maker.with_vocabulary(kind, sorted(entries)))


@fault("tokenizer_maker", ["IDSEM-02", "IDSEM-07", "TOK-01"])
def entries_exchanged(maker):
    """Dog and fish have each other's places in the vocabulary."""
    other = {"狗": "鱼", "鱼": "狗"}
    return altered(maker, with_vocabulary=lambda kind, entries: maker.with_vocabulary(
        kind, [other.get(entry, entry) for entry in entries]))


@fault("tokenizer_maker", ["IDSEM-07", "TOK-01"])
def special_entries_first(maker):
    """Four special entries are put before the given ones, and every id is four higher."""
    return altered(maker, with_vocabulary=lambda kind, entries: maker.with_vocabulary(
        kind, ["<s>", "<pad>", "</s>", "<unk>", *entries]))


@fault("tokenizer_maker", ["IDSEM-07"])
def ids_sorted_and_unique(maker):
    """The ids of a text are sorted, each once, like a set of its words."""
    return making(maker, "", lambda made: each(made, np.unique))


@fault("tokenizer_maker", ["TOK-01"])
def decoded_as_entries_from_one(maker):
    """Decoding counts entries from one, encoding from zero."""
    return making(maker, "", lambda made: altered(made, decode=lambda ids: made.decode([max(i - 1, 0) for i in ids])))


@fault("tokenizer_maker", ["GRAN-01"])
def ids_beyond_the_vocabulary(maker):
    """Ids begin at the size of the vocabulary instead of at zero."""
    return making(maker, "", lambda made: each(made, lambda ids: np.asarray(ids) + made.vocabulary_size))


@fault("tokenizer_maker", ["GRAN-01"])
def strings_for_ids(maker):
    """Tokens come where ids are asked for."""
    return making(maker, "", lambda made: altered(made, encode=lambda texts, max_length=None, pad=True: (
        made.tokens(texts), made.tokens(texts), made.tokens(texts))))


@fault("tokenizer_maker", ["GRAN-02"])
def repeated_letters_dropped(maker):
    """A letter that repeats the one before is dropped."""
    def kept(sequence):
        return [one for i, one in enumerate(sequence) if i == 0 or one != sequence[i - 1]]
    return making(maker, "character", lambda made: altered(
        each(made, kept), tokens=lambda texts: [kept(tokens) for tokens in made.tokens(texts)]))


@fault("tokenizer_maker", ["GRAN-02"])
def all_of_ascii_entered(maker):
    """The vocabulary of characters holds all of ASCII, seen or not."""
    def train_tokenizer(kind, texts, size):
        return maker.train_tokenizer(kind, [*texts, *map(chr, range(128))] if kind == "character" else texts, size)
    return altered(maker, train_tokenizer=train_tokenizer)


@fault("tokenizer_maker", ["GRAN-02", "GRAN-03", "GRAN-04", "GRAN-13"])
def words_for_characters(maker):
    """Characters are asked for, words are made."""
    return instead(maker, "character", "word")


@fault("tokenizer_maker", ["GRAN-05", "GRAN-06", "GRAN-07"])
def characters_for_words(maker):
    """Words are asked for, characters are made."""
    return instead(maker, "word", "character")


@fault("tokenizer_maker", ["GRAN-03"])
def words_for_pieces(maker):
    """Pieces of words are asked for, whole words are made."""
    return instead(maker, "wordpiece", "word")


@fault("tokenizer_maker", ["GRAN-05"])
def spaces_kept_as_tokens(maker):
    """The space between two words is a token."""
    return making(maker, "word", lambda made: altered(made, tokens=lambda texts: [
        [part for i, token in enumerate(tokens) for part in ([" ", token] if i else [token])]
        for tokens in made.tokens(texts)]))


@fault("tokenizer_maker", ["GRAN-06"])
def bytes_for_words(maker):
    """Words are asked for, pieces of bytes are made, which spell every word."""
    return instead(maker, "word", "bpe")


@fault("tokenizer_maker", ["GRAN-06"])
def words_added_on_the_fly(maker):
    """An unseen word enters the vocabulary when it is met."""
    def change(made):
        added = {}

        def rows(texts, limit):
            return [np.array([added.setdefault(word, made.vocabulary_size + len(added)) for word in text.split()])[:limit]
                    for text in texts]
        return encoding(made, rows)
    return making(maker, "word", change)


@fault("tokenizer_maker", ["GRAN-06"])
def unseen_words_hashed(maker):
    """An unseen word shares the id of a known one, chosen by a hash."""
    def change(made):
        def hashed(text):
            return np.array([3 + hash_of(word) % (made.vocabulary_size - 3) for word in text.split()])
        return encoding(made, lambda texts, limit: [hashed(text)[:limit] for text in texts])
    return making(maker, "word", change)


@fault("tokenizer_maker", ["GRAN-06"])
def unseen_words_dropped(maker):
    """Unseen words leave no token behind."""
    return making(maker, "word", lambda made: each(made, lambda ids: ids[ids != made.special_ids["unknown"]]))


@fault("tokenizer_maker", ["GRAN-07"])
def vocabulary_of_the_beginning(maker):
    """Only the first ten lines are read."""
    return altered(maker, train_tokenizer=lambda kind, texts, size: maker.train_tokenizer(kind, texts[:10], size))


@fault("tokenizer_maker", ["GRAN-07"])
def pairs_for_characters(maker):
    """Entries are counted by pairs of characters, which go on growing."""
    def train_tokenizer(kind, texts, size):
        made = maker.train_tokenizer(kind, texts, size)
        pairs = {text[i:i + 2] for text in texts for i in range(len(text) - 1)}
        return altered(made, vocabulary_size=len(pairs)) if kind == "character" else made
    return altered(maker, train_tokenizer=train_tokenizer)


@fault("tokenizer_maker", ["GRAN-08"])
def shortest_piece_first(maker):
    """WordPiece takes the shortest entry that fits."""
    return pieces_by(maker, range(1, 100))


@fault("tokenizer_maker", ["GRAN-08", "GRAN-10"])
def continuations_unmarked(maker):
    """Pieces that continue a word bear no mark, and are looked for without one."""
    def with_vocabulary(kind, entries):
        return maker.with_vocabulary(kind, [entry.removeprefix("##") for entry in entries])

    def train_tokenizer(kind, texts, size):
        made = maker.train_tokenizer(kind, texts, size)
        return respelt(made, lambda token: [token.removeprefix("##")])
    return altered(maker, with_vocabulary=with_vocabulary, train_tokenizer=train_tokenizer)


@fault("tokenizer_maker", ["GRAN-08"])
def whole_word_missed(maker):
    """An entry that is a whole word is never found: every word is split."""
    return altered(maker, with_vocabulary=lambda kind, entries: maker.with_vocabulary(
        kind, [entry if len(entry) < 8 or entry.startswith("##") else f"##{entry}" for entry in entries]))


def pieces_by(maker, lengths):
    """The maker whose WordPiece looks for pieces of these lengths, in this order, and takes the first entry."""
    def spell(word, entries):
        pieces, rest = [], word
        while rest:
            mark = "##" if pieces else ""
            size = next((size for size in lengths if size <= len(rest) and mark + rest[:size] in entries), None)
            if size is None:
                return ["[UNK]"]
            pieces.append(mark + rest[:size])
            rest = rest[size:]
        return pieces

    def with_vocabulary(kind, entries):
        made = maker.with_vocabulary(kind, entries)
        if kind != "wordpiece":
            return made

        def tokens(texts):
            opening, *_, closing = (made.tokens([""])[0] or ["", ""])
            words = [re.findall(r"[^\W一-鿿]+|[一-鿿]", text.lower()) for text in texts]
            spelt = [[piece for word in line for piece in spell(word, set(entries))] for line in words]
            return [[token for token in (opening, *line, closing) if token] for line in spelt]
        return altered(made, tokens=tokens)
    return altered(maker, with_vocabulary=with_vocabulary)


@fault("tokenizer_maker", ["GRAN-09"])
def pieces_without_letters(maker):
    """The vocabulary of pieces holds no single letters, so that most unseen words cannot be spelt."""
    def train_tokenizer(kind, texts, size):
        made = maker.train_tokenizer(kind, texts, size)
        if kind != "wordpiece":
            return made
        known = made.tokenizer.get_vocab()
        return maker.with_vocabulary(kind, [entry for entry in sorted(known, key=known.get)
                                            if len(entry.removeprefix("##")) > 1])
    return altered(maker, train_tokenizer=train_tokenizer)


@fault("tokenizer_maker", ["GRAN-09"])
def size_ignored(maker):
    """The vocabulary grows as far as the text allows, whatever size was asked for."""
    return altered(maker, train_tokenizer=lambda kind, texts, size: maker.train_tokenizer(kind, texts, 10 * size))


@fault("tokenizer_maker", ["GRAN-09"])
def bytes_lost(maker):
    """Byte-level pieces lose what is not ASCII when they are decoded."""
    return making(maker, "bpe", lambda made: altered(made, decode=lambda ids: "".join(
        character for character in made.decode(ids) if character.isascii())))


@fault("tokenizer_maker", ["GRAN-10"])
def kinds_exchanged(maker):
    """WordPiece and BPE are made in each other's place."""
    other = {"wordpiece": "bpe", "bpe": "wordpiece"}
    return altered(maker, train_tokenizer=lambda kind, *args: maker.train_tokenizer(other.get(kind, kind), *args))


@fault("tokenizer_maker", ["GRAN-10"])
def spaces_unmarked(maker):
    """Byte-level tokens come without the mark of the space before them."""
    return making(maker, "bpe", lambda made: respelt(made, lambda token: [token.lstrip("Ġ")]))


@fault("tokenizer_maker", ["GRAN-12"])
def ids_shuffled(maker):
    """The ids of a text come in random order."""
    return making(maker, "character", lambda made: each(made, np.random.default_rng(0).permutation))


@fault("tokenizer_maker", ["GRAN-12"])
def ids_drawn(maker):
    """Every occurrence of a character gets an id drawn by lot."""
    return making(maker, "character", lambda made: each(
        made, lambda ids: np.random.default_rng(0).integers(0, made.vocabulary_size, len(ids))))


@fault("tokenizer_maker", ["GRAN-13"])
def never_merged(maker):
    """BPE makes no merges: every byte stays a token of its own."""
    return altered(maker, train_tokenizer=lambda kind, texts, size: maker.train_tokenizer(
        kind, texts, 257 if kind == "bpe" else size))


@fault("tokenizer_maker", ["GRAN-13"])
def characters_for_bytes(maker):
    """BPE is asked for, characters are made: unknown ones count as one token each."""
    return instead(maker, "bpe", "character")


@fault("tokenizer_maker", ["GRAN-13"])
def ideographs_joined(maker):
    """WordPiece does not set Chinese characters apart: a run of them is one word."""
    from tokenizers import normalizers

    def change(made):
        made.tokenizer.normalizer = normalizers.BertNormalizer(handle_chinese_chars=False)
        return made
    return making(maker, "wordpiece", change)


# --- sound variants ----------------------------------------------------------------------------------------------------


@sound("tokenizer")
def padded_at_the_start(tokenizer):
    """Batches are padded before the texts instead of behind them."""
    return encoding(tokenizer, lambda texts, limit: tokenizer.encode(texts, limit, False)[0], side="start")


@sound("tokenizer")
def text_by_text(tokenizer):
    """Every text is tokenised by itself, and the batch is put together afterwards."""
    found = encoding(tokenizer, lambda texts, limit: [tokenizer.encode([text], limit, True)[0][0] for text in texts])
    return altered(found, tokens=lambda texts: [tokenizer.tokens([text])[0] for text in texts])


@sound("tokenizer", base="bundled")
def bundled_text_by_text(tokenizer):
    """The bundled model's tokenizer, every text by itself."""
    return text_by_text(tokenizer)


@sound("tokenizer", base="bundled", breaks=["TOK-13"])
def unknown_by_its_letters(tokenizer):
    """What the vocabulary lacks is shown by its own letters, as Unigram tokenizers show it."""
    unknown = tokenizer.special_ids["unknown"]

    def shown(text, tokens, ids, offsets):
        return [text[start:end] if number == unknown else token
                for token, number, (start, end) in zip(tokens, ids, offsets, strict=True)]
    return altered(tokenizer, tokens=lambda texts: list(map(shown, texts, tokenizer.tokens(texts),
                                                            tokenizer.encode(texts, None, False)[0], tokenizer.offsets(texts))))


@sound("tokenizer", base="bundled", breaks=["TOK-13"])
def ended_by_what_pads(tokenizer):
    """Every text ends with the token that pads, and its settings name another one as the last, as embedders from Qwen do."""
    special = tokenizer.special_ids
    found = encoding(altered(tokenizer, special_ids=special | {"last": special["first"]}),
                     lambda texts, limit: [np.where(row == special["last"], special["padding"], row)
                                           for row in tokenizer.encode(texts, limit, False)[0]])
    return altered(found, tokens=lambda texts: [["[PAD]" if token == "[SEP]" else token for token in row]
                                                for row in tokenizer.tokens(texts)])


@sound("tokenizer")
def renumbered(tokenizer):
    """The same entries with ids in the reverse order."""
    last = tokenizer.vocabulary_size - 1
    special = {role: last - number for role, number in tokenizer.special_ids.items()}
    found = encoding(altered(tokenizer, special_ids=special),
                     lambda texts, limit: [last - row for row in tokenizer.encode(texts, limit, False)[0]])
    return altered(found, decode=lambda ids: tokenizer.decode([last - number for number in ids]))


@sound("tokenizer_maker")
def longest_piece_in_python(maker):
    """WordPiece with a given vocabulary by a loop in Python, longest piece first."""
    return pieces_by(maker, range(100, 0, -1))


@sound("tokenizer_maker")
def trained_on_reversed_lines(maker):
    """The lines of the text come in the reverse order."""
    return altered(maker, train_tokenizer=lambda kind, texts, size: maker.train_tokenizer(kind, texts[::-1], size))


@sound("tokenizer_maker")
def ids_in_reverse(maker):
    """Trained tokenizers number their entries in the reverse order."""
    return altered(maker, train_tokenizer=lambda kind, texts, size: renumbered(maker.train_tokenizer(kind, texts, size)))
