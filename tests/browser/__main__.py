"""The command `python -m tests.browser install`: obtain the browser of the page's tests, and axe-core."""

import argparse
import subprocess
import sys
import time

from tests.browser import axe, chromium
from tests.servers.base import ServerError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.browser", description=__doc__)
    parser.add_argument("command", choices=["install"])
    parser.add_argument("--refresh", action="store_true", help="download again")
    given = parser.parse_args()
    began = time.monotonic()
    try:
        found = chromium.install(refresh=given.refresh)
        has_axe = axe.install(refresh=given.refresh)
    except (ServerError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if found is None:
        print("chromium: not available on this machine, left out; put it on PATH or name it by CHROMIUM")
    else:
        print(f"{found.version()} ({time.monotonic() - began:.1f} s)", flush=True)
    print(f"{axe.PACKAGE} in {axe.PLACE}" if has_axe else "axe-core: npm is not found, left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
