"""Leaves out the thoughts that reasoning models write before they answer."""

from __future__ import annotations

import re

_NAMES = r"(?:seed:)?(?:think|thinking|thoughts?|reason|reasoning|reflection|scratchpad|analysis|inner_monologue)"
THOUGHT_TAG = re.compile(
    rf"(?<!`)(?:(?P<open><{_NAMES}>|\[THINK\]|\u25c1think\u25b7|<\|(?:begin_of_thought|START_THINKING)\|>"
    r"|<\|channel\|>(?:analysis|commentary)\b|<\|channel>thought\b|(?-i:\A\s*analysis(?=[A-Z\"'\d])))"
    rf"|</{_NAMES}>|\[/THINK\]|\u25c1/think\u25b7|<\|(?:end_of_thought|END_THINKING)\|>"
    r"|<\|channel\|>final\b[^<\n]{0,40}<\|message\|>|<channel\|>|(?-i:assistantfinal))",
    re.I,
)
"""The marks of common models; without special tokens those of gpt-oss become "analysis...assistantfinal"."""
_WRAPPED = re.compile(
    r"\A\s*<(answer|response|final_answer|output)>\s*|</(?:answer|response|final_answer|output)>\s*\Z"
)
_ENDS = re.compile(r"(?:<\|(?:return|end|im_end|eot_id|endoftext)\|>\s*)+\Z")


def without_thoughts(text: str) -> str:
    """What a reply says, without tokens and tags around all of it; empty if it ends within thoughts."""
    return _ENDS.sub("", _WRAPPED.sub("", _ENDS.sub("", outside_thoughts(text))))


def outside_thoughts(text: str) -> str:
    """A text without the thoughts in it.

    Thoughts whose opening mark is missing, because the chat template wrote it, end at their closing mark. A mark
    within a line, or in backticks, opens nothing.
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
            kept.clear()  # everything so far were thoughts
        if is_thought or not opened:
            start = tag.end()
        opened = is_thought = False
    said = "".join(kept) + ("" if is_thought else text[start:])
    return said if said == text else said.lstrip()


def _begins_line(text: str, start: int, end: int) -> bool:
    """Whether only white space stands between the beginning of the line and ``end``."""
    while end > start and text[end - 1].isspace() and text[end - 1] != "\n":
        end -= 1
    return end == start or text[end - 1] == "\n"


def begins_in_thoughts(text: str) -> bool:
    """Whether a reply closes thoughts that it never opened, as all replies of such a model do."""
    first = THOUGHT_TAG.search(text)
    return first is not None and not first["open"]


def ends_in_open_thoughts(prompt: str) -> bool:
    """Whether a prompt opens thoughts, so that the reply only closes them."""
    tags = list(THOUGHT_TAG.finditer(prompt))
    return bool(tags and tags[-1]["open"]) and not prompt[tags[-1].end() :].strip()
