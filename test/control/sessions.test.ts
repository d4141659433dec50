/** Messages that name a device by a session id: the gateway's, or the one of its voice server. */
import { describe, expect, it } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { MqttApp } from "../mqtt-app.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { adminToken, firstDevice, type Site } from "../site.ts";
import { boardId, mqttBoard, openUpstream, openVoiceSite, webSocketBoard } from "../voice/voice-site.ts";
import { webSocketTransport } from "../websocket-wire.ts";
import { openSpeaker, stockTools } from "./speaker.ts";

const documented = "b3e1bdb3-5584-4476-ac70-b69353046e37";
const anotherBoard = "02:00:00:00:0a:02";

async function openApp(site: Site, token = adminToken): Promise<(session_id: unknown) => Promise<unknown>> {
  const app = await MqttApp.open(site, { token });
  await app.wire.subscribe("tendon/control/reply");
  const message = { type: "device_control", action: "set_volume", volume: 50 };
  return async (session_id) => {
    const { code, ok } = await app.ask("tendon/control", { ...message, session_id });
    return ok === true ? "ok" : code;
  };
}

async function tokenFor(site: Site, ids: readonly string[]): Promise<string> {
  const body = { name: unusedName(site, `for-${ids.join("-")}`), scopes: ["read", "call"], devices: { ids } };
  return String((await site.rest("POST", "/tokens", body)).body["token"]);
}

/** The voice sessions by device. */
async function voiceSessions(site: Site): Promise<Map<string, Record<string, unknown>>> {
  const { sessions } = (await site.rest("GET", "/voice/sessions")).body;
  return new Map(
    (sessions as Record<string, unknown>[]).map((session) => [String(session["device"]), session]),
  );
}

describe("the gateway's session id", () => {
  it.each([webSocketTransport, mqttTransport])(
    "[APP-2] is in REST and in `device.online`, and finds the device over $name",
    async (transport) => {
      const { site, speaker } = await openSpeaker({ transport });
      const { sessionId } = await site.device(firstDevice);
      await site.rest("POST", `/devices/${firstDevice}/control`, { action: "get_volume" });
      expect(speaker.calls.at(-1)?.frame["session_id"]).toBe(sessionId);
      const ask = await openApp(site);
      expect(await ask(sessionId)).toBe("ok");
      const events = await site.events("?type=device.online");
      speaker.device.cut();
      await until(async () => (await site.device(firstDevice))["online"] === false);
      expect((await site.device(firstDevice))["sessionId"]).toBeNull();
      expect(await ask(sessionId)).toBe("device_unknown");
      await site.join({ transport, tools: stockTools });
      const { data } = await events.next();
      expect(data["sessionId"]).toBe((await site.device(firstDevice))["sessionId"]);
      expect(data["sessionId"]).not.toBe(sessionId);
    },
  );

  it("[APP-2] of the connection stays valid over MQTT beside that of the newest audio session", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const board = mqttBoard(site);
    await board.connect();
    await site.listed(boardId);
    const ids = [(await site.device(boardId))["sessionId"]];
    for (let times = 0; times < 2; times += 1) {
      await board.openAudio();
      expect((await site.device(boardId))["sessionId"]).toBe(board.sessionId);
      ids.push(board.sessionId);
      await board.closeAudio();
    }
    const ask = await openApp(site);
    expect([await ask(ids[0]), await ask(ids[1]), await ask(ids[2])]).toEqual(["ok", "device_unknown", "ok"]);
  });
});

describe("the voice server's session id", () => {
  it.each([
    ["a uuid", documented, webSocketBoard],
    ["a uuid and another MAC address", `${documented}_6825ddbb4d44`, webSocketBoard],
    ["any text, over MQTT", "voice 1/ü", mqttBoard],
  ])("[APP-2] finds the device and is in the voice sessions: %s", async (_, id, boardOf) => {
    const upstream = await openUpstream({ sessionId: () => id });
    const site = await openVoiceSite(upstream.server.url);
    const ask = await openApp(site);
    const board = boardOf(site);
    await board.connect();
    await board.openAudio();
    await upstream.connections.take();
    await site.listed(boardId);
    expect(await ask(id)).toBe("ok");
    expect(await ask(board.sessionId)).toBe("ok");
    expect((await voiceSessions(site)).get(boardId)).toMatchObject({
      sessionId: board.sessionId,
      upstreamSessionId: id,
    });
    // After the conversation until the next one, like the id that the board itself keeps.
    if (boardOf === mqttBoard) {
      await board.closeAudio();
      await until(async () => (await voiceSessions(site)).size === 0);
      expect(await ask(id)).toBe("ok");
    }
    await board.stop();
    await until(async () => (await site.device(boardId))["online"] === false);
    expect(await ask(id)).toBe("device_unknown");
  });

  it("[APP-2] finds nothing if two visible devices have the same one", async () => {
    const upstream = await openUpstream({ sessionId: () => "same" });
    const site = await openVoiceSite(upstream.server.url);
    for (const id of [boardId, anotherBoard]) {
      const board = webSocketBoard(site, { id });
      await board.connect();
      await site.listed(id);
    }
    expect(await (await openApp(site))("same")).toBe("device_unknown");
    expect(await (await openApp(site, await tokenFor(site, [anotherBoard])))("same")).toBe("ok");
    expect(await (await openApp(site, await tokenFor(site, [firstDevice])))("same")).toBe("device_unknown");
  });

  it("[APP-2] never replaces a session id of the gateway", async () => {
    let copied = "";
    const upstream = await openUpstream({ sessionId: () => copied });
    const site = await openVoiceSite(upstream.server.url);
    const victim = webSocketBoard(site);
    await victim.connect();
    await site.listed(boardId);
    copied = victim.sessionId;
    const other = webSocketBoard(site, { id: anotherBoard });
    await other.connect();
    await site.listed(anotherBoard);
    expect(await (await openApp(site))(copied)).toBe("ok");
    const { calls } = (await site.rest("GET", "/calls?limit=1")).body;
    expect(calls).toMatchObject([{ device: boardId }]);
    const limited = await openApp(site, await tokenFor(site, [anotherBoard]));
    expect(await limited(copied)).toBe("device_unknown");
  });
});

describe("a session id that ends in a MAC address", () => {
  it("[APP-2] finds the device if no session has the id", async () => {
    const { site, speaker } = await openSpeaker();
    const ask = await openApp(site);
    for (const mac of ["020000000001", "02_00_00_00_00_01", "02:00:00:00:00:01", "02-00-00-00-00-01"])
      expect([mac, await ask(`${documented}_${mac}`)]).toEqual([mac, "ok"]);
    for (const id of [
      `${documented}_020000000099`,
      `${documented}020000000001`,
      "b3e1bdb3-5584-4476-ac70-020000000001",
      `${documented}_020000000001_`,
      "020000000001",
    ])
      expect([id, await ask(id)]).toEqual([id, "device_unknown"]);
    expect(speaker.calls.length).toBe(4);
    speaker.device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    expect(await ask(`${documented}_020000000001`)).toBe("device_offline");
  });

  it("[APP-2] finds only devices that the token may see", async () => {
    const { site, speaker } = await openSpeaker();
    const ask = await openApp(site, await tokenFor(site, [anotherBoard]));
    const { sessionId } = await site.device(firstDevice);
    expect(await ask(`${documented}_020000000001`)).toBe("device_unknown");
    expect(await ask(sessionId)).toBe("device_unknown");
    expect(speaker.calls).toEqual([]);
  });
});
