"""The command `python -m tests.servers`: install, list or start the servers of the test suite."""

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.servers import SERVERS, ServerError
from tests.servers.packages import is_debian


def install(names: list[str], *, refresh: bool) -> None:
    """Obtain the servers. Asked by name, each must work; else those must that can be had on this kind of machine."""
    for name in names or list(SERVERS):
        began = time.monotonic()
        kind = SERVERS[name]
        if not names and not kind.available() and (name == "seekdb" or not is_debian()):
            print(f"{name}: not available on this machine, left out")
            continue
        print(f"{kind.install(refresh=refresh)} ({time.monotonic() - began:.1f} s)", flush=True)


def show() -> None:
    for name, kind in SERVERS.items():
        print(f"{name:8} {kind.program_version() if kind.available() else 'not installed'}")


def start(name: str, *, durable: bool, data_dir: Path | None, options: list[str]) -> None:
    """Run one server until the input ends or a signal comes; the first line printed is its URL."""
    variables = dict(option.split("=", 1) if "=" in option else (option, None) for option in options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with SERVERS[name](options=variables, durable=durable, data_dir=data_dir) as server:
        print(server.url, flush=True)
        print(f"{server.name} {server.version}, pid {server.pid}, {server.folder}; end the input to stop", flush=True)
        try:
            while sys.stdin.readline():
                pass
        except KeyboardInterrupt:
            pass


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("install", help="download what is missing into .servers/ and prepare its data folder")
    one.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SERVERS)}; all when left out")
    one.add_argument("--refresh", action="store_true", help="download again")
    commands.add_parser("list", help="print names and versions")
    run = commands.add_parser("start", help="run one server, print its URL, stop it when the input ends")
    run.add_argument("name", choices=SERVERS)
    run.add_argument("--durable", action="store_true", help="flush every commit to the disk")
    run.add_argument("--data-dir", type=Path, help="keep the data here")
    run.add_argument("options", nargs="*", metavar="VARIABLE=VALUE", help="server variables")
    given = parser.parse_args()
    try:
        if given.command == "install":
            if unknown := set(given.names) - set(SERVERS):
                parser.error(f"unknown server {', '.join(sorted(unknown))}; known are {', '.join(SERVERS)}")
            install(given.names, refresh=given.refresh)
        elif given.command == "list":
            show()
        else:
            start(given.name, durable=given.durable, data_dir=given.data_dir, options=given.options)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
