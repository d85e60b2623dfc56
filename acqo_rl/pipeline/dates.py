"""The years in which a document was published or changed, as its metadata states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

_FIRST, _LAST = 1500, 2099

_TIME = "date|time|stamp|year|datum|fecha|\u0434\u0430\u0442\u0430|\u65e5\u671f|\u65e5\u4ed8|\ub0a0\uc9dc"
_ACT = (
    "publi(?:shed|sh|cation)|pub|creat(?:ed|e|ion)|modifi(?:ed|cation)|mod|updated?|issued|posted|released?|upload(?:ed)?"
    "|added|edited|revis(?:ed|ion)|chang(?:ed|e)|submitted|submission|written|mtime|ctime"
)
_BESIDE = (
    "dcterms|dc|og|article|document|doc|page|file|post|news|first|last|latest|original|online|of|at|on|in"
    "|utc|gmt|iso|unix|epoch|ms|sec|ns"
)
_DATE_KEY = re.compile(rf"(?=.*(?:{_TIME}|{_ACT}))(?:{_TIME}|{_ACT}|{_BESIDE})+")
"""A key without its separators that is made of such words only: ``publishedAt``, ``dcterms.issued``, ``timestamp_ms``
and ``lastmod`` say when the text was written; ``birth_date``, ``accessed`` and ``updated_by`` do not."""

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_DIGITS_ONLY = re.compile(
    r"(?P<year>(?:1[5-9]|20)\d\d)(?:(?:0[1-9]|1[0-2])(?:(?:0[1-9]|[12]\d|3[01])(?:[0-2]\d[0-5]\d(?:[0-5]\d)?)?)?)?"
)
"""YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhhmm and YYYYMMDDhhmmss."""

_SHORT_YEAR = re.compile(r"\d{1,2}[/.]\d{1,2}[/.](\d\d)(?!\d)")
"""Day, month and two digits of the year, which count from 1969 to 2068 as in POSIX."""
_COMPACT = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?=T\d|\b)")
_EPOCH_DIGITS = {9: 1, 10: 1, 12: 1e3, 13: 1e3, 15: 1e6, 16: 1e6, 18: 1e9, 19: 1e9}
"""Digits of a time since 1970 -> its units a second (seconds, milli-, micro- and nanoseconds)."""


def stated_years(metadata: Mapping[str, Any]) -> set[int]:
    """The years that metadata states as dates of a document; empty where it states none.

    Any form that writes the year with four digits is read (ISO 8601, RFC 2822, "3 March 2020", "03/03/2020",
    "20200303"), "03/04/20", and seconds, milli-, micro- and nanoseconds since 1970.
    """
    stated = [value for key, value in metadata.items() if _DATE_KEY.fullmatch(re.sub(r"[\W_\d]", "", key).lower())]
    return {year for value in stated for year in _years_of(value) if _FIRST <= year <= _LAST}


def _years_of(value: Any) -> set[int]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        return {year for item in value for year in _years_of(item)}
    if isinstance(value, bool) or not isinstance(value, int | float | str | date):
        return set()
    if isinstance(value, date):
        return {value.year}
    text = str(value).strip() if isinstance(value, str) else f"{value:.0f}"
    digits = re.sub(r"\.\d+$", "", text)
    if short := _SHORT_YEAR.match(text):
        return {datetime.strptime(short[1], "%y").year}
    if not digits.isascii() or not digits.isdigit():
        return {int(year) for year in [*_YEAR.findall(text), *_COMPACT.findall(text)]}
    if written := _DIGITS_ONLY.fullmatch(digits):
        return {int(written["year"])}
    units = _EPOCH_DIGITS.get(len(digits))
    return {datetime.fromtimestamp(int(digits) / units, UTC).year} if units else set()
