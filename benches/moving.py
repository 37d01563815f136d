#!/usr/bin/env python3
"""How long does it take to move a workspace of 1,000 patterns and 100,000 runs to the other database, and is all of it there?

    benches/moving.py PROGRAM [--patterns 1000] [--runs 100000] [--to postgres|sqlite]

starts two servers of PROGRAM, one on SQLite and one on a PostgreSQL that it starts, fills a workspace by the API and webhooks,
exports and imports it by the command line, and compares what both show of every pattern and every run. It prints times, sizes and
the most memory that each server took. Figures are kept in benches/README.md. Needs PostgreSQL.
"""

import argparse
import concurrent.futures
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

OPERATOR = "a token of the operator, of more than thirty-two characters"
PASSPHRASE = "correct horse battery staple"
CONNECTIONS = 16
DEPLOYED = 10


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server:
    def __init__(self, program, directory, variables):
        self.port = free_port()
        self.program = program
        self.directory = directory
        directory.mkdir()
        self.environment = {
            "HEDDLE_LISTEN": f"127.0.0.1:{self.port}",
            "HEDDLE_OPERATOR_TOKEN": OPERATOR,
            "HEDDLE_BASE_URL": "http://heddle.example.com",
            "HEDDLE_AUTH_RATE_LIMIT": "0,0",
            "HEDDLE_WEBHOOK_RATE_LIMIT": "0",
            "HEDDLE_QUOTA_PATTERNS": "1000000",
            "HEDDLE_RETENTION_RUNS": "10000000",
            "HEDDLE_LOG": "warn",
            "HEDDLE_CACHE_DIR": str(directory.parent / "cache"),
            **variables,
        }
        self.process = subprocess.Popen(
            [program, "serve"], cwd=directory, env=self.environment, stdout=subprocess.DEVNULL
        )
        self.kept = threading.local()
        self.token = ""
        self.user = ""
        for _ in range(1200):
            try:
                self.call("GET", "/readyz")
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("a server does not start")

    def send(self, method, path, body, headers):
        for _ in range(3):
            if getattr(self.kept, "connection", None) is None:
                self.kept.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            try:
                self.kept.connection.request(method, path, body, headers)
                answer = self.kept.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
                self.kept.connection = None
        raise OSError("the server does not answer")

    def call(self, method, path, body=None):
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        while True:
            status, text = self.send(method, path, None if body is None else json.dumps(body), headers)
            if status == 429:
                time.sleep(1)
                continue
            if status >= 300:
                raise SystemExit(f"{method} {path}: {status} {text[:500]}")
            return json.loads(text or b"null")

    def tenants(self, *arguments):
        began = time.monotonic()
        url = f"http://127.0.0.1:{self.port}"
        subprocess.run(
            [self.program, "tenants", *arguments, "--url", url],
            cwd=self.directory, env=self.environment, check=True, stdout=subprocess.DEVNULL,
        )
        return time.monotonic() - began

    def peak(self):
        """The most memory that it took, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) // 1024

    def register(self):
        account = {"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}
        registered = self.call("POST", "/api/auth/register", account)["data"]
        self.token, self.user = registered["token"], registered["user"]["id"]


def each(count, work):
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        return list(pool.map(work, range(count)))


def fill(server, patterns, runs):
    """Patterns, of which some are deployed, and runs of these; the endpoints of the webhooks."""
    server.register()
    fields = [
        {"id": f"n{n}", "type": "SetFields", "data": {"parameters": {"fields": {f"f{n}": "{{ $input.body?.n ?? 0 }}"}}}}
        for n in range(10)
    ]
    nodes = [{"id": "hook", "type": "OnWebhook", "data": {"parameters": {}}}, *fields]
    edges = [{"source": one["id"], "target": other["id"]} for one, other in zip(nodes, nodes[1:])]

    def pattern(number):
        id = server.call("POST", "/api/patterns", {"name": f"Pattern {number}"})["id"]
        graph = {"nodes": nodes, "edges": edges, "number": number}
        server.call("PUT", f"/api/patterns/{id}", {"graphData": graph})
        if number >= DEPLOYED:
            return None
        server.call("POST", f"/api/patterns/{id}/deploy", {"nodeDefinitions": {}})
        return server.call("GET", f"/api/patterns/{id}/webhooks")["data"]["endpoints"][0]

    hooks = [hook for hook in each(patterns, pattern) if hook]

    def run(number):
        hook = hooks[number % len(hooks)]
        body = json.dumps({"n": number, "text": "x" * 400}).encode()
        signature = hmac.new(hook["webhookSecret"].encode(), body, hashlib.sha256).hexdigest()
        headers = {"content-type": "application/json", "x-webhook-signature": signature}
        while True:
            status, text = server.send("POST", f"/webhooks/{hook['webhookId']}", body, headers)
            if status == 202:
                return
            if status not in (429, 503):
                raise SystemExit(f"a webhook: {status} {text}")
            time.sleep(0.05)

    each(runs, run)


def seen(server):
    """A hash of everything that is shown of each pattern and each run, and how many there are."""
    digest = hashlib.sha256()

    def note(answer):
        # People have other ids at another service.
        digest.update(json.dumps(answer, sort_keys=True).replace(server.user, "ann").encode())

    patterns = []
    while True:
        page = server.call("GET", f"/api/patterns?limit=100&offset={len(patterns)}&sortBy=createdAt&sortOrder=asc")
        found = page.get("patterns") or page.get("data") or []
        if not found:
            break
        patterns.extend(found)
    ids = [pattern["id"] for pattern in patterns]

    def whole(number):
        return [
            server.call("GET", f"/api/patterns/{ids[number]}"),
            server.call("GET", f"/api/patterns/{ids[number]}/versions"),
        ]

    for answer in each(len(ids), whole):
        note(answer)
    runs, cursor = 0, ""
    while cursor is not None:
        page = server.call("GET", f"/api/runs?limit=100{cursor}")
        runs += len(page["data"])
        note(page["data"])
        following = page["meta"]["nextCursor"]
        cursor = f"&cursor={following}" if following else None
    return {"patterns": len(ids), "runs": runs, "sha256": digest.hexdigest()}


def tool(name):
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else name


def as_postgres(*command):
    before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run([*before, *command], check=True, cwd="/", stdout=subprocess.DEVNULL)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--patterns", type=int, default=1000)
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--to", choices=["postgres", "sqlite"], default="postgres")
    given = arguments.parse_args()
    program = os.path.realpath(given.program)
    directory = pathlib.Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    cluster = directory / "cluster"
    cluster.mkdir()
    if os.getuid() == 0:
        shutil.chown(cluster, "postgres")
    port = free_port()
    as_postgres(tool("initdb"), "-A", "trust", "-U", "heddle", "--no-sync", "-D", str(cluster / "data"))
    options = f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories=''"
    as_postgres(tool("pg_ctl"), "-w", "-o", options, "-l", str(cluster / "log"), "-D", str(cluster / "data"), "start")
    servers = []
    try:
        shared = {
            "HEDDLE_DATABASE_URL": f"postgres://heddle@127.0.0.1:{port}/postgres",
            "HEDDLE_MASTER_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "HEDDLE_JWT_SECRET": "a secret of thirty-two characters or more",
        }
        kinds = [("sqlite", {}), ("postgres", shared)]
        if given.to == "sqlite":
            kinds.reverse()
        servers = [Server(program, directory / name, variables) for name, variables in kinds]
        source, target = servers
        began = time.monotonic()
        fill(source, given.patterns, given.runs)
        workspace = source.call("GET", "/api/workspaces")["data"][0]["id"]
        while source.call("GET", "/api/runs?limit=1&status=running")["data"]:
            time.sleep(0.5)
        print(f"filled in {time.monotonic() - began:.0f} s: {given.patterns} patterns, {given.runs} runs", flush=True)
        target.register()
        source.tenants("suspend", workspace)
        before = seen(source)
        print(f"{kinds[0][0]} has {before}; the server took {source.peak()} MiB", flush=True)
        (directory / "passphrase").write_text(PASSPHRASE)
        archive, passphrase = str(directory / "archive"), ["--passphrase-file", str(directory / "passphrase")]
        took = source.tenants("export", workspace, archive, *passphrase)
        size = os.path.getsize(archive) / 1e6
        print(f"exported in {took:.1f} s: {size:.1f} MB; the server has taken {source.peak()} MiB at most", flush=True)
        took = target.tenants("import", archive, *passphrase)
        print(f"imported in {took:.1f} s; the server has taken {target.peak()} MiB at most", flush=True)
        switched = target.call("POST", "/api/auth/switch-workspace", {"workspaceId": workspace})
        target.token = switched["data"]["token"]
        after = seen(target)
        print(f"{kinds[1][0]} has {after}", flush=True)
        if before != after:
            raise SystemExit("they differ")
        print("both show the same")
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait()
        as_postgres(tool("pg_ctl"), "-m", "immediate", "-D", str(cluster / "data"), "stop")
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
