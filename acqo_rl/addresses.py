"""Addresses of folders and servers, which are rendered without passwords and keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

HIDDEN = "***"
_SHORTEST_KEY = 8
"""Minimum characters of a key that is masked; shorter ones are placeholders such as "x"."""
_NAME = r"([?&#][\w.%-]{0,40}?(?:pass|pwd|secret|token|key|auth|credential|sig|%)[\w.%-]{0,40}=)"
"""Names of parameters that hold secrets, and percent-encoded names, which may be any of them."""
_PARAMETER = re.compile(rf"{_NAME}\S*", re.I)
_PARAMETER_OF_ADDRESS = re.compile(rf"{_NAME}.*", re.I | re.S)
_AUTHORITY = re.compile(r"[^/?\s]*")
_PORT = re.compile(r"\d+(?![\w%])")
_AT = re.compile(r"@(?!original(?:[,+\s]|$))")
"""The sign before a host; ``@original`` follows an index that searches only the raw query."""
_keys: set[str] = set()


class Address(str):
    """An index, a model or a server: a name, a folder, a URL, or several of them in one setting.

    The text has ``***`` in place of passwords and keys, so no rendering of it (f-string, ``repr``, JSON, YAML,
    ``asdict``) contains them.

        >>> address = Address("postgresql://me:p@ss@localhost/db/pages?sslpassword=x")
        >>> address
        'postgresql://me:***@localhost/db/pages?sslpassword=***'
        >>> address.whole()
        'postgresql://me:p@ss@localhost/db/pages?sslpassword=x'
    """

    __slots__ = ("_whole",)
    _whole: str

    def __new__(cls, text: object) -> Address:
        """Creates an address; that of another :class:`Address` keeps its secrets."""
        whole = whole_of(text)
        address = super().__new__(cls, _masked(whole, is_address=True))
        address._whole = whole
        return address

    def whole(self) -> str:
        """The address with its secrets, for the client library of the server."""
        return self._whole

    def removesuffix(self, suffix: str) -> Address:
        """As of a text, with the secrets."""
        return Address(self._whole.removesuffix(suffix))

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: Callable[[object], Any]) -> Any:
        """Pydantic reads an address like a text."""
        from pydantic_core.core_schema import no_info_after_validator_function

        return no_info_after_validator_function(cls, handler(str))

    def __reduce__(self) -> tuple[type[Address], tuple[str]]:
        return Address, (str(self),)

    def __deepcopy__(self, _: object) -> Address:
        return self


yaml.SafeDumper.add_multi_representer(Address, lambda dumper, address: dumper.represent_str(str(address)))


def whole_of(text: object) -> str:
    """A text; of an :class:`Address`, with its secrets."""
    return text.whole() if isinstance(text, Address) else str(text)


def hide(key: str) -> None:
    """Masks a key in all later messages."""
    if len(key) >= _SHORTEST_KEY:
        _keys.add(key)


def masked(text: str) -> str:
    """A message without the passwords and keys of the URLs in it, and without the keys of this process."""
    for key in _keys:
        text = text.replace(key, HIDDEN)
    return _masked(text, is_address=False)


def _masked(text: str, *, is_address: bool) -> str:
    """Masks the secrets of URLs; only in an address, they may contain white space."""
    if "=" in text:
        text = (_PARAMETER_OF_ADDRESS if is_address else _PARAMETER).sub(rf"\1{HIDDEN}", text)
    before, *pieces = text.split("://")
    if is_address and not pieces and text.partition("@")[0].partition(":")[2] and _AT.search(text):  # without a scheme
        return _without_credentials(text, may_be_key=False, is_address=True)
    shown = [before]
    for piece in pieces:
        end = len(piece) if is_address else next((i for i, c in enumerate(piece) if c.isspace()), len(piece))
        may_be_key = not shown[-1].lower().endswith("postgresql")
        shown.append(_without_credentials(piece[:end], may_be_key, is_address) + piece[end:])
    return "://".join(shown)


def _without_credentials(url: str, may_be_key: bool, is_address: bool) -> str:
    """Masks what is before the host.

    A password may contain any sign, so it ends at the last ``@`` before the parameters. It may also contain a ``?``:
    what follows a colon is a password if it is no port. A user without a password may be a key, except in PostgreSQL.
    """
    authority = _AUTHORITY.match(url)[0]  # type: ignore[index]
    rest = authority.partition(":")[2]
    is_port = not rest or authority.startswith("[") or _PORT.match(rest)
    ends = [match.start() for match in _AT.finditer(url.partition("?")[0] if is_port or "@" in authority else url)]
    if not ends and (is_port or not is_address):  # as in http://HOST:PORT
        return url
    end = ends[-1] if ends else len(authority)
    name, colon, _ = url[:end].partition(":")
    if colon:
        return f"{name}:{HIDDEN}{url[end:]}"
    return f"{HIDDEN if may_be_key or '%' in name else name}{url[end:]}"
