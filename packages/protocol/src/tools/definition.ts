import type { JsonObject } from "../outcome.ts";
import type { ToolWarning } from "./annotations.ts";

/** Who a tool is meant for: `user` tools are privileged and never offered to an agent by default [MCP-6]. */
export type Audience = "agent" | "user";

/** A JSON Schema after repair: plain enough to check arguments with and to show to any model. */
export type ObjectSchema = JsonObject & { readonly type: "object" };

/** A device's tool as the gateway keeps it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly audience: Audience;
  /** What had to be mended in the device's own schema, in words; empty for a sound one. */
  readonly repairs: readonly string[];
  /** What the device itself says against it; left out where that is nothing. */
  readonly warnings?: readonly ToolWarning[];
}

/** A tool that cannot be offered, with the reason; the rest of the list is not affected [MCP-8]. */
export interface ToolSetAside {
  readonly name: string;
  readonly reason: string;
}
