/** Virtual devices that the console starts one at a time. */
import { randomBytes, randomUUID } from "node:crypto";
import { type Tendon, TendonError } from "@tendon/gateway";
import type { VirtualDevice } from "@tendon/simulator";

const names = ["esp-box-3", "m5stack-core-s3", "bread-compact-wifi", "lichuang-dev"];
const maxDevices = 16;

export class DemoDevices {
  readonly #running: VirtualDevice[] = [];

  /** Loads the simulator with the first device, because most gateways never need it. */
  async start(provision: Tendon["provision"]): Promise<string> {
    if (this.#running.length >= maxDevices)
      throw new TendonError(
        "conflict",
        `${maxDevices} demo devices are running already. Start more with \`tendon simulate esp32\`.`,
      );
    const { VirtualDevice: Device } = await import("@tendon/simulator");
    const [a, b] = randomBytes(2).toString("hex").match(/../g) ?? [];
    const mac = `02:00:00:de:${a}:${b}`;
    const clientId = randomUUID();
    const { websocket } = provision(mac, clientId);
    const name = names[this.#running.length % names.length] ?? "virtual-esp32";
    const device = new Device({
      board: { mac, clientId, name },
      url: websocket.url,
      token: websocket.token,
      // The device runs in this process, so it does not need to verify the certificate's name.
      tls: { insecureTls: websocket.url.startsWith("wss:") },
    });
    this.#running.push(device);
    await device.connect();
    return mac;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((device) => device.stop()));
  }
}
