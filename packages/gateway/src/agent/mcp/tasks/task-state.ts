/** The state of a task, read from the work behind it. */
import { type CallToolResult, ProtocolError } from "@modelcontextprotocol/server";
import { type CallTrace, type JsonObject, limits } from "@tendon/protocol";
import { isoTime } from "../../../clock.ts";
import { TendonError } from "../../../errors.ts";
import type { AgentView } from "../agent-view.ts";
import { answer } from "../compact/compact.ts";
import { withVisiblePictures } from "../pictures.ts";
import type { TaskReference } from "../task-ids.ts";

export interface TaskState {
  readonly status: "working" | "completed" | "failed" | "cancelled";
  readonly message: string;
  readonly updatedAt: string;
  /** Only if completed. */
  readonly result?: CallToolResult;
  /** Only if failed. */
  readonly error?: { readonly code: number; readonly message: string };
}

const internalError = -32603;

/** `undefined` if the task has expired, or the work behind it is unknown. */
export async function readTask(view: AgentView, task: TaskReference): Promise<TaskState | undefined> {
  if (view.clock.now() > task.createdAt + task.ttlMs) return undefined;
  try {
    if (task.kind === "kept") return await keptState(view, task);
    return task.kind === "call" ? await callState(view, task.id) : await jobState(view, task);
  } catch (error) {
    if (!(error instanceof TendonError) || error.code !== "not_found") throw error;
    return task.kind === "call" ? unrecordedState(view, task) : undefined;
  }
}

/** A call that another node has ended a moment ago is not in the history yet; a gateway that failed left no record. */
function unrecordedState({ clock }: AgentView, { createdAt }: TaskReference): TaskState {
  const updatedAt = isoTime(createdAt);
  if (clock.now() - createdAt < limits.callTimeoutMs.max)
    return { status: "working", message: "the call runs", updatedAt };
  const message = "the gateway stopped while the call ran; the device may have run it";
  return { status: "failed", message, updatedAt, error: { code: internalError, message } };
}

async function callState(view: AgentView, callId: string): Promise<TaskState> {
  const trace = await view.services.history.trace(view.principal, callId);
  const { state, outcome, at, startedAt, askedAt, expiresAt, detail } = trace;
  const updatedAt = at ?? startedAt ?? askedAt ?? isoTime(view.clock.now());
  if (state === "queued")
    return { status: "working", message: `waits for its device until ${String(expiresAt)}`, updatedAt };
  if (state === "running") return { status: "working", message: "the device runs the call", updatedAt };
  if (outcome === "cancelled") return { status: "cancelled", message: detail ?? "cancelled", updatedAt };
  const result = await resultOf(view, trace);
  return { status: "completed", message: outcome ?? "", updatedAt, result };
}

/** A failed call is a result too [SRV-5]. */
async function resultOf(view: AgentView, trace: CallTrace): Promise<CallToolResult> {
  const { callId, device, tool, outcome, detail, queuedMs, durationMs, answer: kept } = trace;
  const meta = { "tendon/call": { callId, device, tool, queuedMs, durationMs } };
  if (outcome !== "ok" && outcome !== "tool_error") {
    const text = `${String(outcome)}: ${detail ?? "the call did not succeed"}`;
    const failure = { "tendon/error": { code: outcome } };
    return { content: [{ type: "text", text }], isError: true, _meta: { ...meta, ...failure } };
  }
  const content = await Promise.all((kept?.content ?? [gone]).map((part) => shownPart(view, trace, part)));
  const result = {
    content: content as CallToolResult["content"],
    ...(outcome === "ok" ? {} : { isError: true }),
    ...(kept?.structuredContent === undefined ? {} : { structuredContent: kept.structuredContent }),
    _meta: meta,
  };
  // Safe: a finished result stays one.
  return withVisiblePictures(result) as CallToolResult;
}

const gone = { type: "text", text: "(The gateway no longer has the answer.)" };

/** The history keeps the size of a picture only; the photo itself is stored beside it. */
async function shownPart(
  view: AgentView,
  { device, callId }: CallTrace,
  part: JsonObject,
): Promise<JsonObject> {
  const { type, data } = part;
  if ((type !== "image" && type !== "audio") || data !== undefined) return part;
  const photo = type === "image" ? await view.services.photos.ofCall(device, callId) : undefined;
  return photo === undefined ? { type: "text", text: `(${type})` } : { type, ...photo };
}

async function jobState(view: AgentView, task: TaskReference): Promise<TaskState> {
  const progress = await view.services.fanOut.progress(view.principal, task.id);
  const { state, total, done, queued } = progress;
  const updatedAt = isoTime(state === "running" ? task.createdAt : view.clock.now());
  const message = `${done} of ${total} calls have ended, ${queued} wait for their devices`;
  if (state === "running") return { status: "working", message, updatedAt };
  if (done >= total) return { status: "completed", message, updatedAt, result: answer({ ...progress }) };
  const lost = `the gateway stopped while the job ran; it knows the results of ${done} of ${total} calls`;
  return { status: "failed", message: lost, updatedAt, error: { code: internalError, message: lost } };
}

async function keptState(view: AgentView, task: TaskReference): Promise<TaskState | undefined> {
  const { tasks, principal } = view;
  const call = tasks.background.kept(principal.id, task.id);
  if (call === undefined) return undefined;
  const { end, endedAt = task.createdAt, cancellation } = call;
  const updatedAt = isoTime(endedAt);
  if (cancellation.aborted) return { status: "cancelled", message: "the caller cancelled it", updatedAt };
  if (end === undefined) return { status: "working", message: "the call runs", updatedAt };
  if ("work" in end) return await readTask(view, tasks.ids.create(principal.id, end.work, task.createdAt));
  if ("result" in end) return { status: "completed", message: "", updatedAt, result: end.result };
  const { error } = end;
  if (!(error instanceof ProtocolError)) view.reportFault(error);
  const failure =
    error instanceof ProtocolError
      ? { code: error.code, message: error.message }
      : { code: internalError, message: "the call failed" };
  return { status: "failed", message: failure.message, updatedAt, error: failure };
}
