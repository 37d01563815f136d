"""Webhooks of the scheme `heddle`: signing, sending, checking. Needs no API key."""

from __future__ import annotations

import email.message
import hashlib
import hmac
import secrets
import typing as t

from ._transport import Sent, json_of, send

Bytes = t.Union[bytes, str]


def sign_webhook(secret: str, body: Bytes) -> str:
    """The value of `X-Webhook-Signature` for a body, which must be sent as exactly these bytes."""
    data = body.encode() if isinstance(body, str) else body
    return hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()


def verify_webhook(secret: str, body: Bytes, signature: t.Optional[str]) -> bool:
    """Whether a signature (hex, with or without `sha256=`) is that of a body, in the same time whatever it is."""
    if not signature:
        return False
    given = signature[len("sha256=") :] if signature.startswith("sha256=") else signature
    return hmac.compare_digest(sign_webhook(secret, body).encode(), given.lower().encode())


class WebhookAnswer(t.NamedTuple):
    #: 202 for an event that will run, 200 for what a pattern answers, and for an event that came before.
    status: int
    #: `{"status", "runId", …}`, or what the pattern's RespondToWebhook says.
    body: t.Any
    #: The run that the event started, if the answer names it.
    run_id: t.Optional[str]
    headers: email.message.Message


def send_webhook(
    url: str,
    event: t.Any,
    *,
    secret: t.Optional[str] = None,
    idempotency_key: t.Optional[str] = None,
    headers: t.Optional[t.Mapping[str, str]] = None,
    timeout: float = 60.0,
    retries: int = 3,
) -> WebhookAnswer:
    """Sends an event as JSON to the address of a webhook, signed with its secret.

    It is sent again after 429, 503 and errors of the network, with the same key, so that it starts one run. Without
    `idempotency_key` each call makes a new one. Raises a HeddleError if the event is refused, or if the pattern answers with a
    status of 300 or more.
    """
    body = json_of(event)
    more = {"Content-Type": "application/json", "X-Idempotency-Key": idempotency_key or secrets.token_hex(16)}
    if secret is not None:
        more["X-Webhook-Signature"] = sign_webhook(secret, body)
    answer = send(Sent("POST", url, {**(headers or {}), **more}, body, is_repeatable=True), timeout, retries)
    told = answer.read()
    run_id = told.get("runId") if isinstance(told, dict) else None
    return WebhookAnswer(answer.status, told, run_id if isinstance(run_id, str) else None, answer.headers)
