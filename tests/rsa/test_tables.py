"""Tables with names, and pictures of them."""

import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.rsa import plots, tables

LOG_P = jnp.log(jnp.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]))


def test_a_table_has_names_and_probabilities():
    table = tables.labelled(LOG_P, utterance=["some", "all"], meaning=[0, 1, 2])
    assert table.dims == ("utterance", "meaning")
    np.testing.assert_allclose(table.sel(utterance="all", meaning=2), 0.7, rtol=1e-6)
    assert table.sel(utterance="some", meaning=2) == 0  # an impossible one is 0, not missing
    frame = table.to_pandas()
    assert frame.index.name == "utterance" and list(frame.columns) == [0, 1, 2]


def test_names_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="meaning has 2 entries for an axis of 3"):
        tables.labelled(LOG_P, utterance=["some", "all"], meaning=[0, 1])
    with pytest.raises(ValueError, match=r"1 axes are named \(utterance\) for an array of shape \(2, 3\)"):
        tables.labelled(LOG_P, utterance=["some", "all"])


@pytest.mark.parametrize("draw", [plots.heat_map, plots.bars])
def test_pictures(draw, tmp_path):
    table = tables.labelled(LOG_P, utterance=["some", "all"], meaning=[0, 1, 2])
    path = draw(table, tmp_path / "listener.png", "L_1")
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5_000
    assert draw(table.T, tmp_path / "other.png").read_bytes() != path.read_bytes()
    with pytest.raises(ValueError, match="the table has axes utterance; a picture has two"):
        draw(table.sum("meaning"), tmp_path / "no.png")
    assert not (tmp_path / "no.png").exists()


def test_a_heat_map_writes_each_probability(tmp_path, monkeypatch):
    from matplotlib.axes import Axes

    written = []
    monkeypatch.setattr(Axes, "text", lambda self, x, y, text, **_: written.append((x, y, text)))
    plots.heat_map(tables.labelled(LOG_P, utterance=["some", "all"], meaning=[0, 1, 2]), tmp_path / "listener.png")
    assert written == [(0, 0, "0.50"), (1, 0, "0.50"), (2, 0, "0.00"), (0, 1, "0.10"), (1, 1, "0.20"), (2, 1, "0.70")]
