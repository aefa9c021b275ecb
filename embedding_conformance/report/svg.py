"""SVG as text, drawn with presentation attributes alone: they are what a strict content security policy leaves."""

from __future__ import annotations

import math
from html import escape

#: legible on light and on dark paper
GOOD, BAD, BLUE = "#2f8f5b", "#d0504a", "#3f83c9"
HUES = (BLUE, "#c7772b", GOOD, "#9a63c9", BAD, "#6f7a85")
INK, PAPER = "#1c1e21", "#ffffff"


def number(value: float) -> str:
    """A coordinate in as few characters as a tenth of a pixel needs."""
    return f"{value:.1f}".removesuffix(".0")


def tag(name: str, text: str | None = None, **attributes: object) -> str:
    """An element; in the names of attributes `_` stands for `-`."""
    shown = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{shown}/>" if text is None else f"<{name}{shown}>{escape(text)}</{name}>"


def _value(value: object) -> str:
    return number(value) if isinstance(value, float) else escape(str(value))


def picture(name: str, width: float, height: float, parts: list[str], title: str, desc: str) -> str:
    """A whole figure with its text alternative; `name` makes the ids unique in the page."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}-t {name}-d" width="{number(width)}" '
            f'height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}" font-family="sans-serif" '
            f'font-size="11" fill="currentColor">{tag("title", title, id=f"{name}-t")}{tag("desc", desc, id=f"{name}-d")}'
            f'{"".join(parts)}</svg>')


def mix(share: float, low: str, high: str) -> str:
    """A colour between two, as #rrggbb."""
    first, second = (tuple(int(one[at:at + 2], 16) for at in (1, 3, 5)) for one in (low, high))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, second, strict=True))


def shade(value: float, most: float) -> str:
    """Blue for -most, nearly white for 0, brown for most, in 41 steps."""
    step = round(20 * max(-1.0, min(1.0, value / most))) / 20 if most else 0.0
    return mix(abs(step), "#f6f5f2", "#9c4a16" if step > 0 else "#1f5f96")


def ink_on(colour: str) -> str:
    """Black or white, whichever is the easier to read on a colour."""
    channels = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.2 else PAPER


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two, at most so many."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 12) + 0.0 for index in range(first, math.floor(high / step + 1e-9) + 1)]


def dots(places: list[tuple[float, float]], width: float, colour: str) -> str:
    """Round marks, all in one path."""
    data = "".join(f"M{number(x)} {number(y)}h0" for x, y in places)
    return f'<path d="{data}" stroke="{colour}" stroke-width="{number(width)}" stroke-linecap="round"/>'
