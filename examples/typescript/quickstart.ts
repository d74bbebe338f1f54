// A sandbox from its beginning to its end: a command, a file, a snippet of code.
import { createSandbox } from "@iii-sandbox/sdk";

const server = { baseUrl: process.env.III_SANDBOX_URL, token: process.env.III_SANDBOX_TOKEN };

await using box = await createSandbox({ ...server, image: "python", memory: 256 });

const { stdout, exitCode } = await box.exec("echo hello; exit 3");
console.log(JSON.stringify(stdout), exitCode);

await box.filesystem.write("/workspace/notes.txt", "kept");
console.log(await box.filesystem.read("/workspace/notes.txt"));

const { output } = await box.interpreter.run("print(sum(range(101)))");
console.log(output.trim());
// The sandbox is killed here.
