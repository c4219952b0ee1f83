"""Results over seeds: cells, what counts as best, specialists and generalists, and their pictures."""

import math

import numpy as np
import pytest
from scipy.stats import sem

from otherminds.tom.agents.words import Words
from otherminds.tom.experiments.cube import COLUMNS, MEASURES, Cell, Kind, cells, csv_rows, grids, kinds
from otherminds.tom.experiments.decrypto import console, plots
from otherminds.tom.experiments.error_tags import TagCount
from otherminds.tom.experiments.records import GameArrays, Games

NO_WORDS = Words.__new__(Words)  # nobody reads them here


def made(*games):
    """Games from (agents, seed, turns): lost by two miscommunications in the last turns, or survived at 8."""
    count = len(games)
    turns = np.array([length for _, _, length in games], np.int32)
    codes = np.tile(np.arange(8, dtype=np.int32), (count, 1))
    decoder = codes.copy()
    for g, length in enumerate(turns):
        if length < 8:
            decoder[g, length - 2 : length] = 20
    arrays = GameArrays(
        keywords=np.tile(np.arange(4, dtype=np.int32), (count, 1)),
        codes=codes,
        hints=np.zeros((count, 8, 3), np.int32),
        decoder_guesses=decoder,
        interceptor_guesses=np.full((count, 8), 21, np.int32),
        turns=turns,
    )
    endings = ["survived" if length == 8 else "miscommunication" for length in turns]
    names = [f"g{i}" for i in range(count)]
    tables, seeds = [agents for agents, *_ in games], [seed for _, seed, _ in games]
    return Games(
        names,
        tables,
        seeds,
        endings,
        arrays,
        NO_WORDS,
        set(),
        [],
        np.zeros((count, 8), bool),
        [None] * count,
        np.zeros((count, 3), bool),
    )


def test_games_of_a_seed_are_averaged_first():
    table = ("a", "b", "x")
    (cell,) = cells(made((table, 0, 2), (table, 0, 4), (table, 0, 6), (table, 1, 8)))
    np.testing.assert_allclose(cell.seeds["turns"], [4.0, 8.0])
    assert cell.mean("turns") == 6.0 and cell.error("turns") == pytest.approx(sem([4.0, 8.0]))
    np.testing.assert_allclose(cell.seeds["miscommunications"], [2.0, 0.0])
    assert cell.mean("interceptions") == cell.error("interceptions") == 0.0 and cell.games == 4


def test_best_is_what_overlaps_the_best_against_the_same_interceptor():
    lengths = {("a", "a", "x"): (7, 8), ("a", "b", "x"): (6, 8), ("b", "b", "x"): (3, 3), ("b", "b", "y"): (2, 3)}
    games = made(*((table, seed, length) for table, both in lengths.items() for seed, length in enumerate(both)))
    best = {cell.agents: cell.best for cell in cells(games)}
    assert "turns" in best["a", "a", "x"] and "turns" in best["a", "b", "x"] and "turns" not in best["b", "b", "x"]
    assert "turns" in best["b", "b", "y"]  # alone against this interceptor
    assert all("interceptions" in found for found in best.values())  # none anywhere
    assert "miscommunications" in best["b", "b", "x"]  # 2 ± 0 touches 1 ± 1


def test_with_one_seed_nothing_is_claimed():
    found = cells(made((("a", "a", "x"), 0, 8), (("a", "b", "x"), 0, 4)))
    assert all(math.isnan(cell.error("turns")) and not cell.best for cell in found)
    assert {kind.kind for kind in kinds(made((("a", "a", "x"), 0, 8), (("a", "b", "x"), 0, 4)))} == {"unknown"}


def test_specialists_play_better_with_themselves():
    def kinds_of(alone, crossed):
        games = [(("a", "a", "x"), seed, turns) for seed, turns in enumerate(alone)]
        games += [
            (team, seed, turns) for seed, turns in enumerate(crossed) for team in (("a", "b", "x"), ("b", "a", "x"))
        ]
        return {kind.agent: kind for kind in kinds(made(*games))}

    found = kinds_of((8, 7, 8), (3, 4, 4))
    assert found["a"].kind == "specialist" and found["a"].gap == pytest.approx(4.0)
    assert found["a"].error == pytest.approx(sem([5, 3, 4]))
    assert (found["a"].with_itself, found["a"].with_others) == (pytest.approx(23 / 3), pytest.approx(11 / 3))
    assert found["b"].kind == "unknown" and math.isnan(found["b"].gap)  # never with itself
    assert kinds_of((4, 6), (4, 4))["a"].kind == "undecided"  # a gap of 1 that is its error, 1
    assert kinds_of((8, 3, 5), (3, 8, 5))["a"].kind == "undecided"  # no gap, but an error of 2.9 turns
    assert kinds_of((5, 4, 5), (5, 5, 4))["a"].kind == "generalist"  # a gap of 0 with an error of .6
    assert kinds_of((3, 4, 3), (8, 8, 8))["a"].kind == "generalist"  # better with others


def test_only_interceptors_that_both_met_are_compared():
    games = [(("a", "a", "x"), seed, 8) for seed in (0, 1)] + [(("a", "b", "y"), seed, 2) for seed in (0, 1)]
    assert kinds(made(*games))[0].kind == "unknown"


def test_unfinished_games_are_left_out():
    games = made((("a", "a", "x"), 0, 8), (("a", "b", "x"), 0, 4))
    games.endings[1] = None
    assert [cell.agents for cell in cells(games)] == [("a", "a", "x")]


def cell(*agents, seeds=3):
    random = np.random.default_rng(len("".join(agents)))
    return Cell(
        agents, 6, {m: random.uniform(0, 2, seeds) + 3 * (m == "turns") for m in MEASURES}, frozenset({"turns"})
    )


def test_grids_are_by_interceptor_or_by_team():
    by_interceptor = grids([cell(e, d, i) for e in "ab" for d in "cd" for i in "xy"])
    assert [(grid.rows, grid.columns) for grid in by_interceptor] == [(["a", "b"], ["c", "d"])] * 2
    assert [grid.title.split()[-1] for grid in by_interceptor] == ["x", "y"]
    (teams,) = grids([cell(t, t, i) for t in "ab" for i in "xyz"] + [cell("c", "d", "x")])
    assert (teams.rows, teams.columns) == (["a", "b", "c + d"], ["x", "y", "z"])
    assert teams.cells[2][1] is None and teams.cells[0][2].agents == ("a", "a", "z")
    assert not grids([cell("a", "c", "x"), cell("b", "c", "x"), cell("a", "d", "x"), cell("a", "c", "y")][:1])
    one_at_a_time = [
        cell("a", "d", "x"),
        cell("b", "d", "x"),
        cell("c", "d", "x"),
        cell("a", "e", "x"),
        cell("a", "f", "x"),
    ]
    (sparse,) = grids(one_at_a_time)
    assert sum(found is None for row in sparse.cells for found in row) == 4


def test_the_csv_holds_every_number():
    (row,) = csv_rows([cell("a", "b", "x")])
    values = dict(zip(COLUMNS, row, strict=True))
    assert values["encoder"] == "a" and values["seeds"] == 3 and values["turns_among_best"] is True
    assert values["interceptions"] == cell("a", "b", "x").mean("interceptions")
    assert values["miscommunications_error"] == cell("a", "b", "x").error("miscommunications")


@pytest.mark.parametrize("agents, seeds", [(2, 3), (6, 1), (25, 2)])
def test_the_picture(tmp_path, agents, seeds):
    names = [f"openrouter/a-long-name/<b>${i}:system={i}" for i in range(agents)]
    drawn = grids([cell(e, d, "x", seeds=seeds) for e in names for d in names[:-1]][: agents * agents - 2])
    plots.cube_heat_maps(drawn if drawn else grids([cell(e, e, i) for e in names for i in names]), tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 10_000


def test_nothing_to_draw(tmp_path):
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.cube_heat_maps([], tmp_path / "c.png")


LONG = "openrouter/meta-llama/llama-3.1-405b-instruct-with-a-very-long-name:free:system=2,role=3,context=chat"


def test_the_tables_fit_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    console.print_kinds([Kind(LONG, "specialist", 7.25, 4.5, 2.75, 0.5), Kind("b", "unknown", *[math.nan] * 4)])
    counts = {"no answer": 12, "hints in keyword order": 0}
    console.print_tags([TagCount("encoder", LONG, 1000, counts), TagCount("decoder", "b", 5, {"used code": 0})])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    cells_shown = {cell.strip() for line in lines for cell in line.split("  ")}
    assert {"specialist", "7.25", "4.50", "2.75", "± 0.50", "1000", "12"} <= cells_shown
    assert "hints in keyword order" not in cells_shown and "b" not in cells_shown


def test_no_table_where_nothing_is_known(capsys):
    console.print_kinds([Kind("b", "unknown", *[math.nan] * 4)])
    console.print_tags([TagCount("decoder", "b", 5, {"used code": 0})])
    assert capsys.readouterr().out == ""
