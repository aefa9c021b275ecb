"""Embedders whose answers depend on more than the text, or on less."""

import threading
import time
import zlib

import numpy as np

from ...proof import altered, fault
from ..pooling.faults import unit
from .faulty import SMALL, answering, asking, bags, direction, hashed, lengths, reading, toward

# --- company, order, number --------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-01", "FIELD-03"], base=SMALL, source="HKUDS/LightRAG#3675")
def padding_in_the_mean(embedder):
    """The mean goes over the padding up to the longest text of the call."""
    def change(vectors, texts):
        share = lengths(texts) / lengths(texts).max()
        return unit(share * vectors + (1 - share) * direction("padding", vectors.shape[1]))
    return answering(embedder, change)


@fault("embedder", ["FIELD-01", "FIELD-03"], base=SMALL, source="facebookresearch/InferSent#48")
def zeros_beat_what_is_negative(embedder):
    """Texts that are shorter than the longest of the call have no negative numbers: padding of zeros is larger."""
    return answering(embedder, lambda vectors, texts: unit(np.where(
        lengths(texts) < lengths(texts).max(), np.maximum(vectors, 0), vectors)))


@fault("embedder", ["FIELD-01", "FIELD-03"], base=SMALL, source="huggingface/sentence-transformers#3208")
def first_state_is_padding(embedder):
    """Position 0 stands for the text, and padding stands before all texts but the longest."""
    return answering(embedder, lambda vectors, texts: np.where(
        lengths(texts) < lengths(texts).max(), direction("padding", vectors.shape[1]), vectors))


@fault("embedder", ["FIELD-01", "FIELD-03"], base=SMALL, raises=True, source="qdrant/fastembed#703")
def padded_to_less_than_the_limit(embedder):
    """Texts are filled up to 16 tokens and cut at 256: shorter and longer ones do not make one array."""
    def change(ask, texts):
        if len({max(len(text.split()), 16) for text in texts}) > 1:
            raise ValueError("the rows of an array have different lengths")
        return ask(texts)
    return asking(embedder, change)


@fault("embedder", ["FIELD-01"], base=SMALL, size="subtle", source="Anush008/fastembed-rs#107")
def range_of_the_call(embedder):
    """Vectors are rounded to 127 steps of the largest number of the call."""
    def change(vectors, texts):
        step = np.abs(vectors).max() / 127
        return unit(np.round(vectors / step) * step)
    return answering(embedder, change)


@fault("embedder", ["FIELD-01", "FIELD-08"], base=SMALL,
       source="huggingface/sentence-transformers#2837, deepset-ai/haystack#9100")
def range_of_each_column(embedder):
    """Each column is stretched over the range that it has in this call, which for one text is nothing."""
    def change(vectors, texts):
        low, high = vectors.min(axis=0), vectors.max(axis=0)
        return np.round(255 * (vectors - low) / np.where(high > low, high - low, 1))
    return answering(embedder, change)


@fault("embedder", ["FIELD-01", "FIELD-03"], base=SMALL, source="rock3125/sentence2vec#8")
def centred_over_the_call(embedder):
    """The mean of the call's vectors is subtracted where there are several."""
    return answering(embedder, lambda vectors, texts: unit(vectors - vectors.mean(axis=0))
                     if len(set(texts)) > 1 else vectors)


@fault("embedder", ["FIELD-01", "FIELD-03"], base=SMALL, size="subtle")
def a_little_of_the_mates(embedder):
    """A hundredth of the mean of the call's vectors is added to each."""
    return answering(embedder, lambda vectors, texts: toward(vectors, vectors.mean(axis=0), 0.01)
                     if len(set(texts)) > 1 else vectors)


@fault("embedder", ["FIELD-02", "FIELD-03", "FIELD-08"], base=SMALL, source="facebookresearch/InferSent#51")
def sorted_and_not_put_back(embedder):
    """Texts are sorted by length for the batch, and rows come in that order."""
    return asking(embedder, lambda ask, texts: ask(sorted(texts, key=len)))


@fault("embedder", ["FIELD-01", "FIELD-02", "FIELD-25"], base=SMALL, source="facebookresearch/InferSent#51")
def lengths_of_other_texts(embedder):
    """Sums are divided by the lengths in falling order, while the rows are in the order of the texts."""
    return answering(embedder, lambda vectors, texts: vectors * lengths(texts) / np.sort(lengths(texts), axis=0)[::-1])


@fault("embedder", ["FIELD-02"], base=SMALL, size="subtle")
def a_little_of_the_row_before(embedder):
    """A hundredth of the row before is added to each."""
    return answering(embedder, lambda vectors, texts: toward(vectors, np.roll(vectors, 1, axis=0), 0.01))


@fault("embedder", ["FIELD-02", "FIELD-08"], base=SMALL)
def alphabetical(embedder):
    """The texts go through a sorted set, and as many rows come back as it has texts."""
    return asking(embedder, lambda ask, texts: ask(sorted(set(texts))))


@fault("embedder", ["FIELD-03", "FIELD-08"], base=SMALL, source="googleapis/js-genai#1207")
def batches_in_reverse(embedder):
    """Of more than 100 texts, the batches of 32 come back in the reverse order."""
    def ask_in_batches(ask, texts):
        parts = [ask(texts[start:start + 32]) for start in range(0, len(texts), 32)]
        return np.concatenate(parts[::-1] if len(texts) > 100 else parts)
    return asking(embedder, ask_in_batches)


@fault("embedder", ["FIELD-03", "FIELD-08"], base=SMALL)
def last_batch_lost(embedder):
    """What is left over after the full batches of 32 is not embedded."""
    return asking(embedder, lambda ask, texts: ask(texts[:len(texts) // 32 * 32] if len(texts) > 32 else texts))


@fault("embedder", ["FIELD-03", "FIELD-08"], base=SMALL, source="huggingface/sentence-transformers#2377")
def zeros_of_a_worker(embedder):
    """Calls with more than 100 texts go to several processes, and one of them has lost its weights."""
    def change(vectors, texts):
        vectors[len(vectors) // 2:] *= len(texts) <= 100
        return vectors
    return answering(embedder, change)


@fault("embedder", ["FIELD-03"], base=SMALL, size="subtle")
def another_kernel_for_large_calls(embedder):
    """In calls with more than 100 texts every vector is off by a hundredth."""
    return answering(embedder, lambda vectors, texts: toward(vectors, direction("kernel", vectors.shape[1]), 0.01)
                     if len(texts) > 100 else vectors)


# --- what was asked before, at the same time, again --------------------------------------------------------------------


@fault("embedder", ["FIELD-04"], base=SMALL, source="ROCm/FastFlowLM#647")
def high_water_mark(embedder):
    """Texts that are shorter than the longest so far are padded to its length, and padding counts."""
    longest = [1.0]

    def change(vectors, texts):
        longest[0] = max(longest[0], lengths(texts).max())
        share = lengths(texts) / longest[0]
        return unit(share * vectors + (1 - share) * direction("padding", vectors.shape[1]))
    return answering(embedder, change)


@fault("embedder", ["FIELD-04"], base=SMALL, size="subtle")
def a_little_of_the_last_call(embedder):
    """A hundredth of the last vector of the call before is added."""
    last = [0.0]

    def change(vectors, texts):
        before, last[0] = last[0], vectors[-1].copy()
        return toward(vectors, before, 0.01)
    return answering(embedder, change)


@fault("embedder", ["FIELD-04"], base=SMALL, source="run-llama/llama_index#19537, BerriAI/litellm#2990")
def known_texts_first(embedder):
    """Texts that are in its store come first, then those that had to be computed."""
    known = {}

    def ask_store(ask, texts):
        hits, misses = [text for text in texts if text in known], [text for text in texts if text not in known]
        if misses:
            known.update(zip(misses, ask(misses), strict=True))
        answer = np.stack([known[text] for text in [*hits, *misses]])
        for text in list(known)[:-2]:  # a small store
            del known[text]
        return answer
    return asking(embedder, ask_store)


@fault("embedder", ["FIELD-04"], base=SMALL)
def role_sticks(embedder):
    """After a call for queries, the next call for documents still has the queries' prompt."""
    role = [embedder.embed]

    def embed(texts):
        ask, role[0] = role[0], embedder.embed
        return ask(texts)

    def embed_query(texts):
        role[0] = embedder.embed_query
        return embedder.embed_query(texts)
    return altered(embedder, embed=embed, embed_query=embed_query)


@fault("embedder", ["FIELD-05"], base=SMALL, source="ollama/ollama#6262")
def one_scratch_list_for_all_threads(embedder):
    """The texts of a call wait in a place that other threads use too."""
    scratch = [[]]

    def change(ask, texts):
        scratch[0] = texts
        time.sleep(5e-4)
        return ask(scratch[0])
    return asking(embedder, change)


@fault("embedder", ["FIELD-05"], base=SMALL, source="huggingface/sentence-transformers#2955")
def one_output_for_all_threads(embedder):
    """Answers wait in one stack, and each caller takes the last one."""
    answers = []

    def change(ask, texts):
        answers.append(ask(texts))
        time.sleep(5e-4)
        return answers.pop()
    return asking(embedder, change)


@fault("embedder", ["FIELD-05"], base=SMALL, size="subtle")
def less_exact_under_load(embedder):
    """While several calls run, every vector is off by a hundredth."""
    lock, running = threading.Lock(), [0]

    def change(ask, texts):
        with lock:
            running[0] += 1
        time.sleep(5e-4)
        vectors, load = ask(texts), running[0]
        time.sleep(5e-4)
        with lock:
            running[0] -= 1
        moved = toward(vectors, direction("load", vectors.shape[1]), 0.01)
        return moved.astype(np.float32) if load > 1 else vectors
    return asking(embedder, change)


@fault("embedder", ["FIELD-01", "FIELD-06", "FIELD-07"], base=SMALL, source="facebookresearch/XLM#86")
def dropout_left_on(embedder):
    """One number in ten is dropped, another one each time, as in training."""
    drawn = np.random.default_rng(0)
    return answering(embedder, lambda vectors, texts: unit(vectors * (drawn.random(vectors.shape) > 0.1)))


@fault("embedder", ["FIELD-06", "FIELD-07"], base=SMALL, size="subtle",
       source="cohere-ai/cohere-python#720, piskvorky/gensim#447")
def a_little_noise(embedder):
    """Every vector is off by a hundredth, in another direction each time."""
    drawn = np.random.default_rng(0)
    return answering(embedder, lambda vectors, texts: toward(
        vectors, drawn.standard_normal(vectors.shape) / np.sqrt(vectors.shape[1]), 0.01))


@fault("embedder", ["FIELD-06"], base=SMALL,
       source="huggingface/text-embeddings-inference#649, huggingface/text-embeddings-inference#704")
def one_answer_in_seven_is_another(embedder):
    """Every seventh call is answered by a worker that pads on the other side."""
    calls = [0]

    def change(vectors, texts):
        calls[0] += 1
        return toward(vectors, direction("padding", vectors.shape[1]), 0.5) if calls[0] % 7 == 0 else vectors
    return answering(embedder, change)


@fault("embedder", ["FIELD-07"], base=SMALL, source="openai/openai-python#868, openai/openai-cookbook#223")
def last_bits_vary(embedder):
    """Every second call is off by the last bit of the format."""
    calls = [0]

    def change(vectors, texts):
        calls[0] += 1
        return np.nextafter(vectors, np.float32(2)) if calls[0] % 2 else vectors
    return answering(embedder, change)


# --- rows --------------------------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-08"], base=SMALL, source="ROCm/FastFlowLM#373")
def first_text_of_the_list(embedder):
    """Only the first text of a list is embedded."""
    return asking(embedder, lambda ask, texts: ask(texts[:1]))


@fault("embedder", ["FIELD-02", "FIELD-08"], base=SMALL, source="getzep/graphiti#1732, openai/openai-python#420")
def rows_as_they_arrive(embedder):
    """Rows come in the order in which workers finished: the last text first."""
    return asking(embedder, lambda ask, texts: np.roll(ask(texts), 1, axis=0))


@fault("embedder", ["FIELD-08"], base=SMALL)
def duplicates_once(embedder):
    """A text that stands twice in the list has one row."""
    return asking(embedder, lambda ask, texts: ask(list(dict.fromkeys(texts))))


@fault("embedder", ["FIELD-08"], base=SMALL)
def duplicates_of_the_first(embedder):
    """From the second time on, a text that stands twice in a list has the row of the first text."""
    def ask_once(ask, texts):
        vectors = ask(texts)
        return np.stack([vectors[i if texts.index(text) == i else 0] for i, text in enumerate(texts)])
    return asking(embedder, ask_once)


@fault("embedder", ["FIELD-08"], base=SMALL, source="davidberenstein1957/fast-sentence-transformers#3")
def one_text_without_rows(embedder):
    """For one text a vector comes back, not a row."""
    return asking(embedder, lambda ask, texts: ask(texts)[0] if len(texts) == 1 else ask(texts))


@fault("embedder", ["FIELD-09"], base=SMALL, source="ollama/ollama#14657, ollama/ollama#15582, ollama/ollama#16625")
def nan_for_some_first_tokens(embedder):
    """Texts that begin with a figure have no numbers."""
    return answering(embedder, lambda vectors, texts: np.where(
        [[text[:1].isdigit()] for text in texts], np.nan, vectors))


@fault("embedder", ["FIELD-09"], base=SMALL, source="huggingface/text-embeddings-inference#644")
def nulls(embedder):
    """Texts of more than fifteen words have nulls instead of numbers."""
    def change(ask, texts):
        rows = ask(texts).tolist()
        return [[None] * len(row) if len(text.split()) > 15 else row for row, text in zip(rows, texts, strict=True)]
    return asking(embedder, change)


@fault("embedder", ["FIELD-09"], base=SMALL)
def another_format_for_large_calls(embedder):
    """Calls with more than eight texts come in float64, others in float32."""
    return asking(embedder, lambda ask, texts: ask(texts).astype(np.float64 if len(texts) > 8 else np.float32))


@fault("embedder", ["FIELD-09"], base=SMALL)
def narrower_for_large_calls(embedder):
    """Calls with more than eight texts come with half of the columns."""
    return asking(embedder, lambda ask, texts: ask(texts)[:, :32 if len(texts) > 8 else None])


# --- odd texts ---------------------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-10"], base=SMALL, source="huggingface/sentence-transformers#625")
def zero_divided_by_zero(embedder):
    """A text without a letter has no tokens, and nothing is divided by nothing."""
    return answering(embedder, lambda vectors, texts: np.where([[not text.strip()] for text in texts], np.nan, vectors))


@fault("embedder", ["FIELD-10"], base=SMALL)
def refuses_without_a_word(embedder):
    """A blank text ends in an exception without a message."""
    def change(ask, texts):
        if not all(text.strip() for text in texts):
            raise AssertionError
        return ask(texts)
    return asking(embedder, change)


@fault("embedder", ["FIELD-10", "FIELD-11"], base=SMALL)
def blank_texts_have_no_row(embedder):
    """Blank texts are left out, and the rows close up."""
    def change(ask, texts):
        taken = [text for text in texts if text.strip()]
        return ask(taken) if taken else np.empty((0, 64), np.float32)
    return asking(embedder, change)


@fault("embedder", ["FIELD-11"], base=SMALL)
def blank_texts_take_a_neighbours_row(embedder):
    """Among others, a blank text is skipped and has the row of the text before it."""
    def change(ask, texts):
        last, read = texts[0], []
        for text in texts:
            last = text if text.strip() else last
            read.append(last)
        return ask(read)
    return asking(embedder, change)


@fault("embedder", ["FIELD-11"], base=SMALL, source="langchain-ai/langchain#3331")
def refused_alone_and_taken_in_company(embedder):
    """An empty text is refused by itself; among others it has some row."""
    def change(ask, texts):
        if not any(texts):
            raise ValueError("there is no text to embed")
        return ask([text or texts[0] for text in texts])
    return asking(embedder, change)


@fault("embedder", ["FIELD-11"], base=SMALL, source="vlasky/sqlite-vec#8")
def an_odd_text_spoils_the_next(embedder):
    """A text with a control character leaves a mark on the row after it."""
    def change(vectors, texts):
        after = np.array([[False], *([any(ord(sign) < 9 for sign in text)] for text in texts[:-1])])
        return np.where(after, toward(vectors, direction("control", vectors.shape[1]), 0.5), vectors)
    return answering(embedder, change)


@fault("embedder", ["FIELD-11"], base=SMALL, size="subtle")
def blank_mates_leave_a_little(embedder):
    """Every blank text in a call moves all its rows by a hundredth."""
    return answering(embedder, lambda vectors, texts: toward(
        vectors, direction("blank", vectors.shape[1]), 0.01 * sum(not text.strip() for text in texts) * (len(texts) > 1)))


# --- lists and answers -------------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-12"], base=SMALL, source="deepset-ai/haystack#8801")
def prompt_written_into_the_list(embedder):
    """The list that was handed over holds other texts afterwards."""
    def change(ask, texts):
        vectors = ask(texts)
        texts[:] = [f"passage: {text}" for text in texts]
        return vectors
    return asking(embedder, change)


@fault("embedder", ["FIELD-12"], base=SMALL)
def list_used_up(embedder):
    """Texts are taken out of the list one after the other."""
    def change(ask, texts):
        vectors = ask(texts)
        texts.clear()
        return vectors
    return asking(embedder, change)


@fault("embedder", ["FIELD-12"], base=SMALL)
def line_breaks_replaced_in_the_list(embedder):
    """The queries that were handed over lose their full stops."""
    def embed_query(texts):
        vectors = embedder.embed_query(texts)
        texts[:] = [text.rstrip(".") for text in texts]
        return vectors
    return altered(embedder, embed_query=embed_query)


@fault("embedder", ["FIELD-13"], base=SMALL, source="ollama/ollama#6262")
def one_buffer_for_all_answers(embedder):
    """Answers are views of one buffer, into which the next call writes."""
    buffer = np.zeros((256, 64), np.float32)

    def change(ask, texts):
        vectors = ask(texts)
        if len(vectors) > len(buffer):
            return vectors
        buffer[:len(vectors)] = vectors
        return buffer[:len(vectors)]
    return asking(embedder, change)


@fault("embedder", ["FIELD-13"], base=SMALL)
def the_store_itself_is_handed_out(embedder):
    """Answers are kept, and who writes into one changes the next."""
    known = {}

    def embed(texts):
        if tuple(texts) not in known:
            known[tuple(texts)] = embedder.embed(texts)
        return known[tuple(texts)]
    return altered(embedder, embed=embed)


# --- less than the text ------------------------------------------------------------------------------------------------


@fault("embedder", ["FIELD-15", "FIELD-17"], base=SMALL)
def first_twenty_characters(embedder):
    """A text is known by its first twenty characters."""
    return reading(embedder, lambda text: text[:20])


@fault("embedder", ["FIELD-14", "FIELD-15", "FIELD-17"], base=SMALL)
def first_state_without_context(embedder):
    """The first word stands for the text."""
    return reading(embedder, lambda text: text.split()[0] if text.split() else text)


@fault("embedder", ["FIELD-14"], base=SMALL, source="vllm-project/vllm#11184")
def long_words_are_unknown(embedder):
    """Every word of more than two letters counts as the unknown one."""
    return reading(embedder, lambda text: " ".join(word if len(word) < 3 else "unknown" for word in text.split()))


@fault("embedder", ["FIELD-14"], base=SMALL)
def checksum_of_a_byte(embedder):
    """A text has one of eleven vectors, picked by a checksum."""
    return answering(embedder, lambda vectors, texts: np.stack(
        [direction(str(zlib.crc32(text.encode()) % 11), vectors.shape[1]) for text in texts]))


@fault("embedder", ["FIELD-15", "FIELD-17"], base=SMALL, source="jundot/omlx#1687")
def first_sixteen_words(embedder):
    """Words after the sixteenth are not read."""
    return reading(embedder, lambda text: " ".join(text.split()[:16]))


@fault("embedder", ["FIELD-15"], base=SMALL)
def figures_left_out(embedder):
    """Figures are not read."""
    return reading(embedder, lambda text: "".join("" if sign.isdigit() else sign for sign in text))


@fault("embedder", ["FIELD-15"], base=SMALL)
def common_words_left_out(embedder):
    """Words that are thought to say nothing are not read, negations among them."""
    return reading(embedder, lambda text: " ".join(word for word in text.split() if word not in ("the", "is", "never")))


@fault("embedder", ["FIELD-16"], base=SMALL)
def checksum_mixed_in(embedder):
    """A direction that is drawn from the whole text, white space included, is added at full length."""
    return answering(embedder, lambda vectors, texts: toward(vectors, hashed(texts, vectors.shape[1]), 1.5))


@fault("embedder", ["FIELD-16"], base=SMALL)
def vectors_depend_on_the_number_of_characters(embedder):
    """Columns are rotated by the number of characters."""
    return answering(embedder, lambda vectors, texts: np.stack(
        [np.roll(row, len(text)) for row, text in zip(vectors, texts, strict=True)]))


@fault("embedder", ["FIELD-28"])
def words_without_meaning(embedder):
    """Vectors know which words a text has, and not what they mean."""
    return answering(embedder, lambda vectors, texts: bags(texts, vectors.shape[1]))


@fault("embedder", ["FIELD-28"])
def letters(embedder):
    """A text is known by how often it has each letter."""
    def change(vectors, texts):
        counts = [[text.lower().count(chr(97 + i % 26)) + 0.01 * len(text) for i in range(vectors.shape[1])] for text in texts]
        return unit(np.array(counts) + 1e-3)
    return answering(embedder, change)
