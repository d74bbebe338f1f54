// Vercel AI SDK: an agent with the tools of a sandbox.
import { Sandbox, aiTools } from "@iii-sandbox/sdk";
import { generateText, jsonSchema, stepCountIs } from "ai";
import { TASK, scripted } from "./scripted.mjs";

const model = scripted(); // or a model of yours: anthropic("claude-…"), openai("gpt-…")
const box = await Sandbox.create();
try {
  const { text, steps } = await generateText({ model, prompt: TASK, tools: aiTools(box, jsonSchema), stopWhen: stepCountIs(8) });
  for (const { toolName, output } of steps.flatMap((step) => step.toolResults)) console.log(`${toolName}: ${output}`);
  console.log(text);
} finally {
  await box.kill();
}
