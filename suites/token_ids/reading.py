"""How the tests read what tokenizers return, and the texts and vocabularies that they give them."""

from ...data import texts, training_text


def around(tokenizer):
    """The ids that open, close and pad texts; what pads may close them, too."""
    return {number for role, number in tokenizer.special_ids.items() if role != "unknown"}


def content_ids(tokenizer, text):
    """The ids of a text without those that open, close and pad it."""
    special = around(tokenizer)
    return [int(i) for i in tokenizer.ids([text])[0] if int(i) not in special]


def content_tokens(tokenizer, text):
    """The tokens of a text without those that open and close it."""
    special, ids, tokens = around(tokenizer), tokenizer.ids([text])[0].tolist(), tokenizer.tokens([text])[0]
    start = 1 if ids and ids[0] in special else 0
    return tokens[start:len(tokens) - 1 if ids and ids[-1] in special else None]


def word(token):
    """A token without the marks of a word's start, in lower case."""
    return token.lstrip("▁Ġ").lower()


def english():
    """The English lines of the training text."""
    return [line for line in training_text() if line.isascii()]


def mixed_batch():
    """Short and long texts, in an order in which letters and tokens disagree; one of them twice, one in Chinese."""
    return [texts()["lookup"], "unbelievably", "a b c d e f g h", texts()["lookup"], texts()["vocabulary"]["sentence"],
            "the cat " * 30, "x", *texts()["bank"]["contexts"]]


def entries(ids):
    """A vocabulary of 30 entries: the given ones at their ids, BERT's special ones, and other characters elsewhere."""
    vocabulary = ["[PAD]", "[UNK]", *"山水火木金土日月星天地人大小上下左右前后东西南北春夏", "[CLS]", "[SEP]"]
    for entry, number in ids.items():
        vocabulary[number] = entry
    return vocabulary
