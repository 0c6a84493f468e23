"""Chats that branch: which line is shown, and what else was said in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from ..shapes import Version


@dataclass(frozen=True, slots=True)
class Node:
    """One message of a tree."""

    id: str
    parent: str
    role: str
    """user or assistant; another for what nobody said."""
    text: str
    """Blank for what is not shown: it joins others and holds no words."""
    at: datetime | None = None
    edited: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Shown(NamedTuple):
    """A line of the branch that is shown."""

    node: Node
    at: datetime
    versions: tuple[Version, ...]


class Branch(NamedTuple):
    """What is taken of a tree."""

    lines: list[Shown]
    left: int
    """Lines of other branches that stand in the place of none that is shown."""
    is_timed: bool
    """Whether anything said a time."""


NO_TIME = "messages of conversations that say no time, given that of the file"
"""Note of a reader."""


def choose_branch(nodes: Iterable[Node], current: str, begun: datetime | None, fallback: datetime) -> Branch:
    """Return the branch that is shown, with other versions of its lines."""
    by_id = {node.id: node for node in nodes}
    path = _walk(by_id, current if current in by_id else _newest_leaf(by_id))
    shown = [node for node in path if node.text]
    groups: dict[tuple[str, str], list[Node]] = {}
    above: dict[str, str] = {}
    for node in by_id.values():
        if node.text:
            groups.setdefault((_shown_above(by_id, node, above), node.role), []).append(node)
    taken: set[str] = set()
    lines: list[Shown] = []
    times = _settle(shown, begun, fallback)
    for node, at in zip(shown, times, strict=True):
        group = groups[_shown_above(by_id, node, above), node.role]
        taken.update(each.id for each in group)
        versions = tuple(Version(each.id, each.text) for each in group) if len(group) > 1 else ()
        lines.append(Shown(node, at, versions))
    left = sum(1 for node in by_id.values() if node.text and node.id not in taken)
    return Branch(lines, left, begun is not None or any(node.at is not None for node in shown))


def _walk(by_id: Mapping[str, Node], last: str) -> list[Node]:
    """Return the messages from the root to one of them."""
    path: list[Node] = []
    seen: set[str] = set()
    while last in by_id and last not in seen:
        seen.add(last)
        path.append(by_id[last])
        last = by_id[last].parent
    return path[::-1]


def _newest_leaf(by_id: Mapping[str, Node]) -> str:
    """Return the message at the end of the newest branch, the last in the file among those of one time."""
    parents = {node.parent for node in by_id.values()}
    leaves = [node for node in by_id.values() if node.id not in parents] or list(by_id.values())
    best, newest = "", None
    for leaf in leaves:
        at = next((node.at for node in reversed(_walk(by_id, leaf.id)) if node.at is not None), None)
        if not best or newest is None or (at is not None and at >= newest):
            best, newest = leaf.id, at
    return best


def _shown_above(by_id: Mapping[str, Node], node: Node, known: dict[str, str]) -> str:
    """Return the id of the nearest message above that holds words, blank for none; `known` is filled on the way."""
    way: dict[str, None] = {}
    here = node
    while here.id not in known:
        way[here.id] = None
        above = by_id.get(here.parent)
        if above is None or above.id in way:
            found = ""
            break
        if above.text:
            found = above.id
            break
        here = above
    else:
        found = known[here.id]
    known.update(dict.fromkeys(way, found))
    return found


def _settle(shown: list[Node], begun: datetime | None, fallback: datetime) -> list[datetime]:
    """Return a time for each line: its own, never before that of the line above it."""
    first = next((node.at for node in shown if node.at is not None), None)
    known = [moment for moment in (begun, first) if moment is not None]
    now = min(known) if known else fallback
    if shown and shown[0].at is not None:
        now = shown[0].at
    times = []
    for node in shown:
        now = max(now, node.at) if node.at is not None else now
        times.append(now)
    return times
