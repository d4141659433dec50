/** When Home Assistant's values are read from the boards: at connect, every few minutes, and few boards at a time. */
import { expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { mqttTransport } from "../mqtt-wire.ts";
import { type RawDevice, textContent } from "../raw-device.ts";
import { firstDevice } from "../site.ts";
import { Assistant, answer, makeToken, none, openBroker, openGateway, state } from "./house.ts";

const statusTool = "self.get_device_status";

it("status and sensors are read at connect and every five minutes, and published", async () => {
  const broker = await openBroker();
  const clock = new ManualClock(Date.now());
  const site = await openGateway(broker, {}, { clock });
  await makeToken(site, ["read", "call"]);
  const assistant = await Assistant.connect(broker);
  const tools = [none(statusTool), none("self.room.get_temperature"), none("self.lamp.blink")];
  const answers: Record<string, string> = {
    [statusTool]: JSON.stringify({ battery: { level: 80 } }),
    "self.room.get_temperature": "21.5",
  };
  const calls = answer(await site.join({ transport: mqttTransport, tools }), answers);
  const topics = "tendon/ha/020000000001";
  await assistant.state(`${topics}/value/room_get_temperature`, "21.5");
  await assistant.state(`${topics}/state`, answers[statusTool]);
  const reads = () => calls.filter(({ name }) => name === statusTool).length;
  await clock.settled();
  const before = reads();
  // After the connection and after the list, which may be one.
  expect(before).toBeLessThanOrEqual(2);
  answers[statusTool] = JSON.stringify({ battery: { level: 79 } });
  answers["self.room.get_temperature"] = "22";
  for (let seconds = 0; seconds < 290; seconds += 10) {
    clock.advance(10_000);
    // The board is heard, so that it stays connected.
    expect((await site.call(firstDevice, "self.lamp.blink")).status).toBe(200);
  }
  expect(reads()).toBe(before);
  clock.advance(20_000);
  await assistant.state(`${topics}/state`, answers[statusTool]);
  await assistant.state(`${topics}/value/room_get_temperature`, "22");
  expect(reads()).toBe(before + 1);
});

it("of many boards four are read at a time", async () => {
  const broker = await openBroker();
  const site = await openGateway(broker);
  const ids = Array.from({ length: 7 }, (_, at) => `02:00:00:00:01:0${at}`);
  const asked: { readonly device: RawDevice; readonly id: number }[] = [];
  for (const deviceId of ids) {
    const device = await site.join({ deviceId, tools: [none(statusTool)] });
    void (async () => {
      for (;;) asked.push({ device, id: (await device.nextRequest("tools/call")).id });
    })().catch(() => undefined);
  }
  await makeToken(site, ["read", "call"]);
  const assistant = await Assistant.connect(broker);
  await until(async () => (await state(site, "connected"))["devices"] === ids.length, "all boards");
  await until(() => asked.length === 4, "four questions");
  // Home Assistant starts meanwhile: each board is asked again, after its first answer.
  await assistant.command("homeassistant/status", "online");
  await until(async () => (await state(site, "connected"))["seenAt"] !== null, "the birth");
  for (let answered = 0; answered < ids.length + 4; answered += 1) {
    const open = await until(() => asked[answered], "the next question");
    expect(asked.length - answered).toBeLessThanOrEqual(4);
    open.device.reply(open.id, textContent(JSON.stringify({ battery: { level: answered } })));
  }
  for (const id of ids) await assistant.state(`tendon/ha/${id.replaceAll(":", "")}/state`);
});
