"""Runs of negotiations: what is written, what a kill loses, what is refused before anything starts."""

import asyncio
import json
import re

import jax
import numpy as np
import pytest
from click.testing import CliRunner

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.games.colored_trails.rules import colored_trails
from otherminds.games.colored_trails.utility import deal
from otherminds.games.rollout import game_key, rollout
from otherminds.tom import cli
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.colored_trails.boards import load_boards, save_boards
from otherminds.tom.experiments.colored_trails.config import agents_of, validated
from otherminds.tom.experiments.colored_trails.console_run import heading
from otherminds.tom.experiments.colored_trails.diagnostic import found_boards
from otherminds.tom.experiments.colored_trails.panel import made_for, planned_games, second_copy
from otherminds.tom.experiments.colored_trails.records import board_of, chips_text
from otherminds.tom.experiments.colored_trails.run import run
from otherminds.tom.experiments.config import ConfigError
from otherminds.tom.experiments.running import UNANSWERED
from otherminds.tom.experiments.validate import validate_log
from otherminds.tom.llm.client import GenerationSettings, ModelError
from otherminds.tom.minds.colored_trails.registry import named_negotiator

MODEL, MIND = "vllm/fake", "order0"
PATIENT = GenerationSettings(max_retries=0, timeout=10.0)
MOVES = 6
SETTING = "otherminds.tom.experiments.colored_trails.config.local_model_installed"


def pool_of(request):
    """All chips, as the model reads of them."""
    return [int(n) for n in re.search(r"All chips together: \[([^]]*)\]", user(request))[1].split(",")]


def user(request):
    return request["messages"][-1]["content"]


def greedy(request):
    """Asks for all chips, then for all but one; from the fifth move on it withdraws."""
    number = int(re.search(r"It is your turn: move (\d+)", user(request))[1])
    offer = pool_of(request)
    if number > 2:
        offer[offer.index(max(offer))] -= 1
    action = "propose" if number <= 4 else "withdraw"
    return json.dumps({"action": action, "offer": offer, "message": f"move {number}"})


@pytest.fixture
def server(fake_server):
    fake_server.script = [greedy]
    return fake_server


def config_of(server, **changes):
    settings = {
        "agents": (MODEL, MIND),
        "ordinary": 2,
        "limit": MOVES,
        "base_url": server.url,
        "generation": PATIENT,
    }
    return validated(**(settings | changes))


def negotiate(config, path, **options):
    return asyncio.run(run(config, path, **options))


def canonical(path):
    return journal.canonical(journal.read(path))


def lines_of(path, kind):
    return [line for line in journal.read(path) if isinstance(line, kind)]


# What is planned


def test_the_panel_is_as_its_seed_says(server, tmp_path):
    config = config_of(server, ordinary=3, seeds=(0, 4), deception="both")
    games = planned_games(config)
    assert [game.game_id for game in games] == [game.game_id for game in planned_games(config)]
    assert len(games) == 2 * 3 * 2 and [game.episode for game in games] == [*range(6), *range(6)]
    for one, other in zip(games[:3], games[3:6], strict=True):  # as many games apart as there are boards
        assert one.name == other.name and (one.copy, other.copy) == (1, 2)
        assert one.agents == other.agents and one.deception != other.deception
        assert not np.array_equal(one.board.tiles, other.board.tiles)
    assert [game.agents[0] for game in games[:3]] == [MODEL, MIND, MODEL]
    assert [game.deception for game in games[:3]] == [True, True, False]
    assert not np.array_equal(games[0].board.tiles, games[6].board.tiles)  # every seed has its own boards
    silent = planned_games(config_of(server, ordinary=3))
    assert [game.agents[0] for game in silent] == [MODEL, MIND, MODEL, MIND, MODEL, MIND]
    assert not any(game.deception for game in silent)
    fixed = planned_games(config_of(server, seats="fixed", copies=1, deception="on"))
    assert all(game.agents == (MODEL, MIND) and game.deception and game.copy == 1 for game in fixed)


def test_a_second_copy_is_the_same_game():
    layout, dealt = Layout(), jax.jit(deal, static_argnums=0)
    board = planned_games(validated(agents=(MIND, MIND), ordinary=1, copies=1))[0].board
    for number in range(3):
        copy = second_copy(jax.random.key(number), layout, board)
        one, other = dealt(layout, board), dealt(layout, copy)
        assert np.array_equal(np.sort(board.chips), np.sort(copy.chips))
        for player in range(2):  # what each player can get, whatever the colours are called
            values = [np.sort(np.asarray(found.utility)[int(found.board.goals[player])]) for found in (one, other)]
            assert np.allclose(*values)
            own = [np.asarray(f.utility)[int(f.board.goals[player]), int(f.offers.own[player])] for f in (one, other)]
            assert own[0] == own[1]


@pytest.fixture
def boards_file(tmp_path):
    """Four boards that say of themselves that an order above another is worth 20 points on them."""
    games = planned_games(validated(agents=(MIND, MIND), ordinary=4, copies=1, seeds=(9,)))
    boards = Board(*(np.stack(parts) for parts in zip(*(game.board for game in games), strict=True)))
    save_boards(tmp_path / "made.json", boards, {"threshold": 20.0, "high": 2, "low": 1, "goals": "llm-tom"})
    return str(tmp_path / "made.json")


def test_boards_of_files_are_drawn_from_them(server, boards_file):
    config = config_of(server, boards=boards_file, diagnostic=boards_file, diagnostic_count=3, advantage_threshold=20)
    games = planned_games(config)
    assert [sum(game.kind == kind for game in games) for kind in ("ordinary", "diagnostic")] == [4, 6]
    assert all(game.name.startswith("made.json, board ") for game in games)
    assert len({game.name for game in games if game.kind == "diagnostic"}) == 3
    assert made_for(config) == "order 2 over order 1, at least 20 points" and made_for(config_of(server)) is None
    every = planned_games(config_of(server, diagnostic=boards_file, ordinary=0, copies=1))
    assert sorted(game.name for game in every) == [f"made.json, board {n}" for n in range(4)]
    with pytest.raises(ValueError, match=r"was made with threshold 20\.0 points, not 30"):
        planned_games(config_of(server, diagnostic=boards_file, advantage_threshold=30))
    with pytest.raises(ConfigError, match="has 4 boards, and 5 ordinary ones are wanted"):
        planned_games(config_of(server, boards=boards_file, ordinary=5))


SEARCH = {"high": 1, "low": 0, "limit": 4}


@pytest.mark.slow
def test_diagnostic_boards_are_searched_for(server, tmp_path):
    """Without a file: those of `otherminds boards colored-trails` with the seed of the run."""
    found = []
    config = config_of(server, ordinary=1, diagnostic_count=2, advantage_threshold=20, search=SEARCH, copies=1)
    games = planned_games(config, found.append)
    assert sum(found) == 2 and made_for(config) == "order 1 over order 0, at least 20 points"
    boards = {game.name: game.board for game in games if game.kind == "diagnostic"}
    assert sorted(boards) == ["seed 0, diagnostic board 0", "seed 0, diagnostic board 1"] and len(games) == 3
    asked = ["--high", "1", "--low", "0", "--limit", "4", "--count", "2", "--out", str(tmp_path / "made.json")]
    result = CliRunner().invoke(cli.main, ["boards", "colored-trails", *asked])
    assert result.exit_code == 0, result.output
    made = load_boards(tmp_path / "made.json", threshold=20, high=1, low=0).boards
    for name, board in boards.items():
        n = int(name.split()[-1])
        assert all(np.array_equal(part[n], own) for part, own in zip(made, board, strict=True))
    with pytest.raises(ValueError, match="0 boards of 128 tried give order 1 at least 500 points over order 0"):
        found_boards(2, 500, 1, 0, limit=4, most=1)


def test_boards_of_another_layout_are_played(server, tmp_path):
    sizes = {"rows": 3, "columns": 3, "colours": 3, "chips": 2, "goal_distance": 2}
    path = tmp_path / "log.jsonl"
    config = config_of(server, ordinary=1, **sizes)
    assert negotiate(config, path).failed_games == 0 and "2 of 2 games over" in validate_log(path)
    for begun in lines_of(path, journal.GameBegun):
        rules, board = board_of(begun.deal)
        assert board.tiles.shape == (3, 3) and board.chips.sum() == 4
        assert rules.layout.goals == config.rules.layout.goals == ((0, 0), (0, 2), (2, 0), (2, 2))
    assert "layout     3 x 3 tiles, 3 colours, 2 chips a player, 4 goals" in "\n".join(
        heading(config, planned_games(config), 0)
    )


# What is written


def test_a_run_is_written_whole(server, tmp_path):
    path, games, made, coming = tmp_path / "deep" / "log.jsonl", [], [], []
    config = config_of(server, deception="both")
    finished = negotiate(config, path, on_start=coming.append, on_game=games.append, on_decision=lambda: made.append(1))
    assert (finished.games, finished.failed_games, finished.resumed_decisions) == (4, 0, 0)
    assert "4 of 4 games over" in validate_log(path) and "0 failed answers; complete" in validate_log(path)
    planned = {game.game_id: game for game in planned_games(config)}
    assert {game.game_id for game in games} == set(planned) and coming == [4 * MOVES // 2]
    for begun in lines_of(path, journal.GameBegun):
        game = planned[begun.game_id]
        assert begun.agents == dict(zip(("initiator", "responder"), game.agents, strict=True))
        assert begun.deal["condition"] == game.condition and begun.deal["board"] == game.name
        assert all(np.array_equal(one, two) for one, two in zip(board_of(begun.deal)[1], game.board, strict=True))
    decisions = lines_of(path, journal.Decision)
    assert len(decisions) == len(made) and {line.agent for line in decisions} == {MODEL, MIND}
    for line in decisions:
        game = planned[line.game_id]
        if line.agent == MODEL:
            assert line.message == f"move {line.turn + 1}" and line.usage["requests"] == 1 and not line.observation
            if line.turn < 2:
                assert line.action == chips_text(game.board.chips.sum(0).tolist())
        else:
            assert line.message is None and abs(line.log_probability) < 1e-6
    requests = server.requests
    assert len(requests) == sum(line.agent == MODEL for line in decisions)
    assert len({request["seed"] for request in requests}) == len(requests)
    told = sum("You may deceive" in request["messages"][0]["content"] for request in requests)
    assert 0 < told < len(requests)
    schema = requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["action"]["enum"][0] == "propose"


def test_models_read_what_the_other_wrote(server, tmp_path):
    config = config_of(server, agents=(MODEL, "vllm/other"), ordinary=1, copies=1, reasons=True)
    server.models["data"].append(server.models["data"][0] | {"id": "other"})
    server.script = [
        lambda request: json.dumps(json.loads(greedy(request)) | {"reasoning": f"I am {request['model']}"})
    ]
    negotiate(config, tmp_path / "log.jsonl")
    last = server.requests[-1]
    assert last["model"] == "fake" and 'wrote "move 4"' in user(last) and "I am" not in user(last)
    lines = lines_of(tmp_path / "log.jsonl", journal.Decision)
    assert [line.message for line in lines] == [f"move {n}" for n in range(1, 6)]
    assert [line.reasoning for line in lines[:2]] == ["I am fake", "I am other"]
    over = lines_of(tmp_path / "log.jsonl", journal.GameOver)[0]
    assert (over.ending, over.turns, over.failed_answers) == ("withdrawn", 5, 0)
    server.requests.clear()
    negotiate(config_of(server, agents=(MODEL, MODEL), ordinary=1, copies=1, messages=False), tmp_path / "other.jsonl")
    assert not any("wrote" in user(request) for request in server.requests)
    assert all(line.message is None for line in lines_of(tmp_path / "other.jsonl", journal.Decision))


BAD = {
    "no JSON": ("hm", "no JSON object"),
    "chips that nobody has": ('{"action": "propose", "offer": [9, 0, 0, 0, 0]}', "both players together hold"),
    "of other colours": ('{"action": "propose", "offer": [1, 0]}', "has 2 numbers"),
    "nothing to accept": ('{"action": "accept"}', "no offer on the table"),
    "no such move": ('{"action": "steal"}', '"action"'),
}


def test_failed_answers_withdraw_stay_in_the_log_and_count(server, tmp_path):
    config = config_of(server, ordinary=1, copies=1, seats="fixed", max_attempts=len(BAD))
    server.script = [answer for answer, _ in BAD.values()]
    path = tmp_path / "log.jsonl"
    finished = negotiate(config, path)
    (line,) = lines_of(path, journal.Decision)
    assert line.action is None and line.message is None
    for attempt, (answer, error) in zip(line.attempts, BAD.values(), strict=True):
        assert attempt.text == answer and error in attempt.error
    for request, (_, error) in zip(server.requests[1:], BAD.values(), strict=False):
        assert error in user(request)  # what was wrong is told
    (over,) = lines_of(path, journal.GameOver)
    assert (over.ending, over.failed_answers) == ("withdrawn", 1) and (finished.games, finished.failed_games) == (1, 1)
    assert "1 failed answers" in validate_log(path)
    calls = len(server.requests)
    assert negotiate(config, path).resumed_decisions == 1 and len(server.requests) == calls


def test_a_second_answer_may_be_good(server, tmp_path):
    server.script = ["hm", '{"action": "withdraw"}']
    path = tmp_path / "log.jsonl"
    finished = negotiate(config_of(server, ordinary=1, copies=1, seats="fixed"), path)
    (line,) = lines_of(path, journal.Decision)
    begun = lines_of(path, journal.GameBegun)[0]
    assert line.action == chips_text(begun.deal["chips"][0]) and len(line.attempts) == 2 and finished.failed_games == 0


@pytest.fixture(scope="module")
def uninterrupted():
    """The log of a run, made by the first test that needs it."""
    return {}


def whole_log(uninterrupted, server, tmp_path):
    """The lines of an uninterrupted run, and what a resumed one must equal."""
    if not uninterrupted:
        negotiate(config_of(server), tmp_path / "whole.jsonl")
        uninterrupted["lines"] = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
        server.requests.clear()
    begun = json.loads(uninterrupted["lines"][0])
    begun["config"]["base_url"] = server.url  # a new port for every test
    lines = [json.dumps(begun).encode() + b"\n", *uninterrupted["lines"][1:]]
    (tmp_path / "whole.jsonl").write_bytes(b"".join(lines))
    return lines, canonical(tmp_path / "whole.jsonl")


def test_a_run_killed_anywhere_goes_on_to_the_same_log(uninterrupted, server, tmp_path):
    lines, expected = whole_log(uninterrupted, server, tmp_path)
    config, path = config_of(server), tmp_path / "log.jsonl"
    for count in range(len(lines) + 1):
        half = lines[count][: 1 + 17 * count % (len(lines[count]) - 1)] if count < len(lines) and count % 2 else b""
        path.write_bytes(b"".join(lines[:count]) + half)  # also in the middle of a line
        server.requests.clear()
        missing = [json.loads(line) for line in lines[count:] if json.loads(line)["event"] == "decision"]
        negotiate(config, path)
        assert canonical(path) == expected and path.read_bytes().startswith(b"".join(lines[:count]))
        assert len(server.requests) == sum(line["agent"] == MODEL for line in missing)


def test_a_model_that_goes_stops_the_run_and_is_asked_again(uninterrupted, server, tmp_path):
    _, expected = whole_log(uninterrupted, server, tmp_path)
    config, path = config_of(server), tmp_path / "log.jsonl"
    server.script = [greedy, (500, b"down")]
    with pytest.raises(ModelError, match=f"no answer to {UNANSWERED} calls in a row.*the same command goes on with it"):
        negotiate(config, path)
    made = [line for line in lines_of(path, journal.Decision) if line.agent == MODEL]
    assert len(made) == 1 and "not finished" in validate_log(path)
    server.script = [greedy]
    negotiate(config, path)
    assert canonical(path) == expected


def test_the_log_of_another_run_is_left_as_it_is(uninterrupted, server, tmp_path):
    lines, _ = whole_log(uninterrupted, server, tmp_path)
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0])
    for change in ({"limit": 4}, {"ordinary": 3}, {"deception": "on"}, {"messages": False}, {"max_attempts": 1}):
        ((name, value),) = change.items()
        told = rf"the log of another run \(.*{name} .+ there, {json.dumps(value)} here"
        with pytest.raises(ConfigError, match=told):
            negotiate(config_of(server, **change), path)
    dealt = json.loads(lines[1])
    dealt["deal"]["goals"] = dealt["deal"]["goals"][::-1]
    path.write_bytes(lines[0] + json.dumps(dealt).encode() + b"\n")
    with pytest.raises(journal.JournalError, match="was dealt other boards or conditions than here"):
        negotiate(config_of(server), path)


def test_minds_play_the_games_of_the_jitted_rollout(tmp_path):
    agents = ("order0:beta=0.5", "order0:beta=0.2,lapse=0.3")
    config = validated(agents=agents, seats="fixed", ordinary=2, copies=1, limit=MOVES, seeds=(3,))
    path, rules = tmp_path / "log.jsonl", config.rules
    negotiate(config, path)
    named = [named_negotiator(agent, rules) for agent in agents]

    @jax.jit
    def replay(board, key):
        game = colored_trails(rules, lambda _: deal(rules.layout, board))
        return rollout(game, tuple(one.mind for one in named), tuple(one.params for one in named), key)[0]

    for planned in planned_games(config):
        lines = [line for line in lines_of(path, journal.Decision) if line.game_id == planned.game_id]
        state = replay(planned.board, game_key(jax.random.key(planned.seed), planned.episode))
        held = np.asarray(state.deal.offers.chips)
        moves = [chips_text(held[code].tolist()) for code in np.asarray(state.kept)[: int(state.turn)]]
        assert moves == [line.action for line in lines] and all(line.log_probability <= 1e-6 for line in lines)


# What is refused


SETTINGS = {
    "text for a number": ({"ordinary": "3"}, "ordinary='3': input should be a valid integer"),
    "true for a number": ({"ordinary": True}, "ordinary=True: input should be a valid integer"),
    "a fraction": ({"limit": 1.5}, "limit=1.5: input should be a valid integer"),
    "a number for true": ({"messages": 1}, "messages=1: input should be a valid boolean"),
    "text for true": ({"advice": "true"}, "advice='true': input should be a valid boolean"),
    "text for points": ({"cost": "0.1"}, "cost='0.1': input should be a valid number"),
    "no points": ({"cost": float("nan")}, "cost=nan: input should be a finite number"),
    "fewer than none": ({"ordinary": -1}, "ordinary=-1: input should be greater than or equal to 0"),
    "none of a file": ({"diagnostic": "x", "diagnostic_count": 0}, "diagnostic_count=0: input should be greater"),
    "a list": ({"deception": ["on"]}, r"deception=['on']: input should be 'off', 'on' or 'both'"),
    "a list of numbers": ({"copies": [2]}, "copies=[2]: input should be a valid integer"),
    "true for copies": ({"copies": True}, "copies=True: input should be a valid integer"),
    "a path that is none": ({"diagnostic": 3}, "diagnostic=3: input should be a valid string"),
    "one agent": ({"agents": [MIND]}, "agents=['order0']: too few"),
    "a number for an agent": ({"agents": [MIND, 1]}, "agents.1=1: input should be a valid string"),
    "a text for agents": ({"agents": MIND}, "agents='order0': input should be a valid tuple"),
    "one seed": ({"seeds": 0}, "seeds=0: input should be a valid tuple"),
    "seeds as text": ({"seeds": ["0"]}, "seeds.0='0': input should be a valid integer"),
    "a seed twice": ({"seeds": [1, 1]}, "seeds=[1, 1]: each seed once"),
    "a negative seed": ({"seeds": [-1]}, "seeds.0=-1"),
    "unknown": ({"ordinry": 3}, "ordinry=3: there is no such setting; there are agents, seats, ordinary"),
    "temperature as text": ({"generation": {"temperature": "1"}}, "generation.temperature='1': input should be"),
    "too hot": ({"generation": {"temperature": 9}}, "temperature=9.0 must be from 0 to 2"),
    "layout": ({"rows": 3, "columns": 3}, "goal_distance=3: no cell of a 3 x 3 board"),
    "layout, type": ({"rows": 5.0}, "rows=5.0: input should be a valid integer"),
    "too many chips": ({"chips": 13, "colours": 2}, "chips=13: 26 chips are dealt from the colours of 24 tiles"),
    "no middle": ({"rows": 6}, "copies=2 with rows=6, columns=5: the second copy of a board is mirrored"),
    "count alone": ({"diagnostic_count": 5}, "diagnostic_count=5: name a file of boards as diagnostic, or say with"),
    "threshold alone": ({"advantage_threshold": 20}, "advantage_threshold=20: there is no file of diagnostic boards"),
    "search of nothing": ({"search": {"high": 3}}, "search: say with diagnostic_count and advantage_threshold"),
    "search with a file": ({"diagnostic": "x", "search": {"high": 3}}, "search with diagnostic=x"),
    "search, order": ({"search": {"high": 1, "low": 1}}, "search: high=1, low=1"),
    "search, type": ({"search": {"high": "2"}}, "search.high='2': input should be a valid integer"),
    "search, unknown": ({"search": {"hi": 2}}, "search.hi=2: extra inputs are not permitted"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_cannot_be_are_told_in_one_line(case):
    settings, message = SETTINGS[case]
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        validated(**({"agents": [MIND, MIND]} | settings))
    assert "\n" not in str(refused.value)
    with pytest.raises(ConfigError, match="agents: it is missing"):
        validated()


def test_the_settings_of_a_log_are_those_of_the_run():
    settings = {"diagnostic_count": 5, "advantage_threshold": 20, "search": SEARCH, "seeds": [3, 4]}
    config = validated(agents=[MIND, "vllm/x"], generation={"temperature": 0.5}, deception="both", **settings)
    assert validated(**json.loads(json.dumps(config.model_dump(mode="json")))) == config
    assert config.search.high == 1 and config.generation.temperature == 0.5 and config.searches


def test_agents_by_default(monkeypatch):
    monkeypatch.setattr(SETTING, lambda: False)
    assert agents_of(None, None, None, None)[0] == ("order0", "order1")
    assert "--extra local" in agents_of(None, None, None, None)[2]
    monkeypatch.setattr(SETTING, lambda: True)
    assert agents_of(None, None, None, None) == (("local/smollm2", "order1"), "alternate", None)
    assert agents_of("order1:confidence=0.5,beta=2,order2", None, None, None) == (
        ("order1:confidence=0.5,beta=2", "order2"),
        "alternate",
        None,
    )
    assert agents_of(None, None, "order2", "openai/x") == (("openai/x", "order2"), "fixed", None)
    assert agents_of(None, "openai/x", None, None) == (("openai/x", "order1"), "fixed", None)


WRONG = {
    "unknown agent": (["--agents", "order1,oracle"], "agent 'oracle': neither a mind (order0"),
    "unknown order": (["--agents", "order1,order9"], "agent 'order9': neither a mind"),
    "unknown option": (["--agents", "order1:hazard=1,order0"], "no option 'hazard'"),
    "three agents": (["--agents", "order0,order1,order2"], "name two agents"),
    "seats twice": (["--agents", "order0,order1", "--initiator", "order2"], "leave out --initiator"),
    "two initiators": (["--initiator", "order0,order1"], "name one agent"),
    "no model": (["--initiator", "model"], "`model` stands for a language model"),
    "model without a seat": (["--agents", "order0,order1", "--model", "vllm/x"], "write `model` for the seat"),
    "model without provider": (["--model", "x"], "--model 'x': write provider/name"),
    "unknown provider": (["--model", "nobody/x"], "provider 'nobody'"),
    "no model at the server": (["--base-url", "http://127.0.0.1:1/v1"], "say with --model"),
    "unreachable server": (["--model", "vllm/x", "--base-url", "http://127.0.0.1:1/v1"], "no server answers"),
    "no boards": (["--ordinary", "0"], "there is nothing to play"),
    "no such file": (["--boards", "none.json"], "none.json: cannot be read"),
    "threshold of nothing": (["--advantage-threshold", "20"], "there is no file of diagnostic boards"),
    "count of nothing": (["--diagnostic-count", "5"], "name a file of boards as diagnostic, or say with"),
    "layout": (["--rows", "3", "--columns", "3"], "goal_distance=3: no cell of a 3 x 3 board"),
    "no middle": (["--columns", "6"], "copies=2 with rows=5, columns=6"),
    "threshold unsaid": (["--diagnostic", "BOARDS", "--advantage-threshold", "20"], "does not say its threshold"),
    "deceiving nobody": (["--deception", "on"], "none sits at the table"),
    "both in one copy": (["--model", "vllm/x", "--deception", "both", "--copies", "1"], "take copies=2"),
    "cost": (["--cost", "-1"], "cost=-1"),
    "limit": (["--limit", "0"], "limit=0"),
    "seeds": (["--seeds", "0"], "--seeds 0"),
    "attempts": (["--max-attempts", "0"], "'--max-attempts': 0 is not"),
    "too hot": (["--model", "vllm/x", "--temperature", "9"], "--temperature 9.0: must be from 0 to 2"),
    "lapse": (["--lapse", "0"], "--lapse 0"),
    "out is a file": (["--out", "FILE"], "FILE is a file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_in_one_line_before_anything_starts(tmp_path, monkeypatch, case):
    asked, message = WRONG[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SETTING, lambda: False)
    (tmp_path / "FILE").write_text("")
    entry = {
        "board": [[1, 2, 3, 4, 0]] * 2 + [[1, 2, 0, 4, 3]] + [[1, 2, 3, 4, 0]] * 2,
        "chips1": [0, 2, 1, 1, 0],
        "chips2": [1, 0, 1, 1, 1],
        "location1": 1,
        "location2": 0,
    }
    (tmp_path / "BOARDS").write_text(json.dumps({"boards": [entry]}))
    result = CliRunner().invoke(cli.main, ["run", "colored-trails", *asked])
    assert result.exit_code == 2, result.output
    assert message in result.stderr and result.stderr.count("\n") == 1 and result.stderr.startswith("otherminds: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["BOARDS", "FILE"]


def test_the_command_tells_what_comes_plays_and_compares(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compared = []
    monkeypatch.setattr(
        "otherminds.tom.experiments.colored_trails.console_run.report",
        lambda logs, folder, **options: compared.append((logs, folder, options)),
    )
    server.script = ["hm"]
    call = ["run", "colored-trails", "--agents", f"model,{MIND}", "--model", MODEL, "--base-url", server.url]
    call += ["--ordinary", "1", f"--limit={MOVES}"]
    result = CliRunner().invoke(cli.main, [*call, "--out", "here", "--deception", "both"])
    assert result.exit_code == 1, result.output
    assert "Colored Trails: 2 negotiations" in result.stdout and "1 ordinary, each twice" in result.stdout
    assert f"at most {MOVES} moves of language models, up to 2 answers each" in result.stdout
    assert "2 of 2 games hold an answer that failed." in result.stdout
    assert [path.name for path in compared[0][0]] == ["log.jsonl"] and compared[0][2]["lapse"] == 0.05
    again = CliRunner().invoke(cli.main, [*call, "--out", "here", "--deception", "both"])
    assert "this run was complete, and nothing was played" in again.stdout and "calls      none" in again.stdout
