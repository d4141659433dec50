import { FaultError } from "./errors.ts";
import {
  type ByteText,
  type Delivery,
  defineTool,
  type Fault,
  type FaultHooks,
  type FaultyDevice,
  fromText,
  type McpReply,
  wire,
} from "./esp32/esp32.ts";

/** A fault as shown in the help of the command line. */
export interface FaultDescription {
  readonly name: string;
  readonly description: string;
  /** The meaning of the number after `name=`, if the fault accepts one. */
  readonly value: "milliseconds" | "every nth" | undefined;
  readonly defaultValue: number | undefined;
}

interface FaultEntry extends FaultDescription {
  readonly effect: (device: FaultyDevice, value: number) => FaultHooks;
}

const callMethod = "tools/call";

function plain(name: string, description: string, effect: (device: FaultyDevice) => FaultHooks): FaultEntry {
  return { name, description, value: undefined, defaultValue: undefined, effect };
}

function timed(
  name: string,
  description: string,
  defaultValue: number,
  effect: FaultEntry["effect"],
): FaultEntry {
  return { name, description, value: "milliseconds", defaultValue, effect };
}

const table: readonly FaultEntry[] = [
  timed("slow", "every tool is slow, and blocks the device while it runs", 2_000, (device, ms) => ({
    beforeCall: async () => await device.sleep(ms),
  })),
  plain("mute", "never answers an MCP message", () => ({ deliver: () => [] })),
  {
    name: "dropped-reply",
    description: "loses the reply to every nth call",
    value: "every nth",
    defaultValue: 3,
    effect: (_device, every) => dropReplies(every),
  },
  timed("late-reply", "calls run at once, but their replies are sent late", 35_000, (_device, ms) => ({
    deliver: (reply, deliveries) =>
      reply.method === callMethod ? deliveries.map(({ payload }) => ({ payload, afterMs: ms })) : deliveries,
  })),
  plain("broken-json", "calls and errors are answered with frames that are not JSON", () => ({
    deliver: (reply, deliveries) => deliveries.map((delivery) => ({ ...delivery, payload: broken(reply) })),
  })),
  plain("cursor-loop", "the last page of the tool list leads back to the first", () => ({
    deliver: (reply, deliveries) =>
      reply.method === "tools/list" && reply.ok ? deliveries.map(looped) : deliveries,
  })),
  plain("oversize-tool", "one tool is too large to be listed and hides the tools after it", (device) => ({
    booted: () => device.addTool(filler("self.oversize.tool", 9_000)),
  })),
  plain("duplicate-reply", "every reply is sent twice", () => ({
    deliver: (_reply, deliveries) => deliveries.flatMap((delivery) => [delivery, delivery]),
  })),
  plain("foreign-ids", "sends replies to requests that were never made, beside the real ones", () => ({
    deliver: (reply, deliveries) => [{ payload: foreign(reply), afterMs: 0 }, ...deliveries],
  })),
  timed("reboot-mid-call", "the device restarts while a tool runs", 200, (device, ms) => ({
    beforeCall: async () => {
      await device.sleep(ms);
      device.restart("reboot-mid-call");
      await new Promise<never>(() => undefined);
    },
  })),
  plain("no-hello", "connects and then sends nothing; over MQTT it never opens an audio session", () => ({
    greeting: () => undefined,
  })),
  plain(
    "old-firmware",
    "firmware 1.x: no user-only tools; calls run in parallel and finish in any order",
    (device) => ({
      oldFirmware: true,
      greeting: () => ({ features: { mcp: true }, textFont: undefined }),
      beforeCall: async () => await device.sleep(device.random() * 50),
    }),
  ),
  timed("notifications", "sends MCP notifications repeatedly", 1_000, notifications),
  plain("no-pong", "answers no WebSocket pings and sends no MQTT pings", () => ({ noPong: true })),
  plain("many-pages", "a tool list of 200 pages", (device) => ({
    booted: () => {
      // Two of these do not fit on one page, but the first fits beside the common tools.
      for (let page = 1; page <= 200; page += 1) device.addTool(filler(`self.pages.tool_${page}`, 4_100));
    },
  })),
  plain("unknown-kinds", "sends messages of unknown types", unknownKinds),
  plain("dark-update", "stays offline after it has installed new firmware", () => ({
    failedUpdate: "dark",
  })),
  plain("rolled-back-update", "runs its previous firmware again after an update", () => ({
    failedUpdate: "rolled-back",
  })),
  plain("no-mcp", "a device without MCP: does not offer it and ignores MCP messages", () => ({
    ignoresMcp: true,
    greeting: ({ features, textFont }) => {
      const { mcp: _mcp, ...rest } = features;
      return { features: rest, textFont };
    },
  })),
];

/** All faults in the order of the table, for help texts. */
export const faultList: readonly FaultDescription[] = table.map(
  ({ name, description, value, defaultValue }) => ({
    name,
    description,
    value,
    defaultValue,
  }),
);

/** Faults by name, each optionally with its number: `slow`, `slow=500`, `dropped-reply=10`. */
export function faultsNamed(names: readonly string[]): Fault[] {
  return names.map((text) => {
    const [name = "", number] = text.split("=", 2);
    const entry = table.find((candidate) => candidate.name === name);
    if (entry === undefined) {
      const known = table.map((candidate) => candidate.name).join(", ");
      throw new FaultError(`unknown fault "${name}"; known faults: ${known}`);
    }
    const value = number === undefined ? (entry.defaultValue ?? 0) : faultValue(entry, number);
    return { name, install: (device) => entry.effect(device, value) };
  });
}

function faultValue(entry: FaultEntry, number: string): number {
  if (entry.value === undefined) throw new FaultError(`fault "${entry.name}" does not accept a value`);
  const value = Number(number);
  if (number === "" || !Number.isInteger(value) || value < 1 || value > 2 ** 31 - 1) {
    throw new FaultError(`fault "${entry.name}" needs a whole number (${entry.value}), not "${number}"`);
  }
  return value;
}

function dropReplies(every: number): FaultHooks {
  let calls = 0;
  return {
    deliver: (reply, deliveries) => {
      if (reply.method !== callMethod) return deliveries;
      calls += 1;
      return calls % every === 0 ? [] : deliveries;
    },
  };
}

function broken(reply: McpReply): ByteText {
  if (reply.method === callMethod) {
    return wire`{"jsonrpc":"2.0","id":${reply.id},"error":{"message":"Failed to open "valve" at C:\\new"}}`;
  }
  if (reply.ok) return reply.payload;
  return reply.payload.replace('"message":"', '"message":"the device said "no": ') as ByteText;
}

function looped(delivery: Delivery): Delivery {
  const end = /\](?:,"nextCursor":"[^"]*")?\}\}$/;
  const payload = delivery.payload.replace(end, '],"nextCursor":"self.get_device_status"}}') as ByteText;
  return { ...delivery, payload };
}

/** Half the id range away from the real one, so that it cannot be the id of another pending request. */
function foreign(reply: McpReply): ByteText {
  const id = reply.id > 0 ? reply.id - 2 ** 30 : reply.id + 2 ** 30;
  return wire`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"true"}],"isError":false}}`;
}

function filler(name: string, bytes: number) {
  return defineTool(name, "Does nothing, at length. ".repeat(400).slice(0, bytes), {}, () => true, false);
}

function notifications(device: FaultyDevice, ms: number): FaultHooks {
  let cancel: (() => void) | undefined;
  let count = 0;
  const tick = (): void => {
    count += 1;
    device.notify(wire`{"jsonrpc":"2.0","method":"notifications/tick","params":{"count":${count}}}`);
    cancel = device.after(ms, tick);
  };
  return {
    opened: () => {
      cancel?.();
      cancel = device.after(ms, tick);
    },
    closed: () => {
      cancel?.();
      cancel = undefined;
    },
  };
}

function unknownKinds(device: FaultyDevice): FaultHooks {
  const unknownFrames = [
    '{"type":"telemetry","uptime":1}',
    '{"session_id":"","type":"iot","states":[]}',
    '{"type":"","payload":{}}',
    '{"type":"mcp2","payload":{"jsonrpc":"2.0","id":1,"result":{}}}',
  ].map(fromText);
  const sendUnknownFrames = (): void => {
    for (const text of unknownFrames) device.say(text);
  };
  return {
    opened: sendUnknownFrames,
    deliver: (_reply, deliveries) => {
      sendUnknownFrames();
      return deliveries;
    },
  };
}
