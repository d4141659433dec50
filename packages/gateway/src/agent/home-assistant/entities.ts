/**
 * Which entities of Home Assistant a device has, from its tools, its last status and its notifications. The topics of an
 * entity follow from its key: commands on `set/{key}` or `press/{key}`, its value on `value/{key}` unless the device's
 * status has it.
 */
import type { JsonObject, ToolDefinition } from "@tendon/protocol";
import { statusEntities } from "./status-entities.ts";
import { press } from "./tool-commands.ts";
import { entitiesOfTool, rebootTool, toolsWithoutEntity } from "./tool-entities.ts";

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
  /** The tools that it may call: the switch of a pair has two. */
  readonly tools: readonly string[];
  /** The call for a payload; throws `arguments_invalid`. */
  readonly callOf: (payload: string) => { readonly tool: string; readonly args: JsonObject };
  /** The payload that stands for a call, which is the state after it. */
  readonly payloadOf: (tool: string, args: JsonObject) => string | undefined;
}

export interface Entity {
  readonly key: string;
  readonly platform: string;
  /** Fields of the component beside its ids and topics. */
  readonly fields: JsonObject;
  readonly command?: Command;
  /** Where its state is published: the status of the device, a topic of its own, or nowhere. */
  readonly state: "status" | "value" | "photo" | "talk" | "problem" | "notification" | "firmware" | "none";
  /** Where the status has its state. */
  readonly path?: readonly [area: string, field: string];
  /** The tool that reads its value. */
  readonly reader?: string;
}

/** A device with more tools than this shows the first ones only. */
const maxEntities = 64;

export interface DeviceTools {
  /** Those that the token may call. */
  readonly tools: readonly ToolDefinition[];
  readonly status: JsonObject | undefined;
  /** Keys of entities whose tool has answered with a picture. */
  readonly pictures: ReadonlySet<string>;
  /** The notifications that the device has sent, by their names. */
  readonly notifications: ReadonlySet<string>;
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
  const byTool = tools.map((tool) => {
    const override = device.overrides.find((each) => each.tool === tool.name);
    if (override?.hidden === true || toolsWithoutEntity.has(tool.name) || used.has(tool.name)) return [];
    const entities = entitiesOfTool(tool, { ...device, names, used, override });
    return entities.map((entity) => ({ tool, entity: overridden(entity, tool, override) }));
  });
  // A tool that reads the value of a later one has no entity of its own.
  for (const { tool, entity } of byTool.flat()) if (!used.has(tool.name)) add(entity);
  for (const entity of statusEntities(status)) add(entity);
  if (device.isBoard) for (const entity of boardEntities(device, names.has(rebootTool))) add(entity);
  for (const entity of notificationEntities(device.notifications)) add(entity);
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

function boardEntities({ mayInstall }: DeviceTools, canRestart: boolean): Entity[] {
  const canInstall = mayInstall && canRestart;
  return [
    {
      key: "firmware",
      platform: "update",
      state: "firmware",
      fields: {
        device_class: "firmware",
        title: "xiaozhi",
        ...(canInstall ? { payload_install: "INSTALL" } : {}),
        enabled_by_default: false,
      },
      ...(canInstall ? { command: press(rebootTool, "INSTALL") } : {}),
    },
    {
      key: "talk",
      platform: "event",
      state: "talk",
      fields: { name: "Conversation", event_types: ["started", "ended"] },
    },
  ];
}

/** An event entity for the history and the dashboard, and a trigger for each name in Home Assistant's list of triggers. */
function notificationEntities(notifications: ReadonlySet<string>): Entity[] {
  if (notifications.size === 0) return [];
  const names = [...notifications].sort();
  return [
    {
      key: "notification",
      platform: "event",
      state: "notification",
      fields: { name: "Notification", event_types: names },
    },
    ...names.map(
      (name): Entity => ({
        key: `trigger_${name.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`,
        platform: "device_automation",
        state: "notification",
        fields: {
          automation_type: "trigger",
          type: "notification",
          subtype: name,
          payload: name,
          value_template: "{{ value_json.event_type }}",
        },
      }),
    ),
  ];
}

function overridden(entity: Entity, tool: ToolDefinition, override: EntityOverride | undefined): Entity {
  const { name, icon, unit, deviceClass, enabledByDefault } = override ?? {};
  const userOnly = tool.audience === "user" ? { enabled_by_default: false } : {};
  const changes = {
    ...userOnly,
    ...(name === undefined ? {} : { name }),
    ...(icon === undefined ? {} : { icon }),
    ...(unit === undefined ? {} : { unit_of_measurement: unit }),
    ...(deviceClass === undefined ? {} : { device_class: deviceClass }),
    ...(enabledByDefault === undefined ? {} : { enabled_by_default: enabledByDefault }),
  };
  return { ...entity, fields: { ...entity.fields, ...changes } };
}
