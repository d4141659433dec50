/** `tendon mcp` as desktop clients use it: started by the official client, over stdio. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../../test/inbox.ts";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
const eras = ["modern", "legacy"] as const;
type Era = (typeof eras)[number];

interface TestFolder {
  readonly folder: string;
  serve(demo?: boolean): Promise<OpenGateway>;
}

function testFolder(): TestFolder {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return {
    folder: folder.path,
    async serve(demo = true) {
      const gateway = await openGateway(folder.path, { demo });
      onTestFinished(() => gateway.end());
      return gateway;
    },
  };
}

async function bridge(
  folder: string,
  era: Era,
  args: readonly string[] = [],
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client(
    { name: "desktop", version: "1" },
    { versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" }, ...options },
  );
  onTestFinished(() => client.close());
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [bin, "mcp", ...args], cwd: folder }),
  );
  return client;
}

/** Records progress and results in the order in which they arrive. */
function watchMessages({ transport }: Client): (number | "result")[] {
  const seen: (number | "result")[] = [];
  const receive = transport?.onmessage;
  if (transport === undefined || receive === undefined) throw new TypeError("the client is not connected");
  transport.onmessage = (message, extra) => {
    if ("result" in message) seen.push("result");
    if ("method" in message && message.method === "notifications/progress")
      seen.push(Number(message.params?.["progress"]));
    receive(message, extra);
  };
  return seen;
}

async function home(client: Client): Promise<string | undefined> {
  const { structuredContent } = await client.callTool({ name: "devices_list", arguments: { query: "home" } });
  const { devices } = structuredContent as { devices: { id: string; online: boolean }[] };
  return devices.find(({ id, online }) => id === "home" && online)?.id;
}

describe.each(eras)("tendon mcp with the %s protocol", (era) => {
  it("lists the devices of the running gateway, with its own token", async () => {
    const { folder, serve } = testFolder();
    await serve();
    const [one, other] = await Promise.all([bridge(folder, era), bridge(folder, era)]);
    expect(one.getNegotiatedProtocolVersion()).toBe(era === "modern" ? "2026-07-28" : "2025-11-25");
    await until(() => home(one));
    expect(await home(other)).toBe("home");
    const { tools } = await one.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain("device_call");
    expect(names.some((name) => name.endsWith("__reboot"))).toBe(false);
    const lamp = await one.callTool({
      name: "tools_search",
      arguments: { query: "lights", device: "home" },
    });
    expect(lamp.isError).toBeFalsy();
    const file = path.join(folder, "data", "mcp-token");
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    const admin = fs.readFileSync(path.join(folder, "data", "admin-token"), "utf8");
    expect(fs.readFileSync(file, "utf8")).not.toBe(admin);
    const { stdout } = await run(["token", "list", "--json"], { cwd: folder });
    const { tokens } = JSON.parse(stdout) as { tokens: { name: string; scopes: string[] }[] };
    expect(tokens.map(({ name, scopes }) => [name, scopes])).toEqual([["mcp", ["read", "call"]]]);
  });

  it("passes requests about tasks on", async () => {
    const { folder, serve } = testFolder();
    await serve(false);
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const client = await bridge(folder, era, [], { capabilities: { extensions } });
    const asked = client.request(
      { method: "tasks/get", params: { taskId: "an-unknown-task" } } as Parameters<Client["request"]>[0],
      { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } },
    );
    await expect(asked).rejects.toThrow(/task/i);
    await expect(asked).rejects.not.toThrow(/mcp-name/i);
  });

  it("continues when the gateway restarts on another port", async () => {
    const { folder, serve } = testFolder();
    const first = await serve();
    let changes = 0;
    const client = await bridge(folder, era, [], {
      listChanged: {
        tools: {
          autoRefresh: false,
          debounceMs: 0,
          onChanged: () => {
            changes += 1;
          },
        },
      },
    });
    await until(() => home(client));
    const before = changes;
    await first.end();
    const meanwhile = client.callTool({ name: "devices_list", arguments: {} });
    await serve();
    expect((await meanwhile).isError).toBeFalsy();
    await until(() => home(client));
    await until(() => changes > before);
  });

  it("reports unauthenticated when the gateway rejects its token", async () => {
    const { folder, serve } = testFolder();
    fs.mkdirSync(path.join(folder, "data"));
    fs.writeFileSync(path.join(folder, "data", "mcp-token"), "tdn_an-unknown-token\n");
    await serve(false);
    await expect(bridge(folder, era)).rejects.toThrow(/unauthenticated/);
  });

  it("waits for the first start of the folder's gateway", async () => {
    const { folder, serve } = testFolder();
    const waiting = bridge(folder, era);
    await serve();
    const client = await waiting;
    await until(() => home(client));
  });

  it("waits for a stopped gateway to start again, and keeps its token", async () => {
    const { folder, serve } = testFolder();
    const first = await serve(false);
    const client = await bridge(folder, era);
    await first.end();
    const meanwhile = client.callTool({ name: "devices_list", arguments: {} });
    await serve();
    expect((await meanwhile).isError).toBeFalsy();
    const { tokens } = JSON.parse((await run(["token", "list", "--json"], { cwd: folder })).stdout) as {
      tokens: unknown[];
    };
    expect(tokens).toHaveLength(1);
  });

  it("forwards a question to the client, and its answer to the gateway", async () => {
    const { folder, serve } = testFolder();
    fs.writeFileSync(
      path.join(folder, "tendon.yaml"),
      "access:\n  rules:\n    - { device: home, tool: set_alarm_state, effect: confirm }\n",
    );
    await serve();
    const client = await bridge(folder, era, [], { capabilities: { elicitation: { form: {} } } });
    await until(() => home(client));
    const asked: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: { allow: true } };
    });
    const call = { device: "home", tool: "set_alarm_state", arguments: { armed: true } };
    const result = await client.callTool({ name: "device_call", arguments: call });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("set_alarm_state on home");
    expect(result.isError).toBeFalsy();
  });
});

describe("tendon mcp", () => {
  it("creates a token at a remote gateway and keeps it for that address only", async () => {
    const { folder, serve } = testFolder();
    const gateway = await serve(false);
    const { url } = JSON.parse(fs.readFileSync(path.join(folder, "data", "gateway.json"), "utf8")) as {
      url: string;
    };
    const token = fs.readFileSync(path.join(folder, "data", "admin-token"), "utf8").trim();
    const other = testFolder();
    const remote = await bridge(other.folder, "legacy", ["--url", url, "--token", token]);
    expect((await remote.listTools()).tools.length).toBeGreaterThan(0);
    const kept = `mcp-token-127.0.0.1_${new URL(url).port}`;
    expect(fs.readdirSync(path.join(other.folder, "data"))).toEqual([kept]);
    expect(fs.statSync(path.join(other.folder, "data", kept)).mode & 0o777).toBe(0o600);
    await remote.close();
    // The kept token is used again, without the admin token.
    const again = await bridge(other.folder, "legacy", ["--url", url]);
    expect((await again.listTools()).tools.length).toBeGreaterThan(0);
    await gateway.end();
  });

  it("lists one device's tools with --device, and the compact tools with --compact", async () => {
    const { folder, serve } = testFolder();
    await serve();
    const all = await bridge(folder, "legacy");
    await until(() => home(all));
    const alone = await bridge(folder, "legacy", ["--device", "home"]);
    const names = (await alone.listTools()).tools.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(names).not.toContain("device_call");
    const compact = await bridge(folder, "legacy", ["--compact"]);
    expect((await compact.listTools()).tools).toHaveLength(7);
    const wrong = await run(["mcp", "--flat", "--compact"], { cwd: folder });
    expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
  });

  it("[SRV-14] forwards progress before a reply that follows it immediately", async () => {
    const { folder, serve } = testFolder();
    const program = fileURLToPath(new URL("../../../test/programs/mcp-results.mjs", import.meta.url));
    const entry = { alias: "steps", command: process.execPath, args: [program], protocol: "mcp" };
    fs.writeFileSync(path.join(folder, "tendon.yaml"), JSON.stringify({ devices: { stdio: [entry] } }));
    await serve(false);
    for (const era of eras) {
      const client = await bridge(folder, era, ["--flat"]);
      await until(async () => (await client.listTools()).tools.some(({ name }) => name === "steps__steps"));
      // Read from the transport, because a busy client may drop progress itself.
      const seen = watchMessages(client);
      for (let call = 0; call < 24; call += 1) {
        await client.callTool({ name: "steps__steps", arguments: {} }, { onprogress: () => {} });
        expect(seen.splice(0), era).toEqual([1, 2, 3, "result"]);
      }
    }
  });

  it("ends when stdin closes, and answers an invalid message with an error", async () => {
    const { folder } = testFolder();
    const { spawn } = await import("node:child_process");
    const child = spawn(process.execPath, [bin, "mcp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stdin.end("nonsense\n\n");
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ id: null, error: { code: -32700 } });
  });
});
