"""Greetings, thanks and other messages that ask for nothing: every reformulator of the package passes them."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import re
import unicodedata
from collections.abc import Callable, Sequence

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.text import compatible, folded
from acqo_rl.types import Query, Reformulation

_MOST_WORDS = 12

_SAID = """
hi+( hi+)? | hell?o | hey+a? | hiya | howdy | greetings | yo
(good )?morning | good (afternoon|evening|day|night) | goodnight | namaste
(it is |its )?(nice|pleased|good|great) to (meet|see) you
how are (you|u)( doing| feeling)? | how is it going | hows it going | how do you do | how have you been
what is up | what(s| s)? ?up | sup | long time no see
thanks | thank (you|u) | thx | tha?nks | ty(sm)? | many thanks | thanks a (lot|bunch|million|ton) | cheers
(much|really) appreciated | i( really)? appreciate (it|that|your help)
(good)? ?bye+( bye+)? | see (you|ya|u)( later| soon| tomorrow| around| then)? | cya | take care | farewell
have a (nice|good|great|lovely|wonderful) (day|evening|weekend|night|one|time)
you( a)?re welcome | (good|great|nice|excellent|helpful) (job|work|bot|answers?) | well done | sounds good
great | good | lovely | perfect | awesome | cool | nice | wonderful | excellent | amazing
lol | lmao | (ha)+ | (he)+he | got it | i see
(that( i)?s|that will be) all | never mind | nevermind
hallo | guten (morgen|tag|abend) | gute nacht | moin | servus | tschüss | auf wiedersehen | wie geht( e)?s( dir| ihnen)?
danke( schön| sehr| dir)? | (vielen|besten|herzlichen) dank
bonjour | bonsoir | salut | coucou | bonne (journée|soirée|nuit) | merci( beaucoup| bien)? | au revoir
(comment )?ça va | comment allez vous
hola | buenos d[ií]as | buenas( tardes| noches)? | (muchas |mil )?gracias | adi[oó]s | hasta (luego|pronto)
qu[eé] tal | c[oó]mo est[aá]s
ciao | buongiorno | buonasera | salve | grazie( mille| tante)? | arrivederci | come (stai|va)
ol[aá] | oi | bom dia | boa (tarde|noite) | (muito )?obrigad[oa] | tchau | tudo bem
hoi | goede(morgen|middag|navond) | dank (je|u)( wel)? | bedankt | tot ziens
hej | hei | god (morgen|morgon|dag|kveld) | tack( så mycket)? | (tusen )?takk | mange tak
cześć | dzień dobry | dziękuję | do widzenia
merhaba | selam | günaydın | teşekkür(ler| ederim)
привет | здравствуй(те)?
добр(ое утро|ый (день|вечер))
(большое )?спасибо | пока | до свидания
[你您]好 | 嗨 | (早上|下午|晚上)好 | 晚安 | (非常|多)?(谢谢|謝謝|感谢)[你您]? | 再见 | 再見
こんにちは | こんばんは | おはよう(ございます)? | (どうも)?ありがとう(ございま(す|した))? | さようなら
안녕(하세요)? | 감사합니다 | 고마워(요)?
مرحبا | السلام عليكم | شكرا?ً?ا? | नमस्ते | धन्यवाद
"""
_BESIDE = """
there | (to )?(you|every(one|body)|all|the team) | guys | folks | team | (my )?(dear|friends?) | mate | buddy
sir | madam
bot | chatbot | assistant | ai | again | today | (for )?now | for today | so much | (so )?very much | (so )?much
a lot | indeed
for (your|the|all your|all the) (help|time|support|answers?|info|information|quick (reply|answer)|response|reply)
for (that|this|helping( me)?( out)?|everything) | in advance
i hope (you( a)?re|all is) (doing )?well | no | alright | all right
ok | okay | ok(ay)? (so|then) | oh | ah | and | yes | yeah | sure | then | very | really
"""


def _any_of(phrases: str) -> str:
    return "|".join(phrase.strip() for line in phrases.strip().splitlines() for phrase in line.split(" | "))


_SMALL_TALK = re.compile(rf"(?:(?:(?P<said>{_any_of(_SAID)})|{_any_of(_BESIDE)})(?: |$))+")
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")  # hellooo


def is_small_talk(text: str) -> bool:
    """Whether a message greets, thanks, takes leave or reacts, and asks for nothing: "hi", "ok, thanks!", a smile.

    "Yes", "ok" and "???" alone are none: they may answer a question or be one.
    """
    words = _words(text)
    if not words:
        return any(unicodedata.category(c) == "So" for c in text)
    said = _SMALL_TALK.fullmatch(_DRAWN_OUT.sub(r"\1", " ".join(words))) if len(words) <= _MOST_WORDS else None
    return said is not None and said["said"] is not None


def past_small_talk(
    queries: Sequence[Query], reformulate: Callable[[list[Query]], Sequence[Reformulation]], name: str
) -> list[Reformulation]:
    """One reformulation per query, in input order: small talk passes, ``reformulate`` is called with the others.

    Args:
        queries: what is asked.
        reformulate: gives one reformulation per query.
        name: of the reformulator.
    """
    answers = {i: pass_through(query, name) for i, query in enumerate(queries) if is_small_talk(query.text)}
    asked = [i for i in range(len(queries)) if i not in answers]
    if asked:
        answers |= zip(asked, reformulate([queries[i] for i in asked]), strict=True)
    return [answers[i] for i in range(len(queries))]


def _words(text: str) -> list[str]:
    """The words in lower case, without apostrophes, punctuation and emoji."""
    joined = re.sub("['\u2019]", "", folded(compatible(text)))
    kept = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in joined)
    return [word for word in kept.split() if any(unicodedata.category(c)[0] in "LN" for c in word)]
