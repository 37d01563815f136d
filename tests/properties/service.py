"""A running `heddle serve` for tests in Python, and a user of it."""

import json
import os
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build():
    """Builds the program as the tests do: for other features of theirs, all dependencies would be built once more."""
    command = ["cargo", "test", "--quiet", "--locked", "--workspace", "--test", "cli", "--no-run"]
    subprocess.run(command, cwd=ROOT, check=True)


class Service:
    """A running `heddle serve`, and a user of it."""

    def __init__(self, files, database_url):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}
        environment |= {"HEDDLE_LISTEN": "127.0.0.1:0", "HEDDLE_DATA_DIR": str(files / "data"), "HEDDLE_LOG": "warn"}
        self.operator_token = "of-the-operator-of-thirty-two-characters-or-more"
        environment["HEDDLE_OPERATOR_TOKEN"] = self.operator_token
        if database_url:
            environment["HEDDLE_DATABASE_URL"] = database_url
            environment["HEDDLE_MASTER_KEY"] = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
            environment["HEDDLE_JWT_SECRET"] = "a secret of thirty-two characters or more"
        self.log = open(files / "log", "w+")
        self.process = subprocess.Popen(
            [TARGET / "debug/heddle", "serve"], env=environment, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.stop()
            self.log.seek(0)
            sys.exit(f"heddle serve did not start: {line}{self.log.read()}")
        # What it prints later has to go somewhere.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.url = line.removeprefix("listening on ").split()[0]
        self.token = None

    def send(self, method, path, data=None, content_type="application/json", token=None):
        """The bytes of the answer to the user's request, or to that of whoever has the token."""
        headers = {"Content-Type": content_type}
        if token or self.token:
            headers["Authorization"] = f"Bearer {token or self.token}"
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as reply:
            return reply.read()

    def call(self, method, path, body=None, token=None):
        """The same for JSON, both ways."""
        return json.loads(self.send(method, path, None if body is None else json.dumps(body).encode(), token=token))

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)
