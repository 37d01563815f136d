"""Requests: time limits, and what is sent again after which answer."""

from __future__ import annotations

import datetime
import email.message
import http.client
import json
import random
import re
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from ._errors import HeddleError, error_of

PAUSE = 0.5
PAUSE_MAX = 10.0
# A server that asks for more patience than this is not waited for.
RETRY_AFTER_MAX = 60.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could lead the key to somebody else."""

    def redirect_request(self, *_: t.Any, **__: t.Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class Sent(t.NamedTuple):
    method: str
    url: str
    headers: t.Dict[str, str]
    body: t.Optional[bytes] = None
    # Whether it may arrive twice, so that it can be sent again when nobody knows whether it has arrived.
    is_repeatable: bool = False


class Answer(t.NamedTuple):
    status: int
    headers: email.message.Message
    data: bytes

    def read(self) -> t.Any:
        """JSON as its value, anything else as text."""
        if not self.data:
            return None
        kind = self.headers.get("Content-Type") or ""
        return (
            json.loads(self.data) if re.match(r"application/([\w.-]+\+)?json\b", kind) else self.data.decode(errors="replace")
        )


def backoff(attempt: int) -> float:
    """Between two attempts: longer each time, and not for all clients the same."""
    return min(PAUSE * 2.0 ** min(attempt, 10), PAUSE_MAX) * random.uniform(0.5, 1.0)


def open_once(sent: Sent, timeout: float) -> http.client.HTTPResponse:
    """Sends once. The response is one that succeeded, and has to be closed."""
    request = urllib.request.Request(sent.url, sent.body, sent.headers, method=sent.method)
    try:
        return t.cast(http.client.HTTPResponse, _OPENER.open(request, timeout=timeout))
    except urllib.error.HTTPError as answer:
        with answer:
            try:
                data = answer.read()
            except (OSError, http.client.HTTPException):
                data = b""
        raise error_of(answer.code, answer.headers, data) from None
    except (OSError, http.client.HTTPException) as error:
        raise broken(sent, error) from error


def broken(sent: Sent, error: Exception) -> HeddleError:
    """What is said of an error of the network."""
    reason = getattr(error, "reason", error)
    code = "TIMEOUT" if isinstance(reason, TimeoutError) or "timed out" in str(reason) else "NETWORK"
    return HeddleError(code, f"{sent.method} {sent.url} got no answer: {reason}")


def _send_once(sent: Sent, timeout: float) -> Answer:
    with open_once(sent, timeout) as response:
        try:
            return Answer(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise broken(sent, error) from error


def _repetition(error: HeddleError, attempt: int, sent: Sent) -> t.Optional[float]:
    """After how many seconds to send again, or None."""
    asked = error.retry_after
    if error.status in (429, 503):
        # Nothing was done, as `Retry-After` says. Without it that is not known.
        if (asked is None and not sent.is_repeatable) or (asked or 0) > RETRY_AFTER_MAX:
            return None
        return max(asked or 0, backoff(attempt))
    return backoff(attempt) if error.status == 0 and sent.is_repeatable else None


def send(sent: Sent, timeout: float, retries: int) -> Answer:
    """Sends until there is an answer that counts; the answer, if it is a good one."""
    attempt = 0
    while True:
        try:
            return _send_once(sent, timeout)
        except HeddleError as error:
            seconds = _repetition(error, attempt, sent) if attempt < retries else None
            if seconds is None:
                raise
        time.sleep(seconds)
        attempt += 1


def json_of(value: t.Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def text_of(value: t.Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        # Without a time zone it is local time, as everywhere in Python.
        return value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)


def query_of(query: t.Mapping[str, t.Any]) -> str:
    """As it stands in a URL: lists repeat their name, and what is None is left out."""
    fields = []
    for name, value in query.items():
        many = value if isinstance(value, (list, tuple)) else [value]
        fields += [(name, text_of(one)) for one in many if one is not None]
    return f"?{urllib.parse.urlencode(fields)}" if fields else ""


def path_of(template: str, values: t.Mapping[str, t.Any]) -> str:
    """A path of the document with its values."""

    def filled(place: t.Match[str]) -> str:
        value = text_of(values[place[1]])
        # URLs leave these segments out, so that the request would be another one.
        if value in ("", ".", ".."):
            raise ValueError(f"{template}: {place[1]} can't be {value!r}")
        return urllib.parse.quote(value, safe="")

    return re.sub(r"\{(\w+)\}", filled, template)
