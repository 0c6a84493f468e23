"""D1, D2, D4, D36, T25: what is looked for in the schema, in the files of `sql/` and in every statement of the program.

No database is needed. Statements are found by reading the source, so one that is written tomorrow is checked too.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from sqlalchemy import Table, UniqueConstraint

import core
from core.base import resources
from core.database.compiled import dialect_of
from core.database.dialects import Key, Whole
from core.database.registry import BY_TABLE
from core.database.schema import TABLES
from core.upkeep import ddl
from tests import schema_files

PACKAGE = Path(str(core.__file__)).parent

EXEMPT = {"schema_version", "privacy_levels", "model_usage"}
"""About the database, not about anybody (D1); what may be kept of somebody holds for all personas (F20)."""
BY_AUDIENCE = {
    "search_fresh", "search_segment", "search_block", "search_gone",
    "search_vector", "search_vector_version", "search_vector_gone",
}  # fmt: skip
"""Lead with audience_id, which belongs to one persona."""

FORBIDDEN = [
    r"AUTO_?INCREMENT", r"CREATE\s+(DEFINER\S*\s+)?(TRIGGER|PROCEDURE|FUNCTION|EVENT)", r"\bCALL\s", r"JSON_TABLE",
    r"MEMBER\s+OF", r"\bAS\s+\w+(\(\d+\))?\s+ARRAY\b", r"FULLTEXT", r"\bRETURNING\b", r"\bLATERAL\b", r"->",
    r"\bENUM\s*\(", r"\bTEMPORARY\b", r"\b(GET|RELEASE)_LOCK\b", r"\bLOCK\s+TABLES?\b", r"\bFLUSH\s+TABLES\b",
    r"\bSKIP\s+LOCKED\b",
]  # fmt: skip
METHODS = {"returning", "lateral"}


SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)
SCRIPTS = sorted(resources.find("sql").rglob("*.sql"))


@lru_cache(maxsize=1)
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def sql_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string in a module that is SQL and no docstring."""
    tree = tree_of(path)
    parts = (part for node in ast.walk(tree) for part in ast.iter_child_nodes(node) if isinstance(part, ast.Expr))
    said = {id(part.value) for part in parts if isinstance(part.value, ast.Constant)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in said:
            continue
        if re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|LOCK|CALL|JSON_\w+)\b", node.value):
            yield node.lineno, node.value


def without_comments(text: str) -> str:
    return re.sub(r"--.*", "", text)


OWN_IDS = "id BIGINT NOT NULL AUTO_INCREMENT"
"""Stands in three tables alone, whose rows others insert by SQL."""


def forbidden_in(text: str) -> list[str]:
    text = text.replace(OWN_IDS, "")
    return [pattern for pattern in FORBIDDEN if re.search(pattern, text)]


LATER_WORDS = {"vector", "manual", "parallel", "qualify", "tablesample"}
"""Reserved by servers younger than those of the suite: MariaDB 11.7, MySQL 8.4."""


def test_d4_no_name_is_a_word_that_younger_servers_reserve() -> None:
    """MariaDB 11.7 made VECTOR one: no database could be made there, nor an older one brought to the present."""
    preparer = dialect_of("mysql").identifier_preparer
    names = {column.name for table in TABLES.values() for column in table.columns} | set(TABLES)
    assert {preparer.quote(name) for name in names if name in LATER_WORDS} == {"`vector`"}
    bare = re.compile(rf"^\s*({'|'.join(LATER_WORDS)})\s+[A-Z]", re.MULTILINE)
    script = without_comments((resources.find("sql") / "schema" / "mysql.sql").read_text(encoding="utf-8"))
    assert bare.search(script) is None


def test_d4_no_file_and_no_statement_of_the_program_uses_what_not_every_server_has() -> None:
    found = {name for name, table in TABLES.items() if OWN_IDS in ddl.create_table(table, "mysql")}
    assert found == {"memories", "ai_diary", "chat_history_cache"}, "three tables alone count their ids"
    for path in SCRIPTS:
        assert forbidden_in(without_comments(path.read_text(encoding="utf-8"))) == [], path.name
    for path in SOURCES:
        name = path.relative_to(PACKAGE.parent).as_posix()
        for line, text in sql_texts(path):
            assert forbidden_in(text) == [], f"{name}:{line}"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in METHODS, f"{name}:{node.lineno}"
                assert not [k for k in node.keywords if k.arg == "skip_locked"], f"{name}:{node.lineno}"


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_d1_every_table_has_a_primary_key_and_a_persona(table: Table) -> None:
    assert list(table.primary_key.columns)
    if table.name in EXEMPT:
        assert "persona_id" not in table.c
        return
    if table.name in BY_AUDIENCE:
        assert next(iter(table.c.keys())) == "audience_id"
        return
    column = table.c["persona_id"]
    assert isinstance(column.type, Key) and (column.type.length, column.nullable) == (64, False)
    assert str(column.server_default.arg) == "'default'"  # type: ignore[union-attr]
    assert list(table.c.keys()).index("persona_id") <= 1


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_d2_the_scope_comes_first_in_every_index(table: Table) -> None:
    first = {"persona_id"} if table.name not in BY_AUDIENCE else {"audience_id"}
    primary = tuple(table.primary_key.columns.keys())
    if table.name not in EXEMPT:
        assert primary[0] in first or (len(primary) == 1 and isinstance(table.c[primary[0]].type, Whole))
    for name, (_, columns) in ddl.list_indexes(table).items():
        assert columns[0] in first or name == "ix_participants_key", name
        assert schema_files.read_notes()[table.name, name], f"{name} has no comment that says what it serves"
        assert schema_files.key_bytes(table, columns) <= schema_files.MOST_KEY_BYTES, name
    assert schema_files.key_bytes(table, primary) <= schema_files.MOST_KEY_BYTES


def test_d2_no_index_stands_in_another() -> None:
    """Each costs every writer; one that begins another is served by it."""
    for table in TABLES.values():
        keys = [tuple(table.primary_key.columns.keys()), *(columns for _, columns in ddl.list_indexes(table).values())]
        for one in keys:
            assert not [other for other in keys if other != one and other[: len(one)] == one], (table.name, one)
        assert len(set(keys)) == len(keys)
        assert all(rule.name for rule in table.constraints if isinstance(rule, UniqueConstraint))


def test_d1_every_statement_of_a_script_is_about_one_persona() -> None:
    scripts = [without_comments(path.read_text(encoding="utf-8")) for path in SCRIPTS]
    for text in (each for script in scripts for each in ddl.split_statements(script)):
        # On SQLite the values of a script stand in a table of its own.
        statement = re.sub(r"\(SELECT (\w+) FROM given\)", r"@\1", text)
        tables = set(re.findall(r"\b(?:FROM|JOIN|UPDATE|INTO) (\w+)", statement))
        changed = re.match(r"(?:DELETE FROM|UPDATE) (\w+)", statement)
        shared = changed is not None and changed[1] in EXEMPT  # words that nobody of any persona says any more
        if statement.startswith("CREATE ") or shared or not tables & set(TABLES) - EXEMPT:
            continue
        assert "persona_id = @persona" in statement, statement
        outer = statement
        while re.search(r"\([^()]*\)", outer):
            outer = re.sub(r"\([^()]*\)", "", outer)
        assert re.search(r"persona_id = @persona|audience_id", outer), statement


STORE_FOLDERS = ("database", "upkeep", "index", "access")
STORE = [path for path in sorted(PACKAGE.rglob("*.py"))
         if path.stem.startswith("table") or path.parent.relative_to(PACKAGE).as_posix() in STORE_FOLDERS]  # fmt: skip
"""The modules that own tables or know the servers; no other one sends SQL."""
RUNNERS = {"exec_driver_sql", "text", "read", "literal_column", "prefix_with"}
"""Calls whose first argument is SQL as it goes to the server."""

TEXT_ARGUMENTS = {"text", "statement", "sql"}
JOINING = {"format", "join", "replace", "format_map"}

PUT_TOGETHER = {
    "upkeep/ddl.py": "statements that make and alter tables, of names in our schema",
    "upkeep/migration.py": "the same, run step by step",
    "upkeep/check.py": "names of our tables and columns, and of the server's own settings",
    "upkeep/inspection.py": "the server's catalogue, by names of our tables",
    "upkeep/maintenance.py": "scripts of our own files",
    "database/schema_base.py": "defaults and checks of columns, by names in our schema",
    "database/dialects.py": "names of our columns, in what an upsert changes",
    "database/connections.py": "PRAGMA, which takes no parameters",
    "transfer/table_original.py": "names of three tables of another program",
    "database/engine.py": "PRAGMA with a whole number of ours",
    "context/table.py": "texts of compiled parts, one in front of the other",
    "search/table.py": "how many characters of a text are compared, a constant of ours",
}
"""Modules that join SQL from parts, and of what: names, never values."""


def sql_arguments(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Yield line and first argument of each call that runs SQL text, under whatever name the module knows it."""
    known = RUNNERS | {
        each.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy")
        for each in node.names
        if each.asname and each.name in RUNNERS
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if isinstance(node.func, ast.Call) and getattr(node.func.func, "id", "") == "getattr":
                name = "exec_driver_sql"  # a method asked for by name may be any
            for argument in [*node.args[:1], *(each.value for each in node.keywords if each.arg in TEXT_ARGUMENTS)]:
                if name in known:
                    yield node.lineno, argument


def is_joined(argument: ast.expr) -> bool:
    """Return whether a text is put together on the spot: f-string, `%`, `+`, `.format`, `.join`, `.replace`."""
    if isinstance(argument, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in argument.values)
    if isinstance(argument, ast.BinOp):
        return isinstance(argument.op, (ast.Mod, ast.Add))
    if isinstance(argument, ast.IfExp):
        return is_joined(argument.body) or is_joined(argument.orelse)
    return isinstance(argument, ast.Call) and getattr(argument.func, "attr", "") in JOINING


def test_t25_only_the_store_sends_sql_and_no_value_is_written_into_a_statement() -> None:
    for path in STORE:
        name = path.relative_to(PACKAGE).as_posix()
        if name not in PUT_TOGETHER:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert [line for line, argument in sql_arguments(tree) if is_joined(argument)] == [], name
    for path in (path for path in SOURCES if path not in STORE):
        # Indented is what only a type checker reads.
        found = re.findall(r"^(?:from|import) (?:sqlalchemy|pymysql)\b.*", path.read_text(), re.MULTILINE)
        assert found == [], path


NOBODYS = {
    "asker", "claimed_by", "day", "fingerprint", "interface", "kind", "level", "lineage_id", "message_id", "model",
    "name", "namespace", "persona_id", "provenance", "role", "server_id", "status", "tier", "type",
}  # fmt: skip
"""Keys that name neither a person nor a conversation, and are no words people said."""
BESIDE = {"sender_id", "chat_id", "thread_id", "parent_key", "parent_channel_id"}
"""Keys of rows that are found by another column of theirs."""


def test_d36_every_key_and_text_is_registered_for_what_it_names() -> None:
    """The registry is read off the names of columns: one with a new name must not keep what was to be forgotten."""
    for table in TABLES.values():
        entry = BY_TABLE[table.name]
        keys = {column.name for column in table.columns if isinstance(column.type, Key)}
        assert keys <= {*entry.texts, *entry.participant, *entry.conversation, *NOBODYS, *BESIDE}, table.name
    assert {"content", "emotions", "context_tags"} <= set(BY_TABLE["ai_diary"].texts)
    assert {"payload", "error"} <= set(BY_TABLE["memory_jobs"].texts)
    assert BY_TABLE["ai_diary"].conversation == ("interface", "chat_id", "thread_id")
