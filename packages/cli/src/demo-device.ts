/** Virtual devices that the console starts one at a time. They come back with the gateway until they are deleted. */
import { randomBytes, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { type Tendon, TendonError } from "@tendon/gateway";
import type { VirtualDevice } from "@tendon/simulator";
import { shownCommand } from "./own-command.ts";

const names = ["esp-box-3", "m5stack-core-s3", "bread-compact-wifi", "lichuang-dev"];
const maxDevices = 16;
const fileName = "virtual-devices.json";

interface Kept {
  readonly mac: string;
  readonly clientId: string;
  readonly name: string;
}

/** What the devices need of the gateway. */
type Gateway = Pick<Tendon, "provision" | "approvalOf">;

export class DemoDevices {
  readonly #file: string;
  readonly #running = new Map<string, { readonly kept: Kept; readonly device: VirtualDevice }>();
  #gateway: Gateway | undefined;

  constructor(dataFolder: string) {
    this.#file = path.join(dataFolder, fileName);
  }

  /** Starts the devices of the last run, except those that were deleted or revoked in the meantime. */
  async resume(gateway: Gateway): Promise<void> {
    this.#gateway = gateway;
    const kept = readKept(this.#file).filter(({ mac }) => gateway.approvalOf(mac) === "approved");
    await Promise.all(kept.map((each) => this.#run(each, gateway)));
  }

  async start(): Promise<string> {
    const gateway = this.#gateway;
    if (gateway === undefined) throw new TendonError("conflict", "The gateway is still starting.");
    if (this.#running.size >= maxDevices)
      throw new TendonError(
        "conflict",
        `${maxDevices} virtual devices are running already. Start more with \`${shownCommand()} simulate esp32\`.`,
      );
    const [a, b] = randomBytes(2).toString("hex").match(/../g) ?? [];
    const name = names[this.#running.size % names.length] ?? "virtual-esp32";
    const kept = { mac: `02:00:00:de:${a}:${b}`, clientId: randomUUID(), name };
    await this.#run(kept, gateway);
    this.#save();
    return kept.mac;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ device }) => device.stop()));
  }

  async #run(kept: Kept, gateway: Gateway): Promise<void> {
    // Loads the simulator with the first device, because most gateways never need it.
    const { VirtualDevice: Device } = await import("@tendon/simulator");
    const { mac, clientId, name } = kept;
    const { websocket } = gateway.provision(mac, clientId);
    const device = new Device({
      board: { mac, clientId, name },
      url: websocket.url,
      token: websocket.token,
      // The device runs in this process, so it does not need to verify the certificate's name.
      tls: { insecureTls: websocket.url.startsWith("wss:") },
    });
    this.#running.set(mac, { kept, device });
    const endIfDeleted = () => {
      if (gateway.approvalOf(mac) !== undefined || !this.#running.delete(mac)) return;
      void device.stop();
      this.#save();
    };
    device.on("disconnected", endIfDeleted);
    device.on("connect-failed", endIfDeleted);
    await device.connect();
  }

  #save(): void {
    const kept = [...this.#running.values()].map((each) => each.kept);
    const written = `${this.#file}.new`;
    fs.writeFileSync(written, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
    fs.renameSync(written, this.#file);
  }
}

/** A missing or damaged file means no devices: they are easy to start again. */
function readKept(file: string): Kept[] {
  try {
    const found: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
    return Array.isArray(found) ? found.filter(isKept).slice(0, maxDevices) : [];
  } catch {
    return [];
  }
}

function isKept(value: unknown): value is Kept {
  const { mac, clientId, name } = (value ?? {}) as Partial<Record<keyof Kept, unknown>>;
  return [mac, clientId, name].every((text) => typeof text === "string");
}
