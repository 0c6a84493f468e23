"""axe-core, which knows what people who cannot see a screen, or use no mouse, would miss (npm needed to obtain it).

`python -m tests.browser install` obtains it; tests never do, and do without where it is missing.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.servers.packages import HOME

PACKAGE = "axe-core@4.14.1"
PLACE: Path = HOME / "axe"
FILE = PLACE / "node_modules" / "axe-core" / "axe.min.js"

_RUN = """
async () => {
  const told = await axe.run(document, { resultTypes: ["violations"] });
  return told.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 140)}`));
}
"""


def install(*, refresh: bool = False) -> bool:
    npm = shutil.which("npm")
    if FILE.exists() and not refresh:
        return True
    if npm is None:
        return False
    PLACE.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    subprocess.run([npm, "install", *quiet, "--prefix", str(PLACE), PACKAGE], check=True, timeout=600)
    return True


def find_problems(page: Any) -> list[str]:
    page.wait_for_load_state()
    page.evaluate(FILE.read_text(encoding="utf-8"))
    problems: list[str] = page.evaluate(_RUN)
    return problems
