// An app over MQTT: calls a device's tool, waits for the answer to its own request, and checks it.
//
//   TENDON_TOKEN=$(cat data/admin-token) node examples/mqtt-app.mjs DEVICE_ID [mqtt://127.0.0.1:1883]
import { randomUUID } from "node:crypto";
import mqtt from "mqtt";

const [device, url = "mqtt://127.0.0.1:1883"] = process.argv.slice(2);
if (device === undefined || process.env.TENDON_TOKEN === undefined) {
  console.error("usage: TENDON_TOKEN=… node examples/mqtt-app.mjs DEVICE_ID [mqtt://host:port]");
  process.exit(2);
}

const client = await mqtt
  .connectAsync(url, { username: "app", password: process.env.TENDON_TOKEN, reconnectPeriod: 0 })
  .catch((error) => {
    console.error(`${url}: ${error.message}`);
    process.exit(1);
  });
const topic = `tendon/devices/${device}/call`;
await client.subscribeAsync(`${topic}/reply`);
const request_id = randomUUID();
const answered = new Promise((resolve) => {
  client.on("message", (_topic, payload) => {
    const answer = JSON.parse(payload.toString());
    if (answer.request_id === request_id) resolve(answer);
  });
});
await client.publishAsync(
  topic,
  JSON.stringify({ request_id, tool: "self.get_device_status", arguments: {} }),
);
const answer = await answered;
console.log(JSON.stringify(answer));
await client.endAsync();
process.exitCode = answer.ok ? 0 : 1;
