import type { FleetResult, FleetTarget } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../../errors.ts";
import type { Asker } from "../agent-view.ts";
import { Arguments, answer, compactTool, Device, inputOf, TimeoutMs } from "./compact-tool.ts";
import { addressOf } from "./tool-address.ts";

const ToolName = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "As tools_search names it, or the device's own name",
});

export const deviceCall = compactTool(
  {
    name: "device_call",
    title: "Call a device's tool",
    description:
      "Calls one tool of one device and waits for its answer. A failure begins with its code, such as `device_offline`.",
    readOnly: false,
    input: inputOf({
      device: Type.Optional(Device),
      tool: ToolName,
      arguments: Arguments,
      timeoutMs: TimeoutMs,
    }),
  },
  (asking, { device, tool, arguments: args = {}, timeoutMs }) =>
    asking.call(addressOf(asking.view, device, tool), args, timeoutMs),
);

export const fleetCall = compactTool(
  {
    name: "fleet_call",
    title: "Call a tool on many devices",
    description:
      "Calls the same tool on several devices at once: those named, those with a tag, or all. Each device has its own result.",
    readOnly: false,
    input: inputOf({
      devices: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
          minItems: 1,
          maxItems: 500,
          description: "Aliases or ids",
        }),
      ),
      tag: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      all: Type.Optional(Type.Boolean({ description: "true: every device" })),
      tool: ToolName,
      arguments: Arguments,
      timeoutMs: TimeoutMs,
    }),
  },
  async ({ view, callMany }, { tool, arguments: args = {}, timeoutMs, ...named }) => {
    const end = await callMany(targetOf(named), wireName(view, tool), args, timeoutMs);
    if ("asks" in end) return end.asks;
    const { reply } = end;
    if ("job" in reply) {
      throw new TendonError("bad_request", `more than 500 devices; it runs as job ${reply.job}`, reply);
    }
    return answer({ ...reply, results: reply.results.map(withoutPictures) });
  },
);

function targetOf(named: { devices?: string[]; tag?: string; all?: boolean }): FleetTarget {
  const { devices, tag, all } = named;
  const given = [devices, tag, all === true ? true : undefined].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new TendonError("arguments_invalid", "exactly one of `devices`, `tag` and `all: true` is needed");
  }
  if (devices !== undefined) return { devices };
  return tag === undefined ? { all: true } : { tag };
}

/** Devices of a kind share their tools' names, so the first device that knows a short name speaks for all. */
function wireName(view: Asker, tool: string): string {
  const { toolset } = view.registry;
  return toolset.resolve(view.principal, tool)?.tool ?? toolset.ownName(tool) ?? tool;
}

/** Hundreds of pictures in one answer help nobody; a single device's is had by device_call. */
function withoutPictures(result: FleetResult): FleetResult {
  if (result.result === undefined) return result;
  const content = result.result.content.map((item) =>
    item["type"] === "image" || item["type"] === "audio" ? { type: "text", text: `(${item["type"]})` } : item,
  );
  return { ...result, result: { ...result.result, content } };
}
