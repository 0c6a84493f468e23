"""Work on whole files: conversations and memories of other programs into the database, and out of it.

`export_items` and `import_items` are those of `transfer.items`, `export_values` and `import_values` those of
`transfer.values`, loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .items import ItemExport, ItemImport, ItemProblem, export_items, import_items
    from .values import ValueImport, ValueProblem, export_values, import_values

__all__ = ["ItemExport", "ItemImport", "ItemProblem", "ValueImport", "ValueProblem", "export_items", "export_values",
           "import_items", "import_values"]  # fmt: skip
_OF_VALUES = ("ValueImport", "ValueProblem", "export_values", "import_values")


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(".values" if name in _OF_VALUES else ".items", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
