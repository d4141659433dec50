/** Virtual devices beside the gateway, so that there is something to call at once. They are provisioned like any. */
import { randomUUID } from "node:crypto";
import type { Tendon } from "@tendon/gateway";
import { VirtualDevice } from "@tendon/simulator";

export interface Demo {
  stop(): Promise<void>;
}

const boards = [
  { mac: "02:00:00:de:30:01", name: "esp-box-3", transport: "websocket" },
  { mac: "02:00:00:de:30:02", name: "m5stack-core-s3", transport: "mqtt" },
] as const;

export async function startDemo(tendon: Tendon): Promise<Demo> {
  const devices = boards.map(({ mac, name, transport }) => {
    const clientId = randomUUID();
    const { websocket, mqtt } = tendon.provision(mac, clientId);
    const connection = transport === "mqtt" ? { mqtt } : { url: websocket.url, token: websocket.token };
    return new VirtualDevice({ board: { mac, clientId, name }, ...connection });
  });
  await Promise.all(devices.map((device) => device.connect()));
  return {
    async stop() {
      await Promise.all(devices.map((device) => device.stop()));
    },
  };
}
