"""Simulated matches, replayed turn by turn, and beside the game of three."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.decrypto import rules, two_teams
from otherminds.games.decrypto.rules import Role
from otherminds.games.rollout import game_key, rollout
from otherminds.tom import cli
from otherminds.tom.experiments.decrypto.matches import in_channel, pairs, seated, simulate_matches, summarize_matches
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import named

TEAMS = (("baseline", "literal", "bayesian"), ("literal", "baseline", "baseline"))


def test_everybody_plays_a_channel_as_the_game_of_three(small_vocabulary):
    """Every guess and belief of a match is what the same mind makes of its channel alone, as a one-team game."""
    models = [named(spec, two_teams.seat_of(place)[1]) for place, spec in enumerate(seated(TEAMS))]
    params = tuple(model.make_params(make_lexicon(small_vocabulary)) for model in models)
    minds = tuple(in_channel(model.mind, place // 3) for place, model in enumerate(models))
    game = two_teams.two_teams(len(small_vocabulary.keywords))
    match, _ = jax.jit(lambda key: rollout(game, minds, params, key))(game_key(jax.random.key(0), 3))
    for channel, state in enumerate(match.channels):
        alone = rules.begin(state.keywords, state.codes)
        own = slice(3 * channel, 3 * channel + 3)
        beliefs = [
            model.mind.init(mine, None, rules.view(alone, role))
            for role, model, mine in zip(Role, models[own], params[own], strict=True)
        ]
        for turn in range(int(state.turn)):
            alone = rules.give_hints(alone, state.history.hints[turn])
            for role in (Role.DECODER, Role.INTERCEPTOR):
                model, mine = models[own][role], params[own][role]
                log_p = model.mind.log_policy(mine, beliefs[role], rules.observe(alone, role), jnp.arange(24))
                done = (state.history.decoder_guesses, state.history.interceptor_guesses)[role - 1][turn]
                if role == Role.INTERCEPTOR and turn < two_teams.FIRST_INTERCEPTION:
                    assert int(done) == -1
                else:
                    assert float(log_p[done]) > -jnp.inf
            alone, event = rules.guess(
                alone, state.history.decoder_guesses[turn], state.history.interceptor_guesses[turn]
            )
            beliefs = [
                model.mind.update(mine, belief, event)
                for model, mine, belief in zip(models[own], params[own], beliefs, strict=True)
            ]
        assert int(alone.miscommunications) == int(state.miscommunications)
        assert int(alone.interceptions) == int(state.interceptions)


def test_a_simulation_and_its_summary(small_vocabulary):
    results = simulate_matches(TEAMS, small_vocabulary, 40, chunk=16)
    assert (results.interceptions[:, 0] <= 2).all() and (results.rounds <= 8).all() and (results.rounds >= 2).all()
    last = results.rounds == 8
    for g in range(40):
        misses, catches = results.miscommunications[g], results.interceptions[g]
        assert int(two_teams.result(misses, catches, bool(last[g]))) == results.winner[g]
    again = simulate_matches(TEAMS, small_vocabulary, 16, chunk=16)
    np.testing.assert_array_equal(again.winner, results.winner[:16])
    row = summarize_matches(TEAMS, results)
    assert sum(row.won) + row.draws == pytest.approx(1)
    assert row.won[0] == np.mean(results.winner == 0)
    assert row.won_error[0] == pytest.approx(np.std(results.winner == 0, ddof=1) / np.sqrt(40))
    assert row.interceptions == pytest.approx(tuple(results.interceptions.mean(0)))


def test_who_meets():
    a, b, c = (("x", "y", z) for z in "abc")
    assert pairs([a, b, a, c]) == [(a, b), (a, c), (b, c)] and pairs([a]) == [(a, a)]
    assert seated((a, b)) == ("x", "y", "b", "x", "y", "a")


def test_the_command(tiny_files):
    words = [part for name, file in tiny_files.items() for part in (f"--{name}", file)]
    lists = ["--encoder", "baseline", "--decoder", "literal", "--interceptor", "baseline,bayesian"]
    asked = ["simulate", "decrypto", "--teams", "2", *lists, "--games", "20", *words]
    done = CliRunner().invoke(cli.main, asked)
    assert done.exit_code == 0, done.output
    assert "Matches of two teams" in done.output and "I bayesian" in done.output
    (row,) = json.loads(CliRunner().invoke(cli.main, [*asked, "--json"]).stdout)
    assert row["games"] == 20 and row["teams"][1][2] == "bayesian" and sum(row["won"]) + row["draws"] == 1
