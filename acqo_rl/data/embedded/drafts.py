"""Texts about each attribute of the facts, from the templates in ``templates.yaml``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from acqo_rl.data.embedded.facts import City, Coded, Country, State


@dataclass(frozen=True, slots=True)
class Draft:
    """Texts about one attribute: a short answer, alternative opening sentences, and optional further sentences."""

    aspect: str
    answer: str
    openings: tuple[str, ...]
    more: tuple[str, ...]


@cache
def templates() -> dict[str, dict[str, dict[str, Any]]]:
    """Kind of entity -> attribute -> templates."""
    import yaml

    loaded: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
        Path(__file__).with_name("templates.yaml").read_text(encoding="utf-8")
    )
    return loaded


def drafts_of(kind: str, entity: Country | City | State | Coded) -> dict[str, Draft]:
    """Drafts by attribute; attributes whose answer is unknown are skipped."""
    fields = _fields(entity)
    drafts = {}
    for attribute, template in templates()[kind].items():
        if not template["answer"].format_map(fields) and "without" in template:
            template = {**template, **template["without"]}
        openings, more = (tuple(text.format_map(fields) for text in template[part]) for part in ("openings", "more"))
        drafts[attribute] = Draft(template["aspect"], template["answer"].format_map(fields), openings, more)
    return {attribute: draft for attribute, draft in drafts.items() if draft.answer}


def _fields(entity: Country | City | State | Coded) -> dict[str, Any]:
    """What the templates of an entity may name: its attributes, and texts made of them."""
    fields = asdict(entity)
    if isinstance(entity, Country):
        units = entity.divisions
        return fields | {
            "square_miles": round(entity.area * 0.3861),
            "borders": _enumerate(entity.neighbours),
            "neighbour_count": len(entity.neighbours),
            "kinds": _enumerate(f"{kind.lower()} ({len(members)})" for kind, members in units[:3]),
            "examples": _enumerate(units[0][1][:6]) if units else "",
            "zones": _enumerate(map(_zone, entity.timezones[:6])),
            "cities": _with_populations(entity.cities),
            "spoken": _enumerate(entity.languages),
            "language_count": len(entity.languages),
            "density": f"{entity.population / max(entity.area, 1):,.1f}",
            "rounded": _rounded(entity.population),
            "the_currency": f"the {entity.currency}" if entity.currency else "",
            "plus_phone": f"+{entity.phone}" if entity.phone else "",
        }
    if isinstance(entity, City):
        north, east = ("north" if entity.latitude > 0 else "south"), ("east" if entity.longitude > 0 else "west")
        return fields | {
            "north": north,
            "east": east,
            "position": f"{abs(entity.latitude):.2f}° {north} and {abs(entity.longitude):.2f}° {east}",
            "place": f"{entity.name} in {entity.region}",
            "away": f"{max(5, 5 * round(entity.nearest_km / 5)):,} km",
            "names": _enumerate(entity.other_names) if len(entity.other_names) > 1 else "",
            "rounded": _rounded(entity.population),
            "zone": _zone(entity.timezone),
        }
    if isinstance(entity, State):
        return fields | {
            "county_count": len(entity.counties),
            "counties": _enumerate(entity.counties[:5]),
            "cities": _with_populations(entity.cities),
            "zones": _enumerate(entity.timezones),
        }
    code, other = entity.codes
    return fields | {
        **dict.fromkeys(("code", "two"), code),
        **dict.fromkeys(("number", "three"), other),
        "countries": _enumerate(entity.countries[:8]),
        "country_count": len(entity.countries),
    }


def _with_populations(cities: Iterable[tuple[str, int]]) -> str:
    return _enumerate(f"{name} ({population:,})" for name, population in cities)


def _zone(timezone: str) -> str:
    return timezone.split("/")[-1].replace("_", " ")


def _rounded(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:.1f} million"
    return f"{round(number, -3) or number:,}"


def _enumerate(items: Iterable[str]) -> str:
    *head, last = list(items) or [""]
    return f"{', '.join(head)} and {last}" if head else last
