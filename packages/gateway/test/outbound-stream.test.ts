/** [HTD-3] [HTD-4] Where requests to MCP servers may go, and how much they may answer. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deviceAddressProblem, type ResolvedAddress } from "../src/checked-addresses.ts";
import { systemClock } from "../src/clock.ts";
import { OutboundStream } from "../src/outbound-stream.ts";

describe("addresses of devices", () => {
  it.each([
    "169.254.169.254",
    "169.254.1.1",
    "fe80::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fd00:ec2::254",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "255.255.255.255",
    "not an address",
  ])("%s is refused", (address) => expect(deviceAddressProblem(address)).toBeTypeOf("string"));

  it.each([
    "192.168.1.20",
    "10.0.0.1",
    "127.0.0.1",
    "::1",
    "fd12::1",
    "100.64.0.7",
    "8.8.8.8",
    "2001:4860::1",
  ])("%s is allowed", (address) => expect(deviceAddressProblem(address)).toBeUndefined());
});

describe("requests to an MCP server", () => {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/redirect") response.writeHead(307, { location: "/elsewhere" }).end();
    else if (request.url === "/large") response.end("x".repeat(2_000));
    else if (request.url === "/stream") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      response.end(`data: ${"x".repeat(2_000)}`);
    } else response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const open = (addresses: readonly string[]) =>
    new OutboundStream({
      clock: systemClock,
      maxBytes: 1_000,
      connectMs: 5_000,
      check: deviceAddressProblem,
      resolve: async () => addresses.map((address): ResolvedAddress => ({ address, family: 4 })),
      onStream: () => undefined,
      onBytes: () => undefined,
    });
  const at = (path: string) => `http://host.test:${(server.address() as AddressInfo).port}${path}`;

  it("go to the addresses that were checked", async () => {
    const outbound = open(["127.0.0.1"]);
    expect(await (await outbound.fetch(at("/"), { method: "POST", body: "{}" })).json()).toEqual({});
    outbound.stop();
  });

  it.each([[["169.254.169.254"]], [["127.0.0.1", "169.254.169.254"]], [[]]])(
    "are refused if a name leads to %j",
    async (addresses) => {
      const before = asked.length;
      const outbound = open(addresses);
      await expect(outbound.fetch(at("/"))).rejects.toMatchObject({ kind: "refused", sent: false });
      expect(asked).toHaveLength(before);
      outbound.stop();
    },
  );

  it("do not follow redirects", async () => {
    const outbound = open(["127.0.0.1"]);
    expect((await outbound.fetch(at("/redirect"))).status).toBe(307);
    expect(asked).not.toContain("/elsewhere");
    outbound.stop();
  });

  it("end when the answer, or one event, is too large", async () => {
    const outbound = open(["127.0.0.1"]);
    await expect(outbound.fetch(at("/large"))).rejects.toMatchObject({ kind: "too_large" });
    const stream = await outbound.fetch(at("/stream"));
    await expect(stream.text()).rejects.toMatchObject({ kind: "too_large" });
    outbound.stop();
  });

  it("say that nothing was sent if there is no connection", async () => {
    const closed = http.createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const outbound = open(["127.0.0.1"]);
    await expect(outbound.fetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      kind: "lost",
      sent: false,
      message: "ECONNREFUSED",
    });
    outbound.stop();
  });
});
