"""Regular expressions that are compiled at first use, because most prompts need only a few."""

import re
from typing import Any, cast


class _Pattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        for each in ("search", "match", "fullmatch", "sub", "split", "findall", "finditer", "pattern", "flags"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return cast("re.Pattern[str]", _Pattern(pattern, flags))
