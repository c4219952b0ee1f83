from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from matplotlib.text import Text
from scipy.stats import binomtest

from otherminds.tom.experiments import plots
from otherminds.tom.experiments.compare import UNIFORM, Outcome, Row
from otherminds.tom.experiments.decrypto import plots as game_plots
from otherminds.tom.experiments.trajectory import Trajectory

LONG = "openai/gpt-4o-mini-2024-07-18-preview"
SPEC = "rational:k=16,pool=400,interceptor=bayesian:rule=softmax;speaker=contrastive"
ODD = r"<b>&amp;</b> $x_{1}^2$ \frac{ %s"


def row(role, agent, mind, score, **values):
    return Row(role, agent, mind, *(values.get(k, 0) for k in ("decisions", "failed", "unknown")), score, 0.0, 0,
               values.get("best", False))  # fmt: skip


def outcome(agents, turns=5.0, error=float("nan")):
    return Outcome(agents, 3, 0.5, turns, error, 1.25, error, 0.0, error, 2)


def trajectory(turns=3, keyword="sphinx", hint="stone", belief=True):
    random = np.random.default_rng(turns)
    log_code = np.log(random.dirichlet(np.ones(24), turns))
    log_belief = np.log(random.dirichlet(np.full(6, 0.1), (turns + 1, 4)) + 1e-9) if belief else None
    codes = np.arange(turns)
    return Trajectory(
        "game", "bayesian", (keyword, *"abcde"), np.arange(4), (*[(hint, "b", "c")] * (turns - 1), None), codes,
        np.where(codes % 2, codes, -1), np.where(codes % 3, 23, codes), log_code, log_belief,
    )  # fmt: skip


FIGURES = {
    "heat maps": (
        plots.mind_heat_maps,
        [
            row(role, agent, mind, score, decisions=6, failed=1, best=score == -1.0)
            for role in ("encoder", "decoder", "interceptor")
            for agent in ("baseline", LONG, ODD)
            for mind, score in ((UNIFORM, -3.2), ("literal", -1.0), (SPEC, -6.5), ("baseline", -3.0))
        ],
    ),
    "heat map of one agent": (plots.mind_heat_maps, [row("decoder", "a", UNIFORM, -3.18, best=True)]),
    "heat map without scores": (
        plots.mind_heat_maps,
        [row("encoder", "a", mind, float("nan"), unknown=4) for mind in ("baseline", UNIFORM)],
    ),
    "heat map without uniform": (plots.mind_heat_maps, [row("encoder", "a", "baseline", -2.0)]),
    "heat map of many minds": (
        plots.mind_heat_maps,
        [row("encoder", f"a{i}", m, -5.0 - i) for i in range(9) for m in (*(f"{SPEC}{k}" for k in range(9)), UNIFORM)],
    ),
    "outcomes": (
        game_plots.outcome_bars,
        [outcome((LONG, "literal", SPEC), error=1.5), outcome((ODD, LONG, LONG)), outcome(("a", "b", "c"), 24.0)],
    ),
    "outcome of one table": (game_plots.outcome_bars, [outcome(("a", "b", "c"), 0.0)]),
    "trajectory": (game_plots.belief_trajectory, trajectory(8)),
    "trajectory of one turn": (game_plots.belief_trajectory, trajectory(1, keyword=ODD)),
    "trajectory of 24 turns": (game_plots.belief_trajectory, trajectory(24, hint="incomprehensibilities ab")),
    "trajectory in other letters": (game_plots.belief_trajectory, trajectory(2, "スフィンクス", "石の獣")),
    "nearness": (
        plots.hint_nearness,
        {
            "baseline": np.array([1, 3, 3, 16]),
            LONG: np.arange(1, 5000, 7),
            ODD: np.array([], int),
            "one": np.array([9]),
        },
    ),
    "nearness of no hint": (plots.hint_nearness, {"a": np.array([], int)}),
    "nearness of many": (plots.hint_nearness, {f"agent {i}": np.arange(1, 9 + i) for i in range(17)}),
    "survival": (
        plots.survival_against_pool,
        [
            (f"{spec}, {interceptor}", pool, 200, survived)
            for spec, interceptor, base in ((SPEC, "bayesian", 0), (ODD, "baseline", 60))
            for pool, survived in ((16, base), (None, base + 120), (400, base + 80), (50, base + 30))
        ],
    ),
    "survival with one pool": (plots.survival_against_pool, [("a", 16, 10, 10)]),
    "survival without limits": (plots.survival_against_pool, [("a", None, 10, 0), ("b", None, 0, 0)]),
    "survival of many": (plots.survival_against_pool, [(f"a{i}", r, 9, i % 9) for i in range(16) for r in (5, None)]),
}


@pytest.fixture(params=FIGURES)
def figure(request):
    return FIGURES[request.param]


def settings():
    """matplotlib's settings as they stand: asking for "backend" in the usual way would choose one."""
    return {name: dict.__getitem__(matplotlib.rcParams, name) for name in matplotlib.rcParams}


def test_a_figure_shows_something_and_its_texts_stand_apart(figure, tmp_path, monkeypatch):
    draw, data = figure
    drawn, draw_text = [], Text.draw

    def note(self, renderer):
        if self.get_visible() and self.get_text().strip():
            drawn.append((self.get_text(), self.get_window_extent(renderer)))
        draw_text(self, renderer)

    monkeypatch.setattr(plots, "RESOLUTION", 80)
    monkeypatch.setattr(Text, "draw", note)
    before, path = settings(), tmp_path / "folder" / "figure.png"
    draw(data, path)
    assert settings() == before
    image = imread(path)
    assert image.shape[1] == plots.WIDTH * 80
    assert (image[..., :3].min(-1) < 0.5).mean() > 0.002  # ink
    assert drawn
    for i, (text, box) in enumerate(drawn):
        assert box.x0 >= 0 and box.x1 <= image.shape[1] and box.y0 >= 0, f"{text!r} goes over the edge"
        for other, second in drawn[:i]:
            wide = min(box.x1, second.x1) - max(box.x0, second.x0)
            high = min(box.y1, second.y1) - max(box.y0, second.y0)
            assert wide <= 1 or high <= 3, f"{text!r} lies on {other!r}"


def test_the_same_data_give_the_same_file(tmp_path):
    draw, data = FIGURES["nearness"]
    draw(data, tmp_path / "a.png")
    draw(data, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize(
    ("draw", "data", "message"),
    [
        (plots.mind_heat_maps, [], "rows"),
        (game_plots.outcome_bars, [], "outcomes"),
        (game_plots.belief_trajectory, trajectory(belief=False), "no belief"),
        (plots.hint_nearness, {}, "ranks"),
        (plots.survival_against_pool, [("a", 3, 0, 0)], "no games"),
        (plots.survival_against_pool, [("a", 0, 3, 1)], "pool=0"),
        (plots.survival_against_pool, [("a", 3, 3, 4)], "successes=4, trials=3"),
    ],
)
def test_nothing_to_draw_is_an_error_and_no_file(draw, data, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        draw(data, tmp_path / "figure.png")
    assert not list(tmp_path.iterdir())


@given(text=st.text(st.sampled_from("ab:,/=-_ <$é")), width=st.integers(1, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text, width):
    lines = plots.wrapped(text, width).split("\n")
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrapped_breaks_after_colons_and_commas_first():
    assert plots.wrapped("bayesian:rule=softmax,speaker=contrastive", 16).split("\n") == [
        "bayesian:", "rule=softmax,", "speaker=", "contrastive",
    ]  # fmt: skip
    assert plots.wrapped("literal", 7) == "literal"


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 10), (1, 1), (250, 1000)])
def test_wilson_is_scipys(successes, trials):
    interval = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert plots.wilson(successes, trials) == pytest.approx((interval.low, interval.high), abs=1e-6)
    assert plots.wilson(0, 0) == (0, 1)


@given(places=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_labels_stand_apart_in_the_order_of_their_values(places):
    spread = game_plots._spread(np.array(places), 0.085)
    order = np.argsort(places, kind="stable")
    assert all(b - a > 0.084 for a, b in pairwise(spread[order]))
    assert spread.min() > -1e-9 and spread.max() < 1 + 1e-9
