"""Adapters for other frameworks, one module each, imported by name.

Each needs its framework and no other dependency; without it the error names the extra to install. Adapters have no
rules of visibility, ranking or storage: they call public functions in the given scope, and return results in the
framework's form.
"""

from __future__ import annotations

from ..scope import Scope


def missing(framework: str, extra: str) -> ImportError:
    """Return the error for a framework that is not installed.

    >>> str(missing("langgraph", "langgraph"))
    "This adapter needs langgraph, which is not installed. Run: pip install 'prompt-engine[langgraph]'"
    """
    return ImportError(
        f"This adapter needs {framework}, which is not installed. Run: pip install 'prompt-engine[{extra}]'"
    )


def without_conversation(scope: Scope | None) -> Scope | None:
    """Return only persona and destination of a scope, for a message that names its own conversation."""
    return None if scope is None else Scope(scope.persona, destination=scope.destination)
