import { didYouMean } from "@tendon/protocol";
import { TendonError } from "../../../errors.ts";
import type { Caller, ToolAddress } from "../agent-view.ts";

/**
 * Finds a tool by device and name. The name is the device's own, the short one without prefix, or the full listed one,
 * which needs no device. An unknown name is returned unchanged, and the call rejects it.
 */
export function addressOf(view: Caller, device: string | undefined, tool: string): ToolAddress {
  const { services, principal } = view;
  const { toolset } = services;
  const whole = toolset.resolve(principal, tool);
  if (device === undefined) {
    if (whole !== undefined) return whole;
    refuseUnknown(view, tool);
    throw new TendonError("arguments_invalid", `\`device\` is required for the tool \`${tool}\``, {
      errors: [{ path: "/device", message: "is required" }],
    });
  }
  const id = services.fleet.idOf(device);
  const own = toolset.list(principal, { device: id }).find((known) => known.tool === tool);
  if (own !== undefined) return { device: id, tool };
  if (whole?.device === id) return whole;
  return (
    toolset.resolve(principal, tool, { device: id }) ?? { device: id, tool: afterPrefix(view, id, tool) }
  );
}

/** Throws an error that suggests similar names, if there are any. */
export function refuseUnknown({ services, principal }: Caller, tool: string): void {
  const near = services.toolset.near(principal, tool);
  if (near.length > 0) {
    throw new TendonError("tool_unknown", `no tool is called \`${tool}\`${didYouMean(near)}`);
  }
}

/** Removes the prefix `alias__` if the alias is that of the device. */
function afterPrefix({ services }: Caller, device: string, tool: string): string {
  const at = tool.indexOf("__");
  return at > 0 && services.fleet.idOf(tool.slice(0, at)) === device ? tool.slice(at + 2) : tool;
}
