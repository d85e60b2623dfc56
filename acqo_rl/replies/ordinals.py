"""Removes labels that count the entries of a reply: "1ª opção:", "Birinci sorgu:", "السؤال الأول:"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.replies.counts import are_labels
from acqo_rl.replies.marks import plain
from acqo_rl.replies.wording import ORDINAL_ENDING, names_entries

_WORDS = (
    "first/firstly/one second/secondly/two third/thirdly/three fourth/fourthly/four fifth/fifthly/five",
    "erste/erster/erstes/erstens/eins zweite/zweiter/zweites/zweitens/zwei dritte/dritter/drittes/drittens/drei"
    " vierte/vierter/viertes/viertens/vier fünfte/fünfter/fünftens/fünf",
    "premier/première/premièrement/un/une deuxième/second/seconde/deuxièmement/deux troisième/troisièmement/trois"
    " quatrième/quatre cinquième/cinq",
    "primero/primera/uno segundo/segunda/dos tercero/tercera/tres cuarto/cuarta/cuatro quinto/quinta/cinco",
    "primo/prima/uno secondo/seconda/due terzo/terza/tre quarto/quarta/quattro quinto/quinta/cinque",
    "primeiro/primeira/um/uma segundo/segunda/dois/duas terceiro/terceira/três"
    " quarto/quarta/quatro quinto/quinta/cinco",
    "eerste/een/één tweede/twee derde/drie vierde/vier vijfde/vijf",
    "för_det_första för_det_andra för_det_tredje för_det_fjärde för_det_femte",
    "första/förste/ett/en andra/andre/två tredje/tre fjärde/fyra femte/fem",
    "pertama kedua ketiga keempat kelima",
    "første/en/ett anden/andre/to tredje/tre fjerde/fire femte/fem",
    "pierwszy/pierwsza/pierwsze/jeden drugi/druga/drugie/dwa trzeci/trzecia/trzecie/trzy czwarty/czwarta/czwarte/cztery"
    " piąty/piąta/piąte/pięć",
    "birinci/ilk/bir/birincisi ikinci/iki/ikincisi üçüncü/üç/üçüncüsü dördüncü/dört beşinci/beş",
    "первый/первая/первое/во-первых/один второй/вторая/второе/во-вторых/два третий/третья/третье/в-третьих/три"
    " четвёртый/четвертый/четвёртая/четвертая/в-четвёртых/четыре пятый/пятая/в-пятых/пять",
    "الأول/الأولى/أولا/أولاً/أولًا/الاول/واحد الثاني/الثانية/ثانيا/ثانياً/ثانيًا/اثنان "
    " الثالث/الثالثة/ثالثا/ثالثاً/ثالثًا/ثلاثة"
    " الرابع/الرابعة/رابعا/رابعاً/رابعًا/أربعة الخامس/الخامسة/خامسا/خامساً/خامسًا/خمسة",
    "पहला/पहली/पहले/प्रथम/एक दूसरा/दूसरी/दूसरे/द्वितीय/दो तीसरा/तीसरी/तीसरे/तृतीय/तीन चौथा/चौथी/चार पाँचवाँ/पाँचवीं/पांचवां/पाँच",
    "첫째/첫번째/하나 둘째/두번째/둘 셋째/세번째/셋 넷째/네번째/넷 다섯째/다섯번째/다섯",
    "まず/最初/はじめ/首先 次/其次/第二 三番目/再次 四番目 五番目",
)
"""One line per language or two, one column per number from one; forms of a number are separated by slashes."""
_NUMBER_OF = {
    word.replace("_", " "): str(number)
    for line in _WORDS
    for number, forms in enumerate(line.split(), start=1)
    for word in forms.split("/")
}
_LAST = "son last lastly finally zuletzt enfin finalmente infine 最後 最后 마지막"
_HAN_NUMBERS = {han: str(number) for number, han in enumerate("一二三四五六七八九十", start=1)}
_SUFFIX = rf"(?:{ORDINAL_ENDING}|:[ae]|번째|번)(?!\w)"
_UNSPACED = r"(?:番目|つ目|個目|件目|本目|回目|个|個|つ|番|件|条|條|项|項|点|點|组|組|種|种)?の?"
_SPELLED = "|".join(sorted(map(re.escape, (*_NUMBER_OF, *_LAST.replace("_", " ").split())), key=len, reverse=True))
_COUNT = re.compile(
    rf"(?<!\w)(?P<word>{_SPELLED})(?:に|の)?(?![^\W\u3040-\u30ff])|(?P<circled>[①-⑨])"
    rf"|[第其]?(?P<han>[一二三四五六七八九十])(?:{_UNSPACED})|第?(?P<digits>\d{{1,2}})(?:{_SUFFIX}|{_UNSPACED})",
    re.I,
)
_NUMBERED = re.compile(r"\d{1,2}[.)]")
_SHORT = 3
"""Maximum number of characters of a label beside a number in a script without spaces: "第一步"."""
_APART = re.compile("(첫|두|세|네|다섯) (번째)")
_LABEL = re.compile(
    r"(?:[-*\u2022]\s+)?(?P<label>[^:\uff1a\n]{1,32}?(?:(?<=\d):[ae])?)\s?[:\uff1a](?!(?<=\d:)\d)\s*(?P<text>\S.*)"
)


@dataclass(frozen=True, slots=True)
class _Counted:
    """A line with a label: its number ("last" fits any), the rest of the label, and the text after the label.

    ``is_label`` says whether the rest is known to be a label, and ``may_be_name`` whether it may be a name or a topic:
    it has capitals or stands after a number.
    """

    number: str
    rest: str
    text: str
    is_label: bool
    may_be_name: bool


def without_counting_labels(lines: Sequence[str], read: str = "") -> list[str]:
    """Replaces the labels of at least two lines by bullets if their numbers increase from one.

    Beside the number, the labels must agree and be no name, so that "First World War: causes" and "GTA 1: maps" stay.
    Words after a number ("1. Oslo: rent") are labels only if they name a kind of entry, or the model did not read them.

    Args:
        lines: the lines of a reply.
        read: the text that the model read; see :func:`are_labels`.
    """
    counted = {place: one for place, line in enumerate(lines) if (one := _read(line))}
    groups: dict[str, list[int]] = {}
    for place, one in counted.items():
        groups.setdefault(one.rest, []).append(place)
    kept = list(lines)
    for places in groups.values():
        of_label = [counted[place] for place in places]
        counts_up = all(one.number in (str(n), "last") for n, one in enumerate(of_label, start=1))
        if len(places) > 1 and counts_up and _are_labels(of_label, read):
            for place in places:
                kept[place] = f"- {counted[place].text}"
    return kept


def _are_labels(counted: Sequence[_Counted], read: str) -> bool:
    if all(one.is_label for one in counted):
        return True
    is_known = bool(read) or not counted[0].may_be_name
    return is_known and are_labels(counted[0].rest, [one.text for one in counted], read)


def _read(line: str) -> _Counted | None:
    found = _LABEL.fullmatch(plain(line.strip()))
    if found is None:
        return None
    label = _APART.sub(r"\1\2", found["label"].strip()).replace("İ", "i").lower()
    count = _COUNT.search(label)
    if count is None:
        return None
    rest = " ".join(f"{label[: count.start()]} {label[count.end() :]}".split()).strip(" -\u2013\u2014_#\u2116()")
    words = [word for word in found["label"].split() if word[0].isalpha()]
    capitals = {word.lower() for word in words[1:] if word[0].isupper()}
    spelled = bool(count["word"] or count["han"])
    is_label = _may_count(rest, capitals, spelled=spelled)
    if spelled and not is_label and not (_has_no_spaces(rest) and len(rest) <= _SHORT):
        return None
    may_be_name = bool(capitals) or _NUMBERED.match(label) is not None
    return _Counted(_number(count), rest, found["text"], is_label, may_be_name)


def _may_count(rest: str, capitals: set[str], *, spelled: bool) -> bool:
    """Whether the rest of a label may name the kind of entry.

    After a number in words it may be any word without a capital ("second try"); "Genesis 1" and "First Lady" are names.
    """
    if not rest or names_entries(rest):
        return True
    return spelled and not _has_no_spaces(rest) and " " not in rest and rest not in capitals


def _has_no_spaces(text: str) -> bool:
    return re.search("[\u3040-\u30ff\u3400-\u9fff]", text) is not None


def _number(count: re.Match[str]) -> str:
    if word := count["word"]:
        return _NUMBER_OF.get(word, "last")
    if count["circled"]:
        return str("①②③④⑤⑥⑦⑧⑨".index(count["circled"]) + 1)
    return _HAN_NUMBERS[count["han"]] if count["han"] else str(int(count["digits"]))
