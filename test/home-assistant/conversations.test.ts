/** Voice conversations in Home Assistant: events, and no status read while one runs. */
import { expect, it } from "vitest";
import { until } from "../inbox.ts";
import { boardId, mqttBoard, openUpstream } from "../voice/voice-site.ts";
import { Assistant, makeToken, openBroker, openGateway } from "./house.ts";

const slug = boardId.replaceAll(":", "");
const topics = `tendon/ha/${slug}`;
const configTopic = `homeassistant/device/tendon_${slug}/config`;

it("a conversation is shown as events, and the board's status is read only before and after it", async () => {
  const broker = await openBroker();
  const upstream = await openUpstream();
  const voice = { upstream: [{ url: upstream.server.url }] };
  const site = await openGateway(broker, {}, { config: { voice } });
  await makeToken(site, ["read", "call"]);
  const assistant = await Assistant.connect(broker);
  const device = mqttBoard(site);
  let reads = 0;
  device.observe((event) => {
    if (event.kind === "frame" && event.direction === "in" && event.text.includes("self.get_device_status"))
      reads += 1;
  });
  await device.connect();
  await assistant.discovered(slug, ({ components }) => "value_template" in (components["volume"] ?? {}));
  const volume = () => JSON.parse(assistant.retained.get(`${topics}/state`) ?? "{}").audio_speaker?.volume;
  const talk = () => assistant.events(`${topics}/talk`).map(({ event_type }) => event_type);
  await assistant.command(`${topics}/set/volume`, "31");
  await until(() => volume() === 31, "the volume before the conversation");
  expect(talk()).toEqual([]);

  await device.openAudio();
  const connection = await upstream.connections.take();
  await until(() => talk().length === 1, "the start");
  const before = reads;
  await assistant.command(`${topics}/set/volume`, "37");
  await until(() => volume() === 37, "the confirmed volume");
  assistant.seen.length = 0;
  // Home Assistant's start asks for every status.
  await assistant.command("homeassistant/status", "online");
  await until(() => assistant.seen.some(({ topic }) => topic === configTopic), "the discovery again");
  await assistant.command(`${topics}/set/volume`, "38");
  await until(() => volume() === 38, "the next confirmed volume");
  expect(reads).toBe(before);

  await device.closeAudio();
  await connection.ended;
  await until(() => talk().at(-1) === "ended", "the end");
  await until(() => reads > before, "the status after the conversation");
  expect(volume()).toBe(38);
});
