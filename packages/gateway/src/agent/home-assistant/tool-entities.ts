/** The entities of one tool, by the shape of its arguments. */
import { isObject, type JsonObject, type ToolDefinition } from "@tendon/protocol";
import type { Command, DeviceTools, Entity, EntityOverride } from "./entities.ts";
import { booleanOf, maxTextLength, numberOf, optionOf, textOf } from "./payloads.ts";
import { press, set, setByPair } from "./tool-commands.ts";

export const statusTool = "self.get_device_status";
export const photoTool = "self.camera.take_photo";
export const rebootTool = "self.reboot";
/** Tools of stock firmware that need an address or answer with a document, and those that other entities stand for. */
export const toolsWithoutEntity: ReadonlySet<string> = new Set([
  statusTool,
  "self.upgrade_firmware",
  "self.assets.set_download_url",
  "self.get_system_info",
  "self.screen.get_info",
  "self.screen.snapshot",
  "self.screen.preview_image",
]);
const photoQuestion = "Describe this picture.";
/** Keys and ids that do not come from the name of a tool. */
const reserved = new Set([
  ...["volume", "brightness", "theme", "reboot", "photo", "take_photo", "battery", "charging", "chip_temp"],
  ...["chip", "firmware", "fw", "talk", "problem", "notification"],
]);

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

interface Surroundings extends DeviceTools {
  readonly names: ReadonlyMap<string, ToolDefinition>;
  /** Tools that another entity uses already. */
  readonly used: Set<string>;
  readonly override: EntityOverride | undefined;
}

export function entitiesOfTool(tool: ToolDefinition, around: Surroundings): Entity[] {
  const { name } = tool;
  if (name === photoTool) return photoEntities();
  const properties = isObject(tool.inputSchema["properties"]) ? tool.inputSchema["properties"] : {};
  const [argument, ...more] = Object.keys(properties);
  if (more.length > 0) return [];
  if (argument === undefined) return withoutArgument(tool, around);
  const schema = isObject(properties[argument]) ? properties[argument] : {};
  const entity = withArgument(name, argument, schema, around.override);
  if (entity === undefined) return [];
  const { reading, ...state } = stateOf(name, around);
  const template = String(reading?.value_template);
  const shown =
    reading === undefined
      ? {}
      : { value_template: entity.platform === "switch" ? onOff(template) : template };
  return [{ ...entity, ...state, fields: { ...entity.fields, ...shown } }];
}

/** The entity that sets the argument; its state is added later. */
function withArgument(
  name: string,
  argument: string,
  schema: JsonObject,
  override: EntityOverride | undefined,
): (Pick<Entity, "key" | "platform" | "fields"> & { readonly command: Command }) | undefined {
  const { key, fields } = known[name] ?? { key: keyOf(name), fields: { name: labelOf(name) } };
  const { type } = schema;
  const minimum = override?.min ?? schema["minimum"];
  const maximum = override?.max ?? schema["maximum"];
  if (type === "integer" || type === "number") {
    if (typeof minimum !== "number" || typeof maximum !== "number" || minimum >= maximum) return undefined;
    if (!/(^|[._])set_/.test(name)) return undefined;
    const step = type === "integer" && known[name] === undefined ? { step: 1 } : {};
    return {
      key,
      platform: "number",
      fields: { ...step, ...fields, min: minimum, max: maximum },
      command: set(name, argument, (text) => numberOf(text, minimum, maximum, type)),
    };
  }
  if (type === "boolean")
    return {
      key,
      platform: "switch",
      fields: { ...fields, payload_on: "ON", payload_off: "OFF" },
      command: set(name, argument, booleanOf),
    };
  if (type !== "string") return undefined;
  const options = textsOf(override?.options ?? schema["enum"] ?? fields["options"]);
  if (options !== undefined)
    return {
      key,
      platform: "select",
      fields: { ...fields, options },
      command: set(name, argument, (text) => optionOf(text, options)),
    };
  const longest = schema["maxLength"];
  const max = Math.min(maxTextLength, typeof longest === "number" ? longest : maxTextLength);
  return {
    key,
    platform: "text",
    fields: { ...fields, max },
    command: set(name, argument, (text) => textOf(text, max)),
  };
}

function withoutArgument(tool: ToolDefinition, { names, used, pictures }: Surroundings): Entity[] {
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
    // The worked example of the guide has no payload for the restart: `PRESS` is the default.
    fields: given === undefined ? { ...fields, payload_press: "PRESS" } : fields,
    command: press(name),
    state: "none",
  };
  const picture = pictureKey(key);
  if (!pictures.has(picture)) return [button];
  return [
    button,
    {
      key: picture,
      platform: "image",
      fields: { name: `${labelOf(name)} picture`, content_type: "image/jpeg" },
      state: "value",
    },
  ];
}

/** The image entity of a button whose tool answers with a picture. */
export function pictureKey(key: string): string {
  return `${key}_picture`;
}

function pairSwitch(base: string, on: string, off: string): Entity {
  return {
    key: keyOf(base),
    platform: "switch",
    fields: { name: labelOf(base), payload_on: "ON", payload_off: "OFF" },
    state: "value",
    command: setByPair(on, off),
  };
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
      command: press(photoTool, "PRESS", { question: photoQuestion }),
    },
  ];
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

function textsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts = value.filter((each): each is string => typeof each === "string");
  return texts.length === value.length ? [...new Set(texts)] : undefined;
}

/** Letters, digits and `_`: a part of topics and of ids. */
function keyOf(tool: string): string {
  const key = plainKey(tool);
  return reserved.has(key) ? `${key}_tool` : key;
}

function plainKey(tool: string): string {
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
  const words = plainKey(tool)
    .replaceAll("_", " ")
    .replace(/\bset /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function onOff(template: string): string {
  return template.replace(/^\{\{ (.*) \}\}$/, "{{ 'ON' if $1 else 'OFF' }}");
}
