"""The declaration of a flag, and the base class of a set of flag values. `config.flags` declares the flags."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from os import PathLike, fspath
from typing import Any, Literal, Self, get_args

from ..base.hints import shown
from ..errors import ConfigError
from .flag_types import DOTS, BadValueError, Choice, Frozen, Kind, Number, Switch

ValueSource = Literal["default", "file", "environment", "argument"]
"""Source of a value, the lowest-ranking first."""

GROUPS: dict[str, str] = {}
"""Descriptions of the groups by heading, in the order of config.yaml and of the documentation."""

_REMEDY = {
    "file": "Change it, or remove the line",
    "environment": "Change the variable, or remove it",
    "argument": "Pass another value, or none",
}
_IN_URL = re.compile(r"(?<=://)\S+(?=@)|(?<=\?)\S+=\S+")
"""User and password of a URL, or its query, which may hold a key."""


@dataclass(frozen=True)
class Flag:
    name: str
    default: Any
    kind: Kind
    group: str
    help: str
    default_means: str = ""
    """Meaning of the default, if the value alone does not show it."""
    secret: bool = False
    """Whether the value is shown as dots, never written to a file, and also read from a file (variable <name>_FILE)."""

    def shown(self, value: Any) -> str:
        """Format the value as text: dots for a secret, and for the user, password and query of a URL."""
        return DOTS if self.secret and value else _IN_URL.sub(DOTS, self.kind.write_text(value))

    def shown_default(self) -> str:
        value = self.shown(self.default)
        return f"{value} ({self.default_means})" if value and self.default_means else self.default_means or value

    def read(self, value: object) -> Any:
        """Convert a value from code or a command to the flag's type; raise ConfigError if it is invalid."""
        try:
            return self.kind.read(value)
        except BadValueError as bad:
            raise self.refusal(value, "argument", "argument", hint=str(bad)) from None

    def refusal(
        self, value: object, source: ValueSource, where: str, *, line: int | None = None, hint: str = ""
    ) -> ConfigError:
        place = f"{where}, line {line}" if line else where
        seen = DOTS if self.secret else _IN_URL.sub(DOTS, shown(value))
        helped = f" {hint}" if hint and not self.secret else ""
        return ConfigError(
            f"{self.name} is {seen} ({place}). It must be {self.kind.allowed}.{helped} "
            f"{_REMEDY.get(source, 'Change it')} to use {self.shown_default()}.",
            flag=self.name,
            source=where,
            line=line,
        )


def group(name: str, meaning: str) -> None:
    """Begin a group, to which the flags declared after this call belong."""
    GROUPS[name] = meaning


def flag(
    default: Any,
    help: str,  # noqa: A002 - the word of the declaration
    span: tuple[float, float] | None = None,
    unit: str = "",
    *,
    kind: Kind | None = None,
    default_means: str = "",
    secret: bool = False,
) -> Any:
    """Declare a flag of the latest group, as a field of `Settings`; a text flag without `kind` needs a Literal type."""
    if span is not None:
        kind = Number(*span, unit, is_whole=not isinstance(default, float), is_optional=default is None)
    elif isinstance(default, bool):
        kind = Switch()
    return field(default=default, metadata={"flag": (default, kind, [*GROUPS][-1], help, default_means, secret)})


class FlagValues:
    """One value for each flag. A subclass is a frozen dataclass whose fields are made by `flag`."""

    sources: Frozen

    @classmethod
    @cache
    def declared(cls) -> Mapping[str, Flag]:
        """Return every flag by its name in upper case, in the order of declaration."""
        declared: dict[str, Flag] = {}
        literals = vars(sys.modules[cls.__module__])
        for each in fields(cls):  # type: ignore[arg-type]  # the subclasses are the dataclasses
            default, kind, *more = each.metadata["flag"]
            kind = kind or Choice(get_args(literals[str(each.type)]))
            declared[each.name.upper()] = Flag(each.name.upper(), default, kind, *more)
        return Frozen(declared)

    def __new__(cls, **given: object) -> Self:
        made = object.__new__(cls)
        sources = dict.fromkeys(cls.declared(), "default") | {name.upper(): "argument" for name in given}
        made.__dict__["sources"] = Frozen(sources)
        return made

    def __post_init__(self) -> None:
        for name, source in self.sources.items():
            if source == "argument":
                self.__dict__[name.lower()] = self.declared()[name].read(self.__dict__[name.lower()])

    def under(self, values: Mapping[str, Any], sources: Mapping[str, ValueSource]) -> Self:
        """Return these settings with changed values and sources, without validating them again."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update({name.lower(): value for name, value in values.items()})
        made.__dict__["sources"] = Frozen({**self.sources, **sources})
        return made

    def replace(self, **changes: object) -> Self:
        """Return these settings with changed values; flag names are in lower case."""
        values = {}
        for name, value in changes.items():
            if name.upper() not in self.declared() or name != name.lower():
                raise TypeError(f"{name!r} is no flag in lower case. `prompt-engine config list` lists the flags.")
            values[name.upper()] = self.declared()[name.upper()].read(value)
        return self.under(values, dict.fromkeys(values, "argument"))

    def differing(self) -> dict[str, Any]:
        """Return the flags whose values differ from their defaults, as JSON values; a secret is shown as dots."""
        return {
            name: declared.shown(value) if declared.secret or isinstance(value, str) else plain(value)
            for name, declared in self.declared().items()
            for value in (self.__dict__[name.lower()],)
            if value != declared.default
        }

    def __repr__(self) -> str:
        changed = ", ".join(f"{name.lower()}={value!r}" for name, value in self.differing().items())
        return f"{type(self).__name__}({changed})"


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return list(value)
    return fspath(value) if isinstance(value, PathLike) else value
