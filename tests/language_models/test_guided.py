"""Guided decoding: an untrained model writes completions of the grammar, and nothing else."""

import json

import jsonschema
import pytest
import torch
from tiny_policy import byte_tokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from acqo_rl.language_models.guided import GuidedDecoding, KnownWords
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.language_models.structured import BOOLEAN, example, fields, one_of, read_reply, several
from acqo_rl.pipeline.further import BRIEF_ANSWER, GAPS, SPLIT
from acqo_rl.pipeline.questions import CHALLENGES
from acqo_rl.pipeline.synthesis import CLAIMS
from acqo_rl.reformulation.grammar import Grammar
from acqo_rl.reformulation.prompted import strategies_for
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.types import Query

REGEX = Grammar(max_sub_queries=2).regex
STRATEGIES = tuple(strategies_for(StrategySettings()).values())


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

    forbidden = set(guide(tokenizer.encode(written, add_special_tokens=False)).tolist())
    assert forbidden.isdisjoint(ids_of(allowed))
    assert ids_of(refused) <= forbidden
    assert set(range(len(tokenizer), len(tokenizer) + 8)) <= forbidden


def test_tokenizers_without_the_texts_of_their_tokens_are_not_guided(tokenizer):
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "?": 1}, unk_token="?")))
    assert GuidedDecoding.supports(tokenizer)
    assert not GuidedDecoding.supports(words)


@pytest.mark.parametrize("restricted", [True, False])
def test_random_logits_write_only_words_of_the_prompt_and_of_the_list(restricted):
    text = "Where was the author of Zorblax-7's (1999) 'sequel' born, call 0044 (20) 44 44?"
    grammar = Grammar(words=frozenset({"novel", "writer", "best"}))
    tokenizer = byte_tokenizer()
    known_words = KnownWords(tokenizer, [tokenizer.eos_token_id], grammar.known_words)
    generator = torch.Generator().manual_seed(0)
    prompt = tokenizer.encode(text)
    start = tokenizer.encode("split\n")
    problems = []
    for _ in range(12):
        written = list(start)
        while written[-1] != tokenizer.eos_token_id and len(written) < 300:
            scores = torch.randn(len(tokenizer), generator=generator)
            if restricted:
                known_words.restrict(scores, prompt, written)
            written.append(int(scores.argmax()))
        line = tokenizer.decode(written, skip_special_tokens=True).split("\n")[1].strip()
        problems.append(grammar.parse_tolerantly(f"split\n{line}", Query("q", text)).problem)
    assert any(problems) is not restricted


@pytest.mark.parametrize(
    ("written", "allowed", "refused"),
    [
        ("call ", "0bw", "249"),
        ("call 0044", " ", "\n5"),
        ("call 0044 ", "(", "\nbn"),
        ("call 0044 (20) 44 44", " \n?", "5"),
    ],
)
def test_a_number_in_groups_is_written_as_a_whole(written, allowed, refused):
    tokenizer = byte_tokenizer()
    known_words = KnownWords(tokenizer, [tokenizer.eos_token_id], Grammar(words=frozenset({"best"})).known_words)
    scores = torch.zeros(len(tokenizer))
    prompt = tokenizer.encode("Who would call 0044 (20) 44 44?")
    known_words.restrict(scores, prompt, tokenizer.encode(f"split\n{written}"))
    likely = {character for character in allowed + refused if scores[tokenizer.encode(character)[0]].isfinite()}
    assert likely == set(allowed)


def test_after_an_unknown_word_no_token_is_forbidden_and_later_texts_are_restricted_again():
    tokenizer = byte_tokenizer()
    known_words = KnownWords(tokenizer, [tokenizer.eos_token_id], Grammar(words=frozenset({"best"})).known_words)
    possible = []
    for written in ("qqq", "bes"):
        scores = torch.zeros(len(tokenizer))
        known_words.restrict(scores, tokenizer.encode("Who?"), tokenizer.encode(f"split\n{written}"))
        possible.append(int(scores.isfinite().sum()))
    assert possible == [len(tokenizer), 2]  # "t" and "T"


TASKS = {strategy.name: strategy.form for strategy in STRATEGIES} | {
    "challenges": CHALLENGES.reply,
    "split": SPLIT.reply,
    "brief answer": BRIEF_ANSWER.reply,
    "gaps": GAPS.reply,
    "claims": CLAIMS.reply,
}
EXAMPLES = {
    strategy.name: [m["content"] for m in strategy.conversation(Query("q", "?")) if m["role"] == "assistant"]
    for strategy in STRATEGIES
} | {
    name: [example(**reply) for _, reply in task.examples]
    for name, task in (
        ("challenges", CHALLENGES), ("split", SPLIT), ("brief answer", BRIEF_ANSWER), ("gaps", GAPS), ("claims", CLAIMS)
    )
}  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_a_guided_model_can_write_the_examples_of_every_task_and_stops_there(tokenizer, name):
    guide = GuidedDecoding(
        tokenizer, [tokenizer.eos_token_id], TASKS[name].model_json_schema(), vocabulary=len(tokenizer)
    )
    for reply in EXAMPLES[name]:
        ids = [*tokenizer.encode(reply, add_special_tokens=False), tokenizer.eos_token_id]
        for place, token in enumerate(ids):
            assert token not in guide(ids[:place])
        assert len(guide(ids[:-1])) == len(tokenizer) - 1


def test_random_weights_write_json_that_matches_a_schema(model, tokenizer):
    """The same model writes free text without the schema, and both kinds of calls may share it."""
    form = fields(kind=one_of("simple", "compound"), words=several(one_of("one", "two", "six"), 2), sure=BOOLEAN)
    schema = form.model_json_schema()
    conversations = [[{"role": "user", "content": f"Question {number}"}] for number in range(8)]
    shared = TransformersModel(model, tokenizer, max_new_tokens=40, temperature=1.0, seed=0)
    for completion in shared.generate(conversations, schema):
        assert completion.finished
        jsonschema.validate(json.loads(completion.text), schema)
        assert read_reply(completion, form) is not None
    assert not any(read_reply(completion, form) for completion in shared.generate(conversations))
