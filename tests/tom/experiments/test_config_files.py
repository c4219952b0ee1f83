"""Experiment files: what they may hold, how options go before them, and that the ready-made ones are in order."""

import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from otherminds.tom import cli
from otherminds.tom.cli.config_command import command_of
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.config_files import find, load, ready_made, values_of


@pytest.fixture
def calls():
    return []


@pytest.fixture
def root(calls):
    """A command line of two commands that write down what they were called with."""

    @click.group()
    def main():
        pass

    @main.group()
    def run():
        pass

    @run.command("game")
    @click.option("--agents", default="a")
    @click.option("--rounds", default=10)
    @click.option("--temperature", type=float)
    @click.option("--sweep", multiple=True)
    @click.option("--no-talk", is_flag=True)
    @click.option("--design", type=click.Choice(["cube", "pairs"]), default="pairs")
    @click.option("--boards", type=click.Path())
    @click.option("--json", "as_json", is_flag=True)
    @click.option("--out", type=click.Path())
    def game(**options):
        calls.append(("game", options))
        sys.exit(1 if options["agents"] == "failing" else 0)

    @main.command("ask")
    @click.argument("log")
    @click.option("--temperature", type=float)
    @click.option("--out", type=click.Path())
    def ask(**options):
        calls.append(("ask", options))

    return main


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


ONE = """
about = "One step"
out = "runs/mine"
command = "run game"
agents = ["x", "y"]
rounds = 3
temperature = 1
sweep = ["a=1", "b=2"]
no-talk = true
design = "cube"
boards = "some.json"
json = true
"""
TWO = """
about = "Two steps"
out = "runs/mine"
[[step]]
command = "run game"
out = "{out}/games"
[[step]]
command = "ask"
log = "{out}/games/log.jsonl"
out = "{out}/asked"
"""


def invoke(root, path, *arguments):
    return CliRunner().invoke(command_of(path, root), list(arguments))


def test_a_file_is_a_call_with_its_options(root, written, calls, tmp_path):
    result = invoke(root, written(ONE))
    assert result.exit_code == 0, result.output
    assert calls == [
        (
            "game",
            {
                "agents": "x,y",
                "rounds": 3,
                "temperature": 1.0,
                "sweep": ("a=1", "b=2"),
                "no_talk": True,
                "design": "cube",
                "boards": str(tmp_path / "some.json"),
                "as_json": True,
                "out": "runs/mine",
            },
        )
    ]


def test_options_go_before_the_file(root, written, calls):
    assert invoke(root, written(ONE), "--rounds", "7", "--out", "elsewhere", "--sweep", "c=3").exit_code == 0
    assert (calls[0][1]["rounds"], calls[0][1]["out"], calls[0][1]["sweep"]) == (7, "elsewhere", ("c=3",))
    assert calls[0][1]["agents"] == "x,y"


def test_steps_follow_each_other_and_share_a_folder(root, written, calls):
    result = invoke(root, written(TWO), "--out", "here", "--temperature", "0.5", "--rounds", "2")
    assert result.exit_code == 0 and "mine, step 2 of 2: ask" in result.output
    (_, game), (_, asked) = calls
    assert (game["out"], game["temperature"], game["rounds"]) == ("here/games", 0.5, 2)
    assert asked == {"log": "here/games/log.jsonl", "temperature": 0.5, "out": "here/asked"}


def test_an_option_goes_to_the_steps_that_the_file_says_it_of(root, written, calls):
    path = written(TWO.replace("log = ", "temperature = 0.1\nlog = "))
    assert invoke(root, path, "--temperature", "0.9").exit_code == 0
    assert [options["temperature"] for _, options in calls] == [None, 0.9]


def test_an_option_of_which_one_step_takes_several(root, written, calls):
    @root.command("elicit")
    @click.option("--temperature", type=float)
    @click.option("--agents", multiple=True)
    @click.option("--out")
    def elicit(**options):
        calls.append(("elicit", options))

    for steps in (TWO.replace('"ask"', '"elicit"').replace("log = ", "# "), None):
        if steps is None:  # the other way round
            steps = """
                [[step]]
                command = "elicit"
                [[step]]
                command = "run game"
            """
        calls.clear()
        assert invoke(root, written(steps), "--agents", "b").exit_code == 0
        assert {name: options["agents"] for name, options in calls} == {"game": "b", "elicit": ("b",)}
    calls.clear()


def test_failed_answers_are_told_at_the_end_and_stop_no_step(root, written, calls):
    assert invoke(root, written(TWO), "--agents", "failing").exit_code == 1
    assert [name for name, _ in calls] == ["game", "ask"]


def test_an_argument_that_the_file_leaves_open_is_an_option(root, written, calls):
    open_file = written('command = "ask"\nabout = "x"')
    assert invoke(root, open_file, "--log", "some.jsonl").exit_code == 0 and calls[0][1]["log"] == "some.jsonl"
    assert invoke(root, open_file).exit_code == 2


def test_an_import_is_made_once(root, written, calls, tmp_path):
    @root.group("import")
    def imports():
        pass

    @imports.command("people")
    @click.option("--people", default="everybody")
    @click.option("--out")
    def people(people, out):
        calls.append(("people", out))
        begun = journal.RunBegun(game="rps", config={"of": people}, vocabulary="", versions={}, time=out)
        journal.write_whole(Path(out) / "log.jsonl", [begun])

    both = written(f"""
        out = "{tmp_path}"
        [[step]]
        command = "import people"
        out = "{{out}}/people"
        [[step]]
        command = "ask"
        log = "{{out}}/people/log.jsonl"
    """)
    assert invoke(root, both).exit_code == 0 and [name for name, _ in calls] == ["people", "ask"]
    log = tmp_path / "people" / "log.jsonl"
    before = log.read_bytes()
    again = invoke(root, both)
    assert again.exit_code == 0 and "log.jsonl is there already" in again.output and calls[-1][0] == "ask"
    other = invoke(root, both, "--people", "somebody")  # is not passed off as what was imported
    assert other.exit_code == 2 and f"{log} holds another recording, or was imported with other options" in other.output
    assert calls[-1][0] == "people" and calls[-1][1] != str(log.parent) and log.read_bytes() == before


def test_a_dry_run_says_which_steps_it_leaves_out(root, written, calls, tmp_path):
    @root.command("draw")
    @click.option("--out")
    def draw(**options):
        calls.append(("draw", options))

    @root.command("play")
    @click.option("--boards", type=click.Path())
    @click.option("--dry-run", is_flag=True)
    def play(**options):
        calls.append(("play", options))

    path = written(f"""
        out = "{tmp_path}"
        [[step]]
        command = "draw"
        out = "{{out}}/drawn"
        [[step]]
        command = "play"
        boards = "{{out}}/drawn/boards.json"
    """)
    result = invoke(root, path, "--dry-run")
    assert result.exit_code == 0 and not calls
    assert "it asks no language model, and is left out" in result.output
    assert f"it reads {tmp_path}/drawn/boards.json, which an earlier step makes; its calls come on top" in result.output
    (tmp_path / "drawn").mkdir()
    (tmp_path / "drawn" / "boards.json").touch()
    assert invoke(root, path, "--dry-run").exit_code == 0 and [name for name, _ in calls] == ["play"]


def test_every_step_is_checked_before_the_first_begins(root, written, calls):
    third = '[[step]]\ncommand = "run game"\n'
    for wrong, told in (
        ("round = 1", "round=1: no such option; near: rounds"),
        ('design = "x"', "design: 'x' is not one"),
    ):
        with pytest.raises(ConfigError, match=f"mine.toml, step 3, run game: {told}"):
            command_of(written(TWO + third + wrong), root)
    missing = invoke(root, written(TWO.replace("log = ", "# ")))
    assert missing.exit_code == 2 and not calls


def test_help_shows_what_the_file_says(root, written, calls):
    told = invoke(root, written(ONE), "--help").output
    assert "One step." in told and "[default: 3]" in told and "[default: 10]" not in told and not calls
    assert re.search(r"--out PATH +\[default: runs/mine\]", told)
    hot = TWO.replace('"run game"', '"run game"\ntemperature = 1.0').replace('"ask"', '"ask"\ntemperature = 0.5')
    told = invoke(root, written(hot), "--help").output
    assert re.search(r"--temperature FLOAT +\[default: differs by step\]", told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rounds = 3", "command=None: name the command"),
        ('command = "run"', "mine.toml, run: there is no such command; near: run game"),
        ('command = "run chess"', "mine.toml, run chess: there is no such command; near: run game"),
        ('command = "run mine"', "there is no such command"),
        ('command = "run game"\nround = 3', "round=3: no such option; near: rounds"),
        ('command = "run game"\nxyz = 3', "xyz=3: no such option; there are agents, rounds"),
        ('command = "run game"\nrounds = 3.0', "rounds=3.0: must be a whole number"),
        ('command = "run game"\nrounds = true', "rounds=True: must be a whole number"),
        ('command = "run game"\nrounds = "3"', "rounds='3': must be a whole number"),
        ('command = "run game"\ntemperature = "hot"', "temperature='hot': must be a number"),
        ('command = "run game"\nno-talk = 1', "no_talk=1: must be true or false"),
        ('command = "run game"\nagents = 3', "agents=3: must be a text in quotes"),
        ('command = "run game"\nagents = [1]', "agents=[1]: must be one value"),
        ('command = "run game"\nrounds = [1, 2]', "rounds=[1, 2]: must be one value"),
        ('command = "run game"\nboards = "{out}/x"', "the file has no `out`"),
        ('out = "a"\ncommand = "run game"\nboards = "{here}/x"', "{here} stands for nothing; only {out} does"),
        ('about = 3\ncommand = "run game"', "about=3: must be a text"),
        ("step = 3", "step=3: write [[step]]"),
        ('rounds = 3\n[[step]]\ncommand = "run game"', "rounds: beside [[step]]"),
        ("rounds =", "cannot be read as TOML"),
    ],
)
def test_what_a_file_may_not_hold(root, written, text, told, calls):
    with pytest.raises(ConfigError) as error:
        command_of(written(text), root)
    assert told in str(error.value) and "\n" not in str(error.value) and not calls


def test_a_value_that_an_option_refuses(root, written, calls):
    with pytest.raises(ConfigError, match=r"mine.toml, run game: design: 'ring' is not one of 'cube', 'pairs'$"):
        command_of(written(ONE.replace('"cube"', '"ring"')), root)
    result = invoke(root, written(ONE), "--design", "ring")
    assert result.exit_code == 2 and "'ring' is not one of 'cube', 'pairs'" in result.output and not calls


def test_names_and_paths(tmp_path):
    assert find("decrypto") is None and find("some/where.toml").name == "where.toml"
    assert find("rps-regimes") == ready_made()["rps-regimes"]
    with pytest.raises(ConfigError, match=r"no such file; ready-made experiments: .*rps-regimes"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize("name", ready_made())
def test_ready_made_experiments_hold_what_their_commands_take(name):
    experiment = load(ready_made()[name])
    assert experiment.about and experiment.source and experiment.out
    command = command_of(ready_made()[name], cli.main)
    for step in experiment.steps:
        found = cli.main
        for word in step.command:
            found = found.commands[word]
        values = values_of(step, found, experiment, experiment.out)
        assert values["out"].startswith(experiment.out)
        open_ones = ["x" for each in found.params if isinstance(each, click.Argument) and each.name not in values]
        context = found.make_context(step.command[-1], open_ones, default_map=values)  # every value is of its kind
        assert all(context.params[option] == value or isinstance(value, list) for option, value in values.items())
    assert experiment.about in command.help


def test_a_misspelt_name_is_told_the_nearest():
    result = CliRunner().invoke(cli.main, ["run", "decrypto-k-swep"])
    assert result.exit_code == 2 and "is no game and no experiment; near: decrypto-k-sweep" in result.stderr
    result = CliRunner().invoke(cli.main, ["experiments", "rps-regime"])
    assert result.exit_code == 2 and "'rps-regime' is no experiment; near: rps-regimes" in result.stderr


def test_the_command_line_finds_them():
    listed = CliRunner().invoke(cli.main, ["experiments"])
    assert listed.exit_code == 0 and all(name in listed.output for name in ready_made())
    printed = CliRunner().invoke(cli.main, ["experiments", "rps-regimes"])
    assert printed.output == ready_made()["rps-regimes"].read_text(encoding="utf-8")
    unknown = CliRunner().invoke(cli.main, ["experiments", "chess"])
    assert unknown.exit_code == 2 and "'chess' is no experiment; there are" in unknown.output
    helped = CliRunner().invoke(cli.main, ["run", "rps-regimes", "--help"])
    assert helped.exit_code == 0 and "run rps (3 times)" in helped.output
    missing = CliRunner().invoke(cli.main, ["run", "none.toml"])
    assert missing.exit_code == 2 and "none.toml: no such file" in missing.output
