import { connectAsync } from "mqtt";
import { clientId, type Dial } from "./device.ts";
import { ask, asObject } from "./http.ts";

interface Settings {
  readonly endpoint: string;
  readonly client_id: string;
  readonly username: string;
  readonly password: string;
  readonly publish_topic: string;
}

/** A board over MQTT: it asks for its settings first. */
export const dialMqtt: Dial = async (url, id, listener) => {
  const answered = await ask(url, {
    method: "POST",
    path: "/xiaozhi/ota/",
    headers: { "device-id": id, "client-id": clientId, "content-type": "application/json" },
    body: "{}",
  });
  const settings = asObject(answered?.text ?? "")["mqtt"] as Settings;
  const client = await connectAsync(`mqtt://${settings.endpoint}`, {
    clientId: settings.client_id,
    username: settings.username,
    password: settings.password,
    reconnectPeriod: 0,
  });
  client.on("error", () => undefined);
  client.on("message", (_topic, payload) => listener.received(payload.toString()));
  client.once("close", () => listener.closed());
  return {
    get isOpen() {
      return client.connected;
    },
    send: (text) => void client.publish(settings.publish_topic, text),
    close: () => void client.end(true),
  };
};
