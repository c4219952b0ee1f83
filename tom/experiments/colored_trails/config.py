"""What a run of negotiations is: who sits down, on which boards, under which conditions. Validated before it starts.

Settings come from the command line, out of files and out of logs. Types are strict: neither "3" nor true nor 3.5 is a
number of boards.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from otherminds.games.colored_trails.board import Layout
from otherminds.games.colored_trails.generation import GoalRule, check_goal_rule, mirrored_goals
from otherminds.games.colored_trails.rules import MOST_MOVES, Rules
from otherminds.games.colored_trails.text import Wording
from otherminds.tom.experiments.colored_trails.boards import check_size
from otherminds.tom.experiments.config import CALLING, ConfigError
from otherminds.tom.experiments.defaults import LOCAL_MODEL, MODEL, local_model_installed, split_agents
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.minds.colored_trails.negotiator import HIGHEST_ORDER

OPPONENT = "order1"
"""Who sits opposite to a language model when nobody is named."""
WITHOUT_A_MODEL = "order0"
"""Who sits in the place of a language model when nobody is named and there is none."""
ADD_A_MODEL = (
    "no language model sits at the table; add the small local one with "
    "`uv run --extra local otherminds run colored-trails`, or any other with --model provider/name"
)


STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
Seed = Annotated[int, Field(ge=0, lt=2**32)]


def _generation(value: Any) -> Any:
    """Settings of a file or log as what they stand for."""
    if not isinstance(value, Mapping):
        return value
    return TypeAdapter(GenerationSettings).validate_json(json.dumps(value, default=str), strict=True)


class BoardSearch(BaseModel):
    """How diagnostic boards are searched for: as `otherminds boards colored-trails` does with the same names.

    high, low: orders of the minds of which the one must gain more than the other.   variant, learning_speed: theirs.
    limit: moves of a game.   most: boards to try before the search is given up.
    """

    model_config = STRICT
    high: int = Field(2, ge=1, le=HIGHEST_ORDER)
    low: int = Field(1, ge=0)
    variant: Literal["described", "llm-tom", "deweerd"] = "described"
    learning_speed: float = Field(0.8, ge=0, le=1)
    limit: int = Field(10, ge=1, le=MOST_MOVES)
    most: int = Field(100_000, ge=1)

    @model_validator(mode="after")
    def _fits_together(self) -> "BoardSearch":
        if self.low >= self.high:
            raise ConfigError(f"search: high={self.high}, low={self.low}: the high order is above the low one")
        return self


class NegotiationConfig(BaseModel):
    """A run of negotiations between two agents.

    agents: the first one initiates the first game.   seats: whether who initiates "alternates", or is "fixed".
    ordinary: boards a seed that are no diagnostic ones: drawn under `goal_rule`, or out of the file `boards`.
    diagnostic: a file of diagnostic boards; `diagnostic_count` of them a seed (None: all); `advantage_threshold` in
        points is what the file must have been made for (None: any). Without a file, with a count and a threshold, every
        seed's diagnostic boards are searched for before the run, by its seed and as `search` says.
    rows, columns, colours, chips, goal_distance: of `Layout`, of all boards.
    copies: how often each board is played; the second time recoloured and flipped.
    deception: whether language models are told that they may deceive: "off", "on", or "both": in one copy of a board.
    messages, advice, reasons: `talk`, `advice` and `reasons` of `Wording`.
    cost, limit: of `Rules`.   max_attempts: answers of a language model per decision.
    """

    model_config = STRICT
    agents: Annotated[tuple[str, str], Field(strict=False)]
    seats: Literal["alternate", "fixed"] = "alternate"
    ordinary: int = Field(3, ge=0)
    goal_rule: GoalRule = "llm-tom"
    boards: str | None = None  # path
    diagnostic: str | None = None  # path
    diagnostic_count: int | None = Field(None, ge=1)
    advantage_threshold: float | None = None
    search: Annotated[BoardSearch, Field(strict=False)] = BoardSearch()
    rows: int = Layout.rows
    columns: int = Layout.columns
    colours: int = Layout.colours
    chips: int = Layout.chips
    goal_distance: int = Layout.goal_distance
    copies: int = Field(2, ge=1, le=2)
    deception: Literal["off", "on", "both"] = "off"
    messages: bool = True
    advice: bool = False
    reasons: bool = False
    cost: float = 0.1
    limit: int = 10
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, strict=False)] = (0,)
    base_url: str | None = None
    generation: Annotated[GenerationSettings, BeforeValidator(_generation)] = GenerationSettings()
    max_attempts: int = Field(2, ge=1)

    @model_validator(mode="after")
    def _fits_together(self) -> "NegotiationConfig":
        self._check_diagnostic()
        if len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds={list(self.seeds)}: each seed once; the same seed plays the same games")
        if self.boards is not None and not self.ordinary:
            raise ConfigError(f"boards={self.boards} with ordinary=0: say how many of its boards are to be played")
        if self.deception != "off" and not any(map(is_model, self.agents)):
            raise ConfigError(
                f"deception={self.deception}: it is told to language models, and none sits at the table; leave it out, "
                "or name one as provider/name"
            )
        if self.deception == "both" and self.copies == 1:
            raise ConfigError("deception=both with copies=1: every board is played with and without; take copies=2")
        layout = check_size(self.rules.layout)
        if (self.ordinary and self.boards is None) or self.searches:
            check_goal_rule(layout, self.goal_rule)
        if self.copies == 2:
            try:
                for direction in ("horizontal", "vertical"):
                    mirrored_goals(layout, direction)
            except ValueError:
                raise ConfigError(
                    f"copies=2 with rows={self.rows}, columns={self.columns}: the second copy of a board is mirrored, "
                    "and its start must lie in the middle: take odd numbers of rows and columns, or copies=1"
                ) from None
        return self

    def _check_diagnostic(self) -> None:
        if self.diagnostic is not None and self.search != BoardSearch():
            raise ConfigError(f"search with diagnostic={self.diagnostic}: boards of a file are not searched for")
        if self.diagnostic is not None or self.searches:
            return
        if self.diagnostic_count is not None:
            raise ConfigError(
                f"diagnostic_count={self.diagnostic_count}: name a file of boards as diagnostic, or say with "
                "advantage_threshold how many points an order must gain over another on boards that are searched for"
            )
        if self.advantage_threshold is not None:
            raise ConfigError(
                f"advantage_threshold={self.advantage_threshold:g}: there is no file of diagnostic boards; name one as "
                "diagnostic, or say with diagnostic_count how many boards are to be searched for"
            )
        if self.search != BoardSearch():
            raise ConfigError("search: say with diagnostic_count and advantage_threshold what is searched for")
        if not self.ordinary:
            raise ConfigError("ordinary=0 and no diagnostic boards: there is nothing to play; give boards")

    @property
    def searches(self) -> bool:
        """Whether diagnostic boards are searched for before the run."""
        return self.diagnostic is None and None not in (self.diagnostic_count, self.advantage_threshold)

    @property
    def rules(self) -> Rules:
        """What is played. Raises: ValueError for a layout, a cost or a limit that cannot be."""
        layout = Layout(self.rows, self.columns, self.colours, self.chips, goal_distance=self.goal_distance)
        return Rules(layout, cost=self.cost, limit=self.limit)

    def wording(self, deception: bool) -> Wording:
        """How a game is told to language models."""
        return Wording(deception, self.messages, self.advice, self.reasons)

    def identity(self) -> dict[str, Any]:
        """The settings that decide what is played; not those that only say how patiently a server is called."""
        return self.model_dump(mode="json", exclude={"generation": CALLING})

    def digest(self) -> str:
        """Eight hexadecimal digits that tell this configuration from others."""
        return hashlib.sha256(json.dumps(self.identity()).encode()).hexdigest()[:8]


def validated(**settings: Any) -> NegotiationConfig:
    """The configuration of these settings.

    Raises: ConfigError in one line.
    """
    try:
        return NegotiationConfig(**settings)
    except ValidationError as error:
        raise ConfigError(_in_one_line(error)) from None


def _in_one_line(error: ValidationError) -> str:
    """The first thing that is wrong."""
    first = error.errors()[0]
    own = first.get("ctx", {}).get("error")  # a ValueError of our own says all that there is to say
    if own is not None:
        return str(own)
    *outer, last = map(str, first["loc"])
    if first["type"] == "missing":
        return f"{'.'.join(outer)}={first['input']!r}: too few" if outer else f"{last}: it is missing"
    if first["type"] == "extra_forbidden" and not outer:
        known = ", ".join(NegotiationConfig.model_fields)
        return f"{last}={first['input']!r}: there is no such setting; there are {known}"
    return f"{'.'.join((*outer, last))}={first['input']!r}: {first['msg'].lower()}"


def is_model(agent: str) -> bool:
    """Whether an agent is written as provider/name."""
    return "/" in agent.partition(":")[0]


def agents_of(
    agents: str | None, initiator: str | None, responder: str | None, model: str | None
) -> tuple[tuple[str, str], str, str | None]:
    """The two agents of a run, its `seats`, and a note for the user where a language model is missing.

    agents: two, comma-separated, who take turns to initiate.   initiator, responder: who keep these seats; one of them
        alone sits opposite to the language model, or to `OPPONENT` if it is one itself.
    model: provider/name, which `model` stands for; None: the local one where it is installed.
    Raises: ConfigError for what is none of these.
    """
    if model is not None and "/" not in model.strip("/"):
        raise ConfigError(f"--model {model!r}: write provider/name, such as openai/gpt-4o or {LOCAL_MODEL}")
    fixed = initiator is not None or responder is not None
    if agents is not None and fixed:
        raise ConfigError(
            "--agents says who takes turns to initiate; leave out --initiator and --responder, or --agents"
        )
    for option, text in (("--initiator", initiator), ("--responder", responder)):
        if text is not None and len(split_agents(text)) != 1:
            raise ConfigError(f"{option} {text!r}: name one agent")
    if fixed:
        named = [initiator or _opposite(responder), responder or _opposite(initiator)]
    else:
        named = [MODEL, OPPONENT] if agents is None else split_agents(agents)
    if len(named) != 2:
        raise ConfigError(f"--agents {agents!r}: name two agents, such as order2,order1 or {LOCAL_MODEL},order1")
    asked = {name.strip() for name in (agents and named) or (initiator, responder) if name is not None}
    if model is None and MODEL in named and local_model_installed():
        model = LOCAL_MODEL
    if model is not None and MODEL not in named and model not in named:
        raise ConfigError(f"--model {model}: write `{MODEL}` for the seat that it is to take")
    if model is None and MODEL in named:
        if MODEL in asked:
            raise ConfigError(f"`{MODEL}` stands for a language model, and there is none; {ADD_A_MODEL}")
        named = [WITHOUT_A_MODEL if name == MODEL else name for name in named]
    found = [model if name == MODEL else name for name in named]
    without = not any(map(is_model, found)) and not asked
    return (found[0], found[1]), "fixed" if fixed else "alternate", ADD_A_MODEL if without else None


def _opposite(agent: str) -> str:
    return OPPONENT if agent == MODEL or is_model(agent) else MODEL


def unknown_agent(agent: str, known: str) -> ConfigError:
    """What is said of an agent that is neither a mind nor a model."""
    return ConfigError(
        f"agent {agent!r}: neither a mind ({known}) nor a model as provider/name, such as openai/gpt-4o or "
        f"{LOCAL_MODEL}"
    )
