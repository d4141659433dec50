import http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Sender } from "../../src/agent/webhooks/sender.ts";
import { Targets } from "../../src/agent/webhooks/targets.ts";
import type { Resolve } from "../../src/checked-addresses.ts";
import { systemClock } from "../../src/clock.ts";

async function receiver(): Promise<{ readonly port: number; readonly hosts: string[]; close(): void }> {
  const hosts: string[] = [];
  const server = http.createServer((request, response) => {
    hosts.push(String(request.headers.host));
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, hosts, close };
}

function senderOf(allowHosts: string[], resolve: Resolve): Sender {
  const sender = new Sender({ clock: systemClock, targets: new Targets(allowHosts, resolve) });
  onTestFinished(() => sender.stop());
  return sender;
}

const here: Resolve = async () => [{ address: "127.0.0.1", family: 4 }];
const { signal } = new AbortController();

describe("a request to a receiver", () => {
  it("goes to the address that was checked, with the name as its host", async () => {
    const { port, hosts } = await receiver();
    // No DNS server knows this name.
    const sender = senderOf(["hooks.invalid"], here);
    const url = `http://hooks.invalid:${port}/`;
    expect(await sender.send(url, {}, "{}", signal)).toMatchObject({ ok: true, status: 204 });
    expect(hosts).toEqual([`hooks.invalid:${port}`]);
  });

  it("is not made if the name now leads to a private address", async () => {
    const { port, hosts } = await receiver();
    const sender = senderOf([], here);
    const result = await sender.send(`https://hooks.invalid:${port}/`, {}, "{}", signal);
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining("private address") });
    expect(hosts).toEqual([]);
  });

  it("is made again if the receiver has closed the idle connection", async () => {
    const first = await receiver();
    const sender = senderOf(["127.0.0.1"], here);
    const url = `http://127.0.0.1:${first.port}/`;
    for (let index = 0; index < 3; index += 1)
      expect(await sender.send(url, {}, "{}", signal)).toMatchObject({ ok: true });
    first.close();
    expect(await sender.send(url, {}, "{}", signal)).toMatchObject({ ok: false, error: "ECONNREFUSED" });
  });

  it("fails without the address in its reason, and ends with its caller", async () => {
    const slow: Resolve = () => new Promise(() => {});
    const stop = new AbortController();
    const sending = senderOf(["hooks.invalid"], slow).send("http://hooks.invalid/key", {}, "{}", stop.signal);
    stop.abort();
    expect(await sending).toBeUndefined();
    const unknown: Resolve = async () => {
      throw Object.assign(new Error("getaddrinfo ENOTFOUND hooks.invalid"), { code: "ENOTFOUND" });
    };
    const result = await senderOf([], unknown).send("https://hooks.invalid/key", {}, "{}", signal);
    expect(result).toMatchObject({ ok: false, error: "ENOTFOUND" });
  });
});
