/** Wrong names: every interface suggests similar or valid ones, without revealing hidden names. */
import { describe, expect, it } from "vitest";
import { run, tokenWith } from "./functions.ts";
import { openAgent, textOf } from "./mcp/agent.ts";
import { MqttApp } from "./mqtt-app.ts";
import { type RawDevice, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site, type SiteOptions } from "./site.ts";

const secondDevice = "02:00:00:00:00:02";
const volume = "self.audio_speaker.set_volume";

async function twoDevices(config: SiteOptions["config"] = {}): Promise<Site> {
  const site = await openSite({ config });
  const offer = { tools: [tool(volume), tool("self.light.blink")], userTools: [tool("self.reboot")] };
  await site.join(offer);
  await site.join({ deviceId: secondDevice, ...offer });
  await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "kitchen" });
  await site.rest("PATCH", `/devices/${secondDevice}`, { alias: "bedroom" });
  return site;
}

const as = (token: string) => ({ authorization: `Bearer ${token}` });

async function detail(site: Site, device: string, toolName: string, token?: string): Promise<unknown> {
  const at = `/devices/${encodeURIComponent(device)}/tools/${encodeURIComponent(toolName)}/call`;
  const { body } = await site.rest("POST", at, { arguments: {} }, token === undefined ? {} : as(token));
  return body["detail"];
}

describe("an unknown device", () => {
  const unknown = (name: string) => `no device has the id or alias \`${name}\``;

  it.each([
    ["kitchn", "kitchen"],
    ["Kitchen", "kitchen"],
    ["bedrom", "bedroom"],
    ["02:00:00:00:00:12", secondDevice],
    ["0200000002", undefined],
    ["lamp", undefined],
  ])("named %s gets the suggestion %s", async (name, meant) => {
    const site = await twoDevices();
    const near = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
    expect(await detail(site, name, volume)).toBe(`${unknown(name)}${near}`);
  });

  it("gets suggestions at every interface", async () => {
    const site = await twoDevices();
    const meant = `${unknown("kitchn")}; did you mean \`kitchen\`?`;
    expect((await site.rest("GET", "/devices/kitchn")).body["detail"]).toBe(meant);
    for (const [method, at] of [
      ["POST", "/devices/kitchn/revoke"],
      ["DELETE", "/devices/kitchn"],
      ["POST", "/devices/kitchn/approve"],
    ] as const)
      expect((await site.rest(method, at)).body).toMatchObject({ code: "device_unknown", detail: meant });
    const control = { type: "device_control", action: "volume_up" };
    const answer = await site.rest("POST", "/devices/kitchn/control", control);
    expect(answer.body).toMatchObject({ ok: false, code: "device_unknown", detail: meant });
    const app = await MqttApp.open(site);
    for (const topic of ["tendon/devices/kitchn/call", "tendon/control"])
      await app.wire.subscribe(`${topic}/reply`);
    app.publish("tendon/devices/kitchn/call", { request_id: 1, tool: volume });
    expect((await app.next("tendon/devices/kitchn/call/reply"))["error"]).toMatchObject({ detail: meant });
    app.publish("tendon/control", { ...control, device: "kitchn" });
    expect(await app.next("tendon/control/reply")).toMatchObject({ detail: meant });
    const agent = await openAgent(site, "modern");
    const call = { name: "device_call", arguments: { device: "kitchn", tool: volume, arguments: {} } };
    expect(textOf(await agent.callTool(call))).toContain(meant);
  });

  it("never gets hidden devices as suggestions, and none without the scope read", async () => {
    const site = await twoDevices();
    const one = await tokenWith(site, ["read", "call"], { ids: [firstDevice] });
    expect(await detail(site, "bedrom", volume, one)).toBe(unknown("bedrom"));
    expect(await detail(site, "bedroom", volume, one)).toBe(unknown("bedroom"));
    expect(await detail(site, "02:00:00:00:00:03", volume, one)).toContain(
      `did you mean \`${firstDevice}\`?`,
    );
    const blind = await tokenWith(site, ["call"]);
    expect(await detail(site, "bedrom", volume, blind)).toBe(unknown("bedrom"));
    expect(await detail(site, "bedroom", "self.light.blnik", blind)).toBe(
      "`bedroom` has no tool `self.light.blnik`",
    );
  });

  it("gets suggestions a hundred times per second, and only the error after that", async () => {
    const site = await twoDevices();
    const devices = Array.from({ length: 300 }, (_, index) => `kitchen${index}`);
    const { body } = await site.rest("POST", "/calls", { target: { devices }, tool: volume, arguments: {} });
    const results = body["results"] as { error: { code: string; detail: string } }[];
    expect(results.map(({ error }) => error.code)).toEqual(devices.map(() => "device_unknown"));
    const told = results.filter(({ error }) => error.detail.includes("did you mean"));
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(200);
  });
});

describe("an unknown tool", () => {
  it.each([
    ["audio_speaker.set_volume", volume],
    ["self_audio_speaker_set_volume", volume],
    ["Self.Audio_Speaker.Set_Volume", volume],
    ["self.audio_speaker.set_volum", volume],
    ["set_volume", volume],
    ["self.dance", undefined],
  ])("named %s gets the suggestion %s", async (name, meant) => {
    const site = await twoDevices();
    const near = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
    expect(await detail(site, "kitchen", name)).toBe(`\`kitchen\` has no tool \`${name}\`${near}`);
  });

  it("never gets a tool that the caller may not call as suggestion", async () => {
    const site = await twoDevices();
    const agent = await tokenWith(site, ["read", "call"]);
    expect(await detail(site, "kitchen", "self.rebot", agent)).toBe("`kitchen` has no tool `self.rebot`");
    const person = await tokenWith(site, ["read", "call", "call:user"]);
    expect(await detail(site, "kitchen", "self.rebot", person)).toContain("did you mean `self.reboot`?");
  });

  it("gets suggestions with the exposed names for agents", async () => {
    const site = await twoDevices();
    const agent = await openAgent(site, "modern");
    const lost = async (name: string) => await agent.callTool({ name, arguments: {} }).then(textOf, String);
    expect(await lost("kitchen__audio_speaker_set_volum")).toContain(
      "Unknown tool: kitchen__audio_speaker_set_volum; did you mean `kitchen__audio_speaker_set_volume`?",
    );
    expect(await lost("device_list")).toContain("did you mean `devices_list`?");
    expect(await lost("kitchen__rebot")).toMatch(/Unknown tool: kitchen__rebot; `tools_search` finds tools$/);
    for (const name of ["kitchen__set_volume", "kitchn__set_volume", `kitchen__${volume}`])
      expect(await lost(name)).toContain("did you mean `kitchen__audio_speaker_set_volume`?");
    for (const name of ["tool_describe", "device_call", "fleet_call"]) {
      const target = name === "fleet_call" ? { all: true } : {};
      const said = async (meant: string) =>
        textOf(await agent.callTool({ name, arguments: { ...target, tool: meant } }));
      for (const meant of ["kitchen__light_blnk", "kitchn__light_blink"])
        expect(await said(meant), name).toMatch(/^tool_unknown: .*did you mean `kitchen__light_blink`\?/);
    }
    const twice = { device: "kitchen", tool: "kitchen__light_blnk" };
    expect(textOf(await agent.callTool({ name: "device_call", arguments: twice }))).toContain(
      "did you mean `self.light.blink`?",
    );
    const described = { name: "tool_describe", arguments: { device: "kitchen", tool: "light_blnk" } };
    expect(textOf(await agent.callTool(described))).toContain("did you mean `light_blink`?");
    const called = {
      name: "device_call",
      arguments: { device: "kitchen", tool: "light_blnk", arguments: {} },
    };
    expect(textOf(await agent.callTool(called))).toContain("did you mean `self.light.blink`?");
    const alone = await openAgent(site, "legacy", { at: "/mcp/devices/kitchen" });
    await expect(alone.callTool({ name: "light_blnk", arguments: {} })).rejects.toThrow(
      "did you mean `light_blink`?",
    );
    expect((await run(site, "kitchen__light_blnk")).body["detail"]).toBe(
      "no function is called `kitchen__light_blnk`; did you mean `kitchen__light_blink`?",
    );
    expect((await run(site, "device_list")).body["detail"]).toBe(
      "no function is called `device_list`; did you mean `devices_list`?",
    );
    expect((await run(site, "kitchen__rebot")).body["detail"]).toBe(
      "no function is called `kitchen__rebot`; `tools_search` finds tools",
    );
  });
});

describe("an exposed name in a fleet beyond the tool budget", () => {
  it.each([
    ["kitchn__light_blink", "kitchen__light_blink"],
    ["kitchen__blink", "kitchen__light_blink"],
    ["bedrom__set_volume", "bedroom__audio_speaker_set_volume"],
    ["unknown__light_blink", undefined],
  ])("%s gets the suggestion %s", async (name, meant) => {
    const site = await twoDevices({ agents: { toolBudget: 8 } });
    const agent = await openAgent(site, "legacy");
    expect((await agent.listTools()).tools).toHaveLength(7);
    const refused = await agent.callTool({ name, arguments: {} }).then(textOf, String);
    const near = meant === undefined ? "; `tools_search` finds tools" : `; did you mean \`${meant}\`?`;
    expect(refused.endsWith(`Unknown tool: ${name}${near}`), refused).toBe(true);
  });
});

describe("an invalid name", () => {
  it.each(["客厅", "Desk", "desk lamp", "1st", "", "-a", "a".repeat(25), "salón"])(
    "[AGT-3] %j is rejected as an alias, with a description of valid ones",
    async (alias) => {
      const site = await twoDevices();
      const { status, body } = await site.rest("PATCH", `/devices/${firstDevice}`, { alias });
      expect([status, body["code"]]).toEqual([400, "bad_request"]);
      const rule =
        /^\/alias must have lower-case letters a to z, digits and dashes, .* such as `living-room`; /;
      expect(body["detail"]).toMatch(rule);
      expect(JSON.stringify(body)).not.toMatch(/pattern|\[a-z/);
      expect((await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "living-room" })).status).toBe(
        200,
      );
    },
  );

  it("is described for tags and codes too", async () => {
    const site = await twoDevices();
    const tags = await site.rest("PATCH", `/devices/${firstDevice}`, { tags: ["ok", "客厅"] });
    expect(tags.body["detail"]).toMatch(/^\/tags\/1 must have only letters .* such as `ground-floor`$/);
    const code = await site.rest("POST", "/devices/approve", { code: "12 34" });
    expect(code.body["detail"]).toBe("/code must be the six digits that the board shows, such as `123456`");
  });
});

describe("a misspelt argument", () => {
  const missing = "/volume is required";
  const meant = `${missing}; there is no argument \`volum\`; did you mean \`volume\`?`;

  async function speaker(): Promise<{ site: Site; device: RawDevice }> {
    const site = await openSite();
    const level = { volume: { type: "integer", minimum: 0, maximum: 100 }, fade_ms: { type: "integer" } };
    const device = await site.join({ tools: [tool(volume, level, ["volume"])] });
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "kitchen" });
    return { site, device };
  }

  it.each([
    [{ volum: 30 }, meant],
    [{ Volume: 30 }, `${missing}; there is no argument \`Volume\`; did you mean \`volume\`?`],
    [
      { volmue: 3, fadeMs: 5 },
      `${missing}; there is no argument \`volmue\`; did you mean \`volume\`? There is no argument \`fadeMs\`; did you mean \`fade_ms\`?`,
    ],
    [{ loud: 30 }, missing],
    [{}, missing],
    [{ volume: 300 }, "/volume must be at most 100"],
  ])("is reported with the missing one: %j", async (args, detail) => {
    const { site } = await speaker();
    const { status, body } = await site.call(firstDevice, volume, args);
    expect([status, body["code"], body["detail"]]).toEqual([422, "arguments_invalid", detail]);
    if (!("volume" in args)) expect(body["errors"]).toEqual([{ path: "/volume", message: "is required" }]);
  });

  it("is accepted when nothing is missing", async () => {
    const { site, device } = await speaker();
    const asked = site.call(firstDevice, volume, { volume: 3, fade_m: 5 });
    const call = await device.nextRequest("tools/call");
    device.reply(call.id, { content: [], isError: false });
    expect((await asked).status).toBe(200);
    expect(call.params["arguments"]).toEqual({ volume: 3, fade_m: 5 });
  });

  it("is checked fast, however many arguments there are", async () => {
    const { site } = await speaker();
    const args = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`volume${index}`, 1]));
    const { body } = await site.call(firstDevice, volume, args);
    expect(String(body["detail"]).match(/here is no argument/g)).toHaveLength(3);
  });

  it("is reported at every interface", async () => {
    const { site } = await speaker();
    const app = await MqttApp.open(site);
    const topic = `tendon/devices/${firstDevice}/call`;
    await app.wire.subscribe(`${topic}/reply`);
    const reply = await app.ask(topic, { request_id: 1, tool: volume, arguments: { volum: 30 } });
    expect(reply["error"]).toMatchObject({ code: "arguments_invalid", detail: meant });
    const control = await site.rest("POST", "/devices/kitchen/control", { action: "set_volume", volum: 30 });
    expect(control.body).toMatchObject({ ok: false, code: "arguments_invalid", detail: meant });
    const agent = await openAgent(site, "modern");
    const own = await agent.callTool({ name: "kitchen__audio_speaker_set_volume", arguments: { volum: 30 } });
    expect(textOf(own)).toBe(`arguments_invalid: ${meant}`);
    const found = await agent.callTool({ name: "tools_search", arguments: { querry: "volume" } });
    expect(textOf(found)).toContain("; there is no argument `querry`; did you mean `query`?");
  });
});
