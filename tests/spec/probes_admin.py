"""Probes of the flags of the admin server."""

from __future__ import annotations

from typing import Any

from core.cli import serve as serving
from core.config import Settings
from core.errors import ConfigError
from core.web import create_app
from tests.spec.admin_world import BEARER, TOKEN, client_of, made
from tests.spec.probes import probe
from tests.spec.stage import Stage


@probe("127.0.0.1", "box.lan")
def _admin_host(stage: Stage, value: Any) -> object:
    with client_of(made(stage.db, Settings(admin_host=value)), "http://box.lan") as client:
        return client.get("/admin/relationship/recent", headers=BEARER).status_code


@probe(8765, 8766)
def _admin_port(stage: Stage, value: Any) -> object:
    with serving._open_socket("127.0.0.1", Settings(admin_port=value).admin_port) as listening:
        return listening.getsockname()[1]


@probe("", TOKEN)
def _admin_token(stage: Stage, value: Any) -> object:
    try:
        return type(create_app(db=stage.db, settings=Settings(admin_token=value)))
    except ConfigError as error:
        return error.flag
