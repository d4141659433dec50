/** The figures of MCP endpoints and of devices that are not boards. */
import { EndpointBroker, McpPipe } from "@tendon/simulator";
import { expect, it, onTestFinished } from "vitest";
import { online, openServer } from "../http-devices/servers.ts";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { makeToken, providerUrl } from "./provider.ts";

it("counts the calls of voice agents, devices by kind, and the frames of a provider that are not JSON", async () => {
  const server = await openServer();
  const broker = await EndpointBroker.start();
  onTestFinished(() => broker.stop());
  const site = await openSite({
    config: {
      agents: { endpoints: [{ url: broker.url, token: "house", view: "device:lamp" }] },
      endpoint: { enabled: true },
      devices: { http: [{ alias: "lamp", url: server.url }] },
    },
  });
  await online(site);
  const token = await makeToken(site);
  await until(() => broker.tools.includes("echo"), "the tools of the lamp");
  expect(await broker.call("echo", { text: "hello" })).toMatchObject({ failed: false });
  expect(await broker.call("fail", {})).toMatchObject({ failed: true });
  const url = providerUrl(site, token).replace("http", "ws");
  const pipe = new McpPipe({ url, faults: ["noise"] });
  pipe.start();
  onTestFinished(() => pipe.stop());
  await online(site, "calculator");

  const { body } = await site.rest("GET", "/endpoints");
  const { providers } = body["incoming"] as { providers: { ignoredFrames: number }[] };
  expect(providers).toMatchObject([{ device: "calculator", token: "house", ignoredFrames: 3 }]);
  expect(await site.metric('tendon_endpoint_calls_total{outcome="ok"}')).toBe(1);
  expect(await site.metric('tendon_endpoint_calls_total{outcome="tool_error"}')).toBe(1);
  expect(await site.metric('tendon_devices_online_by_kind{kind="http"}')).toBe(1);
  expect(await site.metric('tendon_devices_online_by_kind{kind="endpoint"}')).toBe(1);
  await site.rest("POST", "/devices/lamp/tools/echo/call", { arguments: { text: "again" } });
  expect(await site.metric('tendon_endpoint_calls_total{outcome="ok"}')).toBe(1);
});
