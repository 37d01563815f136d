"""Checks the examples against `heddle schema`, and that what is wrong in a pattern is found by it.

Needs the virtual environment of run.py, which calls it.
"""

import copy
import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs

ROOT = Path(__file__).resolve().parent.parent.parent


def errors(validator, pattern):
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in validator.iter_errors(pattern)]


def main(program):
    schema = json.loads(subprocess.check_output([program, "schema"]))
    validator = jsonschema_rs.Draft7Validator(schema)
    examples = sorted((ROOT / "examples").glob("*/pattern.json"))
    assert examples, "there are no examples"
    for path in examples:
        found = errors(validator, json.loads(path.read_text()))
        assert not found, f"{path}: {found}"
    node = {"id": "a", "type": "Limit", "data": {"parameters": {"count": 3}}}
    for change, is_right in [
        ({}, True),
        ({"type": "Own", "data": {"parameters": {"anything": 1}}}, True),
        ({"data": {"parameters": {"cuont": 3}}}, False),
        ({"data": {"parameters": {"count": "many"}}}, False),
        ({"data": {"parameters": {"count": "{{ $input.n }}"}}}, True),
        ({"type": "JavaScript", "data": {"parameters": {"code": {"file": "code/a.js"}}}}, True),
        ({"type": "JavaScript", "data": {"parameters": {"code": {"flie": "code/a.js"}}}}, False),
        ({"id": 1}, False),
    ]:
        changed = copy.deepcopy(node) | change
        graph = {"nodes": [changed], "edges": []}
        for pattern in [{"name": "x", "graphData": graph}, graph]:
            found = errors(validator, pattern)
            assert (not found) == is_right, f"{pattern}: {found}"
    assert errors(validator, {"name": "x"}), "a pattern without a graph fits"
    print(f"{len(examples)} examples fit the schema of patterns", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
