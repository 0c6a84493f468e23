"""What is installed: the wheel, its names, what beside it breaks nothing (R1 to R5); image and compose files (R34).

No container engine is needed: the image's package is installed from a wheel of what the Dockerfile copies, and each
command runs with the variables of Dockerfile and compose alone. Where an engine answers, the image is built too.
"""

import asyncio
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import core
from core import synth_core_memory
from core.upkeep.check import check_packet
from tests.spec import image
from tests.spec.proxy_world import ModelServer, serving, wait_until
from tests.wheel import ROOT, Environment, build_wheel

pytestmark = pytest.mark.checkout

PACKAGE = Path(core.__path__[0])
TEN_LINES = re.search(
    r"^## Ten lines\n.*?```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
WORKS = """
import sys
import prompt_engine
assert "site-packages/prompt_engine/" in prompt_engine.__file__, prompt_engine.__file__
"""
KEY = "key-of-the-model-server-7321"
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-[\w.-]+)?")
SERVICES = [(name, service) for name in image.COMPOSE for service in image.read_compose(name)["services"]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A distribution of somebody else that installs a package called `core`."""
    path = tmp_path_factory.mktemp("other") / "othercore-1.0-py3-none-any.whl"
    info = "othercore-1.0.dist-info"
    files = {
        "core/__init__.py": "WHOSE = 'theirs'\n",
        "core/db.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: othercore\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
        made.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return path


def run_ten_lines(environment: Environment, folder: Path) -> str:
    """Return what the ten lines of the README print in a new folder of their own."""
    assert TEN_LINES is not None
    folder.mkdir()
    return environment.run(WORKS + TEN_LINES[1], folder)


def test_r1_the_wheel_holds_one_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {re.sub(r"-.*\.dist-info$", ".dist-info", name.split("/")[0]) for name in archive.namelist()}
    assert names == {"prompt_engine", "prompt_engine.dist-info"}


def test_r1_the_sdist_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    code = "import sys, hatchling.build; hatchling.build.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    [sdist] = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
        packed.extractall(tmp_path, filter="data")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(listed.splitlines()) - names == set()
    made = build_wheel(tmp_path / "made", tmp_path / sdist.name.removesuffix(".tar.gz"))
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(made) as two:
        assert sorted(one.namelist()) == sorted(two.namelist())


SEEDS_CALLS = """
import prompt_engine.as_core
import core, core.prompt_engine, core.synth_core_memory
from core.db import insert_memory, configure
from core.prompt_engine import build_json_prompt
import prompt_engine, prompt_engine.synth_core_memory
assert core is prompt_engine and core.synth_core_memory is prompt_engine.synth_core_memory
import prompt_engine.stories.rules_running as one, core.stories.rules_running as two
assert one is two and one.__spec__.name == "prompt_engine.stories.rules_running"
configure("sqlite://")
insert_memory(content="the cat is called tofu", author="synth", source="chat", tags=["cat"], scope="general")
message = {"message_id": 1, "date": None, "text": "what about the cat?", "chat_id": 5}
print(build_json_prompt(message, {}, "telegram_bot")["context"]["memories"][0]["snippet"])
"""
REFUSED = """
import core
try:
    import prompt_engine.as_core
except ImportError as error:
    print(error)
"""


@pytest.mark.slow
def test_r1_r3_beside_a_package_called_core(wheel: Path, other: Path, tmp_path: Path) -> None:
    said = "\n['Tofu is your cat.', 'My cat is called Tofu.']\n[]\n"
    theirs = "import core; assert core.WHOSE == 'theirs'"
    environment = Environment(tmp_path / "env")
    environment.install(other, wheel, compiled=False)
    assert run_ten_lines(environment, tmp_path / "before").endswith(said)
    environment.run(theirs, tmp_path)
    environment.pip("uninstall", "-y", "othercore")
    assert run_ten_lines(environment, tmp_path / "removed").endswith(said)
    assert environment.run(SEEDS_CALLS, tmp_path) == "the cat is called tofu\n"
    environment.install(other)
    assert run_ten_lines(environment, tmp_path / "after").endswith(said)
    told = environment.run(REFUSED, tmp_path)
    assert "Another package called 'core' is loaded" in told and "site-packages/core/__init__.py" in told
    assert environment.run("import prompt_engine.as_core, core; print(core.__name__)", tmp_path) == "prompt_engine\n"
    environment.pip("uninstall", "-y", "prompt-engine")
    environment.run(theirs, tmp_path)


def test_r2_the_names_of_the_package_follow_what_a_host_put_in_their_place(monkeypatch: Any) -> None:
    assert set(core.__all__) <= set(dir(core)) and all(getattr(core, name) is not None for name in core.__all__)
    assert core.search_memories is synth_core_memory.search_memories
    with pytest.raises(AttributeError, match="serch"):
        core.serch_memories  # noqa: B018
    code = "import sys; import core; print(sorted(m for m in sys.modules if m.startswith('core.')))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout == "[]\n"
    monkeypatch.setattr(synth_core_memory, "search_memories", stand_in := object())
    assert core.search_memories is stand_in  # type: ignore[comparison-overlap]


def test_r4_the_suite_runs_against_the_wheel() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^test:.*\n\t.*servers lint\n\t.*pytest.*\n\t.*tests\.wheel", makefile, re.MULTILINE)
    assert re.search(r"^test-wheel:.*\n\t.*tests\.wheel", makefile, re.MULTILINE)


def test_an_editable_install_has_both_names() -> None:
    for first, second in (("core", "prompt_engine"), ("prompt_engine", "core")):
        code = (
            f"import {first}.scope, {second}.scope, {second}.stories; import {first}.stories; "
            f"assert {first} is {second} and {first}.scope is {second}.scope and {first}.stories is {second}.stories; "
            f"import sys; print(sys.modules['{second}.scope'] is sys.modules['{first}.scope'])"
        )
        told = {"PYTHONPATH": f"{ROOT}:{PACKAGE / '_editable'}", "PATH": "/usr/bin:/bin"}
        ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=told)
        assert ran.stdout == "True\n"


def test_r5_what_the_wheel_says_of_itself(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        told = archive.read(name).decode()
        assert any(each.endswith("/licenses/LICENSE") for each in archive.namelist())
        assert "prompt_engine/py.typed" in archive.namelist()
    assert "\nLicense-Expression: MIT\n" in told and "\nRequires-Python: >=3.11\n" in told
    assert told.count("\nClassifier: Programming Language :: Python :: 3.") >= 4 and "\nProvides-Extra: cli\n" in told


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    image.build_environment(folder)
    return folder / "installed"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("secrets")
    _make_secrets(folder)
    return {path.name: path.read_text(encoding="utf-8") for path in (folder / "secrets").iterdir()}


def _make_secrets(folder: Path) -> str:
    return subprocess.run(
        ["make", "--no-print-directory", "-f", str(image.ROOT / "Makefile"), "secrets"],
        cwd=folder, capture_output=True, text=True, check=True, timeout=image.GENEROUS_SECONDS,
    ).stdout  # fmt: skip


def test_r34_nothing_but_the_package_gets_into_the_image() -> None:
    """A secret or a database of the checkout would be handed on with it."""
    lines = (image.ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {name for line in image.read_stage(0)["COPY"] for name in line.split()[:-1]}
    assert "*" in lines and copied == allowed
    assert "/secrets/" in (image.ROOT / ".gitignore").read_text(encoding="utf-8").split()


@pytest.mark.parametrize(("name", "service"), SERVICES)
def test_r34_every_service_is_held_to_the_rules(name: str, service: str) -> None:
    made = image.read_compose(name)["services"][service]
    assert made["user"].split(":")[0] not in ("", "0", "root")
    assert made["read_only"] is True and made["cap_drop"] == ["ALL"]
    assert made["security_opt"] == ["no-new-privileges:true"] and made["restart"] == "unless-stopped"
    assert made["healthcheck"]["test"][0] == "CMD"
    assert "build" in made or PINNED.fullmatch(made["image"])
    for volume in made.get("volumes", ()):
        assert volume.split(":")[0] in image.read_compose(name)["volumes"], volume
    for port in made.get("ports", ()):
        assert port.startswith("127.0.0.1:"), "every machine that reaches this one could try the token"
    assert set(made.get("secrets", ())) <= set(image.read_compose(name)["secrets"])


@pytest.mark.parametrize("name", image.COMPOSE)
def test_r34_no_secret_has_a_default(name: str) -> None:
    """A password that everybody can read here is none."""
    made = image.read_compose(name)
    for secret, where in made["secrets"].items():
        assert where == {"file": f"./secrets/{secret}"}
    for service in made["services"].values():
        for variable, value in service["environment"].items():
            is_secret = re.search("PASSWORD|TOKEN|KEY|SECRET|DATABASE_URL", variable)
            if is_secret:
                assert variable.endswith("_FILE") and value in {f"/run/secrets/{one}" for one in service["secrets"]}


def test_r34_make_secrets_makes_them_once(tmp_path: Path) -> None:
    """Another password than the database was made with would lock everybody out."""
    said = _make_secrets(tmp_path)
    assert "made secrets/admin_token" in said and "secrets/llm_api_key" in said
    before = image.list_files(tmp_path)
    wanted = {secret for name in image.COMPOSE for secret in image.read_compose(name)["secrets"]} - {"llm_api_key"}
    assert {Path(path).name for path in before} == wanted
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert "made" not in _make_secrets(tmp_path) and image.list_files(tmp_path) == before
    texts = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert texts["mariadb_password"] in texts["database_url"]
    assert len(set(texts.values())) == 4 and all(len(text) >= 48 for text in texts.values())


def test_r34_the_database_of_compose_takes_every_text() -> None:
    (size,) = image.read_compose("compose.yaml")["services"]["mariadb"]["command"]
    assert check_packet(int(size.removeprefix("--max-allowed-packet=").removesuffix("M")) * 2**20) == []


@pytest.fixture
def model() -> Iterator[tuple[ModelServer, str]]:
    made = ModelServer()
    with serving(made.app) as url:
        yield made, url


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.engines("sqlite", "mariadb")
def test_r34_what_the_image_runs_in_a_plain_environment(
    engine_name: str, fresh_url: str, installed: Path, secrets: dict[str, str], model: tuple[ModelServer, str],
    tmp_path: Path,
) -> None:  # fmt: skip
    with_server = engine_name != "sqlite"
    made = image.Container(
        tmp_path / "container", installed, "compose.yaml" if with_server else "compose.sqlite.yaml",
        {**secrets, "database_url": fresh_url, "llm_api_key": KEY}, {"LLM_BASE_URL": f"{model[1]}/v1"},
    )  # fmt: skip
    before = image.list_files(installed)
    place = f"http://127.0.0.1:{made.port}"
    with made.started() as process, httpx2.Client(base_url=place, timeout=image.GENEROUS_SECONDS) as client:
        # the health check says more than that it runs
        assert client.get("/health/ready").json() == {"status": "ready"}
        # the page asks for a token, and takes that of the file alone
        page = client.get("/admin/", headers={"accept": "text/html"})
        assert page.status_code == 401 and "/admin/login" in page.text
        for token, status in ((secrets["admin_token"], 200), ("wrong", 401)):
            answer = client.get("/admin/relationship/recent", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == status
        # tokens are made by the command beside it, and open the API and MCP
        host, person = _add_token(made, "--host"), _add_token(made, "--participant", "web/ann")
        message = {"text": "My cat is called Tofu.", "interface_path": "web/ann", "from_user": {"id": "ann"}}
        turn = {"message": message, "reply": {"text": "A fine name."}}
        headers = {"authorization": f"Bearer {host}"}
        assert client.post("/v1/turns", json=turn, headers=headers).status_code == 200
        prompt = client.post("/v1/prompt", json={"message": {**message, "text": "Who is Tofu?"}}, headers=headers)
        assert prompt.status_code == 200 and "called Tofu" in prompt.text
        found = asyncio.run(image.ask_mcp(made.port, person, "memory_search", query="What is my cat called?"))
        assert "called Tofu" in found
        # the proxy passes on with the key of the file, and what it remembers
        chat = {"model": "tiny", "messages": [{"role": "user", "content": "What is my cat called?"}]}
        who = {"X-User-Id": "ann", "X-Conversation-Id": "attic"}
        said = client.post("/v1/chat/completions", json=chat, headers={**headers, **who})
        assert said.status_code == 200 and said.json()["choices"][0]["message"]["content"] == "ok 1"
        assert model[0].last.headers["authorization"] == f"Bearer {KEY}"
        # it ends in order
        process.send_signal(signal.SIGTERM)
        assert process.wait(image.GENEROUS_SECONDS) == 0, made.log.read_text()
    assert "Stopped." in made.log.read_text() and "Traceback" not in made.log.read_text()
    # nothing was written but the database, and no secret was told
    database = set() if with_server else {"prompt-engine.sqlite3"}
    assert set(image.list_files(made.data)) - {f"{one}-{end}" for one in database for end in ("wal", "shm")} == database
    assert image.list_files(installed) == before and image.list_files(made.folder / "tmp") == {}
    assert not [one for one in made.secrets.values() if one in made.log.read_text()]


def _add_token(made: image.Container, *words: str) -> str:
    ran = made.run("prompt-engine", "token", "add", *words, "--json")
    assert ran.returncode == 0, ran.stderr
    token = re.search(r'"token": "([^"]+)"', ran.stdout)
    assert token is not None, ran.stdout
    return token[1]


def _docker(*words: str, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    given: dict[str, Any] = {"cwd": image.ROOT, "capture_output": True, "text": True, "timeout": timeout}
    return subprocess.run(["docker", *words], check=False, **given)


@pytest.mark.slow
def test_r34_the_image_is_built_and_started_by_a_container_engine(tmp_path: Path) -> None:
    if shutil.which("docker") is None or _docker("info", timeout=60).returncode != 0:
        pytest.skip("no container engine answers here")
    _make_secrets(tmp_path)
    name = f"prompt-engine-test-{tmp_path.name}"
    built = _docker("build", "--quiet", "--tag", name, ".")
    if built.returncode != 0 and re.search(r"pull|resolve|registry|network|no such host", built.stderr, re.IGNORECASE):
        pytest.skip("the base image cannot be obtained here")
    assert built.returncode == 0, built.stderr[-2000:]
    secret = f"{tmp_path / 'secrets' / 'admin_token'}:/run/secrets/admin_token:ro"
    options = ["--read-only", "--tmpfs=/tmp", f"--volume={secret}", "--env=ADMIN_TOKEN_FILE=/run/secrets/admin_token"]
    try:
        started = _docker("run", "--detach", f"--name={name}", f"--volume={name}:/data", *options, name)
        assert started.returncode == 0, started.stderr
        read = lambda value: _docker("inspect", f"--format={{{{.State.{value}}}}}", name).stdout.strip()  # noqa: E731
        assert wait_until(lambda: read("Health.Status") == "healthy", 120), _docker("logs", name).stderr
        assert _docker("stop", "--time=60", name).returncode == 0 and read("ExitCode") == "0"
    finally:
        for words in (("rm", "--force", name), ("volume", "rm", "--force", name), ("rmi", "--force", name)):
            _docker(*words)
