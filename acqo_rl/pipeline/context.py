"""Formats passages and questions as text, for prompts and for display."""

from collections import Counter
from collections.abc import Sequence

from acqo_rl.pipeline.passages import Chunk
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.text import compatible, content_words, folded, one_line
from acqo_rl.types import Reformulation, Span

CONTEXT_CHARACTERS = 4000
"""Maximum characters of all passages in the prompt for the answer."""
SHOWN_CHARACTERS = 2000
"""Maximum characters of a document's text in a result."""
_REGION, _MOST_WORDS = 4, 64
"""Size of the region that is split into parts, in parts; and number of words that are looked for."""
_LEAST_CHARACTERS, _LEAST_NUMBERED = 300, 50
"""Minimum characters per passage, and per passage on one line; they apply even if there are many passages."""


def window(text: str, about: str, characters: int = SHOWN_CHARACTERS, span: Span | None = None) -> tuple[int, str]:
    """Returns the part of a text that matches best, and its place: the number of characters before it.

    Texts of at most ``characters`` are returned whole; others are cut to the ``span``, if they have it, and then
    to the region with most words of ``about``, which is split into overlapping parts. The part with most of these words
    wins. A word has weight 1 / regions or parts that have it. The time is linear in the length of the text.
    """
    if len(text) <= characters:
        return 0, text
    if span and 0 <= span[0] < span[1] <= len(text):
        place, part = window(text[slice(*span)], about, characters)
        return span[0] + place, part
    from semantic_text_splitter import TextSplitter

    wanted = list(dict.fromkeys(content_words(_plain(about))))[:_MOST_WORDS]
    size = _REGION * characters
    starts = range(0, max(len(text) - size // 2, 1), size // 2)
    regions = [_plain(text[start : start + size]) for start in starts]
    best = starts[_best([{word for word in wanted if word in region} for region in regions])]
    start = max(0, best - characters)
    if start:  # not within a word
        start = text.find(" ", start, best) + 1 or start
    read = text[start : best + size + characters]
    parts = TextSplitter(characters, overlap=characters // 2).chunk_indices(read) or [(0, read[:characters])]
    place, part = parts[_best([_found(wanted, _plain(part)) for _, part in parts])]
    return start + place, part


def _plain(text: str) -> str:
    return folded(compatible(text))


def _found(wanted: Sequence[str], text: str) -> set[str]:
    """The words that a text has; of other scripts, a part of a word is enough, because their words are not stemmed."""
    own = set(content_words(text))
    return {word for word in wanted if word in own or (word in text and not word.isascii())}


def _best(found: Sequence[set[str]]) -> int:
    """The place of the first set with the highest weight; a word has weight 1 / sets that have it."""
    counts = Counter(word for some in found for word in some)
    return max(range(len(found)), key=lambda i: sum(1 / counts[word] for word in sorted(found[i])))


def excerpt(text: str, about: str, characters: int, span: Span | None = None) -> str:
    """The :func:`window` of a text on one line, with ellipses, which count as characters."""
    line = one_line(text)
    if len(line) <= characters:
        return line
    start, part = window(text, about, characters - 2, span)
    return ("\u2026" if start else "") + one_line(part) + ("\u2026" if text[start + len(part) :].strip() else "")


def passages(chunks: Sequence[Chunk], about: str, characters: int) -> str:
    """Title and text of each passage, each on one line; long texts are cut to an :func:`excerpt`.

    Args:
        chunks: the passages.
        about: the question.
        characters: limit for all texts, shared equally; each gets at least 300.
    """
    share = max(characters // max(len(chunks), 1), _LEAST_CHARACTERS)
    return "\n\n---\n\n".join(
        f"[{one_line(chunk.document.title) or f'Document {number}'}]\n"
        f"{excerpt(chunk.document.text, about, share, chunk.span)}"
        for number, chunk in enumerate(chunks, start=1)
    )


def numbered(chunks: Sequence[Chunk], about: str, characters: int) -> str:
    """One numbered line per passage, so that a model can refer to it; long passages are cut to an :func:`excerpt`.

    Args:
        chunks: the passages.
        about: the question.
        characters: limit for all lines, shared equally.
    """
    share = max(characters // max(len(chunks), 1), _LEAST_NUMBERED)
    return "\n".join(
        f"({number}) {one_line(chunk.document.title)}: {excerpt(chunk.document.text, about, share, chunk.span)}"
        for number, chunk in enumerate(chunks, start=1)
    )


def asked(state: RetrievalState) -> str:
    """The question, its sub-questions and its sub-queries as one text."""
    parts = [part.text for part in state.sub_questions]
    return " ".join([searched_texts(state.reformulation) if state.reformulation else state.query.text, *parts])


def searched_texts(reformulation: Reformulation) -> str:
    """The query and its sub-queries as one text, which says what a result is about."""
    return " ".join([reformulation.query.text, *(sub_query.text for sub_query in reformulation.sub_queries)])


def for_mode(state: RetrievalState, mode: str) -> str:
    """The passages as the prompt for the answer has them: by hop or by sub-question if the mode has them."""
    about = asked(state)
    if mode == "multi_hop":
        hops = [(f"Hop {hop.number}", hop.doc_ids, f"{about} {hop.query}") for hop in state.hops]
        return "\n\n".join(_grouped(state, hops))
    if mode == "recursive" and len(state.sub_questions) > 1:
        numbers = enumerate(state.sub_questions, start=1)
        parts = [(f"Sub-query {number}: {part.text}", part.doc_ids, part.text) for number, part in numbers]
        followed = [state.passages.found[d] for step in state.path if step.action == "aggregate" for d in step.doc_ids]
        rest = [passages(followed, about, CONTEXT_CHARACTERS)] if followed else []
        return "\n\n===\n\n".join([*_grouped(state, parts), *rest])
    return passages(state.chunks, about, CONTEXT_CHARACTERS)


def _grouped(state: RetrievalState, groups: Sequence[tuple[str, Sequence[str], str]]) -> list[str]:
    """A text per group, from its heading, its documents, and what they are about."""
    share = CONTEXT_CHARACTERS // max(len(groups), 1)
    return [
        f"[{heading}]\n{passages([state.passages.found[doc_id] for doc_id in doc_ids], about, share)}"
        for heading, doc_ids, about in groups
    ]
