// A call over /mcp to a device and back, beside a bare server of the official SDK with one tool that answers itself, in
// the same run and in both eras. CPU is the server's own.
import { measure, poster } from "./load.mjs";
import { startServer } from "./process.mjs";
import { connectDevice } from "./quick-device.mjs";

const parallel = 64;
const deviceCount = 64;
const rounds = 3;
const modernVersion = "2026-07-28";
const legacyVersion = "2025-11-25";

const meta = {
  "io.modelcontextprotocol/protocolVersion": modernVersion,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
};

const callOf = (name, more = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: { volume: 30 }, ...more },
});

/** What one worker sends again and again, with a header or a session of its own. */
async function worker(server, at, name, era) {
  const headers = {
    accept: "application/json, text/event-stream",
    ...(server.token === undefined ? {} : { authorization: `Bearer ${server.token}` }),
  };
  if (era === "modern") {
    const own = { "mcp-protocol-version": modernVersion, "mcp-method": "tools/call", "mcp-name": name };
    return {
      headers: { ...headers, ...own },
      body: callOf(name, { _meta: meta }),
      url: `${server.url}${at}`,
    };
  }
  const opened = await fetch(`${server.url}${at}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: legacyVersion,
        capabilities: {},
        clientInfo: { name: "bench", version: "1.0.0" },
      },
    }),
  });
  await opened.text();
  const session = {
    "mcp-session-id": opened.headers.get("mcp-session-id"),
    "mcp-protocol-version": legacyVersion,
  };
  return { headers: { ...headers, ...session }, body: callOf(name), url: `${server.url}${at}` };
}

async function prepare(server, at, nameOf, era) {
  const workers = await Promise.all(
    Array.from({ length: parallel }, (_, index) => worker(server, at, nameOf(index), era)),
  );
  const { post, close } = poster(parallel, {});
  const work = async (index) => {
    const { url, body, headers } = workers[index];
    const answer = await post(url, body, headers);
    if (!answer.includes('"true"')) throw new Error(`not the answer: ${answer}`);
  };
  return { server, work, close };
}

export async function benchMcp(row, seconds) {
  const bare = await startServer("./servers/mcp-bare.mjs");
  const gateway = await startServer("./servers/gateway.mjs");
  const sockets = await Promise.all(
    Array.from({ length: deviceCount }, (_, index) => connectDevice(gateway.devices, index)),
  );
  const { devices } = await (
    await fetch(`${gateway.url}/api/v1/devices?limit=1000`, {
      headers: { authorization: `Bearer ${gateway.token}` },
    })
  ).json();
  const names = devices.map(({ alias }) => `${alias}__audio_speaker_set_volume`);
  for (const era of ["modern", "legacy"]) {
    const sides = [
      await prepare(bare, "/mcp", () => "set_volume", era),
      await prepare(gateway, "/mcp", (index) => names[index % names.length], era),
    ];
    // Turn and turn about, so that whatever else the machine does meets both alike.
    const parts = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, { server, work }] of sides.entries())
        parts[index].push(await measure(server, { parallel, seconds: seconds / rounds, work }));
    }
    const [base, ours] = parts.map((results) => results.sort((a, b) => a.cpuMsEach - b.cpuMsEach)[1]);
    row(`bare SDK server, one tool, ${era}`, base);
    row(`/mcp -> WebSocket device -> /mcp, ${era}`, ours);
    console.log(`CPU of a call over /mcp / bare SDK server: ${(ours.cpuMsEach / base.cpuMsEach).toFixed(2)}`);
    for (const { close } of sides) close();
  }
  for (const socket of sockets) socket.terminate();
  await Promise.all([bare.stop(), gateway.stop()]);
}
