"""Whether a request comes from where it says: the Host header, and the site a changing request was sent from. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from typing import Literal
from urllib.parse import urlsplit

_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
_PORTS = {"http": 80, "https": 443}
_NO_HOST = frozenset("@/\\?#")
"""What stands in an address around a host, never in it."""

Sign = Literal["own", "foreign", "none"]


def is_known_host(host: str, listening_on: str, allowed: Collection[str] = ()) -> bool:
    """Return whether a Host header names this machine, so that no foreign name has been pointed at it."""
    if "*" in allowed:
        return True
    name = _parse_name(host)
    if not name:
        return False
    if name == "localhost" or name.endswith(".localhost") or name in allowed or name == listening_on.lower():
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or listening_on in _ANY_ADDRESS


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches what listens there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def judge_origin(headers: Mapping[str, str], scheme: str) -> Sign:
    """Return whether a request was sent from a page of this application, of another site, or nobody says."""
    fetched = headers.get("sec-fetch-site", "").strip().lower()
    if fetched not in ("", "same-origin", "none"):
        return "foreign"
    said = headers.get("origin", headers.get("referer"))
    if said is None:
        return "own" if fetched else "none"
    place = _parse_place(said)
    return "own" if place is not None and place == _own_place(headers.get("host", ""), said, scheme) else "foreign"


def _parse_place(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None


def _own_place(host: str, said: str, scheme: str) -> tuple[str, int] | None:
    """Return name and port of this application; a Host without port has that of the scheme the browser used."""
    used = said.partition(":")[0].lower()
    return _parse_place(f"{used if used in _PORTS else scheme}://{host}")


def _parse_name(host: str) -> str:
    if not _NO_HOST.isdisjoint(host):
        return ""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    except ValueError:
        return ""
