/** Virtual devices for `tendon serve --demo`. They are provisioned like any other device. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Config, Tendon } from "@tendon/gateway";

export interface Demo {
  stop(): Promise<void>;
}

const boards = [
  { mac: "02:00:00:de:30:01", name: "esp-box-3", transport: "websocket", battery: false },
  {
    mac: "02:00:00:de:30:02",
    name: "m5stack-core-s3",
    transport: "mqtt",
    battery: { level: 82, charging: true },
  },
] as const;

/** The simulated home as a stdio device, unless the configuration already has a device named `home`. */
export function demoProcesses({ data, devices }: Config): Config["devices"]["stdio"] {
  if (devices.stdio.some(({ alias }) => alias === "home")) return [];
  const tendon = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
  return [
    { alias: "home", command: process.execPath, args: [tendon, "home", "--mcp", "--events", "--data", data] },
  ];
}

export async function startDemo(tendon: Tendon): Promise<Demo> {
  // A gateway without virtual devices does not load the simulator.
  const { VirtualDevice } = await import("@tendon/simulator");
  const devices = boards.map(({ mac, name, transport, battery }) => {
    const clientId = randomUUID();
    const { websocket, mqtt } = tendon.provision(mac, clientId);
    const connection = transport === "mqtt" ? { mqtt } : { url: websocket.url, token: websocket.token };
    // The devices run in this process, so they do not need to verify the certificate's name.
    const tls = { insecureTls: tendon.config.tls.cert !== undefined };
    return new VirtualDevice({ board: { mac, clientId, name, battery }, tls, ...connection });
  });
  await Promise.all(devices.map((device) => device.connect()));
  return {
    async stop() {
      await Promise.all(devices.map((device) => device.stop()));
    },
  };
}
