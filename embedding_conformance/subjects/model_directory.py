"""What a model directory says of itself: configuration, weights, tokenizer, pooling, prompts. Nothing of it is run.

Every declaration has the file as its origin. Weights are safetensors only, since a pickle can run code when it is read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import NoVerdict, UsageError
from . import Declaration, declared

#: what sentence-transformers keeps of a model beside its modules
LIBRARY_CONFIG = "config_sentence_transformers.json"
#: roles of special tokens, and Transformers' words for them; of two the first that there is
ROLES = {"padding": ("pad",), "unknown": ("unk",), "first": ("cls", "bos"), "last": ("sep", "eos")}
#: how 1_Pooling/config.json names the modes that can be computed here: as a word, or by a switch for each (older files)
MODES = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens",
         "lasttoken": "pooling_mode_lasttoken"}
#: what safetensors calls the formats that a subject can declare
FORMATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "U8": "int8"}
BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2}
#: models that count positions from behind the padding id, so that a text can have that many tokens fewer
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "roberta-prelayernorm", "longformer")


def read_json(path: Path, name: str) -> Any:
    """The content of a JSON file; raises `UsageError` that names the subject and the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: {path.name}: {error.strerror}; looked in {path.parent}") from error
    except ValueError as error:
        raise UsageError(f"{name}: {path.name} is not valid JSON: {error}") from error


def optional_json(path: Path, name: str) -> dict[str, Any]:
    """The object in a JSON file, empty where there is no such file."""
    found = read_json(path, name) if is_file(path, name) else {}
    if not isinstance(found, dict):
        raise UsageError(f"{name}: {path.name} holds no object, but {type(found).__name__}")
    return found


def is_file(path: Path, name: str) -> bool:
    """Whether there is such a file. Raises `UsageError` where that cannot be told, as in a loop of symbolic links."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{name}: {path.name}: {error.strerror}; looked in {path.parent}") from error
    return path.is_file()


def configuration(folder: Path, name: str) -> dict[str, Any]:
    """config.json, once it and the tokenizer's settings ask to run none of the directory's own code."""
    read_json(folder / "config.json", name)  # which explains why there is none
    for file in ("config.json", "tokenizer_config.json"):
        if optional_json(folder / file, name).get("auto_map"):
            raise UsageError(f"{name}: {file} asks to run the directory's own Python code (auto_map); it is never run")
    return optional_json(folder / "config.json", name)


def weight_files(folder: Path, name: str) -> list[Path]:
    """The safetensors files of the weights, several where they are sharded.

    Raises `UsageError` where there is none, or a pickle only, and `NoVerdict` where one is missing or cut off.
    """
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if is_file(whole, name):
        files = [whole]
    elif is_file(index, name):
        shards = optional_json(index, name).get("weight_map")
        if not isinstance(shards, dict) or not all(isinstance(one, str) and Path(one).name == one for one in shards.values()):
            raise UsageError(f"{name}: {index.name} has no weight_map of names of files")
        files = [folder / shard for shard in sorted(set(shards.values()))]
        if lost := [path.name for path in files if not is_file(path, name)]:
            raise NoVerdict(f"{name}: {index.name} names {', '.join(lost)}, which {'is' if len(lost) == 1 else 'are'} missing")
    else:
        pickled = next((path.name for path in sorted(folder.glob("*.bin"))), "")
        hint = f"; {pickled} is a pickle, which can run code: save the model as safetensors" if pickled else ""
        raise UsageError(f"{name}: there is no model.safetensors in {folder}{hint}")
    for path in files:
        stored_numbers(path, name)
    return files


def stored_numbers(path: Path, name: str) -> dict[str, int]:
    """How many bytes a safetensors file holds in each format, such as {"F32": 90868000}.

    Raises `NoVerdict` where this is no such file, or not as long as its header promises.
    """
    from safetensors import SafetensorError, safe_open

    try:
        path.open("rb").close()  # the library takes a file that it may not read for one that is not there
        with safe_open(path, framework="numpy") as file:
            sizes: dict[str, int] = {}
            for key in file.keys():  # noqa: SIM118  (the file is no mapping)
                part = file.get_slice(key)
                dtype = str(part.get_dtype())
                count = math.prod(part.get_shape())
                sizes[dtype] = sizes.get(dtype, 0) + count * BYTES.get(dtype, 1)
            return sizes
    except SafetensorError as error:
        raise NoVerdict(f"{name}: {path.name} is cut off, or no safetensors file: {error}") from error
    except OSError as error:
        raise UsageError(f"{name}: {path.name}: {error.strerror or error}; looked in {path.parent}") from error


def precision(files: list[Path], name: str) -> dict[str, Declaration]:
    """The format in which most of what is stored is."""
    sizes: Counter[str] = Counter()
    for path in files:
        sizes.update(stored_numbers(path, name))
    most = max(sizes, key=sizes.__getitem__, default="")
    return declared({"precision": FORMATS[most]}, files[0].name) if most in FORMATS else {}


def digest(files: list[Path]) -> str:
    """The sha256 of one file, or of the sha256 of several in the order of their names."""
    each = [sha256(path) for path in files]
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


@cache
def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def architecture(config: Mapping[str, Any]) -> dict[str, Declaration]:
    """Declares that vectors depend on their neighbours, and the plain BERT that the oracle computes.

    A variant of BERT, or another model, is judged without that oracle.
    """
    plain = (config.get("model_type") == "bert" and config.get("hidden_act", "gelu") == "gelu"
             and not config.get("is_decoder") and config.get("position_embedding_type", "absolute") == "absolute")
    return declared({"contextual": True, **({"architecture": "bert"} if plain else {})}, "config.json")


def modules(folder: Path, name: str) -> list[tuple[str, str]]:
    """The kind and the folder of each module of sentence-transformers, such as ("Pooling", "1_Pooling"); empty without
    modules.json. Raises `UsageError` where a module is no part of that library, since it would be the directory's own code.
    """
    if not is_file(folder / "modules.json", name):
        return []
    found = []
    listed = read_json(folder / "modules.json", name)
    for one in listed if isinstance(listed, list) else [listed]:
        if not isinstance(one, dict) or not isinstance(one.get("type"), str) or not isinstance(one.get("path"), str):
            raise UsageError(f"{name}: modules.json does not list modules with a type and a path")
        found.append((one["type"], one["path"]))
        if Path(one["path"]).is_absolute() or ".." in Path(one["path"]).parts:
            raise UsageError(f"{name}: modules.json names a path outside of its folder: {one['path']}")
    return found


def sentence_vectors(folder: Path, name: str) -> dict[str, Declaration]:
    """The declared pooling and normalisation, as modules.json and the pooling's own file say; empty where they do not.

    Modules that cannot be computed here, such as a linear layer, leave both undeclared, and so do vectors that are cut.
    """
    if truncated(folder, name):
        return {}
    found = modules(folder, name)
    kinds = [kind.rpartition(".")[2] for kind, _ in found]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return {}
    path = folder / found[1][1] / "config.json"
    pooling = pooling_mode(path, name)
    # What leaves the prompt's states out of the pooling knows more than the states.
    if pooling not in MODES or (prompts(folder, name) and not read_json(path, name).get("include_prompt", True)):
        return {}
    return (declared({"pooling": pooling}, f"{found[1][1]}/config.json")
            | declared({"normalized": len(found) == 3}, "modules.json"))


def truncated(folder: Path, name: str) -> int | None:
    """To how many numbers sentence-transformers cuts the vectors, which changes their length; None where it keeps all."""
    size = optional_json(folder / LIBRARY_CONFIG, name).get("truncate_dim")
    return size if isinstance(size, int) else None


def pooling_mode(path: Path, name: str) -> str:
    """mean, cls, max or the library's word for another mode; an empty string for several."""
    said = read_json(path, name)
    on = [key for key, value in said.items() if key.startswith("pooling_mode_") and value is True]
    if isinstance(said.get("pooling_mode"), str):
        return "" if on else str(said["pooling_mode"])
    words = {switch: mode for mode, switch in MODES.items()}
    return words.get(on[0], on[0].removeprefix("pooling_mode_")) if len(on) == 1 else ""


def limit(folder: Path, config: Mapping[str, Any], name: str) -> dict[str, Declaration]:
    """The largest number of tokens, and the file that says it; empty where none does."""
    positions = config.get("max_position_embeddings") or config.get("n_positions")
    if positions and config.get("model_type") in OFFSET_POSITIONS:
        positions -= (config.get("pad_token_id") or 0) + 1
    for file, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        value = optional_json(folder / file, name).get(key)
        # A tokenizer without a limit has one of 10^30.
        if isinstance(value, int | float) and 0 < value <= (positions or 10**9):
            return declared({"max_seq_length": int(value)}, file)
    return declared({"max_seq_length": int(positions)}, "config.json") if positions else {}


def prompts(folder: Path, name: str) -> dict[str, Declaration]:
    """What stands before a text in the role of a query or of a document; empty where no role has anything."""
    said = optional_json(folder / LIBRARY_CONFIG, name).get("prompts") or {}
    if not isinstance(said, dict):
        raise UsageError(f"{name}: {LIBRARY_CONFIG}: prompts must map roles to texts")
    texts = {role: text or "" for role, text in said.items()}
    return declared({"prompts": texts}, LIBRARY_CONFIG) if any(texts.values()) else {}


def case_and_accents(folder: Path, name: str) -> dict[str, Declaration]:
    """Whether the tokenizer folds upper case and takes accents off, as the normalizer of tokenizer.json says."""
    normalizer = optional_json(folder / "tokenizer.json", name).get("normalizer")
    steps = list(_steps(normalizer))
    lower = any(step.get("type") == "Lowercase" or (step.get("type") == "BertNormalizer" and step.get("lowercase"))
                for step in steps)
    # BertNormalizer takes accents off where it is told to, or, untold, where it folds case. For StripAccents an accent must
    # have been taken apart from its letter before.
    bare = apart = False
    for step in steps:
        kind = step.get("type")
        apart = kind in ("NFD", "NFKD") or (apart and kind not in ("NFC", "NFKC", "Precompiled"))
        told = step.get("lowercase") if step.get("strip_accents") is None else step["strip_accents"]
        bare = bare or (kind == "StripAccents" and apart) or (kind == "BertNormalizer" and bool(told))
    found = declared({"lowercase": lower, "strip_accents": bare}, "tokenizer.json")
    if optional_json(folder / "sentence_bert_config.json", name).get("do_lower_case"):
        found |= declared({"lowercase": True}, "sentence_bert_config.json")
    return found


def read_tokenizer(folder: Path, name: str) -> Any:
    """The ``tokenizers.Tokenizer`` of a directory."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the class that tokenizers raises is Exception itself
        raise NoVerdict(f"{name}: tokenizer.json cannot be read: {error}") from error


def special_tokens(folder: Path, name: str) -> dict[str, str] | None:
    """The special tokens by role, as the tokenizer's settings name them; None where there are no settings."""
    settings = (optional_json(folder / "tokenizer_config.json", name)
                | optional_json(folder / "special_tokens_map.json", name))
    found: dict[str, str] = {}
    for role, keys in ROLES.items():
        said = [settings.get(f"{key}_token") for key in keys]
        texts = [one["content"] if isinstance(one, dict) else one for one in said if one]
        found |= {role: texts[0]} if texts else {}
    return found or None


def special_of(tokenizer: Any) -> dict[str, str]:
    """The special tokens by role, as a tokenizer of Transformers knows them."""
    found = {role: [text for key in keys if (text := getattr(tokenizer, f"{key}_token", None))]
             for role, keys in ROLES.items()}
    return {role: str(texts[0]) for role, texts in found.items() if texts}


def _steps(normalizer: Any) -> Any:
    if isinstance(normalizer, dict):
        if normalizer.get("type") == "Sequence":
            for one in normalizer.get("normalizers", []):
                yield from _steps(one)
        else:
            yield normalizer
