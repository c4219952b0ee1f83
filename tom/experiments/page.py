"""HTML pages that need nothing beside them: templates, their style and policy, and how numbers and text stand there."""

import base64
import hashlib
import math
import re
import unicodedata
from importlib import resources
from pathlib import Path
from typing import Any, SupportsFloat

from otherminds.games.decrypto.rules import Role
from otherminds.tom.experiments.compare import UNIFORM
from otherminds.tom.minds.decrypto.registry import MINDS

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def described(spec: str, role: str) -> str:
    """What a mind is, in the words of the registry; empty for what is no mind."""
    make = MINDS[Role[role.upper()]].get(spec.partition(":")[0])
    if make is None:
        return ""
    first = re.split(r"[.;](?:\s|$)", " ".join((make.__doc__ or "").split()))[0]
    return first[:1].lower() + first[1:] if first[1:2].islower() else first


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
