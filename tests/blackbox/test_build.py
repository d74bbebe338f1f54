"""`iii image build`: a Dockerfile becomes an image, each step in a sandbox; cache, refusals with their lines, nothing left behind."""
import gzip
import json
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

import dockerkit
import harness
import images
import registries

WHOLE = """\
ARG BASE=shell
FROM ${BASE} AS only
# a comment
ENV GREET="hi there" N=1
ARG VERSION=1
WORKDIR /app/deep/..
RUN echo "$GREET $VERSION $N" >out.txt && \\
    # between
    id -u >>out.txt
RUN ["touch", "exec form"]
COPY . .
COPY one.txt sub/*.txt /flat/
COPY one.txt /etc/renamed.txt
ADD one.txt /flat
WORKDIR /app
USER nobody
RUN id -un >/tmp/who
LABEL org.example.a="b c"
EXPOSE 80 53/udp
ENTRYPOINT ["cat"]
CMD ["out.txt"]
"""


@pytest.fixture
def context(tmp_path):
    made = tmp_path / "ctx"
    (made / "sub").mkdir(parents=True)
    (made / "one.txt").write_text("one")
    (made / "sub" / "two.txt").write_text("two")
    (made / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (made / "run.sh").chmod(0o750)
    (made / "link").symlink_to("one.txt")
    (made / "noise.log").write_text("noise")
    (made / ".dockerignore").write_text("# what is not copied\n*.log\n")
    (made / "Dockerfile").write_text(WHOLE)
    return made


@pytest.fixture(scope="module")
def data_dir():
    with tempfile.TemporaryDirectory(prefix="iii-t-") as made:
        yield pathlib.Path(made)


def build(data_dir, context, *flags, name="built", env=None):
    return harness.run_cli("image", "build", "--data-dir", data_dir, "-t", name, *flags, context,
                           env={"III_PULL": "never", "HOME": data_dir, **(env or {})})


def image_ids(data_dir):
    listed = harness.run_cli("image", "ls", "--json", "--data-dir", data_dir)
    return {row["name"]: row["id"] for row in json.loads(listed.stdout)}


def assert_nothing_left(data_dir):
    assert [pin for pin in (data_dir / "images" / "pins").iterdir() if not pin.name.startswith(".same-")] == []  # those hold nothing
    assert list((data_dir / "images" / "tmp").iterdir()) == []
    boxes = data_dir / "boxes"
    assert not boxes.exists() or list(boxes.iterdir()) == []
    checked = harness.run_cli("image", "fsck", "--data-dir", data_dir)
    assert checked.returncode == 0, checked.stdout


def test_builds_with_a_server_of_its_own_then_from_the_cache(data_dir, context):
    first = build(data_dir, context, "--build-arg", "VERSION=7")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("built  sha256:") and "from the cache" not in first.stderr
    assert_nothing_left(data_dir)
    second = build(data_dir, context, "--build-arg", "VERSION=7", "--json", name="again")
    assert second.returncode == 0, second.stderr
    assert second.stderr.count("from the cache") == 8  # every step that changes files
    assert json.loads(second.stdout)["id"] == image_ids(data_dir)["built"]
    (context / "one.txt").write_text("changed")
    third = build(data_dir, context, "--build-arg", "VERSION=7", name="again")
    assert third.stderr.count("from the cache") == 3  # WORKDIR and both RUNs stand before the first COPY
    fourth = build(data_dir, context, "--build-arg", "VERSION=7", "--no-cache", name="again")
    assert fourth.returncode == 0 and "from the cache" not in fourth.stderr
    assert_nothing_left(data_dir)


@harness.needs("imageStore", "hostFiles")
def test_the_image_runs_with_its_files_and_configuration(data_dir, context):
    assert build(data_dir, context, "--build-arg", "VERSION=7").returncode == 0
    with harness.Server(data_dir=data_dir) as server, server.client() as client:
        sid = client.create(image="built")["id"]
        def out(command):
            return client.exec(sid, command)["stdout"]
        assert out("pwd; id -un; echo $GREET").split("\n") == ["/app", "nobody", "hi there", ""]
        assert out("cat out.txt") == "hi there 7 1\n0\n"
        assert out("ls") == "Dockerfile\nexec form\nlink\none.txt\nout.txt\nrun.sh\nsub\n"
        assert out("readlink link; stat -c %a run.sh; cat sub/two.txt; cat /tmp/who") == "one.txt\n750\ntwonobody\n"
        assert out("cat /etc/renamed.txt /flat/one.txt /flat/two.txt") == "oneonetwo"
        assert out("echo ${VERSION:-gone}") == "gone\n"  # an ARG is not kept
        client.delete(f"/sandboxes/{sid}")
    config = json.loads(harness.run_cli("image", "inspect", "built", "--data-dir", data_dir).stdout)["config"]
    assert (config["entrypoint"], config["cmd"], config["user"]) == (["cat"], ["out.txt"], "nobody")
    assert config["labels"] == {"org.example.a": "b c"} and config["exposedPorts"] == ["80/tcp", "53/udp"]


@harness.needs("imageStore", "layers")
def test_uses_a_running_server_of_the_data_folder(context):
    with harness.Server() as server:
        env = {"III_REST_PORT": str(server.port)}
        made = build(server.data_dir, context, env=env)
        assert made.returncode == 0, made.stderr
        with server.client() as client:
            assert client.get("/sandboxes").json()["items"] == []
            sid = client.create(image="built")["id"]
            assert client.exec(sid, "cat out.txt")["stdout"] == "hi there 1 1\n0\n"
            client.delete(f"/sandboxes/{sid}")
            (context / "Dockerfile").write_text("FROM shell\nRUN false\n")
            failed = build(server.data_dir, context, "--url", f"http://127.0.0.1:{server.port}")
            assert failed.returncode == 1 and "Dockerfile line 2: RUN: the command exited with code 1" in failed.stderr
            assert client.get("/sandboxes").json()["items"] == []


def test_a_server_of_another_data_folder_is_told(data_dir, context):
    (context / "Dockerfile").write_text("FROM shell\nRUN true # elsewhere\n")
    with harness.Server() as server:
        failed = build(data_dir, context, "--url", f"http://127.0.0.1:{server.port}")
        assert failed.returncode == 3 and "Dockerfile line 2" in failed.stderr
    assert_nothing_left(data_dir)


def test_files_of_several_pieces(data_dir, context):
    (context / "big").write_bytes(os.urandom(1 << 20) * 33)
    (context / "Dockerfile").write_text("FROM shell\nCOPY big /big\nRUN sha256sum /big; ls /\n")
    made = build(data_dir, context, name="large")
    want = subprocess.run(["sha256sum", context / "big"], capture_output=True, text=True, check=True).stdout.split()[0]
    assert made.returncode == 0 and want in made.stderr and "build-part" not in made.stderr


@pytest.mark.parametrize("text, says", [
    ("FROM shell\n\nONBUILD RUN x\n", 'line 3: "ONBUILD" is not supported'),
    ("FROM shell AS a\nFROM shell AS A\n", "line 2: FROM: there is another stage A above"),
    ("FROM shell AS 1a\n", 'line 1: FROM: "1a" is not the name of a stage'),
    ("FROM --platform=linux/s390x shell\n", "line 1: FROM: --platform=linux/s390x: only linux/"),
    ("FROM shell AS a\nCOPY --from=a /x /y\n", "line 2: COPY: --from=a: there is no stage"),
    ("FROM shell\nFROM shell\nCOPY --from=1 /x /y\n", "line 3: COPY: --from=1: there is no stage"),
    ("FROM shell AS a\nFROM shell\nCOPY --from=a /none /y\n", "line 3: COPY: /none: no such file in a"),
    ("FROM shell\nCOPY one.txt /usr/x\n", "line 2: COPY: /usr/x is in this host's own /usr"),
    ("FROM shell\nRUN <<E\nexit 3\nE\n", "line 2: RUN: the command exited with code 3"),
    ("FROM shell\nCOPY <<E /x\ntext\n", "line 2: the text <<E has no end"),
    ("FROM shell\nHEALTHCHECK curl x\n", "line 2: HEALTHCHECK: HEALTHCHECK [OPTIONS] CMD"),
    ("FROM shell\nHEALTHCHECK --interval=soon CMD x\n", "line 2: HEALTHCHECK: --interval=soon is not a duration"),
    ("FROM shell\nHEALTHCHECK --retries=0 CMD x\n", "line 2: HEALTHCHECK: --retries=0 is not a number"),
    ("FROM shell\nSHELL sh -c\n", "line 2: SHELL: a list is expected"),
    ("FROM shell\nSTOPSIGNAL x y\n", 'line 2: STOPSIGNAL: "x" is not a signal'),
    ("FROM scratch\nRUN x\n", "line 2: RUN: scratch has nothing to run"),
    ("FROM scratch\nLABEL a=b\n", "the last stage has no files"),
    ("FROM shell\nCOPY --link=1 a b\n", "line 2: COPY: the option --link is not supported"),
    ("FROM shell\nCOPY --chown=nobody-here one.txt /x\n", 'line 2: COPY: --chown: /etc/passwd of the image has no "nobody-here"'),
    ("FROM shell\nCOPY --chown=0:none one.txt /x\n", 'line 2: COPY: --chown: /etc/group of the image has no "none"'),
    ("FROM shell\nCOPY --chown=4294967295 one.txt /x\n", "line 2: COPY: --chown: "),
    ("FROM scratch\nCOPY --chown=root one.txt /x\n", "line 2: COPY: --chown: /etc/passwd of the image"),
    ("FROM shell\nCOPY --chmod=u+x one.txt /x\n", "line 2: COPY: --chmod=u+x is not an octal mode"),
    ("FROM shell\nADD --chmod=17777 one.txt /x\n", "line 2: ADD: --chmod=17777 is not an octal mode"),
    ("FROM shell\nCOPY missing /x\n", "line 2: COPY: missing: no such file"),
    ("FROM shell\nCOPY noise.log /x\n", "line 2: COPY: noise.log: no such file"),
    ("FROM shell\nCOPY ../x /x\n", "line 2: COPY: ../x leads out of the context"),
    ("FROM shell\nCOPY one.txt\n", "line 2: COPY: at least one source"),
    ("FROM shell\nADD https://example.invalid/x /x\n", "line 2: ADD: https://example.invalid/x: nothing is downloaded with III_PULL=never"),
    ("FROM shell\nADD git@example.invalid:x /x\n", "line 2: ADD: git@example.invalid:x: only http and https addresses"),
    ("FROM shell\nADD x.tar.xz /x\n", "line 2: ADD: x.tar.xz is packed by xz"),
    ("FROM shell\nADD up.tar /x\n", 'line 2: ADD: unpack up.tar: a name with ".." is refused'),
    ("FROM shell\nENV A\n", 'line 2: ENV: "A" is not NAME=value'),
    ("FROM shell\nEXPOSE 70000\n", 'line 2: EXPOSE: "70000" is not a port'),
    ("FROM shell\nUSER a b\n", "line 2: USER: a user is expected"),
    ("FROM no-such-image\n", "line 1: FROM: "),
    ("FROM shell\nRUN exit 7\n", "line 2: RUN: the command exited with code 7"),
])
def test_refusals_name_the_line(data_dir, context, text, says):
    (context / "x.tar.xz").write_bytes(lzma.compress(images.pack([images.entry("x")])))
    (context / "up.tar").write_bytes(images.pack([images.entry("../x")]))
    (context / "Dockerfile").write_text(text)
    failed = build(data_dir, context, name="refused")
    assert failed.returncode == (3 if "no such file" in says or "no-such-image" in text else 1) and says in failed.stderr, failed.stderr
    assert "refused" not in image_ids(data_dir)


def test_a_bad_ignore_file_names_its_line(data_dir, context):
    (context / ".dockerignore").write_text("ok\n[a\n")
    failed = build(data_dir, context, name="refused")
    assert failed.returncode == 1 and ".dockerignore line 2: a [ without its ]" in failed.stderr


STAGES = """\
ARG BASE=shell
FROM $BASE AS first
WORKDIR /made
RUN <<EOF
  echo one >one
  mkdir sub && echo two >sub/two && ln -s two sub/link && chmod 4750 sub/two
EOF
FROM scratch AS second
COPY --from=first /made /all
COPY --from=0 /made/sub/t* /picked
COPY --from=second-image /note /
ARG BASE
COPY <<"RAW" <<plain /texts/
$BASE \\$BASE
RAW
$BASE \\$BASE
plain
FROM second
LABEL last=yes
"""


def exported(data_dir, name, folder):
    """What `iii image export` of it holds: its config, and {path: (kind, mode, content)} of all layers together."""
    archive = folder / "exported.tar"
    done = harness.run_cli("image", "export", name, archive, "--data-dir", data_dir)
    assert done.returncode == 0, done.stderr
    return images.read_archive(archive)


def test_stages_texts_and_scratch(data_dir, context, tmp_path):
    (tmp_path / "r.tar").write_bytes(images.rootfs(images.program(tmp_path)))
    assert harness.run_cli("image", "import", tmp_path / "r.tar", "second-image", "--data-dir", data_dir).returncode == 0
    (context / "Dockerfile").write_text(STAGES)
    made = build(data_dir, context, name="staged")
    assert made.returncode == 0, made.stderr
    files = exported(data_dir, "staged", tmp_path)[1]
    assert sorted(files) == ["all", "all/one", "all/sub", "all/sub/link", "all/sub/two", "note", "picked", "texts", "texts/RAW", "texts/plain"]
    assert files["all/sub/two"][:2] == ("file", 0o4750) and files["all/sub/link"] == ("link", "two")
    assert [files[name][2] for name in ("texts/RAW", "texts/plain", "note")] == [b"$BASE \\$BASE\n", b"shell $BASE\n", b"base\n"]
    assert files["picked"][2] == b"two\n"
    assert_nothing_left(data_dir)


def test_layers_hold_nothing_of_the_builder(data_dir, context, tmp_path):
    (tmp_path / "r.tar").write_bytes(dockerkit.rootfs())
    assert harness.run_cli("image", "import", tmp_path / "r.tar", "whole", "--data-dir", data_dir).returncode == 0
    before = exported(data_dir, "whole", tmp_path)[1]
    (context / "Dockerfile").write_text("FROM whole\nRUN touch /made /etc/made; echo x >>/etc/hosts\nRUN true\nCOPY one.txt /etc/hostname\n")
    made = build(data_dir, context, name="clean")
    assert made.returncode == 0, made.stderr
    after = exported(data_dir, "clean", tmp_path)[1]
    assert sorted(set(after) - set(before)) == ["etc/hostname", "etc/made", "made"] and not set(before) - set(after)
    assert after["etc/hostname"][2] == b"one"


ATTRS = """\
FROM people
ARG WHO=bob
COPY --chown=$WHO:crew --chmod=4750 one.txt /owned/deep/one.txt
COPY --chown=1234 sub /numeric
COPY --chown=:7 one.txt /home/group
COPY --chown=bob one.txt /primary
COPY --chmod=700 sub /private
ADD --chown=bob:9 packed.tgz /unpacked
ADD packed.tgz one.txt /unpacked
ADD only.gz run.sh /kept/
ADD --chown=5:6 --chmod=0600 run.sh /added
"""


@pytest.mark.skipif(not harness.IS_ROOT, reason="files of an unprivileged user's store belong to that user")
def test_owners_modes_and_archives(data_dir, context, tmp_path):
    people = [images.folder("etc"), images.entry("etc/passwd", b"root:x:0:0::/:/bin/sh\nbob:x:501:502::/:/bin/sh\n"), images.entry("etc/group", b"crew:x:60:bob\n"),
              images.folder("home")]
    people[3][0].uid = 3
    (tmp_path / "r.tar").write_bytes(images.pack(people))
    assert harness.run_cli("image", "import", tmp_path / "r.tar", "people", "--data-dir", data_dir).returncode == 0
    (context / "packed.tgz").write_bytes(gzip.compress(images.pack(images.owned_entries())))
    (context / "sub" / "l").symlink_to("two.txt")
    (context / "only.gz").write_bytes(gzip.compress(b"not an archive"))
    (context / "Dockerfile").write_text(ATTRS)
    made = build(data_dir, context, name="owned")
    assert made.returncode == 0, made.stderr
    files = exported(data_dir, "owned", tmp_path)[1]
    owners = images.read_owners(tmp_path / "exported.tar")
    assert files["owned/deep/one.txt"] == ("file", 0o4750, b"one")
    assert owners["owned"] == owners["owned/deep"] == owners["owned/deep/one.txt"] == (501, 60)
    assert owners["numeric"] == owners["numeric/l"] == owners["numeric/two.txt"] == (1234, 1234) and files["numeric/l"] == ("link", "two.txt")
    assert owners["home/group"] == (0, 7) and owners["home"] == (3, 0) and owners["primary"] == (501, 502)
    assert files["private/two.txt"][1] == 0o700 and owners["private/two.txt"] == (0, 0)
    assert files["unpacked/d/file"] == files["unpacked/d/hard"] == ("file", 0o2755, b"text") and files["unpacked/d/link"] == ("link", "file")
    assert files["unpacked/unlisted/x.log"] == ("file", 0o600, b"x") and owners["unpacked/unlisted"] == (0, 0)
    assert owners["unpacked/d"] == owners["unpacked/d/file"] == owners["unpacked/d/link"] == (77, 88)  # the second ADD has no --chown
    assert files["unpacked/one.txt"][2] == b"one" and gzip.decompress(files["kept/only.gz"][2]) == b"not an archive"
    assert files["kept/run.sh"][1] == 0o750 and files["added"][1] == 0o600 and owners["added"] == (5, 6)
    assert build(data_dir, context, name="owned").stderr.count("from the cache") == 9
    (context / "Dockerfile").write_text(ATTRS.replace("bob:9", "bob:8"))
    assert build(data_dir, context, name="owned").stderr.count("from the cache") == 5
    assert_nothing_left(data_dir)


@pytest.fixture
def web():
    with images.web(b"content") as made:
        yield made


FETCHING = {"III_PULL": "missing", **registries.LISTED}


def test_addresses(data_dir, context, tmp_path, web):
    web.content = gzip.compress(images.pack(images.owned_entries()))  # what is downloaded is not unpacked
    text = f"FROM scratch\nADD {web.url}/a/file.bin?x=/y one.txt /got/\nADD --chmod=444 {web.url}/moved /moved\n"
    (context / "Dockerfile").write_text(text)
    made = build(data_dir, context, name="fetched", env=FETCHING)
    assert made.returncode == 0, made.stderr
    files = exported(data_dir, "fetched", tmp_path)[1]
    assert files["got/file.bin"] == ("file", 0o600, web.content) and files["got/one.txt"][2] == b"one"
    assert files["moved"] == ("file", 0o444, web.content)
    again = build(data_dir, context, name="fetched", env=FETCHING)
    assert again.stderr.count("from the cache") == 2
    web.content = b"other"
    assert "from the cache" not in build(data_dir, context, name="fetched", env=FETCHING).stderr
    assert_nothing_left(data_dir)


@pytest.mark.parametrize("source, says, env", [
    ("{url}/none", "/none: the server answered with status 404", {}),
    ("{url}/a/file.bin", "has over 1000000 bytes (III_IMAGE_MAX_BYTES)", {"III_IMAGE_MAX_BYTES": "1000000"}),
    ("{url}/a/file.bin", "nothing is downloaded with III_PULL=never", {"III_PULL": "never"}),
    ("{url}/a/", "/a/ names no file", {}),
    ("http://example.invalid/x", "http://example.invalid/x: plain HTTP is for loopback and the hosts in III_PLAIN_REGISTRIES", {}),
    ("http://127.0.0.1.example.invalid/x", "plain HTTP is for loopback", {}),
    ("https://me:secret@127.0.0.1:1/x", "an address with a password", {}),
    ("https://127.0.0.1:1/x", "https://127.0.0.1:1: ", {}),
    ("ftp://127.0.0.1/x", "only http and https addresses", {}),
])
def test_addresses_that_are_refused(data_dir, context, web, source, says, env):
    web.content = bytes(2_000_000)
    (context / "Dockerfile").write_text(f"FROM scratch\nADD {source.format(url=web.url)} /x/\n")
    failed = build(data_dir, context, name="refused", env={**FETCHING, **env})
    assert failed.returncode != 0 and "Dockerfile line 2: ADD: " in failed.stderr and says in failed.stderr, failed.stderr
    assert "secret" not in failed.stderr.splitlines()[-1]
    assert_nothing_left(data_dir)


def test_steps_have_no_network_unless_asked(data_dir, context):
    (context / "Dockerfile").write_text("FROM shell\nRUN test \"$(grep -c : /proc/net/dev)\" = 1\n")
    assert build(data_dir, context, name="net").returncode == 0


def test_a_build_that_is_stopped_leaves_nothing(data_dir, context):
    (context / "Dockerfile").write_text("FROM shell\nRUN echo begun; sleep 60\n")
    argv = [str(harness.BINARY), "image", "build", "--data-dir", str(data_dir), "-t", "stopped", str(context)]
    proc = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=harness.clean_env({"HOME": data_dir}))
    for line in proc.stderr:
        if line == "begun\n":
            break
    proc.send_signal(signal.SIGINT)
    said = proc.communicate(timeout=harness.DEADLINE_S)[1]
    assert proc.returncode == 1 and "the build was stopped" in said
    assert_nothing_left(data_dir)


def test_sandboxes_that_a_stopped_server_kept_stay(context):
    home = tempfile.mkdtemp(prefix="iii-t-")
    data_dir = pathlib.Path(home) / "data"
    try:
        with harness.Server(data_dir=data_dir, flags=["--on-shutdown=keep"]) as server, server.client() as client:
            sid = client.create(image="shell")["id"]
            client.exec(sid, "echo kept >note")
        (context / "Dockerfile").write_text("FROM shell\nRUN true\n")
        made = build(data_dir, context)
        assert made.returncode == 0, made.stderr
        with harness.Server(data_dir=data_dir) as server, server.client() as client:
            assert client.exec(sid, "cat note")["stdout"] == "kept\n"
            client.delete(f"/sandboxes/{sid}")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def test_prune_forgets_the_cache(data_dir, context):
    assert build(data_dir, context, name="kept").returncode == 0
    assert harness.run_cli("image", "prune", "--data-dir", data_dir).returncode == 0
    made = build(data_dir, context, name="kept")
    assert made.returncode == 0 and "from the cache" not in made.stderr


def test_usage(data_dir, context):
    for flags in (["build", context], ["build", "-t", "x"], ["build", "-t", "x", "--build-arg", "A", context]):
        assert harness.run_cli("image", *flags, "--data-dir", data_dir).returncode == 2
    assert build(data_dir, context, name="build-cache/x").returncode == 1
    assert build(data_dir, context / "none").returncode == 3


@pytest.mark.parametrize("text", [
    "FROM shell\nCOPY <<../../../escaped /\nx\n../../../escaped\n",
    "FROM shell\nARG X=../../../escaped\nCOPY <<$X /\nx\n$X\n",
    "FROM shell\nCOPY <<.. <<a /folder/\nx\n..\ny\na\n",
])
def test_the_name_of_a_text_cannot_lead_out_of_its_layer(data_dir, context, text):
    (context / "Dockerfile").write_text(text)
    failed = build(data_dir, context, name="refused")
    assert failed.returncode == 1 and "COPY: \"/" in failed.stderr and "is not a path in the image" in failed.stderr, failed.stderr
    assert not list(data_dir.rglob("escaped"))


def test_a_record_that_could_not_be_read_again_is_not_written(data_dir, context):
    long = "".join(f"ENV V{i}=$V\n" for i in range(80))
    (context / "Dockerfile").write_text(f"FROM scratch\nENV V={'x' * 60000}\n{long}COPY one.txt /\n")
    failed = build(data_dir, context, name="refused")
    assert failed.returncode == 1 and "at most 4194304 are stored" in failed.stderr, failed.stderr
    pruned = harness.run_cli("image", "prune", "--data-dir", data_dir)
    assert pruned.returncode == 0, pruned.stderr


def test_a_copy_keeps_the_names_of_one_file_together(data_dir, context, tmp_path):
    links = context / "links"
    links.mkdir()
    (links / "0").write_bytes(os.urandom(1 << 20))
    for i in range(1, 20):
        os.link(links / "0", links / str(i))
    (context / "Dockerfile").write_text("FROM scratch\nCOPY links one.txt /l/\n")
    made = build(data_dir, context, name="linked", env={"III_IMAGE_MAX_BYTES": str(4 << 20)})
    assert made.returncode == 0, made.stderr
    files = exported(data_dir, "linked", tmp_path)[1]
    assert set(files) == {"l", "l/one.txt", *(f"l/{i}" for i in range(20))} and files["l/19"][2] == (links / "0").read_bytes()
    copied = [path for path in (data_dir / "images" / "layers").glob("*/l/0") if path.stat().st_size == 1 << 20]
    assert [path.stat().st_nlink for path in copied] == [20]
    (context / "more").write_bytes(bytes(5 << 20))
    (context / "Dockerfile").write_text("FROM scratch\nCOPY more /\n")
    failed = build(data_dir, context, name="linked", env={"III_IMAGE_MAX_BYTES": str(4 << 20)})
    assert failed.returncode == 1 and "more than 4194304 bytes at once (III_IMAGE_MAX_BYTES" in failed.stderr, failed.stderr
    assert_nothing_left(data_dir)


def test_links_of_a_destination_are_followed_inside_the_image(data_dir, context, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (context / "links").mkdir()
    (context / "links" / "out").symlink_to("../" * 40 + str(outside).lstrip("/"))
    (context / "links" / "straight").symlink_to(outside)
    (context / "Dockerfile").write_text("FROM scratch\nCOPY links /links\nCOPY one.txt /links/out/\nWORKDIR /links/straight/made\nCOPY one.txt .\n")
    made = build(data_dir, context, name="inside")
    assert made.returncode == 0, made.stderr
    assert list(outside.iterdir()) == []
    files = exported(data_dir, "inside", tmp_path)[1]
    at = str(outside).lstrip("/")
    assert files[f"{at}/one.txt"][2] == b"one" and files[f"{at}/made/one.txt"][2] == b"one", sorted(files)


def test_a_copy_ends_with_its_build(data_dir, context):
    with open(context / "endless", "wb") as made:
        made.truncate(1 << 42)  # holes: reading it takes hours
    (context / "Dockerfile").write_text("FROM shell\nRUN echo a server has begun\nCOPY endless /\n")
    argv = [str(harness.BINARY), "image", "build", "--data-dir", str(data_dir), "-t", "stopped", str(context)]
    proc = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=harness.clean_env({"HOME": data_dir}))
    for line in proc.stderr:
        if line.startswith("step 3/3"):
            break
    proc.send_signal(signal.SIGINT)
    try:
        said = proc.communicate(timeout=harness.DEADLINE_S)[1]
    finally:
        proc.kill()
    assert proc.returncode == 1 and "the build was stopped" in said
    assert_nothing_left(data_dir)
