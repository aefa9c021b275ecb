"""What files say of a model, against what the libraries make of the same files."""

import json

import pytest

from embedding_conformance.errors import NoVerdict, UsageError
from embedding_conformance.subjects import model_directory as files

from .model_folders import write

tokenizers = pytest.importorskip("tokenizers")
N = tokenizers.normalizers


@pytest.mark.parametrize("normalizer", [
    None, N.Lowercase(), N.NFC(), N.NFD(), N.StripAccents(), N.NFKC(),
    *(N.BertNormalizer(lowercase=lower, strip_accents=strip) for lower in (True, False) for strip in (None, True, False)),
    N.Sequence([N.NFD(), N.StripAccents()]), N.Sequence([N.NFKD(), N.Lowercase(), N.StripAccents()]),
    N.Sequence([N.NFD(), N.NFC(), N.StripAccents()]), N.Sequence([N.Sequence([N.NFD(), N.StripAccents()]), N.Lowercase()]),
], ids=str)
def test_case_and_accents_are_what_the_tokenizer_does(tmp_path, normalizer):
    """On a letter that has both, in one character."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"x": 0}, unk_token="x"))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    made = normalizer.normalize_str("É") if normalizer is not None else "É"
    found = {key: one.value for key, one in files.case_and_accents(tmp_path, "x").items()}
    bare = made.lower() == "e"
    assert found == {"lowercase": made == made.lower(), "strip_accents": bare}


def test_case_that_sentence_transformers_folds(tmp_path):
    write(tmp_path / "tokenizer.json", {"normalizer": None})
    write(tmp_path / "sentence_bert_config.json", {"do_lower_case": True})
    assert files.case_and_accents(tmp_path, "x")["lowercase"].origin == "sentence_bert_config.json"


@pytest.mark.parametrize(("config", "bert", "tokenizer", "limit"), [
    ({"max_position_embeddings": 512}, {"max_seq_length": 128}, {"model_max_length": 256}, (128, "sentence_bert_config.json")),
    ({"max_position_embeddings": 512}, {}, {"model_max_length": 256}, (256, "tokenizer_config.json")),
    ({"max_position_embeddings": 512}, {"max_seq_length": None}, {"model_max_length": 10**30}, (512, "config.json")),
    ({"max_position_embeddings": 512}, {"max_seq_length": 1024}, {}, (512, "config.json")),
    ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, {}, {}, (512, "config.json")),
    ({"n_positions": 1024}, {}, {}, (1024, "config.json")),
    ({}, {}, {"model_max_length": 10**30}, None),
])
def test_the_limit_is_the_nearest_one_that_the_model_has_positions_for(tmp_path, config, bert, tokenizer, limit):
    write(tmp_path / "sentence_bert_config.json", bert)
    write(tmp_path / "tokenizer_config.json", tokenizer)
    found = files.limit(tmp_path, config, "x").get("max_seq_length")
    assert (found and (found.value, found.origin)) == limit


@pytest.mark.parametrize(("said", "mode"), [
    ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"), ({"pooling_mode": "mean"}, "mean"),
    ({"pooling_mode_lasttoken": True}, "lasttoken"), ({"pooling_mode": "weightedmean"}, "weightedmean"),
    ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, ""), ({}, ""),
])
def test_the_mode_of_pooling(tmp_path, said, mode):
    write(tmp_path / "config.json", said)
    assert files.pooling_mode(tmp_path / "config.json", "x") == mode


def test_prompts_that_are_no_texts_are_refused(tmp_path):
    write(tmp_path / "config_sentence_transformers.json", {"prompts": {"query": None, "document": ""}})
    assert files.prompts(tmp_path, "x") == {}
    for wrong in (["query: "], {"query": 1}):
        write(tmp_path / "config_sentence_transformers.json", {"prompts": wrong})
        with pytest.raises(UsageError, match=r"maps? (roles|words) to texts"):
            files.prompts(tmp_path, "x")


def with_header(header):
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize("data", [
    b"", b"\xff" * 8, with_header(b"[]"), with_header(b"not json") + b"1234",
    with_header(json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": "x"}}).encode()) + b"1234",
    with_header(json.dumps({"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}).encode()) + b"1234",
], ids=["empty", "endless", "a list", "no JSON", "offsets that are text", "cut off"])
def test_a_file_that_is_no_safetensors(tmp_path, data):
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(NoVerdict, match="is cut off, or no safetensors file"):
        files.stored_numbers(tmp_path / "model.safetensors", "x")
