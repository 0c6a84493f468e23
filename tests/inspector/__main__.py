"""The command `python -m tests.inspector install`: obtain the inspector of the Model Context Protocol."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests import inspector


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.inspector", description=__doc__)
    parser.add_argument("command", choices=["install"])
    parser.parse_args()
    try:
        there = inspector.install()
    except subprocess.SubprocessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{inspector.PACKAGE} in {inspector.PLACE}" if there else "node or npm is not found, left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
