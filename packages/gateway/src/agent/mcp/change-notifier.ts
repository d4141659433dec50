/**
 * Turns events of devices into the changes that agents are notified of. Changes of a device within a short time are
 * reported once: a device that reports two hundred times a second must not flood its subscribers.
 */
import type { GatewayEvent } from "@tendon/protocol";
import { isObject } from "@tendon/protocol";
import type { Clock, Timer } from "../../clock.ts";

export interface Changes {
  /** By device: its parts (`state`, `events`, `photos/3`) that have changed. */
  readonly parts: ReadonlyMap<string, ReadonlySet<string>>;
  /** By device: its own resources that it reports as changed. */
  readonly own: ReadonlyMap<string, ReadonlySet<string>>;
  /** Devices whose list of resources, or of prompts, has changed. */
  readonly resourceLists: ReadonlySet<string>;
  readonly promptLists: ReadonlySet<string>;
}

const notifyDelayMs = 50;
const stateTypes = new Set<string>(["device.online", "device.offline", "device.tools_changed"]);
const statusTool = "self.get_device_status";
const photoTool = "self.camera.take_photo";

export class ChangeNotifier {
  readonly #clock: Clock;
  readonly #notify: (changes: Changes) => void;
  #parts = new Map<string, Set<string>>();
  #own = new Map<string, Set<string>>();
  #resourceLists = new Set<string>();
  #promptLists = new Set<string>();
  #timer: Timer | undefined;

  constructor(clock: Clock, notify: (changes: Changes) => void) {
    this.#clock = clock;
    this.#notify = notify;
  }

  add({ type, device, data }: GatewayEvent): void {
    if (device === undefined) return;
    add(this.#parts, device, "events");
    if (stateTypes.has(type) || data["tool"] === statusTool) add(this.#parts, device, "state");
    if (data["tool"] === photoTool) this.#resourceLists.add(device);
    if (type === "device.notification") this.#notified(device, data["method"], data["params"]);
    this.#timer ??= this.#clock.after(notifyDelayMs, () => this.#flush());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #notified(device: string, method: unknown, params: unknown): void {
    if (method === "notifications/resources/list_changed") this.#resourceLists.add(device);
    if (method === "notifications/prompts/list_changed") this.#promptLists.add(device);
    if (method !== "notifications/resources/updated" || !isObject(params)) return;
    const { uri } = params;
    if (typeof uri === "string") add(this.#own, device, uri);
  }

  #flush(): void {
    this.#timer = undefined;
    const changes = {
      parts: this.#parts,
      own: this.#own,
      resourceLists: this.#resourceLists,
      promptLists: this.#promptLists,
    };
    this.#parts = new Map();
    this.#own = new Map();
    this.#resourceLists = new Set();
    this.#promptLists = new Set();
    this.#notify(changes);
  }
}

function add(to: Map<string, Set<string>>, device: string, what: string): void {
  const known = to.get(device);
  if (known === undefined) to.set(device, new Set([what]));
  else known.add(what);
}
