"""The shapes of a conversation history for schemas and web pages: a description and a JSON schema."""

from __future__ import annotations

from typing import Any

ACCEPTED = (
    "Earlier turns, oldest first. Each turn is a string, with or without a speaker mark (U: and S:, User: and"
    " Assistant:, ...), or a chat message with role and content. Pairs of question and answer, or one text or object"
    " with the whole conversation, are also accepted. Turns without a mark alternate, starting with the user; system"
    " and tool messages are skipped."
)
"""Description of the accepted shapes, for schemas and web pages."""
_PART: dict[str, Any] = {"type": "object", "description": "A part of a message; only its text is used."}
_CONTENT: dict[str, Any] = {
    "anyOf": [
        {"type": ["string", "null"]},
        _PART,
        {"type": "array", "items": {"anyOf": [{"type": ["string", "null"]}, _PART]}},
    ]
}
_TURNS: dict[str, Any] = {
    "type": "array",
    "items": {
        "anyOf": [
            {"type": ["string", "null"]},
            {"type": "object", "properties": {"role": {}, "content": _CONTENT}, "required": ["content"]},
            *(
                {"type": "object", "properties": {"question": _CONTENT, "answer": _CONTENT}, "required": [key]}
                for key in ("question", "answer")
            ),
            {"type": "array", "items": _CONTENT, "minItems": 2, "maxItems": 2},
        ]
    },
}
HISTORY_SCHEMA: dict[str, Any] = {
    "anyOf": [
        _TURNS,
        {"type": "string"},
        {"type": "object", "properties": {"messages": _TURNS}, "required": ["messages"]},
    ]
}
"""JSON schema of the common shapes. :func:`acqo_rl.conversations.read_history` accepts more shapes."""
