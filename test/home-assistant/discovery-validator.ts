/**
 * Home Assistant's rules for device discovery, written from its published schemas (core 2026.8): what it refuses, and
 * what it would silently drop.
 */
type Fields = Readonly<Record<string, unknown>>;

const idPattern = /^[a-zA-Z0-9_-]+$/;
const topLevel = new Set([
  ...["device", "origin", "components", "availability", "availability_mode", "state_topic"],
  ...["command_topic", "encoding", "qos", "message_expiry_interval"],
]);
const common = new Set([
  ...["platform", "unique_id", "name", "icon", "entity_category", "enabled_by_default", "device_class"],
  ...["state_topic", "command_topic", "value_template"],
]);
const deviceFields = new Set([
  ...["identifiers", "connections", "name", "manufacturer", "model", "model_id", "hw_version", "sw_version"],
  ...["serial_number", "suggested_area", "configuration_url", "via_device"],
]);

interface Platform {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

const platforms: Readonly<Record<string, Platform>> = {
  number: { required: ["command_topic", "min", "max"], optional: ["step", "mode", "unit_of_measurement"] },
  select: { required: ["command_topic", "options"], optional: [] },
  switch: { required: ["command_topic"], optional: ["payload_on", "payload_off"] },
  button: { required: ["command_topic"], optional: ["payload_press"] },
  text: { required: ["command_topic"], optional: ["min", "max", "pattern", "mode"] },
  sensor: { required: [], optional: ["state_class", "unit_of_measurement"] },
  binary_sensor: { required: [], optional: ["payload_on", "payload_off"] },
  image: { required: ["image_topic"], optional: ["content_type"] },
  event: { required: ["event_types", "state_topic"], optional: [] },
  update: { required: ["state_topic"], optional: ["payload_install", "title"] },
};

/** What is wrong with a payload; empty if Home Assistant takes it whole. */
export function discoveryProblems(topic: string, payload: Fields, prefix = "homeassistant"): string[] {
  const problems: string[] = [];
  const must = (holds: boolean, what: string) => {
    if (!holds) problems.push(what);
  };
  const [, objectId] = new RegExp(`^${prefix}/device/([^/]+)/config$`).exec(topic) ?? [];
  must(idPattern.test(objectId ?? ""), `topic ${topic}`);
  for (const key of Object.keys(payload)) must(topLevel.has(key), `unknown key ${key}`);
  const { device, origin, components, availability } = payload as Readonly<Record<string, Fields>>;
  must(Array.isArray(device?.["identifiers"]) && device["identifiers"].length > 0, "device.identifiers");
  for (const key of Object.keys(device ?? {})) must(deviceFields.has(key), `unknown key device.${key}`);
  must(typeof origin?.["name"] === "string", "origin.name");
  const topics = (availability ?? []) as unknown as readonly Fields[];
  for (const entry of topics) must(isTopic(entry["topic"]), "availability topic");
  must(components !== undefined && Object.keys(components).length > 0, "components");
  const seen = new Set<unknown>();
  for (const [key, component] of Object.entries((components ?? {}) as Readonly<Record<string, Fields>>)) {
    must(idPattern.test(key), `key ${key}`);
    if (Object.keys(component).length === 1) continue;
    if (component["platform"] === "device_automation") {
      for (const field of triggerProblems(component)) problems.push(`${key}: ${field}`);
      continue;
    }
    const platform = platforms[String(component["platform"])];
    if (platform === undefined) {
      problems.push(`${key}: platform ${String(component["platform"])}`);
      continue;
    }
    must(
      typeof component["unique_id"] === "string" && !seen.has(component["unique_id"]),
      `${key}: unique_id`,
    );
    seen.add(component["unique_id"]);
    const known = new Set([...common, ...platform.required, ...platform.optional]);
    for (const field of Object.keys(component)) must(known.has(field), `${key}: unknown key ${field}`);
    for (const field of platform.required)
      must(component[field] !== undefined, `${key}: ${field} is missing`);
    for (const field of ["state_topic", "command_topic", "image_topic"])
      if (component[field] !== undefined) must(isTopic(component[field]), `${key}: ${field}`);
    problems.push(...valueProblems(key, component));
  }
  return problems;
}

/** A trigger is no entity: it has no id, and its topic has another name. */
function triggerProblems(component: Fields): string[] {
  const { automation_type, type, subtype, topic } = component;
  const known = ["platform", "automation_type", "type", "subtype", "topic", "payload", "value_template"];
  return [
    ...(automation_type === "trigger" ? [] : ["automation_type"]),
    ...(typeof type === "string" && typeof subtype === "string" ? [] : ["type and subtype"]),
    ...(isTopic(topic) ? [] : ["topic"]),
    ...Object.keys(component).filter((field) => !known.includes(field)),
  ];
}

function valueProblems(key: string, component: Fields): string[] {
  const { min, max, options, event_types, mode, entity_category, device_class, platform } = component;
  const wrong: [boolean, string][] = [
    [platform === "number" && !(Number(min) < Number(max)), "min must be below max"],
    [
      platform === "number" && mode !== undefined && !["auto", "box", "slider"].includes(String(mode)),
      "mode",
    ],
    [platform === "text" && Number(max) > 255, "max is above 255"],
    [options !== undefined && !isTexts(options), "options"],
    [event_types !== undefined && !isTexts(event_types), "event_types"],
    [
      entity_category !== undefined && !["config", "diagnostic"].includes(String(entity_category)),
      "entity_category",
    ],
    [platform === "sensor" && entity_category === "config", "a sensor is not config"],
    [
      platform === "button" &&
        device_class !== undefined &&
        !["restart", "update", "identify"].includes(String(device_class)),
      "device_class",
    ],
  ];
  return wrong.filter(([is]) => is).map(([, what]) => `${key}: ${what}`);
}

function isTexts(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((each) => typeof each === "string")
  );
}

function isTopic(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !/[+#\0]/.test(value);
}
