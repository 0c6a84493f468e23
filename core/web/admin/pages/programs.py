"""The screen of client programs: their tokens for the persona, and OAuth requests for a token."""

from starlette.responses import Response

from .... import tokens
from ....access import overview
from ....scope import Scope
from ... import guard
from ...errors import Refused
from .page import Page

TOO_OLD = "This request is older than ten minutes, was answered, or was not made here. Connect the program again."


def list_programs(page: Page) -> Response:
    text = page.field("ask")
    listed = tokens.list_tokens(**page.admin.asking)
    people = [each.key for each in overview.list_people(page.db, page.persona, "", 200)[0]] if text else []
    return page.render(
        "programs.html.j2",
        screen="programs",
        ask=text,
        asked=_find_request(page, text) if text else None,
        people=people,
        tokens=[each for each in listed if not each["revoked_at"]],
        names=page.read_names([*people, *(each["participant"] for each in listed)]),
        flash=_SAID.get(page.field("note")),
    )


_SAID = {"revoked": "Revoked: the program is refused from now on.", "ended": "Nothing changed: it was revoked before."}


def answer_request(page: Page) -> Response:
    """Redirect the browser to the client program, with a code if the operator consented, else with an error."""
    asked, provider = _find_request(page, page.field("ask")), page.context.oauth
    participant = page.field("participant").strip()
    if page.field("allow") and "/" not in participant:
        what = f"Whose memory is {participant[:60]!r}. It must be the key of a person: interface/id, as web/ann."
        raise Refused(422, what)
    if not provider.take_request(page.field("ask")):
        raise Refused(410, TOO_OLD)
    if not page.field("allow"):
        return guard.lead_to(provider.deny(asked), "Back to the program")
    scope = Scope(page.field("persona").strip() or page.persona, participant=participant)
    return guard.lead_to(provider.allow(asked, scope.persona, participant), "Back to the program")


def revoke_token(page: Page) -> Response:
    done = tokens.revoke_token(page.row_id("revoke"), **page.admin.asking)
    return page.redirect(page.url("programs", note="revoked" if done else "ended"))


def _find_request(page: Page, text: str) -> object:
    asked = page.context.oauth.find_request(text) if page.context.oauth is not None else None
    if asked is None:
        raise Refused(410, TOO_OLD)
    return asked
