import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { adminToken } from "../site.ts";
import {
  boardId,
  directBoard,
  openUpstream,
  openVoiceSite,
  receivedBy,
  talk,
  webSocketBoard,
} from "./voice-site.ts";

describe("a board over WebSocket", () => {
  it.each([1, 2, 3] as const)(
    "[VOI-2][VOI-3][VOI-4] with framing %s talks through the gateway as it would without it, byte for byte",
    async (version) => {
      const upstream = await openUpstream({ sessionId: () => "a-name-of-the-server" });
      const without = await talk(directBoard(upstream.server, { version }), upstream);
      const site = await openVoiceSite(upstream.server.url);
      const withIt = await talk(webSocketBoard(site, { version }), upstream);

      expect(receivedBy(withIt.connection)).toEqual(receivedBy(without.connection));
      expect(withIt.ear.said).toEqual(without.ear.said);
      expect(without.ear.said.filter((said) => said.startsWith("audio")).length).toBe(80);
      for (const header of ["device-id", "client-id", "protocol-version"]) {
        expect(withIt.connection.headers[header]).toBe(without.connection.headers[header]);
      }
      expect(without.connection.headers["device-id"]).toBe(boardId);
    },
  );

  it("[VOI-3] gets the gateway's session id, whatever the server's is", async () => {
    const upstream = await openUpstream({ faults: ["odd-session-id"] });
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    const { connection, ear } = await talk(device, upstream);
    expect(device.sessionId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const listen = receivedBy(connection).find((text) => text.includes('"listen"')) ?? "";
    expect((JSON.parse(listen) as { session_id: string }).session_id).toBe(connection.sessionId);
    expect(ear.said.join(" ")).not.toContain("now");
  });

  it("[VOI-2] gets a complete hello from a server without a session id", async () => {
    const upstream = await openUpstream({ faults: ["no-session-id"] });
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    await talk(device, upstream);
    expect(device.sessionId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("[VOI-1] is signed in with the fixed token, which is not revealed", async () => {
    const token = "a-token-of-the-voice-server";
    const upstream = await openUpstream({ token });
    const site = await openVoiceSite([{ url: upstream.server.url, signIn: "token", token }]);
    const { connection } = await talk(webSocketBoard(site), upstream);
    expect(connection.headers.authorization).toBe(`Bearer ${token}`);
    expect(JSON.stringify(connection.headers)).not.toContain(adminToken);
  });

  it("[VOI-1] never sends its own token to the voice server", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const { connection } = await talk(webSocketBoard(site), upstream);
    expect(connection.headers.authorization).toBeUndefined();
  });

  it("disconnects the voice server when it disconnects", async () => {
    const upstream = await openUpstream();
    const site = await openVoiceSite(upstream.server.url);
    const device = webSocketBoard(site);
    const { connection } = await talk(device, upstream);
    device.disconnect();
    await connection.ended;
    expect(upstream.server.connections.size).toBe(0);
    await until(async () => (await site.metric("tendon_voice_sessions")) === 0, "no conversation");
  });
});
