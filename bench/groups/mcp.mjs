// Calls over MCP: to devices beside a bare server of the official SDK with one tool that answers itself, in both eras;
// to a program on its pipes, and to a server over HTTP, each beside a bare proxy of the SDK. Calls of voice servers over the
// MCP endpoint, beside /mcp.
import { fileURLToPath } from "node:url";
import { Fleet } from "../harness/fleet.mjs";
import { startGateway } from "../harness/gateway.mjs";
import { describeCalls, each, startLoad } from "../harness/load.mjs";
import { alternate, pause } from "../harness/rounds.mjs";
import { postRequest } from "../http-connection.mjs";
import { startServer } from "../process.mjs";

const bareServer = "bare SDK server with one tool";

const rows = [
  {
    name: "mcp-modern",
    title: "/mcp → WebSocket device, 2026-07-28, 64 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1 },
    baseline: bareServer,
  },
  {
    name: "mcp-legacy",
    title: "/mcp → WebSocket device, 2025-11-25, 64 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1 },
    baseline: bareServer,
  },
  {
    name: "mcp-program",
    title: "/mcp → MCP program over stdio, 64 in flight: calls",
    unit: "/s",
    better: "more",
    target: { ratioLeast: 1.3 },
    baseline: "the same program behind a bare SDK proxy",
  },
  {
    name: "mcp-http",
    title: "/mcp → MCP server over HTTP, 64 in flight: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1.3 },
    baseline: "the SDK's client of the same server, behind a bare SDK server",
  },
  {
    name: "mcp-endpoint",
    title: "MCP endpoint → WebSocket device, 64 voice servers: CPU a call",
    unit: "ms",
    clock: "cpu",
    better: "less",
    target: { ratioMost: 1 },
    baseline: "the same calls over /mcp, 2025-11-25",
  },
];

const scales = { full: { rounds: 5, seconds: 1.5 }, quick: { rounds: 3, seconds: 1 } };
const parallel = 64;
const modernVersion = "2026-07-28";
const legacyVersion = "2025-11-25";
const clientInfo = { name: "bench", version: "1.0.0" };
const accept = "application/json, text/event-stream";
const program = fileURLToPath(new URL("../servers/mcp-program.mjs", import.meta.url));
const programAlias = "program";
const programMs = 20_000;
const warmSeconds = 10;
const initializeBody = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: legacyVersion, capabilities: {}, clientInfo },
});

const meta = {
  "io.modelcontextprotocol/protocolVersion": modernVersion,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": clientInfo,
};

function callBody(name, more = {}) {
  const params = { name, arguments: { volume: 30 }, ...more };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
}

function tokenHeaders({ authorization }) {
  return { accept, ...(authorization === undefined ? {} : { authorization }) };
}

/** A session of the older protocol; returns the headers of its requests. */
export async function openSession(server, at) {
  const response = await fetch(`${server.url}${at}`, {
    method: "POST",
    headers: { ...tokenHeaders(server), "content-type": "application/json" },
    body: initializeBody,
  });
  await response.text();
  const session = response.headers.get("mcp-session-id");
  if (session === null) throw new Error(`initialize: status ${response.status}`);
  return { ...tokenHeaders(server), "mcp-session-id": session, "mcp-protocol-version": legacyVersion };
}

/** A request of the newer protocol, which needs no session. */
export function modernRequest(server, at, name, args) {
  const params = { name, arguments: args, _meta: meta };
  const headers = { ...tokenHeaders(server), "mcp-protocol-version": modernVersion };
  return postRequest(
    at,
    { ...headers, "mcp-method": "tools/call", "mcp-name": name },
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  );
}

/** One request for each of the callers, each with its own session in the older protocol. */
async function requestsOf(server, nameOf, era) {
  const port = Number(new URL(server.url).port);
  const requests = [];
  for (let index = 0; index < parallel; index += 1) {
    const name = nameOf(index);
    if (era === "modern") requests.push(modernRequest(server, "/mcp", name, { volume: 30 }));
    else requests.push(postRequest("/mcp", await openSession(server, "/mcp"), callBody(name)));
  }
  return { port, requests, expected: '"true"' };
}

async function run({ scale, wants, log, results }) {
  const load = await startLoad();
  const sizes = scales[scale];
  if (["mcp-modern", "mcp-legacy"].some(wants)) Object.assign(results, await toDevices(load, sizes, log));
  if (wants("mcp-program")) {
    log("an MCP program over stdio");
    Object.assign(results, await toProgram(load, sizes));
  }
  if (wants("mcp-http")) {
    log("an MCP server over HTTP");
    Object.assign(results, await toServer(load, sizes));
  }
  if (wants("mcp-endpoint")) {
    log("voice servers over the MCP endpoint");
    Object.assign(results, await overEndpoint(load, sizes));
  }
  await load.stop();
}

async function toDevices(load, { rounds, seconds }, log) {
  const bare = await startServer("./servers/mcp-bare.mjs");
  const gateway = await startGateway();
  const fleet = await Fleet.start();
  await fleet.connect("websocket", { url: gateway.devices }, 0, parallel);
  const { devices } = await (await gateway.get("/api/v1/devices?limit=1000")).json();
  const names = devices.map(({ alias }) => `${alias}__audio_speaker_set_volume`);
  const results = {};
  for (const era of ["modern", "legacy"]) {
    log(`/mcp, ${era} era`);
    await load.prepare(`${era} bare`, await requestsOf(bare, () => "set_volume", era));
    await load.prepare(`${era} ours`, await requestsOf(gateway, (index) => names[index], era));
    for (const side of ["bare", "ours"]) await load.warm(`${era} ${side}`, parallel);
    const slice = { parallel, seconds };
    const measured = await alternate(
      {
        ours: () => load.call(gateway, `${era} ours`, slice),
        bare: () => load.call(bare, `${era} bare`, slice),
      },
      { rounds },
    );
    results[`mcp-${era}`] = {
      values: each(measured.ours, "cpuMsEach"),
      baselines: each(measured.bare, "cpuMsEach"),
      detail: `${describeCalls(measured.ours)}; bare ${describeCalls(measured.bare)}`,
    };
  }
  await fleet.stop();
  await Promise.all([bare.stop(), gateway.stop()]);
  return results;
}

async function untilListed(gateway) {
  const until = performance.now() + programMs;
  for (;;) {
    const { toolCount } = await (await gateway.get(`/api/v1/devices/${programAlias}`)).json();
    if (toolCount > 0) return;
    if (performance.now() > until) throw new Error("the program was not listed");
    await pause(100);
  }
}

async function toProgram(load, { rounds, seconds }) {
  const bare = await startServer("./servers/mcp-proxy-bare.mjs");
  const stdio = [{ alias: programAlias, command: process.execPath, args: [program], protocol: "mcp" }];
  // By default 32 calls wait for a device; here all callers use one.
  const gateway = await startGateway({ devices: { stdio }, calls: { queue: parallel } });
  await untilListed(gateway);
  await load.prepare("proxy", await requestsOf(bare, () => "set_volume", "legacy"));
  await load.prepare("program", await requestsOf(gateway, () => `${programAlias}__set_volume`, "legacy"));
  for (const name of ["proxy", "program"]) await load.warm(name, parallel);
  const slice = { parallel, seconds };
  const measured = await alternate(
    {
      ours: () => load.call(gateway, "program", slice),
      bare: () => load.call(bare, "proxy", slice),
    },
    { rounds },
  );
  await Promise.all([bare.stop(), gateway.stop()]);
  const cpu = (side) =>
    `CPU ${each(measured[side], "cpuMsEach")
      .sort((a, b) => a - b)
      [rounds >> 1].toFixed(3)} ms`;
  return {
    "mcp-program": {
      values: each(measured.ours, "perSecond"),
      baselines: each(measured.bare, "perSecond"),
      detail: `${describeCalls(measured.ours)}, ${cpu("ours")}; bare proxy ${cpu("bare")}, without the program`,
    },
  };
}

async function toServer(load, { rounds, seconds }) {
  const target = await startServer("./servers/mcp-bare.mjs");
  const url = `${target.url}/mcp`;
  const bare = await startServer("./servers/mcp-client-bare.mjs", { SERVER_URL: url });
  const http = [{ alias: programAlias, url }];
  const gateway = await startGateway({ devices: { http }, calls: { queue: parallel } });
  await untilListed(gateway);
  await load.prepare("client", await requestsOf(bare, () => "set_volume", "legacy"));
  await load.prepare("server", await requestsOf(gateway, () => `${programAlias}__set_volume`, "legacy"));
  for (const name of ["client", "server"]) await load.warm(name, parallel);
  const slice = { parallel, seconds };
  const measured = await alternate(
    {
      ours: () => load.call(gateway, "server", slice),
      bare: () => load.call(bare, "client", slice),
    },
    { rounds },
  );
  await Promise.all([bare.stop(), gateway.stop()]);
  await target.stop();
  return {
    "mcp-http": {
      values: each(measured.ours, "cpuMsEach"),
      baselines: each(measured.bare, "cpuMsEach"),
      detail: `${describeCalls(measured.ours)}; bare ${describeCalls(measured.bare)}`,
    },
  };
}

async function overEndpoint(load, { rounds, seconds }) {
  const gateway = await startGateway({ endpoint: { enabled: true } });
  const fleet = await Fleet.start();
  await fleet.connect("websocket", { url: gateway.devices }, 0, parallel);
  const { devices } = await (await gateway.get("/api/v1/devices?limit=1000")).json();
  const names = devices.map(({ alias }) => `${alias}__audio_speaker_set_volume`);
  const made = await fetch(`${gateway.url}/api/v1/tokens`, {
    method: "POST",
    headers: { authorization: gateway.authorization, "content-type": "application/json" },
    body: JSON.stringify({ name: "voice", scopes: ["endpoint", "read", "call"] }),
  });
  const { token } = await made.json();
  const server = { url: gateway.url, authorization: `Bearer ${token}` };
  await load.prepare("over /mcp", await requestsOf(server, (index) => names[index], "legacy"));
  await load.warm("over /mcp", parallel);
  const slice = {
    url: `${gateway.url.replace("http", "ws")}/mcp_endpoint/call/?token=${token}`,
    opening: initializeBody,
    texts: names.map((name) => callBody(name)),
    expected: '"true"',
    parallel,
    seconds,
  };
  // Seconds in which a busy machine makes as many calls as `warm`.
  await load.frames(gateway, { ...slice, seconds: warmSeconds });
  const measured = await alternate(
    {
      ours: () => load.frames(gateway, slice),
      bare: () => load.call(gateway, "over /mcp", { parallel, seconds }),
    },
    { rounds },
  );
  await fleet.stop();
  await gateway.stop();
  return {
    "mcp-endpoint": {
      values: each(measured.ours, "cpuMsEach"),
      baselines: each(measured.bare, "cpuMsEach"),
      detail: `${describeCalls(measured.ours)}; /mcp ${describeCalls(measured.bare)}`,
    },
  };
}

export const mcp = { name: "mcp", title: "Calls over MCP", rows, run };
