import type {
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { FleetReply, FleetTarget } from "@tendon/protocol";
import type { AgentView, Asker, ToolAddress } from "./agent-view.ts";

/** How a call ends, or what it wants to know before it does. */
export type CallEnd = CallToolResult | InputRequiredResult;

/** Calls a device's tool; every failure is a result. */
export type CallDevice = (
  address: ToolAddress,
  args: Record<string, unknown>,
  timeoutMs: number | undefined,
) => Promise<CallEnd>;

/** Calls one tool of many devices. */
export type CallMany = (
  target: FleetTarget,
  tool: string,
  args: Record<string, unknown>,
  timeoutMs: number | undefined,
) => Promise<
  { readonly reply: FleetReply | { readonly job: string } } | { readonly asks: InputRequiredResult }
>;

/** One use of a tool, by whatever door an agent came in. */
export interface Asking {
  readonly view: Asker;
  readonly context: ServerContext;
  readonly call: CallDevice;
  readonly callMany: CallMany;
}

/** One request over MCP. */
export interface McpRequest {
  readonly view: AgentView;
  readonly server: Server;
  readonly context: ServerContext;
}
