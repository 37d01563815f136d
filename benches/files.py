#!/usr/bin/env python3
"""How fast does a file of a gigabyte pass from one HTTP server through a run to another, and in how much memory?

    benches/files.py PROGRAM [--bytes N]

PROGRAM is a release build of heddle. Prints throughput and peak memory, beside `curl | curl` between the same servers, which stores and
encrypts nothing. Fails if the bytes that arrive are not those that were sent. Needs curl and /proc.
"""

import argparse
import hashlib
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.count = given.bytes
    threading.Thread(target=server.serve_forever, daemon=True).start()
    peer = f"http://127.0.0.1:{server.server_port}/"
    began = time.monotonic()
    subprocess.run(f"curl -sS {peer} | curl -sS -X POST -T - -o /dev/null {peer}", shell=True, check=True)
    checked(server, "curl | curl", time.monotonic() - began, given.bytes)
    with tempfile.TemporaryDirectory() as directory:
        environment = {"HEDDLE_LISTEN": "127.0.0.1:0", "HEDDLE_EGRESS_ALLOW": "127.0.0.0/8", "HEDDLE_RUN_MEMORY": "64MiB"}
        command = [os.path.abspath(given.program), "serve"]
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            base = process.stdout.readline().split()[-1]
            account = {"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}
            token = call(base, "POST", "/api/auth/register", "", account)["data"]["token"]
            pattern = call(base, "POST", "/api/patterns", token, {"name": "Pass on"})["id"]
            nodes = [
                ("start", "OnManual", {}),
                ("get", "HttpRequest", {"url": peer, "responseType": "file", "bodyOnly": True}),
                ("post", "HttpRequest", {"method": "POST", "url": peer, "body": "{{ $nodes.get }}"}),
            ]
            drawn = [{"id": id, "type": kind, "data": {"parameters": parameters}} for id, kind, parameters in nodes]
            edges = [{"source": one[0], "target": other[0]} for one, other in zip(nodes, nodes[1:])]
            graph = {"nodes": drawn, "edges": edges}
            call(base, "PUT", f"/api/patterns/{pattern}", token, {"graphData": graph})
            deployed = call(base, "POST", f"/api/patterns/{pattern}/deploy", token, {"nodeDefinitions": {}})
            before = peak(process.pid)
            began = time.monotonic()
            path = f"/api/deployments/{deployed['data']['deploymentId']}/execute?wait=true"
            ended = call(base, "POST", path, token, {})["data"]
            if ended["status"] != "completed":
                sys.exit(f"the run failed: {ended}")
            checked(server, "through a run", time.monotonic() - began, given.bytes)
            print(f"peak memory of the server: {before:.0f} MiB before, {peak(process.pid):.0f} MiB after")
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
