"""The README's tour, word for word, in a network of its own (so that its ports are free) and with a data folder of its own."""
import os
import re
import signal
import subprocess

import pytest

import harness
import leak

README = (harness.ROOT / "README.md").read_text()
pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="a network namespace of its own for the README's ports needs root")


def blocks(title):
    """The sh blocks below a heading."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    assert section, f"the README has no section {title!r}"
    return re.findall(r"^```sh\n(.*?)^```", section[1], re.M | re.S)


def steps(block):
    """[(command, expected output or None)]: a line `# → text` tells what the command above it prints; … stands for anything."""
    found = []
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if line.startswith("# → "):
            found[-1] = (found[-1][0], line[4:])
        elif line.strip() and not line.startswith("#"):
            found.append((line, None))
    return found


def fits(expected, output):
    place = 0
    for piece in expected.split("…"):
        place = output.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


@pytest.fixture
def network():
    """A process that holds a network namespace with loopback; its pid."""
    holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 1000"], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "up\n"
    yield holder.pid
    holder.terminate()
    holder.wait()


def test_the_tour(network, tmp_path):
    serve, tour = blocks("A 60-second tour")[:2]
    assert serve.strip() == "./dev serve"
    data_dir = tmp_path / "data"
    env = harness.clean_env({"III_DATA_DIR": data_dir})
    inside = ["nsenter", "--net", "--target", str(network)]
    command = [str(harness.BINARY), "serve"] if harness.IS_SANITIZED else ["./dev", "serve"]
    held = leak.Holdings(data_dir)
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen([*inside, *command], cwd=harness.ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        harness.wait_until(lambda: server.poll() is not None or harness.ready_ports((tmp_path / "log").read_text()), "./dev serve", 180)
        assert server.poll() is None, (tmp_path / "log").read_text()[-3000:]
        script = "".join(f"{command}\nprintf '\\036'\n" for command, _ in steps(tour))
        done = subprocess.run([*inside, "bash", "-u"], input=script, capture_output=True, text=True, cwd=tmp_path, env=env, check=False, timeout=120)
        outputs = done.stdout.split("\036")
        held.look(server.pid)
        for (command, expected), output in zip(steps(tour), outputs):
            assert expected is None or fits(expected, output.strip()), f"{command}\nprints {output!r}\nnot {expected!r}\n{done.stderr}"
        assert len(outputs) == len(steps(tour)) + 1 and sum(e is not None for _, e in steps(tour)) >= 6
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(harness.DEADLINE_S * 2)
    assert code == 0, (tmp_path / "log").read_text()[-3000:]
    held.assert_nothing_left()


def test_links_of_the_documents_lead_somewhere():
    for page in [*harness.ROOT.glob("*.md"), *(harness.ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists() or os.path.exists(harness.ROOT / target), f"{page.name}: {target}"
