"""The subject ``tokenizers``: character, word, BPE and WordPiece tokenizers, trained on the spot by the library."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from ..data import training_text
from . import Subject, declared, require_installed

#: role -> how the entry is written in the vocabularies of BERT
SPECIAL = {"padding": "[PAD]", "unknown": "[UNK]", "first": "[CLS]", "last": "[SEP]"}
KINDS = ("character", "word", "bpe", "wordpiece")


class FastTokenizer:
    """The facet ``tokenizer`` of a ``tokenizers.Tokenizer``; `special` are its special tokens by role, as BERT's."""

    def __init__(self, tokenizer: Any, special: dict[str, str] | None = None):
        self.tokenizer = tokenizer
        self.special = SPECIAL if special is None else special
        found = {role: tokenizer.token_to_id(token) for role, token in self.special.items()}
        self.special_ids = {role: number for role, number in found.items() if number is not None}
        self.vocabulary_size = tokenizer.get_vocab_size()

    def _encoded(self, texts: list[str], max_length: int | None = None, pad: bool = False) -> list[Any]:
        # A file may have set both; each call says what it wants.
        if max_length is None:
            self.tokenizer.no_truncation()
        else:
            self.tokenizer.enable_truncation(max_length)
        if pad:
            self.tokenizer.enable_padding(pad_id=self.special_ids["padding"], pad_token=self.special["padding"])
        else:
            self.tokenizer.no_padding()
        return list(self.tokenizer.encode_batch(texts))

    def encode(self, texts: list[str], max_length: int | None = None, pad: bool = True) -> tuple[Any, Any, Any]:
        """ids, mask and types: [N, L] each with `pad`, else lists of [L]."""
        found = self._encoded(texts, max_length, pad)
        parts = [one.ids for one in found], [one.attention_mask for one in found], [one.type_ids for one in found]
        ids, mask, types = ([np.array(row, dtype=np.int64) for row in rows] for rows in parts)
        return (np.stack(ids), np.stack(mask), np.stack(types)) if pad else (ids, mask, types)

    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [one.tokens for one in self._encoded(texts)]

    def offsets(self, texts: list[str]) -> list[np.ndarray]:
        """[L, 2] a text: the characters of the text, from and up to, that a token stands for; 0, 0 for special ones."""
        return [np.array(one.offsets, dtype=np.int64).reshape(-1, 2) for one in self._encoded(texts)]

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids))


def speaks_for_batches(tokenizer: FastTokenizer | None) -> bool:
    """Whether it can fill up the shorter texts of a batch, for which it needs a token."""
    return tokenizer is not None and "padding" in tokenizer.special_ids


class TokenizerMaker:
    """Tokenizers of four granularities.

    "character" knows single characters, "word" lower-case words, "bpe" is GPT-2's over bytes, "wordpiece" is BERT's.
    """

    def train_tokenizer(self, kind: str, texts: list[str], vocabulary_size: int) -> FastTokenizer:
        """A tokenizer of at most `vocabulary_size` entries (byte-level BPE: at least its 256 bytes)."""
        from tokenizers import trainers

        check(kind)
        if kind == "bpe":
            return FastTokenizer(trained_bpe(texts, vocabulary_size))
        special = list(SPECIAL.values()) if kind == "wordpiece" else [SPECIAL["padding"], SPECIAL["unknown"]]
        scratch = skeleton(kind, {token: i for i, token in enumerate(special)})
        if kind == "wordpiece":
            # The trainer numbers continuations in the order of a hash table, which differs from run to run and decides
            # ties (huggingface/tokenizers#1794). Naming them beforehand fixes the order.
            trainer: Any = trainers.WordPieceTrainer(vocab_size=vocabulary_size, show_progress=False,
                                                     special_tokens=[*special, *continuations(scratch, texts)])
        else:
            trainer = trainers.WordLevelTrainer(vocab_size=vocabulary_size, show_progress=False, special_tokens=special)
        scratch.train_from_iterator(texts, trainer)
        vocabulary = scratch.get_vocab()
        return self.with_vocabulary(kind, sorted(vocabulary, key=vocabulary.__getitem__))

    def with_vocabulary(self, kind: str, entries: list[str]) -> FastTokenizer:
        """A tokenizer whose entry i has id i. BERT's special tokens have their roles where they are among the entries."""
        check(kind)
        if kind == "bpe":
            raise ValueError("a BPE tokenizer is a list of merges, not of entries")
        return FastTokenizer(skeleton(kind, {entry: i for i, entry in enumerate(entries)}))


def check(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f'there is no kind "{kind}": {", ".join(KINDS)}')


def skeleton(kind: str, vocabulary: dict[str, int]) -> Any:
    """A ``tokenizers.Tokenizer`` around a vocabulary."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    unknown = SPECIAL["unknown"]
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
    else:
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
        if kind == "word":
            tokenizer.normalizer = normalizers.Lowercase()
            tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        else:
            tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
            tokenizer.decoder = decoders.Fuse()
    first, last = SPECIAL["first"], SPECIAL["last"]
    if {first, last} <= vocabulary.keys():
        tokenizer.post_processor = processors.BertProcessing((last, vocabulary[last]), (first, vocabulary[first]))
    tokenizer.add_special_tokens([token for token in SPECIAL.values() if token in vocabulary])
    return tokenizer


def continuations(tokenizer: Any, texts: list[str]) -> list[str]:
    """Every character that stands inside a word, marked as WordPiece marks it, in the order of their code points."""
    words = {word for text in texts
             for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))}
    return [f"##{character}" for character in sorted({character for word in words for character in word[1:]})]


def trained_bpe(texts: list[str], vocabulary_size: int) -> Any:
    """GPT-2's kind: each byte of the UTF-8 text a symbol, merged within words, which carry the space before them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary_size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[SPECIAL["padding"]], show_progress=False))
    return tokenizer


def open_subject(rest: str = "") -> Subject:
    """The default subject for tokenizers. Opening trains nothing and imports nothing."""
    require_installed("tokenizers", "default", "tokenizers")
    maker = TokenizerMaker()
    return Subject(
        name="tokenizers", title=f"tokenizers trained on the spot, tokenizers {version('tokenizers')}",
        capabilities=frozenset({
            "tokenizer.encode", "tokenizer.tokens", "tokenizer.decode", "tokenizer.offsets", "tokenizer.special_ids",
            "tokenizer.vocabulary_size", "tokenizer_maker.train_tokenizer", "tokenizer_maker.with_vocabulary"}),
        makers={"tokenizer": lambda: maker.train_tokenizer("wordpiece", training_text(), 600),
                "tokenizer_maker": lambda: maker},
        declares=declared({"trained": "en"}, "its training text"), facts={"tokenizers": version("tokenizers")})
