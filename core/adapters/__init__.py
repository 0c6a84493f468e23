"""Adapters for other frameworks, one module each, imported by name.

Each imports its framework and nothing else that the engine does not bring; where it is missing the error names the
extra to install. None has a rule of visibility, ranking or storing of its own: they read what the framework hands
them, call a door in the scope they were given, and answer in the framework's own words.
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
    """Return persona and destination of a scope, for a message that names its own conversation."""
    return None if scope is None else Scope(scope.persona, destination=scope.destination)
