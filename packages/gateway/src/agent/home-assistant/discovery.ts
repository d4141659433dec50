/** The payloads of device discovery, and the topics of a device. */
import { createHash } from "node:crypto";
import type { JsonObject } from "@tendon/protocol";
import type { Entity } from "./entities.ts";

export const root = "tendon/ha";
export const gatewayTopic = `${root}/gateway`;

export interface Described {
  readonly id: string;
  readonly name: string;
  readonly isBoard: boolean;
  readonly board: string | undefined;
  readonly firmware: string | undefined;
  readonly serial: string | undefined;
}

export interface DiscoverySettings {
  readonly prefix: string;
  readonly version: string;
  /** The console's address. */
  readonly url: string;
  readonly followsGateway: boolean;
}

/** Seconds after which Home Assistant's command is dropped if the gateway did not get it. */
const commandExpiryS = 60;
const supportUrl = "https://github.com/tendon-iot/tendon";
const macAddress = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/;

/** The object id of the gateway itself in discovery topics. */
export const gatewaySlug = "gateway";
const slugPattern = /^[A-Za-z0-9_-]+$/;

/**
 * The id in topics: without the colons of a MAC address. An id with other characters, such as `lamp.kitchen`, ends with a
 * digest, so that `lamp_kitchen` is another device.
 */
export function slugOf(id: string): string {
  if (macAddress.test(id)) return id.replaceAll(":", "");
  if (slugPattern.test(id) && id !== gatewaySlug) return id;
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `${id.replaceAll(/[^A-Za-z0-9_-]/g, "_")}_${digest}`;
}

export function configTopic(prefix: string, slug: string): string {
  return `${prefix}/device/tendon_${slug}/config`;
}

export function topicsOf(slug: string) {
  const base = `${root}/${slug}`;
  return {
    availability: `${base}/availability`,
    state: `${base}/state`,
    photo: `${base}/photo`,
    talk: `${base}/talk`,
    problem: `${base}/problem`,
    notification: `${base}/notification`,
    firmware: `${base}/firmware`,
    value: (key: string) => `${base}/value/${key}`,
    command: (verb: string, key: string) => `${base}/${verb}/${key}`,
  };
}

/** Ids of entities where they differ from the key. */
const uniqueParts: Readonly<Record<string, string>> = { chip_temp: "chip", firmware: "fw" };

export function devicePayload(
  device: Described,
  entities: readonly Entity[],
  removed: ReadonlyMap<string, string>,
  settings: DiscoverySettings,
): JsonObject {
  const slug = slugOf(device.id);
  const topics = topicsOf(slug);
  const isMac = macAddress.test(device.id);
  return {
    device: {
      // The gateway itself has `tendon_gateway`.
      identifiers: [`tendon_${device.id === gatewaySlug ? slug : device.id}`],
      ...(isMac ? { connections: [["mac", device.id]] } : {}),
      name: device.name,
      ...(device.isBoard ? { manufacturer: "Espressif" } : {}),
      ...(device.board === undefined ? {} : { model: device.board }),
      ...(device.firmware === undefined ? {} : { sw_version: device.firmware }),
      ...(device.serial === undefined ? {} : { serial_number: device.serial }),
      configuration_url: `${settings.url}/#/devices/${device.id}`,
      via_device: "tendon_gateway",
    },
    origin: originOf(settings),
    availability: [
      { topic: gatewayTopic },
      ...(settings.followsGateway ? [] : [{ topic: topics.availability }]),
    ],
    availability_mode: "all",
    state_topic: topics.state,
    qos: 1,
    ...(settings.followsGateway ? {} : { message_expiry_interval: commandExpiryS }),
    components: {
      ...Object.fromEntries(entities.map((entity) => [entity.key, componentOf(entity, slug)])),
      ...Object.fromEntries([...removed].map(([key, platform]) => [key, { platform }])),
    },
  };
}

/** The gateway as a device, which the others name as theirs. */
export function gatewayPayload(settings: DiscoverySettings): JsonObject {
  return {
    device: {
      identifiers: ["tendon_gateway"],
      name: "Tendon",
      manufacturer: "Tendon",
      model: "Gateway",
      sw_version: settings.version,
      configuration_url: `${settings.url}/`,
    },
    origin: originOf(settings),
    qos: 1,
    components: {
      connected: {
        platform: "binary_sensor",
        unique_id: "tendon_gateway_connected",
        name: "Connected",
        device_class: "connectivity",
        entity_category: "diagnostic",
        state_topic: gatewayTopic,
        payload_on: "online",
        payload_off: "offline",
      },
    },
  };
}

function originOf({ version }: DiscoverySettings): JsonObject {
  return { name: "Tendon", sw_version: version, support_url: supportUrl };
}

function componentOf(entity: Entity, slug: string): JsonObject {
  const { key, platform, fields, command, state } = entity;
  const topics = topicsOf(slug);
  // Triggers are no entities: they have no id, and their topic has another name.
  if (platform === "device_automation") return { platform, ...fields, topic: topics.notification };
  const stateTopic =
    state === "status" || state === "none" || platform === "image"
      ? {}
      : { state_topic: state === "value" ? topics.value(key) : topics[state] };
  const imageTopic =
    platform === "image" ? { image_topic: state === "photo" ? topics.photo : topics.value(key) } : {};
  return {
    platform,
    unique_id: `tendon_${slug}_${uniqueParts[key] ?? key}`,
    ...fields,
    ...stateTopic,
    ...imageTopic,
    ...(command === undefined ? {} : { command_topic: topics.command(command.verb, key) }),
  };
}
