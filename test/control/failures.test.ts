/** Which tools a failed action lists, and what an operator can see of unknown actions and functions. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { MqttApp } from "../mqtt-app.ts";
import { firstDevice } from "../site.ts";
import { openSpeaker, statusTool, stockTools, volumeTool } from "./speaker.ts";

const controlPath = `/devices/${firstDevice}/control`;
const controlTopic = `tendon/devices/${firstDevice}/control`;

describe("the tools of a failed action", () => {
  it("[CTL-4] are those that were called, not those that a rule denied", async () => {
    const config = { access: { rules: [{ tool: volumeTool, effect: "deny" as const }] } };
    const { site, speaker } = await openSpeaker({ config });
    const set = await site.rest("POST", controlPath, { action: "set_volume", volume: 5 });
    expect([set.status, set.body]).toMatchObject([403, { code: "forbidden", tools: [] }]);
    const up = await site.rest("POST", controlPath, { action: "volume_up" });
    expect([up.status, up.body]).toMatchObject([403, { code: "forbidden", tools: [statusTool] }]);
    expect(speaker.names).toEqual([statusTool]);
  });

  it("[CTL-4] are none for a device that is offline, a missing tool or an approval", async () => {
    const config = { access: { rules: [{ tool: volumeTool, effect: "confirm" as const }] } };
    const { site, speaker } = await openSpeaker({ config, tools: stockTools.slice(1) });
    const waits = await site.rest("POST", controlPath, { action: "set_volume", volume: 5 });
    expect(waits.body).toMatchObject({
      code: "approval_required",
      approvalId: expect.any(String),
      tools: [],
    });
    const missing = await site.rest("POST", controlPath, { action: "get_volume" });
    expect(missing.body).toMatchObject({ code: "tool_unknown", tools: [] });
    speaker.device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    const offline = await site.rest("POST", controlPath, { action: "mute" });
    expect(offline.body).toMatchObject({ ok: false, tools: [] });
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-4] include a tool that the device rejected", async () => {
    const { site, speaker } = await openSpeaker();
    speaker.answers.set(volumeTool, () => ({ error: { message: "no codec" } }));
    const app = await MqttApp.open(site);
    await app.wire.subscribe(`${controlTopic}/reply`);
    expect(await app.ask(controlTopic, { action: "volume_up" })).toMatchObject({
      code: "device_error",
      tools: [statusTool, volumeTool],
    });
  });
});
