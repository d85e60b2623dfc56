"""Opens search paths from their descriptions: for commands, service, evaluation, training and adapters."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from acqo_rl.fusion import fusion_named
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.reformulation.load import check_strategy, lexicon_for, load_reformulator
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.composite import FederatedFusion
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.rerankers import load_reranker
from acqo_rl.roles import Reformulator, RemoteCorpus, Reranker
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.description import PathSpec
from acqo_rl.searching.hop import Hops, LearnedHop
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.searching.settings import SearcherSettings
from acqo_rl.searching.sub_queries import Retrievers
from acqo_rl.types import UNRESTRICTED, Corpus, Scope


def check_path(spec: PathSpec) -> None:
    """Checks a description before anything large is opened.

    Raises:
        ConfigError: the reformulator, its model or a network does not exist.
        GrammarError: the model is not a policy of this version.
    """
    check_strategy(spec.reformulator, spec.model)
    spec.networks()


def open_reformulator(spec: PathSpec, **shared: Any) -> Reformulator:
    """Loads the reformulator of a path; ``shared`` as in :func:`acqo_rl.reformulation.load.load_reformulator`."""
    name = spec.reformulator if spec.model or not spec.choice else "raw"
    return load_reformulator(name, spec.model, spec.strategy, **shared)


def open_path(
    spec: PathSpec,
    corpus: Corpus,
    retrievers: Retrievers,
    *,
    reformulator: Reformulator | None = None,
    reranker: Reranker | None = None,
    words: Callable[[], CorpusWords] | None = None,
) -> SearchPath:
    """Opens a search path.

    Args:
        spec: describes the path.
        corpus: document id -> document.
        retrievers: what is searched; see :class:`~acqo_rl.searching.path.SearchPath`.
        reformulator: that of the description, if it is loaded already, or another one; likewise ``reranker``.
        reranker: reorders the first documents.
        words: reads the words of the corpus; called only if a step needs them. By default :func:`words_of`.

    Raises:
        ConfigError: a part does not exist, or the parts do not fit each other.
        GrammarError: the model is not a policy of this version.
    """
    chooses, hops, orders = spec.networks()
    known = (words or partial(words_of, corpus))() if chooses or hops or orders else CorpusWords()
    fusion = fusion_named(spec.fusion, spec.rrf_k)
    if spec.reranker and not reranker:
        reranker = load_reranker(spec.reranker)
    return SearchPath(
        reformulator or open_reformulator(spec, lexicon=lexicon_for([spec.reformulator], [corpus])),
        retrievers,
        FederatedFusion(fusion) if spec.federated else fusion,
        corpus,
        hops=Hops(LearnedHop(hops, corpus, known), spec.hops) if hops else None,
        score_threshold=spec.score_threshold,
        order=LearnedOrder(orders, corpus, known) if orders else None,
        reranking=Reranking(reranker, corpus, spec.rerank_depth) if reranker else None,
        choice=Choice(chooses, corpus, known, asks=bool(spec.model)) if chooses else None,
        retry_below=spec.retry_below,
    )


def words_of(corpus: Corpus) -> CorpusWords:
    """Titles and words of a local corpus; those of a search engine are not read."""
    return CorpusWords() if isinstance(corpus, RemoteCorpus) else CorpusWords.of(corpus)


def open_searcher(
    settings: SearcherSettings,
    index: str,
    data: str | None,
    reformulator: str,
    strategy: StrategySettings | None,
    scope: Scope = UNRESTRICTED,
) -> AdaptiveSearcher:
    """Opens a searcher, and searches once, because the first search of a process is slow; see :func:`load_searcher`."""
    [spec] = settings.paths([reformulator], strategy).values()
    check_path(spec)
    reranker = load_reranker(spec.reranker) if spec.reranker else None
    corpus, retriever = settings.open_with_documents(index, data, scope)
    retriever.search(["the first search of a process is slow"], 1)
    return AdaptiveSearcher.along(open_path(spec, corpus, retriever, reranker=reranker))


def load_searcher(
    index: str,
    data: str | None = None,
    reformulator: str = "auto",
    strategy: StrategySettings | None = None,
    filter: Mapping[str, Any] | None = None,
    tenant: str | None = None,
    **settings: Any,
) -> AdaptiveSearcher:
    """Opens the searcher that ``acqo search`` uses with the same settings.

    Args:
        index: index folder, URL of a retriever server, or collection of a search engine; several joined by ``+``.
        data: BEIR folder with the documents; a search engine has its own.
        reformulator: a name, or a policy such as ``trained:demo``; see ``acqo search --help``.
        strategy: settings of the reformulator.
        filter: conditions on the metadata of documents, such as ``{"lang": "en", "year": {"gte": 2020}}``.
        tenant: searches only documents of this tenant, if the index has tenants (``INDEX?tenant=FIELD``).
        settings: further settings of ``acqo search``, such as ``model="trained:demo"``, ``hops=0`` or ``fusion="rrf"``.

    Raises:
        ConfigError: a name, setting or filter is unknown, or a part does not exist; or the index has tenants and none
            is named, or the reverse.
        DataError: the documents cannot be read.
        IndexMismatchError: the index was built from other documents.
    """
    scope = Scope(read_filter(filter or {}), tenant)
    return open_searcher(SearcherSettings(**settings), index, data, reformulator, strategy, scope)
