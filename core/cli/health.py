"""`prompt-engine health`: whether a server of this machine is ready, for whatever watches over it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from .run import Run
from .serve import PortOption

HostOption = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="Where it listens. Without it ADMIN_HOST.")
]
LiveOption = Annotated[
    bool, typer.Option("--live", help="Ask only whether the process answers, not whether the database does.")
]
SecondsOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, max=600, help="Longest wait for the answer.")
]

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not listened on
_SENTENCES = {
    "ready": "It is ready.",
    "ok": "It is alive.",
    "database": "It is not ready: the database does not answer.",
    "schema": "It is not ready: the database is of another version. Bring it to the present: prompt-engine db migrate",
}


def health(
    run: Run,
    host: HostOption = None,
    port: PortOption = None,
    live: LiveOption = False,
    timeout: SecondsOption = 10.0,
) -> None:
    """Ask a running server whether it is ready to serve.

    It is when it answers, its database does, and the tables are of this version. The exit code is 1 if it is not.
    """
    from ..config import load

    settings = load()
    listening, number = host or settings.admin_host, port or settings.admin_port
    address = (_ANY_ADDRESS.get(listening, listening), number)
    status, body = _ask(address, "/health/live" if live else "/health/ready", timeout)
    word = str(body.get("lacks") or body.get("status"))
    run.answer({"healthy": status == 200, **body}, _SENTENCES.get(word, f"It answers {status}."))
    if status != 200:
        raise typer.Exit(1)


def _ask(address: tuple[str, int], path: str, seconds: float) -> tuple[int, dict[str, Any]]:
    """Return status and body of what a server of this machine answers.

    Raises:
        ConfigError: nothing answers there, or something else does.
    """
    import http.client

    connection = http.client.HTTPConnection(*address, timeout=seconds)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = json.loads(answer.read(10_000))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ConfigError(
            f"No server of this program answers on {address[0]}, port {address[1]} ({type(error).__name__}). Start it "
            "with `prompt-engine serve`, or name its place with --host and --port, or ADMIN_HOST and ADMIN_PORT.",
            flag="ADMIN_PORT",
        ) from None
    finally:
        connection.close()
    return answer.status, body if isinstance(body, dict) else {}
