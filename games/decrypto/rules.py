"""Decrypto for three players: encoder and decoder against one interceptor.

Each turn the encoder turns a secret code (three distinct digits of four) into three hints, one a digit, about
the four secret keywords that the digits stand for. Decoder and interceptor guess the code at once; then code
and guesses become public. A wrong decoder costs a miscommunication token, a right interceptor an interception
token; the encoder's side loses at two of either and wins by surviving eight turns. Codes never repeat.
"""

import itertools
from enum import IntEnum
from functools import cache
from typing import NamedTuple, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from otherminds.games.protocol import NO_ANSWER, Game

SLOTS = 4
LENGTH = 3
TURNS = 8
TOKENS_TO_LOSE = 2
CODES = np.array(list(itertools.permutations(range(SLOTS), LENGTH)), np.int32)
"""[24, 3] every code, digits 0 to 3 (people read 1 to 4), in lexicographic order."""


class Role(IntEnum):
    """Who sits where."""

    ENCODER = 0
    DECODER = 1
    INTERCEPTOR = 2


class Ending(IntEnum):
    """How a game stands, or which tokens ended it first."""

    UNFINISHED = 0
    SURVIVED = 1
    MISCOMMUNICATION = 2
    INTERCEPTION = 3
    BOTH = 4


class History(NamedTuple):
    """The finished turns, public. Turns that have not happened hold -1; so does an answer that failed."""

    codes: Int[Array, "... turns"]  # index into CODES
    hints: Int[Array, "... turns 3"]  # index into the table's words
    decoder_guesses: Int[Array, "... turns"]  # index into CODES
    interceptor_guesses: Int[Array, "... turns"]


class State(NamedTuple):
    """A game as nobody sees it whole."""

    keywords: Int[Array, "... 4"]  # index into the keyword list
    codes: Int[Array, "... turns"]  # the code of every turn, drawn when the game begins
    turn: Int[Array, "..."]  # finished turns
    awaiting_guesses: Bool[Array, "..."]  # the encoder has spoken in this turn
    hints: Int[Array, "... 3"]  # of this turn; -1 before the encoder has spoken
    history: History
    miscommunications: Int[Array, "..."]
    interceptions: Int[Array, "..."]
    ending: Int[Array, "..."]  # Ending; fixed by the first loss, also when play goes on
    ending_turn: Int[Array, "..."]  # turns finished when `ending` was fixed


class View(NamedTuple):
    """What a player privately knows from the start. keywords: [4], -1 for the interceptor."""

    role: Int[Array, "..."]
    keywords: Int[Array, "... 4"]


class Observation(NamedTuple):
    """What a role may know at its decision; -1 where it may not, or where there is nothing yet."""

    role: Int[Array, "..."]
    turn: Int[Array, "..."]  # finished turns
    keywords: Int[Array, "... 4"]
    code: Int[Array, "..."]  # the encoder's alone
    hints: Int[Array, "... 3"]  # of this turn, for the guessers
    miscommunications: Int[Array, "..."]
    interceptions: Int[Array, "..."]
    history: History


class Event(NamedTuple):
    """A finished turn, as everybody sees it. `valid` is False for steps that finish no turn."""

    valid: Bool[Array, "..."]
    turn: Int[Array, "..."]
    code: Int[Array, "..."]
    hints: Int[Array, "... 3"]
    decoder_guess: Int[Array, "..."]
    interceptor_guess: Int[Array, "..."]


def code_index(digits) -> int:
    """The index in CODES of three digits 1 to 4, as people write them.

    Raises: ValueError unless they are three different digits from 1 to 4.
    """
    digits = list(digits)
    if len(digits) != LENGTH or len(set(digits)) != LENGTH or not all(d in range(1, SLOTS + 1) for d in digits):
        raise ValueError(f"{digits!r} is no code: a code is {LENGTH} different digits from 1 to {SLOTS}, such as 3-1-2")
    return int(np.flatnonzero((np.array(digits) - 1 == CODES).all(1))[0])


def code_text(index: SupportsIndex) -> str:
    """A code as people write it, such as "3-1-2"."""
    return "-".join(str(d + 1) for d in CODES[index])


def codes_used(history: History) -> Bool[Array, "24"]:
    """[24] True where a code has been revealed in a finished turn."""
    return (history.codes[:, None] == jnp.arange(len(CODES))).any(0)


def deal(key: PRNGKeyArray, keyword_count: int, turns: int = TURNS) -> State:
    """A new game: four different keywords and `turns` different codes, uniformly at random."""
    keyword_key, code_key = jax.random.split(key)
    # Four uniform ranks, each among the keywords still left, moved past the smaller ones: no sort of the list.
    ranks = jax.random.randint(keyword_key, (SLOTS,), 0, keyword_count - jnp.arange(SLOTS))
    chosen: list[Array] = []
    for rank in ranks:
        for earlier in jnp.sort(jnp.stack(chosen)) if chosen else ():
            rank = rank + (rank >= earlier)
        chosen.append(rank)
    codes = jax.random.permutation(code_key, len(CODES))[:turns]
    return begin(jnp.stack(chosen), codes)


def begin(keywords: Int[Array | np.ndarray, "4"], codes: Int[Array | np.ndarray, " turns"]) -> State:
    """A game with given keywords and codes, nothing played yet."""
    turns = codes.shape[0]
    zero = jnp.int32(0)
    nothing = jnp.full(turns, -1, jnp.int32)
    return State(
        keywords=jnp.asarray(keywords, jnp.int32),
        codes=jnp.asarray(codes, jnp.int32),
        turn=zero,
        awaiting_guesses=jnp.bool_(False),
        hints=jnp.full(LENGTH, -1, jnp.int32),
        history=History(nothing, jnp.full((turns, LENGTH), -1, jnp.int32), nothing, nothing),
        miscommunications=zero,
        interceptions=zero,
        ending=zero,
        ending_turn=zero,
    )


def done(state: State, continue_after_loss: bool = False) -> Bool[Array, ""]:
    """Whether the game is over: at the first loss, or (`continue_after_loss`) only after the last turn."""
    if continue_after_loss:
        return state.turn >= state.codes.shape[-1]
    return state.ending != Ending.UNFINISHED


def actors(state: State, continue_after_loss: bool = False) -> Bool[Array, "3"]:
    """[3] who acts now: the encoder, then decoder and interceptor at once; nobody once the game is over."""
    guessing = state.awaiting_guesses
    return jnp.stack([~guessing, guessing, guessing]) & ~done(state, continue_after_loss)


def view(state: State, role: int) -> View:
    """The keywords for encoder and decoder; nothing for the interceptor."""
    knows = role != Role.INTERCEPTOR
    return View(jnp.int32(role), jnp.where(knows, state.keywords, -1))


def observe(state: State, role: int) -> Observation:
    """What `role` may know now. Guessers never see each other's guess of the turn that is being played."""
    code = state.codes[jnp.minimum(state.turn, state.codes.shape[-1] - 1)]
    return Observation(
        role=jnp.int32(role),
        turn=state.turn,
        keywords=view(state, role).keywords,
        code=code if role == Role.ENCODER else jnp.int32(-1),
        hints=jnp.full(LENGTH, -1, jnp.int32) if role == Role.ENCODER else state.hints,
        miscommunications=state.miscommunications,
        interceptions=state.interceptions,
        history=state.history,
    )


def legal(state: State, role: int) -> Bool[Array, "24"] | None:
    """[24] the codes that may be guessed: all of them, also (unwisely) a used one. Hints are open-ended: None."""
    return None if role == Role.ENCODER else jnp.ones(len(CODES), bool)


def no_action(role: int) -> Int[Array, "..."]:
    """The failed answer: three times NO_ANSWER for the encoder, NO_ANSWER for a guesser."""
    return jnp.full(LENGTH, NO_ANSWER, jnp.int32) if role == Role.ENCODER else jnp.int32(NO_ANSWER)


def give_hints(state: State, hints: Int[Array | np.ndarray, "3"]) -> State:
    """The encoder speaks."""
    return state._replace(hints=jnp.asarray(hints, jnp.int32), awaiting_guesses=jnp.bool_(True))


def guess(
    state: State, decoder_guess: Int[Array, ""] | int, interceptor_guess: Int[Array, ""] | int
) -> tuple[State, Event]:
    """Decoder and interceptor guess, and the turn ends.

    An encoder who gave no hints costs a miscommunication, and there was nothing to intercept; a decoder without
    an answer is wrong, an interceptor without one is not right. Both tokens can fall in one turn.
    """
    turn, code = state.turn, state.codes[state.turn]
    spoke = (state.hints != NO_ANSWER).all()
    missed = ~(spoke & (decoder_guess == code))
    intercepted = spoke & (interceptor_guess == code)
    history = History(
        state.history.codes.at[turn].set(code),
        state.history.hints.at[turn].set(state.hints),
        state.history.decoder_guesses.at[turn].set(decoder_guess),
        state.history.interceptor_guesses.at[turn].set(interceptor_guess),
    )
    miscommunications = state.miscommunications + missed
    interceptions = state.interceptions + intercepted
    by_miss, by_interception = miscommunications >= TOKENS_TO_LOSE, interceptions >= TOKENS_TO_LOSE
    last = turn + 1 == state.codes.shape[-1]
    ending = jnp.select(
        [by_miss & by_interception, by_miss, by_interception, last],
        [int(e) for e in (Ending.BOTH, Ending.MISCOMMUNICATION, Ending.INTERCEPTION, Ending.SURVIVED)],
        int(Ending.UNFINISHED),
    )
    first = state.ending == Ending.UNFINISHED
    event = Event(jnp.bool_(True), turn, code, state.hints, jnp.int32(decoder_guess), jnp.int32(interceptor_guess))
    state = state._replace(
        turn=turn + 1,
        awaiting_guesses=jnp.bool_(False),
        hints=jnp.full(LENGTH, -1, jnp.int32),
        history=history,
        miscommunications=miscommunications,
        interceptions=interceptions,
        ending=jnp.where(first, ending, state.ending),
        ending_turn=jnp.where(first, turn + 1, state.ending_turn),
    )
    return state, event


def step(
    key: PRNGKeyArray | None, state: State, joint_action: dict[int, Array], continue_after_loss: bool = False
) -> tuple[State, Event]:
    """One phase: {ENCODER: hints} or {DECODER: code, INTERCEPTOR: code}. Nothing here is random.

    A finished game absorbs: the state comes back as it was, with an event that is not valid.
    """
    over = done(state, continue_after_loss)
    if Role.ENCODER in joint_action:
        after = give_hints(state, joint_action[Role.ENCODER])
        nothing = jnp.int32(-1)
        event = Event(jnp.bool_(False), state.turn, nothing, state.hints, nothing, nothing)
    else:
        after, event = guess(state, joint_action[Role.DECODER], joint_action[Role.INTERCEPTOR])
        event = event._replace(valid=~over)
    return jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after), event


def returns(state: State) -> Float[Array, "3"]:
    """[3] +1 for the winners and -1 for the losers of a finished game, 0 before."""
    survived = (state.ending == Ending.SURVIVED).astype(jnp.float32)
    sign = jnp.where(state.ending == Ending.UNFINISHED, 0.0, 2 * survived - 1)
    return sign * jnp.array([1.0, 1.0, -1.0])


def imagine(view: View, role: int, hypothesis: Int[Array, "4"]) -> View:
    """What `role` would privately know if the secret keywords were `hypothesis`."""
    del view
    return View(jnp.int32(role), jnp.where(role != Role.INTERCEPTOR, hypothesis, -1))


@cache
def decrypto(keyword_count: int, *, turns: int = TURNS, continue_after_loss: bool = False) -> Game:
    """The game over a list of `keyword_count` keywords.

    continue_after_loss: play on to the last turn after a loss, as the recorded human games do; the first
        ending counts.
    Raises: ValueError for fewer than four keywords, or turns outside 1 to 24.
    """
    if keyword_count < SLOTS:
        raise ValueError(f"keyword_count={keyword_count}: a game needs at least {SLOTS} keywords")
    if not 1 <= turns <= len(CODES):
        raise ValueError(f"turns={turns}: codes never repeat, so 1 to {len(CODES)} turns can be played")
    return Game(
        name="decrypto",
        roles=("encoder", "decoder", "interceptor"),
        schedule=((Role.ENCODER,), (Role.DECODER, Role.INTERCEPTOR)),
        rounds=turns,
        init=lambda key: deal(key, keyword_count, turns),
        view=view,
        observe=observe,
        actors=lambda state: actors(state, continue_after_loss),
        legal=legal,
        step=lambda key, state, joint: step(key, state, joint, continue_after_loss),
        done=lambda state: done(state, continue_after_loss),
        returns=returns,
        imagine=imagine,
        no_action=no_action,
    )
