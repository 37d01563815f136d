"""How schemathesis writes what it does not know: mail."""

import schemathesis


@schemathesis.serializer("message/rfc822")
def message(ctx, value):
    """The text that was generated; most of it is no mail, and has to be refused."""
    return {"data": value if isinstance(value, bytes) else str(value).encode()}
