/**
 * The compact tools, with which an agent uses any number of devices through a short list: find devices and tools, read
 * state, call one device or many, wait for events.
 */
import { deviceCall, fleetCall } from "./call-devices.ts";
import type { CompactTool } from "./compact-tool.ts";
import { toolDescribe, toolsSearch } from "./find-tools.ts";
import { deviceState, devicesList } from "./read-devices.ts";
import { eventsWait } from "./wait-for-events.ts";

export type { Caller } from "../agent-view.ts";
export { plainCalls } from "../plain-calls.ts";
export { answer, optionalTask, readArguments } from "./compact-tool.ts";

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

/** The same for agents that do not use MCP. */
export const compactFunctions = tools.map(({ definition: { name, description = "" }, plainSchema }) => ({
  name,
  description,
  inputSchema: plainSchema,
}));

const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));

export function compactToolCalled(name: string): CompactTool | undefined {
  return byName.get(name);
}
