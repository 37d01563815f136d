#!/usr/bin/env python3
"""What do webhooks cost PostgreSQL, in statements, rows and bytes of its log?

    benches/statements.py PROGRAM DATABASE [--webhooks N] [--connections N]

PROGRAM is a build of heddle, DATABASE the URL of an empty database of a server with `shared_preload_libraries =
pg_stat_statements`. Sends signed webhooks of 1 KB to a pattern of two nodes and counts what came of them. The counts hold on a busy
machine as well, except that its groups are larger. Needs psql.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
LINE = '{"sku":"DESK-140","name":"Standing desk 140 cm","quantity":1,"unitPrice":549.0,"tax":0.2}'
HOOK = {"id": "hook", "type": "OnWebhook", "data": {"parameters": {"responseMode": "async"}}}
FIELDS = {"total": "{{ $input.body.total * 1.2 }}", "id": "{{ $input.body.id }}"}
SET = {"id": "set", "type": "SetFields", "data": {"parameters": {"fields": FIELDS}}}
GRAPH = {"nodes": [HOOK, SET], "edges": [{"source": "hook", "target": "set"}]}

# Of this database alone, and not what this program asks.
OURS = """from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
    and query !~ 'pg_stat_statements|pg_current_wal|checkpoint'"""
SUMS = f"""select kind, sum(calls), sum(rows), sum(wal_records), sum(wal_bytes) from (select calls, rows, wal_records, wal_bytes,
    case when query ~* '^(begin|commit|rollback)' then lower(query)
    when query ~ 'insert into runs' then 'insert into runs' when query ~ 'insert into webhook_logs' then 'insert into webhook_logs'
    when query ~ 'tap_events' then substring(query from '^[a-z]+') || ' tap_events'
    when query ~ '^update runs' then 'update runs' when query ~ '^select' then 'select' else 'other' end as kind {OURS}) as found
    group by kind order by 5 desc, 2 desc"""


def ask(database, query):
    """Rows, each a list of texts."""
    done = subprocess.run(["psql", "-qAtX", "-F", "\t", "-d", database, "-c", query], check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


class Server:
    def __init__(self, program, database, directory):
        self.log = pathlib.Path(directory) / "log"
        env = {
            "HEDDLE_LISTEN": "127.0.0.1:0",
            "HEDDLE_LOG": "warn",
            "HEDDLE_WEBHOOK_RATE_LIMIT": "0",
            "HEDDLE_DATABASE_URL": database,
            "HEDDLE_MASTER_KEY": KEY,
            "HEDDLE_JWT_SECRET": KEY,
        }
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([program, "serve"], cwd=directory, env=env, stdout=log, stderr=subprocess.STDOUT)
        self.token = None
        self.port = self.wait()

    def wait(self):
        for _ in range(300):
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.log.read_text())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"heddle does not listen: {self.log.read_text()}")

    def call(self, method, path, body=None):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
        return json.loads(urllib.request.urlopen(request).read())

    def deploy(self):
        """The webhook of a deployed pattern: its path and secret."""
        account = {"email": f"ann{time.time()}@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}
        self.token = self.call("POST", "/api/auth/register", account)["data"]["token"]
        path = f"/api/patterns/{self.call('POST', '/api/patterns', {'name': 'counted'})['id']}"
        self.call("PUT", path, {"graphData": GRAPH})
        hook = self.call("GET", f"{path}/webhooks")["data"]["endpoints"][0]
        self.call("POST", f"{path}/deploy", {"nodeDefinitions": {}})
        return f"/webhooks/{hook['webhookId']}", hook["webhookSecret"].encode()


def request(path, secret, number):
    lines = ",".join([LINE] * 8)
    customer = '{"name":"Ann Lee","country":"FR","email":"ann@example.com"}'
    body = f'{{"id":"A-{number}","customer":{customer},"lines":[{lines}],"total":4392.0}}'.encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"x-webhook-signature: {hmac.new(secret, body, hashlib.sha256).hexdigest()}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def send(port, requests, connections):
    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for it in requests:
            writer.write(it)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", head, re.I)[1]))
            if head.split()[1] != b"202":
                raise SystemExit(f"not accepted: {head.decode()}")
        writer.close()

    await asyncio.gather(*[one() for _ in range(connections)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("database")
    parser.add_argument("--webhooks", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = Server(given.program, given.database, directory)
        try:
            count(server, given)
        finally:
            server.process.terminate()
            server.process.wait()


def count(server, given):
    ask(given.database, "create extension if not exists pg_stat_statements")
    path, secret = server.deploy()
    few = iter([request(path, secret, number) for number in range(given.webhooks // 4)])
    asyncio.run(send(server.port, few, given.connections))
    # The log of the last of them is written a little later.
    time.sleep(2)
    # So that whole pages in the log are counted as after any checkpoint.
    ask(given.database, "checkpoint")
    ask(given.database, "select pg_stat_statements_reset()")
    [[began]] = ask(given.database, "select pg_current_wal_lsn()")
    many = iter([request(path, secret, number) for number in range(given.webhooks)])
    asyncio.run(send(server.port, many, given.connections))
    time.sleep(2)
    [[written]] = ask(given.database, f"select pg_current_wal_lsn() - '{began}'::pg_lsn")
    print(f"{given.webhooks} webhooks over {given.connections} connections: {int(written) / given.webhooks:,.0f} bytes of log each")
    print(f"{'':<26} {'statements':>10} {'rows':>8} {'records':>9} {'bytes each':>10}")
    for kind, calls, rows, records, size in ask(given.database, SUMS):
        print(f"{kind:<26} {calls:>10} {rows:>8} {records:>9} {int(size) / given.webhooks:>10,.0f}")


if __name__ == "__main__":
    main()
