"""The client: requests to all operations of the API, and what is more than one request."""

from __future__ import annotations

import http.client
import json
import os
import time
import typing as t

from ._errors import HeddleError, RunFailedError
from ._operations import Operations
from ._streams import following, once
from ._transport import Sent, json_of, open_once, path_of, query_of, send, text_of

if t.TYPE_CHECKING:
    from . import types as m


class Event(t.NamedTuple):
    """An event of a live stream. `data` is what the document says of the event of this name."""

    event: str
    data: t.Any
    #: Where a stream of the workspace can be taken up again.
    id: t.Optional[str] = None


class Heddle(Operations):
    """A client. By default of HEDDLE_URL, with the key in HEDDLE_API_KEY. Threads may share it."""

    def __init__(
        self,
        url: t.Optional[str] = None,
        api_key: t.Optional[str] = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        url = url or os.environ.get("HEDDLE_URL")
        api_key = api_key or os.environ.get("HEDDLE_API_KEY")
        if not url or not api_key:
            raise ValueError("url and api_key are needed: give them, or set HEDDLE_URL and HEDDLE_API_KEY")
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"the url {url!r} should begin with https:// or http://")
        self._url = url.rstrip("/")
        self._api_key = api_key
        self._timeout = timeout
        self._retries = retries

    def request(
        self,
        method: str,
        path: str,
        values: t.Optional[t.Mapping[str, t.Any]] = None,
        *,
        query: t.Optional[t.Mapping[str, t.Any]] = None,
        headers: t.Optional[t.Mapping[str, t.Any]] = None,
        body: t.Any = None,
    ) -> t.Any:
        """Sends any request: `request("GET", "/api/patterns/{id}", {"id": id})`. Bytes are sent as they are.

        The answer is JSON or text, and of an envelope `{success, data, timestamp}` the data.
        """
        answer = send(self._sent(method, path, values, query, headers, body), self._timeout, self._retries).read()
        is_wrapped = isinstance(answer, dict) and "success" in answer and "data" in answer and "meta" not in answer
        return answer["data"] if is_wrapped else answer

    def _call(self, method: str, path: str, values: t.Dict[str, t.Any], **more: t.Any) -> t.Any:
        return self.request(method, path, values, **more)

    def _sent(
        self,
        method: str,
        path: str,
        values: t.Optional[t.Mapping[str, t.Any]] = None,
        query: t.Optional[t.Mapping[str, t.Any]] = None,
        headers: t.Optional[t.Mapping[str, t.Any]] = None,
        body: t.Any = None,
    ) -> Sent:
        sent = {"Authorization": f"Bearer {self._api_key}", "Accept": "application/json"}
        if body is not None:
            sent["Content-Type"] = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        sent.update({name: text_of(value) for name, value in (headers or {}).items() if value is not None})
        url = self._url + path_of(path, values or {}) + query_of(query or {})
        data = body if body is None or isinstance(body, bytes) else json_of(body)
        return Sent(method, url, sent, data, is_repeatable=method == "GET")

    def _elements(self, path: str, values: t.Dict[str, t.Any], query: t.Dict[str, t.Any]) -> t.Iterator[t.Any]:
        # An empty one is the beginning, and says that cursors are wanted rather than numbers of pages.
        cursor: t.Optional[str] = ""
        while cursor is not None:
            page = self.request("GET", path, values, query={**query, "cursor": cursor})
            yield from page["data"] if "data" in page else page["logs"]
            cursor = page["meta"].get("nextCursor")

    def deploy(self, pattern_id: str, body: t.Optional[t.Dict[str, t.Any]] = None) -> m.Deployed:
        """Deploys the newest version of a pattern, with its own definitions, or as the body of `deploy_pattern` says."""
        outcome = self.request(
            "POST", "/api/patterns/{id}/deploy", {"id": pattern_id}, body={"nodeDefinitions": {}, **(body or {})}
        )
        if "dryRun" in outcome:
            raise ValueError("deploy plans nothing: use deploy_pattern for a dry run")
        return t.cast("m.Deployed", outcome)

    def run(
        self,
        deployment_id: str,
        event_data: t.Optional[t.Dict[str, t.Any]] = None,
        *,
        timeout: t.Optional[float] = None,
    ) -> t.Any:
        """Starts a run of a deployment, waits for its end and gives its output. Raises a RunFailedError if it fails."""
        started = self.execute_deployment(deployment_id, {"eventData": event_data or {}})
        run = self.wait_for_run(deployment_id, started["runId"], timeout=timeout)
        if run["status"] != "success":
            raise RunFailedError(run)
        return run["output"]

    def wait_for_run(self, deployment_id: str, run_id: str, *, timeout: t.Optional[float] = None) -> m.WholeRun:
        """Waits for the end of a run, however it ends.

        Raises a HeddleError `TIMEOUT` if that takes longer than `timeout` seconds; the run itself goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        for event in self._watch_run(deployment_id, run_id, deadline):
            if event.event == "run" and event.data["status"] != "running":
                return t.cast("m.WholeRun", event.data)
        raise HeddleError("TIMEOUT", f"the run {run_id} has not ended within {timeout} s")

    def watch_run(self, deployment_id: str, run_id: str) -> t.Iterator[Event]:
        """A run as it is (`run`) and as it changes (`change`), until it has ended. The last event is the whole run.

        Goes on when a connection breaks.
        """
        return self._watch_run(deployment_id, run_id, None)

    def _watch_run(self, deployment_id: str, run_id: str, deadline: t.Optional[float]) -> t.Iterator[Event]:
        sent = self._sent("GET", "/api/deployments/{id}/runs/{runId}/stream", {"id": deployment_id, "runId": run_id})
        for message in following(sent, deadline=deadline):
            if message is None:
                continue
            event = Event(message.event, json.loads(message.data))
            yield event
            if event.event == "run" and event.data["status"] != "running":
                return

    def watch_runs(self, deployment_id: str) -> t.Iterator[Event]:
        """Changes of a deployment's runs as they happen (`change`; `lagged` if some were missed).

        What happens while a connection is broken is missing: then there is an event `reconnected`.
        """
        for message in following(self._sent("GET", "/api/deployments/{id}/runs/stream", {"id": deployment_id})):
            yield Event("reconnected", None) if message is None else Event(message.event, json.loads(message.data))

    def watch(self, last_event_id: t.Optional[str] = None) -> t.Iterator[Event]:
        """What happens in the workspace: `run`, `saved`, `deployment`, `webhook`, `missed`, and first `server`.

        After a broken connection it goes on with what was saved, deployed and received meanwhile, and says what is `missed`.
        `last_event_id` goes on where an earlier one ended.
        """
        for message in following(self._sent("GET", "/api/stream"), last_event_id):
            if message is not None:
                yield Event(message.event, json.loads(message.data), message.id)

    def trace_run(self, deployment_id: str, run_id: str) -> t.Iterator[m.TestEvent]:
        """Executes an ended run once more from its journal, to show what each node did. The last event is `end`."""
        values = {"id": deployment_id, "runId": run_id}
        return self._test_events(self._sent("POST", "/api/deployments/{id}/runs/{runId}/trace", values))

    def test_run(self, body: m.RunBody) -> t.Iterator[m.TestEvent]:
        """Executes transpiled code as a test run, and tells what each node does.

        The last event is `end`; stopping early cancels the run.
        """
        return self._test_events(self._sent("POST", "/api/execute/stream", body=body))

    def _test_events(self, sent: Sent) -> t.Iterator[m.TestEvent]:
        for message in once(sent):
            event = json.loads(message.data)
            yield event
            if event["type"] == "end":
                return
        # It is not begun again: that would be another run.
        raise HeddleError("STREAM_ENDED", "the connection broke before the run had ended")

    def upload(self, data: bytes, *, name: t.Optional[str] = None, type: str = "application/octet-stream") -> m.StoredFile:
        """Stores a file. The answer can stand anywhere in an event."""
        stored = self.request("POST", "/api/files", query={"name": name}, headers={"Content-Type": type}, body=data)
        return t.cast("m.StoredFile", stored)

    def download(self, file_id: str) -> http.client.HTTPResponse:
        """A file, to be read piece by piece: `with client.download(id) as file: shutil.copyfileobj(file, target)`."""
        sent = self._sent("GET", "/api/files/{id}", {"id": file_id}, headers={"Accept": "*/*"})
        return open_once(sent, self._timeout)
