"""The same without asyncio."""
from iii_sandbox.sync import Sandbox

with Sandbox.create() as box:
    for chunk in box.exec_stream("for i in 1 2 3; do echo step $i; sleep 0.1; done"):
        if chunk.type == "stdout":
            print(chunk.data, end="")
    print(box.exec("echo hello, $NAME", env={"NAME": "sandbox"}).stdout, end="")
    with box.terminal.open(cols=100, rows=30, shell="/bin/sh") as terminal:
        terminal.write("stty size; exit 5\n")
        print(terminal.read_until("30 100") is not None)
        for _ in terminal:
            pass
        print(terminal.exit_code)
