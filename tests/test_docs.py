"""The code of the pages runs as it stands, one block after the other."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_models_of_rational_speech_acts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "rsa.md").read_text(encoding="utf-8"), re.S)
    for block in blocks:
        exec(compile(block, "docs/rsa.md", "exec"), names)
    assert len(blocks) == 3 and "0.79" in capsys.readouterr().out
    assert (tmp_path / "listener.png").stat().st_size > 5_000


def test_a_new_game(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "new_game.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3 and len(text.splitlines()) < 100
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/new_game.md", "exec"), names)
    said = capsys.readouterr().out
    understood = float(re.search(r"understood: (\d+)%", said)[1])
    assert 50 < understood < 100
    assert re.findall(r"people under (\S+): -\d", said) == ["pragmatic", "hasty", "uniform"]
    for path in re.findall(r"`((?:games|tom)/[\w/]+(?:\.py)?)`", text):
        assert (DOCS.parent / path).exists(), path


def test_negotiations(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "colored_trails.md").read_text(encoding="utf-8"), re.S)
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/colored_trails.md", "exec"), names)
    said = capsys.readouterr().out
    assert len(blocks) == 2 and "    A   B   C   D   E" in said and "(12,)" in said
    assert float(re.search(r"best first offer: chips .*, worth (-?\d+\.\d) points", said)[1]) > 0
    assert (tmp_path / "board.png").stat().st_size > 5_000
