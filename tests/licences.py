"""What a CycloneDX list says of licences, a line a package: `python -m tests.licences FILE`, run by `make sbom`."""

import json
import sys
from pathlib import Path
from typing import Any

UNKNOWN = "(none named)"


def list_licences(bom: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return name, version and licence of every package, by name.

    >>> list_licences({"components": [{"name": "b", "version": "1"}, {"name": "a", "version": "2", "licenses": [
    ...     {"license": {"id": "MIT"}}, {"license": {"name": "of a", "text": {"content": "BSD License\\n\\nText"}}}]}]})
    [('a', '2', 'BSD License, MIT'), ('b', '1', '(none named)')]
    """
    packages = bom.get("components", ())
    return sorted((each["name"], each.get("version", ""), _join(each.get("licenses", ()))) for each in packages)


def _join(licences: Any) -> str:
    """Return what a package says of its licence: an expression, an id, a name, or the first line of the text."""
    said = set()
    for each in licences:
        named = each.get("license", {})
        whole = named.get("text", {}).get("content")
        text = each.get("expression") or named.get("id") or whole or named.get("name") or ""
        said.add(text.strip().split("\n")[0].removeprefix("License :: OSI Approved :: "))
    return ", ".join(sorted(said - {""})) or UNKNOWN


def main(path: str) -> int:
    rows = list_licences(json.loads(Path(path).read_text(encoding="utf-8")))
    widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
    for name, version, licence in rows:
        print(f"{name:{widths[0]}}  {version:{widths[1]}}  {licence}")
    return int(any(licence == UNKNOWN for _, _, licence in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
