// A substitute for a model: a real HTTP server that implements OpenAI's chat completions with a small script. It
// calls the function whose name shares most words with the question, and repeats its answer.
//
//   node examples/scripted-llm.mjs [port]        then OPENAI_BASE_URL=http://127.0.0.1:PORT/v1
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

/** The decision of a model, from the conversation and the offered functions. */
function decide({ messages, tools }) {
  const last = messages.at(-1);
  if (last.role === "tool") return { role: "assistant", content: `Done: ${last.content}` };
  const words = last.content.toLowerCase().match(/[a-z]+/g) ?? [];
  const fitting = tools
    .map(({ function: { name, parameters } }) => ({
      name,
      parameters,
      score: words.filter((word) => name.split(/[_-]+/).includes(word)).length,
    }))
    .sort((a, b) => b.score - a.score)[0];
  if (fitting === undefined || fitting.score === 0) {
    return { role: "assistant", content: "I have no function for that." };
  }
  const number = Number(/\d+/.exec(last.content)?.[0]);
  const args = Object.entries(fitting.parameters.properties)
    .filter(([, { type }]) => type === "integer" && !Number.isNaN(number))
    .map(([name]) => [name, number]);
  const call = { name: fitting.name, arguments: JSON.stringify(Object.fromEntries(args)) };
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ id: `call_${messages.length}`, type: "function", function: call }],
  };
}

/** As strict as real APIs: one invalid function rejects the whole request. */
function complaint({ tools = [] }) {
  const bad = tools.find(
    ({ type, function: { name, parameters } }) =>
      type !== "function" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name) || parameters?.type !== "object",
  );
  return bad === undefined ? undefined : `Invalid function: ${JSON.stringify(bad)}`;
}

async function answerTo(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
    return [404, { error: { message: "Not found" } }];
  }
  const body = JSON.parse(Buffer.concat(chunks).toString());
  const message = complaint(body);
  if (message !== undefined) return [400, { error: { message } }];
  return [200, { choices: [{ index: 0, message: decide(body) }] }];
}

export async function startScriptedLlm(port = 0) {
  const server = createServer((request, response) => {
    void answerTo(request)
      .catch((error) => [400, { error: { message: String(error) } }])
      .then(([status, body]) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      );
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log((await startScriptedLlm(Number(process.argv[2] ?? 0))).url);
}
