// A shell on a pseudo terminal, with live input and output.
import { createSandbox } from "@iii-sandbox/sdk";

const server = { baseUrl: process.env.III_SANDBOX_URL, token: process.env.III_SANDBOX_TOKEN };
await using box = await createSandbox({ ...server, image: "python" });
await using terminal = await box.terminal.open({ cols: 100, rows: 30, shell: "/bin/sh" });

terminal.write("stty size\n");
console.log((await terminal.readUntil("30 100")) !== undefined);
terminal.write("exit 5\n");
console.log((await terminal.ended).exitCode);
