"""Finds references in texts ("see also", "as described in", links) and follows them breadth-first."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from acqo_rl.data.pages import without_markup
from acqo_rl.pipeline.calls import PassageSearch
from acqo_rl.pipeline.passages import Chunk
from acqo_rl.pipeline.state import Action, RetrievalState, RetrievalStep
from acqo_rl.text import normalised

MOST = 5
"""Maximum number of references per text, and of queries per depth."""

_CAPITAL = r"[A-Z\u00c0-\u00de]"
_NOUN = r"[Ss]ection|[Cc]hapter|[Aa]ppendix|[Tt]able|[Ff]igure|[Pp]art|[Aa]rticle|[Aa]nnex|RFC|ISO"
_NUMERAL = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_SECTION = re.compile(
    rf"(?:the\s)?(?:(?P<noun>{_NOUN})s?\s(?=\d|[A-Z]\b|[IVXLC]+\b|(?:{_NUMERAL})\b)|(?=\d))(?P<label>\w(?:[\w.-]*\w)?)"
)
_QUOTED = r"[\"'\u201c\u2018][^\"'\u201c\u201d\u2018\u2019\n]{4,100}[\"'\u201d\u2019](?!\w)"
_NAME = re.compile(
    rf"(?:the\s)?(?P<name>{_QUOTED}|(?<!\w)[^\W\d](?:\w*+(?:://|\.\w)|[^\W_]*+_)\S*"
    rf"|{_CAPITAL}\S*(?:\s(?:(?:of|the|and|in|for|de|on|to)\s)*(?:{_CAPITAL}|\d)\S*)*)"
)
_WORD = re.compile(rf"{_QUOTED}\S*|\S+")
_INITIALS = re.compile(r"(?:\w\.)+")
_AND_SECTION = re.compile(rf"\s(?:and|or)\s(?=[\d\"'\u201c\u2018]|(?:the\s)?(?:{_NOUN})s?\s)")
_AND = re.compile(rf"{_AND_SECTION.pattern}|\s(?:and|or)\s(?=(?:the\s)?{_CAPITAL})")
_POINTER = re.compile(
    r"(?:(?P<list>\b(?:See\salso|SEE\sALSO|See\sAlso)\b|(?:\(|^[^\w\n]*+)see\salso\b"
    r"|\bsee\salso(?=:|\s(?:the\s)?[A-Z\u00c0-\u00de]))"
    r"|\b(?:[Rr]efer(?:s|ring)?\sto|[Rr]ead(?=:)|[Aa]s\s(?:described|explained|shown|defined|discussed)\sin"
    r"|[Ff]or\s(?:more|further)\s(?:information|details?)(?:\s(?:on|about)\s[^,.;]{1,60})?,?\s(?:see|read|consult))\b)"
    r"(?=(?P<rest>(?s:.{0,1000})(?!\S))?)",
    re.M,
)
_MOST_POINTERS = 200
_MOST_CHARACTERS = 100_000
_BETWEEN = " \t.,;:!?\u2022-"
_MARKS = f"{_BETWEEN}\"'[]\u201c\u201d\u2018\u2019"


def find_references(text: str) -> tuple[str, ...]:
    """Returns at most 5 references in a text: links of Markdown and HTML, then what its sentences point to.

    "See also" begins a list of anything: the rest of the sentence, or the lines after it. After "refers to" and similar
    phrases only sections, quotations, addresses, identifiers and capitalised names are references; "recall refers to
    the share found" contains none. A reference consists of whole words. Of the first 200 pointers, 1,000 characters are
    read, and of a text the first 100,000.
    """
    plain, found = without_markup(text[:_MOST_CHARACTERS])
    for pointer in islice(_POINTER.finditer(plain), _MOST_POINTERS):
        rest = (pointer["rest"] or "").lstrip(": ")
        block = rest.lstrip("\n").partition("\n\n")[0]
        lines = block.split("\n")
        if not pointer["list"]:
            found += _targets(block, is_list=False)
        else:
            shown = lines if rest.startswith("\n") else lines[:1]
            found += [part for line in shown for part in _targets(line, is_list=True)]
    by_key: dict[str, str] = {}
    for part in (part.strip(_MARKS) for part in found):
        if len(part) > 3:
            by_key.setdefault(normalised(part), part)
    return tuple(by_key.values())[:MOST]


def _targets(text: str, *, is_list: bool) -> Iterator[str]:
    """What the first words of a text point to; a number alone has the noun before it ("Sections 2 and 3")."""
    noun = ""
    for place, item in enumerate(_items(text)):
        for number, piece in enumerate((_AND if is_list or place else _AND_SECTION).split(item)):
            section = _SECTION.match(piece)
            noun = (section["noun"] or noun) if section else ""
            match = section if noun else _NAME.match(piece)
            target = ""
            is_whole = False
            if match:
                target = f"{noun} {match['label']}" if noun else match["name"]
                is_whole = match.end() == len(piece)
            if is_list:
                yield target if noun and is_whole else piece
            elif target and (is_whole or number or not place):
                yield target
            if not is_list and not is_whole:
                return


def _items(text: str) -> Iterator[str]:
    """The words of a sentence, cut only after commas and semicolons."""
    words: list[str] = []
    for word in _WORD.findall(text):
        closes = word.count(")") > word.count("(")
        said = (word.rpartition(")")[0] if closes else word).rstrip("\"'\u201d\u2019")
        if words or said not in ("and", "or"):
            words.append(word[: word.rfind(")")] if closes else word)
        is_end = closes or (said.endswith((".", "!", "?")) and not _INITIALS.fullmatch(said))
        if is_end or said.endswith((",", ";")):
            yield " ".join(words).strip(_BETWEEN)
            words = []
        if is_end:
            return
    yield " ".join(words).strip(_BETWEEN)


@dataclass(frozen=True)
class ReferenceFollower:
    """Searches the question, then the references in the passages found, level by level.

    Attributes:
        depth: maximum number of levels, including the first search.
        documents: maximum number of new documents.
        k: passages per query.
    """

    search: PassageSearch
    depth: int = 3
    documents: int = 10
    k: int = 5

    name = "recursive"

    def run(self, state: RetrievalState) -> RetrievalState:
        """Adds steps and passages; starts from the passages in the state, or from the question if there are none."""
        passages = state.passages.found
        depth = 1 if passages else 0
        queries = _unsearched(state, _references(passages.values()) if passages else [state.query.text])
        added: list[str] = []
        path: list[RetrievalStep] = []
        while not (reason := self._reason_to_stop(depth, len(added), queries)):
            action: Action = "follow_reference" if depth else "retrieve"
            known = set(passages)
            references: list[str] = []
            found = self.search.passages(state, f"{self.name} {depth}", queries, self.k)
            for query, chunks in zip(queries, found, strict=True):
                new = [chunk for chunk in chunks if chunk.document.id not in known]
                kept = new[: max(0, self.documents - len(added))]
                for chunk in new[len(kept) :]:
                    passages.pop(chunk.document.id, None)
                doc_ids = tuple(chunk.document.id for chunk in kept)
                pointed = _references(kept)
                summary = f"Retrieved {len(kept)} new documents, found {len(pointed)} references"
                path.append(_step(action, depth, query, doc_ids, pointed, summary))
                known.update(doc_ids)
                added += doc_ids
                references += pointed
            queries = _unsearched(state, references)
            depth += 1
        summary = f"{len(added)} new documents in {len(path)} steps"
        path.append(_step("aggregate", depth, state.query.text, tuple(added), (), f"Collected {summary}"))
        path.append(_step("stop", depth, state.query.text, (), queries, reason))
        state.journal.trace.add(self.name, f"stopped: {summary}")
        return replace(state, path=tuple(path))

    def _reason_to_stop(self, depth: int, added: int, queries: Sequence[str]) -> str:
        if not queries:
            return "There are no new references"
        if added >= self.documents:
            return f"{added} new documents are enough"
        return "" if depth < self.depth else f"The maximum depth {self.depth} is reached"


def _references(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r for chunk in chunks for r in find_references(chunk.document.text)))


def _unsearched(state: RetrievalState, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in dict.fromkeys(texts) if not state.journal.has_searched(text))[:MOST]


def _step(
    action: Action, depth: int, query: str, doc_ids: tuple[str, ...], references: tuple[str, ...], reasoning: str
) -> RetrievalStep:
    digest = hashlib.sha256(query.encode("utf-8", "replace")).hexdigest()
    return RetrievalStep(f"step_{depth}_{digest[:6]}", action, query, doc_ids, references, reasoning, depth)
