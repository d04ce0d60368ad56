"""Curves of what grows, as a picture: SVG with logarithmic axes, on a white page, so that dark pages show it as well."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, ACROSS, BETWEEN, TOP, HEIGHT = 860, 70, 330, 95, 62, 220
#: A colour for each server, the same in all pictures.
COLOURS = ("#0550ae", "#cf222e", "#1a7f37", "#8250df", "#9a6700", "#57606a")


@dataclass(frozen=True)
class Curve:
    """What is drawn of one server: its points, which server it is, and whether it is another curve of the same server."""

    name: str
    points: list[tuple[float, float]]
    server: int
    is_dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One of the plots of a picture, and how the numbers at its axis are written."""

    title: str
    curves: list[Curve]
    written: Callable[[float], str]


def around(values: list[float]) -> tuple[int, int]:
    """The powers of ten below and above all values."""
    least, most = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return least, max(most, least + 1)


def marks(least: int, most: int) -> list[tuple[float, bool]]:
    """Where lines are drawn across a panel, and whether a number stands beside each: between few powers of ten, two more."""
    steps = (1, 2, 5) if most - least <= 2 else (1,)
    every = 1 if most - least <= 6 else 2
    drawn = [(step * 10.0 ** power, (power - least) % every == 0) for power in range(least, most) for step in steps]
    return [*drawn, (10.0 ** most, (most - least) % every == 0)]


def panel_of(panel: Panel, x: int, ticks: list[tuple[float, str]], across: str) -> list[str]:
    parts = [f'<text x="{x}" y="{TOP - 10}" font-weight="600">{escape(panel.title)}</text>']
    bottom, begin, end = TOP + HEIGHT, math.log10(ticks[0][0]), math.log10(ticks[-1][0])
    values = [value for curve in panel.curves for _, value in curve.points if value > 0]
    least, most = around(values) if values else (0, 1)

    def at(value: float) -> float:
        # A step stands in the middle where it is the only one.
        return x + (0.5 if begin == end else (math.log10(value) - begin) / (end - begin)) * ACROSS

    def up(value: float) -> float:
        return bottom - (math.log10(value) - least) / (most - least) * HEIGHT

    lines = "".join(f"M{x},{up(value):.1f}h{ACROSS}" for value, _ in marks(least, most))
    lines += "".join(f"M{at(value):.1f},{TOP}v{HEIGHT}" for value, _ in ticks)
    parts += [f'<path d="{lines}" stroke="#d0d7de"/>', f'<path d="M{x},{TOP}v{HEIGHT}h{ACROSS}" stroke="#57606a" fill="none"/>']
    for value, is_told in marks(least, most):
        if is_told:
            parts.append(f'<text x="{x - 7}" y="{up(value) + 4:.1f}" text-anchor="end">{escape(panel.written(value))}</text>')
    for value, label in ticks:
        parts.append(f'<text x="{at(value):.1f}" y="{bottom + 16}" text-anchor="middle">{escape(label)}</text>')
    parts.append(f'<text x="{x + ACROSS / 2:g}" y="{bottom + 36}" text-anchor="middle">{escape(across)}</text>')
    for curve in panel.curves:
        places = [(f"{at(step):.1f}", f"{up(value):.1f}") for step, value in curve.points if value > 0]
        colour = COLOURS[curve.server % len(COLOURS)]
        dashes = ' stroke-dasharray="5 4"' if curve.is_dashed else ""
        parts.append(f'<g stroke="{colour}" fill="{colour}"><polyline points="{" ".join(map(",".join, places))}" fill="none" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{place}" cy="{height}" r="2.5"/>' for place, height in places]
        parts.append("</g>")
    return parts


def legend(curves: list[Curve], y: int) -> tuple[list[str], int]:
    """A name for each curve, in as many lines as they need; gives where the last of them stands, too."""
    parts, x = [], LEFT
    for curve in curves:
        wide = 46 + 7 * len(curve.name)
        if x > LEFT and x + wide > WIDTH - 20:
            x, y = LEFT, y + 20
        dashes = ' stroke-dasharray="5 4"' if curve.is_dashed else ""
        parts.append(f'<path d="M{x},{y - 4}h22" stroke="{COLOURS[curve.server % len(COLOURS)]}" stroke-width="2"{dashes}/>')
        parts.append(f'<text x="{x + 28}" y="{y}">{escape(curve.name)}</text>')
        x += wide
    return parts, y


def drawn(title: str, across: str, ticks: list[tuple[float, str]], panels: list[Panel]) -> str:
    """A picture of panels side by side, with the same steps (`ticks`: each with its label) in each of them."""
    parts = [f'<text x="{LEFT}" y="24" font-weight="600" font-size="14">{escape(title)}</text>']
    for number, panel in enumerate(panels):
        parts += panel_of(panel, LEFT + number * (ACROSS + BETWEEN), ticks, across)
    # A curve that both panels have is told once.
    told = {curve.name: curve for panel in panels for curve in panel.curves}
    names, last = legend(list(told.values()), TOP + HEIGHT + 64)
    height = last + 16
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    return "\n".join([f'{head} font-family="system-ui, sans-serif" font-size="11" fill="#1f2328">',
                      f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *parts, *names, "</svg>"]) + "\n"
