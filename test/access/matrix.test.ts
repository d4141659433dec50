/**
 * Access as one table: the caller (columns) and the call (rows), through every interface. All interfaces must give the
 * same answer, and the device must receive exactly the calls that were answered with `ok`.
 */
import type { TokenRequest } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { firstDevice, openSite, type Site } from "../site.ts";
import { openInterfaces } from "./interfaces.ts";
import { as, makeToken } from "./tokens.ts";

const config = {
  access: {
    urlHosts: ["files.example"],
    rules: [
      { tool: "asked*", effect: "confirm" as const },
      { tool: "never*", effect: "deny" as const },
      { tool: "never*", effect: "allow" as const },
      { tool: "welcome*", effect: "allow" as const },
      { tool: "level", args: { level: { min: 50 } }, effect: "confirm" as const },
      { tool: "level", args: { level: { min: 90 } }, effect: "deny" as const },
      { tool: "not_for_*", principal: "kiosk", effect: "deny" as const },
      { tool: "tagged", tag: "lab", effect: "deny" as const },
      { tool: "tagged", tag: "garden", effect: "confirm" as const },
      { tool: "elsewhere", device: "02:00:00:00:00:77", effect: "deny" as const },
    ],
  },
};

const level = { level: { type: "integer", minimum: 0, maximum: 100, default: 10 } };
const url = { url: { type: "string" } };
const offer = {
  tools: [
    ...["plain", "welcome", "asked", "never", "not_for_kiosks", "tagged", "elsewhere"].map((name) =>
      tool(name),
    ),
    tool("level", level),
    tool("fetch", url),
    tool("inside", { url: { type: "string", default: "http://10.0.0.1/x" } }),
    tool("outside", { url: { type: "string", default: "https://files.example/a" } }),
    tool("sentence", { url: { type: "string", default: "The URL of the file" } }),
    tool("nowhere", { url: { type: "string", default: "" } }),
    {
      ...tool("parted"),
      inputSchema: {
        type: "object",
        properties: {},
        allOf: [{ properties: { url: { type: "string", default: "http://10.0.0.1/" } } }],
      },
    },
    tool("deep", {
      target: { type: "object", properties: { uri: { type: "string", default: "http://10.0.0.1/" } } },
    }),
  ],
  userTools: ["secret", "welcome_user", "asked_user", "never_user"].map((name) => tool(name)),
};

const askers: Readonly<Record<string, Partial<TokenRequest>>> = {
  reader: { name: "reader", scopes: ["read", "provision"] },
  agent: { name: "agent", scopes: ["call"] },
  kiosk: { name: "kiosk", scopes: ["read", "call"] },
  person: { name: "person", scopes: ["call", "call:user"] },
  admin: { name: "boss", scopes: ["admin"] },
  stranger: { name: "stranger", scopes: ["admin"], devices: { ids: ["02:00:00:00:00:99"] } },
};

const names = Object.keys(askers);
const [no, ask, yes] = ["forbidden", "approval_required", "ok"];
const hidden = "device_unknown";

/** Per row: tool, arguments, and the answers for reader, agent, kiosk, person, admin and stranger. */
const table: readonly (readonly [string, Fields, ...string[]])[] = [
  ["plain", {}, no, yes, yes, yes, yes, hidden],
  ["secret", {}, no, no, no, yes, yes, hidden],
  ["welcome", {}, no, yes, yes, yes, yes, hidden],
  ["welcome_user", {}, no, no, no, yes, yes, hidden],
  ["asked", {}, no, ask, ask, ask, ask, hidden],
  ["asked_user", {}, no, ask, ask, ask, ask, hidden],
  ["never", {}, no, no, no, no, no, hidden],
  ["never_user", {}, no, no, no, no, no, hidden],
  ["not_for_kiosks", {}, no, yes, no, yes, yes, hidden],
  ["tagged", {}, no, no, no, no, no, hidden],
  ["elsewhere", {}, no, yes, yes, yes, yes, hidden],
  ["level", {}, no, yes, yes, yes, yes, hidden],
  ["level", { level: 49 }, no, yes, yes, yes, yes, hidden],
  ["level", { level: 50 }, no, ask, ask, ask, ask, hidden],
  ["level", { LEVEL: 60 }, no, ask, ask, ask, ask, hidden],
  ["level", { level: 90 }, no, no, no, no, no, hidden],
  ["level", { level: -1 }, ...all("arguments_invalid")],
  // By the order of errors, approval is checked before the arguments.
  ["level", { level: 70, n: 3e9 }, no, ask, ask, ask, ask, hidden],
  ["fetch", { url: "https://files.example/a" }, no, yes, yes, yes, yes, hidden],
  ["fetch", { url: "https://evil.test/a" }, no, no, no, no, no, hidden],
  ["fetch", { url: "http://169.254.169.254/" }, no, no, no, no, no, hidden],
  ["fetch", { url: "http://0x7f.1/" }, no, no, no, no, no, hidden],
  ["fetch", { url: "no address" }, ...all("arguments_invalid")],
  [
    "fetch",
    { url: "https://files.example/a", deep: [{ uri: "ftp://files.example/" }] },
    no,
    no,
    no,
    no,
    no,
    hidden,
  ],
  // Without the argument, the device uses its default.
  ["inside", {}, no, no, no, no, no, hidden],
  ["inside", { url: "https://files.example/a" }, no, yes, yes, yes, yes, hidden],
  ["inside", { URL: "https://files.example/a" }, no, yes, yes, yes, yes, hidden],
  ["inside", { URL: 5 }, no, no, no, no, no, hidden],
  ["inside", { url: null }, no, no, no, no, no, hidden],
  ["outside", {}, no, yes, yes, yes, yes, hidden],
  ["sentence", {}, ...all("arguments_invalid")],
  ["sentence", { url: "https://files.example/a" }, no, yes, yes, yes, yes, hidden],
  ["nowhere", {}, no, yes, yes, yes, yes, hidden],
  ["parted", {}, no, no, no, no, no, hidden],
  ["parted", { url: "https://files.example/a" }, no, yes, yes, yes, yes, hidden],
  ["deep", {}, no, yes, yes, yes, yes, hidden],
  ["deep", { target: {} }, no, no, no, no, no, hidden],
  ["asked", { url: "https://evil.test/" }, no, no, no, no, no, hidden],
  ["plain", { callbackUrl: "https://evil.test/" }, no, no, no, no, no, hidden],
];

function all(code: string): string[] {
  return ["forbidden", code, code, code, code, hidden];
}

/** Answers every call, and returns their number. */
function answering(device: RawDevice): () => number {
  let count = 0;
  const answer = async () => {
    for (;;) {
      const { id } = await device.nextRequest("tools/call");
      count += 1;
      device.reply(id, textContent("done"));
    }
  };
  // Ends with the connection, at the end of the test.
  answer().catch(() => undefined);
  return () => count;
}

async function open(): Promise<{ readonly site: Site; readonly calls: () => number }> {
  const site = await openSite({ config });
  const device = await site.join(offer);
  await site.rest("PATCH", `/devices/${firstDevice}`, { tags: ["lab", "garden"] });
  return { site, calls: answering(device) };
}

describe("access", () => {
  it.each(names.map((name, column) => [name, column] as const))(
    "[ACC-8] to %s is the same through every interface",
    async (name, column) => {
      const { site, calls } = await open();
      const { token } = await makeToken(site, askers[name] ?? {});
      for (const [name, call] of await openInterfaces(site, token)) {
        const before = calls();
        const found: [string, Fields, string][] = [];
        for (const [asked, args] of table) {
          const { code, approvalId } = await call(firstDevice, asked, args);
          expect(approvalId !== undefined, `${name} ${asked}`).toBe(code === ask);
          found.push([asked, args, code]);
        }
        const expected = table.map(([asked, args, ...codes]) => [asked, args, codes[column]]);
        expect(found, name).toEqual(expected);
        expect(calls() - before, name).toBe(expected.filter(([, , code]) => code === yes).length);
      }
    },
    60_000,
  );

  it("[APR-1, ACC-8] creates one approval for calls through all interfaces, and accepts it through any", async () => {
    const { site, calls } = await open();
    const agent = await makeToken(site, { name: "agent", scopes: ["call"] });
    const interfaces = await openInterfaces(site, agent.token);
    const ids = new Set<string | undefined>();
    for (const [name, call] of interfaces)
      if (name !== "fan-out") ids.add((await call(firstDevice, "asked_user", {})).approvalId);
    expect(ids.size).toBe(1);
    for (const [name, call] of interfaces) {
      const { approvalId } = await call(firstDevice, "asked_user", {});
      expect((await site.rest("POST", `/approvals/${approvalId}/approve`)).status).toBe(200);
      const before = calls();
      expect((await call(firstDevice, "asked_user", {})).code, name).toBe(yes);
      expect((await call(firstDevice, "asked_user", {})).code, name).toBe(ask);
      expect(calls() - before, name).toBe(1);
    }
  });

  it("[CTL-5] to an unlisted function counts as user-only, with the rules for its name", async () => {
    const { site } = await open();
    const results: Record<string, string[]> = {};
    for (const name of ["agent", "person"]) {
      const { token } = await makeToken(site, askers[name] ?? {});
      const interfaces = await openInterfaces(site, token);
      for (const asked of ["unlisted", "never_listed", "asked_unlisted"]) {
        const codes = await Promise.all(
          ["REST control", "MQTT control"].map(
            async (over) => (await interfaces.get(over)?.(firstDevice, asked, {}))?.code,
          ),
        );
        results[`${name} ${asked}`] = codes.map(String);
        for (const over of ["REST call", "MQTT call", "raw JSON-RPC", "fan-out"]) {
          const { code } = (await interfaces.get(over)?.(firstDevice, asked, {})) ?? {};
          // A rule can deny the name; otherwise the name is unknown to every caller.
          expect(code, `${name} ${over} ${asked}`).toBe(asked === "never_listed" ? no : "tool_unknown");
        }
      }
    }
    expect(results).toEqual({
      "agent unlisted": [no, no],
      "agent never_listed": [no, no],
      "agent asked_unlisted": [ask, ask],
      "person unlisted": [yes, yes],
      "person never_listed": [no, no],
      "person asked_unlisted": [ask, ask],
    });
  });

  it("[ACC-8] to other JSON-RPC methods needs `admin`, with the same rules", async () => {
    const site = await openSite({
      config: {
        access: {
          rules: [
            { tool: "resources/read", effect: "deny" },
            { tool: "ask/*", effect: "confirm" },
          ],
        },
      },
    });
    const device = await site.join(offer);
    const { token } = await makeToken(site, { scopes: ["read", "call", "call:user"] });
    const rpc = async (method: string, params: Fields = {}, headers: Record<string, string> = {}) => {
      const { body } = await site.rest(
        "POST",
        `/devices/${firstDevice}/mcp`,
        { jsonrpc: "2.0", id: 7, method, params },
        headers,
      );
      return (body["error"] as { data: Fields } | undefined)?.data ?? { code: yes };
    };
    expect((await rpc("other/method", {}, as(token)))["code"]).toBe(no);
    expect((await rpc("resources/read"))["code"]).toBe(no);
    expect((await rpc("other/method", { url: "http://evil.test/" }))["code"]).toBe(no);
    expect((await rpc("other/method", { url: "nonsense" }))["code"]).toBe("arguments_invalid");
    const { code, approvalId } = await rpc("ask/me");
    expect(code).toBe(ask);
    expect((await site.rest("POST", `/approvals/${approvalId}/approve`, undefined, as(token))).status).toBe(
      200,
    );
    expect(await device.quiet()).toEqual([]);
    const answer = rpc("ask/me");
    device.reply((await device.nextRequest("ask/me")).id, {});
    expect((await answer)["code"]).toBe(yes);
  });

  it("[ACC-1] stays with a renamed device, and follows its tags", async () => {
    const site = await openSite({
      config: {
        access: {
          rules: [
            { device: "desk", effect: "deny" },
            { tag: "sealed", effect: "deny" },
          ],
        },
      },
    });
    await site.join(offer);
    const codeOf = async () => (await site.call(firstDevice, "missing")).body["code"];
    const change = async (body: object) => await site.rest("PATCH", `/devices/${firstDevice}`, body);
    expect(await codeOf()).toBe("tool_unknown");
    await change({ alias: "desk" });
    expect(await codeOf()).toBe(no);
    await change({ alias: "kitchen" });
    expect(await codeOf()).toBe(no);
    const other = await site.join({ ...offer, deviceId: "02:00:00:00:00:02" });
    const ofOther = async () => (await site.call(other.id, "missing")).body["code"];
    expect(await ofOther()).toBe("tool_unknown");
    await site.rest("PATCH", `/devices/${other.id}`, { tags: ["sealed"] });
    expect(await ofOther()).toBe(no);
    await site.rest("PATCH", `/devices/${other.id}`, { tags: [] });
    expect(await ofOther()).toBe("tool_unknown");
  });

  it("[ACC-4] is shown in lists as calls then find it", async () => {
    const { site } = await open();
    const shown = async (name: string) => {
      const { token } = await makeToken(site, {
        ...askers[name],
        scopes: ["read", ...(askers[name]?.scopes ?? [])],
      });
      const { body } = await site.rest(
        "GET",
        `/devices/${firstDevice}/tools?user=true`,
        undefined,
        as(token),
      );
      const tools = body["tools"] as { name: string; access: string; argumentsDecide?: boolean }[];
      return Object.fromEntries(
        tools.map(({ name: tool, access, argumentsDecide }) => [
          tool,
          argumentsDecide === true ? `${access}+` : access,
        ]),
      );
    };
    expect(await shown("kiosk")).toEqual({
      plain: "allowed",
      welcome: "allowed",
      asked: "confirm",
      never: "denied",
      not_for_kiosks: "denied",
      tagged: "denied",
      elsewhere: "allowed",
      level: "allowed+",
      fetch: "allowed",
      inside: "allowed",
      outside: "allowed",
      sentence: "allowed",
      nowhere: "allowed",
      parted: "allowed",
      deep: "allowed",
      secret: "denied",
      welcome_user: "denied",
      asked_user: "confirm",
      never_user: "denied",
    });
    expect(await shown("person")).toMatchObject({
      secret: "allowed",
      asked_user: "confirm",
      never_user: "denied",
    });
    expect(await shown("reader")).toMatchObject({ plain: "denied", asked: "denied", level: "denied" });
  });
});
