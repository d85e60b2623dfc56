"""Detects acknowledgements and remarks without a question: "noted", "that works", "you saved my day", "I'll try it"."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import re

REMARKS = """
np | nw | aha+ | righto | (that|it)( should| will|ll)? do( it)?( for now)? | (that|it)( wi)?ll be (all|it)
th(at|is)s what i (thought|figured|expected) | th(at|is)( i)?s it( for (now|today))?
no (prob(lem)?s?|worries|issues?|biggie|sweat)
(not|np) at all | do ?n?t mention it | (my|a) pleasure
yw | ur welcome | you bet | any ?time
(it )?was (nice|great|good|lovely) (to talk|talking|chatting)( (to|with) you)?
brilliant | fantastic | superb | splendid | terrific | fabulous | marvell?ous | outstanding | bravo | kudos | phew
congrat(s|ulations) | hoo?ray | hurray | omg | o+h+ wow | rofl | god bless( you)? | bless you | (so )?grateful
gotcha
(just )?saying (hi|hello|thanks)
(oke[iy]?|oké|okej|okei|oki|ок|окей|ok(e|i)e?)( dokie)? | okey dokey | kk | duly noted | roger that | copy that
sure thing | good (to know|to hear|point|talk)
(glad|happy|nice|great) to (hear|know|see) (it|that|this) | nice chat | take it easy
enjoy your (day|evening|weekend)
(have|enjoy) a good one | spot on | (the )?(question|problem|issue)s? (answered|solved|fixed|resolved)
how (nice|kind|funny|hilarious) | nvm | (good|nice) one | (you|that) made me (laugh|smile)
how (interesting|cool|lovely|sweet)( of you)? | (works|worked) like a (charm|dream) | by all means | say no more
thanks (anyway|anyways|though|regardless|for nothing) | ta( very much| muchly)?
makes (perfect|total|complete) sense
alles klar | kein (problem|ding|thema) | passt( schon| so)? | gern geschehen | (sehr )?gerne? | ach so | verstanden
keine ursache | (pas|aucun) (de )?(problème|souci) | ça (marche|roule|fonctionne) | (bien )?(reçu|compris|noté)
très bien | entendu | está bien | no hay problema | (muy )?bien | entendid[oa] | listo | estupendo | de acuerdo
(nessun|non c è) problema | (ho )?capito | figurati | molto bene | sem problemas? | entendi(do)?
tá (bom|certo|bem)
geen (probleem|punt) | begrepen | (inga|ingen|intet) problem | (jag )?förstår | forstått | forstået
nie ma problemu
rozumiem | świetnie | (sorun|problem) (değil|yok) | anladım | harika | нет проблем | без проблем | понял[аи]? | ясно
明白了? | 知道了 | 太好了 | (没|沒)(问题|問題|关系|事) | 收到 | 完美 | 了解(です|しました)? | なるほど
完璧(です)? | 問題(ない|ありません)(です)? | 承知(しました|です) | 알겠(어요|습니다|어) | 완벽(해요|합니다) | 괜찮아요
فهمت | ممتاز | لا مشكلة | समझ गयी?ा? | बहुत अच्छा | कोई बात नहीं
"""
"""Messages, one regular expression each, as in :data:`acqo_rl.reformulation.small_talk_words.PHRASES`."""
ANSWERS = """
ace | smashing | cool beans | noted( with thanks)? | roger | clear | (crystal|all) clear | done | solved | fixed
sorted | agreed | true | indeed | totally | precisely | welcome | peace | legend | lifesaver | sweet | neat | super
top | fair( point)? | right on | appreciated | klasse | wunderbar | nickel | parfait | génial | perfect[oa] | genial
perfetto | ottimo | fantastico | perfeito | ótimo | show | mooi | toppen | kanon | süper | понятно | отлично | круто
здорово | супер | jättebra | dobra | tamam(dır)? | awesome sauce | brill | 太棒了? | 懂了 | 明白 | うまくいきました
해결됐어요
可以了 | すごい | 대박 | 최고(예요|에요)? | ممتاز | बढ़िया
"""
"""Words that acknowledge an answer, but may also answer a question or be a search text."""

_PRAISE = (
    "(?:great|good|perfect(?:ly)?|nice(?:ly)?|lovely|brilliant|awesome|cool|excellent|amazing|wonderful|fantastic"
    "|superb|helpful|useful|fine|clear|right|correct|true|fair|sweet|neat|interesting|kind|well|enough|better|impressive"
    "|quick|fast|easy|gold|ace|fun|funny|hilarious)"
)
_ADVERB = (
    "(?:very|so|really|super|extremely|incredibly|pretty|quite|all|just|exactly|precisely|totally|absolutely|truly"
    "|much|certainly|definitely|actually|now|then|too|again|already|indeed|a lot|for (?:me|us|now|today)|fully"
    "|completely)"
)
_MINE = "(?:the|my|all my|your) (?:questions?|problem|issue|doubts?|day|life|time|help)"
_IT = rf"(?:it|that|this|them|everything|you|me|us|{_MINE})"
_THING = (
    "(?:help|info|information|answers?|explanations?|trick|job|point|one|start|stuff|work|reply|response|effort|support"
    "|summary|tips?|advice"
    "|lifesaver|life saver|legend|star|hero|angel|champion|champ|genius|gem|best|bot|assistant|friend|deal)"
)
_PRAISED = (
    rf"(?:(?:{_ADVERB} )*(?:{_PRAISE}(?: {_THING})?|(?:an?|the|my) (?:{_ADVERB} )*(?:{_PRAISE} )?{_THING}|everything"
    r"|all|it)(?: of you| to (?:know|hear|see))?)"
)
_UP = "(?: (?:it|that|things|everything))? up"
_DID = (
    rf"(?:works|worked|helps?|helped|fix(?:es|ed)|solve[sd]|sort(?:s|ed)|answer(?:s|ed)|explain(?:s|ed)|clear(?:s|ed){_UP}"
    "|covers|covered|saved|made|do(?:es)?|did|makes?|rock(?:s|ed)?|nailed|sounds|looks|seems)"
)
_DONE_WELL = (
    rf"(?:{_DID}(?: {_IT})?(?: (?:{_PRAISED}|the (?:trick|job)|(?:my )?(?:day|life|time)|(?:{_ADVERB} )?sense))?)"
)
_WANTED = (
    "(?:(?:what|all|everything) (?:i|we) (?:need(?:ed)?|want(?:ed)?|meant|was (?:looking|hoping|searching) for)"
    "(?: to (?:know|hear|see))?)"
)
_TAKEN = (
    "(?:see|understand|understood|get|got|agree|like|love|appreciate|hear|bet|hope so|think so|thought so|knew|noted"
    "|try|check|look|read|do|use|remember|keep|take|note|give)"
)
_TAIL = (
    rf"(?: {_IT}| {_ADVERB}| (?:out|up|into"
    "|a (?:try|go|look|shot|read)|in mind|later|soon|tomorrow|first|here|from here))*"
)
_GLAD = "(?:good|fine|set|done|happy|glad|satisfied|impressed|convinced|grateful|okay|ok|clear)"
_SHAPES = (
    # that's exactly what I needed; that's it; that works; it did the trick
    rf"(?:th(?:at|is|ese|ose)|it)(?:s| is| was| are| were| will be| has been) (?:{_ADVERB} )*(?:{_PRAISED}|{_WANTED})"
    rf"(?: {_ADVERB})*",
    rf"(?:th(?:at|is|ese|ose)|it)(?: {_ADVERB})*(?: will |ll | ){_DONE_WELL}(?: {_ADVERB})*",
    # you are a star; you saved my day
    rf"(?:you|u)(?: a?re?|r?e| were|ve been| have been| guys are) {_PRAISED}",
    rf"(?:you|u)(?: have|ve)?(?: {_ADVERB})* {_DONE_WELL}",
    # I see; I'll try that; we're all set; let me check it
    rf"(?:i|we)(?:ll|ve| have| will| do| did)?(?: {_ADVERB})* {_TAKEN}{_TAIL}",
    rf"(?:i|we)(?: a?m|m| are|re) (?:{_ADVERB} )*{_GLAD}(?: (?:with|about) (?:it|that|this))?{_TAIL}",
    "(?:let me|lemme|will|ill|well|shall|going to|gonna) (?:try|check|do|look|read|think|use|give|take)(?: about)?"
    rf"{_TAIL}",
    rf"(?:i |we )?(?:have |got |have got ){_WANTED}|much better(?: {_ADVERB})*",
    rf"(?:i )?(?:really )?appreciate (?:the|your|all(?: the| your)?)(?: (?:quick|fast|kind|prompt|great))? {_THING}",
    "(?:really )?(?:love|appreciate|loving|liked|loved) (?:it|that|this)",
    # works for me; sounds good; very helpful; great explanation; exactly what I needed
    rf"(?:works|worked)(?: {_ADVERB}| {_PRAISED})+|(?:sounds|looks|seems|feels) {_PRAISED}|all set",
    rf"(?:{_ADVERB} )+(?:helpful|useful|interesting|kind|nice|good|great|cool|clear|true|right|impressive|funny)"
    "(?: of you)?",
    rf"(?:(?:big|huge|massive|real) |{_PRAISE} ){{1,2}}"
    "(?:help|answers?|explanations?|point|stuff|info|one|work|job|tips?)",
    rf"saved (?:me|my (?:day|life|time))|(?:{_ADVERB} )+{_WANTED}|fine (?:by|with) (?:me|us)",
)
_ACKNOWLEDGEMENT = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))
_LEADS = re.compile(
    "(?:(?:ok(?:ay)?|alright|oh|ah|h+m+|yes|yeah|yep|sure|great|perfect|cool|good|nice|well|wow|so"
    "|i (?:think|guess|believe)) )+"
)


def acknowledges(clause: str) -> bool:
    """Whether a clause only states that an answer arrived, helped or will be used.

    Such a clause praises, or has the subject "that", "it", "you" or "I", and names nothing to search for.

    Args:
        clause: words in lower case, without punctuation and apostrophes.
    """
    lead = _LEADS.match(clause)
    return any(_ACKNOWLEDGEMENT.fullmatch(words) for words in (clause, clause[lead.end() :] if lead else clause))
