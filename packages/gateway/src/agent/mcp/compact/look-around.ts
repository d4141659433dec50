import type { Device as DeviceView } from "@tendon/protocol";
import Type from "typebox";
import type { Asker } from "../agent-view.ts";
import { answer, compactTool, Device, inputOf } from "./compact-tool.ts";

const devicesAtOnce = 50;

export const devicesList = compactTool(
  {
    name: "devices_list",
    title: "List devices",
    description:
      "The devices there are: alias, whether each is online, how many tools you may use on it, its tags. Begin here when you do not know the devices.",
    readOnly: true,
    input: inputOf({
      query: Type.Optional(
        Type.String({ maxLength: 128, description: "Part of an alias, an id, a board's name or a tag" }),
      ),
      online: Type.Optional(Type.Boolean({ description: "Only those online (true) or offline (false)" })),
      tag: Type.Optional(Type.String({ maxLength: 64 })),
      cursor: Type.Optional(Type.String({ maxLength: 128, description: "nextCursor of the page before" })),
    }),
  },
  ({ view }, { query, ...rest }) => {
    const page = view.services.fleet.list(view.principal, {
      ...rest,
      ...(query === undefined ? {} : { q: query }),
      limit: devicesAtOnce,
    });
    const devices = page.devices.map((device) => inShort(device, toolsFor(view, device.id)));
    return answer({ devices, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) });
  },
);

/** Those that whoever asks may use: others are nothing to it. */
function toolsFor({ services, principal }: Asker, device: string): number {
  return services.toolset.list(principal, { device }).length;
}

/** What an agent chooses by; the rest is in device_state. */
function inShort({ id, alias, online, board, tags, lastSeenAt }: DeviceView, tools: number) {
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
      "What is known of one device: online or since when not, board, firmware, and its last reported status (which may be old: `status.at` says when).",
    readOnly: true,
    input: inputOf({ device: Device }),
  },
  async ({ view }, { device }) => {
    const seen = await view.services.fleet.inspect(view.principal, device);
    return answer({ ...seen, toolCount: toolsFor(view, seen.id) });
  },
);
