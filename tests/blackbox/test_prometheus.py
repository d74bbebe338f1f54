"""GET /metrics: valid Prometheus text, and the numbers are those of the calls that were made."""
import re

import pytest

import harness

TOKEN = "secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


def parse(text):
    """{metric: (type, {labels: value})}; fails on anything the format does not allow."""
    assert text.endswith("\n")
    metrics, current = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in metrics, f"{current} is not in one piece"
            assert len(line.split(" ", 3)) == 4
            metrics[current] = [None, {}]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and kind in ("counter", "gauge", "histogram"), line
            metrics[name][0] = kind
        else:
            found = SAMPLE.match(line)
            assert found, f"not a sample: {line!r}"
            name, labels, value = found.groups()
            base = re.sub(r"_(bucket|sum|count)$", "", name) if metrics[current][0] == "histogram" else name
            assert base == current, f"{name} stands under {current}"
            pairs = LABEL.findall(labels or "")
            assert LABEL.sub("", labels or "") == "", labels
            key = (name, *sorted(pairs))
            assert key not in metrics[current][1], f"twice: {key}"
            metrics[current][1][key] = float(value)
    assert all(kind for kind, _ in metrics.values())
    for name, (kind, _) in metrics.items():
        assert (kind == "counter") == name.endswith("_total"), name
    return metrics


def scrape(server, token=TOKEN):
    with harness.Client(server.port, token, prefix="") as caller:
        reply = caller.get("/metrics")
    assert reply.status == 200 and reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parse(reply.body.decode())


def requests(metrics, operation, status="200"):
    return sum(v for k, v in metrics["iii_requests_total"][1].items() if ("operation", operation) in k and ("status", status) in k)


def value(metrics, name, **labels):
    return metrics[name][1][(name, *sorted(labels.items()))]


def test_it_needs_the_token(server):
    with harness.Client(server.port, prefix="") as caller:
        assert caller.get("/metrics").status == 401
    with harness.Client(server.port, "wrong", prefix="") as caller:
        assert caller.get("/metrics").status == 403


def test_the_version_is_a_label(server, client):
    assert value(scrape(server), "iii_build_info", version=client.ok("GET", "/openapi.json")["info"]["version"]) == 1


def test_the_json_route_stays_what_it_was(client):
    assert set(client.ok("GET", "/metrics")) == {"activeSandboxes", "totalCreated", "totalKilled", "totalExpired", "uptimeSeconds",
                                                    "backends", "statuses"}


def test_calls_are_counted_by_operation_and_status(server, client, new_sandbox):
    before = scrape(server)
    sid = new_sandbox()["id"]
    for _ in range(3):
        client.exec(sid, "true")
    client.get(f"/sandboxes/{harness.UNKNOWN}")
    after = scrape(server)
    assert requests(after, "cmd_run") - requests(before, "cmd_run") == 3
    assert requests(after, "sandbox_get", "404") - requests(before, "sandbox_get", "404") == 1
    assert value(after, "iii_sandboxes_created_total") == value(before, "iii_sandboxes_created_total") + 1
    assert value(after, "iii_sandboxes", status="running") == value(before, "iii_sandboxes", status="running") + 1
    assert value(after, "iii_events_total") >= value(before, "iii_events_total") + 4


def test_the_histogram_is_one(server, client, box):
    client.exec(box, "true")
    rows = scrape(server)["iii_request_duration_seconds"][1]
    buckets = [(dict(k[1:])["le"], v) for k, v in rows.items() if k[0].endswith("_bucket") and ("operation", "cmd_run") in k]
    counts = [v for _, v in buckets]
    assert buckets[-1][0] == "+Inf" and counts == sorted(counts)
    bounds = [float(le) for le, _ in buckets]
    assert bounds == sorted(bounds) and len(set(bounds)) == len(bounds) > 10
    count = rows[("iii_request_duration_seconds_count", ("operation", "cmd_run"))]
    assert count == counts[-1] and rows[("iii_request_duration_seconds_sum", ("operation", "cmd_run"))] > 0


def test_each_sandbox_has_its_series(server, client, box):
    client.exec(box, "python3 -c 'sum(range(3000000))'")
    metrics = scrape(server)
    assert [key[1:] for key in metrics["iii_sandbox_pids"][1]] == [(("sandbox_id", item["id"]),) for item in client.ok("GET", "/sandboxes")["items"]]
    assert value(metrics, "iii_sandbox_cpu_seconds_total", sandbox_id=box) > 0
    assert value(metrics, "iii_sandbox_pids", sandbox_id=box) >= 1
    if value(metrics, "iii_sandbox_memory_limit_bytes", sandbox_id=box):
        assert value(metrics, "iii_sandbox_memory_bytes", sandbox_id=box) > 0


@pytest.mark.parametrize("name", ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes",
                                  "process_open_fds", "process_max_fds", "process_start_time_seconds"])
def test_the_process_is_described(server, name):
    assert value(scrape(server), name) > 0


def test_other_methods_and_paths_are_not_taken(server):
    with harness.Client(server.port, TOKEN, prefix="") as caller:
        assert caller.post("/metrics").status == 404
        assert caller.get("/metrics/x").status == 404
        assert caller.get("/metricsx").status == 404
        assert caller.call("HEAD", "/metrics").status == 200
