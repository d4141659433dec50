/**
 * The embedded MQTT broker: a real one (aedes) with our own doors. Devices are pushed to without subscribing and may
 * say things to `device-server` only; apps sign in with a token, publish requests and subscribe below `tendon/`. What
 * either publishes is handed on and goes no further: nobody hears anybody else through this broker.
 */
export { EmbeddedBroker } from "./embedded-broker.ts";
export { MqttWebSocket } from "./mqtt-websocket.ts";

/** Loaded only where an outside broker is configured: its client library takes a tenth of a second. */
export async function loadOutsideBroker(): Promise<typeof import("./outside-broker.ts")> {
  return await import("./outside-broker.ts");
}
