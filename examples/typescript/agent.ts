// What an agent needs: variables that live between calls, streamed output, tries that leave nothing, errors to decide by.
import { NotFoundError, Sandbox } from "@iii-sandbox/sdk";

await using box = await Sandbox.create();

await box.runCode("x = 20");
console.log("context:", (await box.runCode("x * 2 + 2")).text);

const { exitCode } = await box.exec("for i in 1 2 3; do echo step $i; sleep 0.1; done", {
  onStdout: (text) => process.stdout.write(text),
});
console.log("exit code", exitCode);

await box.files.write("state", "original");
{
  await using attempt = await box.fork();
  await attempt.files.write("state", "a daring attempt");
}
console.log("after the fork:", await box.files.read("state"));

try {
  await box.files.read("none");
} catch (error) {
  if (!(error instanceof NotFoundError)) throw error;
  console.log("missing:", error.code);
}
