"""The engines that tests run on, and the checks that hold for every test.

| fixture       | scope    | gives                                                                            |
|---------------|----------|----------------------------------------------------------------------------------|
| `engine_name` | module   | sqlite, mariadb, mysql, seekdb or of TEST_DATABASE_URL, one after the other      |
| `fresh_url`   | function | URL of an empty database of the test's own                                       |
| `migrated_url`| module   | URL of an empty database with all tables; a server's may have served others before |
| `fresh_migrated_url` | function | like `fresh_url`, with all tables; a server's may have served others before |
| `db`          | module   | handle of `migrated_url` with a clock that tests set                             |
| `server_name` | module   | like `engine_name`, without sqlite                                               |
| `own_folder`  | function | an empty folder, and no default database and hooks afterwards                     |
| `make_server` | function | starts a private server that the test may kill: `make_server("mariadb", durable=True)` |

A test runs on SQLite and one server, MariaDB, those of tests/spec and tests/adapters on SQLite: what servers do
differently is tested in tests/store. `@pytest.mark.dialects` lets a test or module about that run on every engine;
TEST_SERVERS does so for all tests. `@pytest.mark.engines("mariadb", "mysql")` limits a test or module to some of the
engines, with `extras=True` to those and what TEST_DATABASE_URL names; without arguments it lifts the limit.
"""

import gc
import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sqlalchemy import delete

from core.access import table_participants
from core.config import FLAGS
from core.database.engine import Database
from core.database.schema import privacy_levels
from core.errors import StoreError
from tests.databases import Handed
from tests.servers import SERVERS, Server, ServerError
from tests.servers.session import SQLITE, Session

# What the machine or its user has set is no part of a test, nor of the processes that tests start.
OWN_NAMES = ("CONFIG_FILE", "MCP_PARTICIPANT", "MCP_NAME", "MCP_CONVERSATION", "MCP_SERVER", "MCP_PRIVACY")
PYTHON_NAMES = ("PYTHONDONTWRITEBYTECODE",)  # each process would compile the whole package
TERMINAL_NAMES = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
for _name in (*OWN_NAMES, *PYTHON_NAMES, *TERMINAL_NAMES, *FLAGS, *(f"{flag}_FILE" for flag in FLAGS)):
    os.environ.pop(_name, None)

# Each HTTP client would read the certificates of all authorities, 45 milliseconds; no test trusts one of them.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# The collector of garbage takes a quarter of the run: it looks at each of the many objects of a suite again and again.
gc.set_threshold(50_000, 20, 20)

# Time limits per example fail on a busy machine; the check below looks at whole tests.
settings.register_profile("suite", deadline=None, print_blob=True)
settings.load_profile("suite")

ON_SQLITE = ("spec", "adapters")
"""Folders of the tests that say themselves where they run on servers too."""
SLOW_SECONDS = 5.0
"""A test that takes longer must carry the marker `slow`."""

# Servers on a busy machine take seconds for what takes them milliseconds alone; tests of the limit name their own.
_own_defaults = Database.__init__.__kwdefaults__
assert _own_defaults is not None and "timeout_seconds" in _own_defaults, "the limit of a call is named otherwise now"
_own_defaults["timeout_seconds"] = 60.0

SESSION = pytest.StashKey[Session]()
HANDED = pytest.StashKey[Handed]()

_numbers = itertools.count(1)
_unmarked: dict[str, float] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/*/expected.json anew")


def pytest_configure(config: pytest.Config) -> None:
    """Decide which engines this run covers; a worker is told by its controller."""
    handed = getattr(config, "workerinput", {}).get("engines")
    config.stash[SESSION] = Session.received(handed) if handed is not None else Session.planned(os.environ)
    config.stash[HANDED] = Handed()


def pytest_report_header(config: pytest.Config) -> list[str]:
    session = config.stash[SESSION]
    partial = " (TEST_SERVERS chose a part of them)" if os.environ.get("TEST_SERVERS") else ""
    return [f"engines: {session.describe()}{partial}", *(f"PROBLEM: {text}" for text in session.problems)]


def _refuse(session: Session) -> None:
    if session.problems:
        pytest.exit("The suite needs real database servers: " + "; ".join(session.problems), returncode=4)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Start every server before the first worker of a parallel run, and tell the worker where they are."""
    session = node.config.stash[SESSION]
    _refuse(session)
    try:
        node.workerinput["engines"] = session.hand_over()
    except ServerError as error:
        pytest.exit(str(error), returncode=4)


def _engine(item: pytest.Item) -> str | None:
    """Return the engine that a test runs on, None for one that asks for none."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return params.get("engine_name") or params.get("server_name")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to start the servers that the collected tests need, all at once; no garbage is looked for in tests and
    modules, which stay.
    """
    gc.collect()
    gc.freeze()
    engines = session.config.stash[SESSION]
    used = {_engine(item) for item in session.items} - {None, SQLITE}
    if used and not session.config.option.collectonly:
        _refuse(engines)
        engines.start(name for name in engines.names if name in used)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SESSION in config.stash:
        config.stash[SESSION].stop()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `engine_name` or `server_name` once per engine."""
    session = metafunc.config.stash[SESSION]
    names, limit = session.names, metafunc.definition.get_closest_marker("engines")
    if limit is None and metafunc.definition.path.parent.name in ON_SQLITE:
        names = [name for name in names if name == SQLITE]
    elif limit is not None and limit.args:
        extras = limit.kwargs.get("extras")
        names = [name for name in names if name in limit.args or (extras and session.is_extra(name))]
    elif not os.environ.get("TEST_SERVERS") and metafunc.definition.get_closest_marker("dialects") is None:
        names = _everyday(session)
    for fixture, ids in (("engine_name", names), ("server_name", [n for n in names if n != SQLITE])):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, ids, scope="module")


def _everyday(session: Session) -> list[str]:
    """Return SQLite, one server and every one of TEST_DATABASE_URL."""
    own = [name for name in session.names if name != SQLITE and not session.is_extra(name)]
    return [name for name in session.names if name == SQLITE or name in own[:1] or session.is_extra(name)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let modules with slow tests begin: those that come last are short, and no worker waits long for another."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of one module on one engine together on a worker, since they share a database.

    xdist's own `--dist=loadgroup` writes groups into ids in a way that current pytest does not read.
    """
    from xdist.scheduler import LoadScopeScheduling

    engines = set(config.stash[SESSION].names)
    config.option.loadscopereorder = False  # by the number of tests, the slowest would come last

    class ByModuleAndEngine(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, rest = nodeid.partition("::")
            engine = next((e for e in engines if f"[{e}" in rest), "")
            return f"{file}-{engine}"

    return ByModuleAndEngine(config, log)


@pytest.fixture(autouse=True)
def _forget_levels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Privacy levels hold for all personas: those of one test would hold in the next one of its database."""
    set_level, asked = table_participants.set_level, []

    def noted(connection: Any, db: Database, *args: Any) -> None:
        asked.append(db)
        set_level(connection, db, *args)

    monkeypatch.setattr(table_participants, "set_level", noted)
    yield
    for db in set(asked):
        with suppress(StoreError):
            db.transaction(lambda connection: connection.execute(delete(privacy_levels)), source="privacy_levels")


def _database(config: pytest.Config, engine: str, label: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database. Only a server that is not ours is tidied up: ours go away with their data."""
    number = next(_numbers)
    if engine == SQLITE:
        yield f"sqlite:///{folder / f'{number}.db'}"
        return
    session, worker = config.stash[SESSION], os.environ.get("PYTEST_XDIST_WORKER", "main")
    name = re.sub(r"[^a-z0-9]+", "_", f"pe_{worker}_{number}_{label}".lower())[:60]
    server = session.server(engine)
    yield server.create_database(name)
    if session.is_extra(engine):
        server.drop_database(name)


@pytest.fixture
def fresh_url(request: pytest.FixtureRequest, engine_name: str, tmp_path: Path) -> Iterator[str]:
    yield from _database(request.config, engine_name, request.node.name, tmp_path)


def _migrated(config: pytest.Config, engine: str, label: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database with all tables. On a server of ours it is handed on to the next that asks."""
    handed = config.stash[HANDED]
    if engine == SQLITE or config.stash[SESSION].is_extra(engine):
        yield from _database(config, engine, label, folder)
        return
    url = handed.take(engine)
    if url is None:
        url = next(_database(config, engine, "migrated", folder))
        handed.made(engine, url)
    yield url
    handed.give_back(engine, url)


@pytest.fixture(scope="module")
def migrated_url(
    request: pytest.FixtureRequest, engine_name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    yield from _migrated(request.config, engine_name, request.path.stem, tmp_path_factory.mktemp("sqlite"))


@pytest.fixture
def fresh_migrated_url(request: pytest.FixtureRequest, engine_name: str, tmp_path: Path) -> Iterator[str]:
    yield from _migrated(request.config, engine_name, request.node.name, tmp_path)


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    from tests.store.world import open_db  # it loads much of core, which most tests of modules alone do not need

    with closing(open_db(migrated_url)) as made:
        yield made


@pytest.fixture
def make_server() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def make(name: str, **settings: Any) -> Server:
        started.append(SERVERS[name](**settings))
        return started[-1].start()

    yield make
    for server in started:
        server.stop()


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from core import hooks
    from core.calls import defaults

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    defaults.configure()
    yield tmp_path
    hooks.clear_hooks()
    if defaults.process.db is not None:
        defaults.process.db.close()
    defaults.configure()


# Slow tests


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.duration > SLOW_SECONDS and "slow" not in report.keywords:
        _unmarked[report.nodeid] = report.duration


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List slow tests without the marker. It is a list, not a failure: how long a test takes depends on the machine."""
    if _unmarked:
        terminalreporter.section(f"tests over {SLOW_SECONDS:.0f} s without @pytest.mark.slow")
        for nodeid, seconds in sorted(_unmarked.items(), key=lambda pair: -pair[1]):
            terminalreporter.line(f"{seconds:6.1f} s  {nodeid}")
