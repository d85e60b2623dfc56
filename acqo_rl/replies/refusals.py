"""Detects refusals of language models: an apology, or "I cannot help" and "I do not know", in many languages."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import re

_APOLOGIES = (
    r"(?:i'm|i am) (?:very |really |so |truly )?(?:sorry|afraid)|sorry|my apologies|i apologi[sz]e"
    r"|(?:es )?tut mir (?:wirklich |sehr )?leid|entschuldigung|(?:je suis )?(?:vraiment )?désolée?|je regrette"
    r"|lo siento(?: mucho)?|lo lamento|lamento|perdón|disculp[ae]|mi dispiace|spiacente|sinto muito|het spijt me"
    r"|przepraszam|przykro mi|(?:jag )?beklagar|förlåt|jag är ledsen|извините|простите|мне (?:очень )?жаль"
    r"|(?:çok )?üzgünüm|özür dilerim"
    r"|很?抱歉|对不起|對不起|不好意思|申し訳(?:ありません|ございません)|すみません|ごめんなさい"
    r"|恐れ入ります|죄송(?:합니다|하지만|해요)|미안(?:합니다|하지만|해요)|عذر[اً]{1,2}|(?:أنا )?آسف[ةاً]*|أعتذر|معذرة"
    r"|क्षमा (?:करें|कीजिए)|(?:मुझे )?(?:खेद|अफ़सोस|अफसोस) है|मा(?:फ़|फ़|फ) (?:करें|कीजिए|करना)"
)
_REGRETS = r"很?遗憾|很?遺憾|残念ながら|유감스럽게도|안타깝게도"
_CANNOT = (
    r"(?<!\bhow )(?<!\bwhy )\b(?:i|we) (?:can't|cannot|can not|won't|am unable to|am not able to|couldn't)"
    r" (?:help (?:you|with)|assist|answer|provide|comply|fulfil|generate|access|discuss)"
    r"|\bi'm unable to (?:help|assist|answer|provide|comply)"
    r"|\bi (?:don't|do not) (?:know\W*$|have (?:any )?(?:information|access|enough))"
    r"|\b(?:ich kann|kann ich)\b.{0,40}\bnicht .{0,20}(?:helfen|beantworten|weiterhelfen|bereitstellen)"
    r"|\b(?:ich kann|kann ich)\b.{0,30} leider .{0,20}(?:helfen|beantworten)"
    r"|\bje ne (?:peux|suis|sais|connais)\b.{0,12}\bpas\b.{0,16}(?:aid|répond|fourni|mesure)|\bje n'ai pas accès"
    r"|\bno (?:puedo|podemos|soy capaz de|tengo acceso|dispongo)\b.{0,12}(?:ayud|respond|proporcion|inform)"
    r"|\bno poder (?:ayud|respond)|\bnon (?:posso|sono in grado di|so)\b.{0,12}(?:aiut|rispond|forn)|\bnon ho accesso"
    r"|\bnão (?:posso|consigo|sei|sou capaz de|tenho)\b.{0,12}(?:ajud|respond|fornec|atend|acesso|inform)"
    r"|\b(?:ik kan|kan ik)\b.{0,30}\bniet .{0,20}(?:helpen|beantwoorden)|\bik weet (?:het )?niet\W*$"
    r"|\bnie (?:mogę|jestem w stanie|potrafię|umiem|znam)\b.{0,12}(?:pomóc|pomagać|odpowie|udziel|spełni|wykona)"
    r"|\bnie wiem\W*$|\b(?:jag kan|kan jag|jeg kan|kan jeg)\b.{0,12}\b(?:inte|ikke)\b.{0,16}(?:hj[aeä]l|svar|tillhanda)"
    r"|\bне (?:могу|в состоянии|умею)\b.{0,20}(?:помо|ответ|предостав|выполн)|\bя не знаю\W*$"
    r"|(?:yardımcı ol|yardım ed|yanıtlay?|cevaplay?|yerine getir|cevap ver)[ae]m(?:[ae]m|[ıiuü]yor(?:um|uz))"
    r"|bilgim yok\W*$|bilmiyorum\W*$"
    r"|我(?:们)?(?:无法|不能|没法|没有办法|無法).{0,8}(?:回答|提供|帮助|协助|满足|处理|完成|幫助)|我不知道\W*$|我没有(?:相关|足够|这方面)"
    r"|お?(?:手伝い|答え|応え|力に).{0,10}(?:できません|かねます|なれません)"
    r"|드릴 수 ?(?:가 )?없|드리지 못해 죄송|저는 .{0,20}(?:도와|답변|대답|처리|제공).{0,10}(?:수 ?없|못)"
    r"|(?:لا|لن) (?:أستطيع|يمكنني|أقدر|أتمكن من) .{0,8}(?:مساعد|المساعدة|إجابة|الإجابة|تقديم|الرد|تلبية|توفير)"
    r"|لا (?:أعرف|أعلم)\W*$"
    r"|मैं .{0,60}(?:मदद|सहायता|उत्तर|जवाब|पूरा|जानकारी).{0,12}नहीं .{0,8}सक(?:ता|ती|ते)"
    r"|मुझे .{0,12}नहीं (?:पता|मालूम)|मैं नहीं जानत[ाी]"
)
"""The first person, so that a sentence about somebody else is no refusal."""
_OF_A_MODEL = (
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)(?: (?:language )?(?:model|assistant))?"
    r"(?: (?:trained|made|developed|created) [^.,]*)?, i\b"
    r"|^i(?:'m| am) (?:just |only )?an? (?:ai|(?:large )?language model)\b|^作为(?:一个|一名)?(?:人工智能|ai|语言模型)"
)
_UNKNOWN = re.compile(
    r"(?:i (?:don't|do not) know(?: that| the answer)?"
    r"|i have no (?:information|data)(?: (?:about|on) (?:that|this|it))?"
    r"|(?:ich weiß|das weiß ich)(?: es)?(?: leider)? nicht|ich habe (?:dazu )?keine informationen(?: (?:dazu|darüber))?"
    r"|je (?:ne )?sais pas|je n'ai pas d'informations?.{0,20}|no (?:lo )?sé|no tengo información.{0,20}"
    r"|non (?:lo )?so|não sei|não tenho informações.{0,20}"
    r"|ik weet (?:het )?niet|jag vet inte|jeg vet ikke|jeg ved det ikke"
    r"|nie wiem|nie mam (?:takich|tych|żadnych) informacji|я не знаю|не знаю|bilmiyorum|모르겠(?:습니다|어요)"
    r"|わかりません|分かりません|(?:我)?不知道|لا (?:أعرف|أعلم)|لا أملك معلومات.{0,20}"
    r"|(?:मुझे )?(?:इस .{0,12})?जानकारी नहीं है)\W*",
    re.I,
)
"""A whole reply that says that the model does not know."""
_CANNOT_WITHOUT_PERSON = (
    r"(?:无法|不能|没法|没有办法|無法|没有)"
    r"|(?:でき|わかり|分かり|かね|なれ)(?:ません|ます)|수 ?없|못 ?[해합하]|모르|모릅니다"
)
_APOLOGY = re.compile(rf"^(?:{_APOLOGIES})(?!\w)|^(?:{_APOLOGIES})(?=が|が、|만)", re.I)
_APOLOGY_AND_CANNOT = re.compile(rf"^(?:{_APOLOGIES}|{_REGRETS}).{{0,30}}(?:{_CANNOT_WITHOUT_PERSON})", re.I)
_CONVERSATION = (
    r"(?:(?:previous|prior|earlier|preceding|additional|enough|original|follow-up|user) ){0,2}"
    r"(?:(?:conversation|dialogue|chat)(?: history| context)?|context|question|query)"
)
_CANNOT_REWRITE = (
    r"\b(?:i|we) (?:can't|cannot|can not|am unable to|am not able to) (?:rewrite|rephrase|reformulate|resolve)"
    rf" (?:the|your|this|that|an?) {_CONVERSATION}\b"
)
_GIVEN = r"(?:provided|given|available|included|shared|specified|above|to (?:rewrite|rephrase|reformulate|resolve))\b"
_NOTHING_GIVEN = re.compile(
    rf"(?:it (?:seems|looks like|appears)(?: that)? )?(?:there(?:'s| is| was)(?: no|n't any| not any) {_CONVERSATION}"
    rf"(?: {_GIVEN}|\s?[.,;])|no (?!query){_CONVERSATION}(?: (?:is|was|has been))? {_GIVEN}"
    r"|(?:you|the user) (?:haven't|have not|hasn't|has not|didn't|did not) (?:provided?|given?|shared?|asked?)"
    rf"(?: (?:me|with)){{0,2}} (?:any|an?|the|your) {_CONVERSATION}\b"
    rf"|i (?:don't|do not|can't|cannot) (?:see|find) (?:any|an?|the|your) {_CONVERSATION}(?: {_GIVEN})?\s?[.,;]"
    rf"|i(?: would|'d)? need (?:the|your|an?) {_CONVERSATION} to (?:rewrite|rephrase|reformulate|resolve)\b)"
    r"|(?:please|(?:could|can) you(?: please)?) (?:provide|share|give)(?: me)?(?: with)? (?:the|your)"
    rf" {_CONVERSATION}(?: (?:so (?:that )?i|you(?:'d| would| want))\b.*)?[.?!]*$"
    r"|(?:leider )?(?:es )?(?:wurde|gibt|liegt) (?:es )?keine? .{0,20}(?:gespräch|verlauf|kontext|frage)\w*"
    r" (?:angegeben|bereitgestellt|vor)\b"
    r"|aucun.{0,20} (?:contexte|conversation|question) n'(?:a été|est) (?:fourni|donné)"
    r"|no se (?:ha )?proporcion\w+ (?:ning|el |la ).{0,20}(?:historial|contexto|conversación|pregunta)"
    r"|(?:您|你)?(?:没有|未)(?:提供|给出)(?:任何)?(?:对话|上下文|问题|历史)",
    re.I,
)
_REFUSES = re.compile(rf"{_CANNOT}|{_OF_A_MODEL}|{_CANNOT_REWRITE}", re.I)
_GOES_ON = re.compile(
    r"^[\W_]*(?:but|aber|mais|pero|ma|mas|maar|ale|men|но|ama|ancak|fakat|但是?|可是|が|لكن|ولكن|लेकिन|पर)\b", re.I
)
_SENTENCE = re.compile(r"\s*[,.!\uff0c\u3001\u060c\u3002\uff01](?:.*[.!\u3002\uff01\u0964])?", re.S)


def is_refusal(line: str) -> bool:
    """Whether a line is a refusal: "I'm sorry, but I can't help with that".

    A title that starts with an apology ("I'm sorry I haven't a clue BBC") is not, because it does not end like a
    sentence, and does not say that the model cannot help.
    """
    text = line.strip().replace("\u2019", "'")
    if _UNKNOWN.fullmatch(text) or _REFUSES.search(text) or _APOLOGY_AND_CANNOT.match(text):
        return True
    apology = _APOLOGY.match(text)
    if apology is None:
        return False
    rest = text[apology.end() :]
    return not rest.strip() or bool(_SENTENCE.fullmatch(rest) or _GOES_ON.match(rest))


def misses_conversation(line: str) -> bool:
    """Whether a line says that the conversation or the question is missing; a query may follow it all the same."""
    return _NOTHING_GIVEN.match(line.strip().replace("\u2019", "'")) is not None
