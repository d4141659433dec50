/** The page of voice agents, with simulated brokers of agents in every state. */
import { EndpointBroker, McpPipe } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
import { dial } from "../endpoint/frames.ts";
import { openSite } from "../site.ts";
import { openConsole } from "./browser.ts";
import { sharedConsole } from "./shared-console.ts";

const dayMs = 86_400_000;

/** A token as hosted agents use it in their addresses. */
function addressToken(agentId: number, days: number): string {
  const claims = { agentId, exp: Math.floor((Date.now() + days * dayMs) / 1_000) };
  return `head.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.simulated`;
}

describe("the page of voice agents", () => {
  let connected: EndpointBroker;
  let shares: EndpointBroker;
  const shared = sharedConsole({
    site: async (started) => {
      const broker = async (token: string, ...faults: string[]) => {
        const opened = await EndpointBroker.start({ token, faults });
        started.atEnd(() => opened.stop());
        return opened;
      };
      connected = await broker(addressToken(1, 200));
      shares = await broker(addressToken(2, 200), "replace");
      const closes = await broker(addressToken(3, 12), "close-4004");
      const endpoints = [
        ...[connected, shares, closes].map(({ url }) => ({ url, token: "voice" })),
        { url: `ws://127.0.0.1:9/mcp/?token=${addressToken(4, -1)}`, token: "missing" },
      ];
      return { config: { agents: { endpoints }, endpoint: { enabled: true } } };
    },
  });
  const row = (agent: number) => shared.page.getByRole("listitem", { name: `Agent ${agent}` });

  it("waits for the token of each endpoint, and then shows its state, errors, figures and expiry", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/voice-agents");
    for (const agent of [1, 2, 3, 4]) await row(agent).getByText("Waiting for its token").waitFor();
    await row(4).getByText("tendon token create missing").waitFor();
    await row(4).getByText("The address expired on").waitFor();

    await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    await row(1).getByText("Connected", { exact: true }).waitFor();
    await row(1).getByText("Token voice · View compact").waitFor();
    await row(1).getByText("7 tools shown · 0 calls in the last hour").waitFor();
    expect(await row(1).textContent()).not.toMatch(/Last error|Next attempt|Expires soon/);
    await connected.call("devices_list", {});
    await row(1).getByText("7 tools shown · 1 call in the last hour").waitFor();

    await row(3).getByText("Retrying", { exact: true }).waitFor();
    await row(3).getByText("Last error: it closed the connection (4004: Internal server error)").waitFor();
    await row(3)
      .getByText(/^Next attempt \d/)
      .waitFor();
    await row(3).getByText("Expires soon").waitFor();
    await row(3).getByText("Copy the new address from the agent's console").waitFor();

    await row(2).getByText("Connected", { exact: true }).waitFor();
    const other = new McpPipe({ url: shares.url });
    other.start();
    await row(2).getByText("Used by another program", { exact: true }).waitFor();
    await row(2).getByText("End one of them, or give each its own agent").waitFor();
    await row(2)
      .getByText(/^Next attempt \d/)
      .waitFor();
    other.stop();
    expect(await page.content()).not.toContain(".simulated");
    complaints.check();
  });

  it("lists what is connected to the gateway's own endpoint, with links to the devices", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/voice-agents");
    await page.getByText("Nothing is connected to the gateway's own endpoint.").waitFor();
    const scopes = ["endpoint", "read", "call"];
    const { body } = await site.rest("POST", "/tokens", { name: "house", scopes });
    const base = `${site.url.replace("http", "ws")}/mcp_endpoint`;
    const pipe = new McpPipe({ url: `${base}/mcp/?token=${String(body["token"])}`, faults: ["noise"] });
    pipe.start();
    const provider = page.getByRole("list", { name: "Connected tool providers" }).getByRole("listitem");
    await provider.getByText(/^Token house · since .* · Ignored frames: [1-9]\d* frames$/).waitFor();
    const caller = await dial(`${base}/call/?token=${String(body["token"])}`);
    await page
      .getByRole("list", { name: "Connected voice servers" })
      .getByText(/^Token house · Tools not listed yet · 0 calls in the last hour · since/)
      .waitFor();
    caller.socket.close();
    await provider.getByRole("link", { name: "calculator" }).click();
    await page.getByRole("heading", { name: "calculator" }).waitFor();
    complaints.check();
    pipe.stop();
  });
});

describe("the page of voice agents without any", () => {
  it("shows the settings to write, and a link to the guide", async () => {
    const site = await openSite();
    const { page, complaints } = await openConsole(site, "/voice-agents");
    await page.getByText("No voice agents").waitFor();
    const settings = page.getByRole("figure", { name: "tendon.yaml" });
    expect(await settings.allTextContents()).toEqual([
      expect.stringContaining("agents:\n  endpoints:\n    - url: wss://"),
      "endpoint:\n  enabled: true",
    ]);
    await page.getByText("token create voice --scope read call").waitFor();
    await page.getByRole("link", { name: "Read the guide" }).click();
    await page.getByRole("heading", { name: "Voice agents", level: 1 }).waitFor();

    await page.goto(`${site.url}/?add=provider`);
    await page.getByRole("dialog").getByText("The MCP endpoint is off").waitFor();
    await page.getByRole("dialog").getByRole("figure", { name: "tendon.yaml" }).waitFor();
    expect(await page.getByRole("button", { name: "Create address" }).count()).toBe(0);
    complaints.check();
  });
});
