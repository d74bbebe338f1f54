// A sandbox from its beginning to its end: a command, a file, code whose variables stay.
import { Sandbox } from "@iii-sandbox/sdk";

await using box = await Sandbox.create("python", { memory: 256 }); // III_SANDBOX_URL and III_SANDBOX_TOKEN say where

const { stdout, exitCode } = await box.exec("echo hello; exit 3");
console.log(JSON.stringify(stdout), exitCode);

await box.files.write("notes.txt", "kept");
console.log(await box.files.read("notes.txt"));

await box.runCode("total = sum(range(101))");
console.log((await box.runCode("total")).text);
// The sandbox is killed here.
