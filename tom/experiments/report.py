"""The report of a comparison: one HTML page that needs nothing beside it, its figures as PNGs, and two CSV files."""

import importlib.metadata
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments import journal, plots
from otherminds.tom.experiments.compare import (
    UNIFORM,
    Alternatives,
    Nearness,
    Outcome,
    Row,
    decided,
    heard_lexicon,
    hint_ranks,
)
from otherminds.tom.experiments.config import flattened
from otherminds.tom.experiments.csv_files import write_csv, write_scores
from otherminds.tom.experiments.cube import COLUMNS, LITTLE, Cell, cells, csv_rows, grids, kinds
from otherminds.tom.experiments.decrypto import plots as game_plots
from otherminds.tom.experiments.decrypto.k_sweep import k_sweep
from otherminds.tom.experiments.decrypto.lexicon.compare import OwnMeaning
from otherminds.tom.experiments.decrypto.profile import Privilege, Profile, explained_by_none
from otherminds.tom.experiments.decrypto.stated import Bin, Calibration, Divergence
from otherminds.tom.experiments.error_tags import DEFINITIONS, TAGS_OF, Tags, error_tags, tag_counts
from otherminds.tom.experiments.frames import flat
from otherminds.tom.experiments.page import data_uri, render
from otherminds.tom.experiments.records import Games
from otherminds.tom.experiments.trajectory import Trajectory, believes_keywords, follow, posterior
from otherminds.tom.experiments.transcripts import MOST_GAMES, Lines, transcript
from otherminds.tom.experiments.verdicts import Shadows, Verdict, verdict
from otherminds.tom.minds.decrypto.lexicon import Lexicon
from otherminds.tom.minds.decrypto.registry import is_mind

SHADOWING = "bayesian"  # the interceptor that is followed where nobody at the tables had a belief


def write_report(
    folder: Path,
    games: Games,
    vocabulary: Vocabulary,
    rows: Sequence[Row],
    shadows: Shadows,
    outcomes: Sequence[Outcome],
    nearness: Sequence[Nearness],
    *,
    logs: Sequence[Path],
    lapse: float,
    settings: Alternatives,
    profiles: Sequence[Profile] = (),
    privileges: Sequence[Privilege] = (),
    meanings: Sequence[OwnMeaning] = (),
    stated: Sequence[Calibration] = (),
    confidence: Sequence[Bin] = (),
    divergences: Sequence[Divergence] = (),
) -> list[Path]:
    """Writes report.html, transcripts.html, the figures as PNGs, cube.csv, decisions.csv and scores.csv into a folder.

    rows, shadows: of `compare.compare` with this lapse and these settings.   outcomes, nearness: of `compare` too.
    logs: what `games` was read from; the page shows the language models' answers as they stand there.
    profiles, privileges: of `profile.profile`, where it was asked for; profiles.csv, privileges.csv and profiles.png.
    meanings: of `lexicon.compare.compare_meanings`; meanings.csv.
    stated, confidence, divergences: of `stated`, where guessers state probabilities; a CSV file each.
    Returns: the files, the page first.
    Raises: JournalError for a log that cannot be read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lexicon = heard_lexicon(vocabulary, games)
    lines = _lines_of(logs)
    followed = most_interesting(games, vocabulary, lexicon)
    tags = error_tags(games, vocabulary, lexicon)
    tables = cells(games)
    figures = _draw(folder, games, lexicon, rows, outcomes, tables, followed)
    if profiles:
        figures["profiles"] = folder / "profiles.png"
        game_plots.profile_ranges(profiles, privileges, figures["profiles"])
    write_csv(folder / "cube.csv", COLUMNS, csv_rows(tables))
    write_decisions(folder / "decisions.csv", games, shadows, tags)
    write_scores(folder / "scores.csv", rows)
    page = render(
        "report.html",
        runs=[_run(begun) for begun in games.begun],
        vocabulary=vocabulary.name,
        version=importlib.metadata.version("otherminds"),
        total=len(games.ids),
        unfinished=sum(ending is None for ending in games.endings),
        recorded=bool(games.recorded.any()),
        seeds=sorted(set(games.seeds)),
        turns=int(games.arrays.turns.sum()),
        lapse=lapse,
        settings=settings,
        outcomes=outcomes,
        roles=_roles(games, rows, shadows, lapse),
        nearness=nearness,
        followed=followed,
        beliefs=_beliefs(followed),
        transcripts=_transcripts(games, lines, tags),
        kinds=[kind for kind in kinds(games) if kind.kind != "unknown"],
        little=LITTLE,
        tag_counts=tag_counts(games, tags),
        tags_of={role.name.lower(): names for role, names in TAGS_OF.items()},
        definitions=DEFINITIONS,
        profiles=profiles,
        unexplained=explained_by_none(profiles),
        privileges=privileges,
        meanings=meanings,
        stated=stated,
        confidence=confidence,
        divergences=divergences,
        figures={name: data_uri(path) for name, path in figures.items()},
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    pages = [folder / "report.html", _write_transcripts(folder, games, lines, tags)]
    more: dict[str, Sequence[Any]] = {"profiles": profiles, "privileges": privileges, "meanings": meanings}
    more |= {"stated": stated, "confidence": confidence, "divergences": divergences}
    for name, rows_of in more.items():
        if rows_of:
            table = [flat(row) for row in rows_of]
            write_csv(folder / f"{name}.csv", list(table[0]), (list(row.values()) for row in table))
    names = (*(name for name, rows_of in more.items() if rows_of), "cube", "decisions", "scores")
    return [*pages, *figures.values(), *(folder / f"{name}.csv" for name in names)]


def write_games(
    folder: Path, games: Games, outcomes: Sequence[Outcome], tags: Tags, *, logs: Sequence[Path]
) -> list[Path]:
    """Writes what needs no mind beside: transcripts.html, the figures of outcomes and tables, cube.csv.

    tags: of `error_tags`.   Other arguments, what is returned and raised as in `write_report`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = cells(games)
    figures = _draw_games(folder, outcomes, tables)
    write_csv(folder / "cube.csv", COLUMNS, csv_rows(tables))
    return [_write_transcripts(folder, games, _lines_of(logs), tags), *figures.values(), folder / "cube.csv"]


def _lines_of(logs: Sequence[Path]) -> Lines:
    """Every decision's line, by game, turn and role."""
    return {
        (line.game_id, line.turn, Role[line.role.upper()]): line
        for path in logs
        for line in journal.read(path)
        if isinstance(line, journal.Decision)
    }


def _write_transcripts(folder: Path, games: Games, lines: Lines, tags: Tags) -> Path:
    played = [g for g in range(len(games.ids)) if games.arrays.turns[g]]
    page = render(
        "transcripts.html",
        games=[transcript(games, g, lines, tags) for g in played[:MOST_GAMES]],
        total=len(played),
        definitions=DEFINITIONS,
    )
    (folder / "transcripts.html").write_text(page, encoding="utf-8")
    return folder / "transcripts.html"


def _draw(
    folder: Path,
    games: Games,
    lexicon: Lexicon,
    rows: Sequence[Row],
    outcomes: Sequence[Outcome],
    tables: Sequence[Cell],
    followed: "Followed | None",
) -> dict[str, Path]:
    """The figures that there is something to draw for, by name."""
    figures = _draw_games(folder, outcomes, tables)

    def path(name: str) -> Path:
        figures[name] = folder / f"{name}.png"
        return figures[name]

    plots.mind_heat_maps(rows, path("minds"))
    if ranks := ranks_by_encoder(games, lexicon):
        plots.hint_nearness(ranks, path("nearness"))
    if followed is not None:
        game_plots.belief_trajectory(followed.trajectory, path("belief"))
    return figures


def _draw_games(folder: Path, outcomes: Sequence[Outcome], tables: Sequence[Cell]) -> dict[str, Path]:
    """Those of how the games went."""
    figures = {}
    if outcomes:
        figures["outcomes"] = folder / "outcomes.png"
        game_plots.outcome_bars(outcomes, figures["outcomes"])
    if maps := grids(tables):
        figures["cube"] = folder / "cube.png"
        game_plots.cube_heat_maps(maps, figures["cube"])
    if points := k_sweep(tables):
        figures["k_sweep"] = folder / "k_sweep.png"
        game_plots.turns_against_k(points, figures["k_sweep"])
    return figures


def _roles(games: Games, rows: Sequence[Row], shadows: Shadows, lapse: float) -> list[tuple[str, list[Verdict]]]:
    return [
        (
            role.name.lower(),
            [verdict(games, rows, shadows, role, agent, lapse) for agent in games.players(role)],
        )
        for role in Role
    ]


def ranks_by_encoder(games: Games, lexicon: Lexicon) -> dict[str, Int[np.ndarray, "_"]]:
    """For each encoder the ranks of its known hints by nearness to their keywords, 1 for the nearest noun."""
    ranks, arrays = hint_ranks(games, lexicon), games.arrays
    played = np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]
    by_encoder = {}
    for agent in games.players(Role.ENCODER):
        own = ranks[played & games.seated(Role.ENCODER, agent)[:, None]].ravel()
        by_encoder[agent] = own[own > 0]
    return by_encoder


class Followed(NamedTuple):
    """The game whose interceptor is followed."""

    trajectory: Trajectory
    agents: tuple[str, str, str]
    own: bool  # the interceptor at the table had this belief; else a mind in its place would have had it


def most_interesting(games: Games, vocabulary: Vocabulary, lexicon: Lexicon) -> Followed | None:
    """The longest game whose interceptor has a belief about keywords, followed with its posterior over the codes.

    If no interceptor has one, the longest game, as a Bayesian interceptor in its place would have seen it. None if
    no turn of any game is finished. Of games of one length, the first.
    """
    specs = {agents[Role.INTERCEPTOR] for agents in games.agents}
    believers = {s for s in specs if is_mind(s, Role.INTERCEPTOR) and believes_keywords(s, lexicon)}
    own = [
        g for g, agents in enumerate(games.agents) if agents[Role.INTERCEPTOR] in believers and games.arrays.turns[g]
    ]
    game = max(own or range(len(games.ids)), key=lambda g: games.arrays.turns[g])
    if not games.arrays.turns[game]:
        return None
    spec = games.agents[game][Role.INTERCEPTOR] if own else SHADOWING
    return Followed(follow(games, vocabulary, lexicon, game, posterior(spec)), games.agents[game], bool(own))


def _beliefs(followed: Followed | None) -> list[dict[str, Any]]:
    """What the followed interceptor found most probable for each slot after every turn."""
    if followed is None:
        return []
    path = followed.trajectory
    after = zip(path.top_keywords(3)[1:], path.log_true_keywords[1:], strict=True)
    return [
        {
            "moment": f"after turn {turn}",
            "slots": [
                {"top": [] if top[0][1] == top[-1][1] else top, "true": truth, "p": p}
                for top, truth, p in zip(slots, path.true_keywords, np.exp(believed), strict=True)
            ],
        }
        for turn, (slots, believed) in enumerate(after, 1)
    ]


def _run(begun: journal.RunBegun) -> dict[str, Any]:
    settings = [
        (name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else json.dumps(value).strip('"'))
        for name, value in flattened(begun.config).items()
        if value is not None
    ]
    return {"line": begun, "settings": settings, "versions": begun.versions}


def _transcripts(games: Games, lines: Lines, tags: Tags) -> list[dict[str, Any]]:
    """For each table its first finished game, or its first one if none is finished."""
    shown: dict[tuple[str, str, str], int] = {}
    for g, agents in enumerate(games.agents):
        if games.arrays.turns[g] and (
            agents not in shown or (games.endings[shown[agents]] is None and games.endings[g])
        ):
            shown[agents] = g
    return [transcript(games, g, lines, tags) for g in shown.values()]


def write_decisions(path: Path, games: Games, shadows: Shadows, tags: Tags) -> None:
    """Every decision of the finished turns as CSV.

    status: "scored", "failed" (no answer), "unknown hint" (no mind knows a hint of this turn), "no hints" (there was
    nothing to guess from), "not asked" (an interceptor in the first round of two teams) or "recorded" (a replay took it
    from its recording); only the first two are in the scores.
    log_p: [a column for each mind], without a lapse, nats: -inf for what it found impossible and for a failed answer,
    empty where the decision is not scored or the mind is none of this role. set_size: how many actions the uniform
    choice is over. error_tags: see `error_tags`.
    """
    minds = list(dict.fromkeys(spec for _, spec in shadows))
    head = ["game", "turn", "role", "agent", "code", "action", "failed", "status", "unknown_words", "set_size"]
    head.append("error_tags")
    write_csv(path, [*head, *(f"log_p {spec}" for spec in minds)], _decisions(games, shadows, minds, tags))


def _decisions(games: Games, shadows: Shadows, minds: Sequence[str], tags: Tags) -> Iterable[list[Any]]:
    arrays, texts = games.arrays, games.words.texts
    masks = {(role, agent): decided(games, role, agent) for role in Role for agent in games.players(role)}
    for g, t in zip(*np.nonzero(np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]), strict=True):
        hints = arrays.hints[g, t]
        said = [texts[row] for row in hints] if (hints >= 0).all() else None
        unknown = [texts[row] for row in hints if int(row) in games.unknown]
        guesses = {Role.DECODER: arrays.decoder_guesses[g, t], Role.INTERCEPTOR: arrays.interceptor_guesses[g, t]}
        for role in Role:
            agent = games.agents[g][role]
            recorded = bool(games.recorded[g, role])
            scored, failed, about_unknown = (False,) * 3 if recorded else (mask[g, t] for mask in masks[role, agent])
            if role == Role.ENCODER:
                action = ", ".join(said) if said else ""
            else:
                action = code_text(int(guesses[role])) if guesses[role] >= 0 else ""
            skipped = role == Role.INTERCEPTOR and bool(games.skipped[g, t])
            named = {
                "recorded": recorded,
                "not asked": skipped,
                "scored": scored,
                "failed": failed,
                "unknown hint": about_unknown,
            }
            status = next((name for name, holds in named.items() if holds), "no hints")
            log_ps = []
            for spec in minds:
                shadow = shadows.get((role, spec))
                there = shadow is not None and (scored or failed)
                log_ps.append("" if not there else -math.inf if failed else float(shadow.log_p[g, t]))
            size = int(shadows[role, UNIFORM].set_size[g, t])
            code = code_text(int(arrays.codes[g, t]))
            what = [games.ids[g], t + 1, role.name.lower(), agent, code, action, not action and not skipped, status]
            yield [*what, ", ".join(unknown), size, "; ".join(tags[int(g), int(t), role]), *log_ps]
