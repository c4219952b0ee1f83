"""Games of Decrypto turn by turn, as the pages show them: what was said, guessed and answered, and its error tags."""

from collections.abc import Mapping
from typing import Any

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.tom.experiments import journal
from otherminds.tom.experiments.answers import answered
from otherminds.tom.experiments.error_tags import Tags
from otherminds.tom.experiments.records import Games

MOST_GAMES = 1000  # of one page

Lines = Mapping[tuple[str, int, Role], journal.Decision]
"""The decisions of a log by game, turn (0 for the first) and role."""


def transcript(games: Games, g: int, lines: Lines, tags: Tags) -> dict[str, Any]:
    """What a page shows of one game.

    g: its place among the games.   lines: of its log.   tags: of `error_tags.error_tags`.
    """
    game_id, misses, catches, turns = games.ids[g], 0, 0, []
    for turn in range(int(games.arrays.turns[g])):
        made = {role: lines[game_id, turn, role] for role in Role}
        code = code_text(int(games.arrays.codes[g, turn]))
        hints = made[Role.ENCODER].action
        decoder, interceptor = made[Role.DECODER].action, made[Role.INTERCEPTOR].action
        missed = hints is None or decoder != code
        caught = hints is not None and interceptor == code
        misses, catches = misses + missed, catches + caught
        unknown = set(made[Role.ENCODER].unknown_words)
        turns.append(
            {
                "number": turn + 1,
                "code": code,
                "hints": hints
                and [
                    {"digit": digit, "text": hint, "unknown": hint in unknown}
                    for digit, hint in zip(code.split("-"), hints, strict=True)
                ],
                "decoder": decoder,
                "interceptor": interceptor,
                "skipped": bool(games.skipped[g, turn]),
                "missed": missed,
                "caught": caught,
                "misses": misses,
                "catches": catches,
                "tags": [
                    {"role": role.name.lower(), "names": tags[g, turn, role]} for role in Role if tags[g, turn, role]
                ],
                "answers": [answered(line) for line in made.values() if line.attempts],
            }
        )
    keywords = enumerate((lines[game_id, 0, Role.ENCODER].observation.get("keywords") or ()), 1)
    return {
        "id": game_id,
        "label": game_id.removeprefix(" + ".join(games.agents[g]) + " / "),
        "agents": dict(zip(("encoder", "decoder", "interceptor"), games.agents[g], strict=True)),
        "ending": games.endings[g],
        "keywords": list(keywords),
        "turns": turns,
        "failed": any(answer["failed"] for turn in turns for answer in turn["answers"]),
    }
