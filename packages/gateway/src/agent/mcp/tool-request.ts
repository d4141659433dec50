import type {
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { FleetReply, FleetTarget } from "@tendon/protocol";
import type { AgentView, Caller, ToolAddress } from "./agent-view.ts";
import type { TaskWork } from "./task-ids.ts";

/** The result of a call, or the input that it needs first. */
export type CallEnd = CallToolResult | InputRequiredResult;

export interface CallTiming {
  readonly timeoutMs?: number | undefined;
  /** Set if the call waits for a device that is away. */
  readonly queue?: { readonly expiresInMs?: number | undefined } | undefined;
}

/** Calls a device's tool; a failure is a result too. */
export type CallDevice = (
  address: ToolAddress,
  args: Record<string, unknown>,
  timing: CallTiming,
) => Promise<CallEnd>;

/** Calls one tool of many devices. */
export type CallMany = (
  target: FleetTarget,
  tool: string,
  args: Record<string, unknown>,
  timing: CallTiming,
) => Promise<
  { readonly reply: FleetReply | { readonly job: string } } | { readonly asks: InputRequiredResult }
>;

/** One request to run a tool, over MCP or REST. */
export interface ToolRequest {
  readonly view: Caller;
  readonly context: ServerContext;
  readonly call: CallDevice;
  readonly callMany: CallMany;
  readonly inBackground?: InBackground | undefined;
}

/** Reports that the call continues in the background. Set if the client can have a task, which then replaces the result. */
type InBackground = (work: TaskWork) => void;

/** One request over MCP. */
export interface McpRequest {
  readonly view: AgentView;
  readonly server: Server;
  readonly context: ServerContext;
  readonly inBackground?: InBackground | undefined;
}
