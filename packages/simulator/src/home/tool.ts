import { type Parameters, readArguments, type ValuesOf } from "./parameters.ts";
import type { Feature, HomeSettings } from "./settings.ts";
import type { HomeState } from "./state.ts";

/** A tool as `ready` announces it. */
export interface HomeToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly input_schema: {
    readonly type: "object";
    readonly properties: Parameters;
    readonly required: readonly string[];
  };
  readonly output_schema: OutputSchema;
  /** On user-only tools. */
  readonly annotations?: { readonly audience: readonly "user"[] };
}

type OutputSchema = { readonly type: "object"; readonly properties: Readonly<Record<string, object>> };

interface ToolContext {
  readonly settings: HomeSettings;
  readonly now: number;
}

type Arguments = Readonly<Record<string, unknown>>;

/** The effect of a tool: reads the state, or returns a new one. */
export type HomeTool = {
  readonly definition: HomeToolDefinition;
  /** Offered only if home.yaml enables this feature. */
  readonly feature: Feature | undefined;
} & (
  | {
      readonly does: "read";
      readonly run: (state: HomeState, context: ToolContext, args: Arguments) => object;
    }
  | {
      readonly does: "change";
      readonly run: (state: HomeState, context: ToolContext, args: Arguments) => HomeState;
    }
);

interface Words {
  readonly name: string;
  readonly description: string;
  readonly feature?: Feature;
}

interface Reading<All extends Parameters> extends Words {
  readonly parameters?: All;
  readonly result: OutputSchema["properties"];
  readonly read: (state: HomeState, context: ToolContext, args: ValuesOf<All, never>) => object;
}

interface Changing<All extends Parameters, Required extends keyof All & string> extends Words {
  readonly parameters: All;
  readonly required: readonly Required[];
  readonly change: (state: HomeState, context: ToolContext, args: ValuesOf<All, Required>) => HomeState;
}

export function readingTool<const All extends Parameters>(tool: Reading<All>): HomeTool {
  const parameters = tool.parameters ?? ({} as All);
  return {
    definition: define(tool, parameters, [], tool.result),
    feature: tool.feature,
    does: "read",
    run: (state, context, args) => tool.read(state, context, readArguments(parameters, [], args)),
  };
}

export function changingTool<const All extends Parameters, const Required extends keyof All & string>(
  tool: Changing<All, Required>,
): HomeTool {
  const { parameters, required } = tool;
  return {
    definition: define(tool, parameters, required, { ok: { type: "boolean" } }),
    feature: tool.feature,
    does: "change",
    run: (state, context, args) => tool.change(state, context, readArguments(parameters, required, args)),
  };
}

function define(
  { name, description }: Words,
  properties: Parameters,
  required: readonly string[],
  result: OutputSchema["properties"],
): HomeToolDefinition {
  return {
    name,
    description,
    input_schema: { type: "object", properties, required },
    output_schema: { type: "object", properties: result },
  };
}
