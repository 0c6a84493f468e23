"""Makes `core` a second name of this package in the process, for hosts that say `core.prompt_engine` and so on.

`import prompt_engine.as_core` first, then `from core import ...`: the same module objects under both names.
Importing this module raises ImportError where another package called `core` is loaded already.
"""

from __future__ import annotations

from .base.alias import add_alias

add_alias("core", __name__.partition(".")[0])
