"""Small model directories of the families that embedders come from, each with a tokenizer of its family's kind."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embedding_conformance.suites.field import inputs

from embedding_conformance.data import probe
from embedding_conformance.texts import all_texts

from .model_folders import save, write

#: rows of the table at most
VOCABULARY = 4000
#: tokens of a text at most; families that count positions from the padding id need two more
LIMIT = 128
#: large enough for words to make a difference in an untrained network
SPREAD = {"initializer_range": 0.2, "initializer_factor": 3.0}
LAYERS = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
OFFSET = LAYERS | {"max_position_embeddings": LIMIT + 2, "type_vocab_size": 1}
GROUPED = LAYERS | {"num_key_value_heads": 2, "head_dim": 12}

ANGLES = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
BRACKETS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


@dataclass(frozen=True)
class Family:
    """What a directory is made from."""

    #: of its configuration
    kind: str
    config: dict[str, Any]
    #: wordpiece, unigram or bytes
    tokenizer: str
    special: dict[str, str]
    #: the special tokens before and after a text
    around: tuple[str, str]
    pooling: str = "mean"
    prompts: dict[str, str] = field(default_factory=dict)
    padding_side: str = "right"
    precision: str = "float32"


FAMILIES = {
    "mpnet": Family("mpnet", OFFSET, "wordpiece", ANGLES, ("<s>", "</s>")),
    "roberta": Family("roberta", OFFSET, "bytes", ANGLES, ("<s>", "</s>")),
    "e5": Family("xlm-roberta", OFFSET, "unigram", ANGLES, ("<s>", "</s>"),
                 prompts={"query": "query: ", "document": "passage: "}),
    "modernbert": Family("modernbert", LAYERS | {"global_attn_every_n_layers": 2, "local_attention": 16}, "bytes", BRACKETS,
                         ("[CLS]", "[SEP]"), "cls"),
    "t5": Family("t5", {"d_model": 48, "d_kv": 12, "d_ff": 96, "num_heads": 4, "num_layers": 2}, "unigram",
                 {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}, ("", "</s>")),
    # Its settings name another end than the token that it puts there.
    "qwen3": Family("qwen3", GROUPED, "bytes", {"pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"}, ("", "<|endoftext|>"),
                    "lasttoken", {"query": "Instruct: Find passages that answer\nQuery:", "document": ""}, "left",
                    "bfloat16"),
    "mistral": Family("mistral", GROUPED, "unigram", {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>",
                                                      "eos_token": "</s>"}, ("<s>", "</s>"), "lasttoken"),
    # It scales the rows that it has looked up.
    "gemma": Family("gemma3_text", GROUPED | {"use_bidirectional_attention": True, "sliding_window": 16}, "unigram",
                    {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>"},
                    ("<bos>", "<eos>"),
                    prompts={"query": "task: search result | query: ", "document": "title: none | text: "}),
}


def tokenizer_of(family: Family) -> Any:
    """Trained on the suites' texts, and on words that the suites expect to be one token each."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    wanted = {"vocab_size": VOCABULARY, "special_tokens": list(family.special.values()), "show_progress": False}
    if family.tokenizer == "wordpiece":
        made = Tokenizer(models.WordPiece(unk_token=family.special["unk_token"]))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(**wanted)
    elif family.tokenizer == "unigram":
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.NFKC()
        made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(unk_token=family.special["unk_token"], **wanted)
    else:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        trainer = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **wanted)
    words = " ".join(["and", *inputs.LITTLE, *inputs.LARGE, *inputs.OTHER])
    made.train_from_iterator([*(one.text for one in all_texts()), *probe()["sentences"], *[words] * 50], trainer)
    special = [word for word in family.around if word]
    made.post_processor = processors.TemplateProcessing(
        single=f"{family.around[0]} $A {family.around[1]}".strip(),
        special_tokens=[(word, made.token_to_id(word)) for word in special])
    return made


def directory(folder: Path, family: Family) -> Path:
    """A directory as sentence-transformers keeps it, its network untrained."""
    tokenizer = tokenizer_of(family)
    tokenizer.save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "padding_side": family.padding_side}
          | family.special)
    width = save(folder, family.kind, family.precision, vocab_size=tokenizer.get_vocab_size(), **SPREAD | family.config,
                 **{f"{role.partition('_')[0]}_token_id": tokenizer.token_to_id(word)
                    for role, word in family.special.items() if role != "unk_token"})
    write(folder / "sentence_bert_config.json", {"max_seq_length": LIMIT})
    modules = (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
    write(folder / "modules.json", [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                    for i, (kind, path) in enumerate(modules)])
    for _, path in modules[1:]:
        (folder / path).mkdir()
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width, "pooling_mode": family.pooling})
    write(folder / "config_sentence_transformers.json", {"prompts": family.prompts})
    return folder
