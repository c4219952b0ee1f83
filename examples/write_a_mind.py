"""A mind of one's own: a decoder who reads the first hint carefully and guesses the rest. It plays and shadows."""

import jax
import jax.numpy as jnp

from otherminds.games.decrypto.rules import CODES, Role, codes_used, decrypto
from otherminds.games.decrypto.vocabulary import load
from otherminds.games.rollout import game_key, rollout
from otherminds.inference.logspace import log_normalize
from otherminds.tom.mind import Mind, memoryless
from otherminds.tom.minds.decrypto.lexicon import hint_similarity, make_lexicon
from otherminds.tom.minds.decrypto.registry import named


def init(lexicon, memory, view):
    return view.keywords


def alternatives(lexicon, keywords, observation):
    return jnp.arange(len(CODES))


def log_policy(lexicon, keywords, observation, actions):
    scores = 12 * hint_similarity(lexicon, observation.hints[0], keywords)  # [4]: the first hint alone
    log_p = log_normalize(scores[CODES[:, 0]], where=~codes_used(observation.history))
    return log_p[actions]


def sample(key, lexicon, keywords, observation):
    actions = alternatives(lexicon, keywords, observation)
    return jax.random.categorical(key, log_policy(lexicon, keywords, observation, actions))


hasty = Mind("hasty", init, memoryless, alternatives, log_policy, sample)

vocabulary = load()
lexicon = make_lexicon(vocabulary)
encoder, interceptor = named("baseline", Role.ENCODER), named("bayesian", Role.INTERCEPTOR)
minds = (encoder.mind, hasty, interceptor.mind)
params = (encoder.make_params(lexicon), lexicon, interceptor.make_params(lexicon))
game = decrypto(len(vocabulary.keywords))

play = jax.jit(jax.vmap(lambda key, params: rollout(game, minds, params, key)[0], in_axes=(0, None)))
keys = jax.vmap(lambda index: game_key(jax.random.key(0), index))(jnp.arange(1000))
final = play(keys, params)
print(f"1,000 games: {final.ending_turn.mean():.2f} turns, {final.miscommunications.mean():.2f} miscommunications")
