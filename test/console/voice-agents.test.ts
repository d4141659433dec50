/** The page of voice agents, with the simulated broker of an agent and a simulated tool provider. */
import { EndpointBroker, McpPipe } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSite } from "../site.ts";
import { openConsole } from "./browser.ts";

describe("the page of voice agents", () => {
  it("shows outgoing endpoints with their states, and what is connected to the gateway's own", async () => {
    const broker = await EndpointBroker.start({});
    onTestFinished(() => broker.stop());
    const endpoints = [
      { url: broker.url, token: "voice" },
      { url: "ws://127.0.0.1:9/mcp/?token=a-secret-in-the-address", token: "missing" },
    ];
    const site = await openSite({ config: { agents: { endpoints }, endpoint: { enabled: true } } });
    const scopes = ["endpoint", "read", "call"];
    const { body } = await site.rest("POST", "/tokens", { name: "voice", scopes });
    const { page, complaints } = await openConsole(site, "/voice-agents");
    await page.getByText("Nothing is connected to the gateway's own endpoint.").waitFor();
    const url = `${site.url.replace("http", "ws")}/mcp_endpoint/mcp/?token=${String(body["token"])}`;
    const pipe = new McpPipe({ url, name: "Calculator" });
    pipe.start();
    onTestFinished(() => pipe.stop());
    await page.getByRole("list", { name: "Connected tool providers" }).getByText("calculator").waitFor();
    await page.getByRole("listitem", { name: "127.0.0.1" }).first().getByText("Connected").waitFor();
    expect(await page.content()).not.toContain("a-secret-in-the-address");
    await page.getByRole("link", { name: "calculator" }).click();
    await page.getByRole("heading", { name: "calculator" }).waitFor();
    complaints.check();
  });
});
