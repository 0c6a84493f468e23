"""The closed room templates run in: expressions, counted loops, known filters, nothing outside."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from jinja2 import TemplateAssertionError, meta, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.loaders import BaseLoader
from jinja2.runtime import Context, LoopContext, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from . import metering
from .metering import METER, TooManyStepsError, charge, measure

Kind = Literal["text", "json"]

NUMBER_BITS = 4096
"""Longest number an operation may make."""

MARK = "\x00"
"""Begins the text that stands for a value while a JSON template is parsed; nobody writes it by accident."""

_EXPRESSIONS = (
    "Name Const List Tuple Dict Pair Keyword CondExpr Filter Test Getattr Getitem Slice Compare Operand Call "
    "Not And Or Neg Pos Add Sub Mul Div FloorDiv Mod Pow Concat"
)
_NODES: dict[Kind, frozenset[str]] = {
    "json": frozenset(f"Template Output TemplateData For If Assign With {_EXPRESSIONS}".split()),
    "text": frozenset(f"Template Output TemplateData For If Assign With Include {_EXPRESSIONS}".split()),
}
_FILTERS = [
    "abs",
    "capitalize",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "int",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "sort",
    "string",
    "title",
    "trim",
    "truncate",
    "unique",
    "upper",
]
_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (str, frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith"})),
    (dict, frozenset({"items", "keys", "values", "get"})),
    (LoopContext, frozenset({"cycle", "changed"})),
)


@pass_context
def _put_text(_context: Context, value: Any) -> Any:
    if value is None:
        return ""
    if not isinstance(value, str):
        measure(value)
    text = str(value)
    charge(1 + len(text) // metering.CHARS_PER_STEP)
    return text


@pass_context
def _put_json(_context: Context, value: Any) -> str:
    if isinstance(value, StrictUndefined):
        str(value)  # raises, naming the variable
    meter = METER.get()
    meter.charge(1)
    made = list(value) if isinstance(value, Iterator) else value
    if not isinstance(made, str):  # a text is not copied
        measure(made, metering.TEXT_CHARS)
    meter.values.append(made)
    return f'"\\u0000{len(meter.values) - 1}"'


class Room(ImmutableSandboxedEnvironment):
    """An environment in which a template can compute little and reach nothing."""

    intercepted_binops: frozenset[str] = frozenset({"*", "**", "+", "%"})

    def __init__(
        self, kind: Kind, loader: BaseLoader, folders: list[Path], known: Callable[[str], Iterable[str] | None]
    ) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            finalize=_put_text if kind == "text" else _put_json,
            trim_blocks=kind == "text",
            lstrip_blocks=kind == "text",
            autoescape=False,
        )
        self.kind: Kind = kind
        self.folders = folders
        """Where templates are looked for, in this order; the last one is the shipped one."""
        self.broken: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {}
        """Template that does not compile to (file, its version, facts of the error)."""
        self.known = known
        """Variables a template is given, by its name; None when nobody has written them down."""
        self.globals: dict[str, Any] = {"range": metering.bounded_range}
        own: dict[str, Callable[..., Any]] = {"join": metering.joined, "replace": metering.replace}
        if kind == "text":
            own["tojson"] = metering.to_json
        self.filters: dict[str, Any] = {
            **{name: metering.charged(name, FILTERS[name]) for name in _FILTERS},
            **{name: metering.charged(name, made) for name, made in own.items()},
            "counted": metering.counted,
            "joined": metering.joined,
            "measured": metering.measured,
            "sized": metering.sized,
        }
        tested = {name: metering.tested(cast("Callable[..., Any]", test)) for name, test in self.tests.items()}
        self.tests: dict[str, Any] = tested

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        self._check(tree, name, filename)
        made: nodes.Template = _Counting().visit(tree)
        return made

    def _check(self, tree: nodes.Template, name: str | None, filename: str | None) -> None:
        """Refuse what is on no list, with its line."""

        def refuse(reason: str, node: nodes.Node) -> None:
            raise TemplateAssertionError(reason, node.lineno, name, filename)

        for node in (tree, *tree.find_all(nodes.Node)):
            kind = type(node).__name__
            if kind not in _NODES[self.kind] or (isinstance(node, nodes.For) and node.recursive):
                refuse(f"{kind.lower()} is not allowed in a {self.kind} template", node)
            if isinstance(node, nodes.Filter) and node.name not in self.filters:
                refuse(f"there is no filter {node.name!r}", node)
            if isinstance(node, nodes.Name) and node.name == "self":
                refuse("self is not allowed", node)
            word = _field_name(node)
            if word is not None and word.startswith("_"):
                refuse(f"{word!r} begins with an underscore and cannot be read", node)
        known = self.known(name or "")
        if known is None:
            return
        for unknown in sorted(meta.find_undeclared_variables(tree) - set(known)):
            uses = (node for node in tree.find_all(nodes.Name) if node.name == unknown)
            refuse(f"'{unknown}' is undefined", min(uses, key=lambda node: node.lineno))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Read a key of a mapping before its methods, so that a key named `items` is the key."""
        if isinstance(obj, Mapping) and attribute in obj and not attribute.startswith("_"):
            return obj[attribute]
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Refuse names with an underscore that come from an expression."""
        if isinstance(argument, str) and argument.startswith("_"):
            raise SecurityError("names that begin with an underscore cannot be read")
        return super().getitem(obj, argument)

    def is_safe_callable(self, obj: Any) -> bool:
        """Allow `range` and the few methods of `_METHODS`."""
        if obj is metering.bounded_range:
            return True
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        return any(isinstance(owner, kind) and name in names for kind, names in _METHODS)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as jinja2 has it
        """Count the call; the error of a refused one names no value."""
        charge(1)
        owner = getattr(__obj, "__self__", None)
        measure((owner if isinstance(owner, str) else "", *args, *kwargs.values()))
        if not __self.is_safe_callable(__obj) and not isinstance(__obj, StrictUndefined):
            raise SecurityError(f"calling a {type(__obj).__name__} is not allowed")
        return super().call(__context, __obj, *args, **kwargs)

    def get_template(self, *args: Any, **kwargs: Any) -> Any:
        """Count the include; a template that includes itself ends here."""
        charge(1)
        return super().get_template(*args, **kwargs)

    def call_binop(self, _context: Context, sign: str, left: Any, right: Any) -> Any:
        """Compute `+ * ** %` as far as the result stays small."""
        _guard(sign, left, right)
        made = _BINOPS[sign](left, right)
        if isinstance(made, tuple):
            metering.measured(made)
        return made


class _Counting(NodeTransformer):
    """Puts the counting filter around what a `for` runs over, the bounded join in the place of `~`, and measures what
    is compared, cut or may be a key.
    """

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, "counted", [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, "joined", [], [], None, None, lineno=node.lineno)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        node.expr = _through("measured", node.expr)
        for each in node.ops:
            each.expr = _through("measured", each.expr)
        return node

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        return node if node.ctx != "load" else _through("measured", node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _through("sized", node.node)
        return node


_BINOPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "**": operator.pow,
    "%": operator.mod,
}


def _through(name: str, node: nodes.Expr) -> nodes.Expr:
    """Return the node behind a filter; one that stands in the template as it is needs none."""
    if isinstance(node, nodes.Const):
        return node
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _field_name(node: nodes.Node) -> str | None:
    """Return the attribute or constant key a node reads."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        return node.arg.value
    return None


def _guard(sign: str, left: Any, right: Any) -> None:
    """Refuse an operation whose result would be too large, before it is computed."""
    sides = (left, right)
    long = [len(side) for side in sides if isinstance(side, (str, bytes, list, tuple))]
    whole = [abs(side) for side in sides if isinstance(side, int)]
    if sign == "%" and isinstance(left, (str, bytes)):
        raise SecurityError("% with a text on its left is not allowed, use ~ or join")
    if sign == "+" and long:
        metering.checked_size(sum(long))
        metering.checked_places(left, sum(long))
    elif sign == "*" and long:
        size = long[0] * (whole[0] if whole else 1)
        metering.checked_size(size)
        metering.checked_places(left if isinstance(left, (list, tuple)) else right, size)
    elif (sign == "*" and sum(side.bit_length() for side in whole) > NUMBER_BITS) or (
        sign == "**" and len(whole) == 2 and whole[0].bit_length() * whole[1] > NUMBER_BITS
    ):
        raise TooManyStepsError(f"a number of more than {NUMBER_BITS} bits")
