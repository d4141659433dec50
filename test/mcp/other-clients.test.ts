/** Other clients than the newest SDK: the widely used v1 SDK and the Inspector's command line. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { limits } from "@tendon/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { Inbox } from "../inbox.ts";
import { textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { openMany, openSession } from "./rpc.ts";

const tools = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "tools");
const requireTool = createRequire(path.join(tools, "package.json"));
const volume = tool("set_volume", { volume: { type: "integer" } }, ["volume"]);

/** The used parts of the older SDK, whose types are not installed. */
interface OldClient {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  subscribeResource(params: { uri: string }): Promise<object>;
  callTool(params: object, schema?: undefined, options?: object): Promise<{ content: { text: string }[] }>;
  setNotificationHandler(schema: object, handler: (notification: { params: { uri: string } }) => void): void;
  setRequestHandler(schema: object, handler: (request: { params: { message: string } }) => object): void;
}

async function loadOld(name: string): Promise<Record<string, new (...args: unknown[]) => unknown>> {
  const file = requireTool.resolve(`@modelcontextprotocol/sdk/${name}.js`);
  return (await import(pathToFileURL(file).href)) as never;
}

async function oldClient(site: Site, token: string): Promise<OldClient> {
  const { Client } = await loadOld("client/index");
  const { StreamableHTTPClientTransport } = await loadOld("client/streamableHttp");
  if (Client === undefined || StreamableHTTPClientTransport === undefined) throw new TypeError("no old SDK");
  const client = new Client(
    { name: "old", version: "1" },
    { capabilities: { elicitation: {} } },
  ) as OldClient;
  onTestFinished(() => client.close());
  await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", site.url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }) as object,
  );
  return client;
}

describe("the v1 SDK client", () => {
  it("lists, calls, gets change notifications, subscribes, asks its user and cancels", async () => {
    const rules = [{ tool: "guarded", effect: "confirm" as const }];
    const site = await openSite({ config: { access: { rules } } });
    const device = await site.join({ tools: [volume, tool("guarded"), tool("slow")] });
    const { alias } = await site.device(device.id);
    const { token } = await makeToken(site, {});
    const client = await oldClient(site, token);
    const schemas = (await loadOld("types")) as unknown as Record<string, object>;
    const { tools: listed } = await client.listTools();
    const name = `${String(alias)}__set_volume`;
    expect(listed.map((one) => one.name)).toContain(name);

    const call = client.callTool({ name, arguments: { volume: 3 } });
    device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    expect((await call).content[0]?.text).toBe("true");

    client.setRequestHandler(schemas["ElicitRequestSchema"] ?? {}, () => ({
      action: "accept",
      content: { allow: true },
    }));
    const guarded = client.callTool({ name: `${String(alias)}__guarded`, arguments: {} });
    device.reply((await device.nextRequest("tools/call")).id, textContent("let in"));
    expect((await guarded).content[0]?.text).toBe("let in");

    const told = new Inbox<string>("notification");
    client.setNotificationHandler(schemas["ResourceUpdatedNotificationSchema"] ?? {}, ({ params }) =>
      told.put(params.uri),
    );
    client.setNotificationHandler(schemas["ToolListChangedNotificationSchema"] ?? {}, () =>
      told.put("tools"),
    );
    const uri = `device://${encodeURIComponent(device.id)}/events`;
    expect((await client.listResources()).resources.map((resource) => resource.uri)).toContain(uri);
    await client.subscribeResource({ uri });
    device.notify("something");
    while ((await told.take()) !== uri);
    await site.join({ deviceId: "02:00:00:00:00:02", tools: [tool("b")] });
    while ((await told.take()) !== "tools");

    const stop = new AbortController();
    const slow = client.callTool({ name: `${String(alias)}__slow`, arguments: {} }, undefined, {
      signal: stop.signal,
    });
    const gone = expect(slow).rejects.toThrow();
    await device.nextRequest("tools/call");
    stop.abort("enough");
    await gone;
    const next = site.call(device.id, "set_volume", { volume: 1 });
    device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    expect((await next).status).toBe(200);
  });
});

describe("v1 SDK clients that do not end their session", () => {
  it("[SRV-3] can always connect, however many came before", async () => {
    const site = await openSite();
    const { token } = await makeToken(site, {});
    await openMany(limits.mcpSessionsPerToken.max - 5, () => openSession(site, { token }));
    for (let count = 0; count < 10; count += 1) {
      const client = await oldClient(site, token);
      expect((await client.listTools()).tools.length).toBeGreaterThan(0);
      await client.close();
    }
  });
});

async function inspect(site: Site, token: string, ...args: string[]): Promise<{ code: number; out: string }> {
  const inspector = path.join(tools, "node_modules", ".bin", "mcp-inspector");
  const child = spawn(
    inspector,
    [
      "--cli",
      `${site.url}/mcp`,
      "--header",
      `Authorization: Bearer ${token}`,
      "--format",
      "json",
      "-q",
      ...args,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  const code = await new Promise<number>((resolve) => {
    child.once("close", (status) => resolve(status ?? -1));
  });
  return { code, out };
}

describe("the Inspector's command line", () => {
  it.each(["legacy", "modern"])("lists and calls in the %s era", async (era) => {
    const site = await openSite();
    const device = await site.join({ tools: [volume] });
    const { alias } = await site.device(device.id);
    const { token } = await makeToken(site, {});
    const name = `${String(alias)}__set_volume`;
    const inEra = ["--protocol-era", era];
    const listed = await inspect(site, token, ...inEra, "--method", "tools/list");
    expect(listed.code).toBe(0);
    expect(listed.out).toContain(name);
    const arg = ["--tool-name", name, "--tool-arg", "volume=33"];
    const called = inspect(site, token, ...inEra, "--method", "tools/call", ...arg);
    const request = await device.nextRequest("tools/call");
    expect(request.params["arguments"]).toEqual({ volume: 33 });
    device.reply(request.id, textContent("as loud as asked"));
    const { code, out } = await called;
    expect([code, out.includes("as loud as asked")]).toEqual([0, true]);
  });

  it("accepts the schemas of the gateway's own tools", async () => {
    const site = await openSite();
    const { token } = await makeToken(site, {});
    const { code, out } = await inspect(site, token, "--method", "tools/list", "--strict");
    expect([code, out.includes("device_call")]).toEqual([0, true]);
  });
});
