"""The smallest game that a language model can play in a run: hints for nobody, turn by turn. Nothing compiles.

Run as a program it plays the same run again and again, in a process of its own each time, which it kills after a while:
python small_run.py URL LOG CACHE SEED KILLS
"""

import asyncio
import os
import random
import signal
import sys
import time
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from otherminds.games.decrypto.text import hints_schema, read_hints
from otherminds.tom.agents.asking import ask
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.logs import LogRules
from otherminds.tom.experiments.running import (
    Asked,
    begin_game,
    check_that_it_answers,
    how_it_came,
    read_past,
    run_games,
)
from otherminds.tom.llm.client import GenerationSettings
from otherminds.tom.llm.notices import asking
from otherminds.tom.llm.parsing import find_answer

MODEL = "fake/fake"
GAMES, TURNS = 6, 5
CONNECTIONS = 3
KEYWORDS = ["sea", "king", "bread", "night"]


class Role(IntEnum):
    """Who plays."""

    ENCODER = 0


class Ending(IntEnum):
    """How it ends."""

    DONE = 0


RULES = LogRules("small", Role, Ending, lambda deal: None, lambda line, deal, made: None)


class Planned(NamedTuple):
    """One game."""

    seed: int

    @property
    def game_id(self):
        """Its name in the log."""
        return f"small {self.seed}"


async def play(session, planned):
    """Plays a game, or what the log does not hold of it. Returns how many answers failed."""
    game_id = planned.game_id
    if game_id in session.past.over:
        return session.past.over[game_id].failed_answers
    deal = journal.GameBegun(game_id=game_id, agents={"encoder": MODEL}, seed=planned.seed, episode=0, deal={})
    begin_game(session, deal, "nothing")
    made = session.past.decisions.get(game_id, {})
    failed = sum(line.action is None for line in made.values())
    for turn in (turn for turn in range(TURNS) if (turn, Role.ENCODER) not in made):
        with asking(f"turn {turn + 1}, encoder"):
            decision = await ask(
                session.clients[MODEL],
                [{"role": "user", "content": f"Game {planned.seed}, turn {turn + 1}: three hints in JSON, please."}],
                find=lambda text: find_answer(text, "hints", read_hints),
                schema=hints_schema(KEYWORDS),
                max_attempts=2,
                seed=100 * planned.seed + turn,
            )
            if decision.failure == "call":
                await check_that_it_answers(session.clients[MODEL])
        failed += decision.action is None
        session.writer.write(
            journal.Decision(
                game_id=game_id,
                turn=turn,
                role="encoder",
                agent=MODEL,
                observation={},
                action=None if decision.action is None else list(decision.action),
                **how_it_came(decision, 0.0),
            )
        )
    session.writer.write(journal.GameOver(game_id=game_id, ending="done", turns=TURNS, failed_answers=failed))
    return failed


def settings_of(**changes):
    """Short waits and no more than three calls in flight."""
    return GenerationSettings(**{"timeout": 10.0, "max_retries": 2, "max_connections": CONNECTIONS} | changes)


def run(url, path, settings, games=GAMES, on_start=None):
    """Plays the run, or goes on with it."""
    past = read_past(path, RULES, {}, lambda begun: {})
    begun = journal.RunBegun(game="small", config={}, vocabulary="none", versions={}, time="now")
    asked = {MODEL: Asked(MODEL, url, settings)}
    return asyncio.run(
        run_games(path, past, begun, asked, [Planned(seed) for seed in range(games)], play, on_start=on_start)
    )


def killed_runs(url, path, cache, seed, kills):
    """Plays the run until it has been killed so often, each time after a random while, and half as often when it had
    written something; a finished one is begun anew under another name. Returns the logs and the two counts."""
    import openai  # noqa: F401  each process would load it anew

    rng, logs, killed, in_the_middle = random.Random(seed), [path], 0, 0
    while killed < kills or 2 * in_the_middle < kills:
        before = logs[-1].stat().st_size if logs[-1].exists() else 0
        ready, tell_ready = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run(url, logs[-1], settings_of(cache=cache), on_start=partial(os.write, tell_ready, b"."))
                code = 0
            finally:
                os._exit(code)
        os.close(tell_ready)
        os.read(ready, 1)  # until games begin, or the process ends
        os.close(ready)
        time.sleep(rng.uniform(0.0, 0.3))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            in_the_middle += logs[-1].exists() and logs[-1].stat().st_size > before
        elif os.WEXITSTATUS(status):
            raise SystemExit("a run failed")
        else:
            logs.append(path.with_name(f"{len(logs)}-{path.name}"))
    return logs, killed, in_the_middle


if __name__ == "__main__":
    url, path, cache, seed, kills = sys.argv[1:]
    logs, *counts = killed_runs(url, Path(path), Path(cache), int(seed), int(kills))
    print(*counts, *logs, sep="\n")
