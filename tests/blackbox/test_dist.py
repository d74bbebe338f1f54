"""The Debian package and the relocatable archive: what is in them, and that a server of each works where it was unpacked."""
import gzip
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile

import pytest

import harness

CONFIG = "/etc/iii-sandbox/config.yaml"


def dist(out, kinds):
    done = subprocess.run([sys.executable, harness.ROOT / "tools" / "dist.py", "--only", kinds, "--binary", harness.BINARY, "--out", out],
                          capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S * 8)
    assert done.returncode == 0, done.stderr
    return [out / name for name in done.stdout.split()]


def output(*argv, **kw):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S * 2, **kw)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    found = {path.suffix: path for path in dist(out, "deb,tarball")}
    return found[".deb"], found[".gz"]


@pytest.fixture(scope="module")
def deb_root(packages, tmp_path_factory):
    root = tmp_path_factory.mktemp("deb")
    output("dpkg-deb", "--raw-extract", packages[0], root)
    return root


def test_one_kind_leaves_the_others(tmp_path):
    """Without a server to pack: a client library needs none."""
    (tmp_path / "iii-sandbox_9_amd64.deb").write_text("older")
    (tmp_path / "libiiisandbox-0.0.1.tar.gz").write_text("of the kind that is made anew")
    done = subprocess.run([sys.executable, harness.ROOT / "tools" / "dist.py", "--only", "c", "--binary", tmp_path / "none", "--out", tmp_path],
                          capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S * 8)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["SHA256SUMS", "iii-sandbox_9_amd64.deb", done.stdout.strip()])
    assert output("sha256sum", "-c", "SHA256SUMS", cwd=tmp_path).count(": OK") == 2


def test_checksums(packages):
    assert output("sha256sum", "-c", "SHA256SUMS", cwd=packages[0].parent).count(": OK") == 2


def test_control_of_the_package(packages, deb_root):
    fields = dict(line.split(": ", 1) for line in (deb_root / "DEBIAN" / "control").read_text().splitlines() if ": " in line)
    assert fields["Package"] == "iii-sandbox" and re.fullmatch(r"\d+\.\d+\.\d+", fields["Version"])
    assert fields["Architecture"] == output("dpkg", "--print-architecture").strip()
    for name in ("adduser", "libc6", "libuv1", "libsqlite3-0", "libssl3", "libseccomp2"):
        assert re.search(rf"(^|, ){name}\b", fields["Depends"]), name
    assert (deb_root / "DEBIAN" / "conffiles").read_text() == CONFIG + "\n"
    for script in ("postinst", "prerm", "postrm"):
        assert os.access(deb_root / "DEBIAN" / script, os.X_OK)
        output("sh", "-n", deb_root / "DEBIAN" / script)


def test_contents_of_the_package(packages, deb_root):
    listed = output("dpkg-deb", "--contents", packages[0])
    assert all(line.split()[1] == "root/root" for line in listed.splitlines())
    assert not re.search(r"^-..(s|.w)|^-.....s|^-.......w", listed, re.M), "set-id or writable for others"
    for line in (deb_root / "DEBIAN" / "md5sums").read_text().splitlines():
        total, name = line.split("  ")
        assert hashlib.md5((deb_root / name).read_bytes()).hexdigest() == total
    assert os.readlink(deb_root / "usr/bin/iii-sandbox") == "iii"
    assert "not stripped" not in output("file", deb_root / "usr/bin/iii") if os.path.exists("/usr/bin/file") else True
    page = gzip.decompress((deb_root / "usr/share/man/man1/iii-sandbox-exec.1.gz").read_bytes()).decode()
    assert ".SH SYNOPSIS" in page
    for name in ("bash-completion/completions/iii-sandbox", "zsh/vendor-completions/_iii", "fish/vendor_completions.d/iii-sandbox.fish",
                 "doc/iii-sandbox/copyright", "doc/iii-sandbox/configuration.md"):
        assert (deb_root / "usr/share" / name).stat().st_size > 0, name


def test_the_service_is_hardened(deb_root):
    unit = (deb_root / "lib/systemd/system/iii-sandbox.service").read_text()
    assert f"ExecStart=/usr/bin/iii serve --config {CONFIG}\n" in unit
    for line in ("NoNewPrivileges=yes", "ProtectHome=yes", "PrivateTmp=yes", "LockPersonality=yes", "UMask=0077"):
        assert f"\n{line}\n" in unit, line
    for word in ("StateDirectory", "OOMScoreAdjust"):  # one changes owners, the other reaches into sandboxes
        assert not re.search(rf"^{word}=", unit, re.M)
    denied = set(re.findall(r"CAP_\w+", " ".join(re.findall(r"^CapabilityBoundingSet=~.*$", unit, re.M))))
    assert {"CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_BOOT", "CAP_BPF", "CAP_SYSLOG"} <= denied


def try_server(binary, config, data):
    """Starts a server of an unpacked package and runs a command in a sandbox with its own command line."""
    env = harness.clean_env({"HOME": data.parent, **harness.backend_env()})
    with open(data.parent / "log", "w+") as log:
        proc = subprocess.Popen([binary, "serve", "--config", config, "--data-dir", data, "--port", "0", "--engine-port", "0"], stdout=log,
                                stderr=subprocess.STDOUT, env=env)
        try:
            rest, _ = harness.wait_until(lambda: harness.ready_ports(pathlib.Path(log.name).read_text()), "the server to be ready")
            maps = pathlib.Path(f"/proc/{proc.pid}/maps").read_text()
            env["III_SANDBOX_URL"] = f"http://127.0.0.1:{rest}"
            cli = binary.with_name("iii-sandbox")
            sid = re.search(r"sbx_\w+", output(cli, "create", "python", env=env))[0]
            assert output(cli, "exec", sid, "echo works", env=env) == "works\n"
            output(cli, "kill", sid, env=env)
        finally:
            proc.send_signal(signal.SIGTERM)
            assert proc.wait(harness.DEADLINE_S) == 0, pathlib.Path(log.name).read_text()
    return maps


def test_the_package_unpacked_works(deb_root, tmp_path):
    binary = deb_root / "usr/bin/iii"
    assert output(binary.with_name("iii-sandbox"), "--version").startswith("iii-sandbox/")
    try_server(binary, deb_root / CONFIG[1:], tmp_path / "data")


def test_the_archive_works_where_it_is_put(packages, tmp_path):
    with tarfile.open(packages[1]) as tar:
        assert {m.uid for m in tar.getmembers()} == {0}
        tar.extractall(tmp_path / "some where")  # noqa: S202: it is ours
    (home,) = (tmp_path / "some where").iterdir()
    maps = try_server(home / "bin" / "iii", home / "etc" / "config.yaml", tmp_path / "data")
    assert f"{home}/lib/libuv.so" in maps and not re.search(r" (/usr)?/lib/\S*libuv", maps)


def test_the_same_tree_gives_the_same_package(packages, tmp_path):
    assert dist(tmp_path / "again", "deb")[0].read_bytes() == packages[0].read_bytes()


def test_other_packages_stay(packages):
    out, old = packages[0].parent, packages[0].with_name("libiiisandbox-0.0.1.tar.gz")
    old.write_bytes(b"an earlier version")
    (made,) = dist(out, "c")
    assert {path.name for path in out.iterdir()} == {made.name, "SHA256SUMS", *(path.name for path in packages)}
    assert output("sha256sum", "-c", "SHA256SUMS", cwd=out).count(": OK") == 3


def test_wrong_kinds_are_refused(tmp_path):
    done = subprocess.run([sys.executable, harness.ROOT / "tools" / "dist.py", "--only", "rpm", "--out", tmp_path / "x"], capture_output=True, text=True,
                          check=False, timeout=harness.DEADLINE_S)
    assert done.returncode == 2 and "rpm" in done.stderr and not (tmp_path / "x").exists()
