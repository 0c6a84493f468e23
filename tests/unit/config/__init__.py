"""What the tests of the configuration share."""

from __future__ import annotations

from pathlib import Path


def yaml_file(text: str | bytes, name: str = "config.yaml") -> str:
    """Write a file into the working directory, which is the test's own, and return its name."""
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name
