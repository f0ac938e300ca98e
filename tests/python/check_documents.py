# SPDX-License-Identifier: Apache-2.0
"""Checks the JSON documents of `lockstep inspect`, `plan` and `simulate` against their schemas, and the figures.

Usage: check_documents.py LOCKSTEP_BINARY SCHEMA_DIR WORK_DIR. A validator of the keywords that the schemas use is
here; where the package jsonschema is installed, it validates, too.
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

lockstep, work = sys.argv[1], pathlib.Path(sys.argv[3])
schemas = {path.stem: json.loads(path.read_text()) for path in pathlib.Path(sys.argv[2]).glob("*.json")}
work.mkdir(parents=True, exist_ok=True)

KEYWORDS = {"$schema", "$defs", "title", "description", "type", "properties", "required", "additionalProperties",
            "items", "minimum", "const", "enum", "anyOf", "$ref"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_a(value, name):
    if name in ("integer", "number"):
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole or (name == "number" and isinstance(value, float))
    return isinstance(value, TYPES[name])


def mistakes(value, schema, root, place="$"):
    """Yields a text for each mistake."""
    unknown = set(schema) - KEYWORDS
    assert not unknown, f"the validator does not know {unknown}"
    if "$ref" in schema:
        yield from mistakes(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, place)
        return
    if "anyOf" in schema and all(list(mistakes(value, one, root, place)) for one in schema["anyOf"]):
        yield f"{place}: {json.dumps(value)[:80]} is none of the forms"
    if "const" in schema and value != schema["const"]:
        yield f"{place}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_a(value, name) for name in names):
        yield f"{place}: {json.dumps(value)[:80]} is no {names}"
        return
    if "minimum" in schema and is_a(value, "number") and value < schema["minimum"]:
        yield f"{place}: {value} is less than {schema['minimum']}"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{place}: lacks {name}"
        for name, inner in value.items():
            if name in known:
                yield from mistakes(inner, known[name], root, f"{place}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{place}: {name} is not described"
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from mistakes(inner, schema["additionalProperties"], root, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, inner in enumerate(value):
            yield from mistakes(inner, schema["items"], root, f"{place}[{i}]")


def document(command, name, *words):
    form = ["--json"] if command == "simulate" else ["--format", "json"]
    run = subprocess.run([lockstep, command, *map(str, words), *form], capture_output=True, text=True)
    assert run.returncode == 0, (words, run.stderr)
    made = json.loads(run.stdout)
    found = list(mistakes(made, schemas[name], schemas[name]))
    assert not found, (words, found[:5])
    if jsonschema:
        jsonschema.validate(made, schemas[name])
    return made


def check_graph(graph):
    """What a schema cannot say: numbers are positions, and totals are sums."""
    values, nodes, scopes = graph["values"], graph["nodes"], graph["scopes"]
    makers = {}
    for i, node in enumerate(nodes):
        for value in node["inputs"]:
            assert -1 <= value < len(values) and makers.get(value, -1) < i
        for value in node["outputs"]:
            if value >= 0:
                assert value not in makers and values[value]["kind"] == "result"
                makers[value] = i
        assert 0 <= node["scope"] < len(scopes)
    for i, scope in enumerate(scopes):
        assert scope["parent"] < i
    assert scopes[0]["nodes"] == len(nodes) == sum(kind["nodes"] for kind in graph["operators"])
    every = sum(node["products"] + node["others"] for node in nodes)
    of_replicas = sum(phase["products"] + phase["others"]
                      for replica in graph["figures"] for phase in replica["flops"].values())
    assert abs(every - of_replicas) <= 1e-9 * every, (every, of_replicas)
    for item in [item for role in ("states", "inputs", "losses", "metrics", "gradients") for item in graph[role]]:
        assert len(item["values"]) == graph["replicas"] and all(value >= 0 for value in item["values"])


def check_plan(plan):
    steps, slots, blocks = plan["steps"], plan["slots"], plan["blocks"]
    assert sorted(step for worker in plan["workers"] for step in worker["steps"]) == list(range(len(steps)))
    for step in steps:
        assert all(-1 <= slot < len(slots) for slot in step["in"] + step["out"])
        for worker, number in step["waits"]:
            assert worker != step["worker"] and number < len(plan["workers"][worker]["steps"])
    for slot in slots:
        if slot["place"]["in"] == "arena" and slot["place"]["block"] >= 0:
            assert slot["bytes"] <= blocks[slot["place"]["block"]]["bytes"]
    for block in blocks:
        assert block["offset"] + block["bytes"] <= plan["workers"][block["worker"]]["arena_bytes"]
    memory = plan["memory"]
    assert memory["all"] == sum(bytes for name, bytes in memory.items() if name != "all")
    assert memory["arenas"] >= sum(worker["arena_bytes"] for worker in plan["workers"])


step_file = work / "step.onnx"
subprocess.run([lockstep, "build", "lenet", "--devices", "cpu*2", "--all-reduce", "xring", "-o", step_file],
               check=True, stdout=subprocess.DEVNULL)
for words in (["mlp"], ["mlp", "--devices", "cpu*2"], ["lenet", "--devices", "cpu*3", "--packing", "ready:1k:1M"],
              ["mobilenet_v2", "--batch", "2", "--precision", "bfloat16"], [step_file]):
    check_graph(document("inspect", "graph-1", *words))
    check_plan(document("plan", "plan-1", *words))
    print("described:", *words)

# A step on a cluster of its size, of another size, and without a search.
cluster = work / "cluster.yaml"
cluster.write_text("DEVICES: 2\nDEVICE: {FLOPS: 1e12, BANDWIDTH: 1e11}\n")
for words in (["mlp", "--devices", "cpu*2", "--each"], ["lenet"], [step_file, "--no-search"]):
    made = document("simulate", "simulation-1", *words, "--cluster", cluster, "--most", "16")
    assert [point["devices"] for point in made["curve"]] == [2, 4, 8, 16], words
    assert (made["planned"] is None) == bool(made["why_not_planned"]) == (words == ["lenet"]), words
    assert (made["best"] is None) == ("--no-search" in words)
    if made["each"]:
        assert abs(made["each"]["seconds"] / made["alike"]["seconds"] - 1) < 1e-6, words
    print("described:", *words, "on a cluster")

# A ring of 2 sends half of each gradient twice.
ring = document("inspect", "graph-1", step_file)
for replica in ring["figures"]:
    assert replica["messages"] > 0 and abs(replica["reduced_bytes"] / replica["parameter_bytes"] - 1) < 0.02

# torchvision's documentation: 4.089e9 multiply-adds.
resnet = document("inspect", "graph-1", "resnet50", "--batch", "1")["figures"][0]
forward, backward = (sum(resnet["flops"][phase].values()) for phase in ("forward", "backward"))
assert abs(forward / (2 * 4.09e9) - 1) < 0.01, forward
assert 1.9 < backward / forward < 2.1, backward / forward
assert resnet["parameters"] == 25557032, resnet["parameters"]
print(f"ResNet-50: {forward / 1e9:.3f} GFLOP forward, {backward / 1e9:.3f} GFLOP backward")
print("jsonschema validated, too" if jsonschema else "without the package jsonschema: checked by the own validator")
