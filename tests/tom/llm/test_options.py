"""What the options of the commands make of the settings of the calls."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from otherminds.tom import cli
from otherminds.tom.experiments.config import validated
from otherminds.tom.llm.client import GenerationSettings, Limits

RUNS = {
    "decrypto": "otherminds.tom.experiments.decrypto.run_console.run_decrypto",
    "rps": "otherminds.tom.experiments.rps.observers.console.run_rps",
    "colored-trails": "otherminds.tom.experiments.colored_trails.console_run.run_colored_trails",
}


def given(monkeypatch, game, *options):
    """The settings and the other options that a game is run with."""
    seen = {}
    monkeypatch.setattr(RUNS[game], lambda *_, **options: seen.update(options))
    result = CliRunner().invoke(cli.main, ["run", game, *options])
    assert result.exit_code == 0, result.output
    return seen.pop("generation"), seen


@pytest.mark.parametrize("game", RUNS)
def test_every_game_takes_the_same_options(monkeypatch, game):
    settings, rest = given(monkeypatch, game)
    assert settings == GenerationSettings() and rest["max_attempts"] == 2
    options = "--temperature 0.5 --max-tokens 9 --reasoning-effort low --max-connections 3 --max-retries 1 --timeout 7"
    options += " --max-attempts 4 --cache kept --token-limit 100 --cost-limit 0.5 --price 1,2"
    settings, rest = given(monkeypatch, game, *options.split())
    assert settings == GenerationSettings(
        temperature=0.5,
        max_tokens=9,
        reasoning_effort="low",
        max_connections=3,
        max_retries=1,
        timeout=7.0,
        cache=Path("kept"),
        limits=Limits(100, 0.5, {"*": (1.0, 2.0)}),
    )
    assert rest["max_attempts"] == 4 and "cache" not in rest
    assert given(monkeypatch, game, "--cache", "kept", "--no-cache")[0].cache is None


@pytest.mark.parametrize(
    "options, words",
    [
        (["--price", "1"], "--price '1': must be IN,OUT"),
        (["--price", "nan,1"], "--price of '*', (nan, 1.0): must be two numbers of dollars, at least 0"),
        (["--token-limit", "0"], "--token-limit 0: must be above 0"),
        (["--cost-limit", "nan"], "nan is no finite number"),
        (["--max-retries", "-1"], "--max-retries -1: must be from 0 to 1000"),
        (["--max-tokens", "0"], "--max-tokens 0: must be at least 1"),
        (["--temperature", "3"], "--temperature 3.0: must be from 0 to 2"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(options, words):
    result = CliRunner().invoke(cli.main, ["run", "decrypto", *options])
    assert result.exit_code == 2 and words in result.stderr and result.stderr.count("\n") == 1


def test_limits_and_cache_are_in_the_log_and_no_part_of_what_a_run_is(tmp_path):
    agents = {role: ("a/b",) for role in ("encoder", "decoder", "interceptor")}
    limited = GenerationSettings(cache=tmp_path, limits=Limits(100, 0.5, {"a/b": (1.0, 2.0)}), max_retries=0)
    config = validated(**agents, generation=limited)
    assert config.digest() == validated(**agents).digest()
    written = json.loads(json.dumps(config.model_dump(mode="json")))
    assert validated(**written).generation == limited
