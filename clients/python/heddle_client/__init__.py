"""A client of heddle's API."""

from ._client import Event, Heddle
from ._errors import HeddleError, RunFailedError
from .webhooks import WebhookAnswer, send_webhook, sign_webhook, verify_webhook

__version__ = "0.1.0"
__all__ = [
    "Event",
    "Heddle",
    "HeddleError",
    "RunFailedError",
    "WebhookAnswer",
    "send_webhook",
    "sign_webhook",
    "verify_webhook",
]
