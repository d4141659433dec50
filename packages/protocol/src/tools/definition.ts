import type { JsonObject } from "../outcome.ts";
import type { ToolWarning } from "./annotations.ts";

/** Who a tool is for. `user` tools are privileged and not offered to agents by default [MCP-6]. */
export type Audience = "agent" | "user";

/** A repaired JSON Schema, safe for validation and for models. */
export type ObjectSchema = JsonObject & { readonly type: "object" };

/** A device's tool as the gateway keeps it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly audience: Audience;
  /** Descriptions of the repairs to the device's schema; empty if there were none. */
  readonly repairs: readonly string[];
  /** The device's warnings about the tool, if any. */
  readonly warnings?: readonly ToolWarning[];
}

/** A tool that cannot be offered, with the reason; the rest of the list is not affected [MCP-8]. */
export interface ToolSetAside {
  readonly name: string;
  readonly reason: string;
}
