"""Chat templates of several families, made small: who takes instructions, and what ends a turn."""

import json

import pytest
import torch
from tiny_policy import byte_tokenizer, save_policy
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError
from acqo_rl.hub.export import export_policy
from acqo_rl.language_models.chat import end_tokens, missing_end, prepare_template, without_thoughts
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import Policy
from acqo_rl.training.model import load_trainable
from acqo_rl.types import Query

GEMMA = (
    "{{ bos_token }}"
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "<start_of_turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n{{ m['content'] | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
PHI = (
    "{% for m in messages %}{% if m['role'] in ('user', 'assistant') %}<|{{ m['role'] }}|>\n{{ m['content'] }}<|end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
QWEN = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)

FAMILIES = {
    "gemma": (GEMMA, "<eos>", "<end_of_turn>", ["<bos>", "<start_of_turn>"]),
    "phi": (PHI, "<|endoftext|>", "<|end|>", ["<|user|>", "<|assistant|>"]),
    "qwen base": (QWEN, "<|endoftext|>", "<|im_end|>", ["<|im_start|>"]),
    "plain": (PLAIN, "</s>", "</s>", []),
}
TALK = [
    {"role": "system", "content": "Obey."},
    {"role": "user", "content": "One?"},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "Three?"},
]


def tokenizer_of(family, special=True):
    """One token a byte, and those of the family; its end of a turn may be a token that is not special."""
    template, eos, end, others = FAMILIES[family]
    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens({"eos_token": eos, "pad_token": "<pad>", "bos_token": "<bos>"})
    tokenizer.add_tokens([*others, end], special_tokens=special)
    tokenizer.chat_template = template
    return tokenizer


def folder_of(family, path, special=True, configured=None):
    """A base model of the family whose weights always write "pass", its end of a turn, and "user"."""
    tokenizer = tokenizer_of(family, special)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    if configured is not None:
        model.generation_config.eos_token_id = configured
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def test_instructions_reach_every_template(family):
    tokenizer = tokenizer_of(family)
    native = family in ("qwen base", "plain")
    before = tokenizer.chat_template
    prepare_template(tokenizer, family)
    prepare_template(tokenizer, family)
    assert (tokenizer.chat_template == before) == native
    written = tokenizer.apply_chat_template(TALK, tokenize=False, add_generation_prompt=True)
    assert written.count("Obey.") == 1
    assert missing_end(tokenizer) == ("</s>" if family == "plain" else "")
    if not native:
        assert "Obey.\n\nOne?" in written
        plain = [{**TALK[1], "content": "Obey.\n\nOne?"}, *TALK[2:]]
        assert written == tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=True)


@pytest.mark.parametrize(
    "template",
    ["{% for m in messages %}{{ m['content'] ", {"tools": QWEN}, "{{ bos_token }}hello"],
    ids=["broken", "several", "deaf"],
)
def test_a_template_that_cannot_write_a_conversation_is_refused(template):
    tokenizer = tokenizer_of("plain")
    tokenizer.chat_template = template
    with pytest.raises(ConfigError, match="mine"):
        prepare_template(tokenizer, "mine")


def test_a_model_without_an_eos_token_is_trained_and_asked_with_the_end_of_its_template(tmp_path):
    folder_of("qwen base", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.eos_token = tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path)
    model = TransformersModel.from_pretrained(str(tmp_path), max_new_tokens=3)
    assert model.chat.tokenizer.pad_token == "<|im_end|>"
    assert len(model.generate([TALK, TALK[:2]])) == 2


@pytest.mark.parametrize("load", [TransformersModel.from_pretrained, lambda name: load_trainable(name, 4, 0)])
@pytest.mark.parametrize("lacks", ["template", "end"])
def test_a_model_without_a_template_or_any_end_is_refused_at_loading(tmp_path, load, lacks):
    folder = folder_of("plain", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    if lacks == "template":
        (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(ConfigError, match={"template": r"chat_template\.jinja", "end": "eos_token"}[lacks]):
        load(folder)


@pytest.mark.parametrize("special", [True, False])
def test_a_completion_is_cut_at_any_of_them(family, special, tmp_path):
    model = TransformersModel.from_pretrained(folder_of(family, tmp_path, special))
    text = model.chat.tokenizer("Oslo", add_special_tokens=False)["input_ids"]
    after = model.chat.tokenizer("\nuser\nBergen", add_special_tokens=False)["input_ids"]
    for token in {FAMILIES[family][1], FAMILIES[family][2]}:
        completion = model.chat.completion([*text, model.chat.tokenizer.convert_tokens_to_ids(token), *after])
        assert (completion.text, completion.finished, completion.tokens) == ("Oslo", True, len(text) + 1)
    assert model.chat.completion([*text, *after]).finished is False


def test_a_policy_is_trained_saved_exported_and_served_with_the_same_ends(family, tmp_path):
    model, tokenizer = load_trainable(folder_of(family, tmp_path / "base", configured=5), 0, 0)
    wanted = set(end_tokens(tokenizer, model.generation_config))
    assert {5, tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids(FAMILIES[family][2])} == wanted
    saved = save_policy(model, tmp_path / "model", {"max_new_tokens": 4}, tokenizer)
    export_policy(saved, tmp_path / "export")
    assert set(json.loads((tmp_path / "export" / "generation_config.json").read_text())["eos_token_id"]) == wanted
    policy = Policy.from_pretrained(tmp_path / "export")
    assert set(policy.model.chat.ends) == wanted
    assert policy.reformulate([Query("q", "Oslo?", read_history(("Hi", "Hello.")))])[0].sub_queries


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Lima.", "Lima."),
        ("<think>Quito? No.</think>\n\nLima.", "Lima."),
        ("\n<think>\n</think>\nLima.", "Lima."),
        ("Quito? No.</think>Lima.", "Lima."),
        ("<think>Quito?", ""),
        ("Lima <think> is no thought", "Lima <think> is no thought"),
        ("The tag <think>a</think> shows thoughts", "The tag <think>a</think> shows thoughts"),
        ("", ""),
    ],
)
def test_only_thoughts_at_the_start_are_removed(text, said):
    assert without_thoughts(text) == said
