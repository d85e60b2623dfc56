"""Removes explanations after the entries of a list, such as "(focuses on demographics)" or "- uses a synonym"."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import re
from collections.abc import Sequence

from acqo_rl.text import MAX_CHARACTERS

_OPENS = (
    r"(?:(?:this|it|which|also|here|dies(?:e|er)?|das|cel(?:le|ui)-ci|est[aeo]|quest[ao]|deze|dit|to|этот|это)"
    r"(?: (?:query|one|variant|search|suchanfrage|requête|consulta|ricerca|vraag|запрос))? )?"
)
_VERBS = (
    r"(?:us(?:es|ing)|add(?:s|ing)|cover(?:s|ing)|includ(?:es|ing)|target(?:s|ing)|replac(?:es|ing)|combin(?:es|ing)"
    r"|captur(?:es|ing)|specif(?:ies|ying)|mention(?:s|ing)|explor(?:es|ing)|address(?:es|ing)|broaden(?:s|ing)"
    r"|narrow(?:s|ing)|rephras(?:es|ing)|clarif(?:ies|ying)|expand(?:s|ing)|highlight(?:s|ing)|stress(?:es|ing)"
    r"|emphasi[sz](?:es|ing)|employ(?:s|ing)|looks? (?:for|at)|asks? (?:for|about)|seek(?:s|ing))"
    r" (?!(?:and|or|for|of|in|with|during|to|on|by|from|vs|against|after|before|&)\b)\w"
    r"|focus(?:es|ing|ed)? on|(?:with )?(?:an? )?(?:emphasis|focus) on|concentrat(?:es|ing) on"
    r"|aim(?:s|ed|ing) (?:at|to)|relat(?:es|ing) to the"
    r"|(?:konzentriert|fokussiert|bezieht|richtet) sich|fokus auf|verwendet|benutzt|nutzt|betont"
    r"|ergänzt|umfasst|enthält|zielt auf|erwähnt|berücksichtigt|sucht nach|erweitert|ersetzt"
    r"|se (?:concentre|focalise)|met l'accent|utilise|ajoute|couvre|cible|inclut|précise|insiste sur|élargit|remplace"
    r"|se (?:centra|enfoca)|enfocad[ao] en|utiliza|usa|añade|agrega|cubre|incluye|enfatiza|destaca|especifica|amplía"
    r"|si (?:concentra|focalizza)|utilizza|aggiunge|copre|include|sottolinea|mira a|enfatizza|specifica|amplia"
    r"|(?:foca|concentra-se|foca-se) |adiciona|acrescenta|cobre|inclui|abrange|aborda"
    r"|richt zich|focust|gebruikt|voegt|omvat|benadrukt|bevat|legt de nadruk"
    r"|skupia się|koncentruje się|używa|dodaje|obejmuje|podkreśla|uwzględnia|zawiera"
    r"|fokuserar|använder|lägger till|täcker|betonar|inkluderar"
    r"|фокус\w* на|использует|добавляет|охватывает|подчёркивает|подчеркивает|включает|акцент на|уточняет"
    r"|odaklan\w+|.* (?:odaklanır|kullanır|ekler|kapsar|vurgular|içerir)(?=[)\].]?\Z)"
)
_WHAT_CHANGED = (
    r"(?:(?:a |an |the |more |with |using |other |another |different |alternative |ein |eine |un |une |una )*"
    r"(?:synonyms?|broader(?: \w+)?|narrower(?: \w+)?|more (?:specific|general)|(?:re)?wording|phrasing|keywords?"
    r"|\w+ (?:focus|angle|perspective|wording|phrasing|emphasis)|synonyme?|allgemeiner|spezifischer|andere wortwahl"
    r"|plus (?:général|précis)|sinónimos?|más (?:general|específic[oa])|sinonim[oi]|più (?:generale|specific[oa])))"
)
_LONGEST = 2 * MAX_CHARACTERS
"""Maximum number of characters of an entry and its explanation; bounds the time of the search for it."""
_WITHOUT_SPACES = (
    r"[^()\uff08\uff09]{0,30}(?:侧重|聚焦|关注|强调|突出|涵盖|添加|使用|针对|同义|に焦点|に注目|を使用|を強調|を追加|を含む|同義"
    r"|초점|강조|동의어|사용|추가)"
)
_EXPLAINED = re.compile(
    r"(?P<text>\S.*?)(?:\s*(?P<bracket>[(\[\uff08])|\s+(?:[\u2013\u2014\u2192-]{1,2}|->)\s+|\s*[:\uff1a]\s+)"
    rf"(?P<says>{_OPENS}(?:{_VERBS}|{_WHAT_CHANGED}(?=[)\].]?\Z))|{_WITHOUT_SPACES})"
    r"(?(bracket)[^()\[\]\uff08\uff09]*[)\]\uff09]|.*)[.\u3002]?",
    re.I,
)


def without_explanations(entries: Sequence[str], read: str) -> list[str]:
    """Removes what explains an entry after a bracket, a dash or a colon, if most entries end in an explanation.

    An explanation says what the query does ("uses a synonym") or how it differs ("broader"). Words that the model read
    belong to the entry. "Mercury (planet)" and "aspirin - uses and doses" stay.

    Args:
        entries: the entries of a list.
        read: the text that the model read; empty if it is unknown.
    """
    known = read.casefold()
    matches = [_EXPLAINED.fullmatch(entry) for entry in entries if len(entry) <= _LONGEST]
    found = {m[0]: m["text"] for m in matches if m and not (known and m["says"].casefold().strip() in known)}
    if len(found) < 2 or 2 * len(found) < len(entries) or len(set(found.values())) < len(found):
        return list(entries)
    return [found.get(entry, entry) for entry in entries]
