r"""Compares auto with the rewriting of LangChain and LlamaIndex, on the same conversations and the same index.

    pip install langchain-classic llama-index-core
    python benchmarks/peers.py --data BEIR_DIR --index INDEX_DIR --output_dir outputs/peers
    python benchmarks/peers.py --data BEIR_DIR --index INDEX_DIR --output_dir outputs/peers_large \
        --model openai:NAME@http://localhost:8000/v1

- *history-aware*: create_history_aware_retriever of LangChain, with the prompt of its conversational chain
- *multi-query*: MultiQueryRetriever of LangChain, which reads the query only; its documents in the order of their lists
- *condense*: CondenseQuestionChatEngine of LlamaIndex

The peers ask --model, greedily and with their own prompts, and auto asks --policy. All systems answer a question before
the next one, so that a busy machine slows all equally; seconds are wall time. The same command continues an interrupted
run. The table has the mean nDCG@10, the difference to the raw query with its 95 % interval, the share of questions that
are worse than with the raw query by more than .001, and calls, tokens and seconds per question.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.addresses import Address
from acqo_rl.cli import command
from acqo_rl.settings import setting
from acqo_rl.types import Count, Positive, Query, Ranking

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

    from acqo_rl.roles import LanguageModel, Retriever

K = 10
MEASURE = "nDCG@10"
WORSE = 0.001
Found = Callable[[Query], Sequence[str]]
"""Returns the ids of the documents that a system finds, best first."""


@dataclass
class PeersConfig:
    """Settings of the comparison."""

    data: str = setting("BEIR folder with conversations.")
    index: Address = setting("Its index.")
    output_dir: str = setting("Folder for the rows and the table.")
    split: str = setting("Questions: qrels/SPLIT.tsv.", "dev")
    limit: Count = setting("Maximum number of questions, drawn at random; 0 means all.", 0)
    model: Address = setting("Model of the peers, also openai:NAME@URL or anthropic:NAME.", "embedded:smollm2")
    policy: Address = setting("Policy of auto.", "trained:corpora")
    max_new_tokens: Positive = setting("Token limit of a call of --model.", 128)


@dataclass
class Meter:
    """A language model that counts.

    Attributes:
        model: is asked.
        calls: so far.
        tokens: that it has written.
    """

    model: LanguageModel
    calls: int = 0
    tokens: int = 0

    def answer(self, messages: list[dict[str, str]]) -> str:
        """The reply to a conversation.

        Raises:
            RuntimeError: the call failed.
        """
        [completion] = self.model.generate([messages])
        if completion.problem:
            raise RuntimeError(completion.problem)
        self.calls += 1
        self.tokens += completion.tokens
        return completion.text.strip()


@dataclass(frozen=True)
class Row:
    """What a system did with a question; ``searched`` are the texts, if the system tells them."""

    query_id: str
    system: str
    documents: list[str]
    calls: int
    tokens: int
    seconds: float
    searched: list[str] = field(default_factory=list)


def main(config: PeersConfig) -> None:
    """Runs the systems that are missing, and prints the table."""
    from tqdm import tqdm

    from acqo_rl import load_retriever, load_searcher
    from acqo_rl.data.beir import read_beir
    from acqo_rl.data.draw import draw
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.measures import measurable
    from acqo_rl.reformulation.pass_through import RecentTurns
    from acqo_rl.training.run_folder import continue_rows

    folder = Path(config.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    read = read_beir(config.data, config.split)
    queries = measurable(read.queries[config.split], read.qrels[config.split])
    queries = draw(queries, config.limit, 0) if config.limit else queries
    auto = load_searcher(config.index, config.data, model=config.policy)
    meter = Meter(load_language_model(config.model, max_new_tokens=config.max_new_tokens))
    retriever = load_retriever(config.index)

    def after_turns(query: Query) -> str:
        [made] = RecentTurns().reformulate([query])
        return made.sub_queries[0].text

    log: list[str] = []
    systems: dict[str, Found | None] = {
        "raw": lambda query: search(retriever, query.text, log).doc_ids,
        "last two turns": lambda query: search(retriever, after_turns(query), log).doc_ids,
        "auto": None,
        **peers(retriever, meter, log),
    }

    def rest(done: int) -> Iterator[list[Row]]:
        for query in tqdm(queries[done // len(systems) :], unit="question"):
            rows = []
            for name, find in systems.items():
                calls, tokens = meter.calls, meter.tokens
                log.clear()
                start = time.perf_counter()
                if find is None:
                    result = auto.search(query, K)
                    documents: Sequence[str] = result.fused.doc_ids
                    made = result.reformulation
                    log.extend(sub_query.text for sub_query in made.sub_queries)
                    own = made.calls, made.tokens
                else:
                    documents = find(query)
                    own = meter.calls - calls, meter.tokens - tokens
                seconds = time.perf_counter() - start
                rows.append(Row(query.id, name, list(documents[:K]), *own, seconds, [*log]))
            yield rows

    rows = continue_rows(Row, folder / "rows.jsonl", len(queries) * len(systems), rest)
    report = table(rows, read.qrels[config.split])
    (folder / "table.md").write_text(report + "\n", encoding="utf-8")
    print(report)


def search(retriever: Retriever, text: str, log: list[str]) -> Ranking:
    """The ranking of a text, which is noted in the log."""
    log.append(text)
    [ranking] = retriever.search([text], K)
    return ranking


def peers(retriever: Retriever, meter: Meter, log: list[str]) -> dict[str, Found]:
    """The systems of LangChain and LlamaIndex by name."""
    from langchain_classic.chains.conversational_retrieval.prompts import CONDENSE_QUESTION_PROMPT
    from langchain_classic.chains.history_aware_retriever import create_history_aware_retriever
    from langchain_classic.retrievers.multi_query import MultiQueryRetriever
    from langchain_core.messages import AIMessage, HumanMessage, get_buffer_string
    from langchain_core.prompts import PromptTemplate
    from llama_index.core import Settings
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.chat_engine import CondenseQuestionChatEngine
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import ResponseMode

    searching, chat = langchain_parts(retriever, meter, log)
    prompt = PromptTemplate.from_template(CONDENSE_QUESTION_PROMPT.template.replace("{question}", "{input}"))
    history_aware = create_history_aware_retriever(chat, searching, prompt)
    multi_query = MultiQueryRetriever.from_llm(searching, chat)
    nodes, model = llama_index_parts(retriever, meter, log)
    Settings.llm = model
    engine = RetrieverQueryEngine.from_args(nodes, response_mode=ResponseMode.NO_TEXT)
    condense = CondenseQuestionChatEngine.from_defaults(query_engine=engine, llm=model)

    def ask_history_aware(query: Query) -> list[str]:
        turns = [(HumanMessage if turn.speaker == "user" else AIMessage)(turn.text) for turn in query.history]
        asked = {"input": query.text, "chat_history": get_buffer_string(turns)}
        return [document.page_content for document in history_aware.invoke(asked)]

    def ask_condense(query: Query) -> list[str]:
        roles = {"user": MessageRole.USER, "assistant": MessageRole.ASSISTANT}
        history = [ChatMessage(role=roles[turn.speaker], content=turn.text) for turn in query.history]
        condense.reset()  # without turns, it would take those of the last question
        return [node.node.node_id for node in condense.chat(query.text, history).source_nodes]

    return {
        "LangChain, history-aware": ask_history_aware,
        "LangChain, multi-query": lambda query: [document.page_content for document in multi_query.invoke(query.text)],
        "LlamaIndex, condense": ask_condense,
    }


def langchain_parts(retriever: Retriever, meter: Meter, log: list[str]) -> tuple[BaseRetriever, Any]:
    """The index as a retriever of LangChain, and the model as its chat model."""
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.retrievers import BaseRetriever

    class Searching(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            found = search(retriever, query, log).doc_ids if query.strip() else ()
            return [Document(page_content=doc_id) for doc_id in found]

    class Chat(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "metered"

        def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
            text = meter.answer([dict(message) for message in convert_to_openai_messages(messages)])
            return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    return Searching(), Chat()


def llama_index_parts(retriever: Retriever, meter: Meter, log: list[str]) -> tuple[Any, Any]:
    """The index as a retriever of LlamaIndex, and the model as its language model."""
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Searching(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            text = query_bundle.query_str
            ranking = search(retriever, text, log) if text.strip() else Ranking((), ())
            return [NodeWithScore(node=TextNode(id_=one, text=one), score=score) for one, score in ranking.pairs]

    class Model(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
            return CompletionResponse(text=meter.answer([{"role": "user", "content": prompt}]))

        def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
            raise NotImplementedError

    return Searching(), Model()


def table(rows: Sequence[Row], qrels: dict[str, dict[str, int]]) -> str:
    """The table of all systems, in Markdown."""
    import numpy as np

    from acqo_rl.evaluation.significance import paired_bootstrap
    from acqo_rl.evaluation.tables import Table, aligned, interval
    from acqo_rl.measures import per_query, to_run

    cells = []
    raw: Any = None
    for system in dict.fromkeys(row.system for row in rows):
        own = [row for row in rows if row.system == system]
        run = to_run({row.query_id: Ranking(tuple(row.documents), (0.0,) * len(row.documents)) for row in own})
        measured = per_query([MEASURE], {query_id: qrels[query_id] for query_id in run}, run)[MEASURE]
        values = np.array([measured[row.query_id] for row in own])
        raw = values if raw is None else raw
        worse = (values < raw - WORSE).mean()
        costs = np.mean([[row.calls, row.tokens, row.seconds] for row in own], axis=0)
        difference = interval(paired_bootstrap(values - raw)) if system != "raw" else "-"
        numbers = f"{costs[0]:.2f}", f"{costs[1]:.1f}", f"{costs[2]:.2f}"
        cells.append((system, f"{values.mean():.3f}", difference, f"{worse:.0%}", *numbers))
    header = ("system", MEASURE, "difference to raw [95 % CI]", "worse", "calls", "tokens", "seconds")
    return aligned(Table("Peers", "", header, tuple(cells)))


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
