"""How schemathesis writes what it does not know, mail, and what it is not to send."""

import schemathesis


@schemathesis.serializer("message/rfc822")
def message(ctx, value):
    """The text that was generated; most of it is no mail, and has to be refused."""
    return {"data": value if isinstance(value, bytes) else str(value).encode()}


@schemathesis.hook
def filter_case(ctx, case):
    """An empty parameter, as a form sends one that was not filled in, counts as one that is not there. The document can't say so
    of numbers, for which it would be a violation."""
    return not any(value in ("", None, [], [""], [None]) for value in dict(case.query or {}).values())
