#!/usr/bin/env python3
"""How fast does a file of a gigabyte pass from one HTTP server through a run to another, and in how much memory?

    benches/files.py PROGRAM [--bytes N] [--csv-bytes N] [--small N]

It then converts a CSV of 100 MB to JSON lines in a run, and uploads and reads 10,000 files of 10 KB.

PROGRAM is a release build of heddle. Prints throughput and peak memory, beside `curl | curl` between the same servers, which stores and
encrypts nothing. Fails if the bytes that arrive are not those that were sent. Needs curl and /proc.
"""

import argparse
import hashlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 1 << 20
received = []


def pieces(count):
    """Bytes that can't be compressed, made quickly: a random MiB, in which each repetition differs."""
    piece = bytearray(os.urandom(PIECE))
    sent = 0
    while sent < count:
        piece[0:8] = sent.to_bytes(8, "big")
        yield bytes(piece[: min(PIECE, count - sent)])
        sent += PIECE


class Peer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        count, digest = self.server.count, hashlib.sha256()
        self.send_response(200)
        self.send_header("content-length", str(count))
        self.end_headers()
        for piece in pieces(count):
            digest.update(piece)
            self.wfile.write(piece)
        self.server.sent = digest.hexdigest()

    def do_POST(self):
        digest, count = hashlib.sha256(), 0
        length = self.headers.get("content-length")
        for piece in self.body(int(length) if length else None):
            digest.update(piece)
            count += len(piece)
        received.append((digest.hexdigest(), count))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def body(self, length):
        if length is not None:
            while length:
                piece = self.rfile.read(min(PIECE, length))
                length -= len(piece)
                yield piece
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()


def call(base, method, path, token, body):
    request = urllib.request.Request(base + path, method=method, data=json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    request.add_header("authorization", f"Bearer {token}")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def peak(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def checked(server, what, seconds, count):
    digest, arrived = received.pop()
    if (digest, arrived) != (server.sent, count):
        sys.exit(f"{what}: other bytes arrived than were sent")
    print(f"{what}: {seconds:.1f} s, {count / seconds / (1 << 20):.0f} MiB/s")


class Service:
    """A server of the program on a data directory of its own."""

    def __init__(self, program, directory):
        environment = {
            "HEDDLE_LISTEN": "127.0.0.1:0",
            "HEDDLE_EGRESS_ALLOW": "127.0.0.0/8",
            "HEDDLE_RUN_MEMORY": "64MiB",
            # The default is not enough for 100 MB of records.
            "HEDDLE_RUN_FUEL": "100000000000",
            "HEDDLE_WRITE_RATE_LIMIT": "0",
        }
        command = [os.path.abspath(program), "serve"]
        self.process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.base = self.process.stdout.readline().split()[-1]
        account = {"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}
        self.token = call(self.base, "POST", "/api/auth/register", "", account)["data"]["token"]

    def deployed(self, nodes):
        pattern = call(self.base, "POST", "/api/patterns", self.token, {"name": "Files"})["id"]
        drawn = [{"id": id, "type": kind, "data": {"parameters": parameters}} for id, kind, parameters in nodes]
        edges = [{"source": one[0], "target": other[0]} for one, other in zip(nodes, nodes[1:])]
        call(self.base, "PUT", f"/api/patterns/{pattern}", self.token, {"graphData": {"nodes": drawn, "edges": edges}})
        deployed = call(self.base, "POST", f"/api/patterns/{pattern}/deploy", self.token, {"nodeDefinitions": {}})
        return deployed["data"]["deploymentId"]

    def run(self, deployment, event):
        ended = call(self.base, "POST", f"/api/deployments/{deployment}/execute?wait=true", self.token, {"eventData": event})["data"]
        if ended["status"] != "completed":
            sys.exit(f"the run failed: {ended}")
        return ended

    def connection(self):
        return http.client.HTTPConnection(self.base.split("/")[-1])

    def exchange(self, connection, method, path, body=None):
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/octet-stream"}
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            sys.exit(f"{method} {path}: {answer.status} {content[:500]}")
        return content

    def memory(self, before):
        print(f"  peak memory of the server: {before:.0f} MiB before, {peak(self.process.pid):.0f} MiB after")


def pass_on(service, server, peer):
    deployment = service.deployed([
        ("start", "OnManual", {}),
        ("get", "HttpRequest", {"url": peer, "responseType": "file", "bodyOnly": True}),
        ("post", "HttpRequest", {"method": "POST", "url": peer, "body": "{{ $nodes.get }}"}),
    ])
    before, began = peak(service.process.pid), time.monotonic()
    service.run(deployment, {})
    checked(server, "through a run", time.monotonic() - began, server.count)
    service.memory(before)


def convert(service, count):
    rows, size = ["id,name,city,total"], 19
    while size < count:
        rows.append(f'{len(rows)},"Lee, Ann {len(rows) % 977}",Brno,{len(rows) % 1000}.50')
        size += len(rows[-1]) + 1
    body = ("\n".join(rows) + "\n").encode()
    made = json.loads(service.exchange(service.connection(), "POST", "/api/files?name=orders.csv", body))["data"]
    deployment = service.deployed([
        ("start", "OnManual", {}),
        ("convert", "ConvertFile", {"value": "{{ $input.file }}", "to": "jsonLines"}),
        ("end", "Return", {}),
    ])
    before, began = peak(service.process.pid), time.monotonic()
    lines = service.run(deployment, {"file": made})["output"]
    seconds = time.monotonic() - began
    content = service.exchange(service.connection(), "GET", f"/api/files/{lines['$file']}").splitlines()
    names = rows[0].split(",")
    last = json.loads(content[-1])
    if len(content) != len(rows) - 1 or list(last) != names or last["id"] != str(len(rows) - 1):
        sys.exit(f"other lines were written than there were rows: {len(content)} of {len(rows) - 1}, {last}")
    print(f"{len(body) / 1e6:.0f} MB of CSV to {lines['size'] / 1e6:.0f} MB of JSON lines: {seconds:.1f} s, {len(body) / seconds / 1e6:.0f} MB/s")
    service.memory(before)


def small(service, count):
    before = peak(service.process.pid)

    def some(numbers):
        connection = service.connection()
        made = []
        for number in numbers:
            content = hashlib.sha256(str(number).encode()).digest() * 320
            file = json.loads(service.exchange(connection, "POST", "/api/files?name=a.bin", content))["data"]
            made.append((file["$file"], content))
        return made

    def read(made):
        connection = service.connection()
        for file, content in made:
            if service.exchange(connection, "GET", f"/api/files/{file}") != content:
                sys.exit(f"{file} has other bytes")

    with ThreadPoolExecutor(8) as pool:
        began = time.monotonic()
        made = list(pool.map(some, [range(at, count, 8) for at in range(8)]))
        written = time.monotonic()
        list(pool.map(read, made))
        done = time.monotonic()
    print(f"{count} files of 10 KB: {count / (written - began):.0f} written and {count / (done - written):.0f} read a second, by 8 clients")
    service.memory(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--csv-bytes", type=int, default=100_000_000)
    parser.add_argument("--small", type=int, default=10_000)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.count = given.bytes
    threading.Thread(target=server.serve_forever, daemon=True).start()
    peer = f"http://127.0.0.1:{server.server_port}/"
    began = time.monotonic()
    subprocess.run(f"curl -sS {peer} | curl -sS -X POST -T - -o /dev/null {peer}", shell=True, check=True)
    checked(server, "curl | curl", time.monotonic() - began, given.bytes)
    with tempfile.TemporaryDirectory() as directory:
        service = Service(given.program, directory)
        try:
            pass_on(service, server, peer)
            convert(service, given.csv_bytes)
            small(service, given.small)
        finally:
            service.process.terminate()
            service.process.wait()


if __name__ == "__main__":
    main()
