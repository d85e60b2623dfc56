"""A language model whose completions are kept in a file, so that no conversation is paid for twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tqdm import tqdm

from acqo_rl.files import writing
from acqo_rl.language_models.load import without_url
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Conversation, Schema

_BATCH = 32


class RecordedModel(LanguageModel):
    """Asks the model only for conversations that are not in the file; each batch is written before the next one.

    A failed call is not recorded, so that the next run asks again. If every call of the first batch fails, no other is
    made, because the server is likely down.
    """

    def __init__(self, name: str, load: Callable[[], LanguageModel], file: Path) -> None:
        """Reads the file if it exists.

        Args:
            name: name of the model as in :func:`acqo_rl.language_models.load.load_language_model`. The server's URL is
                not part of the key, because the same model may move to another server.
            load: loads the model; not called if the file has every completion.
            file: JSON lines, one completion each.
        """
        self.name = without_url(name)
        self._load = load
        self._file = file
        self._model: LanguageModel | None = None
        written = file.read_bytes() if file.exists() else b""
        whole = written[: written.rfind(b"\n") + 1]
        if whole != written:  # an interrupted run wrote a part of the last line
            file.write_bytes(whole)
        rows = map(json.loads, whole.splitlines())
        self._known = {row["key"]: Completion(row["text"], row["tokens"], row["finished"]) for row in rows}

    def missing(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """The distinct conversations that the model has to be asked for."""
        by_key = {self._key(conversation): conversation for conversation in conversations}
        return [conversation for key, conversation in by_key.items() if key not in self._known]

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; a failed call is reported in ``problem``.

        The schema is not part of the key, because a prompt has only one.
        """
        missing = self.missing(conversations)
        failed: dict[str, Completion] = {}
        if missing and self._model is None:
            self._model = self._load()
        with tqdm(total=len(missing), desc=f"ask {self.name}", unit="completion", disable=not missing) as bar:
            for start in range(0, len(missing), _BATCH):
                batch = missing[start : start + _BATCH]
                assert self._model is not None
                for conversation, completion in zip(batch, self._model.generate(batch, schema), strict=True):
                    if completion.problem is None:
                        self._record(self._key(conversation), completion)
                    else:
                        failed[self._key(conversation)] = completion
                bar.update(len(batch))
                if start == 0 and len(failed) == len(batch):
                    failed |= {self._key(conversation): completion for conversation in missing}
                    break
        return [self._known.get(key) or failed[key] for key in map(self._key, conversations)]

    def _record(self, key: str, completion: Completion) -> None:
        self._known[key] = completion
        row = {"key": key, "text": completion.text, "tokens": completion.tokens, "finished": completion.finished}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with writing(self._file), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _key(self, conversation: Conversation) -> str:
        return hashlib.sha256(json.dumps([self.name, conversation]).encode()).hexdigest()[:24]
