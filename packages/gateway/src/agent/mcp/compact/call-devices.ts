import { type FleetResult, type FleetTarget, limits } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../../errors.ts";
import type { Caller } from "../agent-view.ts";
import { Arguments, answer, compactTool, Device, inputOf, TimeoutMs } from "./compact-tool.ts";
import { addressOf, refuseUnknown } from "./tool-address.ts";

const ToolName = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "The tool's name from tools_search, or its own name on the device",
});

export const deviceCall = compactTool(
  {
    name: "device_call",
    title: "Call a device's tool",
    description:
      "Calls one tool of one device and waits for its result. The text of a failure begins with its code, such as `device_offline`.",
    readOnly: false,
    input: inputOf({
      device: Type.Optional(Device),
      tool: ToolName,
      arguments: Arguments,
      timeoutMs: TimeoutMs,
    }),
  },
  (request, { device, tool, arguments: args = {}, timeoutMs }) =>
    request.call(addressOf(request.view, device, tool), args, timeoutMs),
);

export const fleetCall = compactTool(
  {
    name: "fleet_call",
    title: "Call a tool on many devices",
    description:
      "Calls the same tool on several devices at once: named devices, devices with a tag, or all. Each device has its own result. A call to more than 500 devices becomes a job in the background: the result has its id. fleet_call with only `job` returns the job's progress and calls no device.",
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
          description: "The id of a job, to read its progress; pass it without other arguments",
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
          "`job` reads the progress of a job; pass it without other arguments",
        );
      }
      return answer({ ...(await services.fanOut.progress(principal, job)) });
    }
    const { tool, arguments: args = {}, timeoutMs, ...named } = call;
    if (tool === undefined)
      throw new TendonError("arguments_invalid", "`tool` is required, or `job` without other arguments");
    const end = await callMany(targetOf(named), await wireName(view, tool), args, timeoutMs);
    if ("asks" in end) return end.asks;
    const { reply } = end;
    if ("job" in reply) {
      return answer({ ...(await services.fanOut.progress(principal, reply.job)), note: jobNote });
    }
    return answer({ ...reply, results: reply.results.map(withoutPictures) });
  },
);

const jobNote =
  "The job calls all devices in the background, so do not repeat the call. fleet_call with only `job` returns its progress, until an hour after its end.";

function targetOf(named: { devices?: string[]; tag?: string; all?: boolean }): FleetTarget {
  const { devices, tag, all } = named;
  const given = [devices, tag, all === true ? true : undefined].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new TendonError("arguments_invalid", "exactly one of `devices`, `tag` and `all: true` is required");
  }
  if (devices !== undefined) return { devices };
  return tag === undefined ? { all: true } : { tag };
}

/** Devices of a kind share tool names, so the first device with this short name gives the wire name for all. */
async function wireName(view: Caller, tool: string): Promise<string> {
  const { toolset } = view.services;
  const known = toolset.resolve(view.principal, tool)?.tool ?? (await toolset.ownName(tool));
  if (known === undefined) refuseUnknown(view, tool);
  return known ?? tool;
}

/** Hundreds of pictures would flood the agent's context; device_call returns the picture of one device. */
function withoutPictures(result: FleetResult): FleetResult {
  if (result.result === undefined) return result;
  const content = result.result.content.map((item) =>
    item["type"] === "image" || item["type"] === "audio" ? { type: "text", text: `(${item["type"]})` } : item,
  );
  return { ...result, result: { ...result.result, content } };
}
