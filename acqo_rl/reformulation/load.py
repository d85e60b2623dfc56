"""Reformulators by name, as the scripts take them."""

from __future__ import annotations

from acqo_rl.types import Reformulator


def load_reformulator(name: str, model: str) -> tuple[Reformulator, int, int]:
    """A reformulator, and how many results of a first search and words of each it reads.

    Args:
        name: ``raw``, ``rules``, ``turns`` or ``prompted``; any other one names a trained policy.
        model: folder, Hub id or embedded model; not used by ``raw``, ``rules`` and ``turns``.

    Raises:
        ConfigError: there is no such model.
        GrammarError: the model is no policy, or one of another grammar or prompt version.
    """
    from acqo_rl.language_models.local import TransformersModel
    from acqo_rl.reformulation.heuristic import Heuristic
    from acqo_rl.reformulation.pass_through import PassThrough
    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.reformulation.prompted import Prompted
    from acqo_rl.reformulation.turns import RecentTurns

    if name == "raw":
        return PassThrough(), 0, 0
    if name == "rules":
        return Heuristic(), 0, 0
    if name == "turns":
        return RecentTurns(), 0, 0
    if name == "prompted":
        return Prompted(TransformersModel.from_pretrained(model, max_new_tokens=40)), 0, 0
    policy = Policy.from_pretrained(model, name=name)
    return policy, policy.settings.feedback_results, policy.settings.feedback_words
