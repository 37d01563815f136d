"""What schemathesis does not know: mail, the events of streams, and which objects no request may change."""

import os

import schemathesis

# Ids of the user who sends the requests, and of workspaces in which the objects are.
OWN = {own for own in os.environ.get("OWN_IDS", "").split(",") if own}
# Deployments whose runs wait until somebody calls: whoever waits for their end waits in vain.
WAITING = {waiting for waiting in os.environ.get("WAITING_IDS", "").split(",") if waiting}
NOBODY = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a"


@schemathesis.hook
def before_load_schema(ctx, raw_schema):
    """OpenAPI 3.1 has no way to describe the events of a stream, so that the document has the schema of their data. For
    schemathesis an event is an object, in which the data is a text."""
    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            for response in operation["responses"].values():
                stream = response.get("content", {}).get("text/event-stream")
                if stream:
                    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": stream["schema"]}
                    named = {"event": {"type": "string", "minLength": 1}, "data": data}
                    stream["schema"] = {"type": "object", "required": ["event", "data"], "properties": named}


@schemathesis.hook
def before_call(ctx, case, **kwargs):
    """Keeps requests away from what the others need. Answers name the objects among which further requests choose: so an operator,
    or an admin of a workspace, could suspend or delete the user's own workspace, or take their role from them."""
    path = case.operation.path
    given = case.path_parameters or {}
    changes = case.operation.method.upper() not in ("GET", "HEAD")
    if changes and (path.startswith("/operator/") or path.endswith("/members/{userId}")):
        for name, value in given.items():
            is_own = str(value) in OWN
            if is_own and (name == "userId" or path.startswith("/operator/")):
                given[name] = NOBODY
    if path == "/api/deployments/{id}/execute" and str(given.get("id")) in WAITING and case.query:
        if str(case.query.get("wait")).lower() == "true":
            del case.query["wait"]


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    """A URL or headers of more than 32 KiB get 431 before anything looks at whose they are (docs/server.md)."""
    return response.status_code != 431


@schemathesis.serializer("message/rfc822")
def message(ctx, value):
    """The text that was generated; most of it is no mail, and has to be refused."""
    return {"data": value if isinstance(value, bytes) else str(value).encode()}
