/** Seeds from what the firmware and the home simulator were recorded to say. */
import fs from "node:fs";
import path from "node:path";

type Row = { readonly [key: string]: unknown };

function rows(file: string): Row[] {
  const text = fs.readFileSync(path.resolve(file), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}

const protocolFixtures = "packages/protocol/test/fixtures";
const simulatorFixtures = "packages/simulator/test/fixtures";

/** Short ones first, each once, and few of them: a pool of all recordings would hide the odd ones. */
function buffers(texts: readonly string[], most = 150): Buffer[] {
  const each = [...new Set(texts)].filter((text) => text !== "").sort((a, b) => a.length - b.length);
  const step = Math.max(1, each.length / most);
  return Array.from({ length: Math.min(most, each.length) }, (_, at) =>
    Buffer.from(each[Math.floor(at * step)] ?? ""),
  );
}

function texts(file: string, field: string): string[] {
  return rows(file).flatMap((row) => (typeof row[field] === "string" ? [row[field]] : []));
}

interface WireEvent {
  readonly from?: string;
  readonly text?: string;
}

function wireTexts(from: "device" | "backend"): string[] {
  return rows(`${simulatorFixtures}/firmware-wire-transcript.jsonl`).flatMap((row) =>
    ((row["events"] ?? []) as readonly WireEvent[]).flatMap((event) =>
      event.from === from && typeof event.text === "string" ? [event.text] : [],
    ),
  );
}

/** JSON-RPC replies of the firmware, some of them broken. */
const replies: readonly string[] = [
  ...texts(`${protocolFixtures}/replies.jsonl`, "payload"),
  ...texts(`${protocolFixtures}/broken-replies.jsonl`, "payload"),
  ...texts(`${protocolFixtures}/pasted-replies.jsonl`, "payload"),
  ...rows(`${simulatorFixtures}/firmware-transcript.jsonl`).flatMap(({ replies: said }) =>
    (said as readonly unknown[]).map((reply) =>
      isRaw(reply) ? reply.raw : typeof reply === "string" ? reply : JSON.stringify(reply),
    ),
  ),
];

function isRaw(reply: unknown): reply is { readonly raw: string } {
  return typeof reply === "object" && reply !== null && typeof (reply as Row)["raw"] === "string";
}

const results = replies.flatMap((text) => {
  try {
    return [(JSON.parse(text) as { result?: unknown }).result].filter((result) => result !== undefined);
  } catch {
    return [];
  }
});

interface Entry {
  readonly inputSchema?: unknown;
}

const entries = results.flatMap((result) => {
  const { tools } = result as { tools?: unknown };
  return Array.isArray(tools) ? (tools as readonly Entry[]) : [];
});

export const seeds = {
  deviceFrames: buffers([
    ...texts(`${protocolFixtures}/frames.jsonl`, "frame"),
    ...wireTexts("device"),
    ...replies.map((payload) => `{"session_id":"s","type":"mcp","payload":${payload}}`),
  ]),
  serverFrames: buffers([...texts(`${protocolFixtures}/frames.jsonl`, "frame"), ...wireTexts("backend")]),
  lines: buffers([
    ...texts(`${simulatorFixtures}/home-session.jsonl`, "line"),
    ...texts(`${simulatorFixtures}/home-json-faults.jsonl`, "text"),
    '{"type":"ready","version":"1.0","tools":[{"name":"set_light_state","description":"x","input_schema":{"type":"object","properties":{"on":{"type":"boolean"}}}}]}',
    '{"type":"event","event":"state_changed","data":{"a":1}}',
  ]),
  results: buffers(results.map((result) => JSON.stringify(result))),
  tools: buffers(entries.map((entry) => JSON.stringify(entry))),
  schemas: [...new Set(entries.map(({ inputSchema }) => JSON.stringify(inputSchema)))].filter(Boolean),
  requests: buffers(
    rows(`${simulatorFixtures}/firmware-transcript.jsonl`).map(({ request }) => JSON.stringify(request)),
  ),
  texts: buffers([
    ...texts(`${protocolFixtures}/broken-replies.jsonl`, "message"),
    ...texts(`${simulatorFixtures}/home-json-faults.jsonl`, "fault"),
  ]),
} as const;
