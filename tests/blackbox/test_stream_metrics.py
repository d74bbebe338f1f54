"""GET /sandboxes/:id/stream/metrics: samples at an interval, an error event when the sandbox goes."""
import harness

FIELDS = {"sandboxId", "cpuPercent", "memoryUsageMb", "memoryLimitMb", "networkRxBytes", "networkTxBytes", "pids"}


def test_samples_come_at_the_interval(client, sandbox):
    events = client.events("GET", f"/sandboxes/{sandbox}/stream/metrics?interval=1")
    for _ in range(3):
        sample = next(events)
        assert set(sample) >= FIELDS and sample["sandboxId"] == sandbox and sample["pids"] >= 1
        assert all(isinstance(v, (int, float)) for k, v in sample.items() if k != "sandboxId")
    events.close()


def test_the_first_sample_comes_at_once_and_the_interval_is_clamped(client, sandbox):
    for query in ("", "?interval=0", "?interval=-5", "?interval=999999"):
        events = client.events("GET", f"/sandboxes/{sandbox}/stream/metrics{query}")
        assert next(events)["sandboxId"] == sandbox
        events.close()
    assert client.get(f"/sandboxes/{sandbox}/stream/metrics?interval=often").status == 400


def test_a_paused_sandbox_goes_on_being_measured_and_a_gone_one_is_an_error(client, server, sandbox):
    events = client.events("GET", f"/sandboxes/{sandbox}/stream/metrics?interval=1")
    assert next(events)["sandboxId"] == sandbox
    with harness.Client(server.port) as other:
        other.ok("POST", f"/sandboxes/{sandbox}/pause")
        assert next(events)["sandboxId"] == sandbox
        other.ok("DELETE", f"/sandboxes/{sandbox}")
    rest = list(events)
    assert rest[-1]["type"] == "error" and "not found" in rest[-1]["error"] and rest[-1]["timestamp"] > 1.6e12


def test_errors_come_before_the_stream(client, sandbox):
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/stream/metrics").status == 404
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    assert client.get(f"/sandboxes/{sandbox}/stream/metrics").status == 409
