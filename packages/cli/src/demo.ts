/** Virtual devices beside the gateway, so that there is something to call at once. They are provisioned like any. */
import { randomUUID } from "node:crypto";
import type { Tendon } from "@tendon/gateway";
import { VirtualDevice } from "@tendon/simulator";

export interface Demo {
  stop(): Promise<void>;
}

const boards = [
  { mac: "02:00:00:de:30:01", name: "esp-box-3" },
  { mac: "02:00:00:de:30:02", name: "m5stack-core-s3" },
];

export async function startDemo(tendon: Tendon): Promise<Demo> {
  const devices = boards.map(({ mac, name }) => {
    const clientId = randomUUID();
    const { token } = tendon.provision(mac, clientId);
    return new VirtualDevice({
      board: { mac, clientId, name },
      url: tendon.addresses.deviceWebSocket,
      token,
    });
  });
  await Promise.all(devices.map((device) => device.connect()));
  return {
    async stop() {
      await Promise.all(devices.map((device) => device.stop()));
    },
  };
}
