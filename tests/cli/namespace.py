"""Runs heddle in a network of its own, in which names resolve as this script says.

Usage: unshare -rnm namespace.py HEDDLE PATTERN…. The network has only the loopback device, with a public address on it
besides. Both that and 127.0.0.1 have an HTTP server; there is one DNS server. Prints one line of JSON: what `heddle run
--json` said of each pattern, and the requests that came to each server.
"""

import http.server
import json
import socket
import struct
import subprocess
import sys
import tempfile
import threading

PUBLIC = "93.184.216.34"
REDIRECTS = {
    "/to-metadata": "http://169.254.169.254/latest/meta-data/",
    "/to-name": "http://inside.test/",
    "/to-decimal": "http://2130706433/",
}


class Names:
    """What each name resolves to; lists of lists are answered one after the other."""

    def __init__(self):
        self.a = {
            "outside.test": [PUBLIC],
            "inside.test": ["127.0.0.1"],
            "mixed.test": [PUBLIC, "10.0.0.1"],
            "metadata.test": ["169.254.169.254"],
        }
        self.aaaa = {"inside6.test": ["::1"], "local6.test": ["fd00::1"], "mapped.test": ["::ffff:127.0.0.1"]}
        self.changing = [[PUBLIC], ["127.0.0.1"]]

    def resolve(self, name, kind):
        if name == "rebind.test" and kind == 1:
            return self.changing.pop(0) if len(self.changing) > 1 else self.changing[0]
        return {1: self.a, 28: self.aaaa}.get(kind, {}).get(name, [])


def serve_names(ready):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    ready.set()
    names = Names()
    while True:
        query, sender = server.recvfrom(512)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack(">H", query[at + 1 : at + 3])[0]
        found = names.resolve(".".join(labels).lower(), kind)
        family = socket.AF_INET if kind == 1 else socket.AF_INET6
        answer = query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0) + query[12 : at + 5]
        for address in found:
            data = socket.inet_pton(family, address)
            answer += struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(data)) + data
        server.sendto(answer, sender)


def serve_http(address, seen):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            to = REDIRECTS.get(self.path)
            self.send_response(302 if to else 200)
            if to:
                self.send_header("Location", to)
            self.send_header("Content-Length", "2")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((address, 80), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    for command in (["ip", "link", "set", "lo", "up"], ["ip", "addr", "add", f"{PUBLIC}/32", "dev", "lo"]):
        subprocess.run(command, check=True)
    with tempfile.NamedTemporaryFile("w") as resolver:
        resolver.write("nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
        resolver.flush()
        subprocess.run(["mount", "--bind", resolver.name, "/etc/resolv.conf"], check=True)
        ready = threading.Event()
        threading.Thread(target=serve_names, args=(ready,), daemon=True).start()
        ready.wait()
        inside, outside = [], []
        serve_http("127.0.0.1", inside)
        serve_http(PUBLIC, outside)
        runs = []
        for pattern in sys.argv[2:]:
            command = [sys.argv[1], "run", pattern, "--json", "--connections", "connections.json"]
            runs.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout))
    print(json.dumps({"runs": runs, "inside": inside, "outside": outside}))


main()
