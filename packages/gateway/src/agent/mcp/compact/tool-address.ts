import { didYouMean } from "@tendon/protocol";
import { TendonError } from "../../../errors.ts";
import type { Asker, ToolAddress } from "../agent-view.ts";

/**
 * The tool somebody means by a device and a name: the device's own name for it, the short one without prefix, or the
 * whole one that stands in lists, which needs no device. What leads nowhere is left as it is and refused by the call.
 */
export function addressOf(view: Asker, device: string | undefined, tool: string): ToolAddress {
  const { services, principal } = view;
  const { toolset } = services;
  const whole = toolset.resolve(principal, tool);
  if (device === undefined) {
    if (whole !== undefined) return whole;
    refuseUnknown(view, tool);
    throw new TendonError("arguments_invalid", `\`${tool}\` needs a device beside it`, {
      errors: [{ path: "/device", message: "is needed" }],
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

/** Of a name that leads nowhere and is close to others, the agent is told those. */
export function refuseUnknown({ services, principal }: Asker, tool: string): void {
  const near = services.toolset.near(principal, tool);
  if (near.length > 0) {
    throw new TendonError("tool_unknown", `no tool is called \`${tool}\`${didYouMean(near)}`);
  }
}

/** Behind the device's own alias stands the name that the call is about. */
function afterPrefix({ services }: Asker, device: string, tool: string): string {
  const at = tool.indexOf("__");
  return at > 0 && services.fleet.idOf(tool.slice(0, at)) === device ? tool.slice(at + 2) : tool;
}
