"""Files of boards: what is kept, and what is refused."""

import copy
import json

import numpy as np
import pytest

from otherminds.games.colored_trails.board import Board, Layout
from otherminds.tom.experiments.colored_trails.boards import load_boards, save_boards

ENTRY = {
    "board": [[4, 1, 4, 1, 0], [0, 1, 3, 4, 2], [2, 1, 0, 4, 0], [4, 3, 2, 2, 3], [0, 3, 4, 3, 3]],
    "chips1": [0, 0, 0, 2, 2],
    "chips2": [2, 2, 0, 0, 0],
    "location1": 1,
    "location2": 0,
}
FAR = {"board": [[1] * 5, [1] * 5, *ENTRY["board"][2:]], "chips1": [0, 4, 0, 0, 0], "chips2": [0, 4, 0, 0, 0],
       "location1": 7}  # fmt: skip
MADE = {"generator": "diagnostic", "variant": "described", "high": 2, "low": 1, "learning_speed": 0.8,
        "threshold": 20.0, "goals": "llm-tom", "seed": 3}  # fmt: skip


def written(path, entries=(ENTRY,), metadata=None):
    path.write_text(json.dumps({"metadata": metadata or {}, "boards": list(entries)}))
    return path


def board(entry=ENTRY):
    return Board(
        np.array([entry["board"]], np.int32),
        np.array([[entry["chips1"], entry["chips2"]]], np.int32),
        np.array([[entry["location1"], entry["location2"]]], np.int32),
    )


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "boards.json"
    save_boards(path, board(), {**MADE, "tried": 400})
    found = load_boards(path, threshold=20, high=2, low=1, variant="described", learning_speed=0.8, seed=None)
    assert all((a == b).all() and a.dtype == np.int32 for a, b in zip(found.boards, board(), strict=True))
    assert found.layout == Layout()
    assert {**MADE, "tried": 400, "count": 1, "units": "points"}.items() <= found.provenance.items()
    assert "version" in found.provenance


def test_another_layout_is_kept(tmp_path):
    layout = Layout(rows=3, columns=4, colours=3, chips=2, goals=((0, 0), (2, 3)))
    tiles = np.array([[[0, 1, 2, 0], [1, 2, 0, 1], [0, 1, 2, 2]]], np.int32)
    chips = np.array([[[1, 1, 0], [0, 1, 1]]], np.int32)
    boards = Board(tiles, chips, np.array([[0, 1]], np.int32))
    path = tmp_path / "boards.json"
    save_boards(path, boards, {}, layout)
    assert load_boards(path).layout == layout and load_boards(path, layout).layout == layout
    with pytest.raises(ValueError, match=r"its boards have rows=3, columns=4.*, not rows=5, columns=5"):
        load_boards(path, Layout())


def test_recorded_files(shared):
    folder = shared / "data/colored_trails"
    ordinary = load_boards(folder / "boards_50.json")
    assert ordinary.boards.tiles.shape == (50, 5, 5) and ordinary.provenance["count"] == 50
    assert ordinary.boards.goals[0].tolist() == [1, 0]
    diagnostic = load_boards(folder / "1-2-200.json", threshold=20, high=2, low=1, seed=6)
    assert diagnostic.boards.chips.shape == (5, 2, 5) and diagnostic.provenance["threshold"] == 20
    with pytest.raises(ValueError, match=r"1-2-200.json: was made with threshold 20.0 points, not 200"):
        load_boards(folder / "1-2-200.json", threshold=200)


def test_a_file_must_say_what_is_asked(tmp_path):
    legacy = written(tmp_path / "1-2-100.json", metadata={"threshold": 1.0, "tom_high": 2, "tom_low": 1})
    with pytest.raises(ValueError, match=r"1-2-100.json: was made with threshold 0.1 points, not 10: .*or make boards"):
        load_boards(legacy, threshold=10)
    silent = written(tmp_path / "silent.json")
    load_boards(silent, threshold=None)
    with pytest.raises(ValueError, match=r"silent.json: does not say its threshold, so that 20 cannot be checked"):
        load_boards(silent, threshold=20)
    with pytest.raises(ValueError, match=r"tresh=20: of a boards file can be asked generator"):
        load_boards(silent, tresh=20)
    for metadata, message in [
        ({"units": "cents"}, "units='cents'"),
        ({"threshold": "high"}, "threshold='high' is no number"),
        ({"count": 3}, "says that it holds 3 boards, but there are 1"),
        ({"layout": {"rows": 5}}, "its layout makes no game"),
        ({"layout": {"start": [9, 9], "goals": [[0, 0]]}}, "its layout makes no game: start"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_boards(written(tmp_path / "odd.json", metadata=metadata))


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"board": ENTRY["board"][:4]},
            r"board 1: board=.*\.\.\. is not of the layout's size, \(5, 5\) rows and columns",
        ),
        ({"board": [*ENTRY["board"][:4], [0, 3]]}, "board 1: board=.* is not of the layout's size"),
        ({"board": [*ENTRY["board"][:4], [0, 3, 4, 3, 5]]}, "board holds 5: a colour is a whole number from 0 to 4"),
        ({"board": [*ENTRY["board"][:4], [0, 3, 4, 3, 1.5]]}, "board holds 1.5: a colour"),
        ({"board": "tiles"}, 'board="tiles" is not of the layout\'s size'),
        ({"chips1": [0, 0, 0, 4]}, r"chips1=\[0, 0, 0, 4\] is not of the layout's size, \(5,\) numbers"),
        ({"chips1": [0, 0, 0, 2, 1]}, "board 1: chips1=.* are 3 chips: a player is dealt 4"),
        ({"chips2": [-1, 5, 0, 0, 0]}, "chips2 holds -1: a number of chips is a whole number from 0 to 4"),
        ({"chips2": [True, 3, 0, 0, 0]}, "chips2 holds true"),
        ({"location1": 12}, "location1 holds 12: a goal is a whole number from 0 to 11"),
        ({"location1": None}, "location1 holds null"),
        ({"location2": 1}, "location1 and location2 are both 1: .*equal_goals=True"),
        (
            {"board": [[0, 1, 4, 1, 0]] * 5, "chips1": [2, 0, 0, 1, 1]},
            "board 1: the players hold 1 chips of colour 3 .* which no tile has: chips are drawn from the board's",
        ),
        (
            {"chips1": [0, 3, 0, 0, 1], "chips2": [0, 3, 0, 0, 1]},
            "board 1: the players hold 6 chips of colour 1 .* which 4 tiles beside the start have: .* each tile once",
        ),
        (
            FAR,
            r"board 1: location1=7 \(row 3, column 4\) cannot be reached.*\[0, 8, 0, 0, 0\].*reachable=False",
        ),
    ],
)
def test_boards_that_are_refused(tmp_path, change, message):
    path = written(tmp_path / "boards.json", [ENTRY, {**ENTRY, **change}])
    with pytest.raises(ValueError, match=message) as refused:
        load_boards(path)
    assert str(path) in str(refused.value)


def test_what_may_be_allowed(tmp_path):
    same = written(tmp_path / "same.json", [{**ENTRY, "location2": 1}])
    assert load_boards(same, equal_goals=True).boards.goals.tolist() == [[1, 1]]
    far = [{**ENTRY, **FAR}]
    path = written(tmp_path / "far.json", far)
    assert load_boards(path, reachable=False).boards.goals[0, 0] == 7
    assert load_boards(written(tmp_path / "any.json", far, {"goals": "any"})).boards.goals[0, 0] == 7


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "is no JSON"),
        ("[1]", "a boards file is"),
        ('{"metadata": 3, "boards": []}', "a boards file is"),
        ('{"metadata": {}}', '"boards" is missing or empty'),
        ('{"boards": [3]}', "board 0: has the form"),
        ('{"boards": [{"board": []}]}', "board 0: board=.* is not of the layout's size"),
        ('{"boards": [{"chips1": []}]}', "board 0: board is missing"),
    ],
)
def test_files_that_hold_no_boards(tmp_path, text, message):
    path = tmp_path / "boards.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_boards(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"none.json: cannot be read.*name a boards file"):
        load_boards(tmp_path / "none.json")


def test_boards_that_are_not_saved(tmp_path):
    wrong = copy.deepcopy(ENTRY)
    wrong["chips1"] = [1, 0, 0, 2, 2]
    with pytest.raises(ValueError, match=r"board 0: chips1=.* are 5 chips"):
        save_boards(tmp_path / "boards.json", board(wrong), {})
    assert not (tmp_path / "boards.json").exists()
