"""Reads lines that announce a query and contain it, and lines that say that the query needs no change."""

from __future__ import annotations

import re

from acqo_rl.replies.wording import HERE_ARE, STATED_LABEL, SURE, names_queries

_ANNOUNCED = re.compile(
    rf"(?P<sure>(?:{SURE})\s?[,.!:\uff0c\u3002\uff01\u3001]\s*)?(?P<here>(?:here(?:'s| is| are| you)\b|{HERE_ARE})\s*)?"
    r"(?P<label>[^:\uff1a.!?]{1,80})[:\uff1a]\s*(?P<text>\S.*)",
    re.I,
)
_COURTESY = re.compile(rf"(?:{SURE})\s?[,.!\uff0c\u3002\uff01\u3001]\s*(?=\S+ \S)", re.I)
_NO_SEARCH = (
    r"no (?:(?:further|additional|more|other|extra|new|separate|web|search) )?"
    r"(?:search(?:es|ing)?|quer(?:y|ies)|sub-?quer(?:y|ies)|sub-?questions?|look-?ups?|retrieval)"
    r" (?:(?:is|are) )?(?:needed|necessary|required)"
    r"|(?:es (?:ist|sind) )?keine? (?:(?:weiteren?|zusätzlichen?) )?"
    r"(?:such(?:e|en|anfragen?)|(?:an|ab)fragen?|teilfragen?) (?:ist |sind )?(?:nötig|notwendig|erforderlich)"
    r"|aucune (?:autre )?(?:requête|recherche|sous-question)(?: supplémentaire)? (?:n'est )?(?:nécessaire|requise)"
    r"|no (?:se (?:necesitan?|requieren?)|es necesari[ao]|son necesarias|hacen? falta) (?:más |otras? |ninguna )?"
    r"(?:consultas?|búsquedas?|subconsultas?)(?: adicional(?:es)?)?"
    r"|nessuna (?:altra )?(?:query|ricerca|domanda)(?: aggiuntiva| ulteriore)? (?:è )?(?:necessaria|richiesta)"
    r"|nenhuma (?:outra )?(?:consulta|pesquisa|busca)(?: adicional)? (?:é )?necessária"
    r"|(?:er zijn )?geen (?:verdere |extra |aanvullende )?(?:zoekopdracht|zoekvraag|zoekvragen|deelvragen)(?:en)?"
    r" (?:zijn |is )?nodig"
    r"|(?:żadne )?(?:dalsze |dodatkowe )?(?:zapytania|wyszukiwania) nie są (?:potrzebne|konieczne)"
    r"|(?:дополнительн\w+ |дальнейш\w+ )?(?:запрос(?:ы|ов)?|поиски?|поиска) не (?:требу[ею]тся|нуж(?:ен|ны))"
    r"|(?:ek |başka )?(?:sorgu|arama)(?:ya|lara)? (?:gerek yok|gerekmiyor|gerekli değil)"
    r"|(?:无需|無需|不需要|不用)(?:再|进一步|額外|额外|更多)?的?(?:搜索|查询|检索|搜尋|查詢)"
    r"|(?:追加の|これ以上の)?(?:検索|クエリ)は?(?:不要|必要(?:は)?(?:ありません|ない))\w*"
    r"|(?:추가 )?(?:검색|쿼리)(?:이|가|은|는)? ?(?:필요 ?없|필요하지 않|불필요)\w*"
    r"|لا (?:حاجة|داعي) (?:إلى|ل)\s?(?:مزيد من |إجراء )?(?:البحث|بحث|الاستعلامات|استعلامات)"
    r"|(?:और |अतिरिक्त |किसी )?(?:खोज|प्रश्न|क्वेरी)\S* की (?:कोई )?(?:आवश्यकता|ज़रूरत|जरूरत) नहीं(?: है)?"
)
_UNNEEDED = re.compile(
    r"(?:no (?:re-?)?(?:writ(?:e|ing)|word(?:ing)?|formulation|phras(?:e|ing)|changes?|modifications?|expansion)s?"
    r" (?:(?:is|are|was|were) )?(?:needed|necessary|required)"
    r"|(?:the|this|your) (?:(?:original|raw|last|given|user's) )?(?:query|question|search query)"
    r" (?:(?:is|looks) (?:already |quite |perfectly |sufficiently )*(?:clear|stand-?alone|self-contained|complete|fine"
    r"|good|specific|optimal|well[- ]formed)|(?:does not|doesn't) need)\b.*"
    r"|(?:es ist )?keine (?:umformulierung|änderung(?:en)?|anpassung) (?:ist |sind )?(?:nötig|notwendig|erforderlich)"
    r"|die (?:frage|(?:such)?anfrage) ist (?:bereits|schon) (?:klar|eindeutig|eigenständig|vollständig)\b.*"
    r"|aucune (?:reformulation|modification) (?:n'est )?(?:nécessaire|requise)"
    r"|(?:il n'est )?pas besoin de (?:reformuler|réécrire)\b.*"
    r"|la (?:requête|question) est déjà (?:claire|autonome|complète)\b.*"
    r"|no (?:es necesario|hace falta|se necesita) (?:reformular|reescribir|cambiar)\w*\b.*"
    r"|la (?:consulta|pregunta) ya (?:es|está) (?:clara|completa|independiente)\b.*"
    r"|nessuna (?:riformulazione|modifica) (?:è )?(?:necessaria|richiesta)"
    r"|non (?:è necessario|serve) (?:riformulare|riscrivere|modificare)\b.*"
    r"|não é (?:necessário|preciso) (?:reformular|reescrever|alterar)\b.*"
    r"|(?:er is )?geen (?:herformulering|wijziging) (?:is )?nodig"
    r"|(?:переформулировка|переформулирование|изменений) не (?:требуется|нужн[оаы])"
    r"|yeniden yazmaya gerek yok|(?:该?问题|查询)?(?:无需|無需|不需要|不用)(?:改写|重写|修改)\w*"
    r"|書き換え(?:は|る)?(?:不要|必要(?:は)?(?:ありません|ない))\w*|재작성(?:이|은)? ?(?:필요 ?없|불필요)\w*"
    rf"|{_NO_SEARCH}"
    r")\s*(?:[.!,;\u0964\u3002\uff01\u2013\u2014(-].*)?",
    re.I,
)


def with_label(line: str) -> str:
    """Replaces the announcement before a query by "Query: ".

    Examples are "Sure, here's the rewritten query: rent in Oslo" and "Die umformulierte Frage lautet: Miete in Oslo".
    """
    text = line.replace("\u2019", "'")
    if stated := STATED_LABEL.match(text):
        return f"Query: {line[stated.end() :]}"
    found = _ANNOUNCED.fullmatch(text)
    said = [found["sure"], found["here"]] if found else []
    if found and (all(said) or (any(said) and names_queries(found["label"]))):
        return f"Query: {line[found.start('text') :]}"
    return line


def without_courtesy(line: str, read: str) -> str:
    """The line without "Sure!" or "Certainly," before at least two other words, unless the model read it."""
    match = _COURTESY.match(line)
    return line[match.end() :] if match and match[0].strip().casefold() not in read.casefold() else line


def needs_no_change(line: str) -> bool:
    """Whether a line says that the query should stay as it is: "No rewriting needed."."""
    return _UNNEEDED.fullmatch(line.strip().strip("*_\"'").replace("\u2019", "'")) is not None
