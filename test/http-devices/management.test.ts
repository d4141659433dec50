/** MCP servers over HTTP that people add: REST, the client package, headers, addresses. */
import fs from "node:fs";
import path from "node:path";
import { TendonClient } from "@tendon/client";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { adminToken, openSite } from "../site.ts";
import { online, openServer, siteWith, textOf } from "./servers.ts";

const secret = "a-long-secret-of-the-server";

describe("adding an MCP server", () => {
  it("[HTD-4] makes it a device with its own headers, which are sealed and never returned", async () => {
    const server = await openServer({ token: secret });
    const site = await openSite();
    const client = new TendonClient({ url: site.url, token: adminToken });
    const headers = { Authorization: `Bearer ${secret}` };
    const made = await client.devices.addHttp({ alias: "lamp", url: server.url, headers });
    expect(made).toMatchObject({ id: "lamp", alias: "lamp", kind: "http", server: { configured: false } });
    await online(site);
    expect(textOf((await site.call("lamp", "echo", { text: "a" })).body)).toBe("a");
    const sent = server.headers.map(({ authorization }) => authorization);
    expect(new Set(sent)).toEqual(new Set([`Bearer ${secret}`]));
    const shown = [made, await site.device("lamp"), (await site.rest("GET", "/audit")).body];
    expect(JSON.stringify(shown)).not.toContain(secret);
    const stored = fs.readdirSync(site.folder).map((file) => path.join(site.folder, file));
    const bytes = stored.filter((file) => fs.statSync(file).isFile()).map((file) => fs.readFileSync(file));
    expect(Buffer.concat(bytes).includes(secret)).toBe(false);
    expect((await site.rest("GET", "/audit?action=device.add")).body).toMatchObject({
      entries: [{ target: { id: "lamp" }, detail: { host: new URL(server.url).host } }],
    });
    await client.devices.delete("lamp");
    expect((await site.rest("GET", "/devices/lamp")).body).toMatchObject({ code: "device_unknown" });
    const before = server.headers.length;
    expect((await site.rest("POST", "/devices/http", { alias: "lamp", url: server.url })).status).toBe(201);
    await until(() => server.headers.length > before, "the new connection");
    expect(server.headers.at(-1)?.authorization).toBeUndefined();
  });

  it("[HTD-4] refuses addresses, headers and aliases that are not allowed", async () => {
    const server = await openServer();
    const site = await siteWith(server);
    const add = async (body: object) => (await site.rest("POST", "/devices/http", body)).body;
    for (const url of [
      "http://169.254.169.254/latest",
      "http://[fe80::1]/mcp",
      "http://[::ffff:169.254.1.1]/mcp",
      "http://0xa9fea9fe/mcp",
      "http://100.100.100.200/",
      "ftp://host/mcp",
      "http://user:password@host/mcp",
      "not an address",
    ])
      expect(await add({ alias: "other", url }), url).toMatchObject({ code: "bad_request" });
    const { url } = server;
    for (const headers of [{ Host: "a" }, { "Mcp-Session-Id": "a" }, { "a b": "c" }, { a: "b\r\nc: d" }])
      expect(await add({ alias: "other", url, headers })).toMatchObject({ code: "bad_request" });
    expect(await add({ alias: "lamp", url })).toMatchObject({ code: "conflict" });
    expect((await site.rest("DELETE", "/devices/lamp")).body).toMatchObject({ code: "conflict" });
    const { body: limited } = await site.rest("POST", "/tokens", {
      name: "reader",
      scopes: ["read", "call"],
    });
    const authorization = { authorization: `Bearer ${String(limited["token"])}` };
    const denied = await site.rest("POST", "/devices/http", { alias: "other", url }, authorization);
    expect(denied.body).toMatchObject({ code: "forbidden" });
  });

  it("survives a restart of the gateway", async () => {
    const server = await openServer({ token: secret });
    const site = await openSite();
    const headers = { authorization: `Bearer ${secret}` };
    await site.rest("POST", "/devices/http", { alias: "lamp", url: server.url, headers });
    await online(site);
    await site.tendon.stop();
    const again = await openSite({ config: { data: site.folder } });
    await online(again);
    expect(textOf((await again.call("lamp", "echo", { text: "b" })).body)).toBe("b");
  });

  it("[HTD-8] is deleted after it was removed from the configuration, not before", async () => {
    const server = await openServer();
    const site = await siteWith(server);
    await online(site);
    const refused = await site.rest("DELETE", "/devices/lamp");
    expect([refused.status, refused.body["detail"]]).toEqual([
      409,
      "this device is in the configuration; remove it from tendon.yaml, restart the gateway, then delete it",
    ]);
    await site.tendon.stop();
    const again = await openSite({ config: { data: site.folder } });
    expect(await again.device("lamp")).toMatchObject({ online: false, kind: "http" });
    expect((await again.rest("DELETE", "/devices/lamp")).status).toBe(204);
    expect((await again.rest("GET", "/devices/lamp")).body["code"]).toBe("device_unknown");
    await again.tendon.stop();
    const last = await openSite({ config: { data: site.folder } });
    expect((await last.rest("GET", "/devices/lamp")).body["code"]).toBe("device_unknown");
  });
});
