"""Removes the thoughts of reasoning models from the answers in a stored chat."""

from __future__ import annotations

import re

_NAMES = r"(?:seed:|ant)?(?:think|thinking|thoughts?|reason|reasoning|reflection|scratchpad|analysis|inner_monologue)"
THOUGHT_TAG = re.compile(
    rf"(?<!`)(?:(?P<open><{_NAMES}>|\[THINK\]|\u25c1think\u25b7|<\|(?:begin_of_thought|START_THINKING)\|>"
    r"|<\|channel\|>(?:analysis|commentary)\b|<\|channel>thought\b|<unused94>thought\b|(?-i:\A\s*analysis(?=[A-Z\"'\d])))"
    rf"|</{_NAMES}>|\[/THINK\]|\u25c1/think\u25b7|<\|(?:end_of_thought|END_THINKING)\|>"
    r"|<\|channel\|>final\b[^<\n]{0,40}<\|message\|>|<channel\|>|<unused95>|(?-i:assistantfinal))",
    re.I,
)
"""Thought marks of common models. Decoding gpt-oss without special tokens leaves "analysis...assistantfinal"."""
_SHOWN = re.compile(
    r"^[ \t]*<details type=\"(?:reasoning|tool_calls|code_interpreter)\"[^<>]*>(?:(?!<details\b).)*?</details>\s*"
    r"|\A(?:\s*Thought for (?:a (?:few )?|\d{1,4} ?)(?:h|m|s|hours?|minutes?|seconds?)\b(?: \d{1,2} ?[ms]\b)?[ \t]*\n)+"
    r"|\s?\ue200(?:file)?cite[^\ue200\ue201]*\ue201|\s?【\d{1,3}(?::\d{1,3})?†[^【】\n]*】",
    re.S | re.M,
)
"""What chat programs show beside an answer: folded thoughts, the time of thinking, marks of citations."""


def as_said(text: str) -> str:
    """The answer in a stored or copied chat, without thoughts and without what the program shows beside it."""
    while (rest := _SHOWN.sub("", outside_thoughts(text))) != text:
        text = rest
    return text


def outside_thoughts(text: str) -> str:
    """Removes the thoughts from a text.

    If the opening mark is missing because the chat template wrote it, everything up to the closing mark is a thought.
    An opening mark in the middle of a line or in backticks is ordinary text.
    """
    kept: list[str] = []
    start, opened, is_thought = 0, False, False
    for tag in THOUGHT_TAG.finditer(text):
        if tag["open"]:
            if not is_thought:
                opened, is_thought = True, _begins_line(text, start, tag.start())
                if is_thought:
                    kept.append(text[start : tag.start()])
            continue
        if not opened:
            kept.clear()  # the opening mark is missing: everything so far was a thought
        if is_thought or not opened:
            start = tag.end()
        opened = is_thought = False
    said = "".join(kept) + ("" if is_thought else text[start:])
    return said if said == text else said.lstrip()


def _begins_line(text: str, start: int, end: int) -> bool:
    """Whether there is only white space between the beginning of the line and ``end``."""
    while end > start and text[end - 1].isspace() and text[end - 1] != "\n":
        end -= 1
    return end == start or text[end - 1] == "\n"
