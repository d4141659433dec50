import { EndpointBroker, McpPipe } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import type { Fields } from "../raw-device.ts";
import { openSite } from "../site.ts";

const scopes = ["endpoint", "read", "call"];

describe("the simulated broker and pipe", () => {
  it("carry a call from the agent over the gateway to the provider, with the faults of both", async () => {
    const broker = await EndpointBroker.start({ faults: ["string-ids", "pipelined", "noise"] });
    onTestFinished(() => broker.stop());
    const endpoints = [{ url: broker.url, token: "voice", view: "flat" }];
    const site = await openSite({ config: { endpoint: { enabled: true }, agents: { endpoints } } });
    const { body } = await site.rest("POST", "/tokens", { name: "pipes", scopes });
    const url = `${site.url.replace("http", "ws")}/mcp_endpoint/mcp/?token=${String(body["token"])}`;
    for (const name of ["Calculator", "Weather"]) {
      const pipe = new McpPipe({ url, name, faults: ["noise"] });
      pipe.start();
      onTestFinished(() => pipe.stop());
      await until(async () => (await site.device(name.toLowerCase()))["online"] === true, name);
    }
    await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    await until(
      () => broker.tools.includes("calculator__add") && broker.tools.includes("weather__add"),
      "tools",
    );
    expect(await broker.call("calculator__add", { a: 2, b: 3 })).toEqual({ text: "5", failed: false });
    expect(await broker.call("calculator__add", {})).toMatchObject({ failed: true });
    const { body: list } = await site.rest("GET", "/endpoints");
    expect((list["endpoints"] as Fields[])[0]).toMatchObject({
      state: "connected",
      callsLastHour: 2,
      agent: "1000001",
    });
  });

  it("close with 4004 by fault, and the gateway comes back", async () => {
    const events: string[] = [];
    const broker = await EndpointBroker.start({
      faults: ["close-4004"],
      onEvent: ({ kind }) => events.push(kind),
    });
    onTestFinished(() => broker.stop());
    const site = await openSite({ config: { agents: { endpoints: [{ url: broker.url, token: "voice" }] } } });
    await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    await until(() => events.filter((kind) => kind === "listed").length >= 2, "the second connection");
    expect(events.slice(0, 3)).toEqual(["connected", "listed", "disconnected"]);
  });

  it("refuse unknown faults and addresses", async () => {
    await expect(EndpointBroker.start({ faults: ["no-such"] })).rejects.toThrow("Unknown fault no-such");
    expect(() => new McpPipe({ url: "http://x" })).toThrow("must begin with ws://");
    expect(() => new McpPipe({ url: "ws://x", faults: ["no-such"] })).toThrow("Unknown fault no-such");
  });
});
