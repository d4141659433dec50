/**
 * The embedded MQTT broker (aedes with the gateway's own authentication and authorisation) and the client of an outside
 * broker. Devices get messages without subscribing and may publish to `device-server` only. Apps sign in with a token,
 * publish requests and subscribe below `tendon/`. The gateway handles all messages; clients never reach each other.
 */
export { EmbeddedBroker } from "./embedded-broker.ts";
export { MqttWebSocket } from "./mqtt-websocket.ts";

/** Loaded only if a broker is configured, like the client of an outside broker. */
export async function loadBrokerClient(): Promise<typeof import("./broker-client.ts")> {
  return await import("./broker-client.ts");
}

/** Loaded only for `tendon doctor`. */
export async function loadExamineBroker(): Promise<typeof import("./examine-broker.ts")> {
  return await import("./examine-broker.ts");
}

/** Loaded only for `tendon home-assistant clean`. */
export async function loadCleanRetained(): Promise<typeof import("./clean-retained.ts")> {
  return await import("./clean-retained.ts");
}

/** Loaded only if an outside broker is configured, because its client library takes 100 ms to load. */
export async function loadOutsideBroker(): Promise<typeof import("./outside-broker.ts")> {
  return await import("./outside-broker.ts");
}
