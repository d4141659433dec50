/**
 * Tasks of MCP [SRV-19]: a call that takes long is answered with a task, which the client reads later. Queued calls,
 * jobs and photos become tasks, if the client declared them.
 */
import {
  type CallToolRequest,
  isInputRequiredResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import type { JsonObject } from "@tendon/protocol";
import { newCallId } from "../../../call-ids.ts";
import { CancellationSource } from "../../../cancellation.ts";
import { type Clock, isoTime } from "../../../clock.ts";
import { TendonError } from "../../../errors.ts";
import type { AgentView } from "../agent-view.ts";
import { type KeptEnd, keptMs } from "../background-calls.ts";
import { callTool } from "../call-tool.ts";
import { NotAToolResult } from "../checked-server.ts";
import type { TaskReference, TaskWork } from "../task-ids.ts";
import type { CallEnd, McpRequest } from "../tool-request.ts";
import {
  asksForTask,
  declaresTasks,
  extensionTask,
  olderTask,
  relatedTask,
  taskExtensions,
} from "./task-forms.ts";
import { readTask, type TaskState } from "./task-state.ts";

export { taskExtensions } from "./task-forms.ts";

/** A call that ends within this time, or becomes a queued call or a job, needs no task of its own. */
const promptMs = 1_000;
/** Between two looks at a task for `tasks/result`. The event of a call's end makes most of them unnecessary. */
const lookAgainMs = 2_000;

/** Calls a tool, as a task if the client can have one. */
export async function callToolOrStartTask(request: McpRequest, called: CallToolRequest): Promise<CallEnd> {
  if (declaresTasks(request)) return await callWithExtension(request, called);
  if (!asksForTask(request, called.params)) return await callTool(request, called);
  if (!request.view.takesTasks(called.params.name)) {
    const detail = `the tool \`${called.params.name}\` does not run as a task`;
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, detail);
  }
  return await callInOlderForm(request, called);
}

async function callWithExtension(request: McpRequest, called: CallToolRequest): Promise<CallEnd> {
  const { view } = request;
  let started: TaskWork | undefined;
  const end = await callTool({ ...request, inBackground: (work) => (started = work) }, called);
  if (started === undefined) return end;
  const task = view.tasks.ids.create(view.principal.id, started, view.clock.now());
  throw new NotAToolResult({ resultType: "task", ...extensionTask(task, newState(task)) });
}

async function callInOlderForm(request: McpRequest, called: CallToolRequest): Promise<CallEnd> {
  const { view, context } = request;
  const { principal, tasks } = view;
  if (!tasks.background.hasRoom(principal.id))
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      "rate_limited: too many tasks of this token run",
    );
  const cancellation = new CancellationSource();
  let started: TaskWork | undefined;
  const background = {
    ...request,
    context: withSignal(context, cancellation),
    inBackground: (work: TaskWork) => {
      started = work;
    },
  };
  const running = callTool(background, called);
  const ended = running.then((end): KeptEnd => {
    if (started !== undefined) return { work: started };
    if (!isInputRequiredResult(end)) return { result: end };
    throw new ProtocolError(
      ProtocolErrorCode.InvalidRequest,
      "the call needs input; repeat it without a task",
    );
  });
  const kept: TaskWork = { kind: "kept", id: newCallId(), ttlMs: keptMs };
  // At once, because the token's other calls must find the place taken.
  tasks.background.keep(principal.id, kept.id, cancellation, ended);
  const prompt = await withinPrompt(view.clock, running);
  const asks = prompt !== undefined && isInputRequiredResult(prompt);
  if (asks || started !== undefined) tasks.background.forget(kept.id);
  // In a session the SDK asks the questions and repeats the call.
  if (asks) return prompt;
  const work = started ?? kept;
  const task = tasks.ids.create(principal.id, work, view.clock.now());
  throw new NotAToolResult({ task: olderTask(task, newState(task)) });
}

function newState({ createdAt }: TaskReference): Pick<TaskState, "status" | "message" | "updatedAt"> {
  return { status: "working", message: "started", updatedAt: isoTime(createdAt) };
}

/** A task outlives the request that started it. */
function withSignal(context: ServerContext, cancellation: CancellationSource): ServerContext {
  const controller = new AbortController();
  cancellation.addEventListener("abort", () => controller.abort());
  return { ...context, mcpReq: { ...context.mcpReq, signal: controller.signal } };
}

async function withinPrompt<End>(clock: Clock, running: Promise<End>): Promise<End | undefined> {
  return await new Promise((resolve, reject) => {
    const timer = clock.after(promptMs, () => resolve(undefined));
    running.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** Registers the methods of tasks. */
export function serveTasks(server: Server, view: AgentView): void {
  const handle = (method: string, run: (asked: Asked) => Promise<JsonObject>) =>
    server.setRequestHandler(method, { params: anyParams }, async (params, context) => {
      const request = { view, server, context };
      const isExtension = declaresTasks(request);
      // A client of the older form needs no capability of its own.
      if (!isExtension && context.mcpReq.envelope !== undefined)
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: taskExtensions },
        });
      const task = taskOf(view, params);
      return await run({ view, context, task, isExtension });
    });
  handle("tasks/get", getTask);
  handle("tasks/cancel", cancelTask);
  handle("tasks/update", async (asked) => {
    await stateOf(asked);
    // No task of the gateway waits for input.
    return acknowledged;
  });
  handle("tasks/result", resultOfTask);
}

interface Asked {
  readonly view: AgentView;
  readonly context: ServerContext;
  readonly task: TaskReference;
  readonly isExtension: boolean;
}

const acknowledged = { resultType: "complete" };

/** The handlers check their parameters themselves. */
const anyParams: StandardSchemaV1<JsonObject, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "tendon",
    // Safe: the parameters of a request are an object.
    validate: (value) => ({ value: value as JsonObject }),
  },
};

function taskOf(view: AgentView, { taskId }: JsonObject): TaskReference {
  const task = typeof taskId === "string" ? view.tasks.ids.read(view.principal.id, taskId) : undefined;
  if (task === undefined) throw unknownTask();
  return task;
}

function unknownTask(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "no task of this token has this id, or it has expired",
  );
}

async function stateOf({ view, task }: Pick<Asked, "view" | "task">): Promise<TaskState> {
  const state = await readTask(view, task);
  if (state === undefined) throw unknownTask();
  return state;
}

async function getTask({ view, task, isExtension }: Asked): Promise<JsonObject> {
  const state = await stateOf({ view, task });
  if (!isExtension) return olderTask(task, state);
  const { result, error } = state;
  return {
    ...acknowledged,
    ...extensionTask(task, state),
    ...(result === undefined ? {} : { result: { ...result } }),
    ...(error === undefined ? {} : { error }),
  };
}

async function cancelTask(asked: Asked): Promise<JsonObject> {
  const { task, isExtension } = asked;
  const { status } = await stateOf(asked);
  if (status === "working") await cancelWork(asked);
  else if (!isExtension)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `the task is already ${status}`);
  return isExtension ? acknowledged : olderTask(task, await stateOf(asked));
}

/** Cancels what has not been sent to a device. A call that a device runs on this node is no longer waited for. */
async function cancelWork({ view, task, isExtension }: Asked): Promise<void> {
  const { services, principal, tasks } = view;
  tasks.background.cancel(principal.id, task.id);
  const waiting = task.kind === "job" ? await waitingCallsOf(view, task.id) : [task.id];
  if (task.kind === "kept") return;
  for (const callId of waiting) {
    try {
      await services.history.cancel(principal, callId);
    } catch (error) {
      // It runs or has ended by now, or it was never queued. The extension lets a task end in any way then.
      if (!(error instanceof TendonError) || error.code !== "conflict") throw error;
      if (!isExtension && task.kind === "call" && error.context["state"] === "running")
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the device already runs the call");
    }
  }
}

async function waitingCallsOf({ services, principal }: AgentView, job: string): Promise<string[]> {
  const { results } = await services.fanOut.job(principal, job);
  return results.flatMap(({ state, callId }) => (state === "queued" && callId !== undefined ? [callId] : []));
}

/** Waits for the end of a task, as 2025-11-25 requires, and returns the result of its call. */
async function resultOfTask({ view, context, task, isExtension }: Asked): Promise<JsonObject> {
  if (isExtension) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
  const leave = view.waits.take(view.principal);
  const { signal } = context.mcpReq;
  try {
    for (;;) {
      const { status, result, error, message } = await stateOf({ view, task });
      if (result !== undefined) return { ...result, _meta: { ...result._meta, ...relatedTask(task) } };
      if (error !== undefined) throw new ProtocolError(error.code, error.message);
      if (status === "cancelled")
        throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `cancelled: ${message}`);
      if (signal.aborted)
        throw new ProtocolError(ProtocolErrorCode.InvalidRequest, "the request was cancelled");
      await untilNews(view, task, signal);
    }
  } finally {
    leave();
  }
}

/** Until the call has ended, or it is time to look again. */
async function untilNews(view: AgentView, task: TaskReference, signal: AbortSignal): Promise<void> {
  const { clock, events, tasks, principal } = view;
  await new Promise<void>((resolve) => {
    const wake = () => {
      timer.cancel();
      unsubscribe();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = clock.after(lookAgainMs, wake);
    const unsubscribe = events.subscribe(({ type, data }) => {
      if (type === "call.finished" && data["callId"] === task.id) wake();
    });
    const kept = tasks.background.kept(principal.id, task.id);
    if (kept?.endedAt === undefined) void kept?.settled.then(wake);
    signal.addEventListener("abort", wake);
  });
}
