/** How the payloads of Home Assistant become calls, and the arguments of calls payloads. */
import type { JsonObject } from "@tendon/protocol";
import type { Command } from "./entities.ts";
import { booleanOf, pressOf } from "./payloads.ts";

/** Any other payload has no effect: an empty one comes when a retained command is removed. */
export function press(tool: string, payload = "PRESS", args: JsonObject = {}): Command {
  return {
    verb: "press",
    tools: [tool],
    callOf(given) {
      pressOf(given, payload);
      return { tool, args };
    },
    payloadOf: () => undefined,
  };
}

/** Of a tool with one argument. */
export function set<Value extends string | number | boolean>(
  tool: string,
  argument: string,
  read: (payload: string) => Value,
): Command {
  return {
    verb: "set",
    tools: [tool],
    callOf: (payload) => ({ tool, args: { [argument]: read(payload) } }),
    payloadOf(_, { [argument]: value }) {
      if (typeof value === "boolean") return value ? "ON" : "OFF";
      return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
    },
  };
}

/** Of a pair of tools without arguments. */
export function setByPair(on: string, off: string): Command {
  return {
    verb: "set",
    tools: [on, off],
    callOf: (payload) => ({ tool: booleanOf(payload) ? on : off, args: {} }),
    payloadOf: (tool) => (tool === on ? "ON" : "OFF"),
  };
}
