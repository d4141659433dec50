import { automaticPrefix, toolAnnotations } from "@tendon/protocol";
import type { CallInProgress } from "./pipeline.ts";

/**
 * The caller's name in the history [CON-7]. A status read that an open console page makes automatically has a name of its
 * own. A call that may change something always has the name of its caller.
 */
export function principalName({ principal, record, tool, context }: CallInProgress): string {
  if (context.requested.origin?.automatic !== true) return principal.name;
  const definition = record.catalogue.find(tool);
  const reads = definition !== undefined && toolAnnotations(definition).readOnlyHint;
  return reads ? `${automaticPrefix}${principal.name}` : principal.name;
}
