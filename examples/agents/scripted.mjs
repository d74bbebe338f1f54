// A model that follows a script, in the place of a paid one: it calls three tools one after the other, and answers with what the last one gave.
import { MockLanguageModelV3 } from "ai/test";

export const TASK = "Put 10, 20 and 12 into numbers.txt, count the lines, and add the numbers up.";
const STEPS = [
  ["write_file", { path: "numbers.txt", content: "10\n20\n12\n" }],
  ["run_command", { command: "wc -l < numbers.txt" }],
  ["run_code", { code: "sum(int(line) for line in open('numbers.txt'))" }],
];

export function scripted() {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const outputs = prompt.filter((message) => message.role === "tool").flatMap((message) => message.content.map((part) => part.output.value));
      const step = STEPS[outputs.length];
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      const content = step
        ? { type: "tool-call", toolCallId: `call-${outputs.length}`, toolName: step[0], input: JSON.stringify(step[1]) }
        : { type: "text", text: `${outputs[1].trim()} lines, and their sum is ${outputs[2].trim()}` };
      return { content: [content], finishReason: { unified: step ? "tool-calls" : "stop" }, usage, warnings: [] };
    },
  });
}
