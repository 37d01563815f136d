"""An SMTP server (aiosmtpd) on this port of 127.0.0.1 that prints an empty line once it listens, then each message as a line of JSON.

Usage: smtp_server.py none|starttls|tls PORT [CERTIFICATE KEY]. With TLS it asks for the user `ann` with the password
`s3cret-pw`. Recipients that begin with `nobody` are refused.
"""

import json
import logging
import ssl
import sys
import time
import warnings

# The tests break connections and mix modes on purpose; what the library says of it would look like a failure.
logging.disable()
warnings.simplefilter("ignore")

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 5.1.1 No such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        content = envelope.content.decode("utf-8", "replace")
        line = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "content": content}
        print(json.dumps(line), flush=True)
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    is_ann = data.login == b"ann" and data.password == b"s3cret-pw"
    return AuthResult(success=is_ann, handled=False)


def main():
    mode, port = sys.argv[1], int(sys.argv[2])
    # In seconds: a busy machine takes its time.
    options = {"ready_timeout": 60}
    if mode != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        options.update(authenticator=authenticate, auth_required=True)
        if mode == "starttls":
            options.update(tls_context=context, require_starttls=True)
        else:
            options.update(ssl_context=context, auth_require_tls=False)
    controller = Controller(Handler(), hostname="127.0.0.1", port=port, **options)
    controller.start()
    print(flush=True)
    while True:
        time.sleep(3600)


main()
