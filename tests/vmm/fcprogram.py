"""The checker as a program that a server can be told is firecracker: one file, since it runs where there is nothing but
/usr and the machine's own files, with the agent in it that its "guest" has."""

import base64
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

MAIN = """#!/usr/bin/python3
import base64, os, sys, types
SOURCES, AGENT, SETTINGS = {sources!r}, {agent!r}, {settings!r}
os.environ.update(SETTINGS)
sys.dont_write_bytecode = True
if not os.path.exists("/dev/null"):  # its guest would have one; behind the jailer the folder is the monitor's own
    open("/dev/null", "w").close()
if AGENT:
    agent = os.memfd_create("agent")
    os.write(agent, base64.b85decode(AGENT))
    if os.fork() == 0:
        os.closerange(3, agent)
        os.execve(agent, ["iii-guest", "--listen-unix", SETTINGS["FCCHECKER_AGENT"]], {{"PATH": "/usr/bin"}})
    os.close(agent)
for name, text in SOURCES.items():
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = __file__
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["{where}"].{entry}()
"""


def build(path, agent, entry="main", where="fcchecker", **settings):
    """settings: FCCHECKER_... as the checker knows them. agent: what its guest has; None: it boots one with its own (where="fcqemu")."""
    settings = {"FCCHECKER_AGENT": "/box/agent.sock", "FCCHECKER_HELLO": "1", "FCCHECKER_NICS": "1", **settings}
    sources = {name: (HERE / f"{name}.py").read_text() for name in ("fcrules", "fcguest", "fcwarden", "fcchecker", "fcvsock", "fcqemu")}
    text = MAIN.format(sources=sources, agent=agent and base64.b85encode(pathlib.Path(agent).read_bytes()).decode(),
                       settings=settings, entry=entry, where=where)
    path.write_text(text)
    path.chmod(0o755)
    return path
