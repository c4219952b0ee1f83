"""How well an encoder survives who may only use words near her keywords: survival against the size of her pool."""

from pathlib import Path

from otherminds.games.decrypto.vocabulary import load
from otherminds.tom.experiments.plots import survival_against_pool
from otherminds.tom.experiments.simulate import simulate, summarize


def main(folder: Path, games: int = 1000, pools: tuple[int, ...] = (25, 50, 100, 200, 400)) -> list[dict]:
    """Simulates every pool against both interceptors; writes a figure and returns its points."""
    records = []
    for interceptor in ("baseline", "bayesian"):
        for pool in pools:
            encoder = f"rational:pool={pool},decoder=literal,interceptor={interceptor}"
            specs = (encoder, "literal", interceptor)
            row = summarize(specs, simulate(specs, load(), games))
            records.append({"label": f"against {interceptor}", "pool": pool, "games": games, "survived": row.survived})
            print(f"R = {pool:4d}, {interceptor:8s}: {row.survived:6.1%} of {games} games survived")
    survival_against_pool(records, folder / "survival.png")
    return records


if __name__ == "__main__":
    main(Path("."))
