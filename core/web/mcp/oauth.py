"""OAuth for remote MCP clients: a client registers, the operator consents, and the client gets a token of one person.

The SDK implements the protocol (metadata, PKCE, validation); this module stores and issues.

| What | Stored |
|---|---|
| registration, request for consent | nowhere: signed with ADMIN_TOKEN, so that nobody can fill a database |
| code | in this process; valid for a minute and one use |
| access token | a row of the tokens, as from `token add`; valid for an hour, and only at `/mcp` |
| refresh token | nowhere: its signature covers the token's hash, so that it is invalid after a renewal |

A code or refresh token that is used twice was stolen: the access token's row is revoked.
"""

import hashlib
import hmac
import json
import re
import secrets
import time
from asyncio import Future, ensure_future
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple
from unicodedata import category
from urllib.parse import parse_qs, urlsplit

from mcp.server.auth import provider
from mcp.server.auth.routes import create_auth_routes, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull as Client
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ... import tokens
from ...base import logs
from ...errors import ConfigError
from ...tokens import issue_token, shapes
from ..access import ADMIN, WebContext
from ..guard import BODY_SECONDS, FORM_BYTES, MCP, give_body, is_loopback, read_body

ACCESS = timedelta(hours=1)
REFRESH = timedelta(days=90)
"""Longest time between two renewals of a token; afterwards the operator must consent again."""
CONSENT = timedelta(minutes=10)
CODE_SECONDS = 60
MOST_ADDRESSES, MOST_CHARS = 5, 2000
"""Limits of addresses and characters in a registration: later requests of the client contain the registration."""
MOST_ASKED = 5_500
"""Maximum number of characters of a request for consent, which the URL of the log-in page repeats."""
FOREIGN = "This server gives tokens for {} alone."
KEPT = {"redirect_uris", "client_name", "token_endpoint_auth_method", "grant_types", "scope"}

_PLACE = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?")
_REFRESH_FORM = re.compile(r"pr_([0-9]{1,19})_([0-9a-f]{64})_([0-9a-f]{64})")


class Asked(NamedTuple):
    """A client's request for consent."""

    client: Client
    params: provider.AuthorizationParams

    @property
    def name(self) -> str:
        return self.client.client_name or "A program without a name"

    @property
    def goes_to(self) -> str:
        """Return the origin of the redirect URL, which the operator sees before consenting."""
        parts = urlsplit(str(self.params.redirect_uri))
        return f"{parts.scheme}://{parts.netloc}"


class Grant(NamedTuple):
    """An authorization code, the token that the client gets for the code, and the task that issues it, if begun."""

    code: provider.AuthorizationCode
    token: shapes.AccessToken
    issued: list[Future[Any]]


class Provider(
    provider.OAuthAuthorizationServerProvider[provider.AuthorizationCode, provider.RefreshToken, provider.AccessToken]
):
    def __init__(self, context: WebContext, public_url: str) -> None:
        self._context = context
        self._grants: dict[str, Grant] = {}
        self._answered: dict[str, object] = {}
        """Requests for consent that were answered. Each needed a click of the operator, so the list stays short."""
        self.url = check_public_url(public_url)
        self.resource = f"{self.url}{MCP}"
        self.metadata = f"{self.url}/.well-known/oauth-protected-resource{MCP}"
        # a registered client could guess ADMIN_TOKEN offline from a signature: scrypt makes each guess slow
        secret = context.admin_token.encode("utf-8", "surrogatepass")
        self._key = hashlib.scrypt(secret, salt=b"prompt-engine oauth", n=2**14, r=8, p=1, dklen=32)

    def routes(self) -> list[Route]:
        both = AuthSettings.model_validate(
            {"issuer_url": self.url, "resource_server_url": self.resource, "validate_token_resource": True}
        )
        assert both.resource_server_url is not None
        registration = ClientRegistrationOptions(enabled=True)
        own = create_auth_routes(self, both.issuer_url, client_registration_options=registration)
        for route in own:
            if route.path == "/token":
                route.app = self._check_resource(route.app)
        return [*own, *create_protected_resource_routes(both.resource_server_url, [both.issuer_url])]

    def _check_resource(self, app: ASGIApp) -> ASGIApp:
        """Wrap the token route with a check of the parameter `resource`, which the SDK does not pass on."""

        async def check(scope: Scope, receive: Receive, send: Send) -> None:
            body = await read_body(receive, FORM_BYTES, BODY_SECONDS)
            named = parse_qs(body.decode("latin-1")).get("resource", [])
            if all(map(self.is_own, named)):
                await app(scope, give_body(body, receive), send)
                return
            refused = {"error": "invalid_target", "error_description": FOREIGN.format(self.resource)}
            await JSONResponse(refused, 400)(scope, receive, send)

        return check

    # Registration

    async def register_client(self, client_info: Client) -> None:
        """Give a client an id that contains its signed registration."""
        addresses = [str(each) for each in client_info.redirect_uris or ()]
        if refused := next(filter(None, map(_describe_bad_address, addresses)), ""):
            raise provider.RegistrationError("invalid_redirect_uri", refused)
        shown = "".join(each if category(each)[0] not in "CZ" else " " for each in client_info.client_name or "")
        client_info.client_name = " ".join(shown.split())[:100] or None
        kept = client_info.model_dump(mode="json", include=KEPT, exclude_none=True)
        if len(addresses) > MOST_ADDRESSES or len(json.dumps(kept)) > MOST_CHARS:
            what = f"At most {MOST_ADDRESSES} redirect_uris and {MOST_CHARS} characters can be registered."
            raise provider.RegistrationError("invalid_client_metadata", what)
        client_info.client_id = self._write("client", kept)
        client_info.client_secret = self._find_secret(client_info)

    async def get_client(self, client_id: str) -> Client | None:
        return self._find_client(client_id)

    def _find_client(self, client_id: str) -> Client | None:
        kept = self._read("client", client_id)
        if kept is None:
            return None
        client = Client.model_validate({**kept, "client_id": client_id})
        client.client_secret = self._find_secret(client)
        return client

    def _find_secret(self, client: Client) -> str | None:
        is_public = client.token_endpoint_auth_method == "none"  # noqa: S105 - the name of a method
        return None if is_public else self._sign(f"secret {client.client_id}")

    # Consent

    async def authorize(self, client: Client, params: provider.AuthorizationParams) -> str:
        if params.resource is not None and not self.is_own(params.resource):
            raise provider.AuthorizeError("invalid_target", FOREIGN.format(self.resource))
        until = (self._context.now() + CONSENT).timestamp()
        ask = {"client": client.client_id, "params": params.model_dump(mode="json", exclude_none=True), "until": until}
        ask["id"] = secrets.token_hex(4)
        text = self._write("ask", ask)
        if len(text) > MOST_ASKED:
            raise provider.AuthorizeError("invalid_request", "Address and state are too long. Use shorter ones.")
        return provider.construct_redirect_uri(f"{self.url}{ADMIN}/page/programs", ask=text)

    def find_request(self, text: str) -> Asked | None:
        """Parse a request for consent from a signed text; None if it is forged or expired, or was answered."""
        ask = self._read("ask", text)
        if ask is None or text in self._answered or ask["until"] < self._context.now().timestamp():
            return None
        client = self._find_client(ask["client"])
        params = provider.AuthorizationParams.model_validate({"state": None, "scopes": None, **ask["params"]})
        return Asked(client, params) if client else None

    def take_request(self, text: str) -> bool:
        """Mark the request for consent in `text` as answered; return whether this was the first answer."""
        mine = object()
        return self._answered.setdefault(text, mine) is mine

    def allow(self, asked: Asked, persona: str, participant: str) -> str:
        """Return the redirect URL with a code for a token of this person."""
        client, params = asked.client, asked.params
        code = provider.AuthorizationCode(
            **params.model_dump(exclude={"state", "scopes"}),
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + CODE_SECONDS,  # the clock with which the SDK checks it
            client_id=client.client_id,
        )
        token = shapes.AccessToken(0, "scope", persona, participant, label=asked.name, resource=self.resource)
        self._grants[code.code] = Grant(code, token, [])
        return self._answer(asked, code=code.code)

    def deny(self, asked: Asked) -> str:
        return self._answer(asked, error="access_denied")

    def _answer(self, asked: Asked, **values: str) -> str:
        address, state = str(asked.params.redirect_uri), asked.params.state
        return provider.construct_redirect_uri(address, **values, state=state, iss=self.url)

    # Tokens

    def is_own(self, resource: str) -> bool:
        return resource.rstrip("/") in (self.resource, self.url)

    async def load_authorization_code(
        self, client: Client, authorization_code: str
    ) -> provider.AuthorizationCode | None:
        """Return the code if it is unused, else None; the SDK then compares client, redirect URL and challenge."""
        grant = self._grants.get(authorization_code)
        if grant is None or grant.code.client_id != client.client_id:
            return None
        if grant.issued:
            new = await grant.issued[0]
            await run_in_threadpool(self._end_family, replace(grant.token, id=new["id"]))
            return None
        return grant.code

    async def exchange_authorization_code(
        self, client: Client, authorization_code: provider.AuthorizationCode
    ) -> OAuthToken:
        grant = self._grants[authorization_code.code]
        if grant.issued:
            raise provider.TokenError("invalid_grant", "The code was used before.")
        grant.issued.append(ensure_future(run_in_threadpool(self._issue, grant.token)))
        new = await grant.issued[0]
        return self._build_answer(client, new["id"], new["token"])

    def _issue(self, token: shapes.AccessToken) -> shapes.NewToken:
        db = self._context.database()
        return issue_token(db, replace(token, expires_at=db.clock() + ACCESS))

    def _end_family(self, token: shapes.AccessToken) -> None:
        """Revoke a token and its renewals, because its code or a refresh token was used twice."""
        logs.warning("token_used_twice", id=token.id)
        tokens.update_revoked(self._context.database(), token.persona, token.id)

    async def load_refresh_token(self, client: Client, refresh_token: str) -> provider.RefreshToken | None:
        found = await run_in_threadpool(self._find_row, client, refresh_token)
        scopes = (client.scope or "").split()
        return provider.RefreshToken(token=refresh_token, client_id=client.client_id, scopes=scopes) if found else None

    def _find_row(self, client: Client, text: str) -> tuple[shapes.AccessToken, bytes] | None:
        """Return (access token, stored hash) that the refresh token `text` renews; None if `text` is invalid."""
        parts = _REFRESH_FORM.fullmatch(text)
        if parts is None or int(parts[1]) > shapes.MOST_ID:
            return None
        token_id, known = int(parts[1]), bytes.fromhex(parts[2])
        db = self._context.database()
        row = tokens.read_token(db, token_id)
        if row is None or not hmac.compare_digest(self._write_refresh(client, token_id, known), text):
            return None
        if row[1] != known:
            self._end_family(row[0])
            return None
        expires_at = row[0].expires_at
        return None if expires_at is None or expires_at - ACCESS + REFRESH <= db.clock() else row

    async def exchange_refresh_token(
        self,
        client: Client,
        refresh_token: provider.RefreshToken,
        scopes: list[str],  # noqa: ARG002 - none
    ) -> OAuthToken:
        """Return the client's next access token; its earlier tokens become invalid."""
        return await run_in_threadpool(self._renew, client, refresh_token.token)

    def _renew(self, client: Client, refresh_text: str) -> OAuthToken:
        db = self._context.database()
        row = self._find_row(client, refresh_text)
        if row is not None:
            text = shapes.write_token(row[0].id, secrets.token_urlsafe(32))
            if tokens.renew_token(db, row[0].id, row[1], shapes.hash_token(text), db.clock() + ACCESS):
                return self._build_answer(client, row[0].id, text)
            self._end_family(row[0])
        raise provider.TokenError("invalid_grant", "The refresh token was used before, or the token was revoked.")

    def _build_answer(self, client: Client, token_id: int, text: str) -> OAuthToken:
        refresh = self._write_refresh(client, token_id, shapes.hash_token(text))
        return OAuthToken(access_token=text, expires_in=int(ACCESS.total_seconds()), refresh_token=refresh)

    def _write_refresh(self, client: Client, token_id: int, token_hash: bytes) -> str:
        known = token_hash.hex()
        return f"pr_{token_id}_{known}_{self._sign(f'refresh {token_id} {known} {client.client_id}')}"

    async def load_access_token(self, token: str) -> provider.AccessToken | None:  # noqa: ARG002
        """Return None: the guard checks the tokens of requests."""
        return None

    async def revoke_token(self, token: provider.AccessToken | provider.RefreshToken) -> None:
        """Do nothing: clients have no revocation route, and the operator revokes tokens on the admin page."""

    # Signed texts

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def _write(self, purpose: str, values: Mapping[str, Any]) -> str:
        body = urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")
        return f"{body}.{self._sign(f'{purpose} {body}')}"

    def _read(self, purpose: str, text: str) -> dict[str, Any] | None:
        """Verify and parse a text signed for `purpose`; None if the signature is invalid."""
        body, _, signature = text.partition(".")
        if not hmac.compare_digest(self._sign(f"{purpose} {body}").encode(), signature.encode("utf-8", "replace")):
            return None
        values: dict[str, Any] = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return values


def _describe_bad_address(address: str) -> str:
    parts = urlsplit(address)
    is_private = "." in parts.scheme  # an app's own scheme is a reversed domain name
    is_web = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if parts.fragment or not (is_web or is_private):
        return f"{address[:200]} cannot be used. Use https, http on this machine, or a scheme of your own with a dot."
    if "@" in parts.netloc:
        return f"{address[:200]} names a user, which reads as if it were the host. Leave it out."
    return ""


def check_public_url(url: str) -> str:
    """Normalise the public URL; raise ConfigError unless it is `https://name`, or `http` on this machine."""
    try:
        parts = urlsplit(str(AnyHttpUrl(url)))  # normalised as clients write it: lower case, no default port
        raw = urlsplit(url)
    except ValueError:
        parts = raw = urlsplit("")
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if not is_safe or not _PLACE.fullmatch(raw.netloc) or raw.path.strip("/") or raw.query or raw.fragment:
        raise ConfigError(
            f"The public address is {url[:200]!r}. It must be https://NAME, without a path: clients send passwords and "
            "tokens there. A server that speaks TLS stands in front of this one.",
            flag="public_url",
        )
    return f"{parts.scheme}://{parts.netloc}"
