/** `access.urlHosts` against an attacker: a stock board must not fetch from an unlisted address. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { VirtualDevice } from "@tendon/simulator";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import type { Fields, ToolEntry } from "../raw-device.ts";
import { firstDevice, type Site, startSite } from "../site.ts";

const upgrade = "self.upgrade_firmware";
const uri = { type: "string", format: "URI" };
let site: Site;
let board: VirtualDevice;
let attacker: http.Server;
let fetched = 0;
let evil = "";

function taking(name: string, inputSchema: Fields): ToolEntry {
  return {
    name,
    description: `Does ${name}`,
    inputSchema: { type: "object", properties: {}, ...inputSchema },
  };
}

beforeAll(async () => {
  attacker = http.createServer((_request, response) => {
    fetched += 1;
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => attacker.listen(0, "127.0.0.1", resolve));
  evil = `127.0.0.1:${(attacker.address() as AddressInfo).port}`;
  site = await startSite({ config: { access: { urlHosts: ["files.example", "*"] } } });
  board = new VirtualDevice({ url: site.tendon.addresses.deviceWebSocket, autoReconnect: false });
  await board.connect();
  await site.listed(board.id);
  await site.join({
    tools: [
      taking("named", { properties: { webHook: { type: "string" }, imageUrl: { type: "string" } } }),
      taking("formatted", { properties: { picture: uri } }),
      taking("others", { additionalProperties: uri }),
      taking("names", { propertyNames: uri }),
      taking("expressions", { patternProperties: { "^p": uri } }),
      taking("nested", {
        properties: { list: { type: "array", items: { $ref: "#/$defs/link" } } },
        $defs: { link: { anyOf: [{ type: "null" }, uri] } },
      }),
    ],
  });
});
beforeEach(() => {
  fetched = 0;
});
afterAll(async () => {
  await board.stop();
  await site.stop();
  attacker.closeAllConnections();
  await new Promise((resolve) => attacker.close(resolve));
});

async function outcome(device: string, tool: string, args: Fields): Promise<unknown> {
  const { body } = await site.call(device, tool, args);
  return body["code"];
}

describe("[ACC-5] a stock board", () => {
  it.each(["url", "uRl", "URL", "Url", "urL"])(
    "does not connect to an attacker's address in `%s`",
    async (name) => {
      expect(await outcome(board.id, upgrade, { [name]: `http://${evil}/image.bin` })).toBe("forbidden");
      // Everything before this answer has been carried out.
      await site.call(board.id, "self.get_device_status");
      expect(fetched).toBe(0);
    },
  );

  it.each([
    "HTTP://@/image.bin",
    "http:\\\\@/image.bin",
    "http:/\\@/image.bin",
    "http:@/image.bin",
    "ht\ttp://@/image.bin",
    "http://files.example@@/image.bin",
    "http://user:word@@/image.bin",
    "//@/image.bin",
    "@/image.bin",
    "x://@/image.bin",
    "http://files.example\\@@/image.bin",
    "http://files.example#@@/image.bin",
  ])("does not connect to it with %j", async (spelling) => {
    const at = spelling.lastIndexOf("@");
    const url = `${spelling.slice(0, at)}${evil}${spelling.slice(at + 1)}`;
    expect(["forbidden", "arguments_invalid"]).toContain(await outcome(board.id, upgrade, { uRl: url }));
    await site.call(board.id, "self.get_device_status");
    expect(fetched).toBe(0);
  });

  it("connects to an allowed address, so the attacker's server would have been reached", async () => {
    const open = await startSite({ config: { access: { urlHosts: ["127.0.0.1"] } } });
    const other = new VirtualDevice({ url: open.tendon.addresses.deviceWebSocket, autoReconnect: false });
    try {
      await other.connect();
      await open.listed(other.id);
      const answer = open.call(other.id, upgrade, { uRl: `http://${evil}/image.bin` }, { timeoutMs: 5_000 });
      await until(async () => fetched > 0, "the board at the listener");
      await answer;
    } finally {
      await other.stop();
      await open.stop();
    }
  });
});

describe("[ACC-5] a tool whose schema marks addresses", () => {
  it.each<[string, (url: string) => Fields]>([
    ["named", (url) => ({ wEbHook: url })],
    ["named", (url) => ({ ImageuRL: url })],
    ["formatted", (url) => ({ Picture: url })],
    ["others", (url) => ({ anything: url })],
    ["names", (url) => ({ [url]: 1 })],
    ["expressions", (url) => ({ q: url })],
    ["nested", (url) => ({ list: [null, url] })],
  ])("%s is not called with an unlisted address", async (tool, args) => {
    expect(await outcome(firstDevice, tool, args(`http://${evil}/`))).toBe("forbidden");
  });
});
