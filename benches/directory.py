#!/usr/bin/env python3
"""How long do `heddle status` and the push of one change take in a directory of 1,000 patterns? Both must stay below a second.

    benches/directory.py PROGRAM [--patterns 1000] [--times 5]

starts a server of PROGRAM on SQLite, makes the patterns by the API, pulls them, and measures whole commands, each --times times. It
prints the middle and the longest time, and fails if the middle one is above a second. Figures are kept in benches/README.md.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from moving import Server

NODES = 10


def graph(number):
    nodes = [{"id": "start", "type": "OnManual", "position": {"x": 0, "y": 0}, "data": {"label": "Start"}}]
    edges = []
    for place in range(1, NODES):
        nodes.append({
            "id": f"n{place}",
            "type": "Transform",
            "position": {"x": 200 * place, "y": 0},
            "data": {"label": f"Step {place}", "parameters": {"value": f"{{{{ $input + {number} }}}}"}},
        })
        edges.append({"id": f"e{place}", "source": nodes[place - 1]["id"], "target": f"n{place}"})
    return {"nodes": nodes, "edges": edges}


class Directory:
    def __init__(self, program, server, place):
        self.program = program
        self.files = place / "files"
        self.files.mkdir()
        key = server.call("POST", "/api/auth/api-keys", {"name": "files"})["data"]["key"]
        self.environment = {**os.environ, "HOME": str(place), "HEDDLE_API_KEY": key}
        workspace = server.call("GET", "/api/workspaces")["data"][0]["id"]
        self.heddle("init", f"http://127.0.0.1:{server.port}", ".", "--workspace", workspace)

    def heddle(self, *arguments):
        """Seconds that a command takes, and what it prints."""
        began = time.monotonic()
        done = subprocess.run(
            [self.program, *arguments], cwd=self.files, env=self.environment, capture_output=True, text=True
        )
        took = time.monotonic() - began
        if done.returncode != 0:
            raise SystemExit(f"heddle {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return took, done.stdout

    def change(self, number):
        path = self.files / "patterns" / "pattern-0" / "pattern.json"
        pattern = json.loads(path.read_text())
        pattern["graphData"]["nodes"][1]["data"]["parameters"]["value"] = f"{{{{ $input * {number} }}}}"
        path.write_text(json.dumps(pattern, indent=2))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--patterns", type=int, default=1000)
    arguments.add_argument("--times", type=int, default=5)
    arguments = arguments.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        server = Server(program, place / "server", {})
        try:
            server.register()
            for number in range(arguments.patterns):
                body = {"name": f"Pattern {number}", "graphData": graph(number)}
                server.call("POST", "/api/patterns/import", body)
            ok = measure(Directory(program, server, place), arguments)
        finally:
            server.process.terminate()
            server.process.wait()
    sys.exit(0 if ok else 1)


def measure(directory, arguments):
    first, _ = directory.heddle("pull")
    print(f"{arguments.patterns} patterns of {NODES} nodes; the first pull: {first:.2f} s")
    status, push = [], []
    for time_ in range(arguments.times):
        took, told = directory.heddle("status")
        if told:
            raise SystemExit(f"something differs: {told}")
        status.append(took)
        directory.change(time_ + 2)
        took, told = directory.heddle("push", "-m", "One change")
        if told != f"pattern-0: version {time_ + 2}\n":
            raise SystemExit(f"not the one change was pushed: {told}")
        push.append(took)
    ok = True
    for what, times in [("status", status), ("push of one change", push)]:
        middle = statistics.median(times)
        ok &= middle < 1
        print(f"{what:20} median {middle:.2f} s, longest {max(times):.2f} s")
    return ok


if __name__ == "__main__":
    main()
