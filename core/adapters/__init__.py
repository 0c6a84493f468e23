"""Adapters for other frameworks, one module each, imported by name.

Each needs its framework and no other dependency; without it the error names the extra to install. Adapters have no
rules of visibility, ranking or storage: they call public functions in the given scope, and return results in the
framework's form.
"""

from ..calls.call import GivenSettings
from ..calls.defaults import scope_for, settings_for
from ..scope import Scope


def missing(framework: str, extra: str) -> ImportError:
    what = f"This adapter needs {framework}, which is not installed. Run: pip install 'prompt-engine[{extra}]'"
    return ImportError(what)


def scope_on_server(server: object, scope: Scope | None, settings: GivenSettings) -> Scope:
    """Return a scope with `server`, and with persona and destination of `scope`, for a message with a conversation."""
    given = scope_for(scope, settings_for(settings))
    return Scope(given.persona, server=str(server or ""), destination=given.destination)
