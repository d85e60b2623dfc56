"""Guided decoding: an untrained model writes completions of the grammar, and nothing else."""

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from acqo_rl.language_models.guided import GuidedDecoding
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.types import Query

REGEX = Grammar(max_sub_queries=2).regex


@pytest.fixture(scope="module")
def tokenizer():
    return TransformersModel.load_tokenizer("embedded:smollm2")


@pytest.fixture(scope="module")
def guide(tokenizer):
    return GuidedDecoding(tokenizer, [tokenizer.eos_token_id, 0], REGEX, vocabulary=len(tokenizer) + 8)


@pytest.fixture(scope="module")
def model(tokenizer):
    """Random weights, and more logits than the tokenizer has tokens."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer) + 8, tie_word_embeddings=True, **sizes)).eval()


@pytest.mark.parametrize(
    ("written", "allowed", "refused"),
    [
        ("", ["split", "resolve", "pass", "s"], ["Split", " split", "\n", "the", None]),
        ("pass", [None], ["\n", " pass", "es"]),
        ("split", ["\n"], [None, " ", "s", "\n\n"]),
        ("split\n", ["capital", "=", "é", "北京"], [None, "\n", " capital", "\t"]),
        ("split\ncapital", [None, "\n", " of", " "], ["\t", "\n\n", "\u00a0"]),
        ("split\ncapital ", ["of"], [None, "\n"]),
        ("split\na\nb", [None, " c"], ["\n"]),
    ],
)
def test_tokens_that_may_come_next(tokenizer, guide, written, allowed, refused):
    """``None`` is the end of the completion, which has two tokens."""

    def ids_of(texts):
        """The first tokens of texts, without those that only begin a character."""
        ends = {tokenizer.eos_token_id, 0} if None in texts else set()
        return ends | {tokenizer.encode(text, add_special_tokens=False)[0] for text in texts if text is not None}

    forbidden = set(guide([], tokenizer.encode(written, add_special_tokens=False)).tolist())
    assert forbidden.isdisjoint(ids_of(allowed))
    assert ids_of(refused) <= forbidden
    assert set(range(len(tokenizer), len(tokenizer) + 8)) <= forbidden


def test_tokenizers_without_the_texts_of_their_tokens_are_not_guided(tokenizer):
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "?": 1}, unk_token="?")))
    assert GuidedDecoding.supports(tokenizer)
    assert not GuidedDecoding.supports(words)


@pytest.mark.parametrize(("temperature", "words_once"), [(0.0, False), (1.0, True)])
def test_random_weights_write_completions_of_the_grammar(model, tokenizer, temperature, words_once):
    settings = {"max_new_tokens": 24, "temperature": temperature, "words_once": words_once}
    conversations = [[{"role": "user", "content": f"Question {number}"}] for number in range(12)]
    free = TransformersModel(model, tokenizer, seed=0, **settings).generate(conversations)
    guided = TransformersModel(model, tokenizer, seed=0, regex=REGEX, **settings).generate(conversations)
    assert not any(completion.text.partition("\n")[0] in ("pass", "split", "resolve") for completion in free)
    for completion in guided:
        tag, *lines = completion.text.split("\n")
        assert tag in ("pass", "split", "resolve") and len(lines) <= 2
        if completion.finished:
            Grammar(max_sub_queries=2).parse(completion.text, Query("q", "Question"))
    assert any(completion.finished for completion in guided) or temperature == 0
