import { isObject, type JsonObject } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { vendors } from "../packages/protocol/test/tools/vendor-rules.ts";
import { data, ours, run, shown, tokenWith } from "./functions.ts";
import { textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite } from "./site.ts";

describe("[FUN-1] function definitions", () => {
  it("are the same tools in each vendor's format, the compact ones first", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("self.volume.set", { level: { type: "integer" } }, ["level"])] });
    const openai = (await site.rest("GET", "/tools.openai.json")).body["tools"] as JsonObject[];
    const anthropic = (await site.rest("GET", "/tools.anthropic.json")).body["tools"] as JsonObject[];
    expect(anthropic.map(({ name }) => name)).toEqual([...ours, "raw-board-0001__volume_set"]);
    const schema = {
      type: "object",
      properties: { level: { type: "integer" } },
      required: ["level"],
    };
    const words = { name: "raw-board-0001__volume_set", description: "Does self.volume.set" };
    expect(anthropic.at(-1)).toEqual({ ...words, input_schema: schema });
    expect(openai.at(-1)).toEqual({ type: "function", function: { ...words, parameters: schema } });
    expect(openai.map((entry) => (entry["function"] as JsonObject)["name"])).toEqual(
      anthropic.map(({ name }) => name),
    );
  });

  it("need `read`, as `/mcp` does", async () => {
    const site = await openSite();
    const headers = { authorization: `Bearer ${await tokenWith(site, ["call"])}` };
    for (const vendor of ["openai", "anthropic"]) {
      const answer = await site.rest("GET", `/tools.${vendor}.json`, undefined, headers);
      expect(answer.body).toMatchObject({ code: "forbidden", scope: "read" });
    }
  });

  it("[AGT-9] are accepted by every vendor, including those of unusual devices", async () => {
    const site = await openSite();
    const odd = { type: "object", properties: { 名: { type: ["array", "null"] } }, anyOf: [{}] };
    await site.join({ tools: [{ name: "odd", description: "x", inputSchema: odd }] });
    const { body } = await site.rest("GET", "/tools.anthropic.json");
    const complaints = (body["tools"] as JsonObject[]).flatMap(({ name, input_schema: schema }) =>
      Object.values(vendors).flatMap((rules) =>
        rules(isObject(schema) ? schema : {}).map((complaint) => `${String(name)}: ${complaint}`),
      ),
    );
    expect(complaints).toEqual([]);
  });

  it("[AGT-6] are only the compact ones above 40 tools, until there are fewer than 30", async () => {
    const site = await openSite();
    const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`t${index}`));
    const device = await site.join({ tools: many(33) });
    const relist = async (count: number) => {
      const events = await site.events("?type=device.tools_changed");
      device.notify("notifications/tools/list_changed");
      await device.list(many(count));
      await events.nextOf("device.tools_changed");
    };
    expect(await shown(site)).toHaveLength(33);
    await relist(34);
    expect(await shown(site)).toEqual([]);
    await relist(23);
    expect(await shown(site)).toEqual([]);
    await relist(22);
    expect(await shown(site)).toHaveLength(22);
    await relist(33);
    expect(await shown(site)).toHaveLength(33);
  });
});

describe("[FUN-2] a function call", () => {
  it("accepts its arguments as an object or as JSON text", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("set", { level: { type: "integer" } })] });
    const call = (args?: unknown) =>
      site.rest("POST", "/function-call", { name: "raw-board-0001__set", arguments: args });
    for (const [given, sent] of [
      [{ level: 3 }, { level: 3 }],
      ['{"level": 3}', { level: 3 }],
      ["{}", {}],
      [" ", {}],
      [undefined, {}],
    ] as const) {
      const answer = call(given);
      const { id, params } = await device.nextRequest("tools/call");
      expect(params["arguments"], JSON.stringify(given)).toEqual(sent);
      device.reply(id, textContent("true"));
      expect((await answer).status).toBe(200);
    }
    for (const text of ["{", "3", "[1]", "null", '"{}"', "level=3"]) {
      const { status, body } = await call(text);
      expect([status, body["code"]], text).toEqual([422, "arguments_invalid"]);
      expect(body["detail"]).toContain("JSON object");
    }
    expect((await call('{"level":"3"}')).body["code"]).toBe("arguments_invalid");
    for (const other of [3, [1], null, true])
      expect((await call(other)).body["code"], JSON.stringify(other)).toBe("bad_request");
    const listed = await site.rest("POST", "/function-call", { name: "devices_list", arguments: "{}" });
    expect(listed.status).toBe(200);
    expect(await device.quiet()).toEqual([]);
  });

  it("[AGT-2] calls the tool of the name, also with names of earlier aliases", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" });
    expect(await shown(site)).toEqual(["desk__lamp_on"]);
    for (const name of ["desk__lamp_on", "raw-board-0001__lamp_on"]) {
      const answering = run(site, name);
      const request = await device.nextRequest("tools/call");
      expect(request.params["name"]).toBe("self.lamp.on");
      device.reply(request.id, textContent("lit"));
      expect((await answering).body).toMatchObject({
        device: firstDevice,
        tool: "self.lamp.on",
        result: { content: [{ type: "text", text: "lit" }], isError: false },
      });
    }
  });

  it("[AGT-2] to an offline device fails at once", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("on")] });
    const events = await site.events("?type=device.offline");
    device.close();
    await events.nextOf("device.offline");
    const answer = await run(site, "raw-board-0001__on");
    expect([answer.status, answer.body["code"]]).toEqual([503, "device_offline"]);
  });

  it("of a user-only tool needs the scope `call:user` itself; `admin` is not enough", async () => {
    const site = await openSite();
    await site.join({ tools: [], userTools: [tool("self.reboot")] });
    const answer = await run(site, "raw-board-0001__reboot");
    expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
  });

  it("of an unknown name is `tool_unknown`", async () => {
    const site = await openSite();
    const answer = await run(site, "desk__lamp_on");
    expect([answer.status, answer.body["code"]]).toEqual([404, "tool_unknown"]);
  });

  it("of a compact tool answers without a device", async () => {
    const site = await openSite();
    await site.join({ tools: [tool("self.lamp.on")] });
    expect(await data(site, "devices_list")).toMatchObject({ devices: [{ device: "raw-board-0001" }] });
    const { status, body } = await run(site, "tools_search", { query: "lamp" });
    expect(status).toBe(200);
    expect(body).toEqual({
      name: "tools_search",
      result: {
        content: [{ type: "text", text: expect.stringContaining("lamp_on") }],
        isError: false,
        structuredContent: { tools: [expect.objectContaining({ tool: "lamp_on" })] },
      },
    });
  });

  it("of device_call is an ordinary call, in success and failure", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("self.lamp.on")] });
    const answering = run(site, "device_call", { device: "raw-board-0001", tool: "lamp_on" });
    const request = await device.nextRequest("tools/call");
    device.reply(request.id, textContent("lit"));
    expect((await answering).body).toMatchObject({
      name: "device_call",
      device: firstDevice,
      tool: "self.lamp.on",
      callId: expect.any(String),
      result: { content: [{ type: "text", text: "lit" }], isError: false },
    });
    const events = await site.events("?type=device.offline");
    device.close();
    await events.nextOf("device.offline");
    const failed = await run(site, "device_call", { device: "raw-board-0001", tool: "lamp_on" });
    expect([failed.status, failed.body["code"]]).toEqual([503, "device_offline"]);
    expect(failed.body["detail"]).toMatch(/^offline since/);
    const wrong = await run(site, "device_call", { device: 5 });
    expect([wrong.status, wrong.body["code"]]).toEqual([422, "arguments_invalid"]);
  });

  it.each([{}, { name: "" }, { name: 5 }, { name: "x", arguments: [] }, { name: "x", more: 1 }])(
    "with the body %j is a bad request",
    async (body) => {
      const site = await openSite();
      const answer = await site.rest("POST", "/function-call", body);
      expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
    },
  );

  it("frees its device when the caller disconnects", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("slow"), tool("next")] });
    const away = new AbortController();
    const given = site.rest("POST", "/function-call", { name: "raw-board-0001__slow" }, {}, away.signal);
    await device.nextRequest("tools/call");
    away.abort();
    await expect(given).rejects.toThrow();
    const answering = run(site, "raw-board-0001__next");
    const request = await device.nextRequest("tools/call");
    expect(request.params["name"]).toBe("next");
    device.reply(request.id, textContent("done"));
    expect((await answering).status).toBe(200);
  });

  it.each(["raw-board-0001__on", "device_call"])(
    "that requires approval (%s) waits for it, and runs when it is repeated",
    async (name) => {
      const site = await openSite({ config: { access: { rules: [{ tool: "on", effect: "confirm" }] } } });
      const device = await site.join({ tools: [tool("on")] });
      const token = await tokenWith(site, ["read", "call"]);
      const args = name === "device_call" ? { device: "raw-board-0001", tool: "on" } : {};
      const held = await run(site, name, args, token);
      expect([held.status, held.body["code"]]).toEqual([403, "approval_required"]);
      const decided = await site.rest("POST", `/approvals/${String(held.body["approvalId"])}/approve`);
      expect(decided.status).toBe(200);
      const answering = run(site, name, args, token);
      device.reply((await device.nextRequest("tools/call")).id, textContent("lit"));
      expect((await answering).status).toBe(200);
      expect((await run(site, name, args, token)).body["code"]).toBe("approval_required");
    },
  );
});
