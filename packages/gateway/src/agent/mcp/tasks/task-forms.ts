/** The two forms of tasks: the extension of 2026 (SEP-2663), and the one of 2025-11-25 that some clients still use. */
import { CLIENT_CAPABILITIES_META_KEY, RELATED_TASK_META_KEY } from "@modelcontextprotocol/server";
import { isObject, type JsonObject } from "@tendon/protocol";
import { isoTime } from "../../../clock.ts";
import { clientOf } from "../relay.ts";
import type { TaskReference } from "../task-ids.ts";
import type { McpRequest } from "../tool-request.ts";
import type { TaskState } from "./task-state.ts";

const tasksExtension = "io.modelcontextprotocol/tasks";
export const taskExtensions = { [tasksExtension]: {} };

const pollIntervalMs = 2_000;
/** A photo takes 30 s, and a queued call longer; a client that polls more often gains nothing. */
const slowPollMs = 5_000;

/** Whether the client declared the extension: with this request, or when it opened its session. */
export function declaresTasks(request: McpRequest): boolean {
  const here = request.context.mcpReq._meta?.[CLIENT_CAPABILITIES_META_KEY];
  return [clientOf(request), here].some(
    (client) =>
      isObject(client) && isObject(client["extensions"]) && isObject(client["extensions"][tasksExtension]),
  );
}

/** A client of the older form asks for a task with each call. */
export function asksForTask({ context }: McpRequest, params: JsonObject): boolean {
  return context.mcpReq.envelope === undefined && isObject(params["task"]);
}

type Working = Pick<TaskState, "status" | "message" | "updatedAt">;

/** As the extension of 2026 shows a task. */
export function extensionTask(task: TaskReference, { status, message, updatedAt }: Working): JsonObject {
  const { taskId, createdAt, ttlMs, kind } = task;
  return {
    taskId,
    status,
    statusMessage: message,
    createdAt: isoTime(createdAt),
    lastUpdatedAt: updatedAt,
    ttlMs,
    pollIntervalMs: kind === "kept" ? pollIntervalMs : slowPollMs,
  };
}

/** As 2025-11-25 shows a task. A tool that reports an error counts as failed there. */
export function olderTask(task: TaskReference, state: TaskState | Working): JsonObject {
  const { ttlMs, pollIntervalMs: pollInterval, ...rest } = extensionTask(task, state);
  const failed = "result" in state && state.result?.isError === true;
  return { ...rest, ttl: ttlMs, pollInterval, ...(failed ? { status: "failed" } : {}) };
}

export function relatedTask({ taskId }: TaskReference): JsonObject {
  return { [RELATED_TASK_META_KEY]: { taskId } };
}
