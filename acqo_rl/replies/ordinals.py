"""Removes labels that count the entries of a reply: "1ª opção:", "Birinci sorgu:", "السؤال الأول:"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
_APART = re.compile("(첫|두|세|네|다섯) (번째)")
_LABEL = re.compile(
    r"(?:[-*\u2022]\s+)?(?P<label>[^:\uff1a\n]{1,32}?(?:(?<=\d):[ae])?)\s?[:\uff1a](?!(?<=\d:)\d)\s*(?P<text>\S.*)"
)


@dataclass(frozen=True, slots=True)
class _Counted:
    """A line with a label: its number ("last" fits any), the rest of the label, and the text after the label."""

    number: str
    rest: str
    text: str


def without_counting_labels(lines: Sequence[str]) -> list[str]:
    """Replaces the labels of at least two lines by bullets if their numbers increase from one.

    Beside the number, the labels must agree and name a kind of entry, so that "First World War: causes" and
    "GTA 1: maps" stay.
    """
    read = {place: one for place, line in enumerate(lines) if (one := _read(line))}
    groups: dict[str, list[int]] = {}
    for place, one in read.items():
        groups.setdefault(one.rest, []).append(place)
    kept = list(lines)
    for places in groups.values():
        numbers = [read[place].number for place in places]
        if len(places) > 1 and all(number in (str(n), "last") for n, number in enumerate(numbers, start=1)):
            for place in places:
                kept[place] = f"- {read[place].text}"
    return kept


def _read(line: str) -> _Counted | None:
    found = _LABEL.fullmatch(plain(line.strip()))
    if found is None:
        return None
    label = _APART.sub(r"\1\2", found["label"].strip()).replace("İ", "i").lower()
    count = _COUNT.search(label)
    if count is None:
        return None
    rest = " ".join(f"{label[: count.start()]} {label[count.end() :]}".split()).strip(" -\u2013\u2014_#\u2116()")
    capitals = {word.lower() for word in found["label"].split()[1:] if word[:1].isupper()}
    if not _may_count(rest, capitals, spelled=bool(count["word"] or count["han"])):
        return None
    return _Counted(_number(count), rest, found["text"])


def _may_count(rest: str, capitals: set[str], *, spelled: bool) -> bool:
    """Whether the rest of a label may name the kind of entry.

    After a number in words it may be any word without a capital ("second try"); "Genesis 1" and "First Lady" are names.
    """
    if not rest or names_entries(rest):
        return True
    has_spaces = not re.search("[\u3040-\u30ff\u3400-\u9fff]", rest)
    return spelled and has_spaces and " " not in rest and rest not in capitals


def _number(count: re.Match[str]) -> str:
    if word := count["word"]:
        return _NUMBER_OF.get(word, "last")
    if count["circled"]:
        return str("①②③④⑤⑥⑦⑧⑨".index(count["circled"]) + 1)
    return _HAN_NUMBERS[count["han"]] if count["han"] else str(int(count["digits"]))
