"""OpenSpiel's 43 bots of the roshambo contests as players of rock, paper, scissors, in a process of their own.

They are compiled programs with state outside Python: they share the C library's random numbers, and one that fails
takes its process with it. So they play in a process beside this one, one match at a time, seeded before every match,
and a match has at most 1000 rounds: every bot is made for 1000 throws, for which they were written (one of them,
greenberg, corrupts memory otherwise). The same seed gives the same match, on the same C library.

The process is this file, run as a module: a line of JSON in, a line of JSON out.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

PREFIX = "openspiel/"
THROWS = 1000
MISSING = (
    "OpenSpiel is not installed, which openspiel/{name} needs; add it with `uv sync --extra openspiel` or "
    '`pip install "otherminds[openspiel]"`'
)


class BotCrash(ChildProcessError):
    """The process of the bots ended by itself."""


class Bots:
    """The process in which bots play; use it in a `with` block. It lives until a bot fails or the block ends.

    Raises: ValueError where OpenSpiel is not installed.
    """

    def __init__(self, wanted: str = "NAME") -> None:
        if importlib.util.find_spec("pyspiel") is None:
            raise ValueError(MISSING.format(name=wanted))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "otherminds.tom.agents.openspiel"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a crash is told in one line
            text=True,
        )
        self._playing = "OpenSpiel"

    def __enter__(self) -> "Bots":
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # what a dead process was asked last
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def names(self) -> list[str]:
        """The bots that there are."""
        return self._ask({"ask": "names"})

    def begin(self, players: tuple[str | None, str | None], rounds: int, seed: int) -> list[int | None]:
        """Begins a match. players: a bot's name, or None for somebody else.

        Returns: the first move of each bot, 0 to 2 (rock, paper, scissors); None for somebody else.
        """
        self._playing = " against ".join(f"{PREFIX}{name}" for name in players if name is not None)
        return self._ask({"ask": "begin", "players": players, "rounds": rounds, "seed": seed})

    def go_on(self, moves: list[int]) -> list[int | None]:
        """Tells the bots both moves of a round. Returns: the next move of each, as `begin`."""
        return self._ask({"ask": "go on", "moves": moves})

    def match(self, players: tuple[str, str], rounds: int, seed: int) -> list[list[int]]:
        """[2][T] the moves of a match between two bots."""
        first = self.begin(players, rounds, seed)
        return self._ask({"ask": "rest", "moves": first})

    def _ask(self, question: dict[str, Any]) -> Any:
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self._process.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise BotCrash(f"{self._playing}: the process in which the bots play ended by itself ({how})")
        return json.loads(answer)


def check_bots(specs: tuple[str, str], rounds: int, bots: Bots) -> tuple[str | None, str | None]:
    """The names of the bots among two players; None for others.

    Raises: ValueError for a bot that does not exist, with those that do, and for more than 1000 rounds.
    """
    there = bots.names()
    for spec in specs:
        if spec.startswith(PREFIX) and spec.removeprefix(PREFIX) not in there:
            raise ValueError(f"{spec!r} is no bot of OpenSpiel; there are {', '.join(there)}")
    if rounds > THROWS:
        raise ValueError(f"rounds={rounds}: OpenSpiel's bots are made for matches of at most {THROWS} rounds")
    first, second = (spec.removeprefix(PREFIX) if spec.startswith(PREFIX) else None for spec in specs)
    return first, second


def play_matches(
    player1: str,
    player2: str,
    matches: int,
    rounds: int,
    *,
    seed: int,
    legacy_decimals: bool = False,
    on_match: Callable[[int], None] | None = None,
) -> Any:
    """[N, 2, T] moves of matches in which one player or both are bots, `openspiel/NAME`; the other any mind by name.

    See `otherminds.tom.experiments.rps.matches.play.play_matches`, which comes here.
    Raises: ValueError as there, where OpenSpiel is not installed, and for a bot that does not exist; BotCrash.
    """
    import numpy as np

    specs = (player1, player2)
    with Bots(next(spec.removeprefix(PREFIX) for spec in specs if spec.startswith(PREFIX))) as bots:
        names = check_bots(specs, rounds, bots)
        other = None
        if None in names:
            other = _Other(specs[names.index(None)], names.index(None), rounds, legacy_decimals)
        played = np.empty((matches, 2, rounds), np.int8)
        for n in range(matches):
            if other is None:
                played[n] = bots.match(names, rounds, _seed_of(seed, n))
            else:
                played[n] = other.match(bots, names, seed, n)
            if on_match is not None:
                on_match(1)
    return played


def _seed_of(seed: int, n: int) -> int:
    """What the C library is seeded with for a match: the first word drawn from the match's key."""
    import jax

    from otherminds.games.rollout import game_key

    return int(jax.random.bits(game_key(jax.random.key(seed), n)))


class _Other:
    """A mind that plays against a bot, with the keys that it would have in a rollout."""

    def __init__(self, spec: str, role: int, rounds: int, legacy_decimals: bool) -> None:
        from otherminds.tom.minds.rps.registry import named_player

        self.named = named_player(spec, legacy_decimals=legacy_decimals)
        self.role, self.rounds = role, rounds
        self._begin, self._go_on = _programs(self.named.mind, role, rounds)

    def match(self, bots: Bots, names: tuple[str | None, str | None], seed: int, n: int) -> Any:
        """[2, T] moves of match n."""
        import jax
        import numpy as np

        from otherminds.games.rollout import game_key
        from otherminds.tom.experiments.rps.matches.play import params_key

        key = game_key(jax.random.key(seed), n)
        params = self.named.make_params(params_key(key, self.role))
        state, belief, action = self._begin(key, params)
        moves = np.empty((2, self.rounds), np.int32)
        now = bots.begin(names, self.rounds, _seed_of(seed, n))
        for t in range(self.rounds):
            now[self.role] = int(action)
            moves[:, t] = now
            if t + 1 < self.rounds:
                state, belief, action = self._go_on(key, params, state, belief, moves[:, t])
                now = bots.go_on(now)
        return moves


@cache
def _programs(mind: Any, role: int, rounds: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The jitted beginning of a match for a mind, up to its first move, and a round, up to its next."""
    import jax

    from otherminds.games.rollout import decision_key
    from otherminds.games.rps.rules import rps

    game = rps(rounds)

    def choose(key, params, state, belief):
        now = decision_key(key, state.valid.sum(), role)
        return state, belief, mind.sample(now, params, belief, game.observe(state, role))

    def begin(key, params):
        state = game.init(None)
        return choose(key, params, state, mind.init(params, None, game.view(state, role)))

    def go_on(key, params, state, belief, moves):
        state, event = game.step(None, state, {0: moves[0], 1: moves[1]})
        return choose(key, params, state, mind.update(params, belief, event))

    return jax.jit(begin), jax.jit(go_on)


# --- the process of the bots ----------------------------------------------------------------------------------------


class _Match:
    """A match between bots, or of a bot with somebody else, as OpenSpiel's repeated game."""

    def __init__(self, players: list[str | None], rounds: int, seed: int) -> None:
        import pyspiel

        ctypes.CDLL(None).srandom(ctypes.c_uint(seed))
        self.rounds = rounds
        self.state = pyspiel.create_repeated_game("matrix_rps", {"num_repetitions": rounds}).new_initial_state()
        self.bots = [
            None if name is None else pyspiel.make_roshambo_bot(player, name, num_throws=THROWS)
            for player, name in enumerate(players)
        ]

    def moves(self) -> list[int | None]:
        """The next move of each bot."""
        return [None if bot is None else bot.step(self.state) for bot in self.bots]

    def go_on(self, moves: list[int]) -> list[int | None]:
        """Plays a round, and gives the next moves."""
        self.state.apply_actions(moves)
        return self.moves()

    def rest(self, moves: list[int]) -> list[list[int]]:
        """All moves of a match between bots that begins with these."""
        played = [moves]
        while len(played) < self.rounds:
            played.append(self.go_on(played[-1]))
        return [list(own) for own in zip(*played, strict=True)]


def _serve() -> None:
    # Bots may print; what they print must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    match = None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["ask"] == "names":
            import pyspiel

            answer = pyspiel.roshambo_bot_names()
        elif asked["ask"] == "begin":
            match = _Match(asked["players"], asked["rounds"], asked["seed"])
            answer = match.moves()
        elif asked["ask"] == "go on":
            answer = match.go_on(asked["moves"])
        else:
            answer = match.rest(asked["moves"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
