"""The report of a comparison: one HTML page that needs nothing beside it, its figures as PNGs, and two CSV files."""

import base64
import csv
import hashlib
import importlib.metadata
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat

import numpy as np
from jaxtyping import Float, Int

from otherminds.games.decrypto.rules import Role, code_text
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.inference.resampling import clustered_mean
from otherminds.tom.experiments import journal, plots
from otherminds.tom.experiments.compare import (
    UNIFORM,
    Alternatives,
    Nearness,
    Outcome,
    Row,
    Shadow,
    decided,
    heard_lexicon,
    hint_ranks,
    lapsed,
)
from otherminds.tom.experiments.cube import COLUMNS, LITTLE, Cell, cells, csv_rows, grids, kinds
from otherminds.tom.experiments.decrypto.plots import profile_ranges
from otherminds.tom.experiments.error_tags import DEFINITIONS, TAGS_OF, Tags, error_tags, tag_counts
from otherminds.tom.experiments.frames import flat
from otherminds.tom.experiments.records import Games
from otherminds.tom.experiments.trajectory import Trajectory, believes_keywords, follow, posterior
from otherminds.tom.experiments.transcripts import MOST_GAMES, Lines, transcript
from otherminds.tom.minds.decrypto.lexicon import Lexicon
from otherminds.tom.minds.decrypto.registry import MINDS, is_mind

if TYPE_CHECKING:
    from otherminds.tom.experiments.decrypto.lexicon.compare import OwnMeaning
    from otherminds.tom.experiments.decrypto.profile import Privilege, Profile

SHADOWING = "bayesian"  # the interceptor that is followed where nobody at the tables had a belief
DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"

Shadows = Mapping[tuple[Role, str], Shadow]


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
    profiles: Sequence["Profile"] = (),
    privileges: Sequence["Privilege"] = (),
    meanings: Sequence["OwnMeaning"] = (),
) -> list[Path]:
    """Writes report.html, transcripts.html, the figures as PNGs, cube.csv, decisions.csv and scores.csv into a folder.

    rows, shadows: of `compare.compare` with this lapse and these settings.   outcomes, nearness: of `compare` too.
    logs: what `games` was read from; the page shows the language models' answers as they stand there.
    profiles, privileges: of `profile.profile`, where it was asked for; profiles.csv, privileges.csv and profiles.png.
    meanings: of `lexicon.compare.compare_meanings`; meanings.csv.
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
        profile_ranges(profiles, privileges, figures["profiles"])
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
        privileges=privileges,
        meanings=meanings,
        figures={name: data_uri(path) for name, path in figures.items()},
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    pages = [folder / "report.html", _write_transcripts(folder, games, lines, tags)]
    more = {"profiles": profiles, "privileges": privileges, "meanings": meanings}
    for name, rows_of in more.items():
        if rows_of:
            table = [flat(row) for row in rows_of]
            write_csv(folder / f"{name}.csv", list(table[0]), (list(row.values()) for row in table))
    names = (*(name for name, rows_of in more.items() if rows_of), "cube", "decisions", "scores")
    return [*pages, *figures.values(), *(folder / f"{name}.csv" for name in names)]


def write_games(
    folder: Path, games: Games, vocabulary: Vocabulary, outcomes: Sequence[Outcome], *, logs: Sequence[Path]
) -> list[Path]:
    """Writes what needs no mind beside: transcripts.html, the figures of outcomes and tables, cube.csv.

    Arguments, what is returned and raised as in `write_report`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = cells(games)
    figures = _draw_games(folder, outcomes, tables)
    write_csv(folder / "cube.csv", COLUMNS, csv_rows(tables))
    tags = error_tags(games, vocabulary, heard_lexicon(vocabulary, games))
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
    plots.hint_nearness(ranks_by_encoder(games, lexicon), path("nearness"))
    if followed is not None:
        plots.belief_trajectory(followed.trajectory, path("belief"))
    return figures


def _draw_games(folder: Path, outcomes: Sequence[Outcome], tables: Sequence[Cell]) -> dict[str, Path]:
    """Those of how the games went."""
    figures = {}
    if outcomes:
        figures["outcomes"] = folder / "outcomes.png"
        plots.outcome_bars(outcomes, figures["outcomes"])
    if maps := grids(tables):
        figures["cube"] = folder / "cube.png"
        plots.cube_heat_maps(maps, figures["cube"])
    return figures


# --- what is said about agents and minds ----------------------------------------------------------------------------


def decision_scores(games: Games, role: Role, agent: str, shadow: Shadow, lapse: float) -> Float[np.ndarray, "G T"]:
    """[G, T] the lapsed log-probability of every decision of an agent in a role, nats; NaN where none is scored.

    A failed answer has the score of what only the lapse allows. The mean over what is not NaN is `Row.log_score`.
    """
    scored, failed, _ = decided(games, role, agent)
    log_p = np.where(failed, -np.inf, shadow.log_p)
    return np.where(scored | failed, lapsed(log_p, shadow.set_size, lapse), np.nan)


def mean_and_error(values: Float[np.ndarray, "G T"]) -> tuple[float, float]:
    """The mean over what is not NaN, and its standard error with games as clusters; NaN for fewer than two games."""
    there = ~np.isnan(values)
    return clustered_mean(values[there], np.nonzero(there)[0])


class Verdict(NamedTuple):
    """Which mind explains an agent in a role, in numbers. Gains are over the uniform mind, nats per decision."""

    role: str
    agent: str
    rows: list[Row]  # the best first
    gains: dict[str, float]
    best: list[str]  # the best minds but the uniform one; several if they are equal; empty if no answer counts
    count: int  # decisions scored, failed ones among them
    gain: float  # of the best
    error: float  # standard error of the gain over games; NaN with one game
    next_best: str | None
    behind: float  # of the next best mind, nats per decision


def verdict(games: Games, rows: Iterable[Row], shadows: Shadows, role: Role, agent: str, lapse: float) -> Verdict:
    """What the rows say of an agent in a role."""
    own = [row for row in rows if row.agent == agent and row.role == role.name.lower()]
    own.sort(key=lambda row: -row.log_score if math.isfinite(row.log_score) else math.inf)
    even = decision_scores(games, role, agent, shadows[role, UNIFORM], lapse)
    gains, errors = {}, {}
    for row in own:
        scores = decision_scores(games, role, agent, shadows[role, row.mind], lapse)
        gains[row.mind], errors[row.mind] = mean_and_error(scores - even)
    minds = [row for row in own if row.mind != UNIFORM and row.decisions > row.failed]
    best = [row.mind for row in minds if math.isclose(row.log_score, minds[0].log_score, abs_tol=1e-9)]
    others = minds[len(best) :]
    return Verdict(
        role=role.name.lower(),
        agent=agent,
        rows=own,
        gains=gains,
        best=best,
        count=int((~np.isnan(even)).sum()),
        gain=gains[best[0]] if best else math.nan,
        error=errors[best[0]] if best else math.nan,
        next_best=others[0].mind if others else None,
        behind=minds[0].log_score - others[0].log_score if others else math.nan,
    )


def _roles(games: Games, rows: Sequence[Row], shadows: Shadows, lapse: float) -> list[tuple[str, list[Verdict]]]:
    return [
        (
            role.name.lower(),
            [
                verdict(games, rows, shadows, role, agent, lapse)
                for agent in dict.fromkeys(agents[role] for agents in games.agents)
            ],
        )
        for role in Role
    ]


def described(spec: str, role: str) -> str:
    """What a mind is, in the words of the registry; empty for what is no mind."""
    make = MINDS[Role[role.upper()]].get(spec.partition(":")[0])
    if make is None:
        return ""
    first = re.split(r"[.;](?:\s|$)", " ".join((make.__doc__ or "").split()))[0]
    return first[:1].lower() + first[1:] if first[1:2].islower() else first


def ranks_by_encoder(games: Games, lexicon: Lexicon) -> dict[str, Int[np.ndarray, "_"]]:
    """For each encoder the ranks of its known hints by nearness to their keywords, 1 for the nearest noun."""
    ranks, arrays = hint_ranks(games, lexicon), games.arrays
    played = np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]
    by_encoder = {}
    for agent in dict.fromkeys(agents[Role.ENCODER] for agents in games.agents):
        seated = np.array([agents[Role.ENCODER] == agent for agents in games.agents])
        own = ranks[played & seated[:, None]].ravel()
        by_encoder[agent] = own[own > 0]
    return by_encoder


# --- one game, seen by its interceptor ------------------------------------------------------------------------------


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


# --- what was played ------------------------------------------------------------------------------------------------


def _run(begun: journal.RunBegun) -> dict[str, Any]:
    def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
        for name, value in settings.items():
            if isinstance(value, Mapping):
                yield from flat(value, f"{prefix}{name}.")
            elif value is not None:
                many = isinstance(value, list | tuple)
                yield prefix + name, ", ".join(map(str, value)) if many else json.dumps(value).strip('"')

    return {"line": begun, "settings": list(flat(begun.config)), "versions": begun.versions}


def _transcripts(games: Games, lines: Lines, tags: Tags) -> list[dict[str, Any]]:
    """For each table its first finished game, or its first one if none is finished."""
    shown: dict[tuple[str, str, str], int] = {}
    for g, agents in enumerate(games.agents):
        if games.arrays.turns[g] and (
            agents not in shown or (games.endings[shown[agents]] is None and games.endings[g])
        ):
            shown[agents] = g
    return [transcript(games, g, lines, tags) for g in shown.values()]


# --- the page -------------------------------------------------------------------------------------------------------


def visible(text: str) -> str:
    """The text with control characters, invisible ones and halves of characters written out, such as \\u202e.

    Players' text could otherwise turn the direction of a line, or hide a part of it.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )


def render(name: str, **data: Any) -> str:
    """A page from a template of this folder, in the style of report.html.

    Everything that is put into it is escaped, and its policy lets it load nothing.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    environment.filters |= {"breakable": breakable, "nats": number, "percent": percent, "described": described}
    environment.loader = FunctionLoader(_template)
    styled = environment.get_template("report.html")
    style = "".join(styled.blocks["style"](styled.new_context()))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    shared = {"style": Markup(style), "style_hash": f"sha256-{digest}", "DASH": DASH, "UNIFORM": UNIFORM}
    return environment.get_template(name).render(**shared, **data)


def _template(name: str) -> str:
    return resources.files("otherminds.tom.experiments").joinpath(name).read_text(encoding="utf-8")


def breakable(spec: str) -> Any:
    """A spec, escaped, with places where a line may break."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([:,/])", r"\1<wbr>", str(escape(visible(spec)))))


def number(value: SupportsFloat, digits: int = 2) -> str:
    """A number as the page shows it; a dash for NaN."""
    return DASH if math.isnan(value) else f"{value:,.{digits}f}".replace("-", MINUS).replace("inf", "\N{INFINITY}")


def percent(value: SupportsFloat) -> str:
    """A share as the page shows it; a dash for NaN."""
    return DASH if math.isnan(value) else f"{100 * value:.0f}%"


def data_uri(path: Path) -> str:
    """A PNG as it can stand inside a page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


# --- CSV ------------------------------------------------------------------------------------------------------------


def write_scores(path: Path, rows: Sequence[Row], role: str = "role") -> None:
    """The rows as CSV, a column for each field. role: what the column of roles is called."""
    names = [field.name for field in fields(Row)]
    head = [role if name == "role" else name for name in names]
    write_csv(path, head, ([getattr(row, name) for name in names] for row in rows))


def write_decisions(path: Path, games: Games, shadows: Shadows, tags: Tags) -> None:
    """Every decision of the finished turns as CSV.

    status: "scored", "failed" (no answer), "unknown hint" (no mind knows a hint of this turn) or "no hints" (there was
    nothing to guess from); the last two are not in the scores. log_p: [a column for each mind], without a lapse,
    nats: -inf for what it found impossible and for a failed answer, empty where the decision is not scored or the
    mind is none of this role. set_size: how many actions the uniform choice is over. error_tags: see `error_tags`.
    """
    minds = list(dict.fromkeys(spec for _, spec in shadows))
    head = ["game", "turn", "role", "agent", "code", "action", "failed", "status", "unknown_words", "set_size"]
    head.append("error_tags")
    write_csv(path, [*head, *(f"log_p {spec}" for spec in minds)], _decisions(games, shadows, minds, tags))


def _decisions(games: Games, shadows: Shadows, minds: Sequence[str], tags: Tags) -> Iterable[list[Any]]:
    arrays, texts = games.arrays, games.words.texts
    masks = {(role, agents[role]): decided(games, role, agents[role]) for agents in set(games.agents) for role in Role}
    for g, t in zip(*np.nonzero(np.arange(arrays.codes.shape[1]) < arrays.turns[:, None]), strict=True):
        hints = arrays.hints[g, t]
        said = [texts[row] for row in hints] if (hints >= 0).all() else None
        unknown = [texts[row] for row in hints if int(row) in games.unknown]
        guesses = {Role.DECODER: arrays.decoder_guesses[g, t], Role.INTERCEPTOR: arrays.interceptor_guesses[g, t]}
        for role in Role:
            agent = games.agents[g][role]
            scored, failed, about_unknown = (mask[g, t] for mask in masks[role, agent])
            if role == Role.ENCODER:
                action = ", ".join(said) if said else ""
            else:
                action = code_text(int(guesses[role])) if guesses[role] >= 0 else ""
            status = "scored" if scored else "failed" if failed else "unknown hint" if about_unknown else "no hints"
            log_ps = []
            for spec in minds:
                shadow = shadows.get((role, spec))
                there = shadow is not None and (scored or failed)
                log_ps.append("" if not there else -math.inf if failed else float(shadow.log_p[g, t]))
            size = int(shadows[role, UNIFORM].set_size[g, t])
            code = code_text(int(arrays.codes[g, t]))
            what = [games.ids[g], t + 1, role.name.lower(), agent, code, action, not action, status]
            yield [*what, ", ".join(unknown), size, "; ".join(tags[int(g), int(t), role]), *log_ps]


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file whose text no spreadsheet takes for a formula."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows([_csv_cell(value) for value in row] for row in rows)


def _csv_cell(value: Any) -> Any:
    """Numbers to 12 digits, so that 1.5 is no 1.4999999999999998. Text cannot become a spreadsheet's formula: an
    apostrophe goes before =, +, - and @."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"'{visible(value)}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else visible(value)
    return float(f"{value:.12g}") if isinstance(value, float | np.floating) else value
