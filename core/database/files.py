"""Checks the folder of an SQLite file without importing the database packages."""

from pathlib import Path
from urllib.parse import unquote

from ..errors import StoreError


def check_folder(url: str) -> None:
    """Raise StoreError if the folder of an SQLite file does not exist; URLs of servers are not checked."""
    scheme, _, rest = url.partition(":")
    file = unquote(rest.removeprefix("///").partition("?")[0])
    if scheme.partition("+")[0] == "sqlite" and file not in ("", "//", ":memory:"):
        resolve_file(file)


def resolve_file(file: str) -> Path:
    """Return the path of an SQLite file after checking that its folder exists."""
    path = Path(file).expanduser().resolve()
    if not path.parent.is_dir():
        what = f"The folder {str(path.parent)!r} of the SQLite file does not exist. Create it or correct the address."
        raise StoreError(what, source="DATABASE_URL")
    return path
