"""Logs an event name with fields, never the text of a message or a secret."""

import logging

logger: logging.Logger = logging.getLogger("prompt_engine")


def event(level: int, name: str, **fields: object) -> None:
    """Log `name key=value ...`, with each value formatted by `repr`."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s %s", name, " ".join(f"{key}={value!r}" for key, value in fields.items()))


def warning(name: str, **fields: object) -> None:
    event(logging.WARNING, name, **fields)
