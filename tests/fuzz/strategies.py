"""Hostile values with structure, for hypothesis: texts, JSON, YAML, templates, files, and Python values of any kind."""

# ruff: noqa: E501 - the lists of hostile pieces are read better in few lines
import json
import os
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "12"))
"""Inputs of each target; a default run takes a few, `make fuzz` thousands."""

LONG = 2**20
"""Characters of the longest texts: as large as a hostile message, well under what may be stored."""

SIGNS = (
    "\x00", "\x1b[2J", "\ud800", "\udfff", "\ufeff", "\u202e", "\u2066", "\u200d", "\u2028", "\x85", "\r\n", "\n", "\t", " ",
    "{", "}", "[", "]", "(", ")", "<", ">", '"', "'", "`", "```", "~~~", "\\", "\\u", "\\ud800", "/", "//", "/*", "*/", "#", "# ",
    "## ", "- ", "> ", "* ", "1. ", "---\n", "...", ": ", ", ", ":", ",", ".", ";", "&", "&a ", "*a", "!!", "!!python/object:os.system ",
    "<<: *a\n", "|", "|\n", "%", "%s", "%(x)s", "{0}", "{x.__class__}", "{{", "}}", "{%", "%}", "{#", "#}", "${x}", "$(x)", ":x", "?", "!",
    "@memory", "--", "-- ", "' OR 1=1 --", "\\'", "_", "50%", "<think>", "</think>", "<tool_call>", "</tool_call>", "<!-- id: 1 -->",
    "json", "null", "true", "NaN", "-Infinity", "1e999", "0x1F", "1_000", "-0", "9" * 30, "9" * 5000, "2026-03-10", "T25:61", "0001-01-01",
    "9999-12-31T23:59:59-14:00", "remember ", "call me ", "from now on ", "I am ", "yesterday ", "not ", "é", "e\u0301", "猫", "ก", "ß",
    "ﬃ", "😀", "👨\u200d👩\u200d👧", "\u0301", "items", "text", "content", "entries", "mes", "name", "summary", "title", "a", "b ", "0", "1",
)  # fmt: skip

_pieces = st.one_of(st.sampled_from(SIGNS), st.text(max_size=6), st.text(st.characters(codec=None), max_size=3))
pumped = st.builds(
    lambda piece, count, end: piece * min(count, LONG // max(1, len(piece))) + end, st.sampled_from(SIGNS),
    st.sampled_from([100, 101, 1_000, 20_000]), st.sampled_from(("", "]", "}", "x", '"', "\n")),
)  # fmt: skip
pasted = st.lists(_pieces, max_size=40).map("".join)

_KEYS = (
    "a text content kind tags items entries key keys comment uid memory memories results metadata id date "
    "message_id from_user chat type title summary name arguments function tool_calls mes send_date is_user extra "
    "swipes timestamp speaker conversation role start end duration action payload recap open developments facts "
    "source_ids score importance conf_uid data spec character_book extensions"
)
keys = st.sampled_from(_KEYS.split()) | st.text(max_size=4)
_edges = [2**31, 2**63, -(2**63) - 1, 10**30, -1, 0, 1e308, -0.0, 5e-324, 253402300800.0, -62135596801.0]
numbers = st.one_of(st.integers(-3, 12), st.integers(), st.floats(), st.sampled_from(_edges))
leaves = st.one_of(st.none(), st.booleans(), numbers, pasted, st.sampled_from(SIGNS))
plain: st.SearchStrategy[Any] = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=12
)


class Odd:
    """An object whose every attribute raises, whose text cannot be made."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __repr__(self) -> str:
        return "Odd()"


def nested(depth: int, kind: str) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made] if kind == "list" else {"a": made}
    return made


def looped() -> Any:
    made: dict[str, Any] = {"a": []}
    made["a"].append(made)
    return made


_values = [b"\xff\xfe", bytearray(b"a"), (), (1, "a"), frozenset({1}), {1: 2}, {None: None}, 1j, object, Ellipsis]
strange = st.one_of(
    st.builds(pow, st.just(10), st.just(4400)),  # too long a number to be written out
    *(st.binary(max_size=20), st.sampled_from(_values), st.builds(Odd), st.builds(object), st.builds(looped)),
    st.builds(nested, st.sampled_from([50, 101, 900, 5_000]), st.sampled_from(["list", "dict"])),
    st.builds(lambda n: (each for each in range(n)), st.integers(0, 3)),
    st.datetimes(timezones=st.none() | st.just(UTC)),
    st.sampled_from([date(2026, 3, 10), datetime.max.replace(tzinfo=UTC), UTC]),
)
anything = st.one_of(plain, strange, pumped, st.dictionaries(keys, strange | leaves, max_size=4))

# Texts of the formats


def _spoilt(text: str, at: int, put: str, cut: int) -> str:
    place = at % (len(text) + 1)
    return text[:place] + put + text[place + cut :]


def spoilt(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    put, cut = st.sampled_from(("", *SIGNS)), st.sampled_from([0, 0, 1, 5, 1000])
    return texts | st.builds(_spoilt, texts, st.integers(0, 10_000), put, cut)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_documents = st.one_of(
    plain,
    st.fixed_dictionaries({"items": st.lists(plain, max_size=3)}),
    st.fixed_dictionaries({"entries": st.dictionaries(keys, plain, max_size=3)}),
    st.fixed_dictionaries({"data": st.fixed_dictionaries({"character_book": plain}), "spec": st.just("chara_card_v3")}),
    st.fixed_dictionaries({"results": st.lists(st.fixed_dictionaries({"memory": plain}), max_size=3)}),
    st.fixed_dictionaries({"memories": st.lists(plain, max_size=3)}),
    st.fixed_dictionaries(
        {"format": st.just("memory_export"), "conf_uid": leaves, "items": st.lists(plain, max_size=3)}
    ),
)
json_texts = spoilt(_documents.map(_dumped))
_duplicate = st.lists(st.builds(lambda k, v: f"{_dumped(k)}: {_dumped(v)}", keys, leaves), max_size=4)
duplicate_keys = _duplicate.map(lambda parts: "{" + ", ".join(parts * 2) + "}")
json_values = spoilt(st.lists(plain.map(_dumped), max_size=4).map("\n".join))
_header = st.fixed_dictionaries(
    {**dict.fromkeys(("user_name", "character_name", "create_date"), leaves), "chat_metadata": plain}
)
_OPTIONAL = ("is_user", "is_system", "extra", "swipes", "swipe_info", "swipe_id")
_line = st.fixed_dictionaries(
    dict.fromkeys(("name", "mes", "send_date"), leaves), optional=dict.fromkeys(_OPTIONAL, plain)
)
_chats = st.builds(lambda head, rest: [head, *rest], _header, st.lists(_line, max_size=4))
tavern = spoilt(_chats.map(lambda values: "\n".join(map(_dumped, values))))
_anchors = [f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
_bomb = "\n".join(["a: &a [x, x]", *_anchors])
_yaml_parts = (
    "a: 1", "a: &x [1]", "b: *x", "b: *missing", "<<: {a: 1}", "? [1]\n: 2", "a: !!python/object/apply:os.system ['x']", "- a", "- - a",
    "items:", "  - text: a", "  - text: !!binary aGk=", "a: !!timestamp 2001-99-99", "a: 0b1", "a: 1:60:60", "a: 2001-12-14t21:59:43.10-05:00",
    "a: yes", "a: ~", "a: .inf", "a: .nan", "a: |\n  b", "a: >-\n  b", "%YAML 1.1", "---", "...", "!!set {a, b}", "!!omap [a: 1]", "a: \t1",
    "CONTEXT_VERBOSITY: ten", "CONTEXT_VERBOSITY: 4", "contextVerbosity: 4", "LANGUAGES: [en, xx]", "REMEMBER_PHRASES: {explicit: [1]}",
    "NOPE: 1", "DATABASE_URL: 1", "'a': \"\\xZZ\"", "&a a: *a", "a: &a {b: *a}", "a: '", "\"", "a: {", "a: [1, 2", "\ufeffa: 1", _bomb,
)  # fmt: skip
yaml_texts = spoilt(st.lists(st.sampled_from(_yaml_parts) | json_texts, max_size=6).map("\n".join)) | st.builds(
    lambda sign, n: sign * n,
    st.sampled_from(["[", "{", "- ", "? ", "{a: ", "&a [", "!!"]),
    st.sampled_from([90, 110, 5_000]),
)
_expressions = (
    "line", "items", "tone", "missing", "line.__class__", "items[0]", "items[1].b", "items[1]['__class__']", "items[1]|attr('__class__')",
    "'{0.__class__}'.format(line)", "'%s'|format(line)", "'x' * 10**9", "[1] * 10**9", "range(10**9)|list", "10**10**10", "line ~ line",
    "self", "self.__init__", "cycler", "joiner()", "namespace()", "lipsum()", "dict(a=1)", "loop.index", "items|map('upper')|join",
    "items|map(attribute='__class__')|list", "items|tojson", "items|sort", "items|sum", "items|random", "items|groupby('a')", "items|batch(2)",
    "''.join(items)", "''.__mro__", "items.append(1)", "items.__add__([1])", "caller()", "varargs", "request", "config", "line|safe",
    "line|center(10**9)", "line|indent(10**9)", "line|urlize", "line|wordwrap(0)", "line|truncate(-1)", "line|replace('', 'x' * 1000)",
    "items|string", "items|unique|list", "not tone", "1/0", "'a'+1", "items == items", "line is none", "line is filter('x')", "{} is eq {}",
    "[items, items]", "{'a': items}", "(items * 900)|string", "items|map('default', items * 500, true)|list", "'\\x00'", "None", "1 if line",
)  # fmt: skip
_statements = (
    "{{% for x in {0} %}}", "{{% endfor %}}", "{{% for x in {0} recursive %}}{{{{ loop(x) }}}}{{% endfor %}}", "{{% if {0} %}}", "{{% endif %}}",
    "{{% else %}}", "{{% set a = {0} %}}", "{{% set a = [a, a, a] %}}", "{{{{ {0} }}}}", "{{{{ a }}}}", "{{% macro m(x) %}}{{{{ m(x) }}}}{{% endmacro %}}",
    "{{{{ m({0}) }}}}", "{{% include '/etc/passwd' %}}", "{{% include '../core/db.py' %}}", "{{% include 'fuzzed.txt.j2' %}}",
    "{{% include line %}}", "{{% import 'os' as os %}}", "{{% from 'x' import y %}}", "{{% extends 'fuzzed.txt.j2' %}}", "{{% block b %}}",
    "{{% endblock %}}", "{{% call m() %}}x{{% endcall %}}", "{{% filter upper %}}x{{% endfilter %}}", "{{% raw %}}", "{{% endraw %}}", "{{% do {0} %}}",
    "{{% with a = {0} %}}{{{{ a }}}}{{% endwith %}}", "{{% autoescape true %}}", "{{% debug %}}", "{{% break %}}", "{{# {0} #}}",
    "{{# variables: line: text; items: list; tone: text #}}", "{{# result: a: object #}}", '{{"a": {{{{ {0} }}}}}}', "[{{{{ {0} }}}}, 1]", "text",
)  # fmt: skip
_parts = st.builds(lambda form, what: form.format(what), st.sampled_from(_statements), st.sampled_from(_expressions))
template_texts = spoilt(st.lists(_parts, max_size=6).map("".join))
_markdown_parts = (
    "# Saved memories", "## a", "## a <!-- id: 12 -->", "- a <!-- id: 12 -->", "- a", "* b", "> note", "text", "", "<!-- id: x -->",
    "<!-- id: 99999999999999999999999 -->", "```", "~~~", "---", "\ufeff# x", "###### y", "#hash", "    code", "\\# z", "- [ ] t", "| a | b |",
)  # fmt: skip
markdown_texts = spoilt(st.lists(st.sampled_from(_markdown_parts) | pasted, max_size=10).map("\n".join))
_FENCED = ("{}", "```json\n{}\n```", "```\n{}", "Sure! {} Anything else?")
_wrapped = st.sampled_from((*_FENCED, "<think>{}</think>{}", "<tool_call>{}</tool_call>", "&#123;{}", "{0}{0}"))
reply_texts = spoilt(
    st.builds(lambda form, body: form.replace("{0}", body).replace("{}", body), _wrapped, json_texts | pasted)
)
_URLS = "sqlite:///x.db mysql://u:p@h:3306/n mysql://u:p%40@h/n?tls=on mysql+pymysql://u@/n?unix_socket=/x postgres://x"
urls = spoilt(st.sampled_from(_URLS.split()))
_TIMES = ("2026-03-10T12:00:00Z", "June 19, 2023 4:13pm", "2023-6-19 @16h 13m 25s 120ms", "PT5M", "1772366400",
          "Europe/Rome")  # fmt: skip
time_texts = spoilt(st.sampled_from(_TIMES))
texts = st.one_of(pasted, pumped, json_texts)
