"""How well does an encoder survive who may only use words near her keywords? Survival against the size of her pool."""

from pathlib import Path

from otherminds.games.decrypto.rules import Ending
from otherminds.games.decrypto.vocabulary import load
from otherminds.tom.experiments.plots import PoolSurvival, survival_against_pool
from otherminds.tom.experiments.simulate import simulate

POOLS = (25, 50, 100, 200, 400)  # nouns nearest to a keyword


def main(folder: Path, games=1000, pools=POOLS, interceptors=("baseline", "bayesian")) -> list[PoolSurvival]:
    """Simulates every pool against every interceptor; writes survival.png and returns its points."""
    records = []
    for interceptor in interceptors:
        for pool in pools:
            encoder = f"rational:pool={pool},decoder=literal,interceptor={interceptor}"
            results = simulate((encoder, "literal", interceptor), load(), games)
            survived = int((results.ending == Ending.SURVIVED).sum())
            records.append(PoolSurvival(f"against {interceptor}", pool, games, survived))
            print(f"R = {pool:4d}, {interceptor:8s}: survived {survived} of {games} games")
    survival_against_pool(records, folder / "survival.png")
    return records


if __name__ == "__main__":
    main(Path("."))
