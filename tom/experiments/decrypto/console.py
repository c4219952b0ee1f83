"""What `compare` prints of games of Decrypto. Tables fit a terminal of 80 columns."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from otherminds.games.decrypto.rules import Role
from otherminds.games.decrypto.vocabulary import Vocabulary
from otherminds.tom.experiments import compare as comparison
from otherminds.tom.experiments.checks import check_lapse, report_folder
from otherminds.tom.experiments.compare import DEFAULT_MINDS, Alternatives, Nearness, Outcome, Row
from otherminds.tom.experiments.cube import LITTLE, Kind, kinds
from otherminds.tom.experiments.decrypto import profile as profiles
from otherminds.tom.experiments.decrypto import stated as statements
from otherminds.tom.experiments.decrypto.lexicon import compare as meanings
from otherminds.tom.experiments.decrypto.lexicon import console as lexicon_console
from otherminds.tom.experiments.decrypto.matches import MatchSummary, recorded_matches
from otherminds.tom.experiments.decrypto.players_console import print_profiles, print_stated
from otherminds.tom.experiments.defaults import split_agents
from otherminds.tom.experiments.error_tags import TagCount, error_tags, tag_counts
from otherminds.tom.experiments.progress import progress_bar
from otherminds.tom.experiments.records import Games, hints_said, read_games
from otherminds.tom.experiments.report import write_games, write_report
from otherminds.tom.experiments.scores import ruled_out_note, scores_table
from otherminds.tom.experiments.tables import no_nan, number, show, spread, table_of
from otherminds.tom.minds.decrypto.lexicon import make_lexicon
from otherminds.tom.minds.decrypto.registry import canonical, is_mind, named, own_vocabulary
from otherminds.tom.vectors import load_vocabulary

TOKENS = ("miscommu-\nnications", "inter-\nceptions")


def compare_logs(
    logs: Sequence[Path],
    *,
    keywords: str | None,
    vectors: str | None,
    mind_specs: Sequence[str],
    lapse: float,
    join: str | None,
    every_option: bool,
    out: str | None,
    as_json: bool,
    profile: bool = False,
    lexica: Sequence[str] = (),
) -> None:
    """`otherminds compare` for logs of Decrypto.

    Raises: a ValueError for what the user can mend, before any work.
    """
    if join is not None or every_option:
        asked = f"--join {join}" if join is not None else "--every-option"
        raise ValueError(f"{asked}: only reference games have options that can be joined; leave it out for Decrypto")
    minds = chosen_minds(mind_specs)
    check_lapse(lapse)
    vocabulary = load_vocabulary(keywords, vectors, hints_said(logs) if vectors else ())
    check_meanings(minds, vocabulary)
    folder = report_folder(logs, out, as_json)
    own = [Path(path) for path in lexica]
    report(logs, vocabulary, folder, minds, lapse, as_json=as_json, profile=profile, lexica=own)


def report(
    logs: Sequence[Path],
    vocabulary: Vocabulary,
    folder: Path | None,
    minds: dict[Role, Sequence[str]],
    lapse: float,
    *,
    as_json: bool = False,
    profile: bool = False,
    lexica: Sequence[Path] = (),
) -> None:
    """Shadows the logs' decisions, prints the tables, and writes the report; no folder: nothing is written.

    lexica: logs of elicited lexica, under which decoders are compared too.
    """
    games = read_games(logs, vocabulary)
    settings = Alternatives()
    elicited = lexicon_console.read_lexica(lexica)
    minds = with_own_minds(minds, games)
    with progress_bar("shadowing every decision", sum(map(len, minds.values()))) as advance:
        rows, shadows = comparison.compare(games, vocabulary, minds, lapse=lapse, settings=settings, on_mind=advance)
        lexicon = comparison.heard_lexicon(vocabulary, games)
        tables = comparison.outcomes(games)
        near, played = comparison.nearness(games, lexicon), recorded_matches(games)
        who, tagged = kinds(games), tag_counts(games, error_tags(games, vocabulary, lexicon))
    said = statements.read_stated(logs, games)
    calibrated, confidence = statements.calibrations(games, said, lapse)
    diverged = statements.divergences(games, said, shadows, lapse)
    meant = meanings.compare_meanings(games, lexicon, logs, elicited, lapse) if lexica else []
    profiled, privileges = [], []
    if profile:
        with progress_bar("profiling every agent", profiles.shadows()) as advance:
            profiled, privileges = profiles.profile(
                games, vocabulary, lapse=lapse, settings=settings, on_shadow=advance
            )
    if as_json:
        content = {
            "lapse": lapse,
            "alternatives": str(settings),
            "matches": [asdict(row) for row in played],
            "outcomes": [asdict(row) for row in tables],
            "scores": [asdict(row) for row in rows],
            "stated": [asdict(row) for row in calibrated],
            "confidence": [asdict(row) for row in confidence],
            "divergences": [asdict(row) for row in diverged],
            "nearness": [asdict(row) for row in near],
            "kinds": [kind._asdict() for kind in who],
            "error_tags": [asdict(row) for row in tagged],
            "meanings": [asdict(row) for row in meant],
            "profiles": [asdict(row) for row in profiled],
            "privileges": [asdict(row) for row in privileges],
        }
        print(json.dumps(no_nan(content), indent=1))
    else:
        print_matches(played)
        print_outcomes(tables)
        if games.recorded.any():
            click.echo("\nWhat the replay took from its recording is compared in the recording's own log alone.")
        print_scores(rows, lapse, settings)
        print_stated(calibrated, diverged, lapse)
        print_nearness(near)
        print_kinds(who)
        print_tags(tagged)
        if profile:
            print_profiles(profiled, privileges)
        if lexica:
            lexicon_console.print_meanings(meant, lapse)
    if folder is None:
        return
    found = {"profiles": profiled, "privileges": privileges, "meanings": meant}
    found |= {"stated": calibrated, "confidence": confidence, "divergences": diverged}
    how = {"logs": logs, "lapse": lapse, "settings": settings}
    for path in write_report(folder, games, vocabulary, rows, shadows, tables, near, **how, **found):
        click.echo(f"wrote {path}", err=as_json)


def report_games(logs: Sequence[Path], vocabulary: Vocabulary, folder: Path) -> None:
    """Prints and writes how the games of some logs went, without asking any mind."""
    games = read_games(logs, vocabulary)
    lexicon = comparison.heard_lexicon(vocabulary, games)
    outcomes, tags = comparison.outcomes(games), error_tags(games, vocabulary, lexicon)
    print_matches(recorded_matches(games))
    print_outcomes(outcomes)
    print_nearness(comparison.nearness(games, lexicon))
    print_kinds(kinds(games))
    print_tags(tag_counts(games, tags))
    for path in write_games(folder, games, outcomes, tags, logs=logs):
        click.echo(f"wrote {path}")


def with_own_minds(minds: dict[Role, Sequence[str]], games: Games) -> dict[Role, Sequence[str]]:
    """The minds joined with those that sat at the tables, so that each is compared with itself too; each mind once."""
    joined: dict[Role, dict[str, str]] = {role: {} for role in Role}
    for role, found in joined.items():
        own = (agent for agent in games.players(role) if is_mind(agent, role))
        for spec in (*minds[role], *own):
            found.setdefault(canonical(spec, role), spec)
    return {role: list(found.values()) for role, found in joined.items()}


def print_outcomes(rows: Sequence[Outcome]) -> None:
    """How the tables fared."""
    table = table_of("players", "games", "survived", "turns", *TOKENS, "failed\nanswers")
    for row in rows:
        table.add_row(
            players(*row.agents),
            str(row.games),
            f"{row.survived:.0%}" + f"\n({number(row.survived_without_failed, '.0%')})" * bool(row.failed_answers),
            spread(row.turns, row.turns_error),
            spread(row.miscommunications, row.miscommunications_error),
            spread(row.interceptions, row.interceptions_error),
            str(row.failed_answers),
            end_section=True,
        )
    notes = ["Means a game ± standard error over seeds; tokens up to a loss."]
    if any(row.failed_answers for row in rows):
        notes.append("Survived in brackets: of the games in which no answer failed.")
    show("Games (E encoder, D decoder, I interceptor)", table, *notes)


def print_matches(rows: Sequence[MatchSummary], seconds: Sequence[float] | None = None) -> None:
    """Matches of two teams, two lines a pair; nothing where there are none. seconds: that simulating each pair took."""
    if not rows:
        return
    table = table_of("teams", "matches", "won", "draws", "rounds", *TOKENS, *["seconds"] * (seconds is not None))
    for place, row in enumerate(rows):
        for team, specs in enumerate(row.teams):
            cells = [
                f"{row.games:,}",
                spread(row.won[team], row.won_error[team], ".1%"),
                f"{row.draws:.1%}",
                spread(row.rounds, row.rounds_error),
                spread(row.miscommunications[team], row.miscommunications_error[team]),
                spread(row.interceptions[team], row.interceptions_error[team]),
                *([] if seconds is None else [f"{seconds[place]:.1f}"]),
            ]
            of_both = (0, 2, 3, 6)
            shown = ["" if team and column in of_both else cell for column, cell in enumerate(cells)]
            table.add_row(players(*specs), *shown, end_section=team == 1)
    over = "seeds" if seconds is None else "matches"
    show(
        "Matches of two teams (E encoder, D decoder, I interceptor of the other's codes)",
        table,
        f"Means a match ± standard error over {over}. Interceptions: made, of the other team's codes."
        + " Seconds include compilation." * (seconds is not None),
    )


def print_scores(rows: Sequence[Row], lapse: float, settings: Alternatives) -> None:
    """How well each mind explains each agent."""
    show(
        "How well each mind explains each agent (nats a decision; higher is better)",
        scores_table(rows),
        "* explains the agent best. regret: below the mind's own best action.",
        "impossible: decisions that only the lapse allows. failed: no answer, scored as",
        "impossible. not scored: about hints that have no vector.",
        *ruled_out_note(rows),
        f"Lapse {lapse:g} for every mind. Encoders' alternatives for each digit:",
        f"{settings}.",
    )


def print_nearness(rows: Sequence[Nearness]) -> None:
    """How near hints are to their keywords; nothing where nobody gave any."""
    if not rows:
        return
    table = table_of("encoder", "known\nhints", "unknown\nor none", "median\nrank", "within\n16", "within\n200")
    for row in rows:
        table.add_row(
            Text(row.agent),
            str(row.hints),
            str(row.unknown),
            number(row.median_rank, ".0f"),
            number(row.within_16, ".0%"),
            number(row.within_200, ".0%"),
        )
    show("Hints by nearness to their keyword (rank 1: the nearest noun)", table)


def print_kinds(rows: Sequence[Kind]) -> None:
    """Whether agents play well with themselves alone; nothing where it is unknown of all."""
    known = [row for row in rows if row.kind != "unknown"]
    if not known:
        return
    table = table_of("encodes or decodes", "plays as a", "turns with\nitself", "with\nothers", "gap")
    for row in known:
        turns = number(row.with_itself, ".2f"), number(row.with_others, ".2f")
        table.add_row(Text(row.agent), row.kind, *turns, spread(row.gap, row.error))
    show(
        "Teams with itself and with others (turns survived)",
        table,
        "Specialist: the gap exceeds its standard error over seeds. Generalist: it does not,",
        f"and with its error it is below {LITTLE:g} turn. Undecided: too noisy to tell.",
    )


def print_tags(rows: Sequence[TagCount]) -> None:
    """How often each agent's decisions have an error tag."""
    table = table_of("agent", "decisions", "tagged")
    for row in rows:
        if any(row.counts.values()):
            table.add_row(Text(f"{row.role} {row.agent}"), str(row.decisions), "", style="bold")
            for tag, count in row.counts.items():
                if count:
                    table.add_row(f"  {tag}", "", str(count))
    if table.row_count:
        show("Error tags (docs/decrypto.md defines them)", table)


def players(encoder: str, decoder: str, interceptor: str) -> Text:
    """Who sits at a table, a line each."""
    return Text(f"E {encoder}\nD {decoder}\nI {interceptor}")


def chosen_minds(specs: Sequence[str]) -> dict[Role, Sequence[str]]:
    """The minds that shadow each role, from ROLE=MIND,... options.

    Raises: ValueError for what is no role, UnknownMind for what is no mind of it.
    """
    minds: dict[Role, Sequence[str]] = dict(DEFAULT_MINDS)
    for text in specs:
        name, equals, rest = text.partition("=")
        if not equals or name.upper() not in Role.__members__:
            raise ValueError(f"--minds {text!r}: write ROLE=MIND,... with encoder, decoder or interceptor for ROLE")
        minds[Role[name.upper()]] = list(dict.fromkeys(split_agents(rest)))
    for role, chosen in minds.items():
        if not chosen:
            raise ValueError(f"--minds {role.name.lower()}=: name at least one mind")
        for spec in chosen:
            named(spec, role)
    return minds


def check_meanings(minds: dict[Role, Sequence[str]], vocabulary: Vocabulary) -> None:
    """Raises: ValueError for a mind whose own meanings cannot be made of these words or of its own file."""
    for role, specs in minds.items():
        for spec in specs:
            if "dimensions=" in spec or "vectors=" in spec:
                model = named(spec, role)
                model.make_params(make_lexicon(own_vocabulary(model, vocabulary)))
