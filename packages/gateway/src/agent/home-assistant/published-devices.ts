/** What is published of each device. Work is done device by device, so that a large fleet blocks nothing. */
import type { JsonObject } from "@tendon/protocol";
import { hasScope, type Principal } from "../../access/access.ts";
import type { DeviceRecord } from "../../fleet/fleet.ts";
import type { Services } from "../services.ts";
import {
  configTopic,
  type Described,
  type DiscoverySettings,
  devicePayload,
  gatewayPayload,
  gatewaySlug,
  slugOf,
  topicsOf,
} from "./discovery.ts";
import type { EarlierDevice, EarlierMessages } from "./earlier-messages.ts";
import { type Entity, type EntityOverride, entitiesOf } from "./entities.ts";

export interface PublishedDevicesDependencies {
  readonly fleet: Services["fleet"];
  readonly settings: () => DiscoverySettings;
  readonly selected: { readonly ids?: readonly string[]; readonly tags?: readonly string[] } | undefined;
  readonly overrides: readonly EntityOverride[];
  readonly earlier: EarlierMessages;
  readonly principal: () => Principal | undefined;
  /** Resolves when the broker has the message, or the connection has ended. */
  readonly publish: (topic: string, payload: string, retain: boolean) => Promise<void>;
  readonly latestFirmware: (device: Described) => Promise<string | undefined>;
  readonly serialOf: (id: string) => Promise<string | undefined>;
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
  /** The last status of each device, also of devices of other nodes. */
  readonly #statuses = new Map<string, JsonObject>();
  /** Keys of the pictures of each device. */
  readonly #pictures = new Map<string, Set<string>>();
  readonly #notifications = new Map<string, Set<string>>();
  readonly #serials = new Map<string, string>();
  /** Devices to publish or to remove, by the id in topics. */
  readonly #waiting = new Map<string, string>();
  #working: Promise<void> | undefined;
  #isForced = false;
  /** What earlier runs have left is known. Before that, nothing is published. */
  #isReady = false;
  /** Changes when everything published is forgotten. */
  #generation = 0;

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

  /** Forgets what was published: the broker or the owner has changed. */
  reset(): void {
    this.#generation += 1;
    this.#isReady = false;
    this.#published.clear();
    this.#dependencies.earlier.clear();
    this.#waiting.clear();
  }

  /** Publishes everything again. */
  async publishAll(): Promise<void> {
    const settings = this.#dependencies.settings();
    this.#isReady = true;
    this.#isForced = true;
    // What earlier runs have left is removed if no device of today has it.
    for (const slug of this.#dependencies.earlier.slugs) this.#waiting.set(slug, "");
    this.#waitForAll(() => true);
    await this.#dependencies.publish(
      configTopic(settings.prefix, gatewaySlug),
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

  /** A tool of the device has answered with a picture: it gets an entity of this key. */
  returnsPicture(id: string, key: string): void {
    if (addTo(this.#pictures, id, [key])) this.changed(id);
  }

  /** Whether the device has an event of this name by now; a device has a bounded number of them. */
  async sends(id: string, notification: string): Promise<boolean> {
    const known = this.#notifications.get(id);
    if (known?.has(notification) !== true) {
      if ((known?.size ?? 0) >= maxNotifications) return false;
      addTo(this.#notifications, id, [notification]);
      this.changed(id);
      await this.settled();
    }
    return true;
  }

  /** Resolves when all changes so far are published. */
  async settled(): Promise<void> {
    await this.#working;
  }

  isSelected(id: string): boolean {
    return this.#recordOf(id) !== undefined;
  }

  async #work(): Promise<void> {
    if (!this.#isReady) return;
    this.#working ??= this.#publishWaiting().finally(() => {
      this.#working = undefined;
      this.#isForced = false;
      // Something may have changed after the last device.
      if (this.#waiting.size > 0) void this.#work();
    });
    await this.#working;
  }

  async #publishWaiting(): Promise<void> {
    for (let [next] = this.#waiting; this.#isReady && next !== undefined; [next] = this.#waiting) {
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
    const generation = this.#generation;
    const settings = current();
    const before = this.#published.get(slug);
    const earlier = before === undefined ? this.#restored(slug, record.id) : undefined;
    const device: Described = {
      id: record.id,
      name: record.alias,
      isBoard: record.kind === "esp32",
      board: record.board,
      firmware: record.firmware,
      serial: await this.#serialOf(record),
    };
    const { policy } = this.#dependencies.fleet;
    const maySeeUserTools = hasScope(principal, "call:user");
    const entities = entitiesOf({
      tools: record.catalogue
        .tools()
        .filter(({ audience }) => audience !== "user" || maySeeUserTools)
        .filter((tool) => policy.accessTo(principal, record, tool).access !== "denied"),
      status: this.statusOf(record.id),
      pictures: this.#pictures.get(record.id) ?? none,
      notifications: this.#notifications.get(record.id) ?? none,
      overrides,
      mayInstall: maySeeUserTools,
      isBoard: device.isBoard,
    });
    const isForced = this.#isForced || before === undefined;
    const topics = topicsOf(slug);
    const config = JSON.stringify(devicePayload(device, entities, new Map(), settings));
    const isOnline = record.handle !== undefined;
    const firmware = device.isBoard ? await this.#firmwareOf(device, before) : undefined;
    if (generation !== this.#generation) return;
    this.#published.set(slug, {
      id: record.id,
      entities: byKey(entities),
      config,
      firmware,
      isOnline,
      signature: signatureOf(record),
    });
    if (isForced || before.config !== config) {
      const platforms = earlier?.platforms ?? new Map([...(before?.entities ?? [])].map(platformOf));
      const removed = removedSince(platforms, entities);
      if (removed.size > 0) {
        const once = JSON.stringify(devicePayload(device, entities, removed, settings));
        await publish(configTopic(settings.prefix, slug), once, true);
      }
      await publish(configTopic(settings.prefix, slug), config, true);
      const topicsBefore = earlier?.topics ?? retainedTopics(slug, before?.entities ?? noEntities);
      const topicsNow = retainedTopics(slug, byKey(entities));
      for (const topic of topicsBefore)
        if (!topicsNow.has(topic) || removed.has(keyIn(topic))) await publish(topic, "", true);
    }
    if (isForced || before.isOnline !== isOnline)
      await publish(topics.availability, isOnline ? "online" : "offline", true);
    if (firmware !== undefined && (isForced || before.firmware !== firmware))
      await publish(topics.firmware, firmware, true);
  }

  /** Takes what an earlier run knew of the device, so that its entities stay. */
  #restored(slug: string, id: string): EarlierDevice | undefined {
    const earlier = this.#dependencies.earlier.take(slug);
    if (earlier === undefined) return undefined;
    const { status, pictures, notifications } = earlier;
    if (status !== undefined && this.statusOf(id) === undefined) this.#statuses.set(id, status);
    addTo(this.#pictures, id, pictures);
    addTo(this.#notifications, id, notifications.slice(0, maxNotifications));
    return earlier;
  }

  /** Boards that were imported with a serial number have one. */
  async #serialOf({ id, kind }: DeviceRecord): Promise<string | undefined> {
    if (kind !== "esp32") return undefined;
    const known = this.#serials.get(id);
    if (known !== undefined) return known;
    const serial = await this.#dependencies.serialOf(id).catch(() => undefined);
    if (serial !== undefined) this.#serials.set(id, serial);
    return serial;
  }

  async #firmwareOf(device: Described, before: Published | undefined): Promise<string | undefined> {
    if (device.firmware === undefined) return undefined;
    try {
      const latest = (await this.#dependencies.latestFirmware(device)) ?? device.firmware;
      const state = { installed_version: device.firmware, latest_version: latest, title: "xiaozhi" };
      return JSON.stringify(state);
    } catch {
      // The database is away. The next change of the device asks again.
      return before?.firmware;
    }
  }

  /** Empty retained messages remove the device and leave nothing on the broker. */
  async #remove(slug: string): Promise<void> {
    const { publish, settings } = this.#dependencies;
    const before = this.#published.get(slug);
    const earlier = this.#dependencies.earlier.take(slug);
    if (before === undefined && earlier === undefined) return;
    this.#published.delete(slug);
    if (before !== undefined)
      for (const known of [this.#statuses, this.#pictures, this.#notifications, this.#serials])
        known.delete(before.id);
    await publish(configTopic(settings().prefix, slug), "", true);
    const topics = before === undefined ? [] : retainedTopics(slug, before.entities);
    for (const topic of new Set([...topics, ...(earlier?.topics ?? [])])) await publish(topic, "", true);
  }
}

const none: ReadonlySet<string> = new Set();
const noEntities: ReadonlyMap<string, Entity> = new Map();
const maxNotifications = 32;

/** Returns whether it had not all of them before. */
function addTo(sets: Map<string, Set<string>>, id: string, added: readonly string[]): boolean {
  const known = sets.get(id) ?? new Set();
  const { size } = known;
  for (const each of added) known.add(each);
  if (known.size > 0) sets.set(id, known);
  return known.size > size;
}

function platformOf([key, { platform }]: [string, Entity]): [string, string] {
  return [key, platform];
}

/** Components that are gone, or have another platform now. */
function removedSince(
  platforms: ReadonlyMap<string, string>,
  entities: readonly Entity[],
): Map<string, string> {
  const current = byKey(entities);
  return new Map([...platforms].filter(([key, platform]) => current.get(key)?.platform !== platform));
}

/** The topics below the root on which messages of the device may be retained. */
function retainedTopics(slug: string, entities: ReadonlyMap<string, Entity>): Set<string> {
  const topics = topicsOf(slug);
  const values = [...entities.values()].filter(
    ({ state, platform }) => state === "value" && platform !== "image",
  );
  return new Set([
    topics.availability,
    topics.state,
    topics.firmware,
    ...values.map(({ key }) => topics.value(key)),
  ]);
}

/** The key of a topic of an entity's value. */
function keyIn(topic: string): string {
  return /\/value\/([^/]+)$/.exec(topic)?.[1] ?? "";
}

function byKey(entities: readonly Entity[]): ReadonlyMap<string, Entity> {
  return new Map(entities.map((entity) => [entity.key, entity]));
}

/** Changes with what people and the device change, and costs little to compare. */
function signatureOf({ alias, tags, board, firmware, handle, catalogue }: DeviceRecord): string {
  return JSON.stringify([alias, tags, board, firmware, handle !== undefined, catalogue.size]);
}
