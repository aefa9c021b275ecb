"""The figures of the report: numbers that checks measured, drawn; and for each claim, how far from its bound it is."""

from __future__ import annotations

import math
from typing import Any

from . import svg
from .svg import number, tag

#: figures with more cells or points than this show no numbers
LEGIBLE = 12 * 12
#: length of a margin strip, and the multiples of the bound between which it tells values apart
STRIP, NEAR, FAR = 280.0, 1e-6, 1e6


def draw(figure: dict[str, Any], name: str) -> dict[str, Any]:
    """What the page shows of a figure: `svg` (empty for a table), `summary`, and a table of `columns` and `rows` (or None)."""
    summary, picture, table = {"matrix": _matrix, "map": _map, "curve": _curve, "bars": _bars, "table": _table}[
        figure["kind"]](figure["data"], name, figure["title"])
    return {**figure, "name": name, "svg": picture, "summary": summary, "table": table}


Drawn = tuple[str, str, tuple[list[str], list[list[Any]]] | None]


def _matrix(data: dict[str, Any], name: str, title: str) -> Drawn:
    rows, columns, values = data["rows"], data["columns"], data["values"]
    flat = [value for row in values for value in row]
    most = 1.0 if max(map(abs, flat)) <= 1 else max(map(abs, flat))
    places = {(r, c): value for r, row in enumerate(values) for c, value in enumerate(row)}
    off = {key: value for key, value in places.items() if rows != columns or key[0] != key[1]} or places
    low, high = min(off, key=off.__getitem__), max(off, key=off.__getitem__)
    summary = (f"{len(rows)} x {len(columns)} values; least {off[low]:.3g} for {rows[low[0]]} and {columns[low[1]]}, greatest "
               f"{off[high]:.3g} for {rows[high[0]]} and {columns[high[1]]}"
               + (" (beside the diagonal)" if len(off) < len(places) else ""))
    legible = len(places) <= LEGIBLE
    cell, left, top = (44.0, 74.0, 22.0) if legible else (max(4.0, 320 / len(rows)), 4.0, 4.0)
    parts: list[str] = []
    colours: dict[str, list[str]] = {}
    for (r, c), value in places.items():
        x, y, colour = left + c * cell, top + r * cell, svg.shade(value, most)
        if legible:
            parts.append(tag("rect", x=x, y=y, width=cell, height=cell, fill=colour))
            shown = f"{value:.2f}".replace("-0.00", "0.00")
            parts.append(tag("text", shown, x=x + cell / 2, y=y + cell / 2 + 4, text_anchor="middle", fill=svg.ink_on(colour)))
        else:
            colours.setdefault(colour, []).append(f"M{c} {r}h1")
    # A cell is a line as wide as it is long, which takes a tenth of the bytes of a rectangle.
    parts += [tag("path", d="".join(marks), stroke=colour, transform=f"translate({left} {top + cell / 2}) scale({cell})")
              for colour, marks in sorted(colours.items())]
    if legible:
        parts += [tag("text", _short(label, 11), x=left - 5, y=top + (r + 0.5) * cell + 4, text_anchor="end")
                  for r, label in enumerate(rows)]
        parts += [tag("text", _short(label, 7), x=left + (c + 0.5) * cell, y=top - 7, text_anchor="middle")
                  for c, label in enumerate(columns)]
    picture = svg.picture(name, left + len(columns) * cell + 2, top + len(rows) * cell + 2, parts, title, summary)
    table = (["", *columns], [[label, *row] for label, row in zip(rows, values, strict=True)]) if legible else None
    return summary, picture, table


def _map(data: dict[str, Any], name: str, title: str) -> Drawn:
    points, labels, explained = data["points"], data["labels"], data["explained"]
    shares = [f"{share:.1%}".replace("%", " %") for share in explained]
    summary = (f"{len(points)} points; the axes carry {shares[0]} and {shares[1]} of the variance, "
               f"together {sum(explained):.1%}".replace("%", " %"))
    width, height, edge = 420.0, 320.0, 30.0
    xs, ys = [x for x, _ in points], [y for _, y in points]
    # One scale for both axes: distances in the map are what it shows.
    scale = min((width - 2 * edge) / ((max(xs) - min(xs)) or 1), (height - 2 * edge) / ((max(ys) - min(ys)) or 1))
    middle = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    places = [(width / 2 + (x - middle[0]) * scale, height / 2 - (y - middle[1]) * scale) for x, y in points]
    axes = f"M{number(edge)} {number(height - 14)}H{number(width - edge)}M14 {number(edge)}V{number(height - edge)}"
    parts = [tag("path", d=axes, stroke="currentColor", stroke_width="0.5", fill="none"),
             tag("text", f"axis 1: {shares[0]} of the variance", x=width - edge, y=height - 2, text_anchor="end"),
             tag("text", f"axis 2: {shares[1]}", x=4.0, y=16.0),
             svg.dots(places, 7.0 if len(points) <= LEGIBLE else 4.0, svg.BLUE)]
    if len(points) > LEGIBLE:
        return summary, svg.picture(name, width, height, parts, title, summary), None
    parts += [tag("text", str(index), x=x + 6, y=y + 4) for index, (x, y) in enumerate(places, 1)]
    rows = [[index, label, *point] for index, (label, point) in enumerate(zip(labels, points, strict=True), 1)]
    return summary, svg.picture(name, width, height, parts, title, summary), (["", "text", "axis 1", "axis 2"], rows)


def _curve(data: dict[str, Any], name: str, title: str) -> Drawn:
    xs, lines, log = data["x"], data["lines"], bool(data.get("log"))
    every = [value for ys in lines.values() for value in ys]
    summary = "; ".join(f"{label}: {_plain(ys[0])} to {_plain(ys[-1])}" for label, ys in lines.items()) \
        + f"; over {data.get('x_name', 'x')}, {_plain(xs[0])} to {_plain(xs[-1])}"
    width, height, left, bottom, right, top = 420.0, 240.0, 62.0, 34.0, 26.0, 12.0

    def axis(values: list[float], start: float, end: float) -> tuple[Any, list[float]]:
        low, high = min(values), max(values)
        if log:
            lowest, highest = math.floor(math.log10(low)), math.ceil(math.log10(high))
            step = max(1, math.ceil((highest - lowest) / 5))
            marks = [10.0 ** power for power in range(lowest, highest + 1, step)]
            powers = (highest - lowest) or 1
            return (lambda value: start + (math.log10(value) - lowest) / powers * (end - start)), marks
        marks = svg.ticks(low, high)
        span = (high - low) or 1.0
        return (lambda value: start + (value - low) / span * (end - start)), marks

    at_x, x_marks = axis(xs, left, width - right)
    at_y, y_marks = axis(every, height - bottom, top)
    parts = [tag("path", fill="none", stroke="currentColor", stroke_width="0.5", opacity="0.6",
                 d="".join(f"M{number(left)} {number(at_y(mark))}H{number(width - right)}" for mark in y_marks)
                 + "".join(f"M{number(at_x(mark))} {number(height - bottom)}v4" for mark in x_marks))]
    parts += [tag("text", _plain(mark), x=left - 5, y=at_y(mark) + 4, text_anchor="end") for mark in y_marks]
    parts += [tag("text", _plain(mark), x=at_x(mark), y=height - bottom + 16, text_anchor="middle") for mark in x_marks]
    parts.append(tag("text", data.get("x_name", "x"), x=width - right, y=height - 3, text_anchor="end"))
    for index, (label, ys) in enumerate(lines.items()):
        path = "M" + "L".join(f"{number(at_x(x))} {number(at_y(y))}" for x, y in zip(xs, ys, strict=True))
        hue, dash = svg.HUES[index % len(svg.HUES)], ("", "6 3", "2 3")[index % 3]
        style = {"stroke": hue, "stroke_width": "2", **({"stroke_dasharray": dash} if dash else {})}
        parts.append(tag("path", d=path, fill="none", **style))
        parts.append(tag("path", d=f"M{number(left)} {number(height + 10 + 16 * index)}h24", **style))
        parts.append(tag("text", _short(label, 52), x=left + 32, y=height + 14 + 16 * index))
    rows = [[x, *(ys[at] for ys in lines.values())] for at, x in enumerate(xs)]
    table = ([data.get("x_name", "x"), *lines], rows) if len(rows) <= 40 else None
    return summary, svg.picture(name, width, height + 16.0 * len(lines) + 4, parts, title, summary), table


def _bars(data: dict[str, Any], name: str, title: str) -> Drawn:
    labels, values = data["labels"], data["values"]
    low, high = min(values), max(values)
    summary = (f"{len(values)} values; least {low:.3g} for {labels[values.index(low)]}, "
               f"greatest {high:.3g} for {labels[values.index(high)]}")
    width, left, line = 420.0, 150.0, 22.0
    most = max(abs(low), abs(high)) or 1.0
    zero = left + (width - left - 60) * (max(0.0, -low) / (most + max(0.0, -low)))
    scale = (width - left - 60) / (most + max(0.0, -low))
    parts = []
    for index, (label, value) in enumerate(zip(labels, values, strict=True)):
        y = 4 + index * line
        start, length = min(zero, zero + value * scale), abs(value) * scale
        parts.append(tag("text", _short(label, 24), x=left - 6, y=y + 13, text_anchor="end"))
        parts.append(tag("rect", x=start, y=y + 3, width=max(length, 0.5), height=line - 8, fill=svg.BLUE))
        parts.append(tag("text", f"{value:.4g}", x=start + length + 5, y=y + 13))
    return summary, svg.picture(name, width, 8 + line * len(values), parts, title, summary), \
        (["", "value"], [list(pair) for pair in zip(labels, values, strict=True)])


def _table(data: dict[str, Any], name: str, title: str) -> Drawn:
    return "", "", (data["columns"], data["rows"])


def _plain(value: float) -> str:
    """A number without an exponent while it is short."""
    return f"{value:,.0f}" if abs(value) >= 1000 and value == round(value) else f"{value:.3g}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most - 1]}…"


def used(closest: dict[str, Any] | None) -> float | None:
    """The share of its bound that a comparison used, which is above 1 where it failed; None where nothing was measured."""
    if not closest or not isinstance(closest["measured"], (int, float)) or not isinstance(closest["bound"], (int, float)):
        return None
    measured, bound = abs(closest["measured"]), closest["bound"]
    if closest["kind"] in ("greater", "differs"):
        return bound / closest["measured"] if closest["measured"] > 0 and bound > 0 else None
    return measured / bound if bound > 0 else None


def of_bound(share: float) -> str:
    """A share of a bound in words: "0.03 of the bound", "110 times the bound"."""
    if share < 1:
        return f"{share:.2g} of the bound"
    return f"{share:.2g} times the bound" if share < 100 or share >= 1e6 else f"{share:,.0f} times the bound"


def strip(observed: dict[str, float], margin: dict[str, Any] | None) -> dict[str, str] | None:
    """The margin strip of a claim on a logarithmic axis, in multiples of the bound: what was measured (filled), sound variants
    (a ring) and faults (diamonds). `svg` and a `caption` that says the same in words; None where there is nothing to show."""
    faults = sorted((size, name) for name, size in (margin or {"faults": {}})["faults"].items() if size > 0)
    sound = margin["sound"] if margin else 0.0
    seen = {name: value for name, value in observed.items() if value > 0}
    if not seen and not faults:
        return None
    shown = [*seen.values(), *(size for size, _ in faults), *([sound] if sound else []), 1.0]
    low, high = math.floor(math.log10(max(min(shown), NEAR)) - 0.2), math.ceil(math.log10(min(max(shown), FAR)) + 0.2)

    def at(value: float) -> float:
        return 8 + (math.log10(min(max(value, NEAR), FAR)) - low) / (high - low) * (STRIP - 16)

    bound = number(at(1.0))
    parts = [f'<path d="M8 14H{bound}" stroke="{svg.GOOD}"/>',
             f'<path d="M{bound} 14H{number(STRIP - 8)}" stroke="{svg.BAD}"/>',
             f'<path d="M{bound} 3v22" stroke="currentColor"/>']
    if faults:
        marks = "".join(f"M{number(at(size))} 8l5 6-5 6-5-6z" for size, _ in faults)
        parts.append(f'<path d="{marks}" fill="{svg.BAD}"/>')
    if sound:
        parts.append(f'<circle cx="{number(at(sound))}" cy="14" r="5" fill="none" stroke="{svg.GOOD}"/>')
    if seen:
        parts.append(svg.dots([(at(value), 14.0) for value in seen.values()], 9.0, svg.BLUE))
    parts.append(f'<text x="{bound}" y="36">bound</text>')
    # The caption beside it says the same in words.
    picture = (f'<svg aria-hidden="true" width="{number(STRIP)}" height="40" font-size="10" text-anchor="middle" '
               f'fill="currentColor" stroke-width="2">{"".join(parts)}</svg>')
    return {"caption": _caption(seen, sound, faults), "svg": picture}


def _caption(seen: dict[str, float], sound: float, faults: list[tuple[float, str]]) -> str:
    said = []
    if seen:
        said.append(f"● measured {of_bound(max(seen.values()))}")
    if sound:
        said.append(f"○ sound variants up to {sound:.2g}")
    if faults:
        size, name = faults[0]
        others = f", the largest {of_bound(faults[-1][0])}" if len(faults) > 1 else ""
        said.append(f"◆ the smallest fault that it must catch, {name}, is {of_bound(size)}{others}")
    return "; ".join(said)
