"""Sentence templates for each attribute of the facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from acqo_rl.data.embedded.facts import City, Coded, Country, State


@dataclass(frozen=True, slots=True)
class Draft:
    """Texts about one attribute: a short answer, alternative opening sentences, and optional further sentences."""

    aspect: str
    answer: str
    openings: tuple[str, ...]
    more: tuple[str, ...] = ()


def draft_country(c: Country) -> dict[str, Draft]:
    """Drafts by attribute; unknown attributes are skipped."""
    return _known({**_country_land(c), **_country_order(c), **_country_people(c), **_country_contact(c)})


def _country_land(c: Country) -> dict[str, Draft]:
    borders = _enumerate(c.neighbours)
    return {
        "capital": Draft(
            "capital",
            c.capital,
            (
                f"The capital of {c.name} is {c.capital}.",
                f"{c.capital} serves as the capital city of {c.name}.",
                f"{c.name} is governed from its capital, {c.capital}.",
            ),
            ("It is the seat of the government.", f"{c.name} is part of {c.continent}."),
        ),
        "area": Draft(
            "area",
            f"about {c.area:,} square kilometres",
            (
                f"{c.name} covers an area of {c.area:,} square kilometres.",
                f"The surface of {c.name} measures {c.area:,} km², or {round(c.area * 0.3861):,} square miles.",
                f"With {c.area:,} square kilometres, this is how large {c.name} is.",
            ),
            ("The size is the one in the records of GeoNames.", f"The territory belongs to {c.continent}."),
        ),
        "borders": Draft(
            "borders",
            borders or "no land border",
            (
                f"{c.name} shares land borders with {borders}.",
                f"The neighbours of {c.name} are {borders}.",
                f"Around {c.name} lie the neighbouring countries {borders}.",
            )
            if borders
            else (
                f"{c.name} has no land border with another country.",
                f"No country borders {c.name} by land; it has no land neighbours.",
            ),
            (f"The number of bordering countries is {len(c.neighbours)}.", f"The region is {c.continent}."),
        ),
    }


def _country_order(c: Country) -> dict[str, Draft]:
    kinds = _enumerate([f"{kind.lower()} ({len(members)})" for kind, members in c.divisions[:3]])
    examples = _enumerate(c.divisions[0][1][:6]) if c.divisions else ""
    zones = _enumerate(_zone(zone) for zone in c.timezones[:6])
    cities = _enumerate([f"{name} ({population:,})" for name, population in c.cities])
    return {
        "divisions": Draft(
            "administrative divisions",
            kinds,
            (
                f"{c.name} is divided into units of the first level: {kinds}.",
                f"The administrative divisions of {c.name} are, by kind and number, {kinds}.",
            ),
            (f"Among them are {examples}.", "The list follows the standard ISO 3166-2."),
        ),
        "timezones": Draft(
            "time zones",
            zones,
            (
                f"Clocks in {c.name} follow the time of {zones}.",
                f"The time zones used in {c.name} are named after {zones}.",
            ),
            ("The zone names come from the tz database.",),
        ),
        "cities": Draft(
            "largest cities",
            cities,
            (
                f"The largest cities of {c.name} are {cities}.",
                f"By population, the biggest cities in {c.name} are {cities}.",
            ),
            ("The figures in brackets are inhabitants.", "Smaller towns are not listed."),
        ),
    }


def _country_people(c: Country) -> dict[str, Draft]:
    languages = _enumerate(c.languages)
    density = f"{c.population / max(c.area, 1):,.1f}"
    return {
        "population": Draft(
            "population",
            f"about {_rounded(c.population)} people",
            (
                f"{c.name} has a population of {c.population:,}.",
                f"About {_rounded(c.population)} people live in {c.name}.",
                f"The number of inhabitants of {c.name} is {c.population:,}.",
            ),
            (f"That makes {density} people per square kilometre.", "The figure is the one of GeoNames."),
        ),
        "currency": Draft(
            "currency",
            f"the {c.currency}" if c.currency else "",
            (
                f"The currency of {c.name} is the {c.currency}.",
                f"People in {c.name} pay with the {c.currency}.",
                f"The {c.currency} is the money that circulates in {c.name}.",
            ),
            (f"Its code is {c.currency_code}.", "Banknotes and coins of this currency are legal tender."),
        ),
        "languages": Draft(
            "languages",
            languages,
            (
                f"The languages spoken in {c.name} include {languages}.",
                f"In {c.name} people speak {languages}.",
                f"{languages} can be heard in {c.name}.",
            ),
            (
                f"The number of languages listed is {len(c.languages)}.",
                "GeoNames lists these languages for the country.",
            ),
        ),
    }


def _country_contact(c: Country) -> dict[str, Draft]:
    return {
        "phone": Draft(
            "telephone code",
            f"+{c.phone}" if c.phone else "",
            (
                f"The international dialling code of {c.name} is +{c.phone}.",
                f"To phone {c.name} from abroad, dial +{c.phone} first.",
                f"Telephone numbers of {c.name} begin with the country calling code +{c.phone}.",
            ),
            (
                "The prefix is the same from every other country.",
                "The plus sign stands for the exit code of the caller's country.",
            ),
        ),
        "domain": Draft(
            "internet domain",
            c.domain,
            (
                f"The internet top-level domain of {c.name} is {c.domain}.",
                f"Websites from {c.name} often end in {c.domain}.",
                f"Web addresses registered in {c.name} carry the suffix {c.domain}.",
            ),
            ("It is a country-code domain.", "E-mail addresses under this domain end in the same way."),
        ),
        "codes": Draft(
            "ISO codes",
            f"{c.code} and {c.code3}",
            (
                f"The ISO 3166 codes of {c.name} are {c.code} and {c.code3}.",
                f"{c.name} is abbreviated as {c.code} (two letters) and {c.code3} (three letters).",
            ),
            (f"Its numeric code is {c.number}.", "The standard ISO 3166-1 assigns these country codes."),
        ),
    }


def draft_city(c: City) -> dict[str, Draft]:
    """Drafts by attribute; alternative names are skipped if there are fewer than two."""
    north, east = ("north" if c.latitude > 0 else "south"), ("east" if c.longitude > 0 else "west")
    position = f"{abs(c.latitude):.2f}° {north} and {abs(c.longitude):.2f}° {east}"
    place = f"{c.name} in {c.region}"
    away = f"{max(5, 5 * round(c.nearest_km / 5)):,} km"
    names = _enumerate(c.other_names) if len(c.other_names) > 1 else ""
    drafts = {
        "population": Draft(
            "population",
            f"about {_rounded(c.population)} people",
            (
                f"About {_rounded(c.population)} people live in {place}.",
                f"The city of {place} has a population of {c.population:,}.",
                f"{place} counts {c.population:,} inhabitants.",
            ),
            (
                f"In the list of GeoNames it is number {c.rank} by population in {c.country}.",
                "Suburbs may be counted apart.",
            ),
        ),
        "position": Draft(
            "position",
            position,
            (
                f"{place} lies at {position}.",
                f"The coordinates of {place} are latitude {c.latitude:.2f} and longitude {c.longitude:.2f}.",
            ),
            (
                f"That is {north} of the equator.",
                f"A map shows it in the {north}ern hemisphere, {east} of Greenwich.",
            ),
        ),
        "timezone": Draft(
            "time zone",
            c.timezone,
            (
                f"The time zone of {place} is {c.timezone}.",
                f"Clocks in {place} are set to the zone {c.timezone}.",
                f"Local time in {place} follows {_zone(c.timezone)} ({c.timezone}).",
            ),
            ("The zone name comes from the tz database.",),
        ),
        "names": Draft(
            "other names",
            names,
            (
                f"{place} is also known as {names}.",
                f"Other names of {place} are {names}.",
                f"In other languages or times {place} has been called {names}.",
            ),
            ("Spellings vary with the language.",),
        ),
        "nearest": Draft(
            "nearest city",
            f"{c.nearest}, about {away} away",
            (
                f"The nearest large city to {place} is {c.nearest}, about {away} away.",
                f"From {place} it is about {away} to {c.nearest}, the closest large city.",
            ),
            (
                "The distance is measured along a straight line.",
                "A large city counts at least 100,000 inhabitants.",
            ),
        ),
    }
    return _known(drafts)


def draft_state(s: State) -> dict[str, Draft]:
    """Drafts by attribute."""
    cities = _enumerate([f"{name} ({population:,})" for name, population in s.cities])
    zones = _enumerate(s.timezones)
    drafts = {
        "codes": Draft(
            "postal abbreviation",
            s.code,
            (
                f"The postal abbreviation of the state of {s.name} is {s.code}.",
                f"Mail to {s.name} carries the letters {s.code}.",
            ),
            (f"Its FIPS code is {s.fips}.",),
        ),
        "counties": Draft(
            "counties",
            f"{len(s.counties)} counties",
            (
                f"The state of {s.name} is divided into {len(s.counties)} counties or equivalents.",
                f"There are {len(s.counties)} counties in {s.name}.",
            ),
            (f"Among them are {_enumerate(s.counties[:5])}.",),
        ),
        "cities": Draft("largest cities", cities, (f"The largest cities in the state of {s.name} are {cities}.",)),
        "timezones": Draft(
            "time zones",
            zones,
            (f"The time zones of the state of {s.name} are {zones}.", f"Clocks in {s.name} follow {zones}."),
        ),
    }
    return _known(drafts)


def draft_language(c: Coded) -> dict[str, Draft]:
    """Drafts by attribute; a language without known countries has only its codes."""
    two, three = c.codes
    countries = _enumerate(c.countries[:8])
    drafts = {
        "codes": Draft(
            "language code",
            f"{two} and {three}",
            (
                f"The ISO 639 codes of the {c.name} language are {two} and {three}.",
                f"Libraries and software mark the language {c.name} with the codes {two} or {three}.",
            ),
            ("The shorter of the two codes is used in web pages.",),
        ),
        "countries": Draft(
            "countries",
            countries,
            (
                f"The {c.name} language is spoken in {countries}.",
                f"Speakers of {c.name} live in {countries}.",
            ),
            ("The list of countries counts official and regional use.",),
        ),
    }
    return _known(drafts)


def draft_script(c: Coded) -> dict[str, Draft]:
    """Drafts by attribute."""
    code, number = c.codes
    return {
        "codes": Draft(
            "script code",
            code,
            (
                f"The ISO 15924 code of the {c.name} script is {code}.",
                f"The writing system {c.name} has the four-letter script code {code}.",
            ),
            (f"Its number in the standard is {number}.", "Fonts and catalogues use this code for the script."),
        )
    }


def draft_currency(c: Coded) -> dict[str, Draft]:
    """Drafts by attribute."""
    code, number = c.codes
    countries = _enumerate(c.countries[:8])
    return {
        "codes": Draft(
            "currency code",
            code,
            (
                f"The ISO 4217 code of the {c.name} is {code}.",
                f"Banks abbreviate the {c.name} as {code}.",
            ),
            (f"Its numeric currency code is {number}.",),
        ),
        "countries": Draft(
            "countries",
            countries,
            (f"The {c.name} is used in {countries}.", f"One pays with the {c.name} in {countries}."),
            (f"The number of countries and territories that use it is {len(c.countries)}.",),
        ),
    }


def _known(drafts: dict[str, Draft]) -> dict[str, Draft]:
    return {attribute: draft for attribute, draft in drafts.items() if draft.answer}


def _zone(timezone: str) -> str:
    return timezone.split("/")[-1].replace("_", " ")


def _rounded(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:.1f} million"
    return f"{round(number, -3) or number:,}"


def _enumerate(items: Iterable[str]) -> str:
    *head, last = list(items) or [""]
    return f"{', '.join(head)} and {last}" if head else last
