/** What is published of each device. Work is done device by device, so that a large fleet blocks nothing. */
import { isObject, type JsonObject, parseJson } from "@tendon/protocol";
import { hasScope, type Principal } from "../../access/access.ts";
import type { DeviceRecord } from "../../fleet/fleet.ts";
import type { Services } from "../services.ts";
import {
  configTopic,
  type Described,
  type DiscoverySettings,
  devicePayload,
  gatewayPayload,
  slugOf,
  topicsOf,
} from "./discovery.ts";
import { type Entity, type EntityOverride, entitiesOf } from "./entities.ts";

export interface PublishedDevicesDependencies {
  readonly fleet: Services["fleet"];
  readonly settings: () => DiscoverySettings;
  readonly selected: { readonly ids?: readonly string[]; readonly tags?: readonly string[] } | undefined;
  readonly overrides: readonly EntityOverride[];
  readonly principal: () => Principal | undefined;
  /** Resolves when the broker has the message, or the connection has ended. */
  readonly publish: (topic: string, payload: string, retain: boolean) => Promise<void>;
  readonly latestFirmware: (device: Described) => Promise<string | undefined>;
}

interface Published {
  readonly id: string;
  readonly entities: ReadonlyMap<string, Entity>;
  readonly config: string;
  readonly firmware: string | undefined;
  readonly isOnline: boolean;
  readonly signature: string;
}

export class PublishedDevices {
  readonly #dependencies: PublishedDevicesDependencies;
  /** By the id in topics. */
  readonly #published = new Map<string, Published>();
  /** Devices with a retained message of an earlier run, with the platforms of their components. */
  readonly #found = new Map<string, ReadonlyMap<string, string>>();
  /** The last status of each device, also of devices of other nodes. */
  readonly #statuses = new Map<string, JsonObject>();
  readonly #pictureTools = new Map<string, Set<string>>();
  /** Devices to publish or to remove, by the id in topics. */
  readonly #waiting = new Map<string, string>();
  #working: Promise<void> | undefined;
  #isForced = false;

  constructor(dependencies: PublishedDevicesDependencies) {
    this.#dependencies = dependencies;
  }

  get count(): number {
    return this.#published.size;
  }

  get entityCount(): number {
    let count = 0;
    for (const { entities } of this.#published.values()) count += entities.size;
    return count;
  }

  get(slug: string): { readonly id: string; readonly entities: ReadonlyMap<string, Entity> } | undefined {
    return this.#published.get(slug);
  }

  /** The broker has this retained discovery message. */
  found(topic: string, payload: Buffer): void {
    const slug = /\/device\/tendon_([^/]+)\/config$/.exec(topic)?.[1];
    // The broker returns what this gateway publishes, too.
    if (slug === undefined || slug === "gateway" || this.#published.has(slug)) return;
    const message = payload.length === 0 ? undefined : parseJson(payload.toString());
    if (!isObject(message)) return;
    const components = isObject(message["components"]) ? message["components"] : {};
    const platforms = Object.entries(components).map(
      ([key, component]) => [key, isObject(component) ? String(component["platform"]) : ""] as const,
    );
    this.#found.set(slug, new Map(platforms));
    this.#waiting.set(slug, idOf(slug));
    void this.#work();
  }

  /** Forgets what was published: the broker or the owner has changed. */
  reset(): void {
    this.#published.clear();
    this.#found.clear();
    this.#waiting.clear();
  }

  /** Publishes everything again. */
  async publishAll(): Promise<void> {
    const settings = this.#dependencies.settings();
    this.#isForced = true;
    this.#waitForAll(() => true);
    await this.#dependencies.publish(
      configTopic(settings.prefix, "gateway"),
      JSON.stringify(gatewayPayload(settings)),
      true,
    );
    await this.#work();
  }

  changed(id: string): void {
    this.#waiting.set(slugOf(id), id);
    void this.#work();
  }

  /** Devices whose settings people have changed, or which were deleted. */
  reconcile(): void {
    this.#waitForAll((slug, id) => {
      const record = this.#recordOf(id);
      return this.#published.get(slug)?.signature !== (record && signatureOf(record));
    });
    void this.#work();
  }

  #waitForAll(isMeant: (slug: string, id: string) => boolean): void {
    for (const [slug, { id }] of this.#published) if (isMeant(slug, id)) this.#waiting.set(slug, id);
    for (const id of this.#dependencies.fleet.admin.ids()) {
      const slug = slugOf(id);
      if (!this.#published.has(slug) && isMeant(slug, id)) this.#waiting.set(slug, id);
    }
  }

  setStatus(id: string, status: JsonObject): void {
    this.#statuses.set(id, status);
  }

  statusOf(id: string): JsonObject | undefined {
    return this.#statuses.get(id) ?? this.#dependencies.fleet.devices.get(id)?.inspection().status?.value;
  }

  /** The tool has answered with a picture: it gets an entity for it. */
  returnsPicture(id: string, tool: string): void {
    const tools = this.#pictureTools.get(id) ?? new Set();
    if (tools.has(tool)) return;
    this.#pictureTools.set(id, tools.add(tool));
    this.changed(id);
  }

  /** Resolves when all changes so far are published. */
  async settled(): Promise<void> {
    await this.#working;
  }

  isSelected(id: string): boolean {
    return this.#recordOf(id) !== undefined;
  }

  #work(): Promise<void> {
    this.#working ??= this.#publishWaiting().finally(() => {
      this.#working = undefined;
      this.#isForced = false;
    });
    return this.#working;
  }

  async #publishWaiting(): Promise<void> {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const [slug, id] = next;
      this.#waiting.delete(slug);
      const record = this.#recordOf(id);
      if (record === undefined) await this.#remove(slug);
      else await this.#publish(slug, record);
      // Others get their turn after each device.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #recordOf(id: string): DeviceRecord | undefined {
    const { fleet, selected, principal: current } = this.#dependencies;
    const principal = current();
    const record = fleet.devices.get(id);
    if (record === undefined || principal === undefined || !fleet.visible(principal, id)) return undefined;
    if (selected === undefined) return record;
    const { ids = [], tags = [] } = selected;
    const isNamed = ids.some((reference) => fleet.idOf(reference) === id);
    return isNamed || record.tags.some((tag) => tags.includes(tag)) ? record : undefined;
  }

  async #publish(slug: string, record: DeviceRecord): Promise<void> {
    const { publish, settings: current, overrides, principal: currentPrincipal } = this.#dependencies;
    const principal = currentPrincipal();
    if (principal === undefined) return;
    const settings = current();
    const device: Described = {
      id: record.id,
      name: record.alias,
      isBoard: record.kind === "esp32",
      board: record.board,
      firmware: record.firmware,
    };
    const { policy } = this.#dependencies.fleet;
    const maySeeUserTools = hasScope(principal, "call:user");
    const entities = entitiesOf({
      tools: record.catalogue
        .tools()
        .filter(({ audience }) => audience !== "user" || maySeeUserTools)
        .filter((tool) => policy.accessTo(principal, record, tool).access !== "denied"),
      status: this.statusOf(record.id),
      pictureTools: this.#pictureTools.get(record.id) ?? none,
      overrides,
      mayInstall: maySeeUserTools,
      isBoard: device.isBoard,
    });
    const before = this.#published.get(slug);
    const isForced = this.#isForced || before === undefined;
    const topics = topicsOf(slug);
    const config = JSON.stringify(devicePayload(device, entities, new Map(), settings));
    const isOnline = record.handle !== undefined;
    const firmware = device.isBoard ? await this.#firmwareOf(device) : undefined;
    this.#published.set(slug, {
      id: record.id,
      entities: byKey(entities),
      config,
      firmware,
      isOnline,
      signature: signatureOf(record),
    });
    if (isForced || before.config !== config) {
      const removed = this.#removedSince(slug, before, entities);
      if (removed.size > 0) {
        const once = JSON.stringify(devicePayload(device, entities, removed, settings));
        await publish(configTopic(settings.prefix, slug), once, true);
      }
      await publish(configTopic(settings.prefix, slug), config, true);
    }
    if (isForced || before.isOnline !== isOnline)
      await publish(topics.availability, isOnline ? "online" : "offline", true);
    if (firmware !== undefined && (isForced || before.firmware !== firmware))
      await publish(topics.firmware, firmware, true);
  }

  #removedSince(
    slug: string,
    before: Published | undefined,
    entities: readonly Entity[],
  ): Map<string, string> {
    const earlier =
      before === undefined
        ? (this.#found.get(slug) ?? new Map<string, string>())
        : new Map([...before.entities].map(([key, { platform }]) => [key, platform]));
    this.#found.delete(slug);
    const current = byKey(entities);
    return new Map(
      [...earlier].filter(([key, platform]) => current.get(key)?.platform !== platform && !current.has(key)),
    );
  }

  async #firmwareOf(device: Described): Promise<string | undefined> {
    if (device.firmware === undefined) return undefined;
    const latest = (await this.#dependencies.latestFirmware(device)) ?? device.firmware;
    const state: JsonObject = {
      installed_version: device.firmware,
      latest_version: latest,
      title: "xiaozhi",
    };
    return JSON.stringify(state);
  }

  /** Empty retained messages remove the device and leave nothing on the broker. */
  async #remove(slug: string): Promise<void> {
    const { publish, settings } = this.#dependencies;
    const before = this.#published.get(slug);
    if (before === undefined && !this.#found.has(slug)) return;
    const keys =
      before === undefined ? [...(this.#found.get(slug)?.keys() ?? [])] : [...before.entities.keys()];
    this.#published.delete(slug);
    this.#found.delete(slug);
    if (before !== undefined) {
      this.#statuses.delete(before.id);
      this.#pictureTools.delete(before.id);
    }
    const topics = topicsOf(slug);
    await publish(configTopic(settings().prefix, slug), "", true);
    for (const topic of [topics.availability, topics.state, topics.firmware, ...keys.map(topics.value)])
      await publish(topic, "", true);
  }
}

const none: ReadonlySet<string> = new Set();

function byKey(entities: readonly Entity[]): ReadonlyMap<string, Entity> {
  return new Map(entities.map((entity) => [entity.key, entity]));
}

/** Of the id in topics; ids other than MAC addresses are the same there. */
function idOf(slug: string): string {
  return /^[0-9a-f]{12}$/.test(slug) ? slug.replaceAll(/..(?=.)/g, "$&:") : slug;
}

/** Changes with what people and the device change, and costs little to compare. */
function signatureOf({ alias, tags, board, firmware, handle, catalogue }: DeviceRecord): string {
  return JSON.stringify([alias, tags, board, firmware, handle !== undefined, catalogue.size]);
}
