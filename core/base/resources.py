"""Finds `prompts/` and `sql/`, in a checkout and in an installed wheel alike."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def find(name: str) -> Path:
    """Return the path of a file or folder that ships with the package, such as `prompts` or `sql/schema`."""
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"{name} is not part of this installation. Install the package again.")
