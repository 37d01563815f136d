#!/usr/bin/env python3
"""Tests the HTTP interface against its own OpenAPI document, with generated requests.

Starts `heddle serve` on an empty database, makes objects for the requests to be about, and lets schemathesis call
every operation: no answer may be a 5xx or contradict the document. That is done in rounds, each on a new server with a seed
of its own, until the time is used up. The first seed is the day's; HEDDLE_SEED chooses another, HEDDLE_SECONDS another time.
Rounds with an even seed are on SQLite, those with an odd one on PostgreSQL: at least one is on each.

    tests/properties/run.py [ARGUMENTS OF SCHEMATHESIS]

What it needs is installed into target/schemathesis, but for PostgreSQL (see postgres.py). Without that all rounds are on
SQLite, which CI does not accept.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import postgres
from service import TARGET, Service, build

VENV = TARGET / "schemathesis"
HOOKS = Path(__file__).with_name("hooks.py")
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# The day's, so that every day's cases are others, and one day's are the same everywhere.
SEED = int(os.environ.get("HEDDLE_SEED", time.strftime("%Y%m%d", time.gmtime())))
# Of each operation in a round, and so at least on each database.
CASES = 20
ROUNDS_MIN = 2
# A round that has begun is finished: it takes about a minute and a half.
SECONDS = float(os.environ.get("HEDDLE_SECONDS", 120))
# Objects of each kind: requests delete some of them.
OBJECTS = 30

# What would end the test's own rights, and what is answered as long as somebody looks on.
LEFT_OUT = [
    ("POST", "/api/auth/logout"),
    ("POST", "/api/auth/logout-all"),
    ("DELETE", "/api/session"),
    ("PUT", "/api/auth/password"),
    ("DELETE", "/api/workspaces/{id}"),
    ("DELETE", "/api/workspaces/{id}/members/{userId}"),
    ("GET", "/api/deployments/{id}/runs/stream"),
    ("GET", "/api/stream"),
]

# Checks that don't fit an operation, or all of them.
CHECKS_LEFT_OUT = [
    # A schema can't say which graphs compile, which names are free, or that a text has no control characters. What is
    # right and must be accepted is tested one by one in tests/http.
    "positive_data_acceptance",
    # It takes every 404 after an object was made for that object's, also when it is about what the body names, such as
    # a version of a pattern. That objects are there once they are made is tested in tests/http.
    "ensure_resource_availability",
]
# Where graphs and definitions are stored, and read again.
STORED_AS_DRAWN = r"^/api/patterns(/import|/\{id\}(/clone|/draft|/export|/rollback.*|/versions.*)?)?$"
# Checks that don't fit some operations: which check, and which paths.
CHECKS_OFF = [
    # Deleting these empties a list, which is there as before.
    ("use_after_free", "/(webhook-logs|tap-events)(/|$)"),
    # OpenAPI 3.1 has no way to describe the events of a stream: the schema is that of their data. What they are is tested in
    # tests/http/test_streams.rs.
    ("response_schema_conformance", "^/api/execute/stream$"),
    # They are for graphs with errors: 200, and what is wrong with them, or what can be done all the same.
    ("negative_data_rejection", r"^/api/execute/(validate|rename)$"),
    # Definitions are kept as they are drawn, mistakes and all, and given back like that. Whether they are right is looked at
    # when they are compiled.
    ("negative_data_rejection", STORED_AS_DRAWN),
    ("response_schema_conformance", STORED_AS_DRAWN),
    # The document has the methods that an OnWebhook node can ask for; one webhook takes those of its node.
    ("allow_header_conformance", r"^/webhooks/"),
    # Without any test nobody looks at the graph.
    ("negative_data_rejection", r"^/api/patterns/\{id\}/tests/run$"),
]

# What the parameters of paths stand for; the last that fits a path counts.
PARAMETERS = {
    r"^/api/patterns/\{id\}": {"id": "patterns"},
    r"^/api/patterns/\{id\}/tests/\{testId\}": {"id": "patterns", "testId": "tests"},
    r"^/api/deployments/\{id\}": {"id": "deployments"},
    r"^/api/deployments/\{id\}/runs/\{runId\}": {"id": "deployments", "runId": "runs"},
    r"^/api/connections/\{id\}": {"id": "connections"},
    r"^/api/workspaces/\{id\}": {"id": "workspaces"},
    r"^/api/workspaces/\{id\}/environments/\{envId\}": {"id": "workspaces", "envId": "environments"},
    r"^/webhooks/\{webhookId\}": {"webhookId": "webhooks"},
}

GRAPH = {
    "nodes": [
        {"id": "start", "type": "OnManual", "position": {"x": 0, "y": 0}, "data": {}},
        {"id": "hook", "type": "OnWebhook", "position": {"x": 0, "y": 100}, "data": {}},
        {"id": "night", "type": "OnSchedule", "position": {"x": 0, "y": 200}, "data": {"parameters": {"cron": "0 3 * * *"}}},
        {"id": "answer", "type": "Return", "position": {"x": 200, "y": 0}, "data": {"parameters": {"value": "{{ $input }}"}}},
    ],
    "edges": [{"id": f"e{number}", "source": source, "target": "answer"} for number, source in enumerate(["start", "hook", "night"])],
}


def install():
    """Makes the virtual environment, unless it is there with the same requirements."""
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "install", "--quiet", "-r", REQUIREMENTS], check=True)
        installed.write_text(REQUIREMENTS.read_text())
    return VENV / "bin/schemathesis"


def fill(service):
    """Makes objects; their ids, by what they stand for in a path."""
    account = {"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}
    service.token = service.call("POST", "/api/auth/register", account)["data"]["token"]
    ids = {kind: [] for kind in ("patterns", "deployments", "runs", "tests", "webhooks", "connections", "workspaces", "environments")}
    for number in range(OBJECTS):
        pattern = service.call("POST", "/api/patterns", {"name": f"Pattern {number}", "tags": ["made"]})["id"]
        service.call("PUT", f"/api/patterns/{pattern}", {"graphData": GRAPH})
        deployed = service.call("POST", f"/api/patterns/{pattern}/deploy", {"nodeDefinitions": {}})
        deployment = deployed["data"]["deploymentId"]
        endpoints = service.call("GET", f"/api/patterns/{pattern}/webhooks")["data"]["endpoints"]
        run = service.call("POST", f"/api/deployments/{deployment}/execute?wait=true", {"eventData": {"number": number}})
        connection = service.call("POST", "/api/connections/api-key", {"provider": f"provider {number}", "apiKey": "x"})
        workspace = service.call("POST", "/api/workspaces", {"name": f"Workspace {number}"})
        environments = service.call("GET", f"/api/workspaces/{workspace['data']['id']}/environments")["data"]
        case = {"name": f"Test {number}", "event": {"number": number}, "expect": {"output": {"number": number}}}
        ids["tests"].append(service.call("POST", f"/api/patterns/{pattern}/tests", case)["id"])
        ids["patterns"].append(pattern)
        ids["webhooks"].append(endpoints[0]["webhookId"])
        ids["environments"].append(environments[0]["id"])
        ids["deployments"].append(deployment)
        ids["runs"].append(run["data"]["runId"])
        ids["connections"].append(connection["id"])
        ids["workspaces"].append(workspace["data"]["id"])
    return ids


def configuration(service, ids):
    """The settings of schemathesis: ids that exist are used most of the time."""
    lines = [f"hooks = {json.dumps(str(HOOKS))}", "[headers]", f'Authorization = "Bearer {service.token}"', ""]
    for name, values in ids.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(values)}", ""]
    for path, parameters in PARAMETERS.items():
        bound = [f'"path.{key}" = {{ dictionary = "{kind}", probability = 0.8 }}' for key, kind in parameters.items()]
        lines += ["[[operations]]", f"include-path-regex = '{path}'", f"parameters = {{ {', '.join(bound)} }}", ""]
    for method, path in LEFT_OUT:
        lines += ["[[operations]]", f'include-name = "{method} {path}"', "enabled = false", ""]
    for check, paths in CHECKS_OFF:
        lines += ["[[operations]]", f"include-path-regex = '{paths}'", f"checks.{check}.enabled = false", ""]
    # What is too large is refused before it is looked at.
    refusals = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {json.dumps(refusals)}", ""]
    return "\n".join(lines)


def test(schemathesis, server, seed, arguments):
    """One round; whether all went well."""
    database_url = server.database() if server and seed % 2 else None
    name = "PostgreSQL" if database_url else "SQLite"
    print(f"\nround with the seed {seed}, on {name}: HEDDLE_SEED={seed} tests/properties/run.py repeats it", flush=True)
    with tempfile.TemporaryDirectory() as files:
        files = Path(files)
        service = Service(files, database_url)
        try:
            config = files / "schemathesis.toml"
            config.write_text(configuration(service, fill(service)))
            command = [
                schemathesis, "--config-file", config, "run", f"{service.url}/api/openapi.json",
                "--seed", str(seed), "--max-examples", str(CASES), "--no-color",
                "--exclude-checks", ",".join(CHECKS_LEFT_OUT), "--warnings", "off",
                "--suppress-health-check", "all", "--continue-on-failure", *arguments,
            ]
            result = subprocess.run(command, cwd=files)
        finally:
            status = service.stop()
            service.log.seek(0)
            print(service.log.read(), file=sys.stderr, end="")
        return result.returncode == 0 and status == 0


def rounds(schemathesis, server, arguments):
    """As many rounds as there is time for; whether all of them went well."""
    end = time.monotonic() + SECONDS
    done = 0
    while done < ROUNDS_MIN or time.monotonic() < end:
        if not test(schemathesis, server, SEED + done, arguments):
            return False
        done += 1
    on_postgres = sum((SEED + number) % 2 for number in range(done)) if server else 0
    print(
        f"{done} rounds of {CASES} cases for each operation, from the seed {SEED} on: "
        f"{(done - on_postgres) * CASES} cases on SQLite, {on_postgres * CASES} on PostgreSQL"
    )
    return True


def main():
    build()
    schemathesis = install()
    program = TARGET / "debug/heddle"
    subprocess.run([VENV / "bin/python", Path(__file__).with_name("schema.py"), program], check=True)
    server = None
    if postgres.is_there():
        server = postgres.Server()
    elif "CI" in os.environ:
        sys.exit("PostgreSQL is missing: install the package postgresql")
    else:
        print("NOT TESTED: PostgreSQL, which is missing: install the package postgresql", flush=True)
    sys.exit(0 if rounds(schemathesis, server, sys.argv[1:]) else 1)


if __name__ == "__main__":
    main()
