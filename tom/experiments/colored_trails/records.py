"""Logs of Colored Trails: what a line may hold, and all games of some logs as arrays.

A move is a decision line; its turn is the number of the move, from 0, and the initiator's are even. The observation of
a line is empty, since both players know the board and every earlier line, but the other's goal and thoughts. The action
is what the player would hold, such as "1-1-0-2-0", chips of each colour: one's own chips withdraw, what is offered
accepts, all else is an offer. A failed answer withdraws.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from otherminds.games.colored_trails.board import PLAYERS, Board, Layout, check_dealt
from otherminds.games.colored_trails.checks import check_number, check_whole
from otherminds.games.colored_trails.offers import Offers
from otherminds.games.colored_trails.rules import Ending, Role, Rules
from otherminds.games.colored_trails.utility import Deal, Scoring, deal, within_reach
from otherminds.games.protocol import NO_ANSWER
from otherminds.tom.experiments import journal, logs
from otherminds.tom.experiments.logs import LogRules, Made

GAME = "colored-trails"
ROLES = tuple(role.name.lower() for role in Role)
PEOPLE = "people"
"""All people together."""

Chips = tuple[int, ...]


def chips_text(chips: Sequence[int] | Int[np.ndarray, " K"]) -> str:
    """Chips of each colour, as they stand in the log: "1-1-0-2-0"."""
    return "-".join(str(int(count)) for count in chips)


def chips_of(text: str, pool: Sequence[int]) -> Chips:
    """The chips of each colour that a text says. pool: of both players, of each colour.

    Raises: ValueError for what says no chips, or more of a colour than there are.
    """
    parts = text.split("-") if isinstance(text, str) else []
    if len(parts) != len(pool) or not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError(
            f"{text!r} is no offer; it says how many chips of each of {len(pool)} colours the player would hold, "
            f"such as {chips_text(pool)}"
        )
    chips = tuple(map(int, parts))
    if any(held > there for held, there in zip(chips, pool, strict=True)):
        raise ValueError(f"{text} asks for chips that nobody has; both players together have {chips_text(pool)}")
    return chips


def board_of(deal: Mapping[str, Any]) -> tuple[Rules, Board]:
    """The rules and the board of a deal.

    deal: tiles [R][C], chips [2][K], goals [2] (indices into `Layout.goals`), cost (points a move), limit (moves);
        where they are not the defaults also layout (start, goals or goal_distance of `Layout`) and scoring (`Scoring`).
    Raises: ValueError for what is no board that can have been dealt, with the name and what is allowed.
    """
    tiles, chips, goals = (_table(deal, name, depth) for name, depth in (("tiles", 2), ("chips", 2), ("goals", 1)))
    if len(chips) != PLAYERS or len(goals) != PLAYERS:
        raise ValueError(f"chips of {len(chips)} players and goals of {len(goals)}; there are {PLAYERS} players")
    dealt = chips.sum(1).tolist()
    if dealt[0] != dealt[1]:
        raise ValueError(f"the players are dealt {dealt[0]} and {dealt[1]} chips; both get as many")
    if chips.min() < 0:
        raise ValueError(f"chips {chips.tolist()}: there are no fewer than 0 of a colour")
    colours = chips.shape[1]
    if tiles.min() < 0 or tiles.max() >= colours:
        raise ValueError(
            f"tiles of the colours {tiles.min()} to {tiles.max()}; chips are of colours 0 to {colours - 1}"
        )
    try:
        _check_numbers(deal)
        own = {name: _as_tuple(value) for name, value in deal.get("layout", {}).items()}
        layout = Layout(*tiles.shape, colours, dealt[0], **own)
        rules = Rules(layout, Scoring(**deal.get("scoring", {})), deal["cost"], deal["limit"])
    except KeyError as error:
        raise ValueError(f"the deal does not say its {error.args[0]}") from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"cost, limit, layout or scoring of the deal are not such ({error})") from None
    if goals.min() < 0 or goals.max() >= len(layout.goals):
        raise ValueError(f"goals {goals.tolist()}: a goal is a number from 0 to {len(layout.goals) - 1}")
    board = Board(tiles, chips, goals)
    check_dealt(layout, board)
    return rules, board


def deal_json(rules: Rules, board: Board) -> dict[str, Any]:
    """The deal of a log that gives this board by `board_of`; what else it says (board, condition) may be joined."""
    tiles, chips, goals = (np.asarray(part).tolist() for part in board)
    layout, other = rules.layout, {}
    cells = [(row, column) for row in range(layout.rows) for column in range(layout.columns)]
    usual = (layout.rows // 2, layout.columns // 2)
    far = tuple(cell for cell in cells if Layout.steps(usual, cell) >= Layout.goal_distance)
    if (layout.start, layout.goals) != (usual, far):
        other["layout"] = {"start": list(layout.start), "goals": [list(goal) for goal in layout.goals]}
    if rules.scoring != Scoring():
        other["scoring"] = asdict(rules.scoring)
    return {"tiles": tiles, "chips": chips, "goals": goals, "cost": rules.cost, "limit": rules.limit} | other


def _check_numbers(deal: Mapping[str, Any]) -> None:
    """Told by name, before anything is made of them: a log says "0.1", true or 1.5 as easily as what is meant."""
    check_number("cost", deal["cost"], 0)
    check_whole("limit", deal["limit"], 1)
    for name, value in deal.get("scoring", {}).items():
        check_number(name, value)
    if "goal_distance" in deal.get("layout", {}):
        check_whole("goal_distance", deal["layout"]["goal_distance"], 1)


def _table(deal: Mapping[str, Any], name: str, depth: int) -> np.ndarray:
    try:
        table = np.array(deal[name])
        if table.ndim != depth or table.size == 0 or table.dtype.kind != "i":
            raise ValueError
    except KeyError:
        raise ValueError(f"the deal does not say its {name}") from None
    except ValueError:
        raise ValueError(f"{name} {deal[name]!r} of the deal: a table of whole numbers, {depth} deep") from None
    return table.astype(np.int32)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def ending_of(chips: Sequence[Sequence[int]], moves: Sequence[Chips | None], limit: int) -> Ending:
    """How a negotiation stands after its moves.

    chips: that each player was dealt.   moves: what each mover would hold; None: a failed answer.   limit: of moves.
    """
    if not moves:
        return Ending.ONGOING
    last, role = moves[-1], (len(moves) - 1) % PLAYERS
    if last is None or last == tuple(chips[role]):
        return Ending.WITHDRAWN
    pool = tuple(map(sum, zip(*chips, strict=True)))
    if len(moves) > 1 and moves[-2] is not None and tuple(map(sum, zip(last, moves[-2], strict=True))) == pool:
        return Ending.ACCEPTED
    return Ending.MOVE_LIMIT if len(moves) >= limit else Ending.ONGOING


def moves_of(deal: journal.GameBegun, made: Made) -> list[Chips | None]:
    """The moves of a game so far, in their order. Raises: ValueError for one that is no offer."""
    pool = _pool(deal)
    lines = (line for _, line in sorted(made.items()))
    return [None if line.action is None else chips_of(line.action, pool) for line in lines]


def ended(deal: journal.GameBegun, made: Made) -> Ending:
    """How a recorded game stands."""
    return ending_of(deal.deal["chips"], moves_of(deal, made), deal.deal["limit"])


def _pool(deal: journal.GameBegun) -> list[int]:
    return [sum(held) for held in zip(*deal.deal["chips"], strict=True)]


def _check_deal(line: journal.GameBegun) -> None:
    who = f"game {line.game_id!r}"
    if set(line.agents) != set(ROLES):
        raise ValueError(f"{who}: the roles are {', '.join(line.agents) or 'none'}, not {', '.join(ROLES)}")
    try:
        board_of(line.deal or {})
        condition = line.deal.get("condition", {})
        if not isinstance(condition, dict):
            raise ValueError(f"condition {condition!r}: an object of names and values")
        for name, value in condition.items():
            if not isinstance(value, str | int | float | None):
                raise ValueError(f"condition {name}={value!r}: a text, a number, true, false or null")
    except ValueError as error:
        raise ValueError(f"{who}: {error}") from None


def _check_decision(line: journal.Decision, deal: journal.GameBegun, made: Made) -> None:
    who = f"the {line.role} of game {deal.game_id!r}"
    if line.turn != len(made):
        raise ValueError(f"{who} makes move {line.turn}, but the next one is {len(made)}")
    if line.role != (due := ROLES[line.turn % PLAYERS]):
        raise ValueError(f"{who} makes move {line.turn}, which is the {due}'s")
    if (state := ended(deal, made)) != Ending.ONGOING:
        raise ValueError(f"{who} makes move {line.turn} after the game's end ({state.name.lower()})")
    if line.observation:
        raise ValueError(
            f"{who} is recorded as knowing {', '.join(line.observation)}; it knows the deal and the lines before, and "
            "the observation is empty"
        )
    try:
        for text in (*([] if line.action is None else [line.action]), *(line.probabilities or {})):
            chips_of(text, _pool(deal))
    except ValueError as error:
        raise ValueError(f"{who}, move {line.turn}: {error}") from None


COLORED_TRAILS = LogRules(GAME, Role, Ending, _check_deal, _check_decision)


@dataclass(frozen=True)
class Games:
    """The N games of some logs, all under the same rules but for the limit; T is the most moves that one has."""

    rules: Rules  # limit: the longest of the games'
    ids: tuple[str, ...]  # [N]
    agents: tuple[tuple[str, str], ...]  # [N] initiator, responder
    board: Board  # of NumPy arrays, batched: tiles [N, R, C], chips [N, 2, K], goals [N, 2]
    kept: Int[np.ndarray, "N T"]  # code of what the mover would hold; NO_ANSWER: failed, or padding
    lengths: Int[np.ndarray, " N"]  # moves made, failed ones included
    endings: Int[np.ndarray, " N"]  # `Ending`; ONGOING: a game that was cut short
    names: tuple[str, ...]  # [N] of the boards, "" where they have none
    dealt_as: tuple[str, ...]  # [N] which board it is, the same for its copies: seed and name, else the game's own id
    conditions: tuple[dict[str, Any], ...]  # [N] as the logs have them
    lines: tuple[tuple[journal.Decision, ...], ...]  # [N][length] of the log: messages, thoughts, answers

    @property
    def valid(self) -> Bool[np.ndarray, "N T"]:
        """[N, T] False for padding: moves that were not made."""
        return np.arange(self.kept.shape[1]) < self.lengths[:, None]

    @property
    def failed(self) -> Bool[np.ndarray, "N T"]:
        """[N, T] moves that are failed answers."""
        return self.valid & (self.kept == NO_ANSWER)


class Outcomes(NamedTuple):
    """How N games ended for the initiator and the responder, in points."""

    final: Int[np.ndarray, "N 2"]  # code of the chips held at the end
    before: Float[np.ndarray, "N 2"]  # U(chips dealt)
    score: Float[np.ndarray, "N 2"]  # U(chips held) - cost x moves
    gained: Float[np.ndarray, "N 2"]  # score - before
    reached: Bool[np.ndarray, "N 2"]  # the chips held at the end pay for a walk to the own goal


@cache
def _same(layout: Layout) -> Layout:
    """One object for equal layouts, so that what they compute of themselves is computed once."""
    return layout


def read_games(
    paths: Sequence[Path], on_line: Callable[[], None] | None = None
) -> tuple[Games, list[journal.RunBegun]]:
    """The games of some logs, of which the same may not be given twice, and how each log began.

    A game that was cut short counts as far as it goes; one without a move is left out.
    on_line: called after each line, for a progress bar.
    Raises: JournalError for a log that cannot be read, for a game that is in two of them, for games of different
        layouts, scoring or costs, and where no game is left.
    """
    found: list[tuple[journal.GameBegun, list[journal.Decision]]] = []
    begun: list[journal.RunBegun] = []
    first: dict[tuple, Path] = {}
    for path in paths:
        log = logs.read_log(path, COLORED_TRAILS, on_line)
        if log.begun is not None:
            begun.append(log.begun)
        for game_id, made in log.decisions.items():
            lines = [line for _, line in sorted(made.items())]
            if not lines:
                continue
            deal = log.deals[game_id]
            dealt_as = json.dumps(deal.deal, sort_keys=True)
            seen = (game_id, dealt_as, *deal.agents.items(), *(line.action for line in lines))
            if seen in first:
                raise journal.JournalError(f"{path}: game {game_id!r} is in {first[seen]} too; give every game once")
            first[seen] = path
            found.append((deal, lines))
    if not found:
        raise journal.JournalError(f"{', '.join(map(str, paths))}: no move was made")
    dealt = [board_of(deal.deal) for deal, _ in found]
    limit = max(rules.limit for rules, _ in dealt)
    alike = {replace(rules, limit=limit) for rules, _ in dealt}
    if len(alike) > 1:
        one, other = list(alike)[:2]
        name = next(name for name in ("layout", "scoring", "cost") if getattr(one, name) != getattr(other, name))
        raise journal.JournalError(
            f"{', '.join(map(str, paths))}: games of different {name} ({getattr(one, name)} and "
            f"{getattr(other, name)}); compare them apart"
        )
    rules = alike.pop()
    rules = replace(rules, layout=_same(rules.layout))
    board = Board(*(np.stack(parts) for parts in zip(*(board for _, board in dealt), strict=True)))
    kept = np.full((len(found), max(len(lines) for _, lines in found)), NO_ANSWER, np.int32)
    for n, (_, lines) in enumerate(found):
        pool = board.chips[n].sum(0)
        stride = np.cumprod([1, *(pool[:-1] + 1)])
        for t, line in enumerate(lines):
            if line.action is not None:
                kept[n, t] = np.dot(chips_of(line.action, pool.tolist()), stride)
    return Games(
        rules,
        tuple(deal.game_id for deal, _ in found),
        tuple((deal.agents["initiator"], deal.agents["responder"]) for deal, _ in found),
        board,
        kept,
        np.array([len(lines) for _, lines in found], np.int32),
        np.array([_ending(deal, lines) for deal, lines in found], np.int32),
        tuple(str(deal.deal.get("board", "")) for deal, _ in found),
        tuple(f"seed {d.seed}, {name}" if (name := d.deal.get("board")) else d.game_id for d, _ in found),
        tuple(deal.deal.get("condition", {}) for deal, _ in found),
        tuple(tuple(lines) for _, lines in found),
    ), begun


def _ending(deal: journal.GameBegun, lines: Sequence[journal.Decision]) -> Ending:
    return ended(deal, {(line.turn, Role(line.turn % PLAYERS)): line for line in lines})


@cache
def _dealer(layout: Layout, scoring: Scoring) -> Callable[[Board], Deal]:
    return jax.jit(lambda board: deal(layout, board, scoring))


@cache
def _reacher(layout: Layout) -> Callable[[Board, Offers], Array]:
    return jax.jit(lambda boards, found: jax.lax.map(lambda one: within_reach(layout, *one), (boards, found)))


def deals(rules: Rules, board: Board) -> Deal:
    """N boards with their offers and utilities; NumPy arrays, batched. Board by board: one program for any N."""
    one = _dealer(_same(rules.layout), rules.scoring)
    found = [one(Board(*(part[n] for part in board))) for n in range(len(board.tiles))]
    return jax.tree.map(lambda *parts: np.stack(parts), *found)


def outcomes(games: Games, deals: Deal) -> Outcomes:
    """What the moves of N recorded games give by the rules; of one that was cut short, as if it ended there."""
    rules, offers = games.rules, deals.offers
    n = np.arange(len(games.lengths))
    own = offers.own
    last = games.kept[n, games.lengths - 1]
    accepter = (games.lengths - 1) % PLAYERS
    held = np.where(np.arange(PLAYERS) == accepter[:, None], last[:, None], offers.flip[n, last][:, None])
    final = np.where((games.endings == Ending.ACCEPTED)[:, None], held, own)
    utility, goals = deals.utility.astype(float), games.board.goals
    before = utility[n[:, None], goals, own]
    after = utility[n[:, None], goals, final]
    paid = rules.cost * rules.charged * games.lengths[:, None]
    reach = np.asarray(_reacher(rules.layout)(deals.board, offers))
    return Outcomes(final, before, after - paid, after - paid - before, reach[n[:, None], goals, final])


def is_person(agent: str) -> bool:
    """Whether an agent is a person: "human", or "human-" and more."""
    return agent.partition("-")[0] == "human"


def seats_of(games: Games) -> dict[str, Int[np.ndarray, "S 2"]]:
    """By player, [S, (game, role)]: people together where there are several, then other players, then each person."""
    found: dict[str, list[tuple[int, int]]] = {}
    for n, pair in enumerate(games.agents):
        for role, agent in enumerate(pair):
            found.setdefault(agent, []).append((n, role))
    people = [agent for agent in found if is_person(agent)]
    together = {PEOPLE: sorted(seat for agent in people for seat in found[agent])} if len(people) > 1 else {}
    others = {agent: seats for agent, seats in found.items() if agent not in people}
    return {agent: np.array(seats) for agent, seats in (together | others | found).items()}
