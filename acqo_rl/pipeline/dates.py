"""Reads the years in which a document was published or changed from its metadata."""

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
"""Metadata keys (without separators) that state when a text was written.

Matches ``publishedAt``, ``dcterms.issued``, ``timestamp_ms`` and ``lastmod``, but not ``birth_date``, ``accessed`` and
``updated_by``.
"""

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_DIGITS_ONLY = re.compile(
    r"(?P<year>(?:1[5-9]|20)\d\d)(?:(?:0[1-9]|1[0-2])(?:(?:0[1-9]|[12]\d|3[01])(?:[0-2]\d[0-5]\d(?:[0-5]\d)?)?)?)?"
)
"""YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhhmm and YYYYMMDDhhmmss."""

_SHORT_YEAR = re.compile(r"\d{1,2}[/.]\d{1,2}[/.](\d\d)(?!\d)")
"""Day, month and a two-digit year, which stands for 1969 to 2068 as in POSIX."""
_COMPACT = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?=T\d|\b)")
_EPOCH_DIGITS = {9: 1, 10: 1, 12: 1e3, 13: 1e3, 15: 1e6, 16: 1e6, 18: 1e9, 19: 1e9}
"""Number of digits of a Unix time -> units per second (seconds, milli-, micro- or nanoseconds)."""


def stated_years(metadata: Mapping[str, Any]) -> set[int]:
    """Returns the years of a document's dates in its metadata; empty if there are none.

    Supports all formats with a four-digit year (ISO 8601, RFC 2822, "3 March 2020", "03/03/2020", "20200303"),
    "03/04/20", and Unix times in seconds, milli-, micro- and nanoseconds.
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
