/** The settings of a run as they are, with secrets hidden, and where each comes from. */
import type { SettingView } from "@tendon/protocol";
import { withoutSecrets } from "./masking.ts";
import { leavesOf } from "./reference.ts";
import { ConfigSchema } from "./schema.ts";

/** Where a setting was found. Each returns `undefined` for a setting that it does not have. */
interface Origins {
  readonly command: (at: readonly string[]) => boolean;
  readonly variable: (at: string[]) => string | undefined;
  readonly fileLine: (at: string[]) => string | undefined;
}

export function effectiveSettings(config: unknown, origins: Origins): SettingView[] {
  const shown = withoutSecrets(config);
  return leavesOf(ConfigSchema).map(({ path, schema }) => ({
    name: path.join("."),
    value: valueAt(shown, path) ?? null,
    description: (schema as { description?: string }).description ?? "",
    ...originOf(path, origins),
  }));
}

function originOf(path: string[], origins: Origins): Pick<SettingView, "source" | "place"> {
  if (origins.command(path)) return { source: "command" };
  const variable = origins.variable(path);
  if (variable !== undefined) return { source: "environment", place: variable };
  const line = origins.fileLine(path);
  return line === undefined ? { source: "default" } : { source: "file", place: line };
}

export function valueAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], tree);
}
