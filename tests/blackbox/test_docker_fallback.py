"""Every reason for which a container is made again without the agent, each really brought about. What is the same for all of them is in
test_docker_noagent.py; these take their time and run with `./dev test --all`."""
import json
import os
import subprocess

import pytest

import dockerkit
import harness
import otherengines
from harness import wait_until

USER = otherengines.ORDINARY
needs_podman = pytest.mark.skipif(otherengines.Podman.lacks() is not None, reason=f"Podman as another user: {otherengines.Podman.lacks()}")


def mount_noexec(folder):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,mode=755", "none", folder], check=True)


@pytest.fixture(scope="module")
def podman():
    made = otherengines.RootlessPodman()
    try:
        mount_noexec(made.home / "noexec")  # before it starts: it has mounts of its own from then on
        made.start()
        made.add_image()
        yield made
    finally:
        made.remove()


def serve(engine, **more):
    return harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host}, **more)


def judge(engine, server, why):
    try:
        server.start()
        client = server.client()
        box = client.create()
        assert box["withoutAgent"] == why
        done = client.exec(box["id"], "echo by exec; echo and >&2; exit 3")
        assert (done["stdout"], done["stderr"], done["exitCode"]) == ("by exec\n", "and\n", 3)
        server.stop()
        wait_until(lambda: not engine.containers(), "containers to go")
    finally:
        server.remove()


@needs_podman
def test_a_folder_that_nothing_is_run_from(podman):
    """Without root a container cannot lift the host's "noexec": the engine says so when it starts the agent."""
    folder = podman.home / "noexec" / "data"
    folder.mkdir()
    os.chown(folder, USER, USER)
    judge(podman, serve(podman, user=USER, data_dir=folder), "the container cannot run the agent")


@needs_podman
def test_a_folder_that_another_kind_of_engine_does_not_see(podman):
    server = serve(podman, user=USER)
    mount_noexec(server.data_dir)
    try:
        os.chown(server.data_dir, USER, USER)
        judge(podman, server, "the engine does not see the server's data folder")
    finally:
        subprocess.run(["umount", "-l", server.data_dir], check=True)
        server.remove()


@pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root")
def test_an_agent_that_cannot_call():
    """The operator's seccomp profile lets nothing connect: the agent runs, and nobody hears of it."""
    engine = dockerkit.Engine()
    profile = engine.home / "profile.json"
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["connect"], "action": "SCMP_ACT_ERRNO"}]}))
    engine.flags.append(f"--seccomp-profile={profile}")
    try:
        engine.start()
        engine.add_image()
        judge(engine, serve(engine), "the agent runs, but has not connected within 20 s")
    finally:
        engine.remove()
