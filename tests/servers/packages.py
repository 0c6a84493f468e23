"""Obtains a server's programs from the Debian archive without root and without touching the system.

`apt-get` runs on lists and caches of its own in the checkout's ignored folder, reading the machine's configured
sources, and `dpkg-deb -x` unpacks the server with every shared library it needs, the C library among them: such a
tree runs through its own dynamic loader (`Tree.command`), so a server from a newer suite runs on an older system.
Called by `python -m tests.servers install` only; nothing here runs while tests run.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.base import ServerError

HOME = Path(os.environ.get("TEST_SERVERS_DIR") or Path(__file__).resolve().parents[2] / ".servers")
"""Where downloaded servers and prepared data folders are kept between runs."""

APT_SECONDS = 900
"""Longest wait for one apt-get call; the slowest one seen took 11 seconds."""

# Of a server's dependencies only shared libraries matter for running it by hand. These libraries serve its
# Perl scripts, or are plug-ins for features the tests do not use, and are large.
NOT_NEEDED = re.compile(r"lib(perl|gdbm|db5|c-gconv)")


@dataclass(frozen=True)
class Tree:
    root: Path

    def command(self, program: str) -> list[str]:
        loaders = [p for p in self.root.rglob("ld-linux*.so.*") if "-linux-gnu" in str(p.parent)]
        if not loaders:
            raise ServerError(f"{self.root} holds no dynamic loader: remove {HOME} and install again")
        libraries = {p.parent for p in self.root.rglob("lib*.so.*") if "share" not in p.parts}
        path = ":".join(sorted(str(p) for p in libraries))
        return [str(loaders[0]), "--library-path", path, str(self.root / program)]


def os_release() -> dict[str, str]:
    path = Path("/etc/os-release")
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = (line.split("=", 1) for line in lines if "=" in line)
    return {key: value.strip().strip('"') for key, value in pairs}


def is_debian() -> bool:
    return os_release().get("ID") == "debian" and all(shutil.which(tool) for tool in ("apt-get", "dpkg-deb"))


@dataclass(frozen=True)
class Source:
    text: str
    """The entry as it stands in its file."""

    extension: str
    """`sources` for a stanza with fields, `list` for one line."""

    suites: list[str]
    components: list[str]

    def has_suite(self, pattern: str) -> bool:
        """Tell whether it holds the main component of a suite whose whole name matches."""
        return "main" in self.components and any(re.fullmatch(pattern, suite) for suite in self.suites)


def _stanzas(text: str) -> Iterator[Source]:
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
        if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes") != "no":
            suites, components = (fields.get(key, "").split() for key in ("Suites", "Components"))
            yield Source(stanza.strip() + "\n", "sources", suites, components)


def _lines(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        entry = line.split("#")[0].strip()
        if match := re.match(r"deb\s+(?:\[[^]]*\]\s+)?\S+\s+(\S+)\s*(.*)$", entry):
            yield Source(entry + "\n", "list", [match[1]], match[2].split())


def configured(folder: Path = Path("/etc/apt")) -> Iterator[Source]:
    """Yield every binary source that the machine has configured, in both file formats."""
    for path in sorted([folder / "sources.list", *(folder / "sources.list.d").glob("*")]):
        if path.is_file() and path.suffix in (".list", ".sources"):
            text = path.read_text(errors="replace")
            yield from _stanzas(text) if path.suffix == ".sources" else _lines(text)


def _own_suites() -> str:
    names = (os_release().get("VERSION_CODENAME"), "stable", "testing", "unstable", "sid")
    return "|".join(name for name in names if name)


def own_sources() -> list[Source]:
    """Return the machine's Debian sources with updates and security; entries of third parties name other suites."""
    return [source for source in configured() if source.has_suite(rf"({_own_suites()})(-updates|-security)?")]


def sources_for(suite: str, folder: Path = Path("/etc/apt")) -> list[Source]:
    """Return candidates for another suite: each of the machine's main sources with the suite's name replaced."""
    found = []
    for source in configured(folder):
        if not source.has_suite(_own_suites()):
            continue
        if source.extension == "sources":
            text = re.sub(r"(?m)^Suites:.*$", f"Suites: {suite}", source.text)
            text = re.sub(r"(?m)^Components:.*$", "Components: main", text)
        else:
            text = re.sub(rf"\s{re.escape(source.suites[0])}\s.*$", f" {suite} main", source.text)
        found.append(Source(text, source.extension, [suite], ["main"]))
    return found


class Apt:
    """`apt-get` with sources, lists, cache and package status of its own."""

    def __init__(self, home: Path, sources: Sequence[Source]) -> None:
        self.home = home
        for folder in ("state/lists/partial", "cache/archives/partial", "sources"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        for old in (home / "sources").iterdir():
            old.unlink()
        for number, source in enumerate(sources):
            (home / "sources" / f"{number}.{source.extension}").write_text(source.text)
        # An empty status file makes the solver name every library, also those the machine has.
        (home / "status").write_text("")

    def run(self, *words: str, cwd: Path | None = None) -> str:
        options = {
            "Dir::State": self.home / "state", "Dir::State::status": self.home / "status",
            "Dir::Cache": self.home / "cache", "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": self.home / "sources", "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false", "Acquire::Retries": "3",
            "APT::Update::Error-Mode": "any",
        }  # fmt: skip
        if os.geteuid() == 0:
            options["APT::Sandbox::User"] = "root"
        flags = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        result = subprocess.run(
            ["apt-get", *flags, *words], cwd=cwd, capture_output=True, text=True, timeout=APT_SECONDS, check=False
        )
        if result.returncode:
            raise ServerError(f"apt-get {words[0]} failed:\n{(result.stdout + result.stderr).strip()[-3000:]}")
        return result.stdout

    def closure(self, package: str) -> list[str]:
        """Return `package=version` for packages, divided by blanks, and the shared libraries they need."""
        names = package.split()
        lines = self.run("--print-uris", "--no-install-recommends", "-y", "install", *names).splitlines()
        files = [line.split()[1] for line in lines if line.startswith("'")]
        parts = [file.split("_") for file in files]
        needed = [(p[0], p[1].replace("%3a", ":")) for p in parts if re.match(r"lib|zlib1g", p[0]) or p[0] in names]
        return [f"{name}={version}" for name, version in needed if not NOT_NEEDED.match(name)]


def _update(home: Path, package: str, candidates: Sequence[Sequence[Source]]) -> tuple[Apt, list[str]]:
    """Return the first source that has the package, with the packages to take."""
    problems = []
    for sources in candidates:
        apt = Apt(home, sources)
        try:
            apt.run("update")
            return apt, apt.closure(package)
        except ServerError as error:
            problems.append(str(error))
    details = "\n".join(problems) or "No Debian source is configured on this machine."
    raise ServerError(f"{package} could not be obtained from the Debian archive.\n{details}")


def obtain(
    name: str, package: str, suite: str | None = None, *, refresh: bool = False, without: re.Pattern[str] = NOT_NEEDED
) -> Tree:
    """Download and unpack packages with their libraries unless that was done before, and return the tree."""
    home = HOME / name
    record = home / "packages.json"
    if record.exists() and not refresh:
        return Tree(home / "root")
    if not is_debian():
        raise ServerError(f"{name} is not installed, and only on Debian can it be downloaded; put its server on PATH")
    shutil.rmtree(home, ignore_errors=True)
    print(f"{name}: reading the package lists{f' of {suite}' if suite else ''} ...", flush=True)
    candidates = [[source] for source in sources_for(suite)] if suite else [own_sources()]
    apt, packages = _update(home / "apt", package, candidates)
    packages = [each for each in packages if not without.match(each)]
    print(f"{name}: downloading {package} and libraries, {len(packages)} packages ...", flush=True)
    archives = home / "archives"
    archives.mkdir()
    apt.run("download", *packages, cwd=archives)
    for archive in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive, home / "root"], check=True)
    shutil.rmtree(archives)
    shutil.rmtree(home / "apt")
    record.write_text(json.dumps(packages, indent=1) + "\n")
    return Tree(home / "root")
