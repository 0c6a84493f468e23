"""Reads a statement's text: which tables each of its parts touches, and whether each is held to a persona or audience.

A part is one SELECT, UPDATE or DELETE with its own FROM, WHERE and ON; what stands in parentheses is a part by itself.
A table counts as scoped when its own persona_id or audience_id is compared, in that part, with a value, a list or a
column of another table.
"""

import re
from collections.abc import Iterator

from core.database.registry import REGISTRY

SCOPE_OF = {entry.table: entry.persona for entry in REGISTRY if entry.persona}
"""Table to the column by which its rows are somebody's."""

_SPACE = re.compile(r"\s+")
_VALUES = re.compile(r"\((?:\?(?:, )?)+\)|\(__\[POSTCOMPILE_\w+\]\)")
_ASIDE = re.compile(r"\(\+ ([\w.`]+)\)")
"""How a column is kept from choosing an index on SQLite."""
NO_ROWS = ("CREATE", "ALTER", "DROP", "PRAGMA", "SHOW", "SET", "BEGIN", "ANALYZE", "EXPLAIN")
_SPLIT = re.compile(r"\b(?:UNION ALL|UNION|EXCEPT|INTERSECT)\b")
_TABLE = re.compile(
    r"(?:\bFROM|\bJOIN|,|\bUPDATE|\bSTRAIGHT_JOIN)\s+[`\"]?(\w+)[`\"]?(?:\s+AS)?(?:\s+(?!ON\b|WHERE\b|SET\b|JOIN\b|LEFT\b|"
    r"INNER\b|CROSS\b|ORDER\b|GROUP\b|LIMIT\b|FOR\b|STRAIGHT_JOIN\b|USING\b|FORCE\b|USE\b|INDEXED\b|NOT\b)[`\"]?(\w+)[`\"]?)?"
)


def parts_for_all(statement: str) -> list[tuple[str, str]]:
    """Return each table that a part touches for all personas, with that part, lists of values as `(?)`.

    >>> parts_for_all("SELECT 1 FROM tags WHERE persona_id = ? UNION ALL SELECT 1 FROM memories WHERE id IN (?, ?)")
    [('memories', 'SELECT 1 FROM memories WHERE id IN (?)')]
    """
    text = _SPACE.sub(" ", statement).strip()
    if text.upper().startswith(NO_ROWS):
        return []
    text = _ASIDE.sub(r"\1", _VALUES.sub("(?)", text.replace("%s", "?")))
    found: list[tuple[str, str]] = []
    if text.upper().startswith(("INSERT", "REPLACE")):
        match = re.match(r"(?:INSERT|REPLACE)[\w ]* INTO [`\"]?(\w+)[`\"]? ?\(([^)]*)\)", text)
        if match and match[1] in SCOPE_OF and SCOPE_OF[match[1]] not in match[2]:
            found.append((match[1], match[0]))
        text = text[match.end() :] if match else text
        if not re.search(r"\bSELECT\b", text):
            return found
    return found + [(table, part.strip()) for part in _parts(text) for table in _of_part(part)]


def _parts(text: str) -> Iterator[str]:
    """Yield each part: what is in parentheses by itself, and in its place `()` in the part around it."""
    stack: list[list[str]] = [[]]
    quoted = ""
    for char in text:
        if quoted:
            quoted = "" if char == quoted else quoted
            continue
        if char == "'":
            quoted = char
        elif char == "(":
            stack.append([])
        elif char == ")" and len(stack) > 1:
            inner = "".join(stack.pop())
            if re.search(r"\bSELECT\b", inner):
                yield from _SPLIT.split(inner)
                stack[-1].append("(?)")
            else:
                stack[-1].append("(?)" if inner == "?" else f"( {inner} )")
        else:
            stack[-1].append(char)
    yield from _SPLIT.split("".join(stack[0]))


def _of_part(part: str) -> list[str]:
    named = re.search(r"\b(?:FROM|UPDATE)\b.*", part)
    if named is None:
        return []
    body = re.split(r"\b(?:ORDER BY|GROUP BY|LIMIT|HAVING)\b", named[0])[0]
    tables, _, condition = body.partition(" WHERE ")
    conditions = condition + " " + " ".join(re.findall(r"\bON\b(.*?)(?:\bJOIN\b|$)", tables))
    heads = re.sub(r"\bON\b.*?(?=\bJOIN\b|\bLEFT\b|\bINNER\b|\bSTRAIGHT_JOIN\b|$)", " ", tables)
    heads, found = re.sub(r"\bSET\b.*", " ", heads), []
    listed = [(match[1], match[2]) for match in _TABLE.finditer(heads) if match[1] in SCOPE_OF]
    for name, alias in listed:
        known = [f"{alias or name}"]
        bare = r"(?<![\w.])" if len(listed) == 1 else r"(?!)"
        column = r"(?:persona_id|audience_id)[`\"]?"
        own = "|".join(rf"[`\"]?{re.escape(each)}[`\"]?\." for each in known)
        holds = rf"(?:(?:{own})|{bare}){column}"
        if not re.search(rf"{holds}\s*(?:=|IN\b|IS NOT DISTINCT)|=\s*(?:{own}){column}", conditions):
            found.append(name)
    return found
