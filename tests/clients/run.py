#!/usr/bin/env python3
"""Generates clients from the OpenAPI document of a running server, as docs/clients.md says, and runs the page's samples.

    tests/clients/run.py

The types for TypeScript are made and compiled by the console's own tools (Node.js and npm are needed); openapi-python-client is
installed into target/clients.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "properties"))

from service import ROOT, TARGET, Service, build

PAGE = ROOT / "docs/clients.md"
CONSOLE = ROOT / "console"
VENV = TARGET / "clients"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# What both samples print.
EXPECTED = "42"


def sample(language):
    """The one sample of the page in a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        sys.exit(f"{PAGE} has {len(found)} samples in {language}, not one")
    return found[0]


def run(command, folder, **more):
    """Runs a command, whose output is shown if it fails; what it prints."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def install():
    """Makes the virtual environment, unless it is there with the same requirements."""
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "install", "--quiet", "-r", REQUIREMENTS], check=True)
        installed.write_text(REQUIREMENTS.read_text())


def install_console():
    """Has the console's tools there, which are those that are locked."""
    locked, there = CONSOLE / "package-lock.json", CONSOLE / "node_modules/.package-lock.json"
    if not there.exists() or there.stat().st_mtime < locked.stat().st_mtime:
        run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], CONSOLE)


def python(document, folder, environment):
    """Generates, and runs the sample; what it prints. A part of the document that is left out is a failure, but for the mail."""
    command = [VENV / "bin/openapi-python-client", "generate", "--path", document, "--meta", "none", "--output-path", "heddle"]
    # It formats what it generates by a tool of the environment.
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"
    told = run(command, folder, env={**os.environ, "PATH": path})
    left_out = [line for line in told.splitlines() if re.match("WARNING|Unable", line) and "/inbound/email" not in line]
    if left_out:
        sys.exit(f"openapi-python-client left something out:\n{told}")
    (folder / "sample.py").write_text(sample("python"))
    return run([VENV / "bin/python", "sample.py"], folder, env={**os.environ, **environment})


def typescript(document, folder, environment):
    """Generates, compiles and runs the sample; what it prints."""
    tools = CONSOLE / "node_modules/.bin"
    run([tools / "openapi-typescript", document, "--output", "heddle.ts"], folder)
    (folder / "sample.ts").write_text(sample("ts"))
    (folder / "package.json").write_text(json.dumps({"type": "module"}))
    (folder / "node_modules").symlink_to(CONSOLE / "node_modules")
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "--skipLibCheck", "--noUncheckedIndexedAccess"]
    run([tools / "tsc", *options, "sample.ts"], folder)
    return run(["node", "sample.js"], folder, env={**os.environ, **environment})


def main():
    build()
    install()
    install_console()
    with tempfile.TemporaryDirectory() as files:
        files = Path(files)
        service = Service(files, None)
        try:
            account = {"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}
            service.token = service.call("POST", "/api/auth/register", account)["data"]["token"]
            key = service.call("POST", "/api/auth/api-keys", {"name": "clients"})["data"]["key"]
            document = files / "openapi.json"
            document.write_text(json.dumps(service.call("GET", "/api/openapi.json")))
            environment = {"HEDDLE_URL": service.url, "HEDDLE_API_KEY": key}
            for client in (python, typescript):
                folder = files / client.__name__
                folder.mkdir()
                printed = client(document, folder, environment).strip()
                if printed != EXPECTED:
                    sys.exit(f"the sample in {client.__name__} printed {printed!r}, not {EXPECTED!r}")
                print(f"the sample in {client.__name__} did what docs/clients.md says", flush=True)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            status = service.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
