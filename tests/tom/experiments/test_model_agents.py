"""Language models as they are written in lists of agents, and the personas that they name."""

import itertools
import json

import pytest

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.text import Wording
from otherminds.tom.experiments.config import ConfigError, validated
from otherminds.tom.experiments.defaults import agent_lists, split_agents, team_mate
from otherminds.tom.experiments.model_agents import (
    expanded,
    read_model_agent,
    read_personas,
    split_options,
    used_personas,
)
from otherminds.tom.llm.client import GenerationSettings

PERSONAS = {"kyoto": "You grew up in Kyoto.", "oslo": "You grew up in Oslo."}


def test_everything_that_can_be_written_is_read():
    written = (
        "openrouter/x/y:free:system=2,role=3,persona=kyoto,context=chat,errors=cut,think=true,temperature=0.6,"
        "top_p=0.9,max_tokens=750,reasoning_effort=high"
    )
    agent = read_model_agent(written, Role.ENCODER, PERSONAS, GenerationSettings(temperature=1.0, max_retries=7))
    assert (agent.written, agent.model) == (written, "openrouter/x/y:free")
    assert agent.wording == Wording(2, 3, "You grew up in Kyoto.")
    assert (agent.context, agent.errors, agent.think) == ("chat", "cut", True)
    settings = agent.generation
    assert (settings.temperature, settings.top_p, settings.max_tokens) == (0.6, 0.9, 750)
    assert (settings.reasoning_effort, settings.max_retries) == ("high", 7)


@pytest.mark.parametrize("name", ["openai/gpt-4o", "openrouter/x/y:free", "ollama/llama3.1:8b", "local/a=b.gguf"])
def test_names_with_colons_stay_whole(name):
    settings = GenerationSettings(temperature=0.3)
    agent = read_model_agent(name, Role.INTERCEPTOR, generation=settings)
    assert (agent.model, agent.wording, agent.context) == (name, Wording(), "turns")
    assert agent.generation == settings
    assert read_model_agent(f"{name}:system=1", Role.INTERCEPTOR).model == name


def test_guessers_alone_state_probabilities():
    assert read_model_agent("a/b:state=true", Role.DECODER).state and not read_model_agent("a/b", Role.DECODER).state
    with pytest.raises(ConfigError, match="an encoder has no code to guess"):
        read_model_agent("a/b:state=true", Role.ENCODER)


def test_a_persona_may_be_written_out():
    (written,) = split_agents('a/b:persona="You are old, and wise: very.",system=1')
    agent = read_model_agent(written, Role.DECODER)
    assert agent.wording == Wording(1, 0, "You are old, and wise: very.")
    assert read_model_agent("a/b:persona=You are old.", Role.DECODER).wording.persona == "You are old."


WRONG = {
    "a/b:colour=red": "no option 'colour'; a language model takes system, role, persona",
    "a/b:system=5": "system=5: the wordings of the rules are 0 to 4",
    "a/b:system=-1": "system=-1",
    "a/b:system=x": "system='x': a whole number is wanted",
    "a/b:role=1": "role=1: the wordings of the interceptor's role are 0 alone",
    "a/b:context=all": "context='all': one of turns, chat is wanted",
    "a/b:errors=some": "one of kept, cut is wanted",
    "a/b:think=yes": "one of true, false is wanted",
    "a/b:temperature=hot": "a number is wanted",
    "a/b:temperature=9": "temperature=9.0 must be from 0 to 2",
    "a/b:max_tokens=0": "max_tokens=0 must be",
    "a/b:persona=paris": "no persona 'paris'; there are kyoto, oslo",
    "a/b:persona=": "persona='': something must stand there",
    "a/b:system=1,system=2": "system stands there twice",
    f"a/b:persona={'long ' * 500}": "at most 2,000 characters",
}


@pytest.mark.parametrize("written", WRONG)
def test_a_wrong_option_is_told_in_one_line(written):
    with pytest.raises(ConfigError) as raised:
        read_model_agent(written, Role.INTERCEPTOR, PERSONAS)
    assert WRONG[written] in str(raised.value) and "\n" not in str(raised.value)


def test_a_persona_without_a_file_says_how_to_give_one():
    with pytest.raises(ConfigError, match="no persona 'kyoto'; give them with --personas FILE"):
        read_model_agent("a/b:persona=kyoto", Role.ENCODER)


def test_all_stands_for_every_wording():
    agents = expanded("a/b:free:system=all,role=all,temperature=0", Role.ENCODER, {})
    assert len(agents) == len(set(agents)) == 25 and agents[7] == "a/b:free:system=1,role=2,temperature=0"
    numbers = {read_model_agent(agent, Role.ENCODER).wording[:2] for agent in agents}
    assert numbers == set(itertools.product(range(5), range(5)))
    assert len(expanded("a/b:system=all,role=all", Role.INTERCEPTOR, {})) == 5
    assert expanded("a/b:persona=all", Role.DECODER, PERSONAS) == ["a/b:persona=kyoto", "a/b:persona=oslo"]
    assert expanded("rational:k=3", Role.ENCODER, {}) == ["rational:k=3"]
    kept = expanded('a/b:persona="x, y",system=all', Role.DECODER, {})[4]
    assert split_options(kept)[1] == [("persona", "x, y"), ("system", "4")]
    with pytest.raises(ConfigError, match="give --personas FILE"):
        expanded("a/b:persona=all", Role.DECODER, {})


def test_personas_are_read_from_toml_and_json(tmp_path):
    toml, as_json = tmp_path / "p.toml", tmp_path / "p.json"
    toml.write_text("".join(f"{name} = {json.dumps(text)}\n" for name, text in PERSONAS.items()), encoding="utf-8")
    as_json.write_text(json.dumps(PERSONAS), encoding="utf-8")
    assert read_personas(str(toml)) == read_personas(str(as_json)) == PERSONAS and read_personas(None) == {}
    assert used_personas(["a/b:persona=oslo", "a/b"], PERSONAS) == {"oslo": PERSONAS["oslo"]}


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("p.toml", "kyoto = ", "no TOML"),
        ("p.json", "{", "no JSON"),
        ("p.json", "[]", "no persona"),
        ("p.toml", "", "no persona"),
        ("p.toml", "'two words' = 'x'", "'two words' is no name"),
        ("p.toml", "all = 'x'", "'all' is no name"),
        ("p.toml", "kyoto = 3", "kyoto must be a text"),
        ("p.toml", "kyoto = ' '", "kyoto must be a text"),
        ("none.toml", None, "no such file"),
    ],
)
def test_a_wrong_file_of_personas_is_told_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as raised:
        read_personas(str(path))
    assert str(path) in str(raised.value) and "\n" not in str(raised.value)


def test_model_stands_for_the_model_with_options_too():
    asked = {"encoder": ["model:system=1"], "decoder": ["model"], "interceptor": ["bayesian"]}
    lists, _ = agent_lists(asked, "a/b")
    assert lists["encoder"] == ("a/b:system=1",) and lists["decoder"] == ("a/b",)
    lists, _ = agent_lists(asked, "a/b:think=true")
    assert lists["encoder"] == ("a/b:think=true,system=1",) and lists["decoder"] == ("a/b:think=true",)


# Designs

LISTS = {"encoder": ("a/b", "baseline", "c/d"), "decoder": ("a/b", "baseline", "c/d"), "interceptor": ("bayesian",)}


def test_in_a_competition_every_team_meets_every_interceptor():
    config = validated(**LISTS | {"design": "competition", "interceptor": ("bayesian", "a/b")})
    teams = ("a/b", "baseline", "c/d")
    assert config.tables() == [(team, team, other) for team in teams for other in ("bayesian", "a/b")]


def test_in_coordination_every_encoder_meets_every_decoder():
    assert validated(**LISTS | {"design": "coordination"}).tables() == [
        (encoder, decoder, "bayesian") for encoder in LISTS["encoder"] for decoder in LISTS["decoder"]
    ]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"design": "competition", "decoder": ("a/b",)}, "3 encoders and 1 decoders"),
        ({"design": "coordination", "interceptor": ("a/b", "bayesian")}, "one interceptor meets every pair"),
    ],
)
def test_a_design_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        validated(**LISTS | changes)


def test_an_encoder_decodes_as_itself_where_it_can():
    assert team_mate("a/b:system=2") == "a/b:system=2"
    assert team_mate("literal:beta=3") == "literal:beta=3"
    assert team_mate("baseline:k=4") == "baseline"
    assert team_mate("rational:pool=50") == "literal"
