"""Finds or obtains the browser that the page's tests drive: Debian's Chromium, without root.

| First of these that is there | How it runs |
|---|---|
| `CHROMIUM`, the path of a program | as it is |
| `chromium`, `chromium-browser` or `google-chrome` on PATH | as it is |
| the packages unpacked by `python -m tests.browser install` | with its own libraries and fonts |

Nothing here runs while tests run but `find`; nothing but the machine's own Debian sources is asked.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

from tests.servers.base import ServerError
from tests.servers.packages import HOME, is_debian, obtain

FOLDER = HOME / "chromium"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = "chromium-headless-shell chromium-common fonts-dejavu-core"
"""The window-less browser, which needs a third less than the other one; what it reads; letters to write with."""

# The system's own C library runs it: its loader starts every process of the browser anew. Of the rest, the large ones
# serve graphics cards, of which there is none.
NOT_NEEDED = re.compile(
    "libc6|libc-bin|libcrypt1|libllvm|libz3|libgl1-mesa|libglx-mesa|libperl|libgdbm|libdb5|libc-gconv"
)

FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{root}/usr/share/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{root}/fontcache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Chromium:
    program: str
    environment: dict[str, str] = field(default_factory=dict)
    """Variables it needs beside those of the caller."""

    def version(self) -> str:
        words, env = [self.program, "--version"], os.environ | self.environment
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip() or f"no version: {done.stderr.strip()[-300:]}"


def find() -> Chromium | None:
    if named := os.environ.get("CHROMIUM"):
        return Chromium(named)
    for name in PROGRAMS:
        if path := shutil.which(name):
            return Chromium(path)
    return _unpacked() if (FOLDER / "packages.json").exists() else None


def _unpacked() -> Chromium:
    root = FOLDER / "root"
    libraries = {p.parent for p in root.rglob("lib*.so*") if "share" not in p.parts}
    program = root / "usr/lib/chromium/chromium-headless-shell"
    paths = ":".join(sorted(str(path) for path in libraries))
    return Chromium(str(program), {"LD_LIBRARY_PATH": paths, "FONTCONFIG_FILE": str(FOLDER / "fonts.conf")})


def install(*, refresh: bool = False) -> Chromium | None:
    """Return the browser, downloaded and unpacked where the machine has none; None where that cannot be."""
    if (found := find()) is not None and not refresh:
        return found
    if not is_debian():
        return None
    tree = obtain("chromium", PACKAGES, refresh=refresh, without=NOT_NEEDED)
    (FOLDER / "fonts.conf").write_text(FONTS.format(root=tree.root))
    made = _unpacked()
    if "no version" in (said := made.version()):
        shutil.rmtree(FOLDER)
        raise ServerError(f"Chromium was unpacked and does not run. {said}")
    return made
