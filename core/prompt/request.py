"""What a door of the prompt was asked: its arguments as one value. Imports nothing that takes time to load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..config import Settings
    from ..database.engine import Database
    from ..scope import Scope


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """The arguments of `build_json_prompt`, as they were given."""

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
    settings: Settings | Mapping[str, Any] | None = None
    scope: Scope | None = None
    replacing: str | int | None = None
