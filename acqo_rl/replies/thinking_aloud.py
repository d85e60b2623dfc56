"""Detects thoughts in truncated replies without marks.

The chat template wrote the opening mark, and the reply was cut before the closing one.
"""

from __future__ import annotations

import re

_WELL = r"""(?:(?:okay|ok|alright|all\ right|right|h+m+|well|so|now|first|good|also|gut|alors|bon|d'accord|bien|bueno
    |vale|allora|va\ bene|certo|goed|oké|хорошо|итак|так|ладно|好|好的|嗯+|首先|那么|现在
    |はい|では|まず|좋아|좋습니다|알겠습니다|음)
    \W{1,3}){0,3}"""
"""Words before the first statement of a thought: "Okay, so"."""
_TASK = r"""(?:produce|write|generate|output|answer|find|rewrite|rephrase|reformulate|classify|respond|reply|provide
    |create|give|come\ up|think|figure|determine|decide|parse|consider|craft|formulate|identify|understand|return
    |decompose|split|resolve|follow|check|analy[sz]e|tackle|break)\b"""
_BEGINNINGS = (
    r"here(?:'s|\ is)\ (?:a|my|the)\ (?:thinking|thought|reasoning)\ process\b",
    r"(?:thinking|thoughts?|reasoning|überlegung(?:en)?|gedanken(?:gang)?|réflexion|raisonnement|razonamiento"
    r"|pensamiento|ragionamento|raciocínio|рассуждение|思考(?:过程|過程)?|推理)(?:\ process)?\W{0,3}:",
    r"(?:\d\W{1,4})?analy[sz](?:e|ing)\ the\ (?:request|user|task|query|question|input|prompt)\b",
    r"the\ user(?:'s\ (?:last|question|query|request|message|current|original|asking|input)|\ (?:wants?|wanted|asks?"
    r"|asked|needs|gave|gives|provided?s?|says?|said|seems|mentions|would\ like|just|query|(?:is|has|was)\ (?:\w+\ )?"
    r"(?:asking|asked|looking|requesting|provided|given|giving|seeking|curious|interested|trying)))\b",
    rf"(?:i|we)(?:'m|\ am|'re|\ are|'ve\ been)?\ (?:need|have|should|must|asked|supposed)\ (?:to\ )?(?:\w+\ )?"
    rf"{_TASK}",
    r"we(?:'re|\ are|'ve\ been|\ have\ been)\ given\b",
    rf"let(?:'s|\ me|\ us)\ (?:\w+\ )?{_TASK}",
    r"the\ (?:task|instructions?|system\ prompt)\ (?:is|are|says?|wants?|asks?|requires?)\b",
    r"the\ (?:last|current|given)\ (?:question|query|message)\ (?:is|asks?|says?|refers?)\b",
    r"(?:der|die)\ (?:nutzer|benutzer|anwender|user)(?:in)?\ (?:möchte|will|fragt|hat|braucht|sucht|bittet|stellt)\b",
    r"l'utilisateur\ (?:demande|veut|souhaite|cherche|pose|a|voudrait)\b",
    r"el\ usuario\ (?:pregunta|quiere|pide|está|solicita|necesita|ha|busca|desea)\b",
    r"l'utente\ (?:chiede|vuole|sta|ha|cerca|desidera)\b",
    r"o\ (?:usuário|utilizador)\ (?:pergunta|quer|pede|está|precisa|perguntou|pediu|deseja)\b",
    r"de\ gebruiker\ (?:vraagt|wil|heeft|zoekt)\b",
    r"użytkownik\ (?:pyta|chce|prosi|szuka)\b",
    r"пользователь\ (?:спрашивает|хочет|просит|задал|задаёт|задает|ищет|интересуется)\b",
    r"kullanıcı\b.{0,60}(?:soruyor|istiyor|sordu)\b",
    r"المستخدم\ (?:يسأل|يريد|يطلب)\b",
    r"(?:用户|用戶|使用者)\w{0,4}?(?:问的|問的|想|希望|要求我|需要我|让我|讓我|的问题是|的問題是|提到|正在|在问|在問"
    r"|询问|詢問|给出|給出|提供了|提出|说|說)",
    r"我(?:们|們)?(?:需要|应该|應該|得|要)(?:先)?(?:理解|分析|生成|写|寫|找|考虑|考慮|改写|改寫|判断"
    r"|判斷|回答|提供|思考|根据|根據)",
    r"ユーザー(?:は|が).{0,60}(?:質問|求め|尋ね|聞い|聞き|知りた|要求|依頼|望ん)",
    r"사용자(?:가|는).{0,60}(?:질문|묻|물어|원하|요청|요구)",
)
_THINKS = re.compile(rf"\W{{0,6}}{_WELL}(?:{'|'.join(_BEGINNINGS)})", re.I | re.X)


def thinks_aloud(reply: str) -> bool:
    """Whether a reply begins like a thought: it speaks about the user or the task, in several languages."""
    return _THINKS.match(reply.replace("\u2019", "'").replace("\uff1a", ":")) is not None
