"""Negotiations move by move, as a page shows them: the board, what was offered and written, what could be believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from otherminds.games.colored_trails.offers import Offers
from otherminds.games.colored_trails.rules import Ending, Role
from otherminds.games.colored_trails.text import START, chips_in_words, colour_names, draw, square
from otherminds.tom.experiments.answers import answered
from otherminds.tom.experiments.colored_trails.explain import Shadow
from otherminds.tom.experiments.colored_trails.records import ROLES, Games, Outcomes

MOST_GAMES = 1000  # of one page
MARKS = ("1", "2")
"""Behind the goals of initiator and responder on a drawing."""


def transcript(
    games: Games, n: int, outcomes: Outcomes, offers: Offers, shadows: Mapping[str, Shadow]
) -> dict[str, Any]:
    """What a page shows of game n.

    offers: of all games.   shadows: of the minds whose belief in the other's goal stands beside each move.
    """
    layout, board = games.rules.layout, games.board
    chips, flip = np.asarray(offers.chips[n]), np.asarray(offers.flip[n])
    goals = [int(goal) for goal in board.goals[n]]
    moves = []
    for t in range(int(games.lengths[n])):
        role, code = t % 2, int(games.kept[n, t])
        incoming = int(flip[games.kept[n, t - 1]]) if t else -1
        what, held = "offers", None
        if code < 0:
            what = "gave no answer, and so withdrew"
        elif code == int(offers.own[n, role]):
            what = "withdraws"
        elif code == incoming:
            what = "accepts"
        else:
            held = [chips_in_words(layout, chips[each]) for each in (code, int(flip[code]))][:: 1 - 2 * role]
        line = games.lines[n][t]
        moves.append(
            {
                "number": t + 1,
                "role": ROLES[role],
                "agent": games.agents[n][role],
                "what": what,
                "held": held,  # after the trade, by the initiator and the responder
                "message": line.message,
                "thoughts": line.thoughts or line.reasoning,
                "beliefs": [
                    (mind, float(np.exp(shadow.log_goal[n, t, goals[1 - role]]))) for mind, shadow in shadows.items()
                ],
                "answers": [answered(line)] if line.attempts else [],
            }
        )
    players = [
        {
            "role": role.name.lower(),
            "agent": games.agents[n][role],
            "mark": MARKS[role],
            "goal": square(layout, layout.goals[goals[role]]),
            "chips": chips_in_words(layout, board.chips[n][role]),
            "final": chips_in_words(layout, chips[outcomes.final[n, role]]),
            "before": float(outcomes.before[n, role]),
            "gained": float(outcomes.gained[n, role]),
        }
        for role in Role
    ]
    marks: dict[int, str] = {}
    for goal, mark in zip(goals, MARKS, strict=True):
        marks[goal] = marks.get(goal, "") + mark
    return {
        "id": games.ids[n],
        "board": games.names[n],
        "condition": ", ".join(f"{name} {value}" for name, value in games.conditions[n].items()),
        "drawing": draw(layout, board.tiles[n], marks),
        "key": ", ".join([f"{name[0].upper()} {name}" for name in colour_names(layout)] + [f"{START} start"]),
        "players": players,
        "moves": moves,
        "ending": None if games.endings[n] == Ending.ONGOING else Ending(int(games.endings[n])).name.lower(),
        "failed": bool(games.failed[n].any()),
    }
