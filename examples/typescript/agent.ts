// What an agent needs: variables that live between calls, streamed output, tries that leave nothing, errors to decide by.
import { Client, NotFoundError } from "@iii-sandbox/sdk";

const client = new Client({ baseUrl: process.env.III_SANDBOX_URL, token: process.env.III_SANDBOX_TOKEN });
await using box = await client.createSandbox({ image: "python" });

const context = await box.interpreter.contexts.create({ language: "python" });
await box.interpreter.contexts.run(context.id, "x = 20");
const { results } = await box.interpreter.contexts.run(context.id, "x * 2 + 2");
console.log("context:", results[0]?.data);

for await (const chunk of box.execStream("for i in 1 2 3; do echo step $i; sleep 0.1; done")) {
  if (chunk.type === "stdout") process.stdout.write(chunk.data ?? "");
  if (chunk.type === "exit") console.log("exit code", chunk.data);
}

await box.filesystem.write("/workspace/state", "original");
const [copy] = (await box.fork({ count: 1 })).sandboxes;
if (copy) {
  await using attempt = client.sandbox(copy);
  await attempt.filesystem.write("/workspace/state", "a daring attempt");
}
console.log("after the fork:", await box.filesystem.read("/workspace/state"));

try {
  await box.filesystem.read("/workspace/none");
} catch (error) {
  if (!(error instanceof NotFoundError)) throw error;
  console.log("missing:", error.code);
}
