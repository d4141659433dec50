// An agent without MCP: the devices' tools as functions of an LLM API.
//
//   TENDON_TOKEN=… node examples/function-calling.mjs "Set the volume to 30" [http://127.0.0.1:8000]
//
// With OPENAI_BASE_URL (and OPENAI_API_KEY, OPENAI_MODEL) it uses a real model, otherwise a scripted one.
import { startScriptedLlm } from "./scripted-llm.mjs";

const [question, gateway = "http://127.0.0.1:8000"] = process.argv.slice(2);
const { TENDON_TOKEN: token, OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL = "gpt-5-mini" } = process.env;
if (question === undefined || token === undefined) {
  console.error('usage: TENDON_TOKEN=… node examples/function-calling.mjs "QUESTION" [http://host:port]');
  process.exit(2);
}

const mostRounds = 8;
const scripted = OPENAI_BASE_URL === undefined ? await startScriptedLlm() : undefined;
const model = scripted?.url ?? OPENAI_BASE_URL;

async function post(url, key, body) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  return { ok: response.ok, body: await response.json() };
}

/** Calls one function. The model also gets errors, with the gateway's text. */
async function run({ name, arguments: text }) {
  const { ok, body } = await post(`${gateway}/api/v1/function-call`, token, {
    name,
    arguments: JSON.parse(text),
  });
  console.error(`${name} ${text} -> ${ok ? "ok" : body.code}`);
  if (!ok) return `${body.code}: ${body.detail}`;
  return body.result.content.map((part) => (part.type === "text" ? part.text : `(${part.type})`)).join("\n");
}

const listed = await fetch(`${gateway}/api/v1/tools.openai.json`, {
  headers: { authorization: `Bearer ${token}` },
});
if (!listed.ok) {
  console.error(`the gateway answers ${listed.status}`);
  process.exit(1);
}
const { tools } = await listed.json();
const messages = [{ role: "user", content: question }];
let said;
for (let round = 0; said === undefined && round < mostRounds; round += 1) {
  const { ok, body } = await post(`${model}/chat/completions`, OPENAI_API_KEY ?? "none", {
    model: OPENAI_MODEL,
    messages,
    tools,
  });
  if (!ok) {
    console.error(`the model refuses: ${body.error?.message}`);
    process.exit(1);
  }
  const { message } = body.choices[0];
  messages.push(message);
  for (const { id, function: call } of message.tool_calls ?? []) {
    messages.push({ role: "tool", tool_call_id: id, content: await run(call) });
  }
  if (message.tool_calls === undefined) said = message.content;
}
scripted?.stop();
console.log(said ?? "The model did not come to an end.");
process.exitCode = said === undefined ? 1 : 0;
