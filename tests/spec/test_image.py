"""R34: the image and the compose files, held to their rules, and every command of theirs run in a plain environment.

A container engine is not needed: the package is installed from a wheel that is made of what the Dockerfile copies, and
each command runs with the variables of Dockerfile and compose alone, its secrets in files. Where an engine answers, the
image is built and started too.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.spec import image
from tests.spec.proxy_world import ModelServer, serving, wait_until

pytestmark = pytest.mark.checkout
KEY = "key-of-the-model-server-7321"
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-[\w.-]+)?")
SERVICES = [(name, service) for name in image.COMPOSE for service in image.read_compose(name)["services"]]


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
        asked = {"message": {**message, "text": "Who is Tofu?"}}
        prompt = client.post("/v1/prompt", json=asked, headers=headers)
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
    return subprocess.run(
        ["docker", *words], cwd=image.ROOT, capture_output=True, text=True, check=False, timeout=timeout
    )


@pytest.mark.slow
@pytest.mark.engines("sqlite")
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
        healthy = wait_until(
            lambda: _docker("inspect", "--format", "{{.State.Health.Status}}", name).stdout.strip() == "healthy", 120
        )
        assert healthy, _docker("logs", name).stderr
        assert _docker("stop", "--time=60", name).returncode == 0
        state: Any = _docker("inspect", "--format={{.State.ExitCode}}", name).stdout.strip()
        assert state == "0"
    finally:
        for words in (("rm", "--force", name), ("volume", "rm", "--force", name), ("rmi", "--force", name)):
            _docker(*words)
