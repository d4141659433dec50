/**
 * The tools that are always there, so that an agent can use any number of devices with a list that stays small: find
 * devices and tools, look, call one or many, wait for what happens.
 */
import { deviceCall, fleetCall } from "./call-devices.ts";
import type { CompactTool } from "./compact-tool.ts";
import { toolDescribe, toolsSearch } from "./find-tools.ts";
import { deviceState, devicesList } from "./look-around.ts";
import { eventsWait } from "./wait-for-events.ts";

export type { Asker } from "../agent-view.ts";
export { plainCalls } from "../plain-calls.ts";
export { readArguments } from "./compact-tool.ts";

const tools: readonly CompactTool[] = [
  devicesList,
  toolsSearch,
  toolDescribe,
  deviceCall,
  deviceState,
  fleetCall,
  eventsWait,
];

export const compactDefinitions = tools.map(({ definition }) => definition);

/** The same for agents that do not speak MCP. */
export const compactFunctions = tools.map(({ definition: { name, description = "" }, plainSchema }) => ({
  name,
  description,
  inputSchema: plainSchema,
}));

const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));

export function compactToolCalled(name: string): CompactTool | undefined {
  return byName.get(name);
}
