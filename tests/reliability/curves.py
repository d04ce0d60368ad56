"""The samples of soak.py as a picture: SVG, for light and dark pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WIDTH, HEIGHT, LEFT, RIGHT, GAP, TOP = 840, 110, 60, 30, 46, 74
BINS = 180

#: Colours by class, for light and for dark pages; no variables, which not every viewer of pictures knows.
LIGHT = {"text": "fill: #1f2328", "page": "fill: #ffffff", "band": "fill: #ffd8a8", "grid": "stroke: #d0d7de", "kill": "stroke: #1f2328",
         "a": "stroke: #0550ae", "b": "stroke: #1a7f37", "c": "stroke: #cf222e", "d": "stroke: #8250df"}
DARK = {"text": "fill: #e6edf3", "page": "fill: #0d1117", "band": "fill: #5a3600", "grid": "stroke: #3d444d", "kill": "stroke: #e6edf3",
        "a": "stroke: #79c0ff", "b": "stroke: #7ee787", "c": "stroke: #ff7b72", "d": "stroke: #d2a8ff"}


def rules(colours: dict[str, str]) -> str:
    return " ".join(f"{'text' if name == 'text' else '.' + name} {{ {rule} }}" for name, rule in colours.items())


STYLE = f"""
  text {{ font: 12px system-ui, sans-serif }} .title {{ font-weight: 600 }} .curve {{ fill: none; stroke-width: 1.5; stroke-linejoin: round }}
  {rules(LIGHT)}
  @media (prefers-color-scheme: dark) {{ {rules(DARK)} }}
"""
COLOURS = "abcd"

Series = dict[str, list[tuple[float, float]]]


def binned(points: list[tuple[float, float]], seconds: float) -> list[tuple[float, float]]:
    """The greatest of each of some bins: no peak is left out."""
    best: dict[int, float] = {}
    for at, value in points:
        number = min(BINS - 1, int(at * BINS / seconds))
        best[number] = max(value, best.get(number, value))
    return [((number + 0.5) * seconds / BINS, value) for number, value in sorted(best.items())]


def rounded(most: float) -> float:
    """The end of an axis: 1, 2, 4 or 8 times a power of ten above the most."""
    power = 1.0
    while power * 10 < most:
        power *= 10
    return next(power * step for step in (1, 2, 4, 8, 10) if power * step >= most)


def panel(title: str, series: Series, seconds: float, y: float, outcome: dict[str, Any]) -> list[str]:
    curves = {name: binned(points, seconds) for name, points in series.items()}
    most = rounded(max([1.0, *(value for points in curves.values() for _, value in points)]))
    across = (WIDTH - LEFT - RIGHT) / seconds

    def place(at: float, value: float) -> str:
        return f"{LEFT + at * across:.1f},{y + HEIGHT - value * HEIGHT / most:.1f}"

    parts = [f'<text class="title" x="{LEFT}" y="{y - 8}">{title}</text>']
    for _, begun, ended in outcome["full"]:
        parts.append(f'<rect x="{LEFT + begun * across:.1f}" y="{y}" width="{max(1.0, (ended - begun) * across):.1f}" height="{HEIGHT}" class="band"/>')
    for part in (0, 0.5, 1):
        line = y + HEIGHT * (1 - part)
        parts.append(f'<path class="grid" d="M{LEFT},{line}H{WIDTH - RIGHT}"/><text x="{LEFT - 8}" y="{line + 4}" text-anchor="end">{most * part:g}</text>')
    for _, at in outcome["kills"]:
        parts.append(f'<path class="kill" d="M{LEFT + at * across:.1f},{y + HEIGHT}v5"/>')
    for (name, points), colour in zip(curves.items(), COLOURS):
        if points:
            parts.append(f'<polyline class="curve {colour}" points="{" ".join(place(*point) for point in points)}"/>')
    return parts


def legend(names: list[str], x: float, y: float) -> list[str]:
    parts = []
    for name, colour in zip(names, COLOURS):
        parts.append(f'<path d="M{x},{y - 4}h18" class="{colour}" stroke-width="3"/><text x="{x + 24}" y="{y}">{name}</text>')
        x += 50 + 7 * len(name)
    return parts


def drawn(outcome: dict[str, Any]) -> str:
    samples, seconds = outcome["samples"], outcome["seconds"]
    names = list(samples[0]["processes"])

    def of_processes(what: str, unit: float = 1) -> Series:
        return {name: [(each["at"], each["processes"][name][what] / unit) for each in samples if each["processes"][name]] for name in names}

    def of_disk(read: Callable[[dict[str, Any]], float]) -> list[tuple[float, float]]:
        return [(each["at"], read(each)) for each in samples]

    panels: list[tuple[str, Series]] = [
        ("Memory of each process (RSS, MiB)", of_processes("rss", 1 << 20)), ("Descriptors", of_processes("descriptors")),
        ("Threads", of_processes("threads")),
        ("Temporaries and records of calls in work", {"temporaries": of_disk(lambda each: each["temporaries"]), "records": of_disk(lambda each: each["records"])}),
        ("The history's files (MiB)", {"history": of_disk(lambda each: each["history"] / (1 << 20))})]
    height = TOP + len(panels) * (HEIGHT + GAP)
    time, unit = (seconds / 60, "min") if seconds > 300 else (seconds, "s")
    calls, files = (f"{outcome[what]:,}".replace(",", " ") for what in ("calls", "files"))
    about = f"{time:.0f} {unit}, {calls} calls, a tree of {files} files"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="What four servers hold under load: {about}">',
             f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{height}" class="page"/>',
             f'<text class="title" x="{LEFT}" y="20">Four servers under load: {about}</text>', *legend(names, LEFT, 40),
             f'<text x="{WIDTH - RIGHT}" y="40" text-anchor="end">mark: a server killed; band: a disk full</text>']
    for number, (title, series) in enumerate(panels):
        y = TOP + number * (HEIGHT + GAP)
        parts += panel(title, series, seconds, y, outcome)
        if len(series) == 2:
            parts += legend(list(series), WIDTH - 240, y - 8)
    bottom = height - GAP + 22
    for part in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<text x="{LEFT + part * (WIDTH - LEFT - RIGHT)}" y="{bottom}" text-anchor="middle">{part * time:.0f} {unit}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
