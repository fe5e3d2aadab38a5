"""Figures inside a page: SVG whose colours follow the page's light or dark scheme."""

import io
import re
from typing import NamedTuple

import matplotlib
from matplotlib.figure import Figure

from fairgym.report import style
from fairgym.report.drawn import marks_of

DARK_GROUPS = ("#1899bc", "#ff8a39", "#26ca99", "#daa6f0", "#efe18b", "#8362e8")
DARK_POLICIES = ("#da90ff", "#5cca76", "#f9d619", "#ce4581", "#6081d0", "#b58038")
# Colour on paper -> (name of the page's variable, its counterpart on a dark ground).
COLOURS: dict[str, tuple[str, str]] = {
    style.INK: ("ink", "#e6e9ed"),
    style.MUTED: ("muted", "#9aa5b1"),
    style.GRID: ("grid", "#323a44"),
    style.PAPER: ("paper", "#1a1f26"),
    style.BASELINE_COLOUR: ("baseline", "#98a3af"),
    **{
        colour: (f"group-{i}", dark)
        for i, (colour, dark) in enumerate(zip(style.GROUP_COLOURS, DARK_GROUPS, strict=True))
    },
    **{
        colour: (f"policy-{i}", dark)
        for i, (colour, dark) in enumerate(zip(style.POLICY_COLOURS, DARK_POLICIES, strict=True))
    },
}


class Captioned(NamedTuple):
    """A figure with its heading and caption.

    Attributes:
        code: The call that draws it, in Python, where `page` is a `Measured`.
    """

    figure: Figure
    heading: str
    caption: str
    code: str = ""


def variables(dark: bool) -> str:
    """Return the colours as CSS custom properties."""
    return " ".join(
        f"--{name}: {other if dark else colour};" for colour, (name, other) in COLOURS.items()
    )


def inline_svg(figure: Figure, name: str, description: str, *, words: bool = False) -> str:
    """Return a figure as an SVG element for an HTML page.

    Parts with a mark (`drawn.mark`) have its text as their <title>, and its series.

    Args:
        figure: The figure.
        name: Unique name in the page; prefix of every id of the drawing.
        description: Text for screen readers.
        words: Whether to keep words as text in the reader's fonts, which has names in every
            script. By default their shapes are drawn.
    """
    buffer = io.StringIO()
    with style.look():
        if words:
            matplotlib.rcParams["svg.fonttype"] = "none"
        empty = {"Date": None, "Creator": None, "Format": None, "Type": None}
        ground = "none" if words else style.PAPER  # a page shows at its edge that it scrolls
        figure.savefig(buffer, format="svg", metadata=empty, facecolor=ground)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", text, count=4)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    for colour, (variable, _) in COLOURS.items():
        text = text.replace(colour, f"var(--{variable})")
    for place, one in enumerate(marks_of(figure)):
        told = f"<title>{attribute(one.text)}</title>" if one.text else ""
        series = f' data-series="{attribute(one.series)}"' if one.series else ""
        opening = f'<g id="{name}-mark-{place}"'
        text = text.replace(f"{opening}>", f'{opening} class="mark"{series}>{told}', 1)
    # The page scales the drawing to its column: only the viewBox keeps the size.
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{attribute(description)}">{rest}'.strip()


def png(figure: Figure, dpi: int = 200) -> bytes:
    """Return a figure as the content of a PNG file."""
    buffer = io.BytesIO()
    with style.look():
        figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()


def attribute(text: str) -> str:
    """Escape a text for an attribute in double quotes."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
