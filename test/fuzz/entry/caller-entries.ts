/** What apps, agents and boards send over HTTP and MQTT: every route, device_control, MCP of both eras, OTA. */
import { isErrorCode } from "@tendon/protocol";
import fc from "fast-check";
import { connectAsync } from "mqtt";
import { must } from "../target.ts";
import type { Entry, FuzzSite, Sender } from "./entry.ts";
import { soon } from "./entry.ts";
import { type Answered, ask, asObject, outcomeOf } from "./http.ts";
import { mcpSeeds, modernHeaders, modernSeeds, routeSeeds } from "./request-seeds.ts";

const anyJson = fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text));

function texts(...values: readonly unknown[]): Buffer[] {
  return values.map((value) => Buffer.from(JSON.stringify(value)));
}

/** Only what HTTP can carry in a header. */
function headersOf(value: unknown): Record<string, string> {
  const entries = Object.entries(typeof value === "object" && value !== null ? value : {});
  return Object.fromEntries(
    entries.filter(
      ([name, text]) =>
        /^[\w-]{1,64}$/.test(name) && typeof text === "string" && /^[\t -~\x80-\xff]{0,4096}$/.test(text),
    ) as [string, string][],
  );
}

function bearer(site: FuzzSite, token: unknown): Record<string, string> {
  const text = token === "limited" ? site.limitedToken : token === "none" ? undefined : site.adminToken;
  return text === undefined ? {} : { authorization: `Bearer ${text}` };
}

function simple(send: (input: Buffer) => Promise<string>): Sender {
  return { send, close: () => undefined };
}

/** `{"method","path","token","headers","body"}`: any route of the description. */
const routes: Entry = {
  name: "rest-routes",
  workers: 8,
  maxBytes: 128 * 1024,
  seeds: routeSeeds,
  async open(site) {
    return simple(async (input) => {
      const { method, path, token, headers, body } = asObject(input.toString());
      const at = typeof path === "string" && path.startsWith("/") ? path : "/api/v1/devices";
      // Sent as a browser would, if the path has other characters.
      const sendable = /^[!-~]*$/.test(at) ? at : encodeURI(Buffer.from(at).toString());
      const text = typeof body === "string" ? body : JSON.stringify(body);
      return outcomeOf(
        await ask(site.url, {
          method:
            typeof method === "string" && /^[A-Z]{1,12}$/.test(method) && method !== "CONNECT"
              ? method
              : "GET",
          path: sendable.replaceAll(/[^!-~]/g, "%00"),
          headers: {
            ...bearer(site, token),
            ...(text === undefined ? {} : { "content-type": "application/json" }),
            ...withoutLength(headersOf(headers)),
          },
          body: text,
        }),
      );
    });
  },
};

/** Node writes these itself; a wrong one would end the connection at the client. */
function withoutLength(headers: Record<string, string>): Record<string, string> {
  const own = new Set([
    "content-length",
    "transfer-encoding",
    "connection",
    "expect",
    "upgrade",
    "host",
    "te",
    "trailer",
  ]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.has(name.toLowerCase())));
}

const controlSeeds = texts(
  { type: "device_control", action: "set_volume", volume: 30, request_id: "r1" },
  { command: "volume_up", step: 10, request_id: 7, session_id: "s", device: "keeper", timeoutMs: 100 },
  { function_call: { name: "self_mute", arguments: { value: 1 } }, device: "keeper" },
  { action: "get_volume", device: "keeper", timestamp: 1 },
  { request_id: "r", tool: "any", arguments: { a: [1] }, timeoutMs: 100 },
);

const restControl: Entry = {
  name: "rest-control",
  workers: 8,
  maxBytes: 64 * 1024,
  seeds: () => controlSeeds,
  arbitrary: anyJson,
  async open(site) {
    return simple(async (input) => {
      const answered = await ask(site.url, {
        method: "POST",
        path: "/api/v1/devices/keeper/control",
        headers: { ...bearer(site, "admin"), "content-type": "application/json" },
        body: input,
      });
      const outcome = outcomeOf(answered);
      const { ok, code } = asObject(answered?.text ?? "");
      if (outcome !== "ok" || ok !== false) return outcome;
      must(
        typeof code === "string" && isErrorCode(code) && code !== "internal",
        `a refusal has a code: ${String(code)}`,
      );
      return String(code);
    });
  },
};

const topics = ["tendon/control", "tendon/devices/keeper/control", "tendon/devices/keeper/call"];

const mqttControl: Entry = {
  name: "mqtt-control",
  workers: 4,
  maxBytes: 64 * 1024,
  seeds: () => controlSeeds,
  arbitrary: anyJson,
  async open(site, worker): Promise<Sender> {
    const client = await connectAsync(`mqtt://127.0.0.1:${site.mqttPort}`, {
      clientId: `fuzz-app-${worker}`,
      username: "app",
      password: site.adminToken,
      reconnectPeriod: 0,
    });
    const waiting = new Map<string, () => void>();
    let last = "";
    await client.subscribeAsync(topics.map((topic) => `${topic}/reply`));
    client.on("message", (_topic, payload) => {
      const { request_id: id, code, ok } = asObject(payload.toString());
      if (typeof id === "string" && waiting.has(id)) waiting.get(id)?.();
      else last = ok === true ? "ok" : typeof code === "string" ? code : "other";
    });
    let count = 0;
    return {
      async send(input) {
        count += 1;
        last = "";
        const mark = `mark-${worker}-${count}`;
        const answered = new Promise<void>((resolve) => waiting.set(mark, resolve));
        client.publish(topics[count % topics.length] ?? "", input);
        client.publish(
          "tendon/control",
          JSON.stringify({ action: "get_volume", device: "keeper", request_id: mark }),
        );
        must((await soon(answered, 5_000, "late")) !== "late", "an app gets its reply after any message");
        waiting.delete(mark);
        must(
          last === "" || last === "ok" || last === "other" || isErrorCode(last),
          `a refusal has a code: ${last}`,
        );
        must(last !== "internal", "no internal error");
        return last === "" ? "pending" : last;
      },
      close: () => client.end(true),
    };
  },
};

/** Codes of JSON-RPC and MCP; -32603 is an internal error. */
function rpcOutcome(answered: Answered | undefined): string {
  if (answered === undefined) return "not sent";
  const { status, type, text } = answered;
  const said = type.startsWith("text/event-stream") ? (/^data: (.+)$/m.exec(text)?.[1] ?? "{}") : text;
  const { error, code: own } = asObject(said);
  if (typeof own === "string") return outcomeOf(answered);
  const code = typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  must(status < 400 || code !== undefined, `status ${status} has a code: ${text.slice(0, 300)}`);
  if (code === undefined) return "ok";
  must(Number.isInteger(code) && code !== -32_603, `an error has a code of JSON-RPC: ${said.slice(0, 300)}`);
  return `rpc ${String(code)}`;
}

const accept = "application/json, text/event-stream";
const json = "application/json";

const mcpSessions: Entry = {
  name: "mcp-sessions",
  workers: 4,
  maxBytes: 128 * 1024,
  seeds: () => mcpSeeds,
  arbitrary: anyJson,
  async open(site, worker): Promise<Sender> {
    const token = worker % 2 === 0 ? "admin" : "limited";
    const post = async (body: Buffer | string, headers: Record<string, string> = {}) =>
      await ask(site.url, {
        method: "POST",
        path: "/mcp",
        headers: { ...bearer(site, token), accept, "content-type": json, ...headers },
        body,
      });
    let session = "";
    const open = async () => {
      const answered = await post(mcpSeeds[0] ?? "");
      session = String(answered?.headers["mcp-session-id"] ?? "");
      must(session !== "", `a session opens: ${answered?.text.slice(0, 300)}`);
    };
    await open();
    return simple(async (input) => {
      const answered = await post(input, { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" });
      if (answered?.status === 404) await open();
      return rpcOutcome(answered);
    });
  },
};

/** `{"headers","body"}` */
const mcpModern: Entry = {
  name: "mcp-stateless",
  workers: 8,
  maxBytes: 128 * 1024,
  seeds: () => modernSeeds,
  async open(site, worker) {
    return simple(async (input) => {
      const { headers, body } = asObject(input.toString());
      const text = typeof body === "string" ? body : (JSON.stringify(body) ?? input.toString());
      return rpcOutcome(
        await ask(site.url, {
          method: "POST",
          path: worker % 4 === 3 ? "/mcp/devices/keeper" : "/mcp",
          headers: {
            ...bearer(site, worker % 2 === 0 ? "admin" : "limited"),
            accept,
            "content-type": json,
            ...(headers === undefined ? modernHeaders(text) : withoutLength(headersOf(headers))),
          },
          body: text,
        }),
      );
    });
  },
};

/** `{"headers","body"}`: a board asks for its settings and its activation. */
const ota: Entry = {
  name: "ota",
  workers: 8,
  maxBytes: 64 * 1024,
  seeds: () =>
    texts(
      {
        headers: {
          "device-id": "02:00:00:00:0f:01",
          "client-id": "7f0c9d3a-5b1e-4a77-9a44-000000000001",
          "activation-version": "1",
          "user-agent": "bread-compact-wifi/2.4.2",
          "accept-language": "zh-CN",
        },
        body: {
          version: 2,
          application: { name: "xiaozhi", version: "2.4.2", elf_sha256: "x" },
          board: { name: "bread-compact-wifi", type: "wifi" },
          partition_table: [{ label: "nvs", size: 1 }],
        },
      },
      {
        headers: {
          "device-id": "02:00:00:00:0f:02",
          "client-id": "7f0c9d3a-5b1e-4a77-9a44-000000000002",
          "activation-version": "2",
          "serial-number": "SN-1",
        },
        body: { algorithm: "hmac-sha256", serial_number: "SN-1", challenge: "c", hmac: "00" },
        path: "/xiaozhi/ota/activate",
      },
    ),
  async open(site) {
    return simple(async (input) => {
      const { headers, body, path } = asObject(input.toString());
      const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
      return outcomeOf(
        await ask(site.url, {
          method: "POST",
          path: path === "/xiaozhi/ota/activate" ? path : "/xiaozhi/ota/",
          headers: { "content-type": json, ...withoutLength(headersOf(headers)) },
          body: text,
        }),
      );
    });
  },
};

export const callerEntries: readonly Entry[] = [
  routes,
  restControl,
  mqttControl,
  mcpSessions,
  mcpModern,
  ota,
];
