"""Words that models write before and after the requested text, in many languages."""

from __future__ import annotations

import re


def _stems(*words: str) -> str:
    """Alternatives of a regular expression, one line per language; longer ones first, so that they are preferred."""
    stems = (re.escape(w).replace(r"\ ", "[ _]").replace(r"\-", "[-_]") for line in words for w in line.split(", "))
    return "|".join(sorted(stems, key=len, reverse=True))


ASKED = _stems(
    "query, queries, question, search, search query, subquery, sub-query, sub query, sub-question, subquestion, sub,"
    " search for, look for, sub-q, rewritten query, rewrite, resolve, part, step back question, step-back question, q,"
    " step back query, step-back query",
    "questions, searches, search queries, sub-queries, subqueries, sub-questions, rewritten queries",
    "frage, anfrage, suchanfrage, suchfrage, teilfrage, unterfrage, suche, fragen, anfragen, suchanfragen, teilfragen",
    "requête, question de recherche, sous-question, sous-requête, recherche, requêtes, recherches, sous-questions",
    "consulta, subconsulta, pregunta, subpregunta, búsqueda, consultas, preguntas, búsquedas",
    "domanda, sottodomanda, ricerca, interrogazione, domande, ricerche, sottodomande",
    "pergunta, subpergunta, questão, pesquisa, busca, perguntas, questões, pesquisas, buscas",
    "vraag, deelvraag, zoekvraag, zoekopdracht, vragen, deelvragen, zoekvragen, zoekopdrachten",
    "pytanie, podpytanie, zapytanie, wyszukiwanie, pytania, podpytania, zapytania, wyszukiwania",
    "frågor, sökfrågor, sökningar, запросы, вопросы, sorular, sorgular",
    "fråga, delfråga, sökfråga, sökning, spørgsmål, delspørgsmål, søgning, spørring, kysymys, haku",
    "запрос, вопрос, подвопрос, подзапрос, поиск, запит, питання",
    "soru, alt soru, sorgu, arama, otázka, dotaz, ερώτηση, câu hỏi, întrebare, kérdés, pertanyaan",
    "suche nach, rechercher, buscar, cercare, zoeken naar, szukaj, hledat, keresés, căutare, søk, hae, искать, ara",
    "खोज, คำค้น, คำค้นหา, 질문, 하위 질문, 검색어, 쿼리, سؤال, استعلام, प्रश्न, คำถาม",
    "क्वेरी, खोज क्वेरी, खोज प्रश्न, उप-प्रश्न, उपप्रश्न, السؤال, الاستعلام, استعلام البحث, البحث, سؤال فرعي, 검색 쿼리, 검색",
    "arama sorgusu, frågan, sökfrågan, termo de busca, termo de pesquisa, término de búsqueda, terme de recherche",
    "keyword, keywords, search term, search terms, suchbegriffe, schlüsselwörter, mots-clés, palabras clave",
    "parole chiave, palavras-chave, trefwoorden, zoektermen, słowa kluczowe, ключевые слова, anahtar kelimeler, sökord",
)
ANSWERED = _stems(
    "answer, final answer, the answer, the final answer, the answer is, hypothetical answer, passage, response",
    "antwort, die antwort, réponse, la réponse, respuesta, la respuesta, risposta, la risposta, resposta, a resposta",
    "antwoord, het antwoord, odpowiedź, svar, svaret, ответ, cevap, yanıt, vastaus, odpověď, απάντηση",
    "答案, 回答, 答, 答え, 답변, 답, إجابة, उत्तर, hypothetical passage, textpassage, passaggio, passatge, pasaje",
)
_LISTED = _stems(
    "variant, variation, version, option, alternative, term, rephrasing, paraphrase, suggestion",
    "variante, version, suchbegriff, vorschlag, umformulierung, terme, mot-clé, reformulation, proposition, opción",
    "variación, término, reformulación, sugerencia, variazione, opzione, termine, riformulazione, variação, opção",
    "termo, reformulação, alternativa, zoekterm, optie, herformulering, wariant, opcja, fraza, вариант, seçenek",
    "idea, proposal, sugestão, proposta, propuesta, idée, voorstel, förslag, alternativ, propozycja, предложение",
    "öneri, arama terimi, 옵션, 제안, 案, 候補, 選択肢, プラン",
    "选项, 方案, 建议, خيار, الخيار, اقتراح, الاقتراح, विकल्प, सुझाव",
)
_HAN = (
    r"(?:[子检検搜]|子の|サブ)?(?:查询|查詢|问题|問題|搜索|搜尋|检索|検索|索|クエリー?|質問|問い|关键词|關鍵詞|キーワード|改写)"
    r"(?:查询|查詢|クエリー?|ワード|词|詞|語|式)?"
)
_ORDINALS = _stems(
    "first, second, third, fourth, fifth, 1st, 2nd, 3rd, erste, zweite, dritte, vierte, première, deuxième, troisième",
    "primera, segunda, tercera, prima, seconda, terza, primeira, terceira, eerste, tweede, derde, pierwsze, drugie",
    "trzecie, 첫 번째, 두 번째, 세 번째, 네 번째, första, andra, tredje, первый, второй, третий",
)
_REWRITTEN = _stems(
    "rewritten, reworded, rephrased, reformulated, paraphrased, revised, improved, optimized, optimised, refined",
    "standalone, stand-alone, self-contained, decontextualized, contextualized, clarified, expanded, complete",
    "resolved, better, follow-up, final, new, updated, alternative, broader, more general, general, suggested, search",
    "umformulierte, überarbeitete, umgeschriebene, eigenständige, verbesserte, präzisierte, optimierte, neue",
    "allgemeinere, umformuliert, überarbeitet, reformulée, réécrite, améliorée, autonome, optimisée, nouvelle, affinée",
    "reformulada, reescrita, mejorada, independiente, optimizada, nueva, refinada, autónoma, más general",
    "riformulata, riscritta, migliorata, ottimizzata, nuova, raffinata, melhorada, otimizada, independente, nova",
    "herschreven, geherformuleerde, verbeterde, zelfstandige, nieuwe, przeformułowane, przepisane, ulepszone, nowe",
    "omformulerad, omskriven, förbättrad, fristående, ny, переформулированный, переписанный, уточнённый, новый",
    "yeniden yazılmış, geliştirilmiş, bağımsız, yeni, 재작성된, 다시 작성된, 개선된, 새로운, 독립적인",
)
_REWRITTEN_HAN = (
    r"(?:(?:改写|重写|改进|优化|最终|新|独立|完整)[后後]?的?|(?:書き換え|言い換え|改善|修正)(?:た|後の|した)?)"
)
_BY_NUMBER = (
    r"[\s_]*(?:n[.°º]{1,2}\s*|nr\s*|no\s*|[^\W\d_]{1,3}\.\s*|№\s*|#\s*|\(\s*)?"
    r"(\d{1,2})(?:\s?(?:/|of)\s?\d{1,2})?\)?\s*(?:(?:[:)：]|\.(?!\d))|[-–—](?=\s))"
)
ORDINAL_ENDING = (
    r"\.?[ªº°]|st|nd|rd|th|er|re|ère|ème|eme|ième|e|è|a|o|['’]?(?:inci|nci|üncü|uncu|ıncı)|-?(?:й|я|е|ый|ая|ое|ий)"
    r"|वाँ|वां|वीं|\."
)
"""Endings of ordinal numbers: "1st", "2ème", "3ª", "1'inci", "2-й"."""
LABEL = re.compile(
    rf"(?:(?:(?:{_ORDINALS})\s+)?(?:(?:{ASKED}|{ANSWERED}|{_LISTED}){_BY_NUMBER}"
    rf"|(?:{ASKED}|{ANSWERED})(?:\s\(?(?:{_REWRITTEN})\)?)?\s*[:：])|(?:{_ORDINALS})\s*[:：]"
    rf"|(?:(?:{_REWRITTEN})\s){{1,3}}(?:{ASKED})(?:{_BY_NUMBER}|\s*[:：])|(?:rewritten|reformulated|rephrased|standalone)\s*:"
    rf"|{_REWRITTEN_HAN}{_HAN}\s*[:：]"
    rf"|第\s*([\d一二三四五六七八九十]{{1,2}})\s*[个個の条]?(?:{_HAN})?\s*[:：]"
    rf"|\d{{1,2}}(?:{ORDINAL_ENDING})\s+(?:{ASKED}|{_LISTED})\s*[:：]"
    rf"|(?:\d{{1,2}}(?:つ目|番目|個目|번째|번)|最初)の?\s?(?:{ASKED}|{_HAN})?\s*[:：]"
    rf"|{_HAN}(?:{_BY_NUMBER}|\s*[一二三四五六七八九十①-⑳]?\s*[:：]))\s*",
    re.I,
)
"""A label before a text: "Query 1:", "Requête n° 2 :", "First question:", "Rewritten query:", "子查询3："."""
STATED_LABEL = re.compile(
    r"(?:(?:so|thus|therefore|also|ok(?:ay)?|sure|certainly)[,!.]?\s)?"
    r"(?:(?:the|your|a|an|my|die|der|eine|la|le|une|el|una|il|o|a|uma|de|het|den|det)\s)?"
    rf"(?=.{{0,40}}(?:{_REWRITTEN}|best|beste|meilleure|mejor|migliore|melhor)\b)"
    rf"(?:(?:{_REWRITTEN}|best|beste|meilleure|mejor|migliore|melhor)\s){{0,3}}(?:{ASKED})(?:\s(?:{_REWRITTEN})){{0,2}}\s"
    r"(?:is|would be|could be|should be|ist|lautet|wäre|est|serait|es|sería|è|sarebbe|é|seria|luidt|brzmi|to|är|lyder"
    r"|звучит так|такой|şudur|şöyle)(?:\s?[:：]\s*(?=\S)|\s+(?=[\"“„«]))"
    rf"|{_REWRITTEN_HAN}{_HAN}(?:是|为|如下|は)\s*[:：]\s*(?=\S)",
    re.I,
)
"""A statement before a query: "The rewritten query is: ", "Die umformulierte Frage lautet: "."""
_SUB_QUERY = r"(?:sub|search|rewritten|standalone)[ _-]?(?:quer(?:y|ies)|questions?)"
ASSIGNED_LABEL = re.compile(
    r"(?P<bullet>(?:[-*+\u2022]|\d{1,2}[.)])\s+)?(?:(?:const|let|var)\s+)?\$?(?P<open>[\[<(`*]{0,3})"
    rf"(?P<label>(?:{ASKED}|{_HAN})[\s_]*[\[(#]?\d{{1,2}}[\])]?|{_SUB_QUERY}|(?:{_LISTED})_\d{{1,2}})(?:[\])>`*]{{0,3}})\s*"
    r"(?::=|={1,2}>?|[-=]>|\u2192|\u21d2|\||is\s*:|(?<=[\]>)])\s*[:.-]?(?=\s)|(?<=_\d)(?=\s|$))\s*",
    re.I,
)
"""A label without a colon: "SUB_QUERY_1 = ", "[SUB_QUERY_1] ", "q1 -> ", "sub_queries[0] := "."""
ANSWER_LABEL = rf"(?:{ANSWERED})[*_\s]*[:：]"
"""A label before an answer, without emphasis marks."""

EXPLAINS = (
    r"(?:purpose|explanation|rationale|reason(?:ing)?|focus|goal|aim|intent|note|aspect|covers|begründung|erklärung"
    r"|erläuterung|zweck|ziel|hinweis|anmerkung|explication|raison|objectif|remarque|justification|explicación|motivo"
    r"|propósito|razón|objetivo|nota|spiegazione|scopo|motivazione|obiettivo|explicação|justificativa|razão|uitleg|reden"
    r"|doel|opmerking|toelichting|wyjaśnienie|powód|uwaga|uzasadnienie|förklaring|syfte|пояснение|цель|примечание"
    r"|说明|解释|理由|目的|备注|注意?|説明|解説|意図|補足|설명|이유|목적|참고"
    r"|original(?: (?:user )?(?:query|question|search))?|ursprüngliche (?:frage|anfrage|suchanfrage)"
    r"|(?:question|requête) (?:originale|initiale|d'origine)|(?:pregunta|consulta|domanda|pergunta) original[e]?"
    r"|oorspronkelijke (?:vraag|zoekopdracht)|oryginalne (?:pytanie|zapytanie)|ursprunglig fråga"
    r"|исходный (?:вопрос|запрос)|原始?的?(?:问题|查询)|元の(?:質問|クエリ)|원래 질문"
    r"|context|kontext|contexte|contexto|contesto)\s*[:：]"
)
"""A label before a line that explains another entry, or repeats what the model was asked."""
_NONE = """
none null nil n/a na nothing - no unknown keine keiner nichts aucun aucune rien ninguna ninguno nada nessuna
nessuno niente nenhum nenhuma geen niets brak żadne 无 無 没有 なし ingen inget нет yok 없음
"""
NONE = frozenset(("", "not applicable", *_NONE.split()))
"""Words that mean "no text", in lower case."""
YES = r"yes|true|y|sufficient|complete|answerable|ja|jawohl|oui|sí|si|sì|sim|tak|да|evet|是|可以|足够|はい|예|네"
NO = (
    r"no|not|false|n|insufficient|incomplete|unanswerable|nein|nicht|non|pas|não|nao|nee|niet|nie|нет|не|nej|inte"
    r"|hayır|否|不|没有|いいえ|아니요"
)

SURE = (
    r"sure(?: thing)?|certainly|of course|ok(?:ay)?|absolutely|no problem|understood|got it|al(?:l )?right"
    r"|natürlich|gerne?|klar|selbstverständlich|bien sûr|certainement|volontiers"
    r"|d'accord|claro(?: que s[ií])?|por supuesto|desde luego|certo|certamente|volentieri|com certeza|natuurlijk|zeker"
    r"|graag|oczywiście|jasne|självklart|självfallet|конечно|tabii(?: ki)?|elbette"
    r"|当然(?:可以)?|好的|没问题|もちろん(?:です)?"
    r"|承知(?:しました|いたしました)|물론(?:입니다|이죠)?"
)
GREETS = (
    r"(?:hello|hi|hey|hallo|halo|hola|bonjour|salut|ciao|olá|hej|hoi|merhaba|привет|здравствуйте|你好|您好|こんにちは|안녕하세요)"
    r"(?: (?:there|everyone|all|zusammen|daar|allemaal|a todos|à tous|a tutti|semua))?\s?[!,.\uff01\uff0c\u3002]"
)
HERE_ARE = (
    r"here (?:it goes|you (?:go|are))\b"
    r"|hier (?:sind|ist|zijn|is)\b|voici\b|aquí (?:están?|tienes?|va)\b|ecco\b|aqui (?:estão|está|vão|vai|tem)\b|oto\b"
    r"|här (?:är|kommer)\b|вот\b|işte\b|以下[是は]|以下の|下面是|这里[是有]|次の|다음은"
)
OFFERS = (
    r"i(?:'d| would| can| will|'ll|'m| am)\b.*\b(?:help|assist|provide|write|share|explain|answer|do (?:that|so))\b"
    r"|(?:happy|glad) to (?:help|assist)\b|(?:let|allow) me\b|ich (?:helfe|kann|schreibe)\b|gerne? (?:helfe|schreibe)\b"
    r"|je (?:peux|vais|serais)\b|avec plaisir\b|puedo (?:ayud|hac)|con (?:mucho )?gusto\b|será un placer\b"
    r"|posso (?:aiut|ajud)|con piacere\b|ik (?:help|kan)\b|mogę\b|jag kan\b|я (?:помогу|могу)\b"
)
WISHES = (
    r"ich hoffe\b|hoffentlich\b|j'espère\b|en espérant\b|espero (?:que|ter)\b|spero (?:che|di)\b|ik hoop\b|hopelijk\b"
    r"|mam nadzieję\b|jag hoppas\b|hoppas\b|надеюсь\b|umarım\b|希望(?:这|对|能|以上)|お役に立て|ご参考|도움이"
    r"|sag(?:en sie)?(?: mir)? (?:einfach )?bescheid\b|lass(?:en sie)?(?: es)? mich wissen\b|bei (?:fragen|bedarf)\b"
    r"|faites-moi savoir\b|dis-moi si\b|dites-moi si\b|n'hésite[zs]? pas\b|avísame\b|hazme saber\b|dime si\b"
    r"|no dudes en\b|fammi sapere\b|fatemi sapere\b|avise-me\b|me avise\b|diga-me\b|fique à vontade\b"
    r"|laat (?:het )?me(?: het)? weten\b|daj(?:cie)?(?: mi)? znać\b|säg till\b|hör av dig\b|дайте (?:мне )?знать\b"
    r"|bana bildirin\b|如(?:果|有)(?:您|你)?(?:还|仍)?(?:需要|有)|请(?:告诉|随时)"
    r"|(?:他に|さらに|もし|必要).*ください|.*알려 ?주"
)
CLOSES = (
    r"(?:done|that's (?:it|all)|that is (?:it|all)|good luck|fertig|das (?:war|ist)(?:'?s| es| alles)|viel erfolg|voilà"
    r"|c'est tout|bonnes? recherches?|listo|eso es todo|buena suerte|ecco fatto|è tutto|buona ricerca|é tudo|boa sorte"
    r"|boas? (?:pesquisas?|buscas?)"
    r"|klaar|veel succes|lycka till|kolay gelsin|iyi aramalar|gotowe|powodzenia"
    r"|готово|удачи|以上(?:です)?|끝)\s?[.!\u3002\uff01]"
)
ASKS_MORE = (
    r"(?:do you (?:want|need)|would you like|(?:shall|should|can|may) i|möchten sie|möchtest du|willst du|soll ich"
    r"|voulez-vous|veux-tu|souhaitez-vous|¿?quier(?:es|e)|¿?necesitas|vuoi|quer|você quer|wil je|хотите)\b"
    r".*\b(?:more|other|another|further|else|additional|weitere|mehr|andere|d'autres|plus|más|otr[ao]s|altr[ei]|mais"
    r"|outr[ao]s|meer|ещё|еще)\b.*\?$"
)
THESE = (
    r"(?:(?:diese|die obigen|ces|est[ao]s|queste?|quest[aei]|ess[ae]s|deze|te|dessa|эти|bu|alle|toutes ces|todas estas)"
    r" |这些|以上|上述|これらの?|上記の?|이 )"
)


def these_listed(text: str) -> bool:
    """Whether a text refers to the list: "Ces requêtes ...", "Diese Suchanfragen ...", "这些查询..."."""
    return bool(_THESE_LISTED.match(text))


_THESE_LISTED = re.compile(rf"{THESE}(?:{ASKED}|{_LISTED}|{_HAN}|begriffe|opzioni|opções)", re.I)


def names_queries(name: str) -> bool:
    """Whether a field or column name means that it contains queries: "sub_query_1", "Suchanfrage", "查询"."""
    return bool(_NAMES_QUERIES.search(name))


_NAMES_QUERIES = re.compile(
    rf"quer|search|variant|term|text|(?<![^\W\d_])(?!(?:part|sub|q)\b)(?:{ASKED})(?![^\W\d_])|{_HAN}", re.I
)


def names_entries(words: str) -> bool:
    """Whether words name a kind of entry: "query", "termo de busca", "质问"."""
    return bool(_NAMES_ENTRIES.fullmatch(words))


_NAMES_ENTRIES = re.compile(
    rf"(?:(?:{_REWRITTEN})\s){{0,3}}(?:(?:{ASKED}|{ANSWERED}|{_LISTED}|{_HAN})\s?){{1,2}}(?:n[or]|\u305d\u306e)?", re.I
)


def here_listed(text: str) -> bool:
    """Whether a text only announces a list: "Hier sind drei Varianten"."""
    return bool(_HERE_LISTED.fullmatch(text))


_HERE_LISTED = re.compile(rf"(?:{HERE_ARE})(?: \S+){{0,3}} ?(?:{ASKED}|{_LISTED}|{_HAN})\w{{0,2}}[.:!]?", re.I)
