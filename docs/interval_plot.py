"""Draws mean differences with confidence intervals as an SVG that needs no font files and follows dark mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, LABELS, RIGHT, ROW, TOP, BOTTOM = 720, 200, 30, 26, 12, 46
_STYLE = (
    ".ground{fill:#fff}text{font:13px system-ui,sans-serif;fill:#222}.axis{stroke:#bbb}.zero{stroke:#222}"
    ".gain{stroke:#0072b2;fill:#0072b2}.loss{stroke:#d55e00;fill:#d55e00}.unclear{stroke:#777;fill:#777}"
    "@media(prefers-color-scheme:dark){.ground{fill:#181a1b}text{fill:#ddd}.axis{stroke:#555}.zero{stroke:#ddd}"
    ".gain{stroke:#56b4e9;fill:#56b4e9}.loss{stroke:#e69f00;fill:#e69f00}.unclear{stroke:#aaa;fill:#aaa}}"
)


class Row(NamedTuple):
    """A system: its mean difference to the baseline, and the bounds of the interval."""

    label: str
    mean: float
    low: float
    high: float


def interval_plot(rows: Sequence[Row], caption: str) -> str:
    """Returns the SVG: one line per row; an interval without zero is coloured by its sign."""
    ticks = _ticks(min(0.0, *(row.low for row in rows)), max(0.0, *(row.high for row in rows)))
    bottom = TOP + ROW * len(rows)

    def x(value: float) -> str:
        return f"{LABELS + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (WIDTH - LABELS - RIGHT):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img">',
        f"<title>{escape(caption)}</title><style>{_STYLE}</style>",
        '<rect class="ground" width="100%" height="100%"/>',
    ]
    for tick in ticks:
        kind = "zero" if tick == 0 else "axis"
        parts.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{TOP}" y2="{bottom}"/>')
        shown = f"{tick:+.2f}" if tick else "0"
        parts.append(f'<text x="{x(tick)}" y="{bottom + 18}" text-anchor="middle">{shown}</text>')
    for number, (label, mean, low, high) in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        kind = "gain" if low > 0 else "loss" if high < 0 else "unclear"
        parts.append(f'<text x="{LABELS - 12}" y="{y + 4.5}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<line class="{kind}" stroke-width="2" x1="{x(low)}" x2="{x(high)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{kind}" cx="{x(mean)}" cy="{y}" r="4.5"/>')
    middle = (LABELS + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 38}" text-anchor="middle">{escape(caption)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _ticks(low: float, high: float) -> list[float]:
    """Four to eight round numbers that enclose the values, with zero among them."""
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if (high - low) / s <= 6)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]
