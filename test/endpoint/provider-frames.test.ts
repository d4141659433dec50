/**
 * The frames that tool providers send and get, each peculiarity of `mcp_pipe.py` and of the programs behind it one row. Here
 * the gateway is the MCP client.
 */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { dial, type FrameSocket } from "./frames.ts";
import { answer, makeToken, online, provide, providerUrl } from "./provider.ts";

interface Talk {
  readonly site: Site;
  readonly clock: ManualClock;
  readonly token: string;
}

const identity = (protocolVersion = "2024-11-05", name = "calculator") => ({
  protocolVersion,
  capabilities: { tools: {} },
  serverInfo: { name, version: "1" },
});

/** A provider whose tools are listed, at rest. */
async function listed({ site, token }: Talk): Promise<FrameSocket> {
  const peer = await provide(site, token, "calculator");
  await online(site, "calculator");
  return peer;
}

const ignored = ({ site }: Talk) => site.metric('tendon_endpoint_frames_ignored_total{side="provider"}');

/** The gateway can still use the provider. */
async function works({ site }: Talk, peer: FrameSocket): Promise<void> {
  const called = site.call("calculator", "add");
  answer(peer, await nextCall(peer), textContent("3"));
  expect((await called).body["result"]).toMatchObject({ content: [{ text: "3" }] });
}

async function nextCall(peer: FrameSocket): Promise<Fields> {
  const frame = await peer.next();
  expect(frame["method"]).toBe("tools/call");
  return frame;
}

const rows: [quirk: string, play: (talk: Talk) => Promise<void>][] = [
  [
    "[END-12] the pipe connects before it starts its program: the first answer may take 60 s",
    async (talk) => {
      const peer = await dial(providerUrl(talk.site, talk.token));
      const initialize = await peer.next();
      talk.clock.advance(59_000);
      answer(peer, initialize, identity());
      expect(await peer.next()).toMatchObject({ method: "notifications/initialized" });
      answer(peer, await peer.next(), { tools: [tool("add")] });
      await online(talk.site, "calculator");
    },
  ],
  [
    "[END-12] a program that never answers is given up after 60 s, with 1011",
    async ({ site, token, clock }) => {
      const peer = await dial(providerUrl(site, token));
      await peer.next();
      clock.advance(60_000);
      expect((await peer.closed()).code).toBe(1011);
    },
  ],
  [
    "[END-12] each frame to the pipe becomes one line: compact JSON without a newline",
    async (talk) => {
      const peer = await dial(providerUrl(talk.site, talk.token));
      const first = await peer.frame();
      expect(JSON.parse(first)).toMatchObject({
        jsonrpc: "2.0",
        method: "initialize",
        params: { protocolVersion: "2025-11-25", clientInfo: { name: "tendon" } },
      });
      answer(peer, JSON.parse(first) as Fields, identity());
      await peer.next();
      answer(peer, await peer.next(), { tools: [tool("add")] });
      await online(talk.site, "calculator");
      const called = talk.site.call("calculator", "add", { text: "one\ntwo\r\n三" });
      const frame = await peer.frame();
      expect(frame).not.toMatch(/[\r\n]/);
      expect(frame).toBe(JSON.stringify(JSON.parse(frame)));
      expect(JSON.parse(frame)).toMatchObject({ params: { arguments: { text: "one\ntwo\r\n三" } } });
      answer(peer, JSON.parse(frame) as Fields, textContent("3"));
      await called;
    },
  ],
  ...["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"].map((version): (typeof rows)[number] => [
    `[END-12] a program that answers with the protocol ${version} is accepted`,
    async (talk) => {
      const peer = await dial(providerUrl(talk.site, talk.token));
      answer(peer, await peer.next(), identity(version));
      await peer.next();
      answer(peer, await peer.next(), { tools: [tool("add")] });
      expect(await online(talk.site, "calculator")).toMatchObject({ protocolVersion: version });
    },
  ]),
  ...[
    ["a newline", "\n"],
    ["a Windows line end", "\r\n"],
    ["nothing", ""],
  ].map(([name = "", end = ""]): (typeof rows)[number] => [
    `[END-12] an answer ends with ${name}`,
    async (talk) => {
      const peer = await listed(talk);
      const called = talk.site.call("calculator", "add");
      const { id } = await nextCall(peer);
      peer.send(`${JSON.stringify({ jsonrpc: "2.0", id, result: textContent("3") })}${end}`);
      expect((await called).body["result"]).toMatchObject({ content: [{ text: "3" }] });
    },
  ]),
  ...["INFO:     Started server process [7]\n", "\n", "", "{'not': 'json'}\n", "7\n", "[]\n", "null\n"].map(
    (print): (typeof rows)[number] => [
      `[END-12] what the program prints comes as a frame, is counted and ignored: ${JSON.stringify(print)}`,
      async (talk) => {
        const peer = await listed(talk);
        const before = await ignored(talk);
        peer.send(print);
        await works(talk, peer);
        expect((await ignored(talk)) - before).toBe(1);
      },
    ],
  ),
  [
    "[END-12] a batch and a binary frame are counted and ignored",
    async (talk) => {
      const peer = await listed(talk);
      const before = await ignored(talk);
      peer.send(`${JSON.stringify([{ jsonrpc: "2.0", id: 1, result: {} }])}\n`);
      peer.socket.send(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'));
      await works(talk, peer);
      expect((await ignored(talk)) - before).toBe(2);
    },
  ],
  [
    "[END-12] an answer to nothing changes nothing",
    async (talk) => {
      const peer = await listed(talk);
      peer.send('{"jsonrpc":"2.0","id":987654,"result":{}}\n');
      peer.send('{"jsonrpc":"2.0","id":"text","error":{"code":-1,"message":"no"}}\n');
      peer.send('{"hello":"world"}\n');
      await works(talk, peer);
    },
  ],
  [
    "[END-12] a frame above 1 MiB closes the connection with 1009, and fails the call",
    async (talk) => {
      const peer = await listed(talk);
      const called = talk.site.call("calculator", "add");
      answer(peer, await nextCall(peer), textContent("x".repeat(1_048_576)));
      expect((await peer.closed()).code).toBe(1009);
      expect((await called).body).toMatchObject({ code: "device_disconnected", sent: true });
    },
  ],
  [
    "[END-12] the program's own ping is answered, and the gateway refuses its unknown requests",
    async (talk) => {
      const peer = await listed(talk);
      peer.send('{"jsonrpc":"2.0","id":0,"method":"ping"}\n');
      expect(await peer.next()).toEqual({ jsonrpc: "2.0", id: 0, result: {} });
      peer.send('{"jsonrpc":"2.0","id":"s","method":"no/such","params":{}}\n');
      expect(await peer.next()).toMatchObject({ id: "s", error: { code: -32601 } });
      await works(talk, peer);
    },
  ],
  [
    "[END-11] one socket for each program, all with one token",
    async ({ site, token }) => {
      const peers: FrameSocket[] = [];
      for (const name of ["calculator", "weather", "news"]) peers.push(await provide(site, token, name));
      for (const name of ["calculator", "weather", "news"]) await online(site, name);
      expect(peers.every(({ socket }) => socket.readyState === socket.OPEN)).toBe(true);
    },
  ],
  [
    "[END-11] a second program with the same name replaces the first",
    async (talk) => {
      const first = await listed(talk);
      const second = await provide(talk.site, talk.token, "calculator");
      expect((await first.closed()).code).toBe(1001);
      await online(talk.site, "calculator");
      await works(talk, second);
    },
  ],
  [
    "[END-12] the program dies and the socket stays open: two pings without an answer, then 1011",
    async (talk) => {
      const peer = await listed(talk);
      for (let missed = 0; missed < 2; missed += 1) {
        talk.clock.advance(30_000);
        expect(await peer.next()).toMatchObject({ method: "ping" });
        expect((await talk.site.device("calculator"))["online"]).toBe(true);
      }
      talk.clock.advance(30_000);
      expect(await peer.closed()).toEqual({
        code: 1011,
        reason: "the program behind the connection does not answer",
      });
      expect((await talk.site.device("calculator"))["online"]).toBe(false);
    },
  ],
  [
    "[END-12] prints are no sign of life",
    async (talk) => {
      const peer = await listed(talk);
      for (let missed = 0; missed < 2; missed += 1) {
        talk.clock.advance(30_000);
        await peer.next();
        const before = await ignored(talk);
        peer.send("still printing\n");
        await until(async () => (await ignored(talk)) > before, "the print");
      }
      talk.clock.advance(30_000);
      expect((await peer.closed()).code).toBe(1011);
    },
  ],
  [
    "[END-12] an error to a ping is a sign of life: some programs do not know it",
    async (talk) => {
      const peer = await listed(talk);
      for (let time = 0; time < 4; time += 1) {
        talk.clock.advance(30_000);
        const { id, method } = await peer.next();
        expect(method).toBe("ping");
        const before = (await talk.site.device("calculator"))["lastSeenAt"];
        peer.send(
          `${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } })}\n`,
        );
        await until(
          async () => (await talk.site.device("calculator"))["lastSeenAt"] !== before,
          "the answer",
        );
      }
      await works(talk, peer);
    },
  ],
  [
    "[END-12] a program that runs a long call is not pinged, and not closed",
    async (talk) => {
      const peer = await listed(talk);
      const called = talk.site.call("calculator", "add", {}, { timeoutMs: 280_000 });
      const asked = await nextCall(peer);
      for (let time = 0; time < 8; time += 1) talk.clock.advance(30_000);
      answer(peer, asked, textContent("3"));
      expect((await called).body["result"]).toMatchObject({ content: [{ text: "3" }] });
    },
  ],
  [
    "[END-12] a program that refuses to start says why in its own language",
    async ({ site, token }) => {
      const peer = await dial(providerUrl(site, token));
      const { id } = await peer.next();
      const message = "无法启动：缺少依赖项，请先安装所需的软件包，然后重新启动此程序。".repeat(4);
      peer.send(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } })}\n`);
      const { code, reason } = await peer.closed();
      expect(code).toBe(1011);
      expect(reason).toMatch(/^the provider does not answer as an MCP server \(.*无法启动/);
      expect((await site.rest("GET", "/devices")).status).toBe(200);
    },
  ],
  [
    "[END-11] a program without a name, or with one that is no slug, is a device all the same",
    async ({ site, token }) => {
      for (const [name, id] of [
        ["", "provider"],
        ["计算器", "provider-2"],
        ["7 Segments!", "provider-7-segments"],
      ] as const) {
        await provide(site, token, name);
        await online(site, id);
      }
    },
  ],
];

describe("a tool provider that dials in", () => {
  it.each(rows)("%s", async (_quirk, play) => {
    const clock = new ManualClock(Date.now());
    const site = await openSite({ clock, config: { endpoint: { enabled: true } } });
    await play({ site, clock, token: await makeToken(site) });
  });
});
