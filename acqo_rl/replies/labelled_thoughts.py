"""Removes thoughts in plain words before a labelled answer: "Thought: ...", then "Final Answer: ..."."""

from __future__ import annotations

import re

from acqo_rl.replies.marks import plain
from acqo_rl.replies.thinking_aloud import thinks_aloud
from acqo_rl.replies.wording import ANSWERED, LABEL

_ACTION = re.compile(r"\W*action\W{0,3}:", re.I)
_ANSWER = re.compile(
    rf"^[ \t#*_>-]*(?:(?:final )?(?:{ANSWERED}|output|result)|action[ _]input|最终(?:答案|输出|结果)|最終回答)"
    r"[*_ \t]*[:\uff1a][*_ \t]*",
    re.I | re.M,
)
_OBSERVATION = re.compile(r"^[ \t*_]*observation[*_]*:", re.I | re.M)


def without_labelled_thoughts(text: str) -> str:
    """The reply from its last label of an answer, or else from its first label of a query.

    Nothing is removed unless the reply begins like a thought (:func:`thinks_aloud`) or a call of a tool ("Action:").
    """
    if not (thinks_aloud(text) or _ACTION.match(text)):
        return text
    answers = [_OBSERVATION.split(text[label.end() :])[0] for label in _ANSWER.finditer(text)]
    if answers and answers[-1].strip():
        return answers[-1]
    lines = text.splitlines(keepends=True)
    labelled = (place for place, line in enumerate(lines) if place and LABEL.match(plain(line).lstrip("#*->_ \t")))
    return "".join(lines[next(labelled, 0) :])
