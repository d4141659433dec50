/** One more virtual device at a time, for whoever asks for it at the console. */
import { randomBytes, randomUUID } from "node:crypto";
import { type Tendon, TendonError } from "@tendon/gateway";
import type { VirtualDevice } from "@tendon/simulator";

const names = ["esp-box-3", "m5stack-core-s3", "bread-compact-wifi", "lichuang-dev"];
const mostDevices = 16;

export class DemoDevices {
  readonly #running: VirtualDevice[] = [];

  /** The simulator is loaded when the first one is asked for: most gateways never need it. */
  async start(provision: Tendon["provision"]): Promise<string> {
    if (this.#running.length >= mostDevices)
      throw new TendonError("conflict", `${mostDevices} are running; \`tendon simulate\` starts more`);
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
      // It lives in this process: whose name the certificate has does not matter to it.
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
