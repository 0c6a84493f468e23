"""The arguments of a prompt; this module loads before anything that imports the database packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..config import GivenSettings
from ..scope import Scope

if TYPE_CHECKING:
    from ..database.engine import Database


@dataclass(frozen=True, slots=True)
class PromptRequest:
    message: Any
    context_memory: Any = None
    interface_name: str | None = None
    image_data: Any = None
    attachments: Any = None
    max_chars: int | None = None
    limit_tokens: int | None = None
    counter: Callable[[str], int] | None = None
    destination: str | None = None
    db: Database | None = None
    settings: GivenSettings = None
    scope: Scope | None = None
    replacing: str | int | None = None
    cite: bool = False
    """Whether a citation mark precedes each memory line of messages."""
    replaced_rows: frozenset[int] = frozenset()
    """Row ids of stored messages that the caller's own list replaces."""
