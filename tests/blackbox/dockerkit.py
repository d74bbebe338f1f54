"""A Docker engine of the tests' own, with an image made of this machine's programs: private folders, ended by its pid."""
import contextlib
import functools
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import http.client
import socket

DEADLINE_S = 60
IMAGE = "python"
NAMES = ("shell", "python:3.12-slim", "host")
PYTHON_LIBRARY = pathlib.Path(os.__file__).parent
PYTHON_PACKAGES, INSTALLERS = pathlib.Path("/usr/lib/python3/dist-packages"), ("pip", "setuptools", "wheel", "pkg_resources", "_distutils", "distutils")
PACKAGES = ("coreutils", "dash", "bash", "sed", "grep", "findutils", "diffutils", "procps", "hostname", "mawk", "tar", "gzip")
PROGRAMS = ("/usr/bin/python3", "/usr/bin/pip", "/usr/bin/git", "/usr/lib/git-core/git-http-backend", "/usr/lib/git-core/git-remote-http")
GIT_LEFT_OUT = 1 << 20  # bytes: those of git's helpers that are larger are not needed here
PYTHON_LEFT_OUT = ("test", "idlelib", "lib2to3", "tkinter", "ensurepip", "__pycache__", "turtledemo", "pydoc_data")


def is_there():
    return shutil.which("dockerd") is not None and os.geteuid() == 0


def _libraries(path):
    out = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return re.findall(r"(/\S+\.so\S*)", out)


def _package_files(name):
    out = subprocess.run(["dpkg", "-L", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [line for line in out.splitlines() if re.match(r"(/usr)?/s?bin/", line)]


def _git_helpers():
    return {str(path) for path in pathlib.Path("/usr/lib/git-core").glob("*") if path.is_symlink() or path.lstat().st_size < GIT_LEFT_OUT}


def _tls_libraries():
    """What Python's ssl loads: it is the only part of the standard library that tests use and that brings its own."""
    return {path for module in PYTHON_LIBRARY.glob("lib-dynload/_ssl*.so") for path in _libraries(module)}


def _closed(wanted):
    """These paths and what they load, each with its real file."""
    wanted, closed = set(wanted), set()
    while wanted:
        path = wanted.pop()
        if path in closed or not os.path.exists(path) or os.path.isdir(path):
            continue
        closed.add(path)
        if os.path.islink(path):
            wanted.add(os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path))))
        else:
            wanted.update(_libraries(path))
    return closed


def _place(path):
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)


def _no_tests(info):
    parts = info.name.split("/")
    return None if any(part in PYTHON_LEFT_OUT or part.startswith("config-3") for part in parts) else info


@functools.lru_cache(maxsize=1)
def rootfs():
    """A tar of a small root: shell tools, Python and git of this machine."""
    programs = {path for package in PACKAGES for path in _package_files(package)} | set(PROGRAMS) | _git_helpers() | _tls_libraries()
    installers = [path for name in INSTALLERS for path in PYTHON_PACKAGES.glob(name + "*")]
    return _root_of(programs, [(PYTHON_LIBRARY, _no_tests), ("/lib/terminfo", None), ("/usr/share/git-core/templates", None),
                               *((path, _no_tests) for path in installers)])


@functools.lru_cache(maxsize=1)
def node_rootfs():
    """The same with node and npm instead: node is twice as large as all the rest."""
    programs = {path for name in ("coreutils", "dash", "bash", "sed") for path in _package_files(name)} | {shutil.which("node")}
    npm = shutil.which("npm")
    if not npm:
        return _root_of(programs, [])
    modules = pathlib.Path(npm).resolve().parents[2]  # Debian's npm needs what lies beside it as well
    return _root_of(programs | {npm}, [(modules if modules.name == "nodejs" else modules / "npm", None)])


def _root_of(programs, folders):
    """Everything under the merged /usr."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(folder)
            link.type, link.linkname = tarfile.SYMTYPE, "usr/" + folder
            tar.addfile(link)
        for folder, mode in (("tmp", 0o1777), ("root", 0o700), ("etc", 0o755), ("var", 0o755), ("home", 0o755), ("usr/lib64", 0o755),
                             ("workspace", 0o777)):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        for path, keep in folders:
            if os.path.exists(path):
                tar.add(path, _place(str(path)).lstrip("/"), filter=keep)
        there = set(tar.getnames())
        places = {_place(path).lstrip("/"): path for path in _closed(programs | {"/bin/sh"})}
        for place, path in sorted(places.items()):
            if place not in there:  # an engine refuses a tar that names a file twice
                tar.add(path, place, recursive=False)
        for text, name in ((b"root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/sh\n", "etc/passwd"),
                           (b"root:x:0:\nnogroup:x:65534:\n", "etc/group")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return out.getvalue()


def _label(data_tag):
    return f"iii-sandbox-data={data_tag}" if data_tag else "iii-sandbox=true"


class _Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(str(self.path))


class Engine:
    """One dockerd. `host` is its DOCKER_HOST. It has a network namespace of its own, in which the host's firewall and another engine's rules
    count for nothing, unless a test needs an engine that sees the host's loopback. It has a /dev/null of its own, too: gVisor hands it to containers
    as their standard input, and what these chmod and chown there would be the host's. Without a default bridge, or with bridge="ADDRESS": then
    the bridge has this address, and the engine has a resolver on its loopback, as hosts have it."""

    server_env = {}  # what a server on it needs besides
    cannot = {}  # tests that ask more than this kind of engine does, with the reason

    def __init__(self, flags=(), bridge=None, is_in_host_network=False):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="iii-dkr-"))
        os.chmod(self.home, 0o755)  # the server is a user of its own, and in the socket's group
        self.socket = self.home / "docker.sock"
        self.host = f"unix://{self.socket}"
        resolver = 'echo nameserver 127.0.0.1 > "$0" && mount --bind "$0" "$(readlink -f /etc/resolv.conf)" && ' if bridge else ""
        null = 'mkdir -p "$0.dev" && mount -t tmpfs none "$0.dev" && mknod -m 666 "$0.dev/null" c 1 3 && mount --bind "$0.dev/null" /dev/null && '
        own = f'ip link set lo up && {null}{resolver}exec "$@"'
        self.wrap = [] if is_in_host_network else ["unshare", "--net", "--mount", "--propagation", "slave", "sh", "-c", own, str(self.home / "resolv.conf")]
        self.flags = [f"--bip={bridge}/24" if bridge else "--bridge=none", *flags]
        self.proc = None

    def argv(self):
        return [*self.wrap, "dockerd", "--data-root", self.home / "data", "--exec-root", self.home / "exec", "-p", self.home / "pid",
                "-H", self.host, "--iptables=false", *self.flags]

    def env(self):
        return os.environ

    def start(self):
        with open(self.home / "log", "ab") as log:
            self.proc = subprocess.Popen(self.argv(), env=self.env(), stdout=log, stderr=log, cwd=self.home)  # podman leaves a file "oom" where it runs
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                if self.call("GET", "/_ping")[0] == 200:
                    return self
            except OSError:
                pass
            log = (self.home / "log").read_text(errors="replace")[-2000:]
            assert self.proc.poll() is None and time.monotonic() < end, f"the engine does not start:\n{log}"
            time.sleep(0.1)

    def call(self, method, path, body=None, headers=None):
        conn = _Unix(self.socket)
        try:
            if isinstance(body, dict):
                body, headers = json.dumps(body), {"Content-Type": "application/json"}
            with contextlib.suppress(BrokenPipeError):  # an engine that refuses a body says why before it closes
                conn.request(method, "/v1.41" + path, body=body, headers=headers or {})
            answer = conn.getresponse()
            return answer.status, answer.read()
        finally:
            conn.close()

    def json(self, method, path, body=None):
        status, text = self.call(method, path, body)
        assert status < 300, f"{method} {path}: {status} {text!r}"
        return json.loads(text) if text else None

    def add_image(self, name=IMAGE, tar=None, changes=()):
        query = "".join("&changes=" + change.replace(" ", "%20").replace('"', "%22") for change in changes)
        status, text = self.call("POST", f"/images/create?fromSrc=-&repo={name}{query}", tar or rootfs(),
                                 {"Content-Type": "application/x-tar"})
        assert status == 200 and b"error" not in text, text

    def tag(self, name, other):
        repo, _, tag = other.partition(":")
        status, text = self.call("POST", f"/images/{name}/tag?repo={repo}&tag={tag or 'latest'}")
        assert status == 201, text

    def containers(self, data_tag=None):
        return self.json("GET", f'/containers/json?all=1&filters={{"label":["{_label(data_tag)}"]}}')

    def networks(self, data_tag=None):
        return self.json("GET", f'/networks?filters={{"label":["{_label(data_tag)}"]}}')

    def stop(self, sig=signal.SIGTERM):
        if self.proc and self.proc.poll() is None:
            self.proc.send_signal(sig)
            self.proc.wait(DEADLINE_S)
        if sig == signal.SIGKILL:  # its containerd dies along, but may stay a zombie of init's for a while: to the next engine that is one that lives
            (self.home / "exec" / "containerd" / "containerd.pid").unlink(missing_ok=True)

    def end_helpers(self):
        """What an engine leaves behind when a runtime fails: shims, sandboxes, monitors. They name the engine's folder, which is nobody else's."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"{self.home}/".encode() in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:  # it has ended meanwhile
                pass

    def clear(self):
        if self.proc and self.proc.poll() is None:
            for one in self.json("GET", "/containers/json?all=1"):
                self.call("DELETE", f"/containers/{one['Id']}?force=1")
            for one in self.networks():
                self.call("DELETE", f"/networks/{one['Id']}")

    def __enter__(self):
        """With the image that tests run."""
        try:
            self.start()
            self.add_image()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        """Also after a test that failed half-way: its containers and their mounts go, too."""
        try:
            self.clear()
        finally:  # an engine that does not answer any more ends, too
            self.stop()
        self.end_helpers()
        places = [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
        for place in reversed([p for p in places if p.startswith(f"{self.home}/")]):
            subprocess.run(["umount", "-l", place], check=False)
        shutil.rmtree(self.home, ignore_errors=True)
