#!/usr/bin/env python3
"""Tests the HTTP interface against its own OpenAPI document, with generated requests.

Starts `heddle serve` on an empty database, makes objects for the requests to be about, and lets schemathesis call
every operation: no answer may be a 5xx or contradict the document. That is done in rounds, each on a new server with a seed
of its own, until the time is used up. The first seed is the day's; HEDDLE_SEED chooses another, HEDDLE_SECONDS another time.
Rounds with an even seed are on SQLite, those with an odd one on PostgreSQL: at least one is on each.

    tests/properties/run.py [ARGUMENTS OF SCHEMATHESIS]

`HEDDLE_SEED=20261127 tests/properties/run.py` begins with that round, and so repeats it if it was the first; each round says how it
is repeated. With `--include-path /api/files`, it is for one path only. What it needs is installed into target/schemathesis, but for PostgreSQL (see postgres.py). Without that all rounds are on
SQLite, which CI does not accept.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import postgres
from service import ROOT, TARGET, Service, build

VENV = TARGET / "schemathesis"
HOOKS = Path(__file__).with_name("hooks.py")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# The day's, so that every day's cases are others, and one day's are the same everywhere.
SEED = int(os.environ.get("HEDDLE_SEED", time.strftime("%Y%m%d", time.gmtime())))
# Of each operation in a round, and so at least on each database.
CASES = 20
ROUNDS_MIN = 2
# All rounds but the first leave out the phase that tries each limit of each field: it takes the longest, and does almost the same with
# any seed. As the day's seed says which database is the first, either has it every other day.
RANDOM_PHASES = "examples,fuzzing,stateful"
# Nor do these have it, for which each limit of a graph would be tried in a thousand requests, as it is for transpiling the same.
NO_LIMITS = r"^/api/execute/(validate|rename)$"
# A round that has begun is finished: the first takes about two minutes, another about one.
SECONDS = float(os.environ.get("HEDDLE_SECONDS", 120))
# Objects of each kind: requests delete some of them.
OBJECTS = 30
# Of those that are dear to make, or whose number within a minute is limited.
FEW = 5
# How long an answer may take, or a run until it waits.
PATIENCE_S = 60

# What would end the test's own rights or take away what its requests are about, and what is answered as long as somebody looks on.
# This, and what is said of checks below, is in CONTRIBUTING.md as well.
LEFT_OUT = [
    ("POST", "/api/auth/logout"),
    ("POST", "/api/auth/logout-all"),
    ("DELETE", "/api/session"),
    ("PUT", "/api/auth/password"),
    ("POST", "/api/auth/me/remove"),
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
    # They are for graphs with errors: 200, and what is wrong with them, or what can be done all the same.
    ("negative_data_rejection", r"^/api/execute/(validate|rename)$"),
    # Definitions are kept as they are drawn, mistakes and all, and given back like that. Whether they are right is looked at
    # when they are compiled.
    ("negative_data_rejection", STORED_AS_DRAWN),
    ("response_schema_conformance", STORED_AS_DRAWN),
    # The document has the methods that an OnWebhook node can ask for; one webhook takes those of its node.
    ("allow_header_conformance", r"^/webhooks/"),
    # A file is sent as what it was stored as, which can be any type.
    ("content_type_conformance", r"^/api/files/\{id\}$"),
    ("response_schema_conformance", r"^/api/files/\{id\}$"),
    # Without any test nobody looks at the graph.
    ("negative_data_rejection", r"^/api/patterns/\{id\}/tests/run$"),
]

# What the parameters of paths stand for: names of lists that `fill` makes. Of those that fit a path, the last one that has the
# parameter counts. Where an object belongs to another one, that is one of few that have many, so that both are drawn together.
PARAMETERS = {
    r"^/api/auth/api-keys/\{id\}": {"id": "keys"},
    r"^/api/auth/invitations/\{id\}": {"id": "received"},
    r"^/api/connections/\{id\}": {"id": "connections"},
    r"^/api/deployments/\{id\}": {"id": "deployments"},
    r"^/api/deployments/\{id\}/runs/\{runId\}": {"id": "ran", "runId": "runs"},
    r"^/api/deployments/\{id\}/runs/\{runId\}/callback": {"id": "asking", "runId": "asked"},
    r"^/api/files/\{id\}": {"id": "files"},
    r"^/api/nodes/\{type\}": {"type": "types"},
    r"^/api/patterns/\{id\}": {"id": "patterns"},
    r"^/api/patterns/\{id\}/tests/\{testId\}": {"id": "tested", "testId": "tests"},
    r"^/api/patterns/\{id\}/versions/\{n\}": {"n": "versions"},
    r"^/api/sessions/\{id\}": {"id": "sessions"},
    r"^/api/workspaces/\{id\}": {"id": "workspaces"},
    r"^/api/workspaces/\{id\}/environments/\{envId\}": {"id": "shared", "envId": "environments"},
    r"^/api/workspaces/\{id\}/environments/\{envId\}/secrets/\{name\}": {"envId": "staging", "name": "secrets"},
    r"^/api/workspaces/\{id\}/invitation-links/\{linkId\}": {"id": "shared", "linkId": "links"},
    r"^/api/workspaces/\{id\}/invitations/\{invitationId\}": {"id": "shared", "invitationId": "invitations"},
    r"^/api/workspaces/\{id\}/key-values/\{key\}": {"id": "shared", "key": "kept"},
    r"^/api/workspaces/\{id\}/members/\{userId\}": {"id": "shared", "userId": "members"},
    r"^/callbacks/\{runId\}/\{token\}/\{place\}": {"runId": "called", "token": "tokens", "place": "places"},
    r"^/operator/imports/\{id\}": {"id": "imports"},
    r"^/operator/imports/\{id\}/parts/\{number\}": {"number": "parts"},
    r"^/operator/workspaces/\{id\}": {"id": "tenants"},
    r"^/webhooks/\{webhookId\}": {"webhookId": "webhooks"},
}

# Parameters that stand for no object, each with the reason.
WITHOUT_OBJECTS = {
    ("/api/patterns/{id}/presence/{tab}", "tab"): "a tab names itself, so that any id is one",
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

# Tells its log the URL that it is then called at.
ASKING = {
    "nodes": [
        {"id": "start", "type": "OnManual", "position": {"x": 0, "y": 0}, "data": {}},
        {
            "id": "tell", "type": "Log", "position": {"x": 200, "y": 0},
            "data": {"parameters": {"message": "{{ $run.callbackUrls.ask }}"}},
        },
        {"id": "ask", "type": "WaitForCallback", "position": {"x": 400, "y": 0}, "data": {"parameters": {}}},
        {"id": "end", "type": "Return", "position": {"x": 600, "y": 0}, "data": {}},
    ],
    "edges": [
        {"id": "e0", "source": "start", "target": "tell"},
        {"id": "e1", "source": "tell", "target": "ask"},
        {"id": "e2", "source": "ask", "target": "end"},
    ],
}


def install():
    """Makes the virtual environment, unless it is there with the same requirements."""
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([VENV / "bin/pip", "install", "--quiet", "-r", REQUIREMENTS], check=True)
        installed.write_text(REQUIREMENTS.read_text())
    return VENV / "bin/schemathesis"


def account(name):
    return {"email": f"{name}@example.com", "firstName": name.title(), "lastName": "Lee", "password": "correct-horse"}


def deployed(service, name, graph):
    """A new pattern, and its deployment."""
    pattern = service.call("POST", "/api/patterns", {"name": name, "tags": ["made"]})["id"]
    service.call("PUT", f"/api/patterns/{pattern}", {"graphData": graph})
    reply = service.call("POST", f"/api/patterns/{pattern}/deploy", {"nodeDefinitions": {}})
    return pattern, reply["data"]["deploymentId"]


def fill(service):
    """Makes objects; their ids, by what they stand for in a path."""
    service.token = service.call("POST", "/api/auth/register", account("ann"))["data"]["token"]
    ids = {}
    of_ann(service, ids)
    of_patterns(service, ids)
    of_waiting_runs(service, ids)
    of_shared_workspace(service, ids)
    of_operator(service, ids)
    return ids


def of_ann(service, ids):
    """What belongs to the user who sends the requests, who signs in with none of it."""
    names = ("keys", "connections", "files", "workspaces")
    ids |= {name: [] for name in names}
    for number in range(OBJECTS):
        key = service.call("POST", "/api/auth/api-keys", {"name": f"key {number}"})
        connection = service.call("POST", "/api/connections/api-key", {"provider": f"provider {number}", "apiKey": "x"})
        file = service.send("POST", f"/api/files?name=file{number}", b"bytes", "application/octet-stream")
        workspace = service.call("POST", "/api/workspaces", {"name": f"Workspace {number}"})
        ids["keys"].append(key["data"]["id"])
        ids["connections"].append(connection["id"])
        ids["files"].append(json.loads(file)["data"]["$file"])
        ids["workspaces"].append(workspace["data"]["id"])
    login = {name: account("ann")[name] for name in ("email", "password")}
    for _ in range(FEW):
        service.call("POST", "/api/session", login)
    ids["sessions"] = [session["id"] for session in service.call("GET", "/api/sessions")["data"]]
    ids["types"] = [node["type"] for node in service.call("GET", "/api/nodes")]


def of_patterns(service, ids):
    names = ("patterns", "deployments", "webhooks")
    ids |= {name: [] for name in names}

    def test(pattern, number):
        case = {"name": f"Test {number}", "event": {"number": number}, "expect": {"output": {"number": number}}}
        return service.call("POST", f"/api/patterns/{pattern}/tests", case)["id"]

    def run(deployment, number):
        event = {"eventData": {"number": number}}
        return service.call("POST", f"/api/deployments/{deployment}/execute?wait=true", event)["data"]["runId"]

    for number in range(OBJECTS):
        pattern, deployment = deployed(service, f"Pattern {number}", GRAPH)
        endpoints = service.call("GET", f"/api/patterns/{pattern}/webhooks")["data"]["endpoints"]
        test(pattern, number)
        run(deployment, number)
        ids["patterns"].append(pattern)
        ids["deployments"].append(deployment)
        ids["webhooks"].append(endpoints[0]["webhookId"])
    # The version that is deployed; there may be none after it.
    ids["versions"] = [1]
    tested, ran = deployed(service, "With tests and runs", GRAPH)
    ids["tested"], ids["ran"] = [tested], [ran]
    ids["tests"] = [test(tested, number) for number in range(OBJECTS)]
    ids["runs"] = [run(ran, number) for number in range(OBJECTS)]


def of_waiting_runs(service, ids):
    """Runs that wait for a callback: one for its URL, whose parts belong together, and others for members' answers."""
    _, deployment = deployed(service, "Asking", ASKING)
    ids["asking"] = [deployment]
    runs = [
        service.call("POST", f"/api/deployments/{deployment}/execute", {"eventData": {}})["data"]["runId"] for _ in range(FEW)
    ]
    ids["called"], ids["asked"] = runs[:1], runs[1:]
    end = time.monotonic() + PATIENCE_S
    while True:
        run = service.call("GET", f"/api/deployments/{deployment}/runs/{runs[0]}")["data"]
        if run["phase"] == "waiting" and run["logOutput"]:
            break
        if time.monotonic() > end:
            sys.exit(f"the run does not come to wait: {run}")
    token, place = run["logOutput"][0]["message"].split("/")[-2:]
    ids["tokens"], ids["places"] = [token], [place]


def of_shared_workspace(service, ids):
    """One workspace that has many objects, and invitations of somebody else to the user who sends the requests."""
    shared = service.call("POST", "/api/workspaces", {"name": "Shared"})["data"]["id"]
    path = f"/api/workspaces/{shared}"
    ids["shared"] = [shared]
    staging = service.call("POST", f"{path}/environments", {"name": "staging"})["data"]["id"]
    ids["staging"] = [staging]
    names = ("environments", "secrets", "links", "invitations", "kept", "members", "received")
    ids |= {name: [] for name in names}
    for number in range(OBJECTS):
        environment = service.call("POST", f"{path}/environments", {"name": f"environment {number}"})
        service.call("PUT", f"{path}/environments/{staging}/secrets/SECRET_{number}", {"value": "x"})
        service.call("PUT", f"{path}/key-values/key{number}", {"value": number})
        ids["environments"].append(environment["data"]["id"])
        ids["secrets"].append(f"SECRET_{number}")
        ids["kept"].append(f"key{number}")
    # A user may make thirty invitations and links within a minute, and requests try to make some as well.
    for number in range(OBJECTS // 3):
        link = service.call("POST", f"{path}/invitation-links", {"role": "viewer"})
        ids["links"].append(link["data"]["id"])
        invitation = service.call("POST", f"{path}/members", {"email": f"guest{number}@example.com", "role": "viewer"})
        ids["invitations"].append(invitation["data"]["id"])
    # They stay members: removing them is left out.
    for name in ("bob", "cem"):
        invitation = service.call("POST", f"{path}/members", {"email": account(name)["email"], "role": "viewer"})["data"]["id"]
        token_of_last = service.call("POST", "/api/auth/register", account(name))["data"]["token"]
        service.call("POST", f"/api/auth/invitations/{invitation}/accept", token=token_of_last)
    members = service.call("GET", f"{path}/members")["data"]
    own = [member["userId"] for member in members if member["email"] == account("ann")["email"]]
    ids["members"] = [member["userId"] for member in members if member["userId"] not in own]
    for number in range(OBJECTS // 3):
        other = service.call("POST", "/api/workspaces", {"name": f"Other {number}"}, token_of_last)["data"]["id"]
        invited = {"email": account("ann")["email"], "role": "editor"}
        invitation = service.call("POST", f"/api/workspaces/{other}/members", invited, token_of_last)
        ids["received"].append(invitation["data"]["id"])
    service.own = own + ids["shared"]
    mine = service.call("GET", "/api/workspaces")["data"]
    # The one that the account came with, in which its patterns are.
    service.own += [workspace["id"] for workspace in mine if workspace["id"] not in ids["workspaces"] + ids["shared"]]


def of_operator(service, ids):
    """Workspaces of somebody else, and imports of copies of some of them that have not gone on."""
    operator, passphrase = service.operator_token, "correct horse battery staple"
    ids["tenants"], ids["imports"] = [], []
    for number in range(OBJECTS):
        tenant = {"name": f"Tenant {number}", "owner": account("bob")["email"]}
        ids["tenants"].append(service.call("POST", "/operator/workspaces", tenant, operator)["data"]["id"])
    for tenant in ids["tenants"][:FEW]:
        path = f"/operator/workspaces/{tenant}"
        service.call("POST", f"{path}/suspend", {"reason": "to export it"}, operator)
        locked = json.dumps({"passphrase": passphrase}).encode()
        archive = service.send("POST", f"{path}/export", locked, token=operator)
        manifest = json.loads(archive.split(b"\n", 1)[0])
        begun = {"manifest": manifest, "passphrase": passphrase, "newIds": True}
        ids["imports"].append(service.call("POST", "/operator/imports", begun, operator)["data"]["workspaceId"])
    # The one that comes next.
    ids["parts"] = [1]


def bindings(path):
    """What the parameters of a path are drawn from."""
    found = {}
    for pattern, parameters in PARAMETERS.items():
        if re.match(pattern, path):
            found |= parameters
    return {name: kind for name, kind in found.items() if f"{{{name}}}" in path}


def mistakes(document, ids):
    """What these lists miss of the document, or have too much."""
    paths = document["paths"]
    sent = {path for path, methods in paths.items() for method in methods if (method.upper(), path) not in LEFT_OUT}
    found = []
    for path in sorted(sent):
        bound = bindings(path)
        for name in re.findall(r"\{(\w+)\}", path):
            if not ids.get(bound.get(name)) and (path, name) not in WITHOUT_OBJECTS:
                advice = "add one to fill and PARAMETERS, or say why in WITHOUT_OBJECTS"
                found.append(f"{path}: {name} never stands for an object: {advice}")
            if name in bound and (path, name) in WITHOUT_OBJECTS:
                found.append(f"{path}: {name} is in PARAMETERS and in WITHOUT_OBJECTS")
    for pattern in PARAMETERS:
        if not any(re.match(pattern, path) for path in paths):
            found.append(f"PARAMETERS: no path is like {pattern}")
    for path, name in WITHOUT_OBJECTS:
        if path not in paths or f"{{{name}}}" not in path:
            found.append(f"WITHOUT_OBJECTS: there is no {name} in {path}")
    for method, path in LEFT_OUT:
        if method.lower() not in paths.get(path, {}):
            found.append(f"LEFT_OUT: there is no {method} {path}")
    for what, pattern in [("NO_LIMITS", NO_LIMITS), *((f"CHECKS_OFF of {check}", pattern) for check, pattern in CHECKS_OFF)]:
        if not any(re.search(pattern, path) for path in paths):
            found.append(f"{what}: no path is like {pattern}")
    told = CONTRIBUTING.read_text()
    for check in sorted({*CHECKS_LEFT_OUT, *(check for check, _ in CHECKS_OFF)}):
        if f"`{check}`" not in told:
            found.append(f"CONTRIBUTING.md does not say why {check} is left out")
    return found


def configuration(service, document, ids):
    """The settings of schemathesis: ids that exist are used most of the time."""
    # Nothing here takes long, but a machine that is busy with other things does; a stream may be without an end.
    lines = [f"hooks = {json.dumps(str(HOOKS))}", f"request-timeout = {PATIENCE_S}", "[headers]"]
    lines += [f'Authorization = "Bearer {service.token}"', ""]
    for name, values in ids.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(values)}", ""]
    # Each path by itself: of several entries that fit one, schemathesis takes all parameters from the first.
    for path in document["paths"]:
        bound = [f'"path.{name}" = {{ dictionary = "{kind}", probability = 0.8 }}' for name, kind in bindings(path).items()]
        if bound:
            lines += ["[[operations]]", f"include-path = {json.dumps(path)}", f"parameters = {{ {', '.join(bound)} }}", ""]
    lines += ["[[operations]]", "include-path-regex = '^/operator/'"]
    lines += [f'headers = {{ Authorization = "Bearer {service.operator_token}" }}', ""]
    for method, path in LEFT_OUT:
        lines += ["[[operations]]", f'include-name = "{method} {path}"', "enabled = false", ""]
    lines += ["[[operations]]", "include-path-regex = '/stream$'", "request-timeout = 10", ""]
    lines += ["[[operations]]", f"include-path-regex = '{NO_LIMITS}'", "phases.coverage.enabled = false", ""]
    for check, paths in CHECKS_OFF:
        lines += ["[[operations]]", f"include-path-regex = '{paths}'", f"checks.{check}.enabled = false", ""]
    # What is too large is refused before it is looked at.
    refusals = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {json.dumps(refusals)}", ""]
    return "\n".join(lines)


def test(schemathesis, server, seed, arguments):
    """One round; whether all went well."""
    database_url = server.database() if server and seed % 2 else None
    round_told = f"round with the seed {seed}, on {'PostgreSQL' if database_url else 'SQLite'}"
    repeats = f"`{' '.join([f'HEDDLE_SEED={seed}', 'tests/properties/run.py', *arguments])}` repeats it"
    print(f"\n{round_told}: {repeats}", flush=True)
    with tempfile.TemporaryDirectory() as files:
        files = Path(files)
        service = Service(files, database_url)
        try:
            config = files / "schemathesis.toml"
            ids = fill(service)
            document = service.call("GET", "/api/openapi.json")
            if found := mistakes(document, ids):
                sys.exit("\n".join(["tests/properties/run.py and the document don't fit:", *found]))
            config.write_text(configuration(service, document, ids))
            command = [
                schemathesis, "--config-file", config, "run", f"{service.url}/api/openapi.json",
                "--seed", str(seed), "--max-examples", str(CASES), "--no-color",
                "--exclude-checks", ",".join(CHECKS_LEFT_OUT), "--warnings", "off",
                "--suppress-health-check", "all", "--continue-on-failure", *arguments,
            ]
            kept = {"OWN_IDS": ",".join(service.own), "WAITING_IDS": ",".join(ids["asking"])}
            result = subprocess.run(command, cwd=files, env=os.environ | kept)
        finally:
            status = service.stop()
            service.log.seek(0)
            print(service.log.read(), file=sys.stderr, end="")
        went_well = result.returncode == 0 and status == 0
        if not went_well:
            print(f"\nFAILED: the {round_told}. {repeats}; what each request was stands above.", flush=True)
        return went_well


def rounds(schemathesis, server, arguments):
    """As many rounds as there is time for; whether all of them went well."""
    end = time.monotonic() + SECONDS
    done = 0
    while done < ROUNDS_MIN or time.monotonic() < end:
        phases = [] if done == 0 else ["--phases", RANDOM_PHASES]
        # If the caller names others, those count.
        if not test(schemathesis, server, SEED + done, phases + arguments):
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
