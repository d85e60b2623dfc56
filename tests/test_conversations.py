"""One normal form of conversations: any shape of one gives the same turns, and nothing of a turn is lost."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from acqo_rl.conversations import Turn, read_history, read_turns
from acqo_rl.errors import ConversationError
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.timed_cache import query_key
from acqo_rl.types import Query

ASKED, TOLD = "Where can I park?", "Behind the museum: level 2."


TURNS = (Turn("user", ASKED), Turn("assistant", TOLD))


class Role:
    """A member of an enumeration."""

    def __init__(self, value):
        self.value = value


SHAPES = {
    "turns": TURNS,
    "marked U and S": [f"U: {ASKED}", f"S: {TOLD}"],
    "plain strings": [ASKED, TOLD],
    "an iterator": iter([ASKED, TOLD]),
    "user and assistant": [f"User: {ASKED}", f"Assistant: {TOLD}"],
    "human and AI": [f"HUMAN:{ASKED}", f"ai : {TOLD}"],
    "question and answer": [f"Question: {ASKED}", f"Answer: {TOLD}"],
    "Q and A": [f"Q: {ASKED}", f"A: {TOLD}"],
    "customer and agent": [f"Customer: {ASKED}", f"Agent: {TOLD}"],
    "user and system": [f"USER: {ASKED}", f"SYSTEM: {TOLD}"],
    "bold": [f"**User:** {ASKED}", f"**Chatbot**: {TOLD}"],
    "headings": [f"### Human: {ASKED}", f"### Assistant: {TOLD}"],
    "brackets": [f"[User]: {ASKED}", f"[bot] {TOLD}"],
    "tags": [f"<user>{ASKED}</user>", f"<assistant>{TOLD}</assistant>"],
    "full-width colon": [f"User\uff1a{ASKED}", f"AI\uff1a {TOLD}"],
    "only one is marked": [ASKED, f"Assistant: {TOLD}"],
    "bar tokens": [f"<|user|>\n{ASKED}<|end|>\n", f"<|assistant|>\n{TOLD}<|end|>"],
    "header tokens": [
        f"<|start_header_id|>user<|end_header_id|>\n\n{ASKED}<|eot_id|>",
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{TOLD}<|eot_id|>",
    ],
    "a whole ChatML text": f"<|im_start|>user\n{ASKED}<|im_end|>\n<|im_start|>assistant\n{TOLD}<|im_end|>\n",
    "a whole instruction": f"<s>[INST] {ASKED} [/INST] {TOLD} </s>",
    "turns of Gemma": f"<bos><start_of_turn>user\n{ASKED}<end_of_turn>\n<start_of_turn>model\n{TOLD}<end_of_turn>\n",
    "a transcript": f"Human: {ASKED}\n\nAssistant: {TOLD}\n",
    "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}],
    "messages in parts": [
        {
            "role": "user",
            "content": [{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TOLD}]},
    ],
    "messages with a system prompt and tools": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "{}", "tool_call_id": "1"},
        {"role": "assistant", "content": TOLD},
    ],
    "a request": {
        "model": "x",
        "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}],
    },
    "objects": [SimpleNamespace(role=Role("user"), content=ASKED), SimpleNamespace(role="ai", content=TOLD)],
    "objects with a type": [SimpleNamespace(type="human", content=ASKED), SimpleNamespace(type="ai", content=TOLD)],
    "objects with one part": [
        SimpleNamespace(role="user", content=SimpleNamespace(type="text", text=ASKED)),
        SimpleNamespace(role="assistant", content=[SimpleNamespace(type="text", text=TOLD)]),
    ],
    "a memory": SimpleNamespace(messages=[("human", ASKED), ("ai", TOLD)]),
    "ShareGPT": {"conversations": [{"from": "human", "value": ASKED}, {"from": "gpt", "value": TOLD}]},
    "Gemini": [{"role": "user", "parts": [{"text": ASKED}]}, {"role": "model", "parts": [{"text": TOLD}]}],
    "dialogue data": [{"speaker": "USER", "utterance": ASKED}, {"speaker": "SYSTEM", "utterance": TOLD}],
    "exchanges": [{"question": ASKED, "answer": TOLD}],
    "pairs": [(ASKED, TOLD)],
    "lists of two": [["user", ASKED], ["assistant", TOLD]],
    "by role": [{"user": ASKED}, {"assistant": TOLD}],
    "mixed": [{"role": "user", "content": ASKED}, f"S: {TOLD}"],
    "two messages and null": [{"role": "user", "content": ASKED}, None, {"role": "assistant", "content": TOLD}],
    "JSON": json.dumps([{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]),
    "JSON lines": f'{{"role": "user", "content": "{ASKED}"}}\n{{"role": "assistant", "content": "{TOLD}"}}\n',
    "turns in JSON": [f'{{"role": "user", "content": "{ASKED}"}}', f'{{"role": "assistant", "content": "{TOLD}"}}'],
    "written by Python": str([{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]),
    "columns": {"role": ["user", "assistant"], "content": [ASKED, TOLD], "id": [1, 2]},
    "columns of pairs": {"question": [ASKED], "answer": [TOLD]},
    "turns in columns": {"turns": {"speaker": [0, 1], "utterance": [ASKED, TOLD]}},
    "data frame": pd.DataFrame([{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]),
    "data frame of pairs": pd.DataFrame([{"question": ASKED, "answer": TOLD}]),
    "LangChain in JSON": [
        {"lc": 1, "type": "constructor", "id": ["x"], "kwargs": {"type": "human", "content": ASKED}},
        {"type": "ai", "data": {"type": "ai", "content": TOLD}},
    ],
    "choices": [
        {"index": 0, "message": {"role": who, "content": text}} for who, text in (("user", ASKED), ("ai", TOLD))
    ],
    "a memory of LlamaIndex": SimpleNamespace(token_limit=3000, get_all=lambda: [("user", ASKED), ("assistant", TOLD)]),
    "fields of one kind": [{"user_input": ASKED, "bot_response": TOLD}],
    "instruction and output": [{"instruction": ASKED, "output": TOLD}],
    "Responses API": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Let me see."}]},
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "Rome"},
        {"type": "web_search_call", "id": "2", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TOLD}]},
    ],
    "tools and thoughts of Anthropic": [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "Rome, Lima"}]}]},
        {"role": "assistant", "content": [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": TOLD}]},
    ],
    "thoughts of Vercel": [
        {"role": "user", "parts": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "text": "Rome?"}, {"type": "text", "text": TOLD}]},
    ],
    "thoughts of Gemini": [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{"text": "Rome?", "thought": True}, {"text": TOLD}]},
    ],
    "tagged thoughts": [f"User: {ASKED}", f"Assistant: <think>Rome, or Lima?</think>\n\n{TOLD}"],
    "numbered": [f"Q1: {ASKED}", f"A1: {TOLD}"],
    "times": [f"[12:03] User: {ASKED}", f"2023-05-01 10:01 Bot: {TOLD}"],
    "an ordered list": [f"1. User: {ASKED}", f"2. Assistant: {TOLD}"],
    "a list": [f"- User: {ASKED}", f"- Assistant: {TOLD}"],
    "names in brackets": [f"User (Anna): {ASKED}", f"Assistant (GPT-4): {TOLD}"],
    "tags with a colon": [f"<human>: {ASKED}", f"<bot>: {TOLD}"],
    "instruction and response": [f"### Instruction:\n{ASKED}", f"### Response:\n{TOLD}"],
    "query and response": [f"Query: {ASKED}", f"Response: {TOLD}"],
    "said": f"You said:\n{ASKED}\nChatGPT said:\n{TOLD}",
    "Vicuna in one line": f"USER: {ASKED} ASSISTANT: {TOLD}</s>",
    "Command-R": (
        f"<BOS_TOKEN><|START_OF_TURN_TOKEN|><|USER_TOKEN|>{ASKED}<|END_OF_TURN_TOKEN|>"
        f"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{TOLD}<|END_OF_TURN_TOKEN|>"
    ),
    "Granite": (
        f"<|start_of_role|>user<|end_of_role|>{ASKED}<|end_of_text|>\n"
        f"<|start_of_role|>assistant<|end_of_role|>{TOLD}<|end_of_text|>"
    ),
    "gpt-oss": (
        f"<|start|>user<|message|>{ASKED}<|end|><|start|>assistant<|channel|>analysis<|message|>Rome?<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{TOLD}<|return|>"
    ),
    "DeepSeek": (
        f"<\uff5cbegin\u2581of\u2581sentence\uff5c>Be brief.<\uff5cUser\uff5c>{ASKED}"
        f"<\uff5cAssistant\uff5c>{TOLD}<\uff5cend\u2581of\u2581sentence\uff5c>"
    ),
    "a line for each role": f"user\n{ASKED}\nassistant\n{TOLD}",
    "headings without a colon": f"## User\n\n{ASKED}\n\n## Assistant\n\n{TOLD}",
    "rules of signs": [f"=== User ===\n{ASKED}", f"=== Bot ===\n{TOLD}"],
    "bold without a colon": [f"**User** {ASKED}", f"**Assistant** {TOLD}"],
    "bold in HTML": [f"<b>User:</b> {ASKED}", f"<strong>Bot</strong>: {TOLD}"],
    "a command line": f"user> {ASKED}\nassistant> {TOLD}",
    "emoji and names": [f"\U0001f464 User: {ASKED}", f"\U0001f916 Bot: {TOLD}"],
    "emoji": [f"\U0001f464: {ASKED}", f"\U0001f916: {TOLD}"],
    "verbs": [f"User asks: {ASKED}", f"Assistant replied: {TOLD}"],
    "messages by name": [f"Human message: {ASKED}", f"AI response: {TOLD}"],
    "numbered turns": [f"Turn 1 (user): {ASKED}", f"Turn 2 (assistant): {TOLD}"],
    "names of models": [f"You: {ASKED}", f"Gemini: {TOLD}"],
    "Frage und Antwort": [f"Frage: {ASKED}", f"Antwort: {TOLD}"],
    "elements with a role": f'<message role="user">{ASKED}</message>\n<message role="assistant">{TOLD}</message>',
    "EXAONE": f"[|user|]{ASKED}\n[|assistant|]{TOLD}[|endofturn|]",
    "GLM": f"[gMASK]<sop><|user|>\n{ASKED}<|assistant|>\n{TOLD}",
    "Kimi": (f"<|im_user|>user<|im_middle|>{ASKED}<|im_end|><|im_assistant|>assistant<|im_middle|>{TOLD}<|im_end|>"),
    "contents of Gemini": {
        "contents": [{"role": "user", "parts": [{"text": ASKED}]}, {"role": "model", "parts": [{"text": TOLD}]}]
    },
    "input and output of the Responses API": {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}],
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TOLD}]}],
    },
    "messages by id": {
        "messages": {"a": {"role": "user", "content": ASKED}, "b": {"role": "assistant", "content": TOLD}}
    },
    "utterance and response": {"turns": [{"turn_id": 1, "utterance": ASKED, "response": TOLD}]},
    "old LangChain constructors": [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": {"content": text}}
        for name, text in (("HumanMessage", ASKED), ("AIMessage", TOLD))
    ],
    "Pydantic AI": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "Be brief."},
                {"part_kind": "user-prompt", "content": ASKED},
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": TOLD}]},
    ],
    "Semantic Kernel": [
        {"Role": {"Label": who}, "Items": [{"$type": "TextContent", "Text": text}]}
        for who, text in (("user", ASKED), ("assistant", TOLD))
    ],
    "Llama 2 with a system prompt": f"<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n{ASKED} [/INST] {TOLD} </s>",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_one_normal_form(shape):
    query = Query("q", "And for bikes?", SHAPES[shape])
    assert query.history == TURNS
    assert read_history(query.history) == TURNS
    assert [str(turn) for turn in query.history] == [f"U: {ASKED}", f"S: {TOLD}"]


CHAT = (Turn("user", "Tell me about Oslo."), Turn("assistant", "It is a city."), Turn("user", "Where is it?"))


@pytest.mark.parametrize(
    "text",
    [
        "Human: Tell me about Oslo.\n\nAssistant: It is a city.\n\nHuman: Where is it?\n\nAssistant:",
        "U: Tell me about Oslo.\nS: It is a city.\nU: Where is it?",
        "Q: Tell me about Oslo.\nA: It is a city.\nQ: Where is it?",
        "## User\nTell me about Oslo.\n## Assistant\nIt is a city.\n## User\nWhere is it?",
        "Visitor: Tell me about Oslo.\nPekka: It is a city.\nVisitor: Where is it?",
        "<|user|>\nTell me about Oslo.<|end|>\n<|assistant|>\nIt is a city.<|end|>\n<|user|>\nWhere is it?<|end|>",
        "[10:31] Ada: Tell me about Oslo.\n[10:32] HelpBot: It is a city.\n[10:33] Ada: Where is it?",
        '[{"role": "user", "content": "Tell me about Oslo."}, {"role": "assistant", "content": "It is a city."},'
        ' {"role": "user", "content": "Where is it?"}]',
    ],
)
def test_a_whole_chat_in_one_string_is_split_into_its_turns_also_in_a_list(text):
    assert read_history(text) == CHAT
    assert read_history([text]) == CHAT
    assert read_history((f"\n{text}",)) == CHAT
    assert read_history({"messages": [text]}) == CHAT
    assert read_history(json.dumps([text])) == CHAT


def test_each_string_of_a_list_may_be_a_question_with_its_answer():
    pairs = ["Human: Oslo?\n\nAssistant: A city.", "Human: And Bergen?\n\nAssistant: Too."]
    assert [str(turn) for turn in read_history(pairs)] == ["U: Oslo?", "S: A city.", "U: And Bergen?", "S: Too."]


@pytest.mark.parametrize(
    "history",
    [
        ["What does this mean?\nUser: hi\nBot: hello"],
        ["Human: Compare these.\nHuman: Oslo and Bergen"],
        ["Why is [\"a\", 'b'] no JSON?"],
        ['["a", is this JSON?'],
        ["User: Explain this chat.\nUser: hi\nBot: hello", "Bot: It is a greeting."],
        [{"role": "user", "content": "User: hi\nBot: hello"}],
        ["U: Explain this chat.\nUser: hi\nBot: hello"],
        ["U: Is this a chat?\nassistant\nhello"],
    ],
)
def test_a_turn_that_quotes_or_resembles_a_chat_is_one_turn(history):
    assert len(read_history(history)) == len(history)


def test_shape_makes_no_difference_to_prompts_and_caches():
    shapes = [list(s) if hasattr(s, "__next__") else s for s in SHAPES.values()]
    queries = [Query("q", "And for bikes?", shape) for shape in shapes if isinstance(shape, pd.DataFrame) or shape]
    prompt = Prompt(lambda text: len(text.split()))
    assert len({query_key(query) for query in queries}) == 1
    assert len({prompt.render(query)[1]["content"] for query in queries}) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Nutzer: ", "Assistent: "),
        ("Usuario: ", "Asistente: "),
        ("Utilisateur : ", "Assistant : "),
        ("用户\uff1a", "助手\uff1a"),
        ("ユーザー\uff1a", "アシスタント\uff1a"),
        ("Пользователь: ", "Ассистент: "),
        ("المستخدم: ", "المساعد: "),
        ("KULLANICI: ", "ASİSTAN: "),
        ("**Użytkownik:** ", "**Asystent:** "),
        ("Người dùng: ", "Trợ lý: "),
        ("Користувач: ", "Помічник: "),
        ("Pengguna: ", "Asisten: "),
        ("उपयोगकर्ता: ", "सहायक: "),
    ],
)
def test_names_of_roles_are_known_in_other_languages(first, second):
    assert read_history(f"{first}{ASKED}\n\n{second}{TOLD}") == TURNS
    assert read_history([f"{first}{ASKED}", f"{second}{TOLD}"]) == TURNS


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "a',
        "[{'role': 'user'",
        '["a", "b"',
        '{"messages": [3]}',
        "- role: user\n  content: a",
    ],
)
def test_a_list_of_turns_that_was_cut_off_is_refused(text):
    with pytest.raises(ConversationError):
        read_history(text)


@pytest.mark.parametrize(
    "text", ["[1] a source", "[[Oslo]] is a page", "{x} is a set", '{"a": 1}', '["a"]', "<think> is a tag"]
)
def test_a_turn_that_begins_like_a_list_or_a_thought_is_a_text(text):
    assert read_history(["What is it?", "This.", text])[2] == Turn("user", text)


def test_empty_turns_can_be_had_as_well():
    said = ["a", "", {"role": "user", "content": " "}, None, {"role": "assistant", "content": None}, "S: b"]
    assert [turn.text for turn in read_turns(said)] == ["a", "", "", "", "b"]
    assert [turn.text for turn in read_history(said)] == ["a", "b"]


@pytest.mark.parametrize(
    "history",
    [
        3,
        b"hi",
        [3],
        [{"role": "user"}],
        [{"id": 1}],
        [["a"]],
        ["a", 2],
        [object()],
        [(1, 2)],
        [("a", 3)],
        [{"role": "user", "content": {"question": "a"}}],
    ],
)
def test_what_is_no_turn_is_refused(history):
    with pytest.raises(ConversationError, match="role and content"):
        Query("q", "x", history)


def test_a_message_without_text_says_nothing_whoever_sent_it():
    said = {"role": "user", "content": "Tell me about Oslo."}
    for role in ("assistant", "tool", "planner", "0"):
        assert read_history([said, {"role": role, "content": None}]) == read_history([said])


@pytest.mark.parametrize(
    "history",
    [
        [{"question": "How big is Oslo?", "answer": "Quite big.", "model": "gpt-4o"}],
        [{"question": "How big is Oslo?", "answer": "Quite big.", "user": "ann@example.org"}],
        [{"question": "How big is Oslo?", "answers": ["Quite big."]}],
        [{"query": "How big is Oslo?", "result": "Quite big."}],
        [{"prompt": "How big is Oslo?", "generated_text": "Quite big."}],
        [
            {"role": "user", "content": "How big is Oslo?"},
            {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Quite big."}}]},
        ],
        [
            {"role": "user", "content": [{"type": "input_audio", "transcript": "How big is Oslo?"}]},
            {"role": "assistant", "content": None, "audio": {"transcript": "Quite big."}},
        ],
        [
            {"role": "user", "content": "How big is Oslo?"},
            {"role": "assistant", "content": None, "refusal": "Quite big."},
        ],
        {"past_user_inputs": ["How big is Oslo?"], "generated_responses": ["Quite big."]},
        ["System: You are helpful.", "How big is Oslo?", "Quite big."],
        [{"speaker": "A", "text": "How big is Oslo?"}, {"speaker": "B", "text": "Quite big."}],
        [{"speaker": "Q", "text": "How big is Oslo?"}, {"speaker": "A", "text": "Quite big."}],
        "2026-11-26T10:31:05Z user: How big is Oslo?\n2026-11-26T10:31:09Z assistant: Quite big.",
    ],
)
def test_fields_that_nobody_said_are_no_turns_and_nothing_said_is_lost(history):
    assert [str(turn) for turn in read_history(history)] == ["U: How big is Oslo?", "S: Quite big."]
