"""The command line: help at once, wrong calls in one line, tables that fit 80 columns."""

import json
import math
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from otherminds.games.decrypto.rules import Role
from otherminds.tom import cli
from otherminds.tom.cli import calls
from otherminds.tom.experiments import console as shared_console
from otherminds.tom.experiments import defaults
from otherminds.tom.experiments.compare import DEFAULT_MINDS, Alternatives, Nearness, Outcome, Row
from otherminds.tom.experiments.config import ConfigError, validated
from otherminds.tom.experiments.decrypto import console, run_console
from otherminds.tom.experiments.run import model_names
from otherminds.tom.experiments.simulate import Summary
from otherminds.tom.llm.accounts import LimitReached
from otherminds.tom.minds.decrypto.registry import named

HEAVY = ("jax", "jaxlib", "numpy", "openai", "matplotlib", "numpyro", "pydantic", "rich", "scipy")
COMMANDS = ("", "run", "run decrypto", "simulate", "simulate decrypto", "compare", "validate", "import")
COMMANDS += ("import reference",)
SHADOWS = [f"--minds={role}=baseline" for role in ("encoder", "decoder", "interceptor")]
LONG = "openrouter/meta-llama/llama-3.1-405b-instruct-with-a-very-long-name:free"


def call(*arguments, **options):
    return CliRunner().invoke(cli.main, list(arguments), **options)


def flags(options):
    return [f"--{name}={value}" for name, value in options.items()]


def told(result):
    """The one line of a wrong call."""
    assert result.exit_code == 2 and result.stderr.count("\n") == 1, result.output
    return result.stderr


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    for flag in ("--help", "-h"):
        result = call(*command.split(), flag, terminal_width=80)
        assert result.exit_code == 0 and f"Usage: main {command}".strip() in result.stdout
        assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_help_and_schema_answer_at_once():
    for arguments in (["--help"], ["run", "decrypto", "--help"], ["validate", "--schema"], ["--version"]):
        code = (
            "import sys\nfrom otherminds.tom.cli import main\n"
            f"try: main({arguments!r})\n"
            f"finally: print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.splitlines()[-1] == "LOADED []"


def test_the_installed_command_runs():
    command = os.path.join(os.path.dirname(sys.executable), "otherminds")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("otherminds, version ")


def test_the_schema_is_printed():
    result = call("validate", "--schema")
    assert result.exit_code == 0 and json.loads(result.stdout)["title"] == "A line of the log"


# Agents by name


NOBODY_ASKED = {role: [] for role in defaults.AGENTS}


def seated(model):
    """The default agents with this model, or without any."""
    return {
        role: tuple(model if agent == defaults.MODEL else agent for agent in agents if model or agent != defaults.MODEL)
        for role, agents in defaults.AGENTS.items()
    }


def test_without_a_model_the_minds_play_alone(monkeypatch):
    monkeypatch.setattr(defaults, "local_model_installed", lambda: False)
    lists, note = defaults.agent_lists(NOBODY_ASKED, None)
    assert lists == seated(None) and all(lists.values())
    assert "--extra local" in note and "--model" in note
    with pytest.raises(ValueError, match="--decoder: `model` stands for a language model, and there is none"):
        defaults.agent_lists(NOBODY_ASKED | {"decoder": ["model"]}, None)


def test_the_local_model_plays_where_it_is_installed(monkeypatch):
    monkeypatch.setattr(defaults, "local_model_installed", lambda: True)
    assert defaults.agent_lists(NOBODY_ASKED, None) == (seated("local/smollm2"), None)
    asked = NOBODY_ASKED | {"decoder": ["model", "baseline"], "interceptor": ["bayesian"]}
    lists, note = defaults.agent_lists(asked, None)
    assert lists["encoder"] == seated("local/smollm2")["encoder"] and note is None
    assert lists["decoder"] == ("local/smollm2", "baseline") and lists["interceptor"] == ("bayesian",)


def test_a_named_model_takes_the_place_of_the_local_one(monkeypatch):
    monkeypatch.setattr(defaults, "local_model_installed", lambda: pytest.fail("looked for"))
    assert defaults.agent_lists(NOBODY_ASKED, "openai/gpt-4o") == (seated("openai/gpt-4o"), None)
    lists, note = defaults.agent_lists(NOBODY_ASKED | {"interceptor": ["vllm/x"]}, "openai/gpt-4o")
    assert lists["interceptor"] == ("vllm/x",) and note is None


def test_the_defaults_exist():
    for role, agents in defaults.AGENTS.items():
        for agent in agents:
            if agent != defaults.MODEL:
                named(agent, Role[role.upper()])
    for role, specs in DEFAULT_MINDS.items():
        assert len(specs) == len(set(specs)) and all(named(spec, role) for spec in specs)


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ("", []),
        (" , ,", []),
        ("baseline", ["baseline"]),
        ("baseline, literal ,local/smollm2", ["baseline", "literal", "local/smollm2"]),
        ("rational:k=8,pool=50,baseline", ["rational:k=8,pool=50", "baseline"]),
        ("x,rational:decoder=literal:beta=3;k=1,seed=1", ["x", "rational:decoder=literal:beta=3;k=1,seed=1"]),
        ("literal,literal:rule=softmax", ["literal", "literal:rule=softmax"]),
        ("vllm/org/name=v2,baseline:k=1", ["vllm/org/name=v2", "baseline:k=1"]),
        ("openrouter/x/y:free,baseline", ["openrouter/x/y:free", "baseline"]),
        ("k=8", ["k=8"]),
    ],
)  # fmt: skip
def test_lists_of_agents_are_split(text, agents):
    assert defaults.split_agents(text) == agents


def test_models_are_told_from_minds():
    config = validated(encoder=("baseline", "vllm/x"), decoder=("literal:beta=3",), interceptor=("a/b/c:d", "vllm/x"))
    assert model_names(config) == ["vllm/x", "a/b/c:d"]
    with pytest.raises(ConfigError, match=r"decoder 'rational': neither a mind \(baseline, "):
        model_names(validated(encoder=("rational",), decoder=("rational",), interceptor=("bayesian",)))


@pytest.mark.parametrize(
    ("design", "tables"),
    [
        ("one-at-a-time", ["ade", "bde", "cde", "aee"]),
        ("cube", ["ade", "aee", "bde", "bee", "cde", "cee"]),
    ],
)
def test_designs_seat_every_table_once(design, tables):
    config = validated(encoder=("a", "b", "c", "a"), decoder=("d", "e", "d"), interceptor=("e",), design=design)
    assert ["".join(table) for table in config.tables()] == tables


# Commands


@pytest.fixture(scope="module")
def ran(tiny_files, tmp_path_factory):
    """A run of minds alone, and the folder that it wrote."""
    out = tmp_path_factory.mktemp("run") / "out"
    seats = ["--encoder", "baseline,baseline:k=4", "--decoder", "literal", "--interceptor", "baseline"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(out.parent / "jax"))
        return call("run", "decrypto", *seats, "--episodes", "1", "--out", str(out), *SHADOWS, *flags(tiny_files)), out


def test_a_run_prints_its_tables_and_writes_the_report(ran):
    result, out = ran
    assert result.exit_code == 0
    assert result.stderr.splitlines()[:4] == [f"playing: {done} of 4" for done in (1, 2, 3, 4)]  # no terminal, no bar
    assert "Decrypto (unofficial): 4 games at 2 tables, 2 seeds" in result.stdout
    assert "no language model sits at the tables" not in result.stdout  # everybody was named
    for name in ("log.jsonl", "report.html", "scores.csv", "decisions.csv"):
        assert (out / name).stat().st_size > 0
        assert name == "log.jsonl" or f"wrote {out / name}" in result.stdout
    for player in ("E baseline", "E baseline:k=4", "D literal", "I baseline"):
        assert any(player in line.split("  ")[0] for line in result.stdout.splitlines())


def test_the_tables_of_a_run_fit_80_columns(ran):
    long = ("Note: ", "  words ", "  log ", "wrote ")  # with names of files, or for a terminal to wrap
    whole = [line for line in ran[0].stdout.splitlines() if not line.startswith(long)]
    assert max(map(cell_len, whole)) <= 80
    assert not any("…" in line or "..." in line for line in whole)


def test_a_log_is_validated(ran, tmp_path):
    log = ran[1] / "log.jsonl"
    result = call("validate", str(log), str(log))
    assert result.exit_code == 0 and result.stdout.count("valid, schema version 1; 4 of 4 games over") == 2
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(log.read_bytes().replace(b'"ending":', b'"ended":', 1))
    result = call("validate", str(log), str(bad))
    assert f"{bad}, line " in told(result) and result.stdout.count("valid") == 1
    assert "no such log" in told(call("validate", str(tmp_path / "none")))


def test_a_log_is_compared(ran, tiny_files, tmp_path):
    log = str(ran[1] / "log.jsonl")
    result = call("compare", log, "--json", "--lapse", "0.2", *SHADOWS, *flags(tiny_files))
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["lapse"] == 0.2 and "nearest" in content["alternatives"]
    assert [row["games"] for row in content["outcomes"]] == [2, 2]
    assert {row["mind"] for row in content["scores"]} == {"baseline", "baseline:k=4", "literal", "uniform"}
    assert {(row["role"], row["agent"]) for row in content["scores"] if row["best"]} == {
        ("encoder", "baseline"),
        ("encoder", "baseline:k=4"),
        ("decoder", "literal"),
        ("interceptor", "baseline"),
    }
    assert {row["agent"] for row in content["nearness"]} == {"baseline", "baseline:k=4"}
    assert [(row["role"], row["agent"], row["failed"]) for row in content["stated"]] == [
        ("decoder", "literal", 0),
        ("interceptor", "baseline", 0),
    ]
    assert {(row["role"], row["mind"]) for row in content["divergences"] if row["nearest"]} == {
        ("decoder", "literal"),
        ("interceptor", "baseline"),
    }
    assert sum(row["count"] for row in content["confidence"]) == sum(row["decisions"] for row in content["stated"])
    assert not list(tmp_path.iterdir())
    result = call("compare", log, "--out", str(tmp_path / "new"), *SHADOWS, *flags(tiny_files))
    assert result.exit_code == 0 and (tmp_path / "new" / "report.html").exists()
    assert "How well each mind explains each agent" in result.stdout
    assert "How true are the probabilities that guessers state of the codes?" in result.stdout
    assert {"stated.csv", "confidence.csv", "divergences.csv"} <= {path.name for path in (tmp_path / "new").iterdir()}
    assert '<h2 id="stated">' in (tmp_path / "new" / "report.html").read_text(encoding="utf-8")


def test_what_cannot_be_compared_is_told_in_one_line(ran, tiny, tiny_files, tmp_path):
    log, empty = str(ran[1] / "log.jsonl"), tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert "nothing was played" in told(call("compare", str(empty), *flags(tiny_files)))
    assert "no such log" in told(call("compare", str(tmp_path / "none"), *flags(tiny_files)))
    assert "--lapse 0.0" in told(call("compare", log, "--lapse", "0", *flags(tiny_files)))
    for option in (["--join", "sum"], ["--every-option"]):
        assert f"{' '.join(option)}: only reference games" in told(call("compare", log, *option, *flags(tiny_files)))
    assert "no mind for the decoder" in told(call("compare", log, "--minds", "decoder=x", *flags(tiny_files)))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((ran[1] / "log.jsonl").read_bytes())
    assert "is in another of the logs too" in told(call("compare", log, str(copy), *flags(tiny_files)))
    keywords = tmp_path / "keywords.txt"
    keywords.write_text("\n".join(tiny.keywords[:4]))
    other = flags(tiny_files | {"keywords": str(keywords)})
    assert "is not in the keyword list" in told(call("compare", log, *other))


def test_a_simulation_prints_json(tiny_files):
    lists = ["--encoder", "baseline", "--decoder", "literal", "--interceptor", "baseline", *flags(tiny_files)]
    result = call("simulate", "decrypto", "--games", "5", "--json", *lists)
    assert result.exit_code == 0 and result.stderr == "table 1 of 1: 5 of 5\n"
    (row,) = json.loads(result.stdout)
    assert (row["encoder"], row["decoder"], row["interceptor"], row["games"]) == ("baseline", "literal", "baseline", 5)
    assert sum(row["endings"].values()) == 5 and 0 <= row["survived"] <= 1 and row["seconds"] > 0
    assert row["survived_error"] is not None
    again = json.loads(call("simulate", "decrypto", "--games", "5", "--chunk", "5", "--json", *lists).stdout)[0]
    assert again | {"seconds": 0} == row | {"seconds": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "nobody"], "'nobody' is no mind for the encoder"),
        (["--decoder", "literal,bayesian"], "'bayesian' is no mind for the decoder"),
        (["--encoder", ","], "--encoder: name at least one mind"),
        (["--encoder", "baseline:dimensions=9"], "dimensions=9"),
        (["--games", "0"], "--games 0"),
        (["--chunk", "0"], "--chunk 0"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**64)], "--seed"),
        (["--games", "1.5"], "'1.5' is not a valid integer (see main simulate decrypto --help)"),
        (["--keywords", "none.txt"], "none.txt"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_a_wrong_simulation_is_told_in_one_line(tiny_files, arguments, message):
    files = flags({name: path for name, path in tiny_files.items() if f"--{name}" not in arguments})
    assert message in told(call("simulate", "decrypto", *files, *arguments))


@pytest.mark.parametrize(
    "arguments",
    [["chess"], ["--fast"], ["run", "chess"], ["validate"], ["compare"], ["validate", "-x"], ["import", "reference"]],
)
def test_a_wrong_command_is_told_in_one_line(arguments):
    assert told(call(*arguments)).startswith("otherminds: ") and "--help)" in call(*arguments).stderr


def test_a_run_without_minds_tells_how_the_games_went(ran, tiny_files, tmp_path):
    """Of the same games: the same outcomes, and no comparison."""
    whole, out = ran
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "log.jsonl").write_bytes((out / "log.jsonl").read_bytes())
    seats = ["--encoder", "baseline,baseline:k=4", "--decoder", "literal", "--interceptor", "baseline"]
    command = ["run", "decrypto", *seats, "--episodes", "1", "--out", str(tmp_path / "out"), *flags(tiny_files)]
    result = call(*command, "--no-minds", env={"COLUMNS": "80"})
    assert result.exit_code == 0 and "How well each mind explains" not in result.stdout

    def games(said):
        return said[said.index("Games (E encoder") : said.index("Means a game")]

    assert games(result.stdout) == games(whole.stdout)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"cube.csv", "outcomes.png", "transcripts.html"} <= written and "report.html" not in written
    assert (tmp_path / "out" / "cube.csv").read_bytes() == (out / "cube.csv").read_bytes()
    assert f"otherminds compare {tmp_path / 'out' / 'log.jsonl'}" in result.stdout
    assert "--no-minds asks none" in told(call(*command, "--no-minds", "--minds", "decoder=literal"))


def test_a_stop_at_a_limit_has_an_exit_code_of_its_own():
    for error, code in ((LimitReached("stopped at --token-limit 5"), 3), (ValueError("no"), 2)):
        with pytest.raises(calls.OneLine) as raised, calls.one_line_errors():
            raise error
        assert raised.value.exit_code == code and raised.value.message == str(error)


def test_failed_answers_end_with_exit_code_1(fake_server, tiny_files, tmp_path, monkeypatch):
    monkeypatch.setattr(run_console, "report", lambda *arguments, **options: None)
    fake_server.script = ["no"]
    seats = ["--encoder", "baseline", "--decoder", "model", "--interceptor", "baseline", "--seeds", "1"]
    model = ["--model", "vllm/fake", "--base-url", fake_server.url, "--episodes", "3", "--out", str(tmp_path)]
    result = call("run", "decrypto", *seats, *model, *flags(tiny_files))
    assert result.exit_code == 1 and "otherminds" not in result.stderr
    assert "3 of 3 games hold an answer that failed." in result.stdout


def test_ctrl_c_says_how_to_go_on(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    for room, name in (
        (run_console, "run_decrypto"),
        (run_console, "simulate_decrypto"),
        (shared_console, "compare_logs"),
    ):
        monkeypatch.setattr(room, name, interrupted)
    result = call("run", "decrypto")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "otherminds: stopped; the same command goes on where it stopped\n"
    for arguments in (["simulate", "decrypto"], ["compare", "log"]):
        result = call(*arguments)
        assert (result.exit_code, result.stderr) == (130, "otherminds: stopped\n")


def test_a_fault_is_no_wrong_call(monkeypatch):
    def faulty(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(run_console, "run_decrypto", faulty)
    assert isinstance(call("run", "decrypto").exception, ZeroDivisionError)


def test_a_reader_who_has_enough_is_no_error():
    command = [sys.executable, "-m", "otherminds.tom.cli", "validate", "--schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 1 and said == b""
    with pytest.raises(BrokenPipeError), calls.one_line_errors():
        raise BrokenPipeError


# Tables


def show(capsys, monkeypatch, columns, function, *arguments):
    """What a table looks like at so many columns; None: not in a terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    function(*arguments)
    return capsys.readouterr().out.splitlines()


NAN = math.nan
OUTCOMES = [
    Outcome(("rational:pool=100", "local/smollm2", "bayesian"), 1000, 0.5, 7.25, 0.5, 0.75, 0.25, 1.0, 0.125, 12, 0.75),
    Outcome((LONG, LONG, "baseline"), 1, 1.0, 8.0, NAN, 0.0, NAN, 0.0, NAN, 0),
]
ROWS = [
    Row("encoder", LONG, "rational:interceptor=baseline,alpha=12.5,pool=400", 1000, 3, 2, -12.345, 10.25, 999, True),
    Row("encoder", LONG, "uniform", 1000, 3, 2, -13.0, 0.0, 0),
    Row("interceptor", "local/smollm2", "bayesian:rule=softmax,speaker=contrastive", 0, 0, 4, NAN, NAN, 0),
]  # fmt: skip
NEAR = [Nearness(LONG, 1234, 56, 17.0, 0.25, 1.0), Nearness("baseline", 0, 3, NAN, NAN, NAN)]
SUMMARIES = [
    (Summary(LONG, "literal", "bayesian", 1_000_000, 0.5, 0.01, 7.25, 0.5, 0.75, 0.25, 1.0, 0.125, {}), 12345.6),
    (Summary("baseline", "literal", "bayesian", 1, 1.0, NAN, 8.0, NAN, 0.0, NAN, 0.0, NAN, {}), 0.5),
]
TABLES = [
    (console.print_outcomes, (OUTCOMES,), ["1000", "50%", "(75%)", "7.25", "± 0.50", "0.75", "1.00", "± 0.12", "12"]),
    (console.print_scores, (ROWS, 0.05, Alternatives()), ["-12.345", "10.250", "999", "–"]),
    (console.print_nearness, (NEAR,), ["1234", "56", "17", "25%", "100%", "–"]),
    (run_console.print_summaries, (SUMMARIES,), ["1,000,000", "50.0%", "± 1.0%", "7.25", "± 0.50", "12345.6"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arguments", "numbers"), TABLES, ids=["outcomes", "scores", "nearness", "summaries"]
)
def test_tables_fit_the_terminal_and_numbers_stay_whole(capsys, monkeypatch, function, arguments, numbers):
    for columns in (80, 100):
        lines = show(capsys, monkeypatch, columns, function, *arguments)
        assert max(map(cell_len, lines)) <= columns
        cells = [cell.strip() for line in lines for cell in line.split("  ")]
        assert set(numbers) <= set(cells) and not any("…" in line for line in lines)
        assert LONG in "".join("".join(line.split("  ")[0].split()) for line in lines)  # folded, but all there


@pytest.mark.parametrize(
    ("function", "arguments", "numbers"), TABLES, ids=["outcomes", "scores", "nearness", "summaries"]
)
def test_elsewhere_tables_are_as_wide_as_they_need(capsys, monkeypatch, function, arguments, numbers):
    lines = show(capsys, monkeypatch, None, function, *arguments)
    assert any(LONG in line for line in lines) and max(map(cell_len, lines)) < 200
    assert set(numbers) <= {cell.strip() for line in lines for cell in line.split("  ")}


def test_what_is_left_out_of_the_scores_is_told(capsys, monkeypatch):
    lines = show(capsys, monkeypatch, None, console.print_scores, ROWS, 0.05, Alternatives())
    assert any(f"encoder {LONG} (1000 decisions, 3 failed, 2 not scored)" in line for line in lines)
    assert any("interceptor local/smollm2 (0 decisions, 4 not scored)" in line for line in lines)


def test_what_players_are_called_is_no_markup(capsys, monkeypatch):
    row = Row("decoder", "vllm/[bold]x[/]", "baseline", 1, 0, 0, -1.0, 0.0, 0, True)
    assert any(
        "vllm/[bold]x[/]" in line
        for line in show(capsys, monkeypatch, 80, console.print_scores, [row], 0.05, Alternatives())
    )
