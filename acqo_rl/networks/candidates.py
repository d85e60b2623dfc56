"""Candidates of a hop: the names in the best results of a query.

A name is the title of a result, a title of the corpus or a capitalised phrase in the text of a result, a name in the
question whose words occur in documents, or a rare phrase.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from acqo_rl.networks.corpus_words import LONGEST_TITLE, WORDS_READ, CorpusWords, joined_words, title_of
from acqo_rl.text import stem, word_spans
from acqo_rl.types import Document, Span

SOURCES = ("title_of_result", "title_in_text", "capitalised_phrase", "name_in_question", "rare_phrase")
"""Where a name was found."""
_UNSURE = ("capitalised_phrase", "rare_phrase")
"""Sources whose phrases need not be names."""
_WINDOW = 12
"""Words before and after a name that count as its surroundings."""
_PHRASES = 2
"""Rare phrases per passage."""

_Spans = list[Span]
"""First and last word of each phrase."""


@dataclass(slots=True)
class Candidate:
    """A name in the results or in the question.

    Attributes:
        name: as written at its first place; empty stands for no name.
        source: of its first place.
        rank: of the result of its first place; 0 for the question.
        place: share of the text before its first place.
        around: stemmed words around all its places.
        passages: ranks of the results that contain it.
        mentions: number of its places.
    """

    name: str = ""
    source: str = ""
    rank: int = 0
    place: float = 0.0
    around: set[str] = field(default_factory=set)
    passages: set[int] = field(default_factory=set)
    mentions: int = 0


class _Text:
    """Words of a text with their places and stems."""

    __slots__ = ("ends", "lower", "starts", "stems", "text")

    def __init__(self, text: str) -> None:
        spans = word_spans(text[: 12 * WORDS_READ])[:WORDS_READ]
        self.text = text
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]
        self.lower = [text[start:end].lower() for start, end in spans]
        self.stems = [stem(word) for word in self.lower]

    def spelled(self, first: int, last: int) -> str:
        return self.text[self.starts[first] : self.ends[last]]

    def is_capital(self, i: int) -> bool:
        first = self.text[self.starts[i]]
        return first.isupper() or first.isdecimal()

    def begins_sentence(self, i: int) -> bool:
        """Whether a word begins a sentence, so that its capital says nothing."""
        before = self.text[: self.starts[i]].rstrip()
        return not before or before[-1] in '.?!:"'

    def next_capital(self, i: int) -> int | None:
        """The next word of a capitalised phrase, perhaps after two short ones; ``None`` if the phrase ends."""
        for following in (i + 1, i + 2, i + 3):
            if following >= len(self.lower) or set(self.text[self.ends[i] : self.starts[following]]) & set('.,;:()?!"'):
                return None
            if self.is_capital(following):
                return following
            if len(self.lower[following]) > 3:
                return None
        return None


class CandidateFinder:
    """Finds the names in one question and its results."""

    def __init__(self, question: str, words: CorpusWords) -> None:
        """Creates a finder.

        Args:
            question: the text that the names shall answer.
            words: titles and word weights of the corpus.
        """
        self._words = words
        self._question = _Text(question)
        self._found: dict[str, Candidate] = {}

    def best(self, results: Sequence[Document], searched: Collection[str], most: int) -> list[Candidate]:
        """The first candidates that were not searched yet: names before phrases, then by the rank of the result.

        Args:
            results: the documents that are read, best first.
            searched: the words of each text that was searched, joined by spaces.
            most: maximum number of candidates.
        """
        for rank, document in enumerate(results, start=1):
            if title := title_of(document):
                self._add(title, "title_of_result", rank)
            text = _Text(document.text)
            self._add_all(text, "title_in_text", rank, self._titles(text))
            self._add_all(text, "capitalised_phrase", rank, self._phrases(text))
            self._add_all(text, "rare_phrase", rank, self._rare_phrases(text))
        asked = self._question
        spans = [*self._titles(asked), *self._phrases(asked, of_question=True)]
        may_exist = [span for span in spans if self._words.may_find(asked.stems[span[0] : span[1] + 1])]
        self._add_all(asked, "name_in_question", 0, may_exist)
        new = [candidate for name, candidate in self._found.items() if name not in searched]
        return sorted(new, key=lambda candidate: (candidate.source in _UNSURE, candidate.rank, candidate.place))[:most]

    def _add_all(self, text: _Text, source: str, rank: int, spans: _Spans) -> None:
        for first, last in spans:
            around = text.stems[max(0, first - _WINDOW) : last + 1 + _WINDOW] if rank else ()
            self._add(text.spelled(first, last), source, rank, first / len(text.stems), around)

    def _add(self, name: str, source: str, rank: int, place: float = 0.0, around: Iterable[str] = ()) -> None:
        candidate = self._found.setdefault(joined_words(name), Candidate(name, source, rank, place))
        candidate.around.update(around)
        candidate.mentions += 1
        if rank:
            candidate.passages.add(rank)

    def _titles(self, text: _Text) -> _Spans:
        """The capitalised titles of the corpus in a text; the longest at each place."""
        spans, i, titles = [], 0, self._words.titles
        while titles and i < len(text.lower):
            last = -1
            if text.is_capital(i):
                for end in range(min(i + LONGEST_TITLE, len(text.lower)), i, -1):
                    if " ".join(text.lower[i:end]) in titles:
                        last = end - 1
                        break
            if last > i or (last == i and not self._words.is_common(text.stems[i])):
                spans.append((i, last))
            i = max(last, i) + 1
        return spans

    def _phrases(self, text: _Text, *, of_question: bool = False) -> _Spans:
        """The capitalised phrases of a text; a phrase may contain short words ("University of Oslo").

        A phrase of the question does not begin with the first word of a sentence: this word may be rare in the corpus
        only because the corpus contains no questions.
        """
        spans, i = [], 0
        while i < len(text.lower):
            if not text.is_capital(i):
                i += 1
                continue
            begins, common = text.begins_sentence(i), self._words.is_common(text.stems[i])
            if (begins and (common or of_question)) or (common and text.next_capital(i) is None):
                i += 1
                continue
            last = i
            while (following := text.next_capital(last)) is not None:
                last = following
            if last > i or not (begins or common or text.lower[i].isdecimal()):
                spans.append((i, last))
            i = last + 1
        return spans

    def _rare_phrases(self, text: _Text) -> _Spans:
        """The rarest pairs of adjacent words that the question does not contain."""
        said, weight = set(self._question.stems), self._words.weight
        pairs = [
            (weight(word) + weight(following), i)
            for i, (word, following) in enumerate(zip(text.stems, text.stems[1:], strict=False))
            if word not in said and following not in said and not text.is_capital(i) and not text.is_capital(i + 1)
            and text.starts[i + 1] == text.ends[i] + 1
        ]  # fmt: skip
        return [(i, i + 1) for _, i in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:_PHRASES]]
