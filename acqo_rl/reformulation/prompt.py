"""The policy's prompt, which is the same for all retrievers and data sets and in training, evaluation and serving."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acqo_rl.reformulation.grammar import ORIGINAL, TAGS
from acqo_rl.text import drop_middle, one_line
from acqo_rl.types import Conversation, Query, Snippet, Turn

VERSION = "2"
"""Must be increased whenever the prompt changes, because a model works only with the prompt it was trained on."""

_PARTLY = "The language model read only a part of the query and its conversation, because they are too long."
_MARKER = re.compile(r"([<\[])(?=[|/\uff5c\w])")
_LONGEST_TOKEN = 8
"""Upper bound on the mean number of characters per token."""
_TITLE_TOKENS, _TOKENS_A_WORD = 48, 5

_SYSTEM = (
    f"{TAGS['pass']}, {TAGS['disambiguate']} or {TAGS['decompose']}, then at most {{most}} searches, one a line; "
    f"{ORIGINAL} is the question"
)


@dataclass(frozen=True)
class Prompt:
    """Renders queries for the policy within token budgets.

    If the history exceeds its budget, the user's last turn gets room first, then the last answer, the user's other
    turns and the other answers, each newest first, until one does not fit. A turn that needs more than half the budget
    is shortened: a user's turn gets half of the budget, an assistant's turn a quarter. Remaining room is given back to
    the shortened turns, the user's first. Shortened turns keep both ends.

    Attributes:
        count_tokens: returns the number of tokens of a text.
        max_sub_queries: maximum number of sub-queries, as in the grammar.
        history_tokens: budget of the earlier turns; 0 drops them.
        query_tokens: budget of the query; a longer query keeps both ends, because a question may follow a pasted text.
        feedback_words: words per feedback result; its text is truncated to 5 tokens per word, its title to 48 tokens.
    """

    count_tokens: Callable[[str], int]
    max_sub_queries: int = 3
    history_tokens: int = 256
    query_tokens: int = 128
    feedback_words: int = 28

    def render(self, query: Query) -> Conversation:
        """Returns the prompt for a query."""
        question = f"Question: {self._question(query)}"
        lines = [*self._turns(query.history), *map(self._result, query.feedback), question]
        return [
            {"role": "system", "content": _SYSTEM.format(most=self.max_sub_queries)},
            {"role": "user", "content": "\n".join(lines)},
        ]

    def _question(self, query: Query) -> str:
        text = drop_middle(untrusted(query.text), 2 * self.query_tokens * _LONGEST_TOKEN)
        if self.count_tokens(text) <= self.query_tokens:
            return text
        return self._both_ends(text, self.query_tokens) or self._first_words(text, self.query_tokens)

    def _turns(self, history: Sequence[Turn]) -> list[str]:
        """The lines of the turns that fit; each line costs its tokens plus one for the line end."""
        budget = left = self.history_tokens
        newest_first = range(len(history) - 1, -1, -1)
        asked = [i for i in newest_first if history[i].speaker == "user"]
        answered = [i for i in newest_first if history[i].speaker != "user"]
        lines: dict[int, str] = {}
        room: dict[int, int] = {}
        lacking: dict[int, int] = {}
        for i in [*asked[:1], *answered[:1], *asked[1:], *answered[1:]] if budget else ():
            lines[i] = drop_middle(untrusted(str(history[i])), 2 * budget * _LONGEST_TOKEN)
            cost = self.count_tokens(lines[i]) + 1
            share = cost if 2 * cost <= budget else budget // (2 if history[i].speaker == "user" else 4)
            if share > left:
                break
            room[i] = share
            lacking[i] = cost - share
            left -= share
        for i in [i for i in [*asked, *answered] if i in room]:
            more = min(left, lacking[i])
            left -= more
            if more < lacking[i]:
                mark, _, said = lines[i].partition(" ")
                lines[i] = self._both_ends(said, room[i] + more - 1, f"{mark} ")
        return [lines[i] for i in sorted(room) if lines[i]]

    def _result(self, snippet: Snippet) -> str:
        title = self._first_words(untrusted(snippet.title), _TITLE_TOKENS)
        return f"- {title}: {self._first_words(untrusted(snippet.text), _TOKENS_A_WORD * self.feedback_words)}"

    def _first_words(self, text: str, budget: int) -> str:
        text = text[: budget * _LONGEST_TOKEN]
        while self.count_tokens(text) > budget:
            text = text[: len(text) * 3 // 4]
        return text

    def _both_ends(self, text: str, budget: int, mark: str = "") -> str:
        """Shortens a text to both ends within a budget, which includes a mark before it; empty if there is no room."""
        size = min(len(text) - 1, budget * _LONGEST_TOKEN)
        while size > 1:
            if self.count_tokens(cut := f"{mark}{drop_middle(text, size)}") <= budget:
                return cut
            size = size * 7 // 8
        return ""


def partly_read(query: Query, prompt: Conversation) -> tuple[str, ...]:
    """A note if the prompt of a query lacks a part of it or of its conversation."""
    texts = [query.text, *(turn.text for turn in query.history)]
    return () if all(untrusted(text) in prompt[-1]["content"] for text in texts) else (_PARTLY,)


def with_examples(instructions: str, examples: Sequence[tuple[str, str]], content: str) -> Conversation:
    """Builds a prompt: instructions as system message, worked examples as earlier turns, then the content."""
    shown = [
        {"role": role, "content": text}
        for pair in examples
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    return [{"role": "system", "content": instructions}, *shown, {"role": "user", "content": content}]


def untrusted(text: str) -> str:
    """Makes a text of users or documents safe for a prompt: one line, without special tokens of chat templates.

    Special tokens have the form "<...>" or "[...]" ("<|im_end|>", "</s>", "<start_of_turn>", "[/INST]"); a space after
    the bracket turns them into plain text.
    """
    return _MARKER.sub(r"\1 ", one_line(text))
