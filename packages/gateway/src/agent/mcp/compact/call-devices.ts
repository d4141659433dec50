import { type FleetResult, type FleetTarget, limits } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../../errors.ts";
import type { Asker } from "../agent-view.ts";
import { Arguments, answer, compactTool, Device, inputOf, TimeoutMs } from "./compact-tool.ts";
import { addressOf, refuseUnknown } from "./tool-address.ts";

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
      "Calls the same tool on several devices at once: those named, those with a tag, or all. Each device has its own result. More than 500 devices become a job that runs on by itself: the answer has its id, and fleet_call with nothing but `job` says how it goes and calls nobody.",
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
      tool: Type.Optional(ToolName),
      arguments: Arguments,
      timeoutMs: TimeoutMs,
      job: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: limits.jobIdLength.max,
          description: "Alone: the id of a job, to read how it goes",
        }),
      ),
    }),
  },
  async ({ view, callMany }, { job, ...call }) => {
    const { services, principal } = view;
    if (job !== undefined) {
      if (Object.keys(call).length > 0) {
        throw new TendonError(
          "arguments_invalid",
          "`job` only reads how a job goes: nothing may stand beside it",
        );
      }
      return answer({ ...(await services.fanOut.progress(principal, job)) });
    }
    const { tool, arguments: args = {}, timeoutMs, ...named } = call;
    if (tool === undefined) throw new TendonError("arguments_invalid", "`tool` is needed, or `job` alone");
    const end = await callMany(targetOf(named), await wireName(view, tool), args, timeoutMs);
    if ("asks" in end) return end.asks;
    const { reply } = end;
    if ("job" in reply) {
      return answer({ ...(await services.fanOut.progress(principal, reply.job)), note: runsOn });
    }
    return answer({ ...reply, results: reply.results.map(withoutPictures) });
  },
);

const runsOn =
  "These are too many devices to wait for: the job calls them all by itself, so do not repeat the call. fleet_call with nothing but `job` says how it goes, until an hour after its end.";

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
async function wireName(view: Asker, tool: string): Promise<string> {
  const { toolset } = view.services;
  const known = toolset.resolve(view.principal, tool)?.tool ?? (await toolset.ownName(tool));
  if (known === undefined) refuseUnknown(view, tool);
  return known ?? tool;
}

/** Hundreds of pictures in one answer help nobody; a single device's is had by device_call. */
function withoutPictures(result: FleetResult): FleetResult {
  if (result.result === undefined) return result;
  const content = result.result.content.map((item) =>
    item["type"] === "image" || item["type"] === "audio" ? { type: "text", text: `(${item["type"]})` } : item,
  );
  return { ...result, result: { ...result.result, content } };
}
