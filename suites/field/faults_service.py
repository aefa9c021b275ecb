"""Faulty and sound services."""

import base64
import json
import threading
import time

import numpy as np

from ...proof import altered, fault, sound
from ...subjects import wire


def answering(service, change):
    """The service with other answers to what it answers well: `change(value, request)` changes or replaces the JSON value."""
    def post(body):
        status, headers, content = service.post(body)
        if status != 200:
            return status, headers, content
        value = json.loads(content)
        changed = change(value, json.loads(body))
        return status, headers, json.dumps(value if changed is None else changed).encode()
    return altered(service, post=post)


def asked(service, change):
    """The service that understands another request: `change(request)` changes or replaces the JSON value."""
    def post(body):
        try:
            request = json.loads(body)
        except ValueError:
            return service.post(body)
        if not isinstance(request, dict):
            return service.post(body)
        changed = change(request)
        return service.post(json.dumps(request if changed is None else changed).encode())
    return altered(service, post=post)


def returning(service, when, status, content, media="application/json"):
    """The service that returns this instead of a refusal, where `when(request)` holds; None stands for what is no JSON."""
    def post(body):
        answer = service.post(body)
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        return (status, {"content-type": media}, content) if answer[0] == 400 and when(request) else answer
    return altered(service, post=post)


def moved(service, change, when=lambda body: True):
    """The service with other vectors where `when(body of the request)` holds: `change(rows)` of all rows of an answer."""
    def post(body):
        answer = wire.Answer(*service.post(body))
        if when(body):
            answer = wire.with_vectors(answer, change)
        return answer.status, answer.headers, answer.body
    return altered(service, post=post)


def entries(service, change):
    """The service with other entries: `change(data, request)` gives the list."""
    def changed(value, request):
        value["data"] = change(value["data"], request)
    return answering(service, changed)


def each(service, change):
    """The service with every entry changed in place."""
    def changed(data, request):
        for entry in data:
            change(entry, request)
        return data
    return entries(service, changed)


def coarse(rows, bits=5):
    """Numbers of a narrow format: `bits` binary digits, which turns a vector by about 1e-4 in 1 - cosine."""
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.round(mantissa * 2**bits) / 2**bits, exponent)


def embeddings(data, rows):
    """The same entries with other embeddings, in this order."""
    return [entry | {"embedding": row} for entry, row in zip(data, rows, strict=True)]


def is_list(request):
    return isinstance(request["input"], list)


# --- numbers of entries, indices ---------------------------------------------------------------------------------------


@fault("service", ["FIELD-70"], source="ROCm/FastFlowLM#373")
def only_the_first_input(service):
    """Of a list only the first text is embedded."""
    return entries(service, lambda data, request: data[:1])


@fault("service", ["FIELD-70"])
def half_of_the_entries(service):
    """The second half of a longer list is missing."""
    return entries(service, lambda data, request: data[:(len(data) + 1) // 2])


@fault("service", ["FIELD-70"])
def one_entry_more(service):
    """The last entry comes twice, with an index of its own."""
    return entries(service, lambda data, request: [*data, data[-1] | {"index": len(data)}])


@fault("service", ["FIELD-70"], source="xorbitsai/inference#5240")
def index_of_the_whole_batch(service):
    """Indices go on from those of the texts that were answered before."""
    seen = []

    def change(data, request):
        start = len(seen)
        seen.extend(data)
        return [entry | {"index": entry["index"] + start} for entry in data]
    return entries(service, change)


@fault("service", ["FIELD-70"])
def index_from_one(service):
    """Indices count from one."""
    return entries(service, lambda data, request: [entry | {"index": entry["index"] + 1} for entry in data])


@fault("service", ["FIELD-70"], source="elizaOS/eliza#28783")
def index_always_zero(service):
    """Every entry has the index 0."""
    return entries(service, lambda data, request: [entry | {"index": 0} for entry in data])


@fault("service", ["FIELD-70"], source="samfoy/pi-session-search#13")
def index_zero_left_out(service):
    """The index 0 is a default, and defaults are left out."""
    return entries(service, lambda data, request: [{key: value for key, value in entry.items() if key != "index" or value}
                                                   for entry in data])


@fault("service", ["FIELD-70"])
def index_as_text(service):
    """Indices are texts."""
    return entries(service, lambda data, request: [entry | {"index": str(entry["index"])} for entry in data])


@fault("service", ["FIELD-70"])
def data_is_the_vectors(service):
    """The list holds the vectors themselves and no objects around them."""
    return entries(service, lambda data, request: [entry["embedding"] for entry in data])


@fault("service", ["FIELD-83"], source="raphaelsty/neural-cherche#4")
def duplicates_dropped(service):
    """A text that comes again is left out, and the others move up."""
    def change(request):
        inputs = request.get("input")
        if isinstance(inputs, list) and all(isinstance(text, str) for text in inputs):
            request["input"] = list(dict.fromkeys(inputs))
    return asked(service, change)


@fault("service", ["FIELD-71"], source="getzep/graphiti#1732")
def indices_by_position(service):
    """The answers come as they are ready, the last text first, and are numbered as they come."""
    return entries(service, lambda data, request: embeddings(data, [entry["embedding"] for entry in data[::-1]]))


@fault("service", ["FIELD-71"])
def left_sorted_by_length(service):
    """Texts are sorted by their length for the batch, and the vectors are not put back."""
    def change(data, request):
        texts = request["input"] if is_list(request) else [request["input"]]
        order = sorted(range(len(data)), key=lambda place: len(texts[place]))
        return embeddings(data, [data[place]["embedding"] for place in order])
    return entries(service, change)


@fault("service", ["FIELD-71"], source="run-llama/llama_index#19537")
def cache_hits_first(service):
    """Short texts are kept in a cache, and their vectors stand before those of the others."""
    def change(data, request):
        texts = request["input"] if is_list(request) else [request["input"]]
        order = sorted(range(len(data)), key=lambda place: len(texts[place]) > 20)
        return embeddings(data, [data[place]["embedding"] for place in order])
    return entries(service, change)


# --- a single text, duplicates, the writing of a request ---------------------------------------------------------------


@fault("service", ["FIELD-72"])
def a_string_is_a_list_of_characters(service):
    """A single string is taken for the list of its characters."""
    def change(request):
        if isinstance(request.get("input"), str):
            request["input"] = list(request["input"])
    return asked(service, change)


@fault("service", ["FIELD-72"], source="ollama/ollama#6187")
def a_string_is_not_normalised(service):
    """A single string goes another way, on which the vector is not scaled to length one."""
    return moved(service, lambda rows: rows * 20, lambda body: b'"input": "' in body)


@fault("service", ["FIELD-72"], size="subtle")
def a_string_in_a_narrow_format(service):
    """A single string goes another way, on which numbers have five binary digits."""
    return moved(service, coarse, lambda body: b'"input": "' in body)


@fault("service", ["FIELD-83"])
def a_repeated_text_gets_nothing(service):
    """A text that came before in the same request gets zeros."""
    def change(data, request):
        texts = request["input"] if is_list(request) else [request["input"]]
        return [entry | ({"embedding": [0.0] * len(entry["embedding"])}
                         if isinstance(entry["embedding"], list) and texts[place] in texts[:place] else {})
                for place, entry in enumerate(data)]
    return entries(service, change)


@fault("service", ["FIELD-83"], size="subtle")
def a_repeated_text_from_a_narrow_cache(service):
    """A text that came before in the same request is taken from a cache whose numbers have five binary digits."""
    def change(data, request):
        texts = request["input"] if is_list(request) else [request["input"]]
        return [entry | ({"embedding": coarse(np.array(entry["embedding"])).tolist()}
                         if isinstance(entry["embedding"], list) and texts[place] in texts[:place] else {})
                for place, entry in enumerate(data)]
    return entries(service, change)


@fault("service", ["FIELD-82"])
def pairs_of_escapes_lost(service):
    """A character that is escaped as a pair becomes a question mark."""
    def change(request):
        if is_list(request):
            request["input"] = ["".join("?" if ord(sign) > 0xFFFF else sign for sign in text) if isinstance(text, str) else text
                                for text in request["input"]]

    escaped = asked(service, change)
    return altered(service, post=lambda body: (escaped if b"\\ud8" in body else service).post(body))


@fault("service", ["FIELD-82"])
def utf8_read_as_latin1(service):
    """The bytes of a request are read as Latin-1."""
    def post(body):
        return service.post(body if body.isascii() else body.decode("latin-1").encode())
    return altered(service, post=post)


@fault("service", ["FIELD-82"])
def the_input_must_come_first(service):
    """The body is searched for its first list, which need not be the input."""
    def post(body):
        answer = service.post(body)
        return answer if body.lstrip(b"{ \n").startswith(b'"input"') else service.post(
            wire.request(["[]"] * 4 if answer[0] == 200 else [], service.model))
    return altered(service, post=post)


@fault("service", ["FIELD-82"], size="subtle")
def escapes_in_a_narrow_format(service):
    """Requests with escapes go another way, on which numbers have five binary digits."""
    return moved(service, coarse, lambda body: b"\\u" in body)


# --- the form of the numbers -------------------------------------------------------------------------------------------


def in_base64(service, make):
    """The service with other base64: `make(row)` gives the bytes of a vector."""
    def change(entry, request):
        if isinstance(entry["embedding"], str):
            row = wire.decoded(entry["embedding"], 0, "base64")
            entry["embedding"] = base64.b64encode(make(row)).decode()
    return each(service, change)


@fault("service", ["FIELD-73"], source="openai/openai-node#1542, BerriAI/litellm#42426, n8n-io/n8n#16647")
def base64_of_the_bytes_of_the_list(service):
    """base64 holds the written list of numbers, cut to a multiple of four bytes."""
    def make(row):
        text = json.dumps(row.tolist()).encode()
        return text[:len(text) // 4 * 4]
    return in_base64(service, make)


@fault("service", ["FIELD-73", "FIELD-76"])
def base64_of_half_precision(service):
    """base64 holds numbers of float16."""
    return in_base64(service, lambda row: row.astype("<f2").tobytes())


@fault("service", ["FIELD-73", "FIELD-76"])
def base64_of_double_precision(service):
    """base64 holds numbers of float64."""
    return in_base64(service, lambda row: row.astype("<f8").tobytes())


@fault("service", ["FIELD-73"])
def base64_in_the_other_byte_order(service):
    """base64 holds numbers of float32 with the highest byte first."""
    return in_base64(service, lambda row: row.astype(">f4").tobytes())


@fault("service", ["FIELD-73"])
def base64_before_normalisation(service):
    """base64 is made before the vector is scaled to length one."""
    return in_base64(service, lambda row: (row * 12).astype("<f4").tobytes())


@fault("service", ["FIELD-73"], size="subtle")
def base64_of_a_narrow_format(service):
    """base64 is made of numbers that had five binary digits."""
    return in_base64(service, lambda row: coarse(row).astype("<f4").tobytes())


@fault("service", ["FIELD-73"],
       source="sgl-project/sglang#28803, runpod-workers/worker-infinity-embedding#30, Lightning-AI/LitServe#741")
def encoding_ignored(service):
    """`encoding_format` is accepted, and the answer is a list all the same."""
    return asked(service, lambda request: {key: value for key, value in request.items() if key != "encoding_format"})


@fault("service", ["FIELD-74"])
def always_base64(service):
    """Vectors come as base64, also where floats were asked for."""
    return asked(service, lambda request: request | {"encoding_format": "base64"})


@fault("service", ["FIELD-74"])
def numbers_as_texts(service):
    """Each number is a text."""
    def change(entry, request):
        if isinstance(entry["embedding"], list):
            entry["embedding"] = [str(number) for number in entry["embedding"]]
    return each(service, change)


@fault("service", ["FIELD-74"])
def a_list_around_each_vector(service):
    """A vector comes as a list that holds the list of its numbers."""
    def change(entry, request):
        if isinstance(entry["embedding"], list):
            entry["embedding"] = [entry["embedding"]]
    return each(service, change)


@fault("service", ["FIELD-75"], source="huggingface/text-embeddings-inference#644")
def null_for_what_is_no_number(service):
    """A number that is none is written as null; texts that begin with a blank or a digit have one."""
    def change(data, request):
        texts = request["input"] if is_list(request) else [request["input"]]
        for entry, text in zip(data, texts, strict=True):
            if isinstance(entry["embedding"], list) and not text[:1].isalpha():
                entry["embedding"][1] = None
        return data
    return entries(service, change)


@fault("service", ["FIELD-75"], source="ollama/ollama#14657")
def an_internal_error_for_some_texts(service):
    """A long text of one letter has no vector, and the service fails."""
    def post(body):
        failed = 500, {"content-type": "application/json"}, b'{"error": "failed to encode response: unsupported value: NaN"}'
        return failed if b"AAAA" in body else service.post(body)
    return altered(service, post=post)


@fault("service", ["FIELD-75", "FIELD-85"], source="neuml/txtai#222")
def the_word_nan(service):
    """A number that is none is written as NaN, which JSON does not have."""
    def change(entry, request):
        if isinstance(entry["embedding"], list):
            entry["embedding"][0] = float("nan")
    return each(service, change)


@fault("service", ["FIELD-76"], source="openai/openai-node#1542")
def another_size_for_base64(service):
    """base64 holds a quarter of the numbers."""
    return in_base64(service, lambda row: row[:len(row) // 4].astype("<f4").tobytes())


@fault("service", ["FIELD-76"])
def the_last_number_left_out(service):
    """A request of a single text is answered with one number less."""
    def change(data, request):
        short = isinstance(data[0]["embedding"], list) and not is_list(request)
        return [entry | {"embedding": entry["embedding"][:-1]} for entry in data] if short else data
    return entries(service, change)


@fault("service", ["FIELD-77"])
def dimensions_ignored(service):
    """`dimensions` is accepted, and the vectors have all their numbers all the same."""
    return asked(service, lambda request: {key: value for key, value in request.items() if key != "dimensions"})


def shortened(service, change):
    """The service that makes fewer dimensions of the whole vectors by itself: `change(rows, size)`."""
    whole = dimensions_ignored(service)

    def post(body):
        answer = wire.Answer(*service.post(body))
        size = json.loads(body).get("dimensions") if answer.status == 200 else None
        if size is None:
            return answer.status, answer.headers, answer.body
        answer = wire.with_vectors(wire.Answer(*whole.post(body)), lambda rows: change(rows, size))
        return answer.status, answer.headers, answer.body
    return altered(service, post=post)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@fault("service", ["FIELD-77"], source="vllm-project/semantic-router#2183")
def fewer_dimensions_are_not_normalised(service):
    """The first numbers are returned as they are, shorter than one."""
    return shortened(service, lambda rows, size: rows[:, :size])


@fault("service", ["FIELD-77"])
def fewer_dimensions_are_the_last_ones(service):
    """The last numbers are returned instead of the first."""
    return shortened(service, lambda rows, size: unit(rows[:, -size:]))


@fault("service", ["FIELD-77"], size="subtle")
def fewer_dimensions_in_a_narrow_format(service):
    """The first numbers are kept with five binary digits."""
    return shortened(service, lambda rows, size: coarse(unit(rows[:, :size])))


# --- errors ------------------------------------------------------------------------------------------------------------


def is_empty(request):
    return isinstance(request, dict) and request.get("input") in ([], "", [""], ["hello", "", "world"])


@fault("service", ["FIELD-78"])
def an_error_with_status_200(service):
    """What is wrong with a request stands in an answer with status 200."""
    return returning(service, lambda request: not is_empty(request), 200, b'{"error": {"message": "bad request"}}')


@fault("service", ["FIELD-78"])
def broken_json_is_an_internal_error(service):
    """A request that is no JSON makes the service fail."""
    return returning(service, lambda request: request is None, 500, b'{"error": "internal"}')


@fault("service", ["FIELD-78"], source="vllm-project/vllm#5906")
def a_number_is_an_internal_error(service):
    """A number as input makes the service fail, and its server shows a page."""
    return returning(service, lambda request: isinstance(request, dict) and request.get("input") == 7, 500,
                     b"<html><body>Internal Server Error</body></html>", "text/html")


@fault("service", ["FIELD-78"])
def a_number_is_taken_for_a_text(service):
    """A number as input is embedded as the text of its digits."""
    return asked(service, lambda request: request | ({"input": str(request["input"])} if type(request.get("input")) is int
                                                     else {}))


@fault("service", ["FIELD-78"])
def no_input_is_an_empty_answer(service):
    """A request without input is answered with an empty list."""
    return returning(service, lambda request: isinstance(request, dict) and request.get("input") is None, 200,
                     b'{"object": "list", "data": [], "model": "reference"}')


@fault("service", ["FIELD-78"])
def refused_with_a_page(service):
    """A refusal is a page of HTML."""
    return returning(service, lambda request: not is_empty(request), 400, b"<!doctype html><title>400</title>", "text/html")


@fault("service", ["FIELD-79"], source="sgl-project/sglang#4988")
def an_empty_text_is_an_internal_error(service):
    """An empty text makes the service fail."""
    return returning(service, lambda request: is_empty(request) and request["input"] != [], 500, b'{"error": "internal"}')


@fault("service", ["FIELD-79"])
def an_empty_list_is_an_internal_error(service):
    """An empty list makes the service fail."""
    return returning(service, lambda request: is_empty(request) and request["input"] == [], 500, b'{"error": "internal"}')


@fault("service", ["FIELD-79"], source="MinishLab/model2vec#114")
def an_empty_text_is_null(service):
    """An empty text has a vector of nulls."""
    return returning(service, lambda request: is_empty(request) and request["input"] in ("", [""]), 200, json.dumps(
        {"object": "list", "model": "reference", "data": [{"object": "embedding", "index": 0, "embedding": [None] * 24}]}
    ).encode())


@fault("service", ["FIELD-79"])
def an_empty_text_is_left_out(service):
    """Of a list the empty texts are left out."""
    def change(request):
        inputs = request.get("input")
        if isinstance(inputs, list) and any(inputs):
            request["input"] = [text for text in inputs if text]
    return asked(service, change)


@fault("service", ["FIELD-79"], source="JustVugg/colibri#1589")
def half_of_a_pair_is_an_internal_error(service):
    """Half of a pair of escapes cannot be written as UTF-8, and the service fails."""
    def post(body):
        failed = 500, {"content-type": "application/json"}, b'{"error": "surrogates not allowed"}'
        return failed if b'\\ud83d"' in body else service.post(body)
    return altered(service, post=post)


# --- what stands around the vectors ------------------------------------------------------------------------------------


@fault("service", ["FIELD-80"], source="tenstorrent/tt-inference-server#1498")
def no_model_named(service):
    """The answer does not say which model made the vectors."""
    return answering(service, lambda value, request: {key: part for key, part in value.items() if key != "model"})


@fault("service", ["FIELD-80"])
def another_model_for_longer_lists(service):
    """Longer lists go to a worker that has another model."""
    return answering(service, lambda value, request: value | ({"model": "other"} if len(value["data"]) > 4 else {}))


@fault("service", ["FIELD-80"])
def no_object_named(service):
    """Entries do not say that they are embeddings."""
    return entries(service, lambda data, request: [{key: part for key, part in entry.items() if key != "object"}
                                                   for entry in data])


@fault("service", ["FIELD-81"])
def no_tokens_counted(service):
    """The counts of tokens are zero."""
    return answering(service, lambda value, request: value | {"usage": {"prompt_tokens": 0, "total_tokens": 0}})


@fault("service", ["FIELD-81"], source="keldenl/gpt-llama.cpp#26")
def usage_is_null(service):
    """Some answers have no counts, others have."""
    return answering(service, lambda value, request: value | ({"usage": None} if len(value["data"]) > 1 else {}))


@fault("service", ["FIELD-81"])
def only_the_last_text_is_counted(service):
    """The tokens of a list are those of its last text."""
    def change(value, request):
        if is_list(request) and request["input"]:
            tokens = len(request["input"][-1].split()) + 2
            value["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return answering(service, change)


@fault("service", ["FIELD-85"])
def json_called_html(service):
    """The media type is that of a page."""
    def post(body):
        status, _, content = service.post(body)
        return status, {"content-type": "text/html"}, content
    return altered(service, post=post)


@fault("service", ["FIELD-85"])
def something_after_the_json(service):
    """After the JSON of an answer comes the beginning of another one."""
    def post(body):
        status, headers, content = service.post(body)
        return status, headers, content + (b"\n{" if status == 200 else b"")
    return altered(service, post=post)


def overlap():
    """Let requests of other threads come in; a request of the main thread is alone."""
    if threading.current_thread() is not threading.main_thread():
        time.sleep(0.02)


@fault("service", ["FIELD-84"], source="ollama/ollama#6262")
def one_buffer_for_all(service):
    """The request is kept where another one, which comes meanwhile, overwrites it."""
    kept = {}

    def post(body):
        kept["body"] = body
        overlap()
        return service.post(kept["body"])
    return altered(service, post=post)


@fault("service", ["FIELD-84"], source="xorbitsai/inference#5240")
def indices_of_requests_at_the_same_time(service):
    """Requests that come together are one batch, and the indices are those in the batch."""
    lock, running = threading.Lock(), []

    def post(body):
        with lock:
            start = len(running)
            running.append(body)
        overlap()
        status, headers, content = service.post(body)
        with lock:
            running.remove(body)
        if status != 200:
            return status, headers, content
        value = json.loads(content)
        for entry in value["data"]:
            entry["index"] += start
        return status, headers, json.dumps(value).encode()
    return altered(service, post=post)


# --- sound -------------------------------------------------------------------------------------------------------------


@sound("service")
def entries_in_another_order(service):
    """The entries come as they are ready, the last text first, each with the index of its input."""
    return entries(service, lambda data, request: data[::-1])


@sound("service")
def options_refused(service):
    """base64 and fewer dimensions are refused."""
    def post(body):
        answer = service.post(body)
        if answer[0] == 200 and (b'"base64"' in body or b'"dimensions"' in body):
            return 422, {"content-type": "text/plain"}, b"unknown field"
        return answer
    return altered(service, post=post)


@sound("service")
def empty_texts_answered(service):
    """An empty text has the vector of a blank, and an empty list an empty answer."""
    def change(request):
        if request.get("input") == "":
            request["input"] = " "
        elif isinstance(request.get("input"), list):
            request["input"] = [" " if text == "" else text for text in request["input"]]
    blanks = asked(service, change)
    return returning(blanks, lambda request: isinstance(request, dict) and request.get("input") == [], 200,
                     b'{"object": "list", "data": [], "model": "reference"}')


@sound("service")
def refusals_in_plain_text(service):
    """Refusals are lines of text."""
    return returning(service, lambda request: True, 422, b"Failed to deserialize the JSON body", "text/plain; charset=utf-8")


@sound("service")
def no_usage(service):
    """Tokens are not counted."""
    return answering(service, lambda value, request: {key: part for key, part in value.items() if key != "usage"})


@sound("service")
def more_is_said(service):
    """Answers have fields that nobody asked for, and the media type names its character set."""
    def post(body):
        status, _, content = wide.post(body)
        return status, {"Content-Type": "application/json; charset=utf-8", "X-Request-Id": "7"}, content

    wide = answering(service, lambda value, request: value | {"id": "embd-1", "created": 1, "timings": None})
    return altered(service, post=post)


@sound("service", declares={"precision": "bfloat16"})
def numbers_of_bfloat16(service):
    """Every answer is rounded to bfloat16 after another way of summing up."""
    calls = []

    def change(rows):
        calls.append(1)
        shaken = rows * (1 + 2e-3 * np.sin(np.arange(rows.shape[1]) + len(calls)))
        return coarse(shaken, 8)
    return moved(service, change)


@sound("service")
def vectors_of_other_lengths(service):
    """Vectors are not scaled to length one, and fewer dimensions are the first numbers as they are."""
    longer = shortened(service, lambda rows, size: rows[:, :size])
    return moved(longer, lambda rows: rows * 7.5)
