"""A Docker engine that is reached over TCP with TLS, both ends with certificates: DOCKER_HOST, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH."""
import shutil
import socket

import pytest

import certs
import dockerkit
import harness

pytestmark = pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certs.Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def engine(authority):
    cert, key = authority.issue("engine")
    made = dockerkit.Engine(is_in_host_network=True)
    made.port = free_port()
    made.flags = ["-H", f"tcp://127.0.0.1:{made.port}", "-H", f"tcp://127.0.0.2:{made.port}", "--tlsverify", "--tlscacert", authority.cert, "--tlscert", cert, "--tlskey", key]
    with made:
        yield made


def folder_of(path, trusted, cert, key):
    """A DOCKER_CERT_PATH, readable by root alone like ~/.docker."""
    path.mkdir(mode=0o700)
    for source, name in ((trusted, "ca.pem"), (cert, "cert.pem"), (key, "key.pem")):
        if source:
            shutil.copy(source, path / name)
    return path


def serve(engine, folder, host="127.0.0.1"):
    return harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": f"tcp://{host}:{engine.port}", "DOCKER_TLS_VERIFY": "1",
                               "DOCKER_CERT_PATH": folder})


def test_both_ends_trust_each_other(engine, authority, tmp_path):
    folder = folder_of(tmp_path / "good", authority.cert, *authority.issue("server"))
    with serve(engine, folder) as server:
        client = server.client()
        sid = client.create()["id"]
        assert client.exec(sid, "echo far")["stdout"] == "far\n"
        client.delete(f"/sandboxes/{sid}")
        checks = harness.run_cli("doctor", env={"DOCKER_HOST": f"tcp://127.0.0.1:{engine.port}", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": folder})
        assert "docker" in checks.stdout and "API 1." in checks.stdout, checks.stdout
    assert engine.containers() == []


def refused(engine, folder, host="127.0.0.1"):
    with serve(engine, folder, host) as server:
        reply = server.client().post("/sandboxes", {"image": "python"})
        assert reply.status == 503 and f"tcp://{host}:{engine.port}" in reply.error, reply
        return reply.error


def test_an_engine_of_another_authority_is_not_trusted(engine, authority, tmp_path):
    other = certs.Authority(tmp_path / "other", "another authority")
    assert "certificate" in refused(engine, folder_of(tmp_path / "f", other.cert, *authority.issue("server")))


def test_an_engine_under_another_name_is_not_trusted(engine, authority, tmp_path):
    assert "certificate" in refused(engine, folder_of(tmp_path / "f", authority.cert, *authority.issue("server")), "127.0.0.2")


def test_the_engine_refuses_a_server_it_does_not_know(engine, authority, tmp_path):
    other = certs.Authority(tmp_path / "other", "another authority")
    refused(engine, folder_of(tmp_path / "f", authority.cert, *other.issue("server")))  # its words for it may be lost with the connection


def test_a_key_that_is_none(engine, authority, tmp_path):
    cert, _ = authority.issue("server")
    assert "key" in refused(engine, folder_of(tmp_path / "f", authority.cert, cert, authority.cert))


def test_a_folder_without_its_files_is_refused_at_the_start(engine, authority, tmp_path):
    server = serve(engine, folder_of(tmp_path / "f", authority.cert, None, None))
    with pytest.raises(AssertionError, match="DOCKER_CERT_PATH.*cert.pem"):
        server.start()
    server.remove()
