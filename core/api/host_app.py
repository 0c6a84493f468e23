"""The API for hosts, as an application: its routes, its document, and which failure is which answer."""

from __future__ import annotations

from fastapi import Depends, FastAPI, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.requests import Request

from ..admin import errors
from ..admin.app import NO_TELEMETRY
from ..admin.bodies import check_known
from . import access, host_routes
from .guard import FaceContext

DOCUMENT = "/v1/openapi.json"
_bearer = HTTPBearer(auto_error=False, description="A token of `prompt-engine token add`.")


def create_host_app(context: FaceContext) -> FastAPI:
    """Return the API for hosts, to be put behind a `guard.FaceGuard`."""
    app = FastAPI(
        title="prompt-engine",
        version="1",
        description="What a host asks and stores of one persona's memory. Every route needs a token.",
        docs_url=None,  # that page loads its script from elsewhere
        redoc_url=None,
        openapi_url=DOCUMENT,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.context = context
    for failure in errors.HANDLED:
        app.add_exception_handler(failure, errors.handle)
    app.include_router(
        host_routes.router, dependencies=[Security(_bearer), Depends(_require_token), Depends(check_known)]
    )
    return app


def list_own_paths() -> list[str]:
    """Return the paths that these routes are under, as `/v1/memories`."""
    paths = [DOCUMENT, *(route.path for route in host_routes.router.routes if isinstance(route, APIRoute))]
    return sorted({"/".join(path.split("/")[:3]) for path in paths})


def _require_token(request: Request) -> None:
    """Refuse a request that has not passed the guard."""
    access.get_token(request)
