"""Fills the tables, sentences and plots of README.md and docs/ with the figures of configs/figures.json.

python docs/make_results.py           writes the pages
python docs/make_results.py --check   exits with status 1 if a page or a plot is out of date

A table is described by a comment before it: a cell is described by its row and its column together. ``measure`` and
``difference`` stand for the row's measure and its difference to the first system; ``name of the measure`` prints it.

    <!-- table
    rows:
      raw query: {system: raw}
      policy: {system: four_sets}
    columns:
      nDCG@10: {result: conv_dstc11_dense, figure: nDCG@10}
    -->
    (the table)
    <!-- end -->

``than: SYSTEM`` shows the change of a figure relative to this system, in percent, and ``target: PERCENT`` in the row
whether it is reached.

With ``tables:``, a mapping of captions to values, there is one table for each; ``INDEX`` stands for the value.

In a sentence, a figure is written as {result/system/figure}:

    <!-- text
    The policy reaches an nDCG@10 of {conv_dstc11_dense/four_sets/nDCG@10}.
    -->
    (the sentence)
    <!-- end -->

A plot shows differences to the raw query with their confidence intervals. Its file is in docs/figures/results:

    <!-- plot
    file: conversations.svg
    caption: nDCG@10, difference to the raw query
    rows:
      policy: {result: conv_dstc11_dense, system: four_sets, measure: nDCG@10}
    -->
    (the picture)
    <!-- end -->

``tables:`` is also possible in a plot, which then has all rows for each caption.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PLOTS = ROOT / "docs" / "figures" / "results"

_BLOCK = re.compile(r"<!-- (?P<kind>table|text|plot)\n(?P<source>.*?)-->\n.*?<!-- end -->", re.S)
_FIGURE = re.compile(r"\{([^{}/]+)/([^{}/]+)/([^{}]+)\}")
_COUNTS = ("searches", "tokens", "calls")

Figures = dict[str, dict[str, dict[str, float | list[float]]]]


def filled(page: str, figures: Figures) -> str:
    """The page with its tables and sentences written anew."""

    def fill(block: re.Match[str]) -> str:
        source = block["source"]
        made = {"table": _tables, "text": _sentence, "plot": _picture}[block["kind"]](source, figures)
        return f"<!-- {block['kind']}\n{source}-->\n{made}\n<!-- end -->"

    return _BLOCK.sub(fill, page)


def _tables(source: str, figures: Figures) -> str:
    import yaml

    tables = yaml.safe_load(source).get("tables") or {"": ""}
    return "".join(
        (f"\n{caption}:\n" if caption else "") + _table(yaml.safe_load(source.replace("INDEX", str(value))), figures)
        for caption, value in tables.items()
    )


def _table(spec: dict[str, Any], figures: Figures) -> str:
    lines = [["", *spec["columns"]], ["---"] * (1 + len(spec["columns"]))]
    for label, row in spec["rows"].items():
        cells = [{**row, **column} for column in spec["columns"].values()]
        lines.append([label, *(_cell(figures, **cell) for cell in cells)])
    return "\n" + "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def _cell(
    figures: Figures,
    *,
    figure: str,
    measure: str = "",
    result: str = "",
    system: str = "",
    than: str = "",
    target: float | None = None,
) -> str:
    if figure == "name of the measure":
        return measure
    named = {"measure": measure, "difference": f"{measure}, difference"}
    figure = named.get(figure, figure)
    if not than:
        return _shown(figures, result, system, figure)
    value, before = (figures[result].get(one, {}).get(figure) for one in (system, than))
    if not isinstance(value, float) or not isinstance(before, float):
        return ""
    change = 100 * (value / before - 1)
    verdict = "" if target is None else ", met" if change >= target else ", not met"
    return f"{change:+.0f} %{verdict}"


def _sentence(source: str, figures: Figures) -> str:
    def value(place: re.Match[str]) -> str:
        shown = _shown(figures, *place.groups())
        if not shown:
            raise SystemExit(f"figures.json has no {place[0]}")
        return shown

    return _FIGURE.sub(value, source).rstrip("\n")


def _picture(source: str, figures: Figures) -> str:
    import yaml

    spec = yaml.safe_load(source)
    return f"\n![{spec['caption']}](../figures/results/{spec['file']})\n"


def plots(page: str, figures: Figures) -> dict[str, str]:
    """File name -> SVG of the plots of a page."""
    import yaml
    from interval_plot import Row, interval_plot

    drawn = {}
    for block in _BLOCK.finditer(page):
        if block["kind"] == "plot":
            spec = yaml.safe_load(block["source"])
            rows = [
                Row(label, *figures[row["result"]][row["system"]][f"{row['measure']}, difference"])
                for label, row in _rows(block["source"]).items()
            ]
            drawn[spec["file"]] = interval_plot(rows, spec["caption"])
    return drawn


def _rows(source: str) -> dict[str, dict[str, str]]:
    """The rows of a plot; with ``tables:``, all rows for each of its captions."""
    import yaml

    rows: dict[str, dict[str, str]] = {}
    for caption, value in (yaml.safe_load(source).get("tables") or {"": ""}).items():
        spec = yaml.safe_load(source.replace("INDEX", str(value)))
        rows |= {f"{caption}: {label}" if caption else label: row for label, row in spec["rows"].items()}
    return rows


def _shown(figures: Figures, result: str, system: str, figure: str) -> str:
    """A figure as it is printed; empty if the result has no such system or figure."""
    value = figures[result].get(system, {}).get(figure)
    if value is None:
        return ""
    if isinstance(value, list):
        mean, low, high = (_decimals(number, sign="+") for number in value)
        return f"{mean} [{low}, {high}]"
    return f"{value:.2f}" if figure in _COUNTS else _decimals(value)


def _decimals(value: Any, sign: str = "") -> str:
    """Three decimals without a leading zero: .545. A zero has no sign."""
    shown = re.sub(r"^([+-]?)0\.", r"\1.", f"{value:{sign}.3f}")
    return shown.lstrip("+-") if shown.endswith(".000") and abs(value) < 0.5 else shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes or checks the pages; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; status 1 if a page is out of date")
    check = parser.parse_args(arguments).check
    figures = json.loads((ROOT / "configs" / "figures.json").read_text(encoding="utf-8"))
    files: dict[Path, str] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        files[page] = filled(text, figures)
        files |= {PLOTS / name: picture for name, picture in plots(text, figures).items()}
    outdated = [f for f, text in files.items() if not f.is_file() or f.read_text(encoding="utf-8") != text]
    for file in [] if check else outdated:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(files[file], encoding="utf-8")
    if check and outdated:
        names = ", ".join(str(file.relative_to(ROOT)) for file in outdated)
        sys.stderr.write(f"{names} out of date; run: python docs/make_results.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
