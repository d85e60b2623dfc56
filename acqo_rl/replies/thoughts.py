"""Leaves out the thoughts that reasoning models write before they answer, of a whole reply and of one being written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from acqo_rl.types import Completion

_NAMES = r"(?:seed:)?(?:think|thinking|thoughts?|reason|reasoning|reflection|scratchpad|analysis|inner_monologue)"
_TAG = re.compile(
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
_MAY_BECOME_A_TAG = re.compile(
    r"(?:[<\[\u25c1][^\s<>\[\]\u25b7]{0,24}|<\|channel(?:\|>[^<\n]{0,40}(?:<\|?\w*\|?)?|>\w*)|assist\w{0,8}"
    r"|\A\s*a(?:n(?:a(?:l(?:y(?:s(?:is?)?)?)?)?)?)?)\Z"
)


def without_thoughts(text: str) -> str:
    """What a reply says; empty if it ends within thoughts.

    Thoughts whose opening mark is missing, because the chat template wrote it, end at their closing mark. A mark
    within a line, or in backticks, opens nothing.
    """
    kept: list[str] = []
    start, opened, is_thought = 0, False, False
    for tag in _TAG.finditer(text):
        if tag["open"]:
            if not is_thought:
                before = text[start : tag.start()]
                opened, is_thought = True, not before.rpartition("\n")[2].strip()
                if is_thought:
                    kept.append(before)
            continue
        if not opened:
            kept.clear()  # everything so far were thoughts
        if is_thought or not opened:
            start = tag.end()
        opened = is_thought = False
    said = "".join(kept) + ("" if is_thought else text[start:])
    said = said if said == text else said.lstrip()
    return _ENDS.sub("", _WRAPPED.sub("", _ENDS.sub("", said)))


def begins_in_thoughts(text: str) -> bool:
    """Whether a reply closes thoughts that it never opened, as all replies of such a model do."""
    first = _TAG.search(text)
    return first is not None and not first["open"]


def ends_in_open_thoughts(prompt: str) -> bool:
    """Whether a prompt opens thoughts, so that the reply only closes them."""
    tags = list(_TAG.finditer(prompt))
    return bool(tags and tags[-1]["open"]) and not prompt[tags[-1].end() :].strip()


def said_by(completion: Completion, *, begins_in_thoughts: bool = False) -> Completion:
    """The completion without thoughts; a limit of tokens that ended within them is its ``problem``.

    Args:
        completion: as the model wrote it.
        begins_in_thoughts: other replies of the model do, so that one that was cut before any mark is all thoughts.
    """
    text = without_thoughts(completion.text)
    if begins_in_thoughts and not completion.finished and not _TAG.search(completion.text):
        text = ""
    if completion.problem is None and not completion.finished and completion.text.strip() and not text.strip():
        why = f"the limit of tokens ended within thoughts ({completion.text[:40]!r}); raise max_new_tokens"
        return replace(completion, text="", problem=why)
    return replace(completion, text=text)


class Spoken:
    """Passes on what a reply says while it is being written."""

    def __init__(self, on_text: Callable[[str], None], *, begins_in_thoughts: bool = False) -> None:
        """Takes who listens.

        Args:
            on_text: is given what is said, piece by piece.
            begins_in_thoughts: nothing is said before thoughts have been closed, or the reply has ended.
        """
        self._on_text = on_text
        self._waits = begins_in_thoughts
        self._text = self._told = ""

    def write(self, piece: str) -> None:
        """Takes the next piece of the reply; what may be the beginning of a mark waits for the next one."""
        self._text += piece
        held = _MAY_BECOME_A_TAG.search(self._text, max(0, len(self._text) - 80))
        text = self._text[: held.start()] if held else self._text
        self._waits = self._waits and not _TAG.search(text)
        if not self._waits:
            self._tell(text)

    def end(self) -> None:
        """The reply is complete."""
        self._tell(self._text)

    def _tell(self, text: str) -> None:
        said = without_thoughts(text)
        if not said.strip():
            return
        new = said.removeprefix(self._told)
        self._told = said
        if new:
            self._on_text(new)
