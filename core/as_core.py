"""Makes `core` a second name of this package in the process, for hosts that import `core.prompt_engine` and so on."""

from __future__ import annotations

from .base.alias import add_alias

add_alias("core", __name__.partition(".")[0])
