"""The paper's losses to its own digits, and what is wrong with them."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.rps import losses
from otherminds.games.rps.catalogue import CODES, catalogue
from otherminds.games.rps.stationary import matchup
from otherminds.inference.scoring import union_loss


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def golden(shared, name):
    return json.loads((shared / f"golden/rps/{name}.json").read_text())["rows"]


def per_cent():
    """[19, 19, 3] the paper's table."""
    rules = catalogue(legacy_decimals=True)
    return 100 * jax.jit(jax.vmap(jax.vmap(matchup, (None, 0)), (0, None)))(rules, rules)


def test_published_losses_and_unions(shared, x64):
    table = per_cent()
    grid, place = table.reshape(-1, 3), {code: index for index, code in enumerate(CODES)}
    unions = {
        "union_norm_A_minmax": jax.jit(losses.legacy_union_a),
        "union_norm_B_rps_observer": jax.jit(losses.legacy_union_b),
        "union_norm_C_paper": jax.jit(losses.legacy_union_c),
    }
    rows = golden(shared, "losses")
    for row in rows:
        true, predicted = (table[place[row[side][0]], place[row[side][1]]] for side in ("true", "pred"))
        for name, loss in (("ce", losses.cross_entropy), ("brier", losses.brier), ("ev_loss", losses.ev_loss)):
            np.testing.assert_allclose(loss(true, predicted), row[name], atol=1e-12, err_msg=name)
        np.testing.assert_allclose(losses.union_raw(true, predicted), row["union_raw"], atol=1e-12)
        # A prediction near the uniform one has the same cross-entropy against every truth, up to this width: what
        # is divided by it is known to so many digits only, and to none where it is rounding error.
        width = row["ce_grid_max"] - row["ce_grid_min"]
        for name, union in unions.items():
            if width > 1e-12 or name == "union_norm_A_minmax":
                np.testing.assert_allclose(
                    union(true, predicted, grid), row[name], atol=1e-12 + 2e-15 / max(width, 1e-3 if "A" in name else 0)
                )
    assert len(rows) >= 10


def test_published_losses_of_any_triple(shared, x64):
    for row in golden(shared, "losses_free"):
        true, predicted = (
            jnp.array([float(row[side][k]) for k in ("wins", "draws", "losses")]) for side in ("true", "pred")
        )
        found = [
            loss(true, predicted) for loss in (losses.cross_entropy, losses.brier, losses.ev_loss, losses.union_raw)
        ]
        np.testing.assert_allclose(found, [row[k] for k in ("ce", "brier", "ev_loss", "union")], atol=1e-12)


def test_published_normalisation(shared, x64):
    for x, values, expected in golden(shared, "normalize"):
        found = losses.normalize_loss(x, jnp.asarray(values, float))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_truth_is_not_the_best_prediction_under_the_papers_unions(x64):
    """For how many of the 361 pairs another prediction of the catalogue scores better, and by how much."""
    table = per_cent().reshape(-1, 3)
    different, pairs = np.unique(np.asarray(table).round(9), axis=0, return_counts=True)
    different, points = jnp.asarray(different), jnp.array([1.0, 0.0, -1.0])
    assert len(different) == 61

    def regret(loss):
        """[61] of the truth against the best prediction."""
        over = jax.vmap(jax.vmap(loss, (0, None)), (None, 0))  # [predicted, true]
        scores = np.asarray(jax.jit(over)(different, different))
        return np.diag(scores) - scores.min(0)

    assert regret(losses.union_raw).max() < 1e-9
    assert regret(lambda true, said: union_loss(jnp.log(said / 100), jnp.log(true / 100), points)).max() < 1e-9
    a = regret(lambda true, said: losses.legacy_union_a(true, said, table))
    assert pairs[a > 1e-9].sum() == 162 and abs(a.max() - 0.0143) < 1e-4
    # How many exactly depends on rounding where the prediction is uniform: its cross-entropies are all one number.
    for union in (losses.legacy_union_b, losses.legacy_union_c):
        worse = regret(lambda true, said, union=union: union(true, said, table))
        assert pairs[worse > 1e-9].sum() >= 250 and worse.max() > 0.1


def test_extremes_and_gradients():
    win, loss, draw = jnp.array([100.0, 0, 0]), jnp.array([0.0, 0, 100]), jnp.array([0.0, 100, 0])
    np.testing.assert_allclose(losses.union_raw(win, loss), 11.2103, atol=1e-3)
    for pair in ((win, loss), (draw, draw), (jnp.array([25.0, 50, 25]), jnp.array([0.0, 50, 50]))):
        assert np.isfinite(jax.jit(jax.grad(losses.union_raw, (0, 1)))(*pair)).all()
