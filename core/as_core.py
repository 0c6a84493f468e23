"""Makes `core` a second name of the same modules in this process, for hosts that import `core.prompt_engine`."""

import sys
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import cast


class _Alias(MetaPathFinder, InspectLoader):
    """Import finder and loader: an import of `alias.x` gives the module `package.x`, before any path is searched."""

    def __init__(self, alias: str, package: str) -> None:
        self._alias = alias
        self._package = package

    def _real_spec(self, name: str) -> ModuleSpec | None:
        return find_spec(self._package + name.removeprefix(self._alias))

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Return a spec for names below the alias; None for other names."""
        real = self._real_spec(fullname) if fullname.startswith(f"{self._alias}.") else None
        if real is None:
            return None
        return ModuleSpec(fullname, self, is_package=real.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._package + spec.name.removeprefix(self._alias))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system replaced; do not run the module's code again."""
        if module.__spec__ is not None and module.__spec__.loader is self:
            module.__spec__ = module.__spec__.loader_state

    def get_source(self, fullname: str) -> str | None:
        loader = getattr(self._real_spec(fullname), "loader", None)
        return loader.get_source(loader.name) if loader is not None else None

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code, for `python -m alias.x`."""
        loader = getattr(self._real_spec(fullname), "loader", None)
        return cast("CodeType", loader.get_code(loader.name)) if loader is not None else None


def add_alias(alias: str, package: str) -> None:
    """Make `alias` and all names below it refer to `package` in this process; a second call changes nothing."""
    module = import_module(package)
    present = sys.modules.get(alias)
    if present is module:
        return
    if present is not None:
        raise ImportError(
            f"Another package called {alias!r} is loaded in this process ({getattr(present, '__file__', None)}). "
            f"Use {package!r} by its own name, or ask for the alias before that one is imported.",
            name=alias,
        )
    sys.meta_path.insert(0, _Alias(alias, package))
    sys.modules[alias] = module


add_alias("core", __name__.partition(".")[0])
