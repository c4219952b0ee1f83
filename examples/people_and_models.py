"""People and a language model in one log, beside rational minds: who reasons about the other, and how well?

The people are simulated from a mind that is known, so that the fit can be seen to find it; the columns are those of
real recordings (`otherminds import reference` reads the same files).
"""

import csv
from pathlib import Path

import jax
import numpy as np

from otherminds.games.reference.items import simple_implicature
from otherminds.games.reference.rules import Role, begin, contexts, observe
from otherminds.tom.experiments.reference.compare import compare
from otherminds.tom.experiments.reference.recordings import import_reference, write_items
from otherminds.tom.experiments.reference.records import read_answers
from otherminds.tom.minds.reference.registry import named

folder = Path("people_and_models")
folder.mkdir(exist_ok=True)
(folder / "log.jsonl").unlink(missing_ok=True)  # of an earlier call; an import writes over no log
random = np.random.default_rng(0)
items = [simple_implicature(random, name=str(number)) for number in range(20)]
write_items(folder / "items.csv", items)

person = named("pragmatic:alpha=3,lapse=0.1", Role.SPEAKER)
say = jax.jit(jax.vmap(person.mind.sample, in_axes=(0, None, None, None)))
with (folder / "choices.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["subject", "condition", "trial", "response"])
    for number, item in enumerate(items):
        context = jax.tree.map(lambda leaf: leaf[0], contexts((item,)))
        observation = observe(begin(context, item.target), Role.SPEAKER)
        words = say(jax.random.split(jax.random.key(number), 30), person.params, (), observation)
        table.writerows([subject, "production", number, item.words[word]] for subject, word in enumerate(words))

# A "language model" that gives the target word a little more than the others; real scores are log-probabilities.
questions = ("target", "competitor", "distractor1", "distractor2"), ("target", "competitor", "distractor")
columns = [f"scores_production_{name}" for name in questions[0]]
columns += [f"scores_interpretation_{name}" for name in questions[1]]
with (folder / "scores_toy.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["trial", *columns])
    table.writerows([number, *(-2 + random.normal(size=7) + np.eye(7)[0])] for number in range(len(items)))

done = import_reference(
    folder / "items.csv", folder / "choices.csv", [folder / "scores_toy.csv"], log=folder / "log.jsonl"
)
agents, _ = read_answers([done.log], every_option=True)  # an error picks one of the four words, as it did above
comparison = compare(agents, {Role.LISTENER: ("literal",)})
for row in comparison.rows:
    print(f"{row.role:14} {row.agent:7} under {row.mind:10} {row.log_score:6.3f} nats a decision")
for fit in (*comparison.fits, *comparison.models):
    if fit.agent == "people" and fit.posterior.alpha_matters:
        alpha, lapse = fit.posterior.alpha, fit.posterior.lapse
        print(
            f"people by {fit.mind}: alpha {alpha.mean:.2f} [{alpha.low:.2f}, {alpha.high:.2f}], "
            f"error rate {lapse.mean:.3f} [{lapse.low:.3f}, {lapse.high:.3f}]"
        )
