import type { BoardConnection, VirtualDevice } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import {
  ask,
  directBoard,
  Ear,
  mqttBoard,
  openUpstream,
  openVoiceSite,
  receivedBy,
  type Upstream,
  webSocketBoard,
} from "./voice-site.ts";

const rounds = 6;
const ids = { websocket: "02:00:00:00:0b:01", mqtt: "02:00:00:00:0b:02" };
const echo = "self.echo";

function withEcho(device: VirtualDevice): VirtualDevice {
  return device.addTool(echo, "Says it again", { text: { type: "string" } }, ({ text }) => text);
}

interface Conversation {
  readonly ear: Ear;
  readonly connection: BoardConnection;
}

async function converse(device: VirtualDevice, upstream: Upstream): Promise<Conversation> {
  const ear = new Ear(device);
  await device.openAudio();
  const connection = await upstream.connections.take();
  await until(() => connection.mcp.tools.length > 0, "the tools");
  for (let round = 0; round < rounds; round += 1) await ask(device, connection);
  return { ear, connection };
}

/** Calls a tool repeatedly until stopped; returns the number of calls. Each answer must belong to its call. */
function callUntil(call: (text: string) => Promise<unknown>): { stop(): Promise<number> } {
  let stopped = false;
  const running = (async () => {
    let count = 0;
    for (; !stopped; count += 1) expect(await call(`call ${count}`)).toBe(`call ${count}`);
    return count;
  })();
  return {
    async stop() {
      stopped = true;
      return await running;
    },
  };
}

function agent(site: Site, id: string) {
  return callUntil(async (text) => {
    const { body } = await site.call(id, echo, { text: `agent ${text}` });
    const { content } = body["result"] as unknown as { content: { text: string }[] };
    return content[0]?.text.replace("agent ", "");
  });
}

function server(connection: BoardConnection) {
  return callUntil(async (text) => {
    const { result } = await connection.mcp.call(echo, { text: `server ${text}` });
    return (result as { content: { text: string }[] }).content[0]?.text.replace("server ", "");
  });
}

/** Texts and audio in order, separately, because over MQTT they use different paths. */
function inOrder(said: readonly string[]): string[][] {
  const audio = said.filter((text) => text.startsWith("audio"));
  return [audio, said.filter((text) => !text.startsWith("audio") && !text.includes('"type":"hello"'))];
}

describe("conversations during many tool calls", () => {
  it("are the same as without calls: nothing is lost, mixed up or delayed", async () => {
    const script = { tool: { name: echo, arguments: { text: "before the answer" } } };
    const upstream = await openUpstream({ sessionId: () => "the-session", script });
    const alone = await converse(withEcho(directBoard(upstream.server)), upstream);

    const site = await openVoiceSite(upstream.server.url);
    const boards = [
      { id: ids.websocket, device: withEcho(webSocketBoard(site, { id: ids.websocket })) },
      { id: ids.mqtt, device: withEcho(mqttBoard(site, { id: ids.mqtt })) },
    ];
    const talks: Conversation[] = [];
    const callers: { stop(): Promise<number> }[] = [];
    const running: Promise<unknown>[] = [];
    for (const { id, device } of boards) {
      await device.connect();
      const ear = new Ear(device);
      if (id === ids.mqtt) await device.openAudio();
      const connection = await upstream.connections.take();
      await site.listed(id);
      await until(() => connection.mcp.tools.length > 0, "the tools");
      callers.push(agent(site, id), agent(site, id), server(connection));
      talks.push({ ear, connection });
      running.push(
        (async () => {
          for (let round = 0; round < rounds; round += 1) await ask(device, connection);
        })(),
      );
    }
    await Promise.all(running);
    const counts = await Promise.all(callers.map((caller) => caller.stop()));
    for (const count of counts) expect(count).toBeGreaterThan(5);

    for (const { ear, connection } of talks) {
      expect(inOrder(receivedBy(connection))).toEqual(inOrder(receivedBy(alone.connection)));
      expect(inOrder(ear.said)).toEqual(inOrder(alone.ear.said));
    }
    const failed = (await site.rest("GET", "/calls?limit=1000")).body["calls"] as unknown as {
      outcome: string;
    }[];
    expect(failed.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
  });
});
