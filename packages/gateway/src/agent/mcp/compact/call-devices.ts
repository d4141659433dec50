import { type FleetResult, type FleetTarget, limits } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../../errors.ts";
import type { Caller } from "../agent-view.ts";
import { queueHint } from "../call-result.ts";
import { jobWork } from "../task-ids.ts";
import type { CallTiming } from "../tool-request.ts";
import { Arguments, answer, compactTool, Device, inputOf, TimeoutMs } from "./compact-tool.ts";
import { askQueued } from "./queued-calls.ts";
import { addressOf, refuseUnknown } from "./tool-address.ts";

const ToolName = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "The tool's name from tools_search, or its own name on the device",
});

const waiting = {
  when_offline: Type.Optional(
    Type.String({
      enum: ["fail", "queue"],
      description: "For a device that is away. fail (default): an error · queue: run it when it is online",
    }),
  ),
  expires_in_s: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.waitingCallMs.max / 1_000,
      description: "How long a queued call may wait. Default: a day",
    }),
  ),
};

export const deviceCall = compactTool(
  {
    name: "device_call",
    title: "Call a device's tool",
    description:
      "Calls one tool of one device and waits for its result. The text of a failure begins with its code, such as `device_offline`. With only `callId` it returns the state and result of a queued call.",
    readOnly: false,
    mayTakeLong: true,
    input: inputOf({
      device: Type.Optional(Device),
      tool: Type.Optional(ToolName),
      arguments: Arguments,
      timeoutMs: TimeoutMs,
      ...waiting,
      callId: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: "A queued call, instead of a new one" }),
      ),
      cancel: Type.Optional(Type.Boolean({ description: "true, with `callId`: cancels the queued call" })),
    }),
  },
  async (request, { callId, cancel, ...call }) => {
    const { device, tool, arguments: args = {} } = call;
    if (callId !== undefined) {
      if (Object.keys(call).length > 0)
        throw new TendonError("arguments_invalid", "pass `callId` without the arguments of a new call");
      return await askQueued(request.view, callId, cancel === true);
    }
    if (cancel !== undefined) throw new TendonError("arguments_invalid", "`cancel` needs a `callId`");
    if (tool === undefined) {
      const message = "is required, or `callId` without other arguments";
      throw new TendonError("arguments_invalid", `/tool ${message}`, {
        errors: [{ path: "/tool", message }],
      });
    }
    return await request.call(addressOf(request.view, device, tool), args, timingOf(call));
  },
);

const defaultWaitMs = 24 * 60 * 60_000;

function waitOf({ queue }: CallTiming): number {
  return queue === undefined ? 0 : (queue.expiresInMs ?? defaultWaitMs);
}

function timingOf(call: { timeoutMs?: number; when_offline?: string; expires_in_s?: number }): CallTiming {
  const { timeoutMs, when_offline: whenOffline = "fail", expires_in_s: expiresInS } = call;
  if (whenOffline === "queue") {
    return { timeoutMs, queue: expiresInS === undefined ? {} : { expiresInMs: expiresInS * 1_000 } };
  }
  if (expiresInS === undefined) return { timeoutMs };
  throw new TendonError("arguments_invalid", '`expires_in_s` needs `when_offline: "queue"`');
}

export const fleetCall = compactTool(
  {
    name: "fleet_call",
    title: "Call a tool on many devices",
    description:
      "Calls the same tool on several devices at once: named devices, devices with a tag, or all. Each device has its own result. A call to more than 500 devices, or with queued calls, becomes a job in the background: the result has its id. fleet_call with only `job` returns the job's progress and calls no device.",
    readOnly: false,
    mayTakeLong: true,
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
      ...waiting,
      job: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: limits.jobIdLength.max,
          description: "The id of a job, to read its progress; pass it without other arguments",
        }),
      ),
    }),
  },
  async ({ view, callMany, inBackground }, { job, ...call }) => {
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
    const { tool, arguments: args = {}, devices, tag, all } = call;
    if (tool === undefined)
      throw new TendonError("arguments_invalid", "`tool` is required, or `job` without other arguments");
    const target = targetOf({ devices, tag, all });
    const timing = timingOf(call);
    const end = await callMany(target, await wireName(view, tool), args, timing);
    if ("asks" in end) return end.asks;
    const { reply } = end;
    if ("job" in reply) {
      inBackground?.(jobWork(reply.job, waitOf(timing)));
      return answer({ ...(await services.fanOut.progress(principal, reply.job)), note: jobNote });
    }
    const isAway = reply.results.some(({ error }) => error?.code === "device_offline");
    return answer({
      ...reply,
      results: reply.results.map(withoutPictures),
      ...(isAway ? { note: offlineNote } : {}),
    });
  },
);

const jobNote =
  "The job calls all devices in the background, so do not repeat the call. fleet_call with only `job` returns its progress, until an hour after its end. `queued` calls wait for their devices.";
const offlineNote = `Some devices are offline. fleet_call or ${queueHint}.`;

function targetOf(named: {
  devices: string[] | undefined;
  tag: string | undefined;
  all: boolean | undefined;
}): FleetTarget {
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
