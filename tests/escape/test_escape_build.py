"""Hostile builds (checklist 13, 16): Dockerfiles, contexts and archives that reach out, and users that are none."""
import io
import pathlib
import tarfile
import tempfile

import pytest

import harness
import images


NO_LAYERS = pytest.mark.skipif(harness.BACKEND == "qemu", reason="a machine is not kept as layers, so no image is built in one: the last test here")


@pytest.fixture
def build(bait):
    with tempfile.TemporaryDirectory(prefix="iii-t-") as made:
        folder = pathlib.Path(made)
        context = folder / "ctx"
        context.mkdir()

        def run(text, name="hostile"):
            (context / "Dockerfile").write_text(text)
            return harness.run_cli("image", "build", "--data-dir", folder / "data", "-t", name, context,
                                   env={"III_PULL": "never", "HOME": folder}, timeout_s=120)

        run.context = context
        yield run


@NO_LAYERS
@harness.needs("snapshot")
def test_a_step_sees_nothing_of_the_host(build, bait):
    done = build(f"FROM shell\nRUN ! cat {bait.file} && ! ls {bait.folder} && ! cat /proc/1/root{bait.file} && test \"$(cat /proc/net/route | wc -l)\" -le 1\n")
    assert done.returncode == 0, done.stderr
    assert bait.secret not in done.stdout + done.stderr


@NO_LAYERS
@harness.needs("snapshot")
def test_copies_do_not_follow_links_out(build, bait):
    """Neither those of the folder that is copied from, nor those that a step made where it is copied to."""
    (build.context / "leak").symlink_to(bait.file)
    (build.context / "folder").symlink_to(bait.folder)
    (build.context / "plain").write_text("plain")
    done = build(f"FROM shell\nCOPY . /in/\nRUN ! grep -r --exclude=Dockerfile {bait.secret} /in\n")
    assert done.returncode == 0, done.stdout + done.stderr
    (build.context / "leak").unlink()
    (build.context / "folder").unlink()
    done = build(f"FROM shell\nRUN ln -s {bait.folder} /out && ln -s /proc/1/root{bait.folder} /out2\nCOPY plain /out/\nCOPY plain /out2/\n")
    assert done.returncode in (0, 1)
    bait.assert_same()


@NO_LAYERS
@pytest.mark.parametrize("line", ["COPY ../../../../../../etc/passwd /x", "COPY /../../etc/passwd /x", "COPY <<../../../../x /\nx\n../../../../x", "ADD http://127.0.0.1:1/x /x",
                                  "RUN --mount=type=bind,source=/,target=/host true", "RUN --mount=type=secret,id=x true",
                                  "RUN --security=insecure true", "RUN --network=host true"])
def test_ways_out_of_a_dockerfile_are_refused(build, line):
    done = build(f"FROM shell\n{line}\n")
    assert done.returncode == 1 and "2" in done.stderr, (done.stdout, done.stderr)


@NO_LAYERS
def test_archives_of_a_build_stay_inside(build, bait):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, link in (("../../out", tarfile.REGTYPE, ""), ("way", tarfile.SYMTYPE, str(bait.folder)), ("way/new", tarfile.REGTYPE, ""),
                                 ("hard", tarfile.LNKTYPE, str(bait.file)), ("node", tarfile.CHRTYPE, "")):
            info, data = images.entry(name, b"", kind, link=link)
            tar.addfile(info, io.BytesIO(data))
    (build.context / "x.tar").write_bytes(out.getvalue())
    done = build("FROM shell\nADD x.tar /x/\nRUN ls -lR /x\n")
    assert done.returncode in (0, 1)
    bait.assert_same()


@NO_LAYERS
@harness.needs("snapshot")
def test_whiteouts_made_by_a_step_hide_nothing_else(build):
    """A step may make what the overlay reads as a removal; it may not reach below its own layer with it."""
    done = build("FROM shell\nRUN echo kept >/kept; mkdir /d; echo in >/d/in\nRUN touch /.wh.kept /d/.wh..wh..opq; mknod /gone c 0 0 || true\n"
                 "RUN cat /kept /d/in\n")
    assert done.returncode == 0, done.stderr + done.stdout


@NO_LAYERS
@harness.needs("snapshot")  # a step that ran becomes a layer
def test_a_user_is_that_user(build):
    users = {"1": "1", "1:1": "1", "65534": "65534", "root": "0", "nobody": "65534"}
    done = build("FROM shell\n" + "".join(f"USER {user}\nRUN test $(id -u) = {uid}\n" for user, uid in users.items()))
    assert done.returncode == 0, done.stdout + done.stderr


@NO_LAYERS
@pytest.mark.parametrize("user", ["01", "1:", "4294967296", "root:nosuch"])
def test_a_user_is_taken_whole_or_refused(build, user):
    """All forms are in tests/unit/guest/test_agent_user.c; here that nobody on the way turns one into root."""
    done = build(f"FROM shell\nUSER {user}\nRUN echo ran as $(id -u)\n")
    assert done.returncode == 1 and "ran as 0" not in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.skipif(harness.BACKEND != "qemu", reason="about virtual machines: III_TEST_BACKEND=qemu")
def test_a_build_in_a_machine_says_why_not():
    with harness.Server() as server:
        (server.home / "Dockerfile").write_text("FROM shell\nRUN echo made >/made\n")
        server.stop()
        done = harness.run_cli("image", "build", "--data-dir", server.data_dir, "-t", "none", server.home, env={"HOME": server.home, **harness.backend_env()}, timeout_s=120)
        assert done.returncode and 'backend "native" is not one of those this server allows' in done.stderr, (done.stdout, done.stderr)
