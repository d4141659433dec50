import { describe, expect, it } from "vitest";
import { Targets } from "../../src/agent/webhooks/targets.ts";

function targets(allowHosts: string[], ...addresses: string[]): Targets {
  return new Targets(allowHosts, async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
  );
}

const hook = new URL("https://hooks.example/path");

describe("the target of a webhook", () => {
  it("is resolved to the addresses that are connected to", async () => {
    expect(await targets([], "93.184.216.34").resolve(hook)).toEqual([
      { address: "93.184.216.34", family: 4 },
    ]);
  });

  it.each([
    "10.1.2.3",
    "127.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "fd00::1",
    "fe80::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
  ])("is refused if its name resolves to %s, alone or beside a public address", async (address) => {
    const error = /resolves to a private address/;
    await expect(targets([], address).resolve(hook)).rejects.toThrow(error);
    await expect(targets([], "93.184.216.34", address).resolve(hook)).rejects.toThrow(error);
    await expect(targets(["hooks.example:8443"], address).resolve(hook)).rejects.toThrow(error);
    expect(await targets(["hooks.example"], address).resolve(hook)).toHaveLength(1);
    expect(await targets(["hooks.example:443"], address).resolve(hook)).toHaveLength(1);
  });

  it("must be listed itself: the address that a name resolves to does not count", async () => {
    await expect(targets(["10.0.0.1"], "10.0.0.1").resolve(hook)).rejects.toThrow(/private/);
    const direct = new URL("http://10.0.0.1:1880/hook");
    expect(await targets(["10.0.0.1:1880"]).resolve(direct)).toEqual([{ address: "10.0.0.1", family: 4 }]);
    await expect(targets(["10.0.0.1:1881"]).resolve(direct)).rejects.toThrow(/allowHosts/);
  });

  it("is refused without an address", async () => {
    await expect(targets([]).resolve(hook)).rejects.toThrow(/no address/);
  });
});
