import { TendonError } from "../../../errors.ts";
import type { Asker, ToolAddress } from "../agent-view.ts";

/**
 * The tool somebody means by a device and a name: the device's own name for it, the short one without prefix, or the
 * whole one that stands in lists, which needs no device. What leads nowhere is left as it is and refused by the call.
 */
export function addressOf(view: Asker, device: string | undefined, tool: string): ToolAddress {
  const { registry, principal } = view;
  const { toolset } = registry;
  const whole = toolset.resolve(principal, tool);
  if (device === undefined) {
    if (whole !== undefined) return whole;
    throw new TendonError("arguments_invalid", `\`${tool}\` needs a device beside it`, {
      errors: [{ path: "/device", message: "is needed" }],
    });
  }
  const id = registry.idOf(device);
  const own = toolset.list(principal, { device: id }).find((known) => known.tool === tool);
  if (own !== undefined) return { device: id, tool };
  return (
    toolset.resolve(principal, tool, { device: id }) ?? (whole?.device === id ? whole : { device: id, tool })
  );
}
