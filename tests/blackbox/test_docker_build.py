"""The same Dockerfiles by `docker build` and by `iii image build`: the same files and the same configuration; and docker load of our exports."""
import gzip
import os
import shutil
import subprocess

import pytest

import dockerkit
import harness
import images
import registries

pytestmark = pytest.mark.skipif(not dockerkit.is_there() or not shutil.which("docker"), reason="needs docker, dockerd and root")

STATED = ("Env", "Entrypoint", "Cmd", "User", "WorkingDir", "Labels", "ExposedPorts", "Volumes", "StopSignal", "Healthcheck", "Shell")
OF_A_MACHINE = {"etc/hostname", "etc/hosts", "etc/resolv.conf", "etc/mtab"}

CONFIG = """\
ARG BASE=nothing
ARG TAG=latest
FROM $BASE:$TAG AS base
ARG TAG
ENV A="b c" D=$TAG E=e\\ f
ENV OLD the old form
LABEL org.example.a="b c" org.example.b=2
VOLUME /data /more
VOLUME ["/with space"]
EXPOSE 80 53/udp 8000-8002
HEALTHCHECK --interval=1m30s --timeout=500ms --start-period=2s --retries=4 CMD test -f /x || exit 1
STOPSIGNAL SIGQUIT
CMD echo in a shell
ENTRYPOINT ["printf", "%s"]
USER nobody
WORKDIR /work
WORKDIR deeper/..
FROM base
LABEL org.example.b=3
EXPOSE 80/tcp 81
MAINTAINER Ada <ada@example.com>
SHELL ["/bin/bash", "-ec"]
CMD echo $A
RUN [[ $BASH_VERSION ]] && echo "$A|$D|$E|$OLD" >/tmp/said
"""

FILES = """\
FROM company/base AS made
WORKDIR /made
RUN mkdir -p sub/deep && echo one >sub/one && echo two >sub/deep/two && ln -s one sub/link && chmod 4750 sub/one && rm -r /home
RUN ln -s made/sub /shortcut && touch /etc/made && echo x >>/etc/hosts
FROM company/base AS second
COPY --from=made /made/sub /all
COPY --from=0 /shortcut/one /etc/passwd /picked/
COPY --from=made /made/su*/o* /single
COPY --from=company/other /only /from-an-image
FROM second
COPY . /context
COPY a.txt b.txt /flat/
COPY a.txt /bin/tool
COPY a.txt /root
COPY with?space sub/*.txt ./spaced/
COPY ["with space", "/listed"]
ADD sub/../sub /added
WORKDIR /context
COPY a.txt renamed
COPY sub sub2
RUN rm a.txt && mkdir sub/new && chmod 700 sub
"""


ADDED = """\
FROM company/base
COPY --chown=nobody:root a.txt /owned/deep/a.txt
COPY --chown=1234 sub /numeric
COPY --chown=nobody:nogroup l*nk /linked/
COPY link sub /linked/
COPY link /linked-as
COPY --chown=12:34 sub /etc/sub
ADD packed.tar /unpacked
ADD packed.tgz a.txt /unpacked/again/
ADD only.gz /kept/
ADD --chown=5:6 a.txt /added
ADD --chown=7:8 {url}/a/file.bin?x=/y a.txt /fetched/
ADD {url}/moved /fetched-as
"""


@pytest.fixture(scope="module")
def engine():
    with dockerkit.Engine(is_in_host_network=True) as made:
        made.tag(dockerkit.IMAGE, "company/base:latest")
        made.add_image("company/other", images.pack([images.entry("only", b"only here", mode=0o640)]))
        yield made


@pytest.fixture(scope="module")
def docker(engine):
    def run(*args, **options):
        done = subprocess.run(["docker", "-H", engine.host, *args], capture_output=True, text=True, check=False, env={**os.environ, "DOCKER_BUILDKIT": "0"},
                              **options)
        assert done.returncode == 0, done.stderr
        return done
    return run


@pytest.fixture(scope="module")
def store(docker, tmp_path_factory):
    """store(*args) runs `iii image …` on a store that has the engine's images."""
    home = tmp_path_factory.mktemp("store")

    def run(*args, pull="never"):
        done = harness.run_cli("image", *args, "--data-dir", home / "data", env={"III_PULL": pull, "HOME": home, **registries.LISTED})
        assert done.returncode == 0, done.stderr
        return done
    for name in ("company/base", "company/other"):
        docker("save", "-o", home / "saved.tar", name)
        run("import", home / "saved.tar", name)
    return run


@pytest.fixture
def context(tmp_path):
    made = tmp_path / "context"
    for path, text in {"a.txt": "a", "b.txt": "b", "with space": "s", "sub/c.txt": "c", "sub/deep/d.txt": "d", "sub/deep/e.log": "", "sub/keep.log": "k", "x.log": "",
                       "node_modules/m/n": "", "build/out": "", "build/keep/this": "t", ".hidden": "h", "run": "#!"}.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    (made / "run").chmod(0o750)
    (made / "link").symlink_to("a.txt")
    (made / "away").symlink_to("/etc/passwd")
    (made / ".dockerignore").write_text("# not these\n**/*.log\n!sub/keep.log\n  node_modules/  \nbuild\n!build/keep\nDockerfile\n")
    return made


def of_both(docker, store, context, tmp_path, text, *flags, pull="never"):
    """(config, files) by Docker, then by us."""
    (context / "Dockerfile").write_text(text)
    docker("build", "--network=none", "--no-cache", "-t", "made:theirs", *flags, context)
    docker("save", "-o", tmp_path / "theirs.tar", "made:theirs")
    store("build", "-t", "made:ours", *flags, context, pull=pull)
    store("export", "made:ours", tmp_path / "ours.tar")
    return [images.read_archive(tmp_path / name) for name in ("theirs.tar", "ours.tar")]


def test_the_same_configuration(docker, store, context, tmp_path):
    (theirs, files), (ours, our_files) = of_both(docker, store, context, tmp_path, CONFIG, "--build-arg", "BASE=company/base")
    assert {key: ours["config"].get(key) for key in STATED} == {key: theirs["config"].get(key) or None for key in STATED}
    assert ours["author"] == theirs["author"] and ours["created"]
    assert sum("empty_layer" not in entry for entry in ours["history"]) == len(ours["rootfs"]["diff_ids"])
    assert our_files["tmp/said"] == files["tmp/said"] and files["tmp/said"][2] == b"b c|latest|e f|the old form\n"


def test_the_same_files(docker, store, context, tmp_path):
    (_, theirs), (_, ours) = of_both(docker, store, context, tmp_path, FILES)
    differ = {path: (theirs.get(path), ours.get(path)) for path in {*theirs, *ours} - OF_A_MACHINE if theirs.get(path) != ours.get(path)}
    assert differ == {}
    assert {path for path in ours if path in OF_A_MACHINE} == {path for path in theirs if path in OF_A_MACHINE}


def test_the_same_owners_and_archives(docker, store, context, tmp_path):
    (context / "packed.tar").write_bytes(images.pack(images.owned_entries()))
    (context / "packed.tgz").write_bytes(gzip.compress(images.pack(images.owned_entries())))
    (context / "only.gz").write_bytes(gzip.compress(b"not an archive"))
    with images.web(gzip.compress(images.pack(images.owned_entries()))) as web:
        (_, theirs), (_, ours) = of_both(docker, store, context, tmp_path, ADDED.format(url=web.url), pull="missing")
    differ = {path: (theirs.get(path), ours.get(path)) for path in {*theirs, *ours} - OF_A_MACHINE if theirs.get(path) != ours.get(path)}
    assert differ == {}
    of_theirs, of_ours = (images.read_owners(tmp_path / name) for name in ("theirs.tar", "ours.tar"))
    new = [path for path in of_theirs if path.split("/")[0] in ("owned", "numeric", "linked", "unpacked", "kept", "added", "fetched", "fetched-as") or path.startswith("etc/sub")]
    assert len(new) > 15 and {path: of_ours.get(path) for path in new} == {path: of_theirs[path] for path in new}


def test_an_engine_loads_our_export(docker, store, engine, context, tmp_path):
    (context / "Dockerfile").write_text(CONFIG)
    store("build", "-t", "company/exported:1", "--build-arg", "BASE=company/base", context)
    store("export", "company/exported:1", tmp_path / "out.tar")
    docker("load", "-i", tmp_path / "out.tar")
    seen, config = engine.json("GET", "/images/company/exported:1/json"), images.read_archive(tmp_path / "out.tar")[0]
    assert {key: seen["Config"].get(key) for key in STATED} == {key: config["config"].get(key) for key in STATED}
    assert seen["Author"] == "Ada <ada@example.com>"
    said = docker("run", "--rm", "--network=none", "--entrypoint", "cat", "company/exported:1", "/tmp/said")
    assert said.stdout == "b c|latest|e f|the old form\n"
