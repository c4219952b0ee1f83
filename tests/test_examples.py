"""Every example, and the Python of the README, runs as it stands."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
RARELY = (  # compile longest
    "does_theory_of_mind_pay",
    "observe_a_match",
    "orders_of_theory_of_mind",
    "two_cultures",
    "what_rule_does_it_follow",
    "who_can_be_told_apart",
)
ELSEWHERE = ("overheard", "people_and_models")  # have a test of their own
RUN = [
    pytest.param(path, marks=pytest.mark.slow) if path.stem in RARELY else path
    for path in EXAMPLES
    if path.stem not in ELSEWHERE
]


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_example(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
def test_people_and_models_runs_again_in_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = []
    for _ in range(2):
        runpy.run_path(str(ROOT / "examples/people_and_models.py"), run_name="__main__")
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


@pytest.mark.slow
def test_overheard_with_few_games(tmp_path, capsys):
    example = runpy.run_path(str(ROOT / "examples/overheard.py"))
    records = example["main"](tmp_path, games=20, pools=(25, 400), interceptors=("bayesian",))
    assert (tmp_path / "survival.png").stat().st_size > 10_000
    survived = {(record.label, record.pool): record.survived for record in records}
    assert survived["against bayesian", 400] > survived["against bayesian", 25]  # more words, more room to mislead


def test_readme(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "survived" in capsys.readouterr().out
