"""Detects greetings, thanks and other messages without a question; all reformulators pass them unchanged."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

from acqo_rl.reformulation import acknowledgements
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.signals import REFERENCE, has_attribute, names
from acqo_rl.reformulation.small_talk_words import PHRASES, is_courtesy, is_greeting_without_spaces, is_opening
from acqo_rl.text import compatible, folded
from acqo_rl.types import Query, Reformulation

_MOST_WORDS = 16

_THANKS = """
thanks | thank (you|u) | thx | tha?nks | ty(sm)? | many thanks | thanks a (lot|bunch|million|ton) | cheers
(much|really) appreciated | i( really)? appreciate (it|that|your help)
danke( schön| sehr| dir| ihnen)? | (vielen|besten|herzlichen|lieben) dank | merci( beaucoup| bien)?
(muchas |mil )?gracias | grazie( mille| tante)? | (muito )?obrigad[oa]
dank (je|u)( wel)? | bedankt | tack( så mycket)? | (tusen )?takk | (mange|tusind) tak
dzięk(i|uję) | teşekkür(ler| ederim)
(большое )?спасибо | شكرا?ً?ا? | धन्यवाद | (非常|多)?(谢谢|謝謝|感谢)[你您]?
(どうも)?ありがとう(ございま(す|した))? | 감사합니다 | 고마워(요)?
"""
_SAID = """
hi+( hi+)? | hell?o | hey+a? | hiya | howdy | greetings | yo
(good )?morning | good (afternoon|evening|day|night) | goodnight | namaste
(it is |its )?(nice|pleased|good|great) to (meet|see) you
how are (you|u)( doing| feeling)? | how is it going | hows it going | how do you do | how have you been
what is up | what(s| s)? ?up | sup | long time no see
(good)? ?bye+( bye+)? | see (you|ya|u)( later| soon| tomorrow| around| then)? | cya | take care | farewell
have a (nice|good|great|lovely|wonderful) (day|evening|weekend|night|one|time)
you( a)?re welcome | (good|great|nice|excellent|helpful) (job|work|bot|answers?) | well done | sounds good
who are you | what can you do | what is your name | are you (an? )?(real )?(bot|robot|human|person|ai)
(that( i)?s|that will be) all | never mind | nevermind | sorry | my (bad|apologies) | apologies
hallo | guten (morgen|tag|abend) | gute nacht | moin | servus | tschüss | auf wiedersehen | wie geht( e)?s( dir| ihnen)?
das (ist|war|wars|wäre) alles | entschuldigung | tut mir leid
bonjour | bonsoir | salut | coucou | bonne (journée|soirée|nuit) | au revoir | (comment )?ça va | comment allez vous
c est tout | désolée?
hola | buenos d[ií]as | buenas( tardes| noches)? | adi[oó]s | hasta (luego|pronto) | qu[eé] tal | c[oó]mo est[aá]s
(eso )?es todo | perd[oó]n | lo siento
ciao | buongiorno | buonasera | salve | arrivederci | come (stai|va) | (è|questo è) tutto | scus[ai] | mi dispiace
ol[aá] | oi | bom dia | boa (tarde|noite) | tchau | tudo bem | (isso )?é (só isso|tudo) | é só | desculp[ae]
halo(?= semua|$) | hoi | goede(morgen|middag|navond) | tot ziens | dat (is|was) alles
hej | hei | god (morgen|morgon|dag|kveld) | det (är|var|er) all?t | förlåt | beklager | undskyld
cześć | dzień dobry | do widzenia | to wszystko | przepraszam
merhaba | selam | günaydın | hepsi bu( kadar)? | bu kadar | özür dilerim
привет | здравствуй(те)? | добр(ое утро|ый (день|вечер)) | пока | до свидания | это вс[её] | извини(те)? | прости(те)?
[你您]好 | 嗨 | (早上|下午|晚上)好 | 晚安 | 再见 | 再見 | 就这些 | 没问题了 | 对不起 | 抱歉
(这|這)?(很|非常)?(有帮助|有幫助|有用) | (帮|幫)了?大忙了?
こんにちは | こんばんは | おはよう(ございます)? | さようなら | 以上です | すみません | ごめん(なさい)?
(とても|大変)?(助かりました|助かった|役に立ちました|参考になりました)
안녕(하세요)? | (많은 |정말 )?도움이( 많이)? (됐|되었|됐었)(어요|습니다) | 이게 다예요 | 미안(해요|합니다)? | 죄송합니다
مرحبا | السلام عليكم | هذا كل شيء | آسف | नमस्ते | बस इतना ही | माफ़ कीजिए
"""
_REMARKS = """
great | good | lovely | perfect | awesome | cool | nice | wonderful | excellent | amazing
lol | lmao | ha | got it | i see
(that |it )?makes sense | understood | interesting | fair enough
test(ing)?( (test(ing)?|1|2|3))* | prueba | teste | тест | 测试 | テスト | 테스트
"""
_LAUGHTER = """
a*(ha){2,}h* | (he){2,}h* | (hi){2,}h* | (j[aei]){2,}j* | (lo)+l+ | l+m+f?ao+ | rofl | ptdr
(х[аеи]){2,}х? | (а?ха)+ха | 哈{1,2} | 呵呵 | 笑 | ᄏ{1,2} | ᄒᄒ | ه{2,}
"""
"""Laughter, in which drawn-out letters are written once."""
_BESIDE = """
there | (to )?(you|every(one|body)|all|the team) | guys | folks | team | (my )?(dear|friends?) | mate | buddy
daar | semua(nya)?
sir | madam
bot | chatbot | assistant | ai | again | today | (for )?now | for today | so much | (so )?very much | (so )?much
a lot | indeed
for (your|the|all your|all the) (help|time|support|answers?|info|information|quick (reply|answer)|response|reply)
for (that|this|helping( me)?( out)?|everything) | in advance
i hope (you( a)?re|all is) (doing )?well | no | alright | all right
ok+ | okay | ok(ay)? (so|then) | oh+ | ah+ | and | yes | yeah | sure | then | very | really
"""
_ANSWERS = """
yes | yeah | yep | yup | ya | sure | ok | okay | k | alright | all right | right | exactly | correct | fine
of course | absolutely | definitely | please | i( a)?m sure | no | nope | nah | not really | maybe | perhaps | hm+
ja | jawohl | genau | klar | in ordnung | bitte | nein | nö | doch | vielleicht
oui | ouais | d accord | bien sûr | s il (vous|te) plaît | non | peut être
s[ií] | vale | claro | por favor | de acuerdo | va bene | certo | per favore | sim | n[aã]o | está bem
nee | graag | prima | natuurlijk | tak | jo | nej | nei | inte | nie | dobrze | proszę | evet | hayır | tamam | lütfen
да | нет | хорошо | ладно | конечно | пожалуйста
是的? | 对的? | 好的? | 嗯 | 可以 | 行 | 不(是|用)? | はい | うん | いいえ | いや | わかりました | お願いします
네 | 예 | 응 | 아니(요|오) | 좋아요 | نعم | لا | حسنا | हाँ | नहीं | ठीक है
"""
_HELPED = re.compile(
    r"\b(?:help(?:s|ed|ful)|useful|perfect|great|nice|good|clear|enough|needed|wanted|looking for"
    r"|answer(?:s|ed)(?: my questions?)?|a\s+(?:big |huge )?help|explain(?:ed|ing)|explanation|patience"
    r"|work(?:s|ed)|fun(?:ny)?|hilarious|lustig|witzig|drôle|marrant|gracios[oa]|divertente|engraçad[oa]|grappig"
    r"|funktioniert|geklappt|klappt|noté|marche|fonctionne|funcion[aoó]u?|funziona|funzionato|werkt"
    r"|passt|stimmt|bien|bene|bem|goed|klopt|hilft|hilfreich\w*|geholfen|nützlich|super|toll|perfekt|reicht|klar|gute?r?|genügt"
    r"|aidé?e?s?|utiles?|parfait|suffit|clair|génial|ayud[aóo]\w*|útil|perfecto|genial|suficiente|quería|buscaba"
    r"|aiutato|aiuta|perfetto|basta|ottimo|chiaro|ajud(?:a|ou)\w*|perfeito|ótimo|geholpen|helpt|nuttig|duidelijk|genoeg"
    r"|hjälp(?:te|er|samt)|hj[ae]lp(?:er|som|somt)|hjalp|nok|tillräckligt|bra|pomogł[aoy]?\w*|pomocne|przydatne|wystarczy|działa"
    r"|fungerar|fungerer|virker|çalış\w*|работает|получилось|yardımcı|yeterli|помог\w*|полезно|достаточно|понятно|отлично)\b"
)
_NOT_PRAISE = re.compile(
    r"\b(?:wh(?:o|at|en|ere|ich|y)|how|not|(?:do|does|did|is|was|wo|ca)nt|nicht|pas|niet|inte|ikke|не|değil)\b(?! i )"
    r"|^(?:is|are|was|were|do|does|did|can|could|will|would|should|have|any|the|an?|un|una|eine?|est ce)\b"
)
_ADVERBS = """exactly really lot ça beaucoup vraiment très molto stato stata davvero mucho bastante mesmo echt heel erg
väldigt verkligen veldig virkelig meget bardzo naprawdę to było çok gerçekten oldu это очень действительно"""
_ABOUT_IT = re.compile(r"(?:th(?:at|is)s?|its?|das|dies|cest|c est|ça|eso|esto|questo|isso|dat|det|to|это|bu)(?!\S)")
_MAY_ASK = re.compile("[?\u061f\uff1f]")
_ELISION = re.compile("\\b([cdjlmnst]|qu)['\u2019](?=\\w)")


def _any_of(phrases: str) -> str:
    return "|".join(phrase.strip() for line in folded(phrases).strip().splitlines() for phrase in line.split(" | "))


_GREETING = "|".join(map(_any_of, (_THANKS, _SAID, PHRASES)))
_PHRASE = (
    f"(?P<said>{_GREETING}|{_any_of(_REMARKS)}|{_any_of(_LAUGHTER)}|{_any_of(acknowledgements.REMARKS)})"
    f"|{_any_of(_BESIDE)}"
)
_SMALL_TALK = re.compile(rf"(?:(?:{_PHRASE})(?: |$))+")
_REACTION = re.compile(
    rf"(?:(?:(?P<answer>{_any_of(_ANSWERS)}|{_any_of(acknowledgements.ANSWERS)})|{_PHRASE})(?: |$))+"
)
_ANY_PHRASE = re.compile(rf"(?<!\S)(?:{_PHRASE})(?!\S)")
_ANY_GREETING = re.compile(rf"(?<!\S)(?:{_GREETING})(?!\S)")
_ANY_LAUGHTER = re.compile(rf"(?<!\S)(?:{_any_of(_LAUGHTER)})(?!\S)")
_FOR = "for|because|pour|für|dafür|weil|por|per|voor|för|for at|za|için|за|что"
_THANKS_AND_REASON = re.compile(rf"(?:ok(?:ay)? )?(?:{_any_of(_THANKS)})(?: so much| a lot)? (?:{_FOR})(?: \S+){{1,6}}")
_THANKS_FOR_DOING = re.compile(
    rf"(?:{_any_of(_THANKS)})(?: so much| a lot)? for \w+ing"
    r" (?:it|that|this|me|everything|things)(?: (?:up|out|over|so well))?"
)
_HAS_PARTS = re.compile(r"[,;:.!\n](?=.*\w)|\b(?:and|und|et|y|e|en|och|i|ve|и)\b", re.I | re.S)
_CLAUSE_END = re.compile(r"[,.;:!\n\u2014]+\s+|\s[-\u2013]\s|\s+(?:and|but|und|et|y|e|en|och|i|ve|и)\s+|[，。！、]\s*")
_EMOTICON = re.compile(r"\s*(?:[:;=][-o']?[)(D|/]+|\^_?\^|<3+)\s*")
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")  # hellooo


def is_small_talk(text: str) -> bool:
    """Whether a message is only a greeting, thanks, a goodbye or a reaction: "hi", "ok, thanks!", an emoji.

    Thanks may include a reason, and praise may stand alone: "Thank you, that was helpful.", "That helps." But
    "yes", "ok" and "???" alone are not small talk, because they may answer a question or be one.
    """
    words = _words(text)
    if not words:
        return any(unicodedata.category(c) == "So" for c in text) or _EMOTICON.fullmatch(text) is not None
    if len(words) > _MOST_WORDS:
        return False
    said = _clause(text)
    if found := _SMALL_TALK.fullmatch(said):
        return found["said"] is not None
    if _MAY_ASK.search(text):
        return False
    return _says_only(said) or "said" in _kinds(text)


def asks_for_nothing(query: Query) -> bool:
    """Whether a query is small talk, only thanks, or a "yes" or "no" although the previous turn has no question."""
    if is_small_talk(query.text):
        return True
    if _MAY_ASK.search(query.text) or not (_says_answer(_clause(query.text)) or "answer" in _kinds(query.text)):
        return _only_thanks(query.text)
    return not (query.history and _MAY_ASK.search(query.history[-1].text))


def _kinds(text: str) -> set[str]:
    """The kinds of the clauses of a text: a remark is "said", a yes is an "answer".

    Empty if there are fewer than two clauses, or if a clause is neither.
    """
    clauses = [clause for part in _CLAUSE_END.split(text) if (clause := _clause(part))]
    if len(clauses) < 2:
        return set()
    kinds: set[str] = set()
    for clause in clauses:
        if not (kind := _kind(clause)):
            return set()
        kinds.add(kind)
    return kinds


def _kind(clause: str) -> str:
    if _says_only(clause):
        return "said"
    if _says_answer(clause):
        return "answer"
    return "beside" if _REACTION.fullmatch(clause) or _says_it_helped(clause) else ""


def _says_only(clause: str) -> bool:
    """Whether a clause is a greeting, thanks, praise or an acknowledgement, perhaps with laughter."""
    found = _SMALL_TALK.fullmatch(clause)
    clause = " ".join(_ANY_LAUGHTER.sub(" ", clause).split())
    return (
        (found is not None and found["said"] is not None)
        or (_ABOUT_IT.match(clause) is not None and _says_it_helped(clause))
        or _THANKS_FOR_DOING.fullmatch(clause) is not None
        or acknowledgements.acknowledges(clause)
        or acknowledgements.acknowledges(" ".join(_ANY_GREETING.sub(" ", clause).split()))
        or _greets(clause)
    )


def _says_answer(clause: str) -> bool:
    found = _REACTION.fullmatch(clause)
    return found is not None and found["answer"] is not None


def _only_thanks(text: str) -> bool:
    """Whether a short text in lower case begins or ends with thanks: "merci mille fois", "thanks for being so patient".

    It may be a title too ("thanks for the memories"), which is searched unchanged as well.
    """
    words = " ".join(_words(text))
    found = _THANKS_AND_REASON.fullmatch(words)
    return found is not None and not (
        _MAY_ASK.search(text)
        or _HAS_PARTS.search(text)
        or REFERENCE.search(text)
        or names(text[1:])
        or has_attribute(text)
    )


def past_small_talk(
    queries: Sequence[Query], reformulate: Callable[[list[Query]], Sequence[Reformulation]], name: str
) -> list[Reformulation]:
    """Returns one reformulation per query, in input order: small talk passes, the others go to ``reformulate``.

    Args:
        queries: the queries.
        reformulate: returns one reformulation per query.
        name: name of the reformulator.
    """
    answers = {i: pass_through(query, name) for i, query in enumerate(queries) if asks_for_nothing(query)}
    asked = [i for i in range(len(queries)) if i not in answers]
    if asked:
        answers |= zip(asked, reformulate([queries[i] for i in asked]), strict=True)
    return [answers[i] for i in range(len(queries))]


def _says_it_helped(said: str) -> bool:
    """Whether a text has only praise and function words: "das hat mir sehr geholfen"."""
    if _NOT_PRAISE.search(said):
        return False
    others = _HELPED.sub("", said)
    return others != said and function_words().issuperset(others.split())


def _greets(said: str) -> bool:
    """Whether a text has a greeting or thanks, and beside it only words that often stand there, and function words."""
    if is_greeting_without_spaces(said):
        return True
    if not (_ANY_GREETING.search(said) or any(map(is_opening, said.split()))):
        return False
    rest = [word for word in _HELPED.sub(" useful ", _ANY_PHRASE.sub("", said)).split() if not is_opening(word)]
    others = [word for word in rest if not is_courtesy(word)]
    return not rest or (len(others) < len(rest) and function_words().issuperset(others))


@cache
def function_words() -> frozenset[str]:
    """Function words such as pronouns and articles of twelve languages, in lower case."""
    from bm25s import stopwords

    languages = (
        *("DANISH", "DUTCH", "EN_PLUS", "FRENCH", "GERMAN", "ITALIAN", "NORWEGIAN", "PORTUGUESE", "RUSSIAN", "SPANISH"),
        *("SWEDISH", "TURKISH"),
    )
    words = (word for language in languages for word in getattr(stopwords, f"STOPWORDS_{language}"))
    return frozenset("".join(_words(word)) for word in words).union(_ADVERBS.split())


def _clause(text: str) -> str:
    """The words of a text, without drawn-out letters: "yesss" is "yes"."""
    return _DRAWN_OUT.sub(r"\1", " ".join(_words(text)))


def _words(text: str) -> list[str]:
    """The words in lower case, without apostrophes, punctuation and emoji; French "c'est" is two words."""
    joined = re.sub("['\u2019]", "", _ELISION.sub(r"\1 ", folded(compatible(text))))
    kept = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in joined)
    return [word for word in kept.split() if any(unicodedata.category(c)[0] in "LN" for c in word)]
