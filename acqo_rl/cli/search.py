r"""Search a corpus with a reformulator: one query, or a conversation.

    acqo search --data data/embedded --index indexes/embedded --model runs/acqo/model \
        --query "Compare the populations of Oslo and Bergen"
    acqo search --data data/embedded --index indexes/embedded --reformulator rules
    acqo search --index http+json:configs/engines/elasticsearch.yaml --reformulator rules --query "What is in Peru?"
    acqo search --data data/embedded --index indexes/embedded --reformulator multi_query+hyde \
        --model openai:qwen3@http://localhost:8000/v1 --fusion rrf --query "Why did Peru change its currency?"
    acqo search --data data/embedded --index "indexes/embedded?tenant=owner" --tenant anna \
        --filter '{"lang": "en", "year": {"gte": 2020}}' --query "What is in Peru?"

Reformulators: auto (reads the results of searches without a model, and asks the policy in --model, if there is one,
only where it should help), policy (a trained policy), raw, rules, turns, prompted, adaptive,
rewrite_retrieve_read (rewrites a query only if it finds nothing similar), or a strategy that prompts a language model:
multi_query, hyde, step_back, decomposition, expansion, rewrite, or several of them joined by "+". The model is a
folder, a Hub id, embedded:smollm2, or (except for a policy) a server: openai:NAME@URL, openai:NAME, anthropic:NAME.

Without --query, the command reads queries interactively as turns of one conversation; :new starts a new conversation,
:quit ends. The output shows the route, the top of each sub-query's ranking, the fused ranking with the part of each
document that shares the most words with the query, and times.
"""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Any

from acqo_rl.addresses import Address
from acqo_rl.cli.search_output import as_json, cut, lines
from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.settings import WithStrategy
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.settings import INDEX_HELP
from acqo_rl.searching.assemble import open_searcher
from acqo_rl.searching.settings import SearcherSettings
from acqo_rl.settings import setting
from acqo_rl.text import one_line
from acqo_rl.types import Positive, Query, Scope, Turn

_WORDS = ":new starts a new conversation, :quit ends."


@dataclass
class SearchConfig(SearcherSettings, WithStrategy):
    """Settings of a search."""

    index: Address = setting(INDEX_HELP)
    data: str | None = setting("BEIR folder with the documents (corpus.jsonl); not needed for a search engine.", None)
    reformulator: str = setting("Reformulator; see above.", "auto")
    query: str | None = setting("The query; without it, queries are read interactively.", None)
    history: list[str] = setting(
        'Earlier turns, oldest first: "U: ..." "S: ...", or alternating without "U:" and "S:".', []
    )
    filter: dict[str, Any] = setting(
        "Conditions on the metadata of documents: a value, a list of allowed values, or bounds, such as "
        """--filter.lang en or --filter '{"lang": "en", "year": {"gte": 2020}}'.""",
        {},
    )
    tenant: str | None = setting("Tenant of the documents, if the index has tenants (INDEX?tenant=FIELD).", None)
    k: Positive = setting("Number of documents in the fused ranking.", 10)
    json: bool = setting("Print only one JSON object per query.", False)


def main(config: SearchConfig) -> None:
    """Searches one query, or reads queries interactively."""
    if config.query is not None and not one_line(config.query):
        raise ConfigError("The query is empty; give some words, or omit --query to enter queries interactively.")
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    scope = Scope(read_filter(config.filter), config.tenant)
    searcher = open_searcher(config, config.index, config.data, config.reformulator, config.strategy, scope)
    corpus = searcher.path.corpus or {}

    def answer(text: str, history: object) -> None:
        """Prints the result of a query."""
        found = searcher.search(Query("query", text, read_history(history, text)), config.k)
        if config.json:
            print(json.dumps(as_json(found, corpus)), flush=True)
        else:
            width = shutil.get_terminal_size((120, 0)).columns
            for line in lines(found, corpus, width):
                print(cut(line, width), flush=True)

    if config.query is None:
        converse(answer, config)
    else:
        answer(config.query, config.history)


def converse(answer: Callable[[str, object], None], config: SearchConfig) -> None:
    """Reads queries until the end of the input; the conversation consists of them, because no answer is written."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input() uses it to edit lines)
    if not config.json:
        print(f"Type a query. {_WORDS}")
    history = list(read_history(config.history))
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while (word := one_line(text := input("" if config.json else "\nquery> "))) != ":quit":
            if word == ":new":
                history = []
            elif word.startswith(":"):
                print(f"There is no {word!r}, and it was not searched. {_WORDS}", file=sys.stderr)
            elif word:
                if not config.json:
                    print()
                answer(text, history)
                history.append(Turn("user", text))
