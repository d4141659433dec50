import { randomBytes } from "node:crypto";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../packages/gateway/test/store/postgres-server.ts";
import { until } from "./inbox.ts";
import { OtaBoard } from "./ota-board.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const key = randomBytes(32).toString("hex");
const [second, third] = ["02:00:00:00:00:02", "02:00:00:00:00:03"];
const rows = [
  { id: firstDevice, tags: ["line-7"] },
  { id: second, serial: "SN-2", hmacKey: key, tags: ["line-7", "office"] },
  { id: third, tags: ["line-8"] },
];

async function importing(storage?: string, devices: readonly object[] = rows): Promise<Site> {
  const site = await openSite({
    config: { devices: { admission: "list" }, ...(storage === undefined ? {} : { storage }) },
  });
  expect((await site.rest("POST", "/devices/import", { devices })).status).toBe(200);
  return site;
}

async function ids(site: Site, query = "", headers = {}): Promise<string[]> {
  const { status, body, text } = await site.rest("GET", `/imports${query}`, undefined, headers);
  expect(status).toBe(200);
  expect(text).not.toContain(key);
  const found = (body["imports"] as { id: string }[]).map(({ id }) => id);
  expect(body["total"]).toBe(found.length);
  return found;
}

async function tokenFor(site: Site, scopes: readonly string[], devices?: object) {
  const name = `token ${randomBytes(3).toString("hex")}`;
  const { body } = await site.rest("POST", "/tokens", { name, scopes, ...(devices && { devices }) });
  return { authorization: `Bearer ${String(body["token"])}` };
}

async function connect(site: Site, mac: string): Promise<void> {
  const device = new VirtualDevice({ otaUrl: site.tendon.addresses.ota, board: { mac } });
  onTestFinished(() => device.stop());
  await device.connect();
  await site.listed(mac);
}

describe("GET /imports", () => {
  it.each(["sqlite", "postgres"])("shows which imported devices have not connected, on %s", async (kind) => {
    const server = kind === "postgres" ? await PostgresServer.start() : undefined;
    onTestFinished(async () => await server?.remove());
    const site = await importing(await server?.newStore());
    const { body } = await site.rest("GET", "/imports");
    const [row] = body["imports"] as [{ importedAt: string }];
    const known = { serial: null, hasKey: false, connected: false, lastSeenAt: null };
    expect(body).toEqual({
      imports: [
        { ...known, id: firstDevice, tags: ["line-7"], importedAt: row.importedAt },
        { ...known, ...row, id: second, serial: "SN-2", hasKey: true, tags: ["line-7", "office"] },
        { ...known, id: third, tags: ["line-8"], importedAt: row.importedAt },
      ],
      total: 3,
    });
    await connect(site, firstDevice);
    // Rows and total are read one after the other, and the device may connect in between.
    await until(async () => {
      const { body } = await site.rest("GET", "/imports?connected=true");
      return (body["imports"] as unknown[]).length === 1;
    }, "the device has connected");
    expect(await ids(site, "?connected=true")).toEqual([firstDevice]);
    expect(await ids(site, "?connected=false")).toEqual([second, third]);
    expect(await ids(site, "?connected=false&tag=line-8")).toEqual([third]);
    expect(await ids(site, "?q=sn-2")).toEqual([second]);
    expect(await ids(site, "?q=02-00-00-00-00-03")).toEqual([third]);
    expect(await ids(site, "?q=LINE-7")).toEqual([firstDevice, second]);
    expect((await site.rest("DELETE", `/imports/${third}`)).status).toBe(204);
    expect(await ids(site)).toEqual([firstDevice, second]);
  });

  it("is read page by page; a wrong cursor or an unknown filter is refused", async () => {
    const site = await importing();
    const first = (await site.rest("GET", "/imports?limit=2")).body;
    expect(first).toMatchObject({ imports: [{ id: firstDevice }, { id: second }], total: 3 });
    const at = `/imports?limit=2&cursor=${encodeURIComponent(String(first["nextCursor"]))}`;
    const next = (await site.rest("GET", at)).body;
    expect(next).toMatchObject({ imports: [{ id: third }] });
    expect(Object.keys(next)).toEqual(["imports"]);
    for (const wrong of ["cursor=abc", `cursor=${firstDevice}`, "limit=0", "importedAt=today", "online=true"])
      expect((await site.rest("GET", `/imports?${wrong}`)).body["code"]).toBe("bad_request");
  });

  it("needs `provision`, and shows a limited token only its own devices", async () => {
    const site = await importing();
    const reader = await tokenFor(site, ["read", "call"]);
    expect((await site.rest("GET", "/imports", undefined, reader)).body["code"]).toBe("forbidden");
    expect((await site.rest("DELETE", `/imports/${third}`, undefined, reader)).body["code"]).toBe(
      "forbidden",
    );
    const line = await tokenFor(site, ["provision"], { tags: ["line-8"], ids: [second] });
    expect(await ids(site, "", line)).toEqual([second, third]);
    const foreign = await site.rest("DELETE", `/imports/${firstDevice}`, undefined, line);
    expect([foreign.status, foreign.body["code"]]).toEqual([404, "device_unknown"]);
    // The tags of a device that has connected count, no longer those of its row.
    await connect(site, third);
    await site.rest("PATCH", `/devices/${third}`, { tags: ["sold"] });
    expect(await ids(site, "", line)).toEqual([second]);
    expect((await site.rest("DELETE", `/imports/${third}`, undefined, line)).status).toBe(404);
    expect((await site.rest("DELETE", `/imports/${second}`, undefined, line)).status).toBe(204);
    expect(await ids(site)).toEqual([firstDevice, third]);
  });
});

describe("DELETE /imports/{device}", () => {
  it("takes a device off the list, which then no longer admits it", async () => {
    const site = await importing();
    expect((await site.rest("DELETE", "/imports/02-00-00-00-00-01")).status).toBe(204);
    const { body } = await new OtaBoard(site.url).ask();
    expect(Object.keys(body).sort()).toEqual(["firmware", "server_time"]);
    const again = await site.rest("DELETE", `/imports/${firstDevice}`);
    expect([again.status, again.body["code"]]).toEqual([404, "device_unknown"]);
  });

  it("leaves a device that has connected as it is", async () => {
    const site = await importing();
    await connect(site, firstDevice);
    expect((await site.rest("DELETE", `/imports/${firstDevice}`)).status).toBe(204);
    expect(await site.device(firstDevice)).toMatchObject({ online: true, tags: ["line-7"] });
  });
});

describe("the audit of imports", () => {
  it("names how many, the first few, and what finds them all", async () => {
    const mac = (number: number) => `02:00:00:00:01:${number.toString(16).padStart(2, "0")}`;
    const site = await importing(undefined, [{ id: "02-00-00-00-02-FF" }]);
    const batch = Array.from({ length: 200 }, (_, number) => ({ id: mac(number) }));
    await site.rest("POST", "/devices/import", { devices: batch });
    await site.rest("DELETE", `/imports/${mac(7)}`);
    const { body, text } = await site.rest("GET", "/audit");
    expect(text.length).toBeLessThan(4_000);
    const entries = body["entries"] as { action: string; detail: { importedAt: string } }[];
    const [removed, many, one] = entries.filter(({ action }) => action.endsWith("import"));
    expect(removed).toMatchObject({ action: "device.unimport", target: { type: "device", id: mac(7) } });
    expect(many).toMatchObject({
      target: { type: "device", id: "", name: "200 devices" },
      detail: { devices: 200, first: [0, 1, 2, 3, 4].map(mac) },
    });
    expect(one).toMatchObject({
      target: { id: "02:00:00:00:02:ff", name: "02:00:00:00:02:ff" },
      detail: { devices: 1 },
    });
    const found = await site.rest("GET", `/imports?importedAt=${many?.detail.importedAt}&q=:01:`);
    expect(found.body["total"]).toBe(199);
  });
});
