/** What public interfaces cannot test: the limits of ids and of late answers. */
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { type RequestConnection, Requests, randomFirstId } from "../src/device/requests.ts";

function makeRequests(firstId: number) {
  const sent: number[] = [];
  const late: string[] = [];
  const strays: true[] = [];
  const connection: RequestConnection = {
    clock: new ManualClock(),
    queueLimit: 32,
    sendRequest: (payload) => sent.push(Number(payload["id"])) > 0,
    repliedLate: (call) => late.push(call.callId),
    repliedUnexpectedly: () => strays.push(true),
  };
  const requests = new Requests(connection, firstId);
  return { requests, sent, late, strays };
}

describe("the requests of a connection", () => {
  it("[RPC-2] start over at 1 after the largest id", async () => {
    const { requests, sent } = makeRequests(2_147_483_646);
    for (let count = 0; count < 4; count += 1) {
      const answer = requests.request("tools/list", undefined, { timeoutMs: 1_000 });
      requests.settle({ kind: "result", id: sent.at(-1) ?? 0, result: count });
      expect((await answer).result).toBe(count);
    }
    expect(sent).toEqual([2_147_483_646, 2_147_483_647, 1, 2]);
  });

  it.each([0, 0.5, 0.999_999_999])(
    "[RPC-2] start within the device's integers for the random value %d",
    (draw) => {
      const id = randomFirstId(draw);
      expect(Number.isInteger(id)).toBe(true);
      expect(id).toBeGreaterThanOrEqual(1);
      expect(id).toBeLessThan(2_147_483_647);
    },
  );

  it("[RPC-5] remember only the last 64 timed-out calls", async () => {
    const { requests, sent, late, strays } = makeRequests(1);
    for (let count = 1; count <= 70; count += 1) {
      const caller = new AbortController();
      const call = { callId: `call-${count}`, tool: "a" };
      const answer = requests.request("tools/call", {}, { timeoutMs: 1_000, signal: caller.signal, call });
      caller.abort();
      await expect(answer).rejects.toMatchObject({ code: "cancelled" });
    }
    for (const id of sent) requests.settle({ kind: "result", id, result: null });
    expect(late).toEqual(Array.from({ length: 64 }, (_, at) => `call-${at + 7}`));
    expect(strays).toHaveLength(6);
  });

  it("[CALL-4] reject new requests after the connection's end", async () => {
    const { requests, sent } = makeRequests(1);
    requests.close("gone", true);
    const answer = requests.request("tools/list", undefined, { timeoutMs: 1_000 });
    await expect(answer).rejects.toMatchObject({ code: "device_disconnected", context: { sent: false } });
    expect(sent).toEqual([]);
  });
});
