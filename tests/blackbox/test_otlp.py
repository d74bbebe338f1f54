"""Spans reach an OTLP/HTTP collector; W3C trace context comes in and goes on into commands."""
import http.server
import json
import re
import threading

import pytest

import harness

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """Keeps every span it is sent; answers with the statuses it was given, then with 200."""

    def __init__(self, answers=()):
        self.spans, self.requests, self.answers = [], [], list(answers)
        keep = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = keep.answers.pop(0) if keep.answers else 200
                keep.requests.append((self.path, dict(self.headers), body, status))
                if status == 200:
                    for resource in body["resourceSpans"]:
                        for scope in resource["scopeSpans"]:
                            keep.spans += scope["spans"]
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def wait_for(self, name, where=lambda s: True):
        return harness.wait_until(lambda: next((s for s in list(self.spans) if s["name"] == name and where(s)), None), f"span {name}")


@pytest.fixture(scope="module")
def collector():
    with Collector() as made:
        yield made


@pytest.fixture(scope="module")
def server(collector):
    with harness.Server(env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/", "OTEL_SERVICE_NAME": "my-boxes",
                             "OTEL_EXPORTER_OTLP_HEADERS": "x-team=blue,authorization=Basic abc"}) as made:
        yield made


@pytest.fixture
def client(server):
    with harness.Client(server.port) as made:
        yield made


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


def test_a_call_becomes_a_span(collector, client):
    client.ok("GET", "/health")
    span = collector.wait_for("lifecycle::health")
    assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"])
    assert "parentSpanId" not in span and span["kind"] == 2 and span["status"] == {"code": 1}
    assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 1.6e18
    assert attributes(span) == {"http.request.method": "GET", "http.route": "/health", "http.response.status_code": "200"}
    path, headers, body, _ = collector.requests[0]
    assert path == "/v1/traces" and headers["Content-Type"] == "application/json"
    assert headers["x-team"] == "blue" and headers["authorization"] == "Basic abc"
    resource = {a["key"]: a["value"]["stringValue"] for a in body["resourceSpans"][0]["resource"]["attributes"]}
    assert resource["service.name"] == "my-boxes"


def resource_of(env):
    """The attributes of the resource that a server with this environment sends, and its log."""
    with Collector() as collector, harness.Server(env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **env}) as server:
        server.client().ok("GET", "/health")
        harness.wait_until(lambda: collector.requests, "a batch")
        sent = collector.requests[0][2]["resourceSpans"][0]["resource"]["attributes"]
        assert len({a["key"] for a in sent}) == len(sent)
        return {a["key"]: a["value"]["stringValue"] for a in sent}, server.log()


def test_resource_attributes_are_sent():
    found, _ = resource_of({"OTEL_RESOURCE_ATTRIBUTES": "service.name=boxes,deployment.environment= a%2Cb%3D%C3%A9+c ,service.version=9,empty="})
    assert found == {"service.name": "boxes", "service.version": "9", "deployment.environment": "a,b=é+c", "empty": ""}


def test_the_service_name_wins_over_the_attributes():
    found, _ = resource_of({"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,host.name=h"})
    assert found["service.name"] == "mine" and found["host.name"] == "h"


@pytest.mark.parametrize("bad", ["host.name", "a=1,=2", "host.name=h,a=%zz", "a=%00"])
def test_attributes_that_cannot_be_read_are_ignored_together(bad):
    found, log = resource_of({"OTEL_RESOURCE_ATTRIBUTES": bad})
    assert set(found) == {"service.name", "service.version"} and found["service.name"] == "iii-sandbox"
    assert "OTEL_RESOURCE_ATTRIBUTES" in log


def test_a_failure_is_told(collector, client):
    client.get(f"/sandboxes/{harness.UNKNOWN}")
    span = collector.wait_for("sandbox::get")
    assert span["status"]["code"] == 2 and "not found" in span["status"]["message"]
    assert attributes(span)["http.response.status_code"] == "404" and attributes(span)["iii.sandbox.id"] == harness.UNKNOWN


def test_trace_context_goes_through_into_the_command(collector, client):
    sid = client.create()["id"]
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    reply = client.post(f"/sandboxes/{sid}/exec", {"command": "echo $TRACEPARENT"}, headers=headers)
    inside = reply.json()["stdout"].strip()
    span = collector.wait_for("cmd::run", lambda s: s["traceId"] == TRACE)
    assert span["parentSpanId"] == PARENT and span["spanId"] != PARENT
    assert inside == f"00-{TRACE}-{span['spanId']}-01"
    plain = client.exec(sid, ["printenv", "TRACEPARENT"])["stdout"].strip()
    own = collector.wait_for("cmd::run", lambda s: s["traceId"] == plain.split("-")[1])
    assert own["spanId"] == plain.split("-")[2] and "parentSpanId" not in own
    client.ok("DELETE", f"/sandboxes/{sid}")


def test_what_is_not_sampled_is_passed_on_but_not_sent(collector, client):
    other = "a" * 32
    client.call("GET", "/sandboxes", headers={"traceparent": f"00-{other}-{PARENT}-00"})
    client.call("GET", "/templates", headers={"traceparent": f"00-{'b' * 32}-{PARENT}-01"})
    collector.wait_for("template::list", lambda s: s["traceId"] == "b" * 32)
    assert not [s for s in collector.spans if s["traceId"] == other]


@pytest.mark.parametrize("bad", ["", "00", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{'0' * 16}-01", f"ff-{TRACE}-{PARENT}-01",
                                 f"00-{TRACE.upper()}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01-x", f"00-{TRACE}{PARENT}-01", "x" * 5000])
def test_a_bad_traceparent_is_ignored(collector, client, bad):
    assert client.call("GET", "/health", headers={"traceparent": bad}).status == 200


def test_without_a_collector_context_still_goes_on():
    with harness.Server() as server:
        client = server.client()
        sid = client.create()["id"]
        reply = client.post(f"/sandboxes/{sid}/exec", {"command": "echo $TRACEPARENT"}, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
        inside = reply.json()["stdout"].strip()
        assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", inside) and PARENT not in inside
        assert client.exec(sid, "echo x$TRACEPARENT")["stdout"] == "x\n"
        reply = client.post(f"/sandboxes/{sid}/exec/stream", {"command": "echo $TRACEPARENT"}, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
        assert TRACE.encode() in reply.body


def test_a_batch_is_tried_again_and_a_refused_one_is_counted():
    with Collector(answers=[503, 400]) as collector, harness.Server(env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}) as server:
        client = server.client()
        client.ok("GET", "/health")
        harness.wait_until(lambda: len(collector.requests) >= 2, "the second try")
        assert collector.requests[0][2] == collector.requests[1][2], "the same batch"
        metrics = harness.Client(server.port, prefix="")
        harness.wait_until(lambda: b"\niii_otlp_spans_dropped_total 1\n" in metrics.get("/metrics").body, "the dropped span is counted")
        client.ok("GET", "/templates")
        collector.wait_for("template::list")
        harness.wait_until(lambda: b"\niii_otlp_spans_sent_total 1\n" in metrics.get("/metrics").body, "the sent span is counted")
        metrics.close()


def test_an_endpoint_of_another_kind_is_refused(tmp_path):
    reply = harness.run_cli("serve", "--port", "0", "--engine-port", "0",
                            env={"OTEL_EXPORTER_OTLP_ENDPOINT": "grpc://x:4318", "III_DATA_DIR": tmp_path / "d"})
    assert reply.returncode != 0 and "OTEL_EXPORTER_OTLP_ENDPOINT" in reply.stderr and "collector" in reply.stderr
