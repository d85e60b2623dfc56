"""The years in which a document was published or changed, as its metadata states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

_FIRST, _LAST = 1500, 2099

_DATE_KEY = re.compile(
    r"(?:dc|og|article|document|doc)?(?:date|datetime|time|timestamp|year"
    r"|(?:date|time|year)?(?:of)?(?:published|publication|publish|pub|created|creation|modified|lastmodified|modification"
    r"|updated|lastupdated|issued|posted|released|release)(?:at|on|date|time|datetime|timestamp|year)?)"
)
"""A key without its separators: ``publishedAt``, ``publication_date`` and ``dc.date`` say when the text was written,
``birth_date``, ``accessed`` and ``expires`` do not."""

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_DIGITS_ONLY = re.compile(
    r"(?P<year>(?:1[5-9]|20)\d\d)(?:(?:0[1-9]|1[0-2])(?:(?:0[1-9]|[12]\d|3[01])(?:[0-2]\d[0-5]\d(?:[0-5]\d)?)?)?)?"
)
"""YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhhmm and YYYYMMDDhhmmss."""

_COMPACT = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?=T\d|\b)")
_EPOCH_DIGITS = {9: 1, 10: 1, 12: 1e3, 13: 1e3, 15: 1e6, 16: 1e6, 18: 1e9, 19: 1e9}
"""Digits of a time since 1970 -> its units a second (seconds, milli-, micro- and nanoseconds)."""


def stated_years(metadata: Mapping[str, Any]) -> set[int]:
    """The years that metadata states as dates of a document; empty where it states none.

    Any form that writes the year with four digits is read (ISO 8601, RFC 2822, "3 March 2020", "03/03/2020",
    "20200303"), and seconds, milli-, micro- and nanoseconds since 1970.
    """
    stated = [value for key, value in metadata.items() if _DATE_KEY.fullmatch(re.sub(r"[\W_\d]", "", key).lower())]
    return {year for value in stated for year in _years_of(value) if _FIRST <= year <= _LAST}


def _years_of(value: Any) -> set[int]:
    if isinstance(value, list):
        return {year for item in value for year in _years_of(item)}
    if isinstance(value, bool) or not isinstance(value, int | float | str | date):
        return set()
    if isinstance(value, date):
        return {value.year}
    text = str(value).strip() if isinstance(value, str) else f"{value:.0f}"
    digits = re.sub(r"\.\d+$", "", text)
    if not digits.isascii() or not digits.isdigit():
        return {int(year) for year in [*_YEAR.findall(text), *_COMPACT.findall(text)]}
    if written := _DIGITS_ONLY.fullmatch(digits):
        return {int(written["year"])}
    units = _EPOCH_DIGITS.get(len(digits))
    return {datetime.fromtimestamp(int(digits) / units, UTC).year} if units else set()
