"""Embedders that do not keep what they declare: limits, letters, lengths, roles, pooling."""

import unicodedata

import numpy as np

from ...proof import altered, fault
from ...subjects.small_embedder import LIMIT, PROMPT
from ..pooling.faults import unit
from .faulty import SMALL, answering, asking, direction, reading, toward

# --- the limit ---------------------------------------------------------------------------------------------------------


def first_words(count):
    return lambda text: text if len(text.split()) <= count else " ".join(text.split()[:count])


@fault("embedder", ["FIELD-17", "FIELD-19"],
       source="qdrant/fastembed#689, martin-conur/quackformers#34, martin-conur/quackformers#83")
def cut_at_half_the_limit(embedder):
    """Texts are cut at 128 tokens, where 256 are declared."""
    return reading(embedder, first_words(126))


@fault("embedder", ["FIELD-17", "FIELD-20"], base=SMALL, raises=True, source="jundot/omlx#1687")
def refuses_at_half_the_limit(embedder):
    """Texts of more than 128 words are refused, where 256 tokens are declared."""
    def change(ask, texts):
        if any(len(text.split()) > LIMIT // 2 for text in texts):
            raise ValueError("the text is too long")
        return ask(texts)
    return asking(embedder, change)


@fault("embedder", ["FIELD-18", "FIELD-19"], source="langchain-ai/langchain#3777, openai/openai-cookbook#98")
def parts_averaged(embedder):
    """What is longer than the limit is cut into parts, and the mean of their vectors stands for the text."""
    def change(ask, texts):
        parts = [text.split(" ") for text in texts]
        vectors = [ask([" ".join(words[start:start + 254]) for start in range(0, len(words), 254)]).mean(axis=0)
                   for words in parts]
        return unit(np.stack(vectors))
    return asking(embedder, change)


@fault("embedder", ["FIELD-18", "FIELD-19"], source="huggingface/text-embeddings-inference#52")
def beginning_cut_off(embedder):
    """What is longer than the limit loses its beginning instead of its end."""
    return reading(embedder, lambda text: " ".join(text.split(" ")[-254:]))


@fault("embedder", ["FIELD-18", "FIELD-19"], size="subtle")
def end_counts_a_little(embedder):
    """What is beyond the limit counts for a hundredth."""
    def change(ask, texts):
        vectors = ask(texts)
        ends = ask([" ".join(text.split(" ")[254:]) for text in texts])
        longer = np.array([[len(text.split(" ")) > 254] for text in texts])
        return np.where(longer, toward(vectors, ends, 0.01), vectors).astype(np.float32)
    return asking(embedder, change)


@fault("embedder", ["FIELD-19"], source="qdrant/fastembed#531")
def cut_one_token_early(embedder):
    """One token less than declared is read."""
    return reading(embedder, first_words(253))


@fault("embedder", ["FIELD-19"], source="embeddings-benchmark/mteb#1772")
def nothing_at_exactly_the_limit(embedder):
    """A text of exactly as many tokens as the limit has no numbers; one token less, and it has."""
    return answering(embedder, lambda vectors, texts: np.where(
        [[len(text.split(" ")) == 254] for text in texts], np.nan, vectors))


@fault("embedder", ["FIELD-19"])
def special_tokens_not_counted(embedder):
    """As many tokens as declared are read besides the special ones, so that two words beyond the limit count."""
    def change(ask, texts):
        vectors, ends = ask(texts), ask([" ".join(text.split(" ")[254:256]) for text in texts])
        longer = np.array([[len(text.split(" ")) > 254] for text in texts])
        return np.where(longer, unit(254 * vectors + 2 * ends), vectors).astype(np.float32)
    return asking(embedder, change)


@fault("embedder", ["FIELD-20"], base=SMALL, source="ollama/ollama#14259")
def cut_without_a_word(embedder):
    """What is too long is cut, though it is declared that it is refused."""
    return reading(embedder, first_words(200))


@fault("embedder", ["FIELD-20"], base=SMALL, source="huggingface/text-embeddings-inference#56")
def refused_only_alone(embedder):
    """In company a text that is too long is cut, though it is refused by itself."""
    return asking(embedder, lambda ask, texts: ask(texts if len(texts) == 1 else [first_words(200)(text) for text in texts]))


# --- letters -----------------------------------------------------------------------------------------------------------


def unknown(is_unknown):
    """Replaces the words for which `is_unknown(word)` holds by the unknown one."""
    return lambda text: " ".join("[UNK]" if is_unknown(word) else word for word in text.split(" "))


@fault("embedder", ["FIELD-21"], source="vllm-project/vllm#11184")
def capitals_are_unknown(embedder):
    """Words with capitals are not made small, and the vocabulary lacks them."""
    return reading(embedder, unknown(lambda word: word != word.lower()))


@fault("embedder", ["FIELD-21"], source="ollama/ollama#13943")
def capitals_are_unknown_beyond_ascii(embedder):
    """Only the letters from A to Z are made small."""
    return reading(embedder, unknown(lambda word: any(ord(sign) > 127 and sign != sign.lower() for sign in word)))


@fault("embedder", ["FIELD-21"], size="subtle")
def capitals_count_a_little(embedder):
    """A text with a capital is moved by a hundredth."""
    return answering(embedder, lambda vectors, texts: toward(vectors, direction("capital", vectors.shape[1]), 0.01 * np.array(
        [[text != text.lower()] for text in texts])))


@fault("embedder", ["FIELD-22"], base=SMALL, source="vllm-project/vllm#11184")
def small_letters_only(embedder):
    """Texts are made small, though it is declared that they are not."""
    return reading(embedder, str.lower)


def marked(text):
    return unicodedata.normalize("NFD", text) != text or any(map(unicodedata.combining, text))


@fault("embedder", ["FIELD-23"], source="elbruno/elbruno.localembeddings#56")
def marked_words_are_unknown(embedder):
    """Marks are not stripped, and the vocabulary lacks words with marks."""
    return reading(embedder, unknown(marked))


@fault("embedder", ["FIELD-23"], source="ollama/ollama#15627")
def decomposed_words_are_unknown(embedder):
    """Words with decomposed marks are not found in the vocabulary."""
    return reading(embedder, unknown(lambda word: any(map(unicodedata.combining, word))))


@fault("embedder", ["FIELD-23"], size="subtle")
def marks_count_a_little(embedder):
    """A text with a mark is moved by a hundredth."""
    return answering(embedder, lambda vectors, texts: toward(vectors, direction("mark", vectors.shape[1]), 0.01 * np.array(
        [[marked(text)] for text in texts])))


@fault("embedder", ["FIELD-24"], base=SMALL, source="huggingface/tokenizers#399")
def marks_stripped(embedder):
    """Marks are stripped, though it is declared that they are not."""
    return reading(embedder, lambda text: "".join(sign for sign in unicodedata.normalize("NFD", text)
                                                  if not unicodedata.combining(sign)))


# --- length one --------------------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-25"], base=SMALL, source="michaelfeil/infinity#384")
def not_normalised(embedder):
    """Vectors have the lengths of their texts, though it is declared that they have length one."""
    return answering(embedder, lambda vectors, texts: vectors * (1 + np.array([[len(text)] for text in texts]) / 100))


@fault("embedder", ["FIELD-25", "FIELD-26"], base=SMALL, source="ollama/ollama#8094, ollama/ollama#4128, ollama/ollama#11375")
def queries_not_normalised(embedder):
    """The second entry point returns vectors twenty times as long."""
    return altered(embedder, embed_query=lambda texts: embedder.embed_query(texts) * np.float32(20))


@fault("embedder", ["FIELD-25", "FIELD-01"], base=SMALL, source="gabeur/mmt#1")
def normalised_as_a_whole(embedder):
    """All rows of a call are divided by the length of the whole matrix."""
    return answering(embedder, lambda vectors, texts: vectors / np.linalg.norm(vectors))


@fault("embedder", ["FIELD-25"], size="subtle")
def small_number_in_the_length(embedder):
    """A ten-thousandth is added to the length, against division by zero."""
    return answering(embedder, lambda vectors, texts: vectors / 1.0001)


# --- roles -------------------------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-26", "FIELD-27"], base=SMALL, source="qdrant/fastembed#251")
def role_ignored(embedder):
    """Queries are embedded like documents."""
    return altered(embedder, embed_query=embedder.embed)


@fault("embedder", ["FIELD-26"], base=SMALL)
def prompt_twice(embedder):
    """The prompt of a query stands before the text twice."""
    return altered(embedder, embed_query=lambda texts: embedder.embed_query([f"{PROMPT}{text}" for text in texts]))


@fault("embedder", ["FIELD-26"], base=SMALL, source="telekom/wurzel#63")
def prompt_misspelt(embedder):
    """The prompt of a query is written without its colon."""
    return altered(embedder, embed_query=lambda texts: embedder.embed([f"query {text}" for text in texts]))


@fault("embedder", ["FIELD-26", "FIELD-29"], source="qdrant/fastembed#251")
def prompt_not_declared(embedder):
    """Queries get a prompt that is not declared."""
    return altered(embedder, embed_query=lambda texts: embedder.embed([f"query: {text}" for text in texts]))


@fault("embedder", ["FIELD-26"], size="subtle")
def queries_are_moved_a_little(embedder):
    """Every query is off by a hundredth."""
    return altered(embedder, embed_query=lambda texts: toward(
        embedder.embed_query(texts), direction("query", 384), 0.01).astype(np.float32))


@fault("embedder", ["FIELD-27"], base=SMALL, source="embeddings-benchmark/mteb#5383")
def store_without_the_role(embedder):
    """Vectors are kept by text alone, so that a text that was a document stays one as a query."""
    known = {}

    def change(ask, texts):
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, ask(new), strict=True))
        return np.stack([known[text] for text in texts])
    return asking(embedder, change)


@fault("embedder", ["FIELD-29"], declares={"prompts": {"query": "query: ", "document": "passage: "}},
       source="qdrant/fastembed#251")
def both_prompts_ignored(embedder):
    """Prompts are declared for both roles, and exchanged."""
    return altered(embedder, embed=lambda texts: embedder.embed([f"query: {text}" for text in texts]),
                   embed_query=lambda texts: embedder.embed([f"passage: {text}" for text in texts]))


# --- pooling -----------------------------------------------------------------------------------------------------------


def pooled(embedder, pool):
    """The embedder whose vectors are pooled from the sound states [L, d] of a text by `pool`."""
    def embed(texts):
        return unit(np.stack([pool(states) for states in embedder.hidden_states(texts)])).astype(np.float32)
    return altered(embedder, embed=embed, embed_query=embed)


@fault("embedder", ["FIELD-29"], source="deepjavalibrary/djl#2237")
def largest_for_the_mean(embedder):
    """The largest numbers stand for the text, where the mean is declared."""
    return pooled(embedder, lambda states: states.max(axis=0))


@fault("embedder", ["FIELD-29"], declares={"pooling": "cls"}, source="vllm-project/vllm#45995")
def mean_for_the_first_state(embedder):
    """The mean stands for the text, where the first state is declared."""
    return pooled(embedder, lambda states: states.mean(axis=0))


@fault("embedder", ["FIELD-29"], size="subtle")
def later_tokens_weigh_more(embedder):
    """The last token weighs a twentieth more than the first."""
    return pooled(embedder, lambda states: np.average(states, axis=0, weights=np.linspace(1, 1.05, len(states))))


@fault("embedder", ["FIELD-29"],
       source="plur-ai/plur#270, huggingface/text-embeddings-inference#660, vllm-project/vllm#15509, "
              "ggml-org/llama.cpp#16367, huggingface/text-embeddings-inference#732")
def another_layer_behind_the_pooling(embedder):
    """A linear layer that nobody declares comes after the pooling."""
    return answering(embedder, lambda vectors, texts: vectors[:, ::-1] * np.resize([1, -1], vectors.shape[1]))
