"""What goes wrong, as exceptions."""

from __future__ import annotations

import email.message
import email.utils
import json
import time
import typing as t

if t.TYPE_CHECKING:
    from . import types as m


class HeddleError(Exception):
    """A request that failed.

    `code` is stable: match on it. Besides the server's codes there are `NETWORK` (no answer), `TIMEOUT` (none in time),
    `STREAM_ENDED`, `INVALID_GRAPH` (422, `details` by node) and `HTTP_…` (an answer that is none of heddle's, such as a proxy's).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        details: t.Sequence[m.Detail] = (),
        request_id: t.Optional[str] = None,
        retry_after: t.Optional[float] = None,
        body: t.Any = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        #: The HTTP status; 0 without an answer.
        self.status = status
        self.details = list(details)
        #: Find it in the server's log by this.
        self.request_id = request_id
        #: Seconds.
        self.retry_after = retry_after
        #: The body of the answer, as it came.
        self.body = body


class RunFailedError(HeddleError):
    """A run that did not succeed. `code` and `message` say why, `run` has all that is known."""

    def __init__(self, run: m.WholeRun) -> None:
        error = run.get("error")
        code = error["code"] if error else "RUN_FAILED"
        super().__init__(code, error["message"] if error else f"the run {run['id']} ended as {run['status']}")
        self.run = run
        self.node_id = error.get("nodeId") if error else None


def _retry_after(value: t.Optional[str]) -> t.Optional[float]:
    """`Retry-After` as seconds or as a date."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def error_of(status: int, headers: email.message.Message, data: bytes) -> HeddleError:
    """The error that an answer tells."""
    request_id, retry_after = headers.get("X-Request-Id"), _retry_after(headers.get("Retry-After"))

    def error(code: str, message: str, details: t.Sequence[m.Detail] = ()) -> HeddleError:
        return HeddleError(
            code, message, status=status, details=details, request_id=request_id, retry_after=retry_after, body=body
        )

    body: t.Any = data.decode(errors="replace")
    try:
        body = json.loads(body)
    except ValueError:
        pass
    told = body.get("error") if isinstance(body, dict) else None
    if isinstance(told, dict) and isinstance(told.get("code"), str):
        details = told.get("details")
        return error(told["code"], str(told.get("message") or told["code"]), details if isinstance(details, list) else ())
    findings = body.get("errors") if isinstance(body, dict) else None
    if isinstance(findings, list):
        places: t.List[m.Detail] = [{"path": one.get("nodeId") or "", "message": one["message"]} for one in findings]
        said = [f"{one['path']}: {one['message']}" if one["path"] else one["message"] for one in places]
        return error("INVALID_GRAPH", said[0] if said else "the graph is not valid", places)
    return error(f"HTTP_{status}", f"the server answered {status}")
