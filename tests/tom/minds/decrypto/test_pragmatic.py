import jax.numpy as jnp
import numpy as np
import pytest

from otherminds.games.decrypto.rules import Role, give_hints, observe, view
from otherminds.tom.minds.decrypto.hints import join
from otherminds.tom.minds.decrypto.registry import named


def test_posterior_is_the_encoders_policy_for_every_code(small_lexicon, deal):
    pragmatic = named("pragmatic:rule=softmax,k=3,pool=12,encoder_alpha=5,encoder_lapse=0", Role.DECODER)
    encoder = named("rational:k=3,pool=12,alpha=5,decoder=literal,interceptor=bayesian", Role.ENCODER)
    own, imagined = pragmatic.make_params(small_lexicon), encoder.make_params(small_lexicon)
    state = give_hints(deal, jnp.array([20, 21, 22]))
    seen = observe(state, Role.DECODER)
    belief = pragmatic.mind.init(own, None, view(state, Role.DECODER))
    result = np.exp(pragmatic.mind.log_policy(own, belief, seen, jnp.arange(24)))

    her_belief = encoder.mind.init(imagined, None, view(deal, Role.ENCODER))
    likelihood = []
    for code in range(24):
        hers = observe(deal, Role.ENCODER)._replace(code=jnp.int32(code))
        hint_set = join(encoder.mind.alternatives(imagined, her_belief, hers), jnp.array([20, 21, 22]))
        likelihood.append(np.exp(encoder.mind.log_policy(imagined, her_belief, hers, hint_set)[-1]))
    np.testing.assert_allclose(result, np.array(likelihood) / np.sum(likelihood), rtol=1e-3, atol=1e-6)


@pytest.mark.slow
def test_it_understands_an_encoder_whom_it_knows_better_than_a_literal_decoder_does(small_lexicon, deal):
    """Over the encoder's own hints for every code, the pragmatic posterior gives the code more than the literal one."""
    spec = "rational:k=3,pool=12,alpha=5,decoder=literal,interceptor=bayesian"
    encoder = named(spec, Role.ENCODER)
    hers = encoder.make_params(small_lexicon)
    readers = {
        name: named(name, Role.DECODER)
        for name in ("pragmatic:rule=softmax,k=3,pool=12,encoder_alpha=5,encoder_lapse=0", "literal:rule=softmax")
    }
    gained = {name: 0.0 for name in readers}
    belief = encoder.mind.init(hers, None, view(deal, Role.ENCODER))
    for code in range(24):
        state = deal._replace(codes=deal.codes.at[0].set(code))
        seen = observe(state, Role.ENCODER)
        hint_set = encoder.mind.alternatives(hers, belief, seen)
        best = int(jnp.argmax(encoder.mind.log_policy(hers, belief, seen, hint_set)))
        places = np.unravel_index(best, (3, 3, 3))
        hints = jnp.array([hint_set.words[i, places[i]] for i in range(3)])
        state = give_hints(state, hints)
        for name, reader in readers.items():
            own = reader.make_params(small_lexicon)
            told = observe(state, Role.DECODER)
            its = reader.mind.init(own, None, view(state, Role.DECODER))
            gained[name] += float(reader.mind.log_policy(own, its, told, jnp.arange(24))[code])
    pragmatic, literal = gained.values()
    assert pragmatic > literal
