"""Removes the counts before the entries of a list, with and without labels: "а) ", "Step 1: ", "【查询1】"."""

from __future__ import annotations

# ruff: noqa: RUF002  (letters of other scripts are meant)
import re
import unicodedata
from collections.abc import Sequence

from acqo_rl.replies.marks import plain
from acqo_rl.replies.wording import names_entries
from acqo_rl.text import normalised, unnumbered

_SIGN = r"[\u2460-\u249b\u24eb-\u24ff\u2776-\u2793\u3220-\u3229\u2160-\u217b]"
"""Characters that are counts by themselves: "①", "⑴", "❶", "㈠", "Ⅱ"."""
_LETTER = r"(?![\d_])[\w\u0300-\u036f\u064b-\u065f\u0900-\u0e7f]"
"""A letter, or a vowel sign of a script whose vowel signs are not word characters."""
_COUNT = re.compile(
    rf"[#(\[<{{\u3010\u3014\uff08\uff3b]{{0,2}}(?P<label>(?:(?:{_LETTER})+(?:[ _-](?:{_LETTER})+){{0,3}}[ _-]?)??)"
    r"(?:n[.\u00b0\u00ba]{1,2} ?|nr\.? ?|[^\W\d_]{1,3}\. ?|\u2116 ?|#|\()?"
    rf"(?P<number>\d{{1,2}}|(?<![^\W\d_\u3040-\u9fff])(?:[ivxIVX]{{1,4}}|[^\W\d_])|{_SIGN})"
    r"(?:\s?(?:/|of)\s?\d{1,2}(?=\W))?(?P<end>[\])>}\u3011\u3015\uff09\uff3d]{1,2}\s?[:\uff1a]?|\s?[:.)\uff1a\uff09\u3001\uff0e]{1,2}(?!(?<=\d[.:])\d)"
    r"|/(?=\s)|[\u00ba\u00aa\u00b0](?=\s)|\s*(?:[-=]>|[-\u2013\u2014|=\u2192])(?=\s)|(?<=[#\u2116\u00b0\u00ba.]\d)(?=\s)"
    rf"|(?<={_SIGN}))\s*(?=\S)"
)
_BOLD_ENTRY = re.compile(r"\*\*[^*]+\*\*\s*[-\u2013\u2014:\uff1a(\uff08\u2192]")
_COUNT_ALONE = re.compile(r"(?:\d{1,2}:\s+(?!\d)|[a-h]\)\s+|\((?:[a-h]|[ivx]{1,4})\)\s+)(?=\S)")
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_ALPHABETS = (
    *("abcdefgh", "абвгдежз", "αβγδεζηθ", "אבגדהוזח", "أبجدهوزح", "ابجدهوزح", "أبتثجحخد", "ابتثجحخد", "कखगघङचछज"),
    *(
        "अआइईउऊऋए",
        "กขคงจฉชซ",
        "가나다라마바사아",
        "あいうえおかきく",
        "アイウエオカキク",
        "イロハニホヘトチ",
        "甲乙丙丁戊己庚辛",
    ),
)
"""Letters that count entries, from the first one, in several scripts."""


def uncounted(lines: Sequence[str], read: str = "") -> list[str]:
    """Replaces counts by bullets, if they increase from one with the same label, or cannot be part of the text.

    Args:
        lines: the lines of a reply.
        read: the text that the model read; see :func:`are_labels`.
    """
    texts = [plain(line) for line in lines]
    texts = [inner if _is_counted(inner := unnumbered(line), beside=line) else line for line in texts]
    counts = {place: m for place, line in enumerate(texts) if (m := _COUNT.match(line))}
    groups: dict[tuple[str, str], list[int]] = {}
    for place, m in counts.items():
        groups.setdefault((m["label"].strip(" _-"), m["end"].strip()), []).append(place)
    ends = {place: m.end() for place, line in enumerate(texts) if (m := _COUNT_ALONE.match(line))}
    for (label, _), places in groups.items():
        numbers = [counts[place]["number"] for place in places]
        rest = [texts[place][counts[place].end() :] for place in places]
        if _count_up(numbers) and are_labels(label, rest, read, by_letter=numbers[0].isalpha()):
            ends |= {place: counts[place].end() for place in places}
    bare = [place for place, m in counts.items() if not m["label"].strip(" _-")]
    values = [count_of(counts[place]["number"]) for place in bare]
    if len(values) > 1 and values == list(range(1, len(values) + 1)):  # in several styles: "1: ", "#2 ", "c) "
        ends |= {place: counts[place].end() for place in bare}
    return [f"- {_rest(line, texts[n][ends[n] :])}" if n in ends else line for n, line in enumerate(lines)]


def _rest(line: str, text: str) -> str:
    """The end of a line whose plain text is ``text``, with the bold marks of an entry before an explanation."""
    counted = _COUNT.match(line)
    rest = line[counted.end() :] if counted else text
    return rest if _BOLD_ENTRY.match(rest) and plain(rest) == text else text


def _is_counted(text: str, beside: str) -> bool:
    """Whether a text after a bullet or a number begins with a count; after a number only with a label: "1. Q1: "."""
    counted = _COUNT.match(text)
    return counted is not None and (counted["label"] != "" or not beside[:1].isdecimal())


def _count_up(numbers: Sequence[str]) -> bool:
    """Whether at least two numbers, letters or Roman numerals count from one."""
    small = [number.casefold() for number in numbers]
    letters = any(small == list(order[: len(small)]) for order in (_ROMAN, *_ALPHABETS))
    return len(small) > 1 and (letters or list(map(_value_of, small)) == list(range(1, len(small) + 1)))


def count_of(number: str) -> int:
    """The count that a number or a letter stands for: 3 for "3", "③", "三" and "c"."""
    letter = number[0].casefold()
    return _value_of(number) or next((order.index(letter) + 1 for order in _ALPHABETS if letter in order), 0)


def _value_of(number: str) -> int:
    """The value of digits or of one character such as "③" or "三"; 0 for other letters."""
    return int(number) if number.isdecimal() else int(unicodedata.numeric(number[0], 0.0))


def are_labels(label: str, texts: Sequence[str], read: str, *, by_letter: bool = False) -> bool:
    """Whether the same words beside a count in several lines are labels, and not a name: "Step 1:", not "GTA 1:".

    Words that name a kind of entry are labels. So are other words that the model did not read, if the texts after them
    are different and can be searched without them. If it is unknown what the model read, words with capitals and words
    before letters are not labels, because they may be a name.

    Args:
        label: the words beside the count.
        texts: the text after each label.
        read: the text that the model read; empty if it is unknown.
        by_letter: whether letters count the lines: "Hepatitis A:".
    """
    if not label or names_entries(label):
        return True
    if len(set(map(normalised, texts))) < len(texts):
        return False
    if read:
        boundary = "" if "\u3040" <= label[0] <= "\u9fff" else r"(?<!\w)"
        return not re.search(boundary + re.escape(label.casefold()), read.casefold())
    is_name = by_letter or any(word[:1].isupper() for word in re.split("[ _-]", label)[1:])
    return not is_name and all(len(text.split()) > 1 or not text.isascii() for text in texts)
