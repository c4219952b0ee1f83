"""Negotiators by name."""

import pytest

from otherminds.games.colored_trails.rules import Rules
from otherminds.tom.minds.colored_trails.bayesian import BayesianParams
from otherminds.tom.minds.colored_trails.negotiator import Params
from otherminds.tom.minds.colored_trails.registry import named_negotiator
from otherminds.tom.minds.spec import UnknownMind


def test_names_and_options():
    plain = named_negotiator("order2")
    assert plain.params == Params()
    assert plain.mind.name == "colored-trails-order2-described"
    assert plain is named_negotiator("order2")
    written = named_negotiator("order1:variant=llm-tom, learning-speed=0.5, confidence=.3, beta=2")
    assert written.mind.name == "colored-trails-order1-llm-tom"
    assert written.params == Params(learning_speed=0.5, confidence=(0.3,), beta=2.0)
    assert named_negotiator("order0", Rules(limit=3)).mind is not named_negotiator("order0").mind
    assert named_negotiator("bayesian1:rationality=0.4,lapse=0.1").params == BayesianParams(lapse=0.1, rationality=0.4)
    assert named_negotiator("horizon1:variant=deweerd").mind.name == "colored-trails-horizon1-deweerd"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("order9", "order0 to order4, bayesian1 to bayesian4, horizon1 to horizon4"),
        ("bayesian0", "'bayesian0' is no negotiator"),
        ("order", "is no negotiator"),
        ("order1:rationality=2", "order takes variant, learning_speed, lapse, beta, confidence"),
        ("order1:variant=other", "described, llm-tom, deweerd"),
        ("order1:beta=nan", "finite and at least 0"),
        ("order1:confidence=1.5", "from 0 to 1"),
        ("order1:lapse=x", "is no float"),
    ],
)
def test_what_does_not_exist(spec, message):
    with pytest.raises(UnknownMind, match=message):
        named_negotiator(spec)
