import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { answerOne, approvalIdOf, openGuarded, second, setVolume } from "./guarded.ts";
import { as, makeToken } from "./tokens.ts";

describe("a fan-out", () => {
  it("[APR-5] has one approval request for exactly its targets, and calls none before", async () => {
    const { site, device, agent, decide } = await openGuarded({
      rules: [{ tool: "set_volume", device: second, effect: "confirm" }],
    });
    const other = await site.join({ deviceId: second, tools: [setVolume] });
    const fanOut = async (devices: readonly string[], level = 1) =>
      await site.rest(
        "POST",
        "/calls",
        { target: { devices }, tool: "set_volume", arguments: { volume: level } },
        as(agent.token),
      );
    const held = (await fanOut([device.id, second])).body["results"] as { error: { approvalId: string } }[];
    const id = held[0]?.error.approvalId ?? "";
    expect(held).toMatchObject([
      { device: device.id, ok: false, error: { code: "approval_required", approvalId: id } },
      { device: second, ok: false, error: { code: "approval_required", approvalId: id } },
    ]);
    expect(await device.quiet()).toEqual([]);
    expect(await other.quiet()).toEqual([]);
    const limited = await makeToken(site, { scopes: ["call:user"], devices: { ids: [second] } });
    expect((await decide(id, "approve", limited.token)).status).toBe(404);
    const approved = await decide(id, "approve");
    expect(approved.body).toMatchObject({ device: null, target: { devices: [device.id, second] } });
    for (const [devices, level] of [
      [[second], 1],
      [[device.id, second], 2],
    ] as const) {
      const results = (await fanOut(devices, level)).body["results"] as { error: { approvalId: string } }[];
      expect(results.every(({ error }) => error.approvalId !== id)).toBe(true);
    }
    const alone = await site.rest(
      "POST",
      `/devices/${second}/tools/set_volume/call`,
      { arguments: { volume: 1 } },
      as(agent.token),
    );
    expect(approvalIdOf(alone)).not.toBe(id);
    const all = fanOut([second, device.id]);
    await Promise.all([answerOne(device), answerOne(other)]);
    expect((await all).body).toMatchObject({ ok: 2, failed: 0 });
    const { body } = await site.rest("GET", "/calls?outcome=ok");
    expect((body["calls"] as { approval?: string }[]).map(({ approval }) => approval).sort()).toEqual([
      id,
      undefined,
    ]);
    expect((await fanOut([device.id, second])).body).toMatchObject({ ok: 0, failed: 2 });
  });

  it("[APR-5] that becomes a job is rejected as a whole, and runs once it is approved", async () => {
    const { site, device, agent, decide } = await openGuarded();
    const devices = [device.id, ...Array.from({ length: 500 }, (_, number) => `offline-${number}`)];
    const fanOut = () =>
      site.rest(
        "POST",
        "/calls",
        { target: { devices }, tool: "set_volume", arguments: { volume: 3 } },
        as(agent.token),
      );
    const id = approvalIdOf(await fanOut());
    const limited = await makeToken(site, { scopes: ["call:user"], devices: { ids: [device.id] } });
    expect((await decide(id, "approve", limited.token)).status).toBe(404);
    expect((await decide(id, "approve")).body["target"]).toMatchObject({ count: 501 });
    const started = await fanOut();
    expect(started.status).toBe(202);
    expect(await answerOne(device)).toEqual({ volume: 3 });
    const job = `/jobs/${String(started.body["job"])}`;
    const done = await until(async () => {
      const { body } = await site.rest("GET", job, undefined, as(agent.token));
      return body["state"] === "done" ? body : undefined;
    });
    expect(done).toMatchObject({ total: 501, ok: 1, failed: 500 });
  });

  it("[APR-5] runs at once if no device requires approval", async () => {
    const { site, device, agent } = await openGuarded({ rules: [{ device: second, effect: "confirm" }] });
    await site.join({ deviceId: second, tools: [setVolume] });
    const request = {
      target: { devices: [device.id, "unknown"] },
      tool: "set_volume",
      arguments: { volume: 1 },
    };
    const all = site.rest("POST", "/calls", request, as(agent.token));
    await answerOne(device);
    expect((await all).body["results"]).toMatchObject([{ ok: true }, { error: { code: "device_unknown" } }]);
  });
});
