"""The account of one call: what was found, kept and left out, what it cost and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from time import perf_counter
from typing import Any

from ..errors import CoreError
from ..scope import Scope
from ..shapes import LeftOut
from ..text.sizes import to_json
from ..text.strict_json import make_strict
from .rules_reduction import Reduction, count_tokens, items_in

MAX_MESSAGE_CHARS = 500
"""Longest text of an error."""


class Report:
    """What one call did, filled in as it goes."""

    def __init__(
        self,
        scope: Scope | None = None,
        *,
        flags: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Start a report."""
        self.scope = scope
        self.flags: dict[str, Any] = dict(flags or {})
        self.tags: list[str] = []
        self.words: list[str] = []
        self.expansion: list[str] = []
        """Tags that expansion added."""
        self.limit: int | None = None
        self.limit_tokens: int | None = None
        self.size: int | None = None
        self.tokens: int | None = None
        self.over_limit: bool = False
        self.counter: str | None = None
        self.extra: dict[str, Any] = {}
        """Further accounts by name, such as that of the search; they come last and replace no key of the report."""
        self._clock = clock
        self._notes: dict[str, None] = {}
        self._kept: dict[str, tuple[int, int | None, int | None]] = {}
        self._left_out: list[LeftOut] = []
        self._shortened: list[LeftOut] = []
        self._stages: dict[str, dict[str, Any]] = {}

    def look_for(self, tags: Sequence[str], expansion: Sequence[str], words: Sequence[str]) -> None:
        """Say what the message asks for: its tags, those that expansion added, its words."""
        self.tags, self.expansion, self.words = list(tags), list(expansion), list(words)

    def add_account(self, name: str, account: Any) -> None:
        """Add the account of a part, such as the search."""
        self.extra[name] = account

    def note(self, *texts: str) -> None:
        """Add notes; the same text is held once."""
        self._notes.update(dict.fromkeys(texts))

    def keep(self, section: str, kept: int, *, chars: int | None = None, tokens: int | None = None) -> None:
        """Say how many items of a section are in the prompt and how large it is; a later call replaces an earlier."""
        self._kept[section] = (max(0, kept), chars, tokens)

    def leave_out_all(self, items: Sequence[LeftOut]) -> None:
        """Add items that are not in the prompt."""
        self._left_out.extend(items)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage, also when it raises; a stage run twice adds up."""
        entry = self._stage(name)
        start = self._clock()
        try:
            yield
        finally:
            entry["ms"] += max(0.0, self._clock() - start) * 1000

    def fail(self, stage: str, source: str, error: BaseException) -> None:
        """Add the error of a source: its class, and the text only of this package's own exceptions."""
        kind = type(error).__name__
        text = str(error)[:MAX_MESSAGE_CHARS] if isinstance(error, CoreError) else kind
        self._stage(stage)["errors"].append({"source": source, "error": kind, "message": text})

    def _stage(self, name: str) -> dict[str, Any]:
        return self._stages.setdefault(name, {"stage": name, "ms": 0.0, "errors": []})

    @property
    def failed_sources(self) -> tuple[str, ...]:
        """Sources that failed, in the order they did."""
        return tuple(dict.fromkeys(error["source"] for stage in self._stages.values() for error in stage["errors"]))

    def reduced(
        self,
        reduction: Reduction,
        *,
        limit: int | None = None,
        limit_tokens: int | None = None,
        counter: str | None = None,
        count: Callable[[str], int] | None = None,
    ) -> None:
        """Take over the end of the call: what each section of the final prompt holds, what was cut, limits
        and sizes.
        """
        lost, sections = reduction.left_out, reduction.sections
        self.leave_out_all(lost)
        self._shortened.extend(LeftOut(each.section, "shortened", each.id) for each in reduction.shortened)
        context = reduction.prompt.get("context")
        gone = self._kept if "context" not in reduction.prompt else [cut.section for cut in reduction.cut]
        for section in [*gone, *(item.section for item in lost)]:
            self.keep(section, 0, chars=0)
        for section, value in (context if isinstance(context, Mapping) else {}).items():
            tokens = count_tokens(count, to_json(value)) if count is not None else None
            self.keep(section, items_in(value), chars=sections.get(section), tokens=tokens)
        self.note(*reduction.notes, *reduction.notes_of_cuts)
        self.limit, self.limit_tokens, self.counter = limit, limit_tokens, counter
        self.size, self.tokens, self.over_limit = reduction.size, reduction.tokens, reduction.over_limit

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values; the keys always stand in this order."""
        made = {
            "scope": _scope(self.scope),
            "flags": dict(sorted(self.flags.items())),
            "tags": list(self.tags),
            "words": list(self.words),
            "expansion": list(self.expansion),
            "notes": list(self._notes),
            "sections": self._sections(),
            "left_out": [_told(item) for item in self._left_out],
            "shortened": [_told(item) for item in self._shortened],
            "stages": [{**stage, "ms": round(stage["ms"], 3)} for stage in self._stages.values()],
            "limit": self.limit,
            "limit_tokens": self.limit_tokens,
            "size": self.size,
            "tokens": self.tokens,
            "over_limit": self.over_limit,
            "counter": self.counter,
        }
        plain: dict[str, Any] = make_strict({**self.extra, **made})[0]
        return {**{name: plain[name] for name in made}, **plain}

    def _sections(self) -> dict[str, dict[str, int | None]]:
        lost: dict[str, int] = {}
        for item in self._left_out:
            lost[item.section] = lost.get(item.section, 0) + 1
        made: dict[str, dict[str, int | None]] = {}
        for section in dict.fromkeys((*self._kept, *lost)):
            kept, chars, tokens = self._kept.get(section, (0, 0, None))
            made[section] = {"found": kept + lost.get(section, 0), "kept": kept, "chars": chars, "tokens": tokens}
        return made


def _told(item: LeftOut) -> dict[str, str]:
    return {"section": item.section, "reason": item.reason, "id": item.id}


def _scope(scope: Scope | None) -> dict[str, Any] | None:
    if scope is None:
        return None
    return {field.name: getattr(scope, field.name) for field in fields(scope)}
