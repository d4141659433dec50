/**
 * The frames that voice agents were seen to send, each peculiarity one row. The same rows hold on both sides: for an agent
 * that the gateway dials, and for a voice server that dials in.
 */
import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { Broker, dial, type FrameSocket } from "./frames.ts";
import { makeToken } from "./provider.ts";

interface Talk {
  readonly site: Site;
  readonly peer: FrameSocket;
  readonly device: RawDevice;
  /** The name of the board's tool for this agent. */
  readonly lamp: string;
  /** How many tools of boards it is shown at most. A voice server that dials in gets what `/mcp` shows. */
  readonly most: number;
}

async function boardWith(site: Site, count: number): Promise<RawDevice> {
  const more = Array.from({ length: count }, (_, at) => tool(`self.more.tool_${at}`));
  return await site.join({ tools: [tool("self.lamp.on"), ...more] });
}

async function lampIn(site: Site): Promise<string> {
  const { body } = await site.rest("GET", "/devices");
  const [{ alias }] = body["devices"] as [{ alias: string }];
  return `${alias}__lamp_on`;
}

async function dialled(tools: number): Promise<Talk> {
  const broker = await Broker.open();
  const endpoints = [{ url: broker.url("a-token-of-the-agent"), token: "voice", view: "flat" }];
  const site = await openSite({ clock: new ManualClock(Date.now()), config: { agents: { endpoints } } });
  const device = await boardWith(site, tools);
  await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
  return { site, device, peer: await broker.arrival(), lamp: await lampIn(site), most: 10_000 };
}

async function accepted(tools: number): Promise<Talk> {
  const site = await openSite({
    clock: new ManualClock(Date.now()),
    config: { endpoint: { enabled: true } },
  });
  const device = await boardWith(site, tools);
  const peer = await dial(`${site.url}/mcp_endpoint/call/?token=${await makeToken(site)}`);
  return { site, device, peer, lamp: await lampIn(site), most: 100 };
}

const sides: [string, (tools: number) => Promise<Talk>][] = [
  ["an agent that the gateway dials", dialled],
  ["a voice server that dials in", accepted],
];

const initialize = (id: unknown, name: string, more: Fields = {}) => ({
  id,
  jsonrpc: "2.0",
  method: "initialize",
  params: {
    protocolVersion: "2024-11-05",
    capabilities: {},
    clientInfo: { name, version: "0.0.1" },
    ...more,
  },
});
const list = (id: unknown, params: Fields = {}) => ({ id, jsonrpc: "2.0", method: "tools/list", params });
const ping = (id: unknown) => ({ id, jsonrpc: "2.0", method: "ping", params: {} });
const call = (id: unknown, name: string, more: Fields = {}) => ({
  id,
  jsonrpc: "2.0",
  method: "tools/call",
  params: { name, arguments: {}, ...more },
});
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const relayed = "6f1c2a90-51f0-4ab6-8d57-2f5f3f1f8a11";
const picture = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };

async function hello({ peer }: Talk): Promise<void> {
  await peer.ask(initialize(0, "xz-mcp-broker"));
  peer.send(initialized);
}

/** Calls the lamp, lets the board answer, and returns the result that the agent gets. */
async function answered(talk: Talk, id: unknown, result: unknown, more: Fields = {}): Promise<Fields> {
  const answer = talk.peer.ask(call(id, talk.lamp, more));
  talk.device.reply((await talk.device.nextRequest("tools/call")).id, result);
  const frame = await answer;
  expect(frame["id"]).toEqual(id);
  return frame["result"] as Fields;
}

/** A frame of the peer is not answered: the next answer is that of a later ping. */
async function unanswered({ peer }: Talk, frame: unknown): Promise<void> {
  peer.send(frame);
  expect(await peer.ask(ping("after"))).toEqual({ jsonrpc: "2.0", id: "after", result: {} });
}

const ignored = ({ site }: Talk) => site.metric('tendon_endpoint_frames_ignored_total{side="agent"}');

const rows: [quirk: string, play: (talk: Talk) => Promise<void>, tools?: number][] = [
  [
    "[END-1] hosted: the first request has id 0 and asks for 2024-11-05, with capabilities that are not used",
    async ({ peer }) => {
      const capabilities = { sampling: {}, roots: { listChanged: false } };
      expect(await peer.ask(initialize(0, "xz-mcp-broker", { capabilities }))).toEqual({
        jsonrpc: "2.0",
        id: 0,
        result: {
          protocolVersion: "2024-11-05",
          capabilities: expect.objectContaining({ tools: { listChanged: true } }),
          serverInfo: expect.objectContaining({ name: "tendon", version: expect.any(String) }),
          instructions: expect.any(String),
        },
      });
    },
  ],
  [
    "[END-2] hosted: `initialized` has no params and gets no answer",
    async (talk) => {
      await hello(talk);
      await unanswered(talk, initialized);
      expect(await ignored(talk)).toBe(0);
    },
  ],
  [
    "[END-4] hosted: tools/list with empty params gets names, descriptions and schemas only",
    async (talk) => {
      await hello(talk);
      const { id, result } = await talk.peer.ask(list(1));
      const tools = (result as { tools: Fields[] }).tools;
      expect([id, new Set(tools.flatMap((each) => Object.keys(each)))]).toEqual([
        1,
        new Set(["name", "description", "inputSchema"]),
      ]);
      for (const { name } of tools) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    },
  ],
  [
    "[END-2] hosted: pings come for ever, and no rate limit counts them",
    async (talk) => {
      await hello(talk);
      for (let id = 2; id < 1_502; id += 1) talk.peer.send(ping(id));
      for (let id = 2; id < 1_502; id += 1)
        expect(await talk.peer.next()).toEqual({ jsonrpc: "2.0", id, result: {} });
      expect(await answered(talk, 7, textContent("on"))).toMatchObject({ isError: false });
    },
  ],
  [
    "[END-3] hosted: vendor fields beside the arguments and in `_meta`, most of them null",
    async (talk) => {
      await hello(talk);
      const vendor = { clientId: null, serialNumber: null };
      const result = await answered(talk, 7, textContent("on"), {
        ...vendor,
        _meta: { ...vendor, agentId: 1000001 },
      });
      expect(result).toEqual({ content: [{ type: "text", text: "on" }], isError: false });
      expect(talk.device.frames.at(-1)).toMatchObject({
        payload: { params: { name: "self.lamp.on", arguments: {} } },
      });
    },
  ],
  [
    "[END-2] XiaozhiMCPEndpointClient: `initialized` and tools/list follow at once, and each page has id 2 again",
    async ({ peer, most }) => {
      peer.send(initialize(1, "XiaozhiMCPEndpointClient"));
      peer.send(initialized);
      peer.send(list(2));
      expect(await peer.next()).toMatchObject({ id: 1, result: { protocolVersion: "2024-11-05" } });
      const names: string[] = [];
      for (let cursor: unknown = "first"; cursor !== undefined; ) {
        const page = await peer.next();
        expect(page["id"]).toBe(2);
        const { tools, nextCursor } = page["result"] as { tools: Fields[]; nextCursor?: string };
        names.push(...tools.map(({ name }) => String(name)));
        cursor = nextCursor;
        if (cursor !== undefined) peer.send(list(2, { cursor }));
      }
      expect(names.filter((name) => name.includes("__more_tool_"))).toHaveLength(most < 300 ? 0 : 300);
      expect(new Set(names).size).toBe(names.length);
    },
    300,
  ],
  [
    "[END-2] manager-api: ids 1 and 2, one after the other, then it leaves",
    async (talk) => {
      const { peer } = talk;
      expect(await peer.ask(initialize(1, "xz-mcp-broker"))).toMatchObject({ id: 1, result: {} });
      peer.send(initialized);
      const { id, result } = await peer.ask(list(2));
      expect([id, JSON.stringify(result).includes(talk.lamp)]).toEqual([2, true]);
      peer.socket.close(1000);
      expect((await peer.closed()).code).toBe(1000);
    },
  ],
  [
    "[END-2] endpoint server: numbers and texts as ids come as `<uuid>_n_7` and `<uuid>_s_abc`",
    async (talk) => {
      await hello(talk);
      for (const id of [`${relayed}_n_7`, `${relayed}_s_abc`, `${relayed}_s_${"长".repeat(200)}`])
        expect(await answered(talk, id, textContent("on"))).toMatchObject({ isError: false });
    },
  ],
  [
    "[END-2] endpoint server: each conversation sends its own `initialize` on the same socket",
    async (talk) => {
      const { peer } = talk;
      for (const conversation of ["a", "b", "c"]) {
        const asked = initialize(`${conversation}_n_1`, "XiaozhiMCPEndpointClient");
        expect(await peer.ask(asked)).toMatchObject({ id: `${conversation}_n_1`, result: {} });
        peer.send(initialized);
        expect(await peer.ask(list(`${conversation}_n_2`))).toMatchObject({
          id: `${conversation}_n_2`,
          result: { tools: expect.any(Array) },
        });
      }
      expect(await answered(talk, "c_n_3", textContent("on"))).toMatchObject({ isError: false });
    },
  ],
  [
    "[END-2] two conversations use the same id at once: each gets its answer",
    async (talk) => {
      await hello(talk);
      talk.peer.send(call(3, talk.lamp));
      talk.peer.send(call(3, "devices_list"));
      expect(await talk.peer.next()).toMatchObject({ id: 3, result: { isError: false } });
      talk.device.reply((await talk.device.nextRequest("tools/call")).id, textContent("on"));
      expect(await talk.peer.next()).toEqual({
        jsonrpc: "2.0",
        id: 3,
        result: { content: [{ type: "text", text: "on" }], isError: false },
      });
    },
  ],
  [
    "[END-2] requests before `initialize` are answered",
    async (talk) => {
      expect(await talk.peer.ask(ping(0))).toEqual({ jsonrpc: "2.0", id: 0, result: {} });
      expect(await talk.peer.ask(list(1))).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
    },
  ],
  [
    "[END-2] an unknown method is -32601",
    async (talk) => {
      await hello(talk);
      for (const params of [undefined, null, {}, []])
        expect(await talk.peer.ask({ jsonrpc: "2.0", id: 4, method: "no/such", params })).toMatchObject({
          id: 4,
          error: { code: -32601 },
        });
    },
  ],
  [
    "[END-2] no notification is answered, known or not",
    async (talk) => {
      await hello(talk);
      for (const method of ["no/such", "notifications/no-such", "tools/list", "ping", "tools/call"])
        await unanswered(talk, { jsonrpc: "2.0", method, params: {} });
    },
  ],
  [
    "[END-2] a cancelled call gets no answer, whatever the type of its id",
    async (talk) => {
      await hello(talk);
      for (const requestId of [0, `${relayed}_n_1`]) {
        talk.peer.send(call(requestId, talk.lamp));
        await talk.device.nextRequest("tools/call");
        const params = { requestId, reason: "the person spoke again" };
        await unanswered(talk, { jsonrpc: "2.0", method: "notifications/cancelled", params });
      }
    },
  ],
  ...["INFO: starting", "", "\n", "{", "7", '"text"', "null", "[]", JSON.stringify([ping(1), ping(2)])].map(
    (frame): (typeof rows)[number] => [
      `[END-2] a frame that is no JSON object is counted and ignored: ${JSON.stringify(frame)}`,
      async (talk) => {
        await hello(talk);
        await unanswered(talk, frame);
        expect(await ignored(talk)).toBe(1);
      },
    ],
  ),
  [
    "[END-2] a binary frame is counted and ignored, even with JSON in it",
    async (talk) => {
      await hello(talk);
      talk.peer.socket.send(Buffer.from(JSON.stringify(ping(1))));
      await unanswered(talk, initialized);
      expect(await ignored(talk)).toBe(1);
    },
  ],
  [
    "[END-2] an answer to nothing is ignored",
    async (talk) => {
      await hello(talk);
      await unanswered(talk, { jsonrpc: "2.0", id: 99, result: {} });
      await unanswered(talk, { jsonrpc: "2.0", id: null, result: null });
      expect(await ignored(talk)).toBe(1);
    },
  ],
  [
    "[END-2] a newline after a frame does not matter",
    async (talk) => {
      await hello(talk);
      talk.peer.send(`${JSON.stringify(ping(5))}\r\n`);
      expect(await talk.peer.next()).toEqual({ jsonrpc: "2.0", id: 5, result: {} });
    },
  ],
  [
    "[END-2] a frame above 1 MiB closes the connection with 1009",
    async (talk) => {
      await hello(talk);
      talk.peer.send(JSON.stringify({ ...ping(1), params: { text: "x".repeat(1_048_576) } }));
      expect((await talk.peer.closed()).code).toBe(1009);
    },
  ],
  [
    "[END-4] only the first text is read: all texts come first, and a picture is a sentence",
    async (talk) => {
      await hello(talk);
      const given = {
        content: [picture, { type: "text", text: "a cat" }, { type: "text", text: "on a mat" }],
      };
      expect(await answered(talk, 8, given)).toEqual({
        content: [
          { type: "text", text: "a cat\non a mat\nThe answer has a picture, which cannot be shown here." },
        ],
        isError: false,
      });
    },
  ],
  [
    "[END-4] XiaozhiMCPEndpointClient reads only `error` of a failure",
    async (talk) => {
      await hello(talk);
      expect(await answered(talk, 9, { ...textContent("no lamp"), isError: true })).toEqual({
        content: [{ type: "text", text: "no lamp" }],
        isError: true,
        error: "no lamp",
      });
      expect((await talk.peer.ask(call(10, talk.lamp, { arguments: 7 })))["id"]).toBe(10);
    },
  ],
  ...(
    [
      ["one byte each", "a"],
      ["two bytes each", "é"],
      ["three bytes each", "灯"],
      ["four bytes each, two UTF-16 units", "🎈"],
      ["escaped in JSON", '"'],
    ] as const
  ).map(([name, character]): (typeof rows)[number] => [
    `[END-4] hosted: an answer is cut at 8,000 bytes, between characters (${name})`,
    async (talk) => {
      await hello(talk);
      const mark = "…(cut)";
      const bytes = Buffer.byteLength(JSON.stringify(character)) - 2;
      const fits = Math.floor(8_000 / bytes);
      const whole = { content: [{ type: "text", text: character.repeat(fits) }] };
      expect(await answered(talk, 1, whole)).toMatchObject({ content: [{ text: character.repeat(fits) }] });
      const long = { content: [{ type: "text", text: character.repeat(fits + 1) }] };
      const kept = Math.floor((8_000 - Buffer.byteLength(mark)) / bytes);
      expect(await answered(talk, 2, long)).toEqual({
        content: [{ type: "text", text: `${character.repeat(kept)}${mark}` }],
        isError: false,
      });
    },
  ]),
];

describe.each(sides)("%s", (_name, open) => {
  it.each(rows)("%s", async (_quirk, play, tools = 0) => {
    await play(await open(tools));
  });
});
