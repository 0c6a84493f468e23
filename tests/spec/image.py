"""What the tests of the image read from Dockerfile and compose files, and a plain place to run it in."""

import json
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml

from tests.spec.proxy_world import is_up, wait_until
from tests.wheel import ROOT, Environment, build_wheel

COMPOSE = ("compose.yaml", "compose.sqlite.yaml")
INSTALLED = "/opt/prompt-engine"
"""Where the image has the package."""
GENEROUS_SECONDS = 120.0


_WRITTEN = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
INSTRUCTIONS = [line.split(" ", 1) for line in re.sub(r"\\\n\s*", "", _WRITTEN).splitlines() if line.strip()]
"""Each instruction of the Dockerfile with its words, continued lines joined."""


def read_stage(number: int) -> dict[str, list[str]]:
    """Return the instructions of one stage by their name; -1 is what the image is made of."""
    starts = [place for place, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM"]
    begin = starts[number]
    end = next((place for place in starts if place > begin), None)
    stage: dict[str, list[str]] = {}
    for name, words in INSTRUCTIONS[begin:end]:
        stage.setdefault(name, []).append(words.strip())
    return stage


def read_compose(name: str) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return made


def image_command(name: str, given: Sequence[str] | None = None) -> list[str]:
    stage = read_stage(-1)
    if name == "HEALTHCHECK":
        found: list[str] = json.loads(stage[name][0].partition(" CMD ")[2])
        return found
    return [*json.loads(stage["ENTRYPOINT"][0]), *(given if given is not None else json.loads(stage["CMD"][0]))]


def build_environment(folder: Path) -> Environment:
    """Return an environment with the wheel of what the Dockerfile copies, as its build stage makes one."""
    source = folder / "source"
    for line in read_stage(0)["COPY"]:
        *names, to = line.split()
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (source / to).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, source / to)
    environment = Environment(folder / "installed")
    environment.install(build_wheel(folder / "dist", source))
    return environment


@dataclass
class Container:
    """A folder that stands for a container: its variables and nothing of this process, its secrets as files."""

    folder: Path
    installed: Path
    compose: str
    secrets: Mapping[str, str]
    given: Mapping[str, str] = field(default_factory=dict)
    """What whoever starts it sets for compose."""
    port: int = 0

    def __post_init__(self) -> None:
        for name in ("data", "secrets", "tmp"):
            (self.folder / name).mkdir(parents=True)
        for name, value in self.secrets.items():
            (self.folder / "secrets" / name).write_text(value, encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.service = read_compose(self.compose)["services"]["engine"]
        self.data, self.log = self.folder / "data", self.folder / "log"

    def variables(self) -> dict[str, str]:
        """Return the variables of the Dockerfile and of compose; the port alone differs, for others use theirs too."""
        base = {"PATH": "/usr/bin:/bin"}
        for line in read_stage(-1)["ENV"]:
            for name, value in (word.split("=", 1) for word in shlex.split(line)):
                base[name] = value.replace("$PATH", base["PATH"])
        base |= {name: self._interpolate(str(value)) for name, value in self.service["environment"].items()}
        base |= {"TMPDIR": str(self.folder / "tmp"), "ADMIN_PORT": str(self.port)}
        places = {INSTALLED: str(self.installed), "/run/secrets": str(self.folder / "secrets")}
        for there, here in places.items():
            base = {name: value.replace(there, here) for name, value in base.items()}
        return base

    def _interpolate(self, text: str) -> str:
        def put(match: re.Match[str]) -> str:
            name, sign, more = match.groups()
            if self.given.get(name):
                return self.given[name]
            assert sign != ":?", more
            return more

        return re.sub(r"\$\{(\w+)(:-|:\?)([^}]*)\}", put, text)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._found(words), cwd=self.data, env=self.variables(), capture_output=True, text=True, check=False,
            timeout=GENEROUS_SECONDS,
        )  # fmt: skip

    def _found(self, words: Sequence[str]) -> list[str]:
        return [str(self.installed / "bin" / words[0]), *words[1:]]

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        words = image_command("CMD", self.service.get("command"))
        ready = f"http://127.0.0.1:{self.port}/health/ready"
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                self._found(words), cwd=self.data, env=self.variables(), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log,
            )  # fmt: skip
            try:
                assert wait_until(lambda: process.poll() is not None or is_up(ready), GENEROUS_SECONDS)
                assert process.poll() is None, self.log.read_text()
                assert self.run(*self.service["healthcheck"]["test"][1:]).returncode == 0
                yield process
            finally:
                process.kill()
                process.wait(GENEROUS_SECONDS)


def list_files(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def ask_mcp(port: int, token: str, tool: str, **arguments: Any) -> str:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    head = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=head, timeout=GENEROUS_SECONDS) as http:
        link = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(link) as client:
            return json.dumps((await client.call_tool(tool, arguments)).model_dump(mode="json"), ensure_ascii=False)
