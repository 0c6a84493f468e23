"""Writes the files that show the database as it is today: `sql/schema/*.sql` and `docs/schema.md`.

`make docs` runs `python -m tests.schema_files`; `--check` only says which are out of date.
What each index serves is the comment that stands above it in `core/database/schema.py`.
"""

import ast
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Table

from core.base import resources
from core.database import schema
from core.database.dialects import ID, Key, StoredBytes, StoredText, Time, Whole
from core.database.schema import TABLES
from core.upkeep import ddl, migration

HEADERS = {"mysql": "MySQL 8.0+, MariaDB 10.11+, OceanBase. Read it in with a client that uses utf8mb4.",
           "sqlite": "SQLite 3.38+."}  # fmt: skip
_KEY_LINE = re.compile(r"    (?:PRIMARY KEY|(?:UNIQUE )?KEY `?(\w+)`?) \(")
"""The line of a key in a CREATE TABLE, with its name; the primary key has none."""
MOST_KEY_BYTES = 3072
"""The longest index key InnoDB and TiDB take."""


@lru_cache(maxsize=1)
def read_notes() -> dict[tuple[str, str], str]:
    """Return `{(table, index): what it serves}`; the primary key's name is blank."""
    lines = Path(schema.__file__).read_text(encoding="utf-8").splitlines()
    found: dict[tuple[str, str], str] = {}
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "table":
            table, last = str(ast.literal_eval(node.args[0])), ""
            for part in node.args[1:]:
                name = _index_name(part)
                if name is not None and isinstance(part, ast.Call):
                    above = _comment_above(lines, part.lineno)
                    last = above or ("" if name == "" else last)
                    found[table, name] = last
    return found


def _index_name(node: ast.expr) -> str | None:
    kind = getattr(getattr(node, "func", None), "id", "")
    if not isinstance(node, ast.Call) or kind not in ("Index", "UniqueConstraint", "PrimaryKeyConstraint"):
        return None
    if kind == "PrimaryKeyConstraint":
        return ""
    if kind == "Index":
        return str(ast.literal_eval(node.args[0]))
    return next(str(ast.literal_eval(k.value)) for k in node.keywords if k.arg == "name")


def _comment_above(lines: list[str], number: int) -> str:
    kept: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.strip().startswith("#"):
            break
        kept.insert(0, line.strip().lstrip("# "))
    return " ".join(kept)


def key_bytes(table: Table, columns: tuple[str, ...]) -> int:
    """Return the most bytes that a key over these columns takes on a server.

    >>> key_bytes(TABLES["tags"], ("persona_id", "tag"))
    319
    """
    return sum(_bytes(table.c[name]) for name in columns)


def _bytes(column: Column[Any]) -> int:
    kind = column.type
    if isinstance(kind, Key):
        return kind.length
    if isinstance(kind, StoredText):
        return 4 * (kind.length or 0)
    if isinstance(kind, Time) or kind is ID:
        return 8
    assert isinstance(kind, StoredBytes | Whole)
    return 32 if isinstance(kind, StoredBytes) else 4


def _index_notes(table: Table) -> dict[str, str]:
    keys = {"": tuple(table.primary_key.columns.keys())}
    keys |= {name: columns for name, (_, columns) in ddl.list_indexes(table).items()}
    notes = {name: read_notes().get((table.name, name)) or "the row" for name in keys}
    return {name: f"{notes[name]} ({key_bytes(table, columns)} bytes)" for name, columns in keys.items()}


def table_script(table: Table, family: str) -> str:
    said = _index_notes(table)
    lines: list[str] = []
    for line in ddl.create_table(table, family).splitlines():
        key = _KEY_LINE.match(line)
        lines += [f"    -- {said[key[1] or '']}", line] if key else [line]
    parts = ["\n".join(lines) + ";"]
    if family == "sqlite":
        parts += [f"-- {said[name]}\n{ddl.create_index(table, name, family)};" for name in ddl.list_indexes(table)]
    return "\n".join(parts)


def build_script(family: str) -> str:
    ignore = "INSERT OR IGNORE" if family == "sqlite" else "INSERT IGNORE"
    parts = [f"-- The database as it is today: {HEADERS[family]}\n-- Written by `make docs`."]
    parts += [table_script(table, family) for table in TABLES.values()]
    values = f"'{migration.list_revisions()[-1]}', '{ddl.build_fingerprint()}'"
    parts.append(f"{ignore} INTO schema_version (version_num, fingerprint) VALUES ({values});")
    return "\n\n".join(parts) + "\n"


def build_document() -> str:
    parts = ["# Tables", "Written by `make docs`, as a server has them. Times are UTC."]
    for name, table in TABLES.items():
        parts += [f"## {name}", f"```sql\n{table_script(table, 'mysql')}\n```"]
    return "\n\n".join(parts) + "\n"


def build_files() -> dict[Path, str]:
    root = resources.find("sql").parent
    scripts = {root / "sql" / "schema" / f"{family}.sql": build_script(family) for family in HEADERS}
    return {**scripts, root / "docs" / "schema.md": build_document()}


def main(arguments: list[str]) -> int:
    files = build_files()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        sys.stdout.write(f"{path}\n")
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
