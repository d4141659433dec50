/**
 * Which entities of Home Assistant a device has, from its tools and its last status. The topics of an entity follow from
 * its key: commands on `set/{key}` or `press/{key}`, its value on `value/{key}` unless the device's status has it.
 */
import { isObject, type JsonObject, type ToolDefinition } from "@tendon/protocol";
import { booleanOf, maxTextLength, numberOf, optionOf, textOf } from "./payloads.ts";
import { statusEntities } from "./status-entities.ts";

export interface EntityOverride {
  readonly tool: string;
  readonly hidden?: boolean;
  readonly name?: string;
  readonly icon?: string;
  readonly unit?: string;
  readonly deviceClass?: string;
  readonly enabledByDefault?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly options?: readonly string[];
}

export interface Command {
  readonly verb: "set" | "press";
  readonly tool: string;
  /** The arguments of the call for a payload; throws `arguments_invalid`. */
  readonly argumentsOf: (payload: string) => JsonObject;
}

export interface Entity {
  readonly key: string;
  readonly platform: string;
  /** Fields of the component beside its ids and topics. */
  readonly fields: JsonObject;
  readonly command?: Command;
  /** Where its state is published: the status of the device, a topic of its own, or nowhere. */
  readonly state: "status" | "value" | "photo" | "talk" | "problem" | "firmware" | "none";
  /** Where the status has its state. */
  readonly path?: readonly [area: string, field: string];
  /** The tool that reads its value. */
  readonly reader?: string;
}

export const statusTool = "self.get_device_status";
export const photoTool = "self.camera.take_photo";
const rebootTool = "self.reboot";
/** A device with more tools than this shows the first ones only. */
const maxEntities = 64;
/** Tools that need an address or more than a person can press. The update entity and the photo stand for them. */
const without = new Set([statusTool, "self.upgrade_firmware", "self.screen.snapshot"]);
const photoQuestion = "Describe this picture.";

/** Names and icons of the tools that stock firmware has. */
const known: Readonly<Record<string, { readonly key: string; readonly fields: JsonObject }>> = {
  "self.audio_speaker.set_volume": {
    key: "volume",
    fields: { name: "Volume", icon: "mdi:volume-high", step: 1, mode: "slider", unit_of_measurement: "%" },
  },
  "self.screen.set_brightness": {
    key: "brightness",
    fields: { name: "Screen brightness", entity_category: "config", unit_of_measurement: "%" },
  },
  "self.screen.set_theme": {
    key: "theme",
    fields: { name: "Theme", entity_category: "config", options: ["light", "dark"] },
  },
  [rebootTool]: {
    key: "reboot",
    fields: { device_class: "restart", entity_category: "config", enabled_by_default: false },
  },
};

export interface DeviceTools {
  /** Those that the token may call. */
  readonly tools: readonly ToolDefinition[];
  readonly status: JsonObject | undefined;
  /** Tools whose last answer had a picture. */
  readonly pictureTools: ReadonlySet<string>;
  readonly overrides: readonly EntityOverride[];
  readonly mayInstall: boolean;
  readonly isBoard: boolean;
}

export function entitiesOf(device: DeviceTools): Entity[] {
  const { tools, status } = device;
  const names = new Map(tools.map((tool) => [tool.name, tool]));
  const found: Entity[] = [];
  const taken = new Set<string>();
  const add = (entity: Entity) => {
    if (taken.has(entity.key) || found.length >= maxEntities) return;
    taken.add(entity.key);
    found.push(entity);
  };
  const used = new Set<string>();
  for (const tool of tools) {
    const override = device.overrides.find((each) => each.tool === tool.name);
    if (override?.hidden === true || without.has(tool.name) || used.has(tool.name)) continue;
    const entities = entitiesOfTool(tool, { ...device, names, used });
    for (const entity of entities) add(overridden(entity, tool, override));
  }
  for (const entity of statusEntities(status)) add(entity);
  if (device.isBoard) {
    add({
      key: "firmware",
      platform: "update",
      state: "firmware",
      fields: { device_class: "firmware", title: "xiaozhi", enabled_by_default: false },
      ...(device.mayInstall && names.has(rebootTool)
        ? {
            command: press(rebootTool),
            fields: {
              device_class: "firmware",
              title: "xiaozhi",
              payload_install: "INSTALL",
              enabled_by_default: false,
            },
          }
        : {}),
    });
    add({
      key: "talk",
      platform: "event",
      state: "talk",
      fields: { name: "Conversation", event_types: ["started", "ended"] },
    });
  }
  add({
    key: "problem",
    platform: "event",
    state: "problem",
    fields: {
      name: "Problem",
      icon: "mdi:alert-circle-outline",
      entity_category: "diagnostic",
      event_types: ["approval_required", "failed"],
    },
  });
  return found;
}

interface Surroundings extends DeviceTools {
  readonly names: ReadonlyMap<string, ToolDefinition>;
  /** Tools that another entity uses already. */
  readonly used: Set<string>;
}

function entitiesOfTool(tool: ToolDefinition, around: Surroundings): Entity[] {
  const { name } = tool;
  if (name === photoTool) return photoEntities();
  const properties = isObject(tool.inputSchema["properties"]) ? tool.inputSchema["properties"] : {};
  const [argument, ...more] = Object.keys(properties);
  if (more.length > 0) return [];
  if (argument === undefined) return withoutArgument(tool, around);
  const schema = isObject(properties[argument]) ? properties[argument] : {};
  const { key = keyOf(name), fields = { name: labelOf(name) } } = known[name] ?? {};
  const { reading, ...state } = stateOf(name, around);
  const set = (argumentsOf: (payload: string) => unknown): Command => ({
    verb: "set",
    tool: name,
    argumentsOf: (payload) => ({ [argument]: argumentsOf(payload) }) as JsonObject,
  });
  const { type, minimum, maximum } = schema;
  const options = Array.isArray(schema["enum"]) ? schema["enum"] : fields["options"];
  if (
    (type === "integer" || type === "number") &&
    typeof minimum === "number" &&
    typeof maximum === "number"
  ) {
    if (!/(^|[._])set_/.test(name)) return [];
    const step = type === "integer" ? { step: 1 } : {};
    const number = {
      ...(known[name] === undefined ? step : {}),
      ...fields,
      min: minimum,
      max: maximum,
      ...reading,
    };
    return [
      {
        key,
        platform: "number",
        fields: number,
        command: set((text) => numberOf(text, minimum, maximum, type)),
        ...state,
      },
    ];
  }
  if (type === "string" && Array.isArray(options) && options.every((option) => typeof option === "string")) {
    if (options.length === 0) return [];
    const select = { ...fields, options, ...reading };
    return [
      { key, platform: "select", fields: select, command: set((text) => optionOf(text, options)), ...state },
    ];
  }
  if (type === "boolean") {
    const on = reading === undefined ? {} : { value_template: onOff(String(reading["value_template"])) };
    return [
      {
        key,
        platform: "switch",
        fields: { ...fields, payload_on: "ON", payload_off: "OFF", ...on },
        command: set(booleanOf),
        ...state,
      },
    ];
  }
  if (type !== "string") return [];
  const text = {
    ...fields,
    max: Math.min(maxTextLength, Number(schema["maxLength"] ?? maxTextLength)),
    ...reading,
  };
  return [{ key, platform: "text", fields: text, command: set((given) => textOf(given)), ...state }];
}

function withoutArgument(tool: ToolDefinition, { names, used, pictureTools }: Surroundings): Entity[] {
  const { name } = tool;
  const given = known[name];
  const { key, fields } = given ?? { key: keyOf(name), fields: { name: labelOf(name) } };
  const [, stem, side] = /^(.*?)(turn_on|turn_off|[._]on|[._]off)$/.exec(name) ?? [];
  if (stem !== undefined && side !== undefined) {
    const isOn = side.endsWith("on");
    const other = isOn ? `${stem}${side.slice(0, -2)}off` : `${stem}${side.slice(0, -3)}on`;
    const isPair = names.has(other) && !hasArguments(names.get(other));
    if (isPair) {
      used.add(other);
      const [on, off] = isOn ? [name, other] : [other, name];
      const base = stem.replace(/[._]$/, "") || name;
      return [pairSwitch(base, on, off)];
    }
  }
  if (/(^|[._])get_/.test(name)) {
    const value = { name: labelOf(name.replace(/(^|[._])get_/, "$1")) };
    return [{ key: keyOf(name), platform: "sensor", fields: value, state: "value", reader: name }];
  }
  const button: Entity = {
    key,
    platform: "button",
    fields: { ...fields, payload_press: "PRESS" },
    command: press(name),
    state: "none",
  };
  // The worked example of the guide has no payload for the restart: `PRESS` is the default.
  const plain = given === undefined ? button : { ...button, fields };
  if (!pictureTools.has(name)) return [plain];
  return [
    plain,
    {
      key: `${key}_picture`,
      platform: "image",
      fields: { name: `${labelOf(name)} picture`, content_type: "image/jpeg" },
      state: "value",
      reader: name,
    },
  ];
}

function pairSwitch(base: string, on: string, off: string): Entity {
  const argumentsOf = (payload: string) => {
    booleanOf(payload);
    return {};
  };
  return {
    key: keyOf(base),
    platform: "switch",
    fields: { name: labelOf(base), payload_on: "ON", payload_off: "OFF" },
    state: "value",
    command: { verb: "set", tool: `${on}\n${off}`, argumentsOf },
  };
}

/** The tool that a command calls: the switch of a pair has two. */
export function toolOf({ tool }: Command, payload: string): string {
  const [on = tool, off = on] = tool.split("\n");
  return payload === "OFF" ? off : on;
}

function photoEntities(): Entity[] {
  return [
    {
      key: "photo",
      platform: "image",
      state: "photo",
      fields: { name: "Last photo", content_type: "image/jpeg", enabled_by_default: false },
    },
    {
      key: "take_photo",
      platform: "button",
      state: "none",
      fields: { name: "Take photo", icon: "mdi:camera", payload_press: "PRESS", enabled_by_default: false },
      command: { verb: "press", tool: photoTool, argumentsOf: () => ({ question: photoQuestion }) },
    },
  ];
}

function press(tool: string): Command {
  return { verb: "press", tool, argumentsOf: () => ({}) };
}

/** The state of what `a.set_b` sets: `b` of `a` in the status, the answer of `a.get_b`, or the last confirmed value. */
function stateOf(name: string, { status, names, used }: Surroundings) {
  const [, area, field] = /^(?:self\.)?(?:(.+)[._])?set_(.+)$/.exec(name) ?? [];
  if (area !== undefined && field !== undefined && /^\w+$/.test(area) && /^\w+$/.test(field)) {
    const part = status?.[area];
    if (isObject(part) && part[field] !== undefined && !isObject(part[field]))
      return {
        state: "status" as const,
        path: [area, field] as const,
        reading: { value_template: `{{ value_json.${area}.${field} }}` },
      };
  }
  const getter = name.replace(/(^|[._])set_/, "$1get_");
  if (getter !== name && names.has(getter) && !hasArguments(names.get(getter))) {
    used.add(getter);
    return { state: "value" as const, reader: getter };
  }
  return { state: "value" as const };
}

function hasArguments(tool: ToolDefinition | undefined): boolean {
  const properties = tool?.inputSchema["properties"];
  return isObject(properties) && Object.keys(properties).length > 0;
}

function overridden(entity: Entity, tool: ToolDefinition, override: EntityOverride | undefined): Entity {
  const { name, icon, unit, deviceClass, enabledByDefault, min, max, options } = override ?? {};
  const userOnly = tool.audience === "user" ? { enabled_by_default: false } : {};
  const changes = {
    ...userOnly,
    ...(name === undefined ? {} : { name }),
    ...(icon === undefined ? {} : { icon }),
    ...(unit === undefined ? {} : { unit_of_measurement: unit }),
    ...(deviceClass === undefined ? {} : { device_class: deviceClass }),
    ...(enabledByDefault === undefined ? {} : { enabled_by_default: enabledByDefault }),
    ...(min === undefined || entity.platform !== "number" ? {} : { min }),
    ...(max === undefined || entity.platform !== "number" ? {} : { max }),
    ...(options === undefined || entity.platform !== "select" ? {} : { options: [...options] }),
  };
  return { ...entity, fields: { ...entity.fields, ...changes } };
}

/** Letters, digits and `_`: a part of topics and of ids. */
function keyOf(tool: string): string {
  return (
    tool
      .replace(/^self\./, "")
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, "")
      .slice(0, 64) || "tool"
  );
}

function labelOf(tool: string): string {
  const words = keyOf(tool)
    .replaceAll("_", " ")
    .replace(/\bset /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function onOff(template: string): string {
  return template.replace(/^\{\{ (.*) \}\}$/, "{{ 'ON' if $1 else 'OFF' }}");
}
