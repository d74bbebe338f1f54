// A shell on a pseudo terminal, with live input and output.
import { Sandbox } from "@iii-sandbox/sdk";

await using box = await Sandbox.create();
await using terminal = await box.terminal.open({ cols: 100, rows: 30, shell: "/bin/sh" });

terminal.write("stty size\n");
console.log((await terminal.readUntil("30 100")) !== undefined);
terminal.write("exit 5\n");
console.log((await terminal.ended).exitCode);
