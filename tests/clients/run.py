#!/usr/bin/env python3
"""Tests the clients against a running server: those of clients/, and those that docs/clients.md has generated.

    tests/clients/run.py

Clients of clients/ must have what clients/generate.py makes of the server's document, and heddle's version. Their own tests and the
page's samples are executed. TypeScript is compiled by the console's own tools (Node.js and npm are needed); openapi-python-client is
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
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients"))

import generate
from service import ROOT, TARGET, Service, build

PAGE = ROOT / "docs/clients.md"
CLIENTS = ROOT / "clients"
CONSOLE = ROOT / "console"
VENV = TARGET / "clients"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# What the samples print: those of our clients, and those of generated ones.
OURS, GENERATED = "42", "Generated"


def samples(language):
    """The two samples of the page in a language: of our client, and of a generated one."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    if len(found) != 2:
        sys.exit(f"{PAGE} has {len(found)} samples in {language}, not two")
    return found


def run(command, folder, stderr=subprocess.STDOUT, **more):
    """Runs a command, whose output is shown if it fails; what it prints."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr or ''}")
    return done.stdout


def expect(what, expected, command, folder, environment):
    """Runs a sample, which has to print this; what it says of failed runs is another matter."""
    printed = run(command, folder, stderr=subprocess.PIPE, env=environment)
    if printed.strip() != expected:
        sys.exit(f"{what} printed {printed.strip()!r}, not {expected!r}")
    print(f"{what} did what docs/clients.md says", flush=True)


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


def check_versions():
    """The clients have heddle's version."""
    version = re.search(r'^\[workspace\.package\]\nversion = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    package = json.loads((CLIENTS / "typescript/package.json").read_text())
    module = (CLIENTS / "python/heddle_client/__init__.py").read_text()
    own = {package["version"], re.search(r'^__version__ = "(.*)"', module, re.MULTILINE)[1]}
    if own != {version}:
        sys.exit(f"the clients have the versions {', '.join(sorted(own))}, heddle has {version}")


def check_generated(document, folder):
    """What is checked in is what the server's document makes; the types for TypeScript, for a sample."""
    run([sys.executable, CLIENTS / "generate.py", "-d", document, "-o", folder], folder)
    for file in generate.GENERATED:
        if (folder / file).read_text() != (CLIENTS / file).read_text():
            sys.exit(f"clients/{file} is not made of the document of this server: clients/generate.py")
    return folder / generate.TYPESCRIPT


def python(document, folder, environment):
    """Our client with its tests and its sample, then a generated one with its."""
    of_ours, of_generated = samples("python")
    (folder / "ours.py").write_text(of_ours)
    ours = {**environment, "PYTHONPATH": str(CLIENTS / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    # Clients are left to close what they have opened.
    run([sys.executable, "-W", "error", "-m", "unittest", "discover", "-s", CLIENTS / "python/tests"], folder, env=ours)
    expect("our client in Python", OURS, [sys.executable, "ours.py"], folder, ours)

    command = [VENV / "bin/openapi-python-client", "generate", "--path", document, "--meta", "none", "--output-path", "heddle"]
    # It formats what it generates by a tool of the environment.
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"
    told = run(command, folder, env={**os.environ, "PATH": path})
    # A part of the document that is left out is a failure, but for the mail.
    left_out = [line for line in told.splitlines() if re.match("WARNING|Unable", line) and "/inbound/email" not in line]
    if left_out:
        sys.exit(f"openapi-python-client left something out:\n{told}")
    (folder / "generated.py").write_text(of_generated)
    expect("a generated client in Python", GENERATED, [VENV / "bin/python", "generated.py"], folder, environment)


def typescript(types, folder, environment):
    """Our client, built as for those who use it, with its tests and its sample, and a generated one with its."""
    of_ours, of_generated = samples("ts")
    folder = folder / "package"
    shutil.copytree(CLIENTS / "typescript", folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(CONSOLE / "node_modules")
    tsc = CONSOLE / "node_modules/.bin/tsc"
    run([tsc, "-p", "."], folder)
    # Within the package its name is itself.
    (folder / "ours.ts").write_text(of_ours)
    (folder / "generated.ts").write_text(of_generated)
    shutil.copy(types, folder / "heddle.ts")
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "--skipLibCheck", "--noUncheckedIndexedAccess"]
    run([tsc, *options, "ours.ts", "generated.ts", "tests/client.test.ts"], folder)
    run(["node", "--test", "tests/client.test.js"], folder, env=environment)
    expect("our client in TypeScript", OURS, ["node", "ours.js"], folder, environment)
    expect("a generated client in TypeScript", GENERATED, ["node", "generated.js"], folder, environment)


def main():
    check_versions()
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
            environment = {**os.environ, "HEDDLE_URL": service.url, "HEDDLE_API_KEY": key}
            folders = {name: files / name for name in ("clients", "python", "typescript")}
            for folder in folders.values():
                folder.mkdir()
            types = check_generated(document, folders["clients"])
            python(document, folders["python"], environment)
            typescript(types, folders["typescript"], environment)
        finally:
            status = service.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
