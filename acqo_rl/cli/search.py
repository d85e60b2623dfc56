r"""Search a corpus with a reformulator: one query, or a conversation.

    acqo search --data data/embedded --index indexes/embedded --model runs/acqo/model \
        --query "Compare the populations of Oslo and Bergen"
    acqo search --data data/embedded --index indexes/embedded --reformulator rules
    acqo search --index "qdrant://localhost:6333/wiki?mode=hybrid" --reformulator rules --query "What is in Peru?"
    acqo search --data data/embedded --index indexes/embedded --reformulator rules \
        --answer_mode auto --answer_model openai:qwen3@http://localhost:8000/v1 --query "What led to the fall of Rome?"
    acqo search --data data/embedded --index indexes/embedded --reformulator multi_query+hyde \
        --model openai:qwen3@http://localhost:8000/v1 --fusion rrf --query "Why did Peru change its currency?"

Reformulators: auto (reads the results of searches without a model, and asks the policy in --model, if there is one,
only where it should help), policy (a trained policy), raw, rules, turns, prompted, adaptive,
rewrite_retrieve_read (rewrites a query only if it finds nothing similar), or a strategy that prompts a language model:
multi_query, hyde, step_back, decomposition, expansion, rewrite, or several of them joined by "+". The model is a
folder, a Hub id, embedded:smollm2, or (except for a policy) a server: openai:NAME@URL, openai:NAME, anthropic:NAME.

--answer_mode answers the question with the pipeline. The mode pipeline chooses the steps by the question. The other
modes fix them: recursive splits the question and follows references in passages, multi_hop searches for missing
information, self_query lists the missing information and searches for each item, simple searches once, and auto chooses
one of these four by rules. Without --answer_model, the steps that need a model are skipped, and no answer is written.

Without --query, the command reads queries interactively as turns of one conversation; :new starts a new conversation,
:quit ends. The output shows the route, the top of each sub-query's ranking, the fused ranking with the part of each
document that shares the most words with the query, and times.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acqo_rl.addresses import Address
from acqo_rl.cli.fields import setting
from acqo_rl.cli.groups import WithStrategy
from acqo_rl.cli.search_output import answer_as_json, answer_lines, as_json, cut, lines
from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import check_strategy
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.manifest import read_manifest
from acqo_rl.retrieval.places import is_url, parts_of
from acqo_rl.retrieval.settings import INDEX_HELP
from acqo_rl.roles import Retriever
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.names import name_reformulators
from acqo_rl.searching.settings import SearcherSettings, words_of
from acqo_rl.text import one_line
from acqo_rl.types import Document, Positive, Query, Turn

if TYPE_CHECKING:
    from acqo_rl.pipeline.pipeline import Pipeline
    from acqo_rl.searching.searcher import AdaptiveSearcher

WORDS_OF_ANSWER = 20
ANSWER_TOKENS = 256


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
    k: Positive = setting("Number of documents in the fused ranking.", 10)
    answer_mode: Literal["off", "pipeline", "auto", "simple", "recursive", "multi_hop", "self_query"] = setting(
        "How the pipeline searches for an answer; see above.", "off"
    )
    json: bool = setting("Print only one JSON object per query.", False)


class Loaded:
    """The documents and the searcher of the settings, and the pipeline if answers are asked for."""

    def __init__(self, config: SearchConfig) -> None:
        from acqo_rl.fusion import fusion_named
        from acqo_rl.reformulation.load import lexicon_for, load_reformulator, with_engine_prefix
        from acqo_rl.reformulation.pass_through import PassThrough
        from acqo_rl.retrieval.rerankers import load_reranker
        from acqo_rl.searching.reranking import Reranking
        from acqo_rl.searching.searcher import AdaptiveSearcher

        [(name, model)] = name_reformulators([config.reformulator], config.model).items()
        self.corpus, retriever = open_corpus(config)
        after: dict[str, Any] = {"score_threshold": config.score_threshold}
        if config.reranker:
            after["reranking"] = Reranking(load_reranker(config.reranker), self.corpus, config.rerank_depth)
        lexicon = lexicon_for([name], self.corpus.values())
        model = with_engine_prefix(name, model, config.engine)
        fusion = fusion_named(config.fusion, config.rrf_k)
        self.searcher = AdaptiveSearcher(
            load_reformulator(name, model, config.strategy, lexicon=lexicon),
            retriever,
            fusion,
            corpus=self.corpus,
            **config.open_steps(name, self.corpus, partial(words_of, self.corpus), asks=bool(model))._asdict(),
            **after,
        )
        retriever.search(["the first search of a process is slow"], 1)
        self.pipeline: Pipeline | None = None
        if config.answer_mode != "off":
            raw = AdaptiveSearcher(PassThrough(), retriever, fusion, **after)
            self.pipeline = load_pipeline(config, name, raw, self)


def load_pipeline(config: SearchConfig, name: str, raw: AdaptiveSearcher, loaded: Loaded) -> Pipeline:
    """The pipeline; ``name`` is that of the reformulator, and ``raw`` searches raw queries."""
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.pipeline.pipeline import Pipeline
    from acqo_rl.reformulation.load import max_calls

    strategies, model = config.strategy, None
    if config.answer_model:
        limits: dict[str, Any] = {"timeout": strategies.timeout, "max_retries": strategies.max_retries}
        model = load_language_model(config.answer_model, max_new_tokens=ANSWER_TOKENS, **limits)
    return Pipeline(
        raw,
        loaded.corpus,
        model,
        searcher=loaded.searcher,
        reformulation_calls=max_calls(name, strategies),
        max_model_calls=config.max_model_calls,
    )


def open_corpus(config: SearchConfig) -> tuple[Mapping[str, Document], Retriever]:
    """Opens the documents and their index."""
    from acqo_rl.data.beir import read_corpus
    from acqo_rl.retrieval.engines.opening import documents_of

    if config.data is None:
        return documents_of(next(filter(is_engine, parts_of(config.index)))), config.open_index(config.index)
    corpus = read_corpus(config.data)
    return corpus, config.open_index_of(config.index, corpus)


def main(config: SearchConfig) -> None:
    """Searches one query, or reads queries interactively."""
    check(config)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    loaded = Loaded(config)
    if config.query is None:
        converse(loaded, config)
    else:
        answer_one(config.query, config.history, loaded, config)


def check(config: SearchConfig) -> None:
    """Checks the settings before anything is loaded.

    Raises:
        ConfigError: the query is empty, a number is out of range, ``data`` is missing, the strategy is unknown, or the
            reformulator needs a model.
        IndexMismatchError: there is no index, or it is incomplete.
    """
    if config.query is not None and not one_line(config.query):
        raise ConfigError("The query is empty; give some words, or omit --query to enter queries interactively.")
    if config.data is None and not any(map(is_engine, places := parts_of(config.index))):
        for place in places:
            if not is_url(place):
                read_manifest(Path(place))
        raise ConfigError(f"The index {config.index} does not contain the documents; give their BEIR folder: --data.")
    for name, model in name_reformulators([config.reformulator], config.model).items():
        check_strategy(name, model)


def converse(loaded: Loaded, config: SearchConfig) -> None:
    """Reads queries until the end of the input; the system's turn is the answer, or the best document's first words."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input() uses it to edit lines)
    if not config.json:
        print("Type a query. :new starts a new conversation, :quit ends.")
    history = list(read_history(config.history))
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while one_line(text := input("" if config.json else "\nquery> ")) != ":quit":
            if one_line(text) == ":new":
                history = []
            elif one_line(text):
                if not config.json:
                    print()
                reply = answer_one(text, history, loaded, config)
                history.append(Turn("user", text))
                if reply:
                    history.append(Turn("assistant", " ".join(one_line(reply).split(" ")[:WORDS_OF_ANSWER])))


def answer_one(text: str, history: object, loaded: Loaded, config: SearchConfig) -> str:
    """Prints the result of a query; returns the answer, or the text of the best document if there is none."""
    query = Query("query", text, read_history(history, text))
    if loaded.pipeline and config.answer_mode != "off":
        answered = loaded.pipeline.ask(query, mode=config.answer_mode)
        reply = answered.answer or next((chunk.document.text for chunk in answered.chunks[:1]), "")
        as_object, shown = answer_as_json(query, answered, config.k), answer_lines(answered, config.k)
    else:
        found = loaded.searcher.search(query, config.k)
        reply = next((document.text for document in fetch(loaded.corpus, found.fused.doc_ids[:1]).values()), "")
        score = "1/P" if config.fusion == "rsf" and not config.reranker else "score"
        as_object, shown = as_json(found, loaded.corpus), lines(found, loaded.corpus, score)
    if config.json:
        print(json.dumps(as_object), flush=True)
        return reply
    width = shutil.get_terminal_size((120, 0)).columns
    for line in shown:
        print(cut(line, width), flush=True)
    return reply
