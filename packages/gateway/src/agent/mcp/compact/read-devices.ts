import type { Device as DeviceView } from "@tendon/protocol";
import Type from "typebox";
import type { Caller } from "../agent-view.ts";
import { answer, compactTool, Device, inputOf } from "./compact-tool.ts";

const devicesAtOnce = 50;

export const devicesList = compactTool(
  {
    name: "devices_list",
    title: "List devices",
    description:
      "Lists the devices: alias, whether each is online, the number of tools you may use on it, and its tags. Start here if you do not know the devices.",
    readOnly: true,
    input: inputOf({
      query: Type.Optional(
        Type.String({ maxLength: 128, description: "Part of an alias, an id, a board's name or a tag" }),
      ),
      online: Type.Optional(
        Type.Boolean({ description: "Only online devices (true) or offline devices (false)" }),
      ),
      tag: Type.Optional(Type.String({ maxLength: 64 })),
      cursor: Type.Optional(Type.String({ maxLength: 128, description: "nextCursor of the previous page" })),
    }),
  },
  ({ view }, { query, ...rest }) => {
    const page = view.services.fleet.list(view.principal, {
      ...rest,
      ...(query === undefined ? {} : { q: query }),
      limit: devicesAtOnce,
    });
    const devices = page.devices.map((device) => summaryOf(device, toolsFor(view, device.id)));
    return answer({ devices, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) });
  },
);

/** The number of tools that the caller may use. */
function toolsFor({ services, principal }: Caller, device: string): number {
  return services.toolset.list(principal, { device }).length;
}

/** The fields by which an agent selects a device; device_state has the rest. */
function summaryOf({ id, alias, online, board, tags, lastSeenAt }: DeviceView, tools: number) {
  return {
    device: alias,
    id,
    online,
    ...(board === null ? {} : { board }),
    tools,
    ...(tags.length === 0 ? {} : { tags }),
    ...(online ? {} : { lastSeenAt }),
  };
}

export const deviceState = compactTool(
  {
    name: "device_state",
    title: "State of a device",
    description:
      "Returns the state of one device: online, or offline since when, board, firmware and its last reported status. The status may be old: `status.at` is the time of the report.",
    readOnly: true,
    input: inputOf({ device: Device }),
  },
  async ({ view }, { device }) => {
    const seen = await view.services.fleet.inspect(view.principal, device);
    return answer({ ...seen, toolCount: toolsFor(view, seen.id) });
  },
);
