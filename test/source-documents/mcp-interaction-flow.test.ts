/** "MCP (Model Context Protocol) Interaction Flow", the present edition, with user-only tools. */
import { describe, expect, it } from "vitest";
import { as, makeToken } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { openAgent } from "../mcp/agent.ts";
import { MqttApp } from "../mqtt-app.ts";
import { protocolSections } from "./protocol-sections.ts";
import { boardAnswer, protocolSite, toolNamesIn } from "./protocol-site.ts";

const page = protocolSite();
const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const withUserTools = { cursor: "", withUserTools: true };
const systemInfo = "self.get_system_info";

protocolSections("mcp-interaction-flow", page);

describe("User-only Tools", () => {
  it("are hidden from a standard list: reboot, firmware upgrade, screen snapshot and others", async () => {
    const standard = toolNamesIn((await page().send(list)).body);
    const { body } = await page().send({ ...list, params: withUserTools });
    const hidden = toolNamesIn(body).filter((name) => !standard.includes(name));
    for (const name of ["self.reboot", "self.upgrade_firmware", "self.screen.snapshot"]) {
      expect(hidden).toContain(name);
    }
    const { tools } = body["result"] as unknown as { tools: { name: string; annotations?: unknown }[] };
    const marked = tools.filter(({ annotations }) => annotations !== undefined);
    expect(marked.map(({ name }) => name)).toEqual(hidden);
    for (const { annotations } of marked) expect(annotations).toEqual({ audience: ["user"] });
  });

  it("are registered apart from regular tools", async () => {
    const { board } = page();
    board.addTool("self.lamp.on", "Turns the lamp on", {}, () => true);
    board.addUserOnlyTool("self.lamp.test", "Tests the lamp", {}, () => true);
    board.notify("notifications/tools/list_changed");
    const standard = await until(async () => {
      const names = toolNamesIn((await page().send(list)).body);
      return names.includes("self.lamp.on") ? names : undefined;
    }, "the new tool");
    expect(standard).not.toContain("self.lamp.test");
    expect(toolNamesIn((await page().send({ ...list, params: withUserTools })).body)).toContain(
      "self.lamp.test",
    );
  });

  it("the AI sees regular tools by default, and neither sees nor calls user-only ones", async () => {
    const { site, board } = page();
    const { token } = await makeToken(site, { name: "agent", scopes: ["read", "call"] });
    const agent = await openAgent(site, "modern", {
      token,
      at: `/mcp/devices/${encodeURIComponent(board.id)}`,
    });
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("audio_speaker_set_volume");
    expect(names.filter((name) => /reboot|upgrade|snapshot/.test(name))).toEqual([]);
    const path = `/devices/${board.id}/tools/self.reboot/call`;
    const { status, body } = await site.rest("POST", path, { arguments: {} }, as(token));
    expect([status, body["code"]]).toEqual([403, "forbidden"]);
    expect(board.connected).toBe(true);
  });

  it("the firmware differs: it hides them in the list only, and runs them for every caller", async () => {
    const call = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: systemInfo } };
    expect(await boardAnswer(call)).toMatchObject({ id: 3, result: { isError: false } });
  });

  it("a companion app runs them for a person, with the scope call:user", async () => {
    const { site, board } = page();
    const { token } = await makeToken(site, { name: "companion", scopes: ["read", "call", "call:user"] });
    const call = async (tool: string) => {
      const path = `/devices/${board.id}/tools/${tool}/call`;
      const { status, body } = await site.rest("POST", path, { arguments: {} }, as(token));
      expect(status).toBe(200);
      return body["result"];
    };
    expect(await call(systemInfo)).toMatchObject({ isError: false });
    // The gateway receives the picture of the screen itself.
    expect(await call("self.screen.snapshot")).toMatchObject({
      content: [
        { type: "text", text: "true" },
        { type: "image", mimeType: "image/jpeg" },
      ],
    });
    const app = await MqttApp.open(site, { token });
    const topic = `tendon/devices/${board.id}/call`;
    await app.wire.subscribe(`${topic}/reply`);
    expect(await app.ask(topic, { request_id: "r", tool: systemInfo })).toMatchObject({ ok: true });
  });
});
