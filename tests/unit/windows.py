"""Uses the package as on Windows: what that system lacks is taken away, and `fsync` does as it does there.

It runs in a process of its own (`python -m tests.unit.windows FOLDER`), since nothing of this is given back.
"""

import asyncio
import builtins
import errno
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zoneinfo
from contextlib import redirect_stdout, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn

ABSENT = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
SIGNALS = ("SIGINT", "SIGTERM", "SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV")
OS_NAMES = ("chown", "fchmod", "fork", "getgid", "getuid", "killpg", "mkfifo", "register_at_fork", "setsid")

_import, _fsync = builtins.__import__, os.fsync
_loaded = asyncio, subprocess, uvicorn  # they find out what the system is when they are loaded


def import_present(name: str, globals: Any = None, *more: Any, **named: Any) -> Any:  # noqa: A002 - the interface
    if name in ABSENT and (globals or {}).get("__name__", "").startswith(("core.", "prompt_engine.")):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _import(name, globals, *more, **named)


def sync_written(handle: int) -> None:
    """Refuse a file that was opened to be read, as Windows does."""
    import fcntl

    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "Bad file descriptor")
    _fsync(handle)


def become_windows() -> None:
    builtins.__import__, os.fsync = import_present, sync_written
    for name in [each for each in dir(signal) if each[:3] == "SIG" and each[3] != "_" and each not in SIGNALS]:
        delattr(signal, name)
    for name in OS_NAMES:
        delattr(os, name)
    del socket.SO_REUSEPORT, asyncio.SelectorEventLoop.add_signal_handler
    zoneinfo.reset_tzpath([])
    os.environ["USERNAME"] = "ann"


def end_when_served(port: int, answers: list[int]) -> None:
    """Ask the server until it answers, then end it as Ctrl-C does."""
    while not answers:
        time.sleep(0.02)
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=5) as answer:
            answers.append(answer.status)
    signal.raise_signal(signal.SIGINT)


def use(folder: Path) -> None:
    from core import conversations, personas
    from core.chat_history_cache import save_chat_message
    from core.cli import main
    from core.db import open_database
    from core.prompt_engine import build_messages
    from core.scope import Scope
    from core.web.admin.pages.formats import near
    from tests.servers.base import free_port

    url, scope = f"sqlite:///{folder / 'own.db'}", Scope("iris", "dm/ann", participant="ann")
    known: dict[str, Any] = {"db": open_database(url), "scope": scope, "settings": {"PERSONA_FOLDER": str(folder)}}
    personas.set_persona_text("You are {{char}}.", settings=known["settings"], scope=scope)
    save_chat_message("dm/ann", "I like green tea.", "Ann", "ann", db=known["db"], scope=scope)
    conversations.add_saved_memory("Ann likes green tea.", **known)
    assert "green tea" in str(build_messages({"text": "tea?"}, **known))
    assert conversations.export_markdown(folder / "notes", **known).saved == 1
    known["db"].close()
    (folder / "own.db").chmod(0o666)  # so Windows shows every file
    assert near(datetime(2026, 3, 10, tzinfo=UTC), "UTC") == "2026-03-10 00:00"

    def run(*words: str) -> int:
        return main([*words, "--database", url])

    port, answers = free_port(), list[int]()
    assert run("worker", "--once") == 0
    with redirect_stdout(io.StringIO()) as said:
        assert run("db", "check") == 0 and "chmod" not in said.getvalue()
    assert run("db", "backup", str(folder / "copy.db")) == 0
    assert main(["config", "set", "CONTEXT_VERBOSITY", "4"]) == 0 and run("serve", "--no-admin", "--share-port") == 2
    threading.Thread(target=end_when_served, args=(port, answers)).start()
    assert run("serve", "--no-admin", "--port", str(port)) == 0 and answers == [200]


if __name__ == "__main__":
    become_windows()
    os.chdir(sys.argv[1])
    use(Path(sys.argv[1]))
