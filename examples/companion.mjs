// A companion app: lets its user run the user-only tools of a device, and decide what agents ask for.
//
//   TENDON_TOKEN=… node examples/companion.mjs                          lists the user-only tools
//   TENDON_TOKEN=… node examples/companion.mjs DEVICE TOOL [ARGUMENTS]  asks the user, then calls the tool
//   TENDON_TOKEN=… node examples/companion.mjs approvals                shows waiting requests and asks the user
//
// Options: --url http://127.0.0.1:8000, --mqtt mqtt://127.0.0.1:1883 (calls over MQTT), --save FILE (for a screenshot), --yes
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

const { TENDON_TOKEN: token } = process.env;
const {
  positionals: [first, tool, text = "{}"],
  values: { url: gateway, mqtt: broker, save, yes },
} = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string", default: "http://127.0.0.1:8000" },
    mqtt: { type: "string" },
    save: { type: "string" },
    yes: { type: "boolean", default: false },
  },
});
if (token === undefined || (first !== undefined && first !== "approvals" && tool === undefined)) {
  console.error("usage: TENDON_TOKEN=… node examples/companion.mjs [approvals | DEVICE TOOL [ARGUMENTS]]");
  process.exit(2);
}

const headers = { authorization: `Bearer ${token}` };
const terminal = createInterface({ input: process.stdin, output: process.stderr });
const answers = terminal[Symbol.asyncIterator]();

/** Asks the user. Every answer except `y` is a no, and so is the end of the input. */
async function confirmed(question) {
  if (yes) return true;
  process.stderr.write(`${question} [y/N] `);
  return (await answers.next()).value === "y";
}

/** A REST request. An error has the gateway's `code` and `detail`, and for example `approvalId`. */
async function rest(method, path, body) {
  const response = await fetch(`${gateway}/api/v1${path}`, {
    method,
    headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.detail), answer);
  return answer;
}

/** The same call over MQTT: one topic for the request, one for the reply. */
async function callOverMqtt(device, name, args) {
  const { default: mqtt } = await import("mqtt");
  const client = await mqtt.connectAsync(broker, { username: "companion", password: token });
  try {
    const topic = `tendon/devices/${device}/call`;
    const request_id = randomUUID();
    const replied = new Promise((resolve) => {
      client.on("message", (_topic, payload) => {
        const reply = JSON.parse(payload.toString());
        if (reply.request_id === request_id) resolve(reply);
      });
    });
    await client.subscribeAsync(`${topic}/reply`);
    await client.publishAsync(topic, JSON.stringify({ request_id, tool: name, arguments: args }));
    const { ok, result, error } = await replied;
    if (!ok) throw Object.assign(new Error(error.detail), error);
    return { result };
  } finally {
    await client.endAsync();
  }
}

async function call(device, name, args) {
  if (broker !== undefined) return await callOverMqtt(device.id, name, args);
  const path = `/devices/${device.id}/tools/${encodeURIComponent(name)}/call`;
  return await rest("POST", path, { arguments: args });
}

/** Reads the event stream from `since` on, until a person has decided this request. */
async function decision(approvalId, since) {
  const response = await fetch(`${gateway}/api/v1/events?type=approval.decided`, {
    headers: { ...headers, "last-event-id": since },
  });
  let buffer = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (buffer + chunk).split("\n\n");
    buffer = blocks.pop();
    for (const block of blocks) {
      const [, data] = /^data: (.*)$/m.exec(block) ?? [];
      const event = data === undefined ? undefined : JSON.parse(data);
      if (event?.data?.approvalId === approvalId) return;
    }
  }
}

/** Calls a tool. If a rule requires approval, waits for the decision and repeats the call. */
async function callWithApproval(device, name, args) {
  try {
    return await call(device, name, args);
  } catch (error) {
    if (error.code !== "approval_required" || error.approvalState !== "waiting") throw error;
    console.error(`waiting for approval ${error.approvalId}`);
    await decision(error.approvalId, error.since);
    return await call(device, name, args);
  }
}

function show({ content, isError }) {
  for (const part of content) {
    if (part.type === "text") console.log(part.text);
    else if (save === undefined) console.log(`(${part.mimeType}; --save FILE saves it)`);
    else {
      fs.writeFileSync(save, Buffer.from(part.data, "base64"));
      console.log(`${part.mimeType} saved to ${save}`);
    }
  }
  if (isError) process.exitCode = 1;
}

async function list() {
  const { devices } = await rest("GET", "/devices");
  for (const { id, alias, online } of devices) {
    const { tools } = await rest("GET", `/devices/${id}/tools?user=true`);
    console.log(`${alias} (${online ? "online" : "offline"})`);
    for (const { name, audience, access } of tools)
      if (audience === "user" && access !== "denied")
        console.log(`  ${name}${access === "confirm" ? " (requires approval)" : ""}`);
  }
}

async function decide() {
  const { approvals } = await rest("GET", "/approvals?state=waiting");
  for (const { id, principal, tool: name, device, arguments: args } of approvals) {
    const question = `${principal} wants ${name} ${JSON.stringify(args)} on ${device ?? "several devices"}. Approve?`;
    const action = (await confirmed(question)) ? "approve" : "deny";
    const { state } = await rest("POST", `/approvals/${id}/${action}`);
    console.log(`${state}: ${name} for ${principal}`);
  }
  if (approvals.length === 0) console.log("no pending approvals");
}

async function runTool() {
  const device = await rest("GET", `/devices/${encodeURIComponent(first)}`);
  if (await confirmed(`Run ${tool} on ${device.alias}?`))
    show((await callWithApproval(device, tool, JSON.parse(text))).result);
  else console.log("nothing was done");
}

try {
  if (first === undefined) await list();
  else if (first === "approvals") await decide();
  else await runTool();
} catch (error) {
  console.error(`${error.code ?? "failed"}: ${error.message}`);
  process.exitCode = 1;
}
terminal.close();
