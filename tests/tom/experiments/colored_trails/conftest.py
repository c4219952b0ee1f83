"""Logs of negotiations to compare: two people and a language model, written line by line."""

import json

import pytest

from otherminds.tom.experiments import journal

TILES = [[1, 3, 1, 2, 3], [1, 0, 3, 4, 0], [0, 4, 0, 0, 0], [1, 1, 3, 3, 3], [1, 3, 0, 1, 3]]
CHIPS = [[2, 0, 0, 2, 0], [1, 1, 0, 1, 1]]  # the pool is 3-1-0-3-1
DEAL = {"board": "diagnostic 1", "tiles": TILES, "chips": CHIPS, "goals": [4, 3], "cost": 0.1, "limit": 100}
MODEL = "gpt-oss-120b"


def game(writer, game_id, agents, moves, *, thoughts=(), condition=None, over=True, **deal):
    """Writes a game; the ending is worked out here, apart from the code under test."""
    dealt = DEAL | {"condition": condition or {}} | deal
    roles = ("initiator", "responder")
    writer.write(
        journal.GameBegun(game_id=game_id, agents=dict(zip(roles, agents, strict=True)), seed=0, episode=1, deal=dealt)
    )
    for turn, action in enumerate(moves):
        writer.write(
            journal.Decision(
                game_id=game_id,
                turn=turn,
                role=roles[turn % 2],
                agent=agents[turn % 2],
                observation={},
                action=action,
                message="take it" if turn == 0 else None,
                thoughts=thoughts[turn] if turn < len(thoughts) else None,
            )
        )
    if not over:
        return
    chips = [[int(c) for c in (move or "0-0-0-0-0").split("-")] for move in moves]
    if moves[-1] is None or chips[-1] == dealt["chips"][(len(moves) - 1) % 2]:
        ending = "withdrawn"
    elif len(moves) > 1 and [a + b for a, b in zip(*chips[-2:], strict=True)] == [3, 1, 0, 3, 1]:
        ending = "accepted"
    else:
        ending = "move_limit"
    failed = sum(move is None for move in moves)
    writer.write(journal.GameOver(game_id=game_id, ending=ending, turns=len(moves), failed_answers=failed))


@pytest.fixture(scope="session")
def write_log():
    """Writes a log of some games: (path, [(id, agents, moves, options)]) -> path."""

    def write(path, games):
        with journal.Writer(path) as writer:
            writer.write(journal.RunBegun(game="colored-trails", config={}, vocabulary="v", versions={}, time=""))
            for game_id, agents, moves, options in games:
                game(writer, game_id, agents, moves, **options)
            if all(options.get("over", True) for *_, options in games):
                writer.write(journal.RunOver(games=len(games), time=""))
        return path

    return write


ACCEPTED = ["2-1-0-1-0", "1-0-0-2-1"]
WITHDRAWN = ["2-1-0-1-0", "3-0-0-1-0", "1-1-0-2-0", "1-1-0-1-1"]
FAILED = ["2-0-0-1-1", None]


@pytest.fixture(scope="session")
def log(tmp_path_factory, write_log):
    """Five games of two people with the language model, one with a failed answer."""
    said = ["? - who knows", None, "e5 a5 - it wants white"]
    ordinary, diagnostic = {"boards": "ordinary", "deception": False}, {"boards": "diagnostic", "deception": True}
    games = [
        ("a1", ("human-1", MODEL), ACCEPTED, {"thoughts": ["E5 - so", None], "condition": ordinary}),
        ("a2", ("human-1", MODEL), WITHDRAWN, {"thoughts": said, "condition": diagnostic}),
        ("b1", ("human-2", MODEL), [*WITHDRAWN[:2], "0-0-0-2-1"], {"thoughts": ["no dash"], "condition": ordinary}),
        ("b2", ("human-2", MODEL), FAILED, {"condition": diagnostic}),
        ("b3", ("human-2", MODEL), ["2-1-0-1-0", "0-1-0-2-0"], {"limit": 2, "condition": diagnostic}),
    ]
    return write_log(tmp_path_factory.mktemp("negotiations") / "log.jsonl", games)


@pytest.fixture
def tampered(log, tmp_path):
    """The log with one value of one line changed: (line number from 0, names..., value) -> path."""

    def tamper(number, *names, value):
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        place = lines[number]
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
        path = tmp_path / "tampered.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    return tamper
