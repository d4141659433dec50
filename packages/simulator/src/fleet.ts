import { createHash } from "node:crypto";
import { DeviceOptionError } from "./errors.ts";
import { VirtualDevice, type VirtualDeviceOptions } from "./esp32/esp32.ts";
import type { ToolsFile } from "./tools-file.ts";

export interface FleetIdentity {
  readonly index: number;
  readonly mac: string;
  readonly clientId: string;
}

export interface FleetOptions {
  readonly count: number;
  /** Options of all devices: url or otaUrl, board, faults, timing … */
  readonly device?: VirtualDeviceOptions;
  /** Options of one device, such as its token or MQTT settings; they override `device`. */
  readonly each?: (identity: FleetIdentity) => VirtualDeviceOptions | Promise<VirtualDeviceOptions>;
  readonly tools?: ToolsFile;
  /** Called with each device before it connects, for instance to observe it. */
  readonly built?: (device: VirtualDevice) => void;
  /** The first device's address, the others follow; 02:00:00:00:00:01 by default. */
  readonly firstMac?: string;
  /** How many may connect or wait for their hello at the same time; 50 by default. */
  readonly connectConcurrency?: number;
}

export interface FleetCounters {
  readonly devices: number;
  readonly connected: number;
  readonly calls: number;
  readonly errors: number;
  readonly connectFailures: number;
  readonly reconnects: number;
  readonly reboots: number;
  readonly lostFrames: number;
}

/**
 * Many devices in one process. An idle device holds a socket and no timer (over MQTT one timer, for its pings). The
 * counters use a few events only, so that no frame is decoded just for counting.
 */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #gate: Gate;
  readonly #devices: VirtualDevice[] = [];
  readonly #counts = { calls: 0, errors: 0, connectFailures: 0, connections: 0, reboots: 0, lostFrames: 0 };
  #connectedOnce = 0;
  #stopped = false;

  constructor(options: FleetOptions) {
    if (!Number.isInteger(options.count) || options.count < 1) {
      throw new DeviceOptionError(`a fleet cannot have ${options.count} devices`);
    }
    checkAddresses(options.firstMac ?? defaultFirstMac, options.count);
    this.#options = options;
    this.#gate = new Gate(Math.max(1, options.connectConcurrency ?? 50));
  }

  get devices(): readonly VirtualDevice[] {
    return this.#devices;
  }

  get counters(): FleetCounters {
    const { connections, ...counts } = this.#counts;
    return {
      devices: this.#devices.length,
      connected: this.#devices.reduce((sum, device) => sum + (device.connected ? 1 : 0), 0),
      ...counts,
      reconnects: connections - this.#connectedOnce,
    };
  }

  /** Resolves when every device has connected once or failed for good; stop() settles it too. */
  async start(): Promise<void> {
    const { count, connectConcurrency = 50 } = this.#options;
    const dials: Promise<void>[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count && !this.#stopped) {
        const index = next;
        next += 1;
        const device = await this.#build(index);
        if (this.#stopped) await device.stop();
        else {
          this.#devices.push(device);
          // Failures are counted elsewhere. A failed device does not end the others.
          dials.push(device.connect().catch(() => undefined));
        }
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, connectConcurrency) }, work));
    await Promise.all(dials);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#devices.map(async (device) => await device.stop()));
  }

  async #build(index: number): Promise<VirtualDevice> {
    const identity = fleetIdentity(index, this.#options.firstMac ?? defaultFirstMac);
    const common = this.#options.device ?? {};
    const own = (await this.#options.each?.(identity)) ?? {};
    const device = new VirtualDevice({
      dialGate: async () => await this.#gate.enter(),
      ...common,
      ...own,
      board: { ...common.board, mac: identity.mac, clientId: identity.clientId, ...own.board },
    });
    await this.#options.tools?.register(device);
    this.#count(device);
    this.#options.built?.(device);
    return device;
  }

  #count(device: VirtualDevice): void {
    const counts = this.#counts;
    let connectedBefore = false;
    device.on("connected", () => {
      counts.connections += 1;
      if (!connectedBefore) this.#connectedOnce += 1;
      connectedBefore = true;
    });
    device.on("connect-failed", () => {
      counts.connectFailures += 1;
    });
    device.on("call-finished", ({ error }) => {
      counts.calls += 1;
      if (error !== undefined) counts.errors += 1;
    });
    device.on("reboot", () => {
      counts.reboots += 1;
    });
    device.on("frame-lost", () => {
      counts.lostFrames += 1;
    });
  }
}

const defaultFirstMac = "02:00:00:00:00:01";

function checkAddresses(firstMac: string, count: number): void {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(firstMac)) {
    throw new DeviceOptionError(`invalid MAC address "${firstMac}"; use a form such as 02:00:00:00:10:01`);
  }
  if (addressNumber(firstMac) + BigInt(count) > 1n << 48n) {
    throw new DeviceOptionError(`there are not ${count} addresses from ${firstMac} on`);
  }
}

function addressNumber(mac: string): bigint {
  return BigInt(`0x${mac.replaceAll(":", "")}`);
}

/** The same identity every time: the client id is derived from the address, like one that is kept in flash. */
export function fleetIdentity(index: number, firstMac: string): FleetIdentity {
  const number = addressNumber(firstMac) + BigInt(index);
  const digits = number.toString(16).padStart(12, "0");
  const mac = digits.replace(/..(?=.)/g, "$&:");
  const hash = createHash("sha256").update(`tendon virtual device ${mac}`).digest("hex");
  const clientId = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return { index, mac, clientId };
}

class Gate {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else {
      await new Promise<void>((resolve) => {
        this.#queue.push(resolve);
      });
    }
    return () => {
      const next = this.#queue.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
  }
}
