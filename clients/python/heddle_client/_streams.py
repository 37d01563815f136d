"""Server-sent events, as the HTML standard describes them, and streams that are taken up again when they break."""

from __future__ import annotations

import codecs
import http.client
import re
import time
import typing as t

from ._errors import HeddleError
from ._transport import Sent, backoff, broken, open_once

# The server sends a comment every 15 s: after this long, the connection is dead.
IDLE = 45.0
# Attempts in a row without one event; a minute and a half.
ATTEMPTS_MAX = 12
# An event that is longer is none of heddle's.
CHARS_MAX = 64 * 1024 * 1024
# By how much a wait may end too late without another connection.
TOLERANCE = 0.25


class Message(t.NamedTuple):
    event: str
    data: str
    # The last id that was sent, also with an earlier event.
    id: t.Optional[str]


def parse(chunks: t.Iterable[bytes]) -> t.Iterator[Message]:
    """The events of a body. What is not ended by an empty line is none."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest, event, last = "", "", None
    data: t.List[str] = []
    for chunk in chunks:
        rest += decoder.decode(chunk)
        if len(rest) > CHARS_MAX:
            raise HeddleError("STREAM_ENDED", "an event is too long")
        # A CR at the end may be half of a line end.
        *lines, rest = re.split(r"\r\n|\n|\r(?!\Z)", rest)
        for line in lines:
            if line:
                name, _, text = line.partition(":")
                text = text[1:] if text.startswith(" ") else text
                if name == "data":
                    data.append(text)
                elif name == "event":
                    event = text
                elif name == "id" and "\0" not in text:
                    last = text
                continue
            if data:
                yield Message(event or "message", "\n".join(data), last)
            event, data = "", []


def once(sent: Sent, deadline: t.Optional[float] = None) -> t.Iterator[Message]:
    """The events of one answer, until it ends, or until about the deadline."""
    timeout = IDLE if deadline is None else min(IDLE, max(deadline - time.monotonic(), 0.01))
    response = open_once(sent, timeout)

    def chunks() -> t.Iterator[bytes]:
        while True:
            # The next read may take as long as the connection's limit says, which can't be changed.
            if deadline is not None and time.monotonic() + timeout > deadline + TOLERANCE:
                return
            try:
                chunk = response.read1(65536)
            except (OSError, http.client.HTTPException) as error:
                raise broken(sent, error) from error
            if not chunk:
                return
            yield chunk

    # Also when whoever reads has seen enough.
    with response:
        yield from parse(chunks())


def following(sent: Sent, last: t.Optional[str] = None, deadline: t.Optional[float] = None) -> t.Iterator[t.Optional[Message]]:
    """The events of a stream and of those that follow when it breaks, between which there is None."""
    attempt = 0
    while True:
        problem = HeddleError("STREAM_ENDED", "the server ends the stream again and again")
        headers = sent.headers if last is None else {**sent.headers, "Last-Event-ID": last}
        try:
            for message in once(sent._replace(headers=headers), deadline):
                attempt, last = 0, message.id or last
                yield message
        except HeddleError as error:
            # Another attempt does not mend these.
            if 300 <= error.status < 500 and error.status not in (408, 429):
                raise
            problem = error
        seconds = max(problem.retry_after or 0, backoff(attempt))
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            seconds = min(seconds, left)
        if attempt >= ATTEMPTS_MAX:
            raise problem
        time.sleep(seconds)
        attempt += 1
        yield None
