/**
 * The retained messages that an earlier run, or another gateway, has left on the broker. They tell which entities Home
 * Assistant knows, so that a restart removes none of them, and what must not stay there.
 */
import { isObject, type JsonObject, parseJson } from "@tendon/protocol";
import { gatewaySlug, root } from "./discovery.ts";

export interface EarlierDevice {
  /** The platforms of its components, by key. */
  platforms: ReadonlyMap<string, string>;
  /** Keys of its pictures. */
  pictures: readonly string[];
  /** Names of its notifications. */
  notifications: readonly string[];
  status: JsonObject | undefined;
  /** Topics below the root. */
  readonly topics: Set<string>;
}

/** The discovery prefix of the last run. */
export const prefixTopic = `${root}/prefix`;
const discoveryTopic = /\/device\/tendon_([^/]+)\/config$/;
const deviceTopic = new RegExp(
  `^${root}/([^/]+)/(availability|state|firmware|photo|talk|problem|notification|value/[^/]+)$`,
);
const maxStatusBytes = 16_384;

/** The payload of `prefixTopic`, if it can be a prefix. */
export function readPrefix(payload: Buffer): string | undefined {
  const text = payload.toString();
  return /^[^/+#]+(\/[^/+#]+)*$/.test(text) ? text : undefined;
}

/** Whether a discovery message names Tendon as its origin. */
export function isOfTendon(message: unknown): message is JsonObject {
  const origin = isObject(message) ? message["origin"] : undefined;
  return isObject(origin) && origin["name"] === "Tendon";
}

export class EarlierMessages {
  readonly #devices = new Map<string, EarlierDevice>();
  #prefix: string | undefined;

  static filters(prefix: string): string[] {
    return [`${prefix}/device/+/config`, prefixTopic, `${root}/+/+`, `${root}/+/value/+`];
  }

  get slugs(): Iterable<string> {
    return this.#devices.keys();
  }

  get prefix(): string | undefined {
    return this.#prefix;
  }

  /** What was left of the device. It is forgotten here. */
  take(slug: string): EarlierDevice | undefined {
    const device = this.#devices.get(slug);
    this.#devices.delete(slug);
    return device;
  }

  clear(): void {
    this.#devices.clear();
    this.#prefix = undefined;
  }

  discovery(topic: string, payload: Buffer): void {
    const slug = discoveryTopic.exec(topic)?.[1];
    const message = payload.length === 0 ? undefined : parseJson(payload.toString());
    if (slug === undefined || slug === gatewaySlug || !isOfTendon(message)) return;
    const device = this.#of(slug);
    const components = isObject(message["components"]) ? Object.entries(message["components"]) : [];
    const platforms = components.map(
      ([key, component]) => [key, isObject(component) ? String(component["platform"]) : ""] as const,
    );
    device.platforms = new Map(platforms);
    device.pictures = platforms
      .filter(([key, platform]) => platform === "image" && key !== "photo")
      .map(([key]) => key);
    const [, notification] = components.find(([key]) => key === "notification") ?? [];
    const types = isObject(notification) ? notification["event_types"] : undefined;
    device.notifications = Array.isArray(types) ? types.map(String) : [];
  }

  /** A message below the root. */
  message(topic: string, payload: Buffer): void {
    if (payload.length === 0) return;
    if (topic === prefixTopic) this.#prefix = readPrefix(payload);
    const [, slug, name] = deviceTopic.exec(topic) ?? [];
    if (slug === undefined || name === undefined) return;
    const device = this.#of(slug);
    device.topics.add(topic);
    if (name !== "state" || payload.byteLength > maxStatusBytes) return;
    const status = parseJson(payload.toString());
    if (isObject(status)) device.status = status as JsonObject;
  }

  #of(slug: string): EarlierDevice {
    const known = this.#devices.get(slug);
    if (known !== undefined) return known;
    const device: EarlierDevice = {
      platforms: new Map(),
      pictures: [],
      notifications: [],
      status: undefined,
      topics: new Set(),
    };
    this.#devices.set(slug, device);
    return device;
  }
}
