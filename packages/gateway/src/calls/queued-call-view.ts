/** A queued call as clients see it, while it waits, runs and after it has ended. */
import {
  type CallTrace,
  type FleetResult,
  isObject,
  type JsonObject,
  type QueuedCalls,
} from "@tendon/protocol";
import { isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { valueWithoutSecrets } from "../secret-masking.ts";
import type { StoredQueuedCall } from "../store/store.ts";
import { callPreview } from "./call-preview.ts";
import { readDetails, readEnding } from "./queued-call-details.ts";
import type { RunningCall } from "./running-calls.ts";

export function queuedView(call: StoredQueuedCall): QueuedCalls["calls"][number] {
  const { id, device, tool, principalName, queuedAt, expiresAt, supersedeKey, job, details } = call;
  const text = JSON.stringify(readDetails(details).arguments);
  const preview = callPreview({ arguments: text, detail: undefined, unsent: true }, false);
  return {
    callId: id,
    device,
    tool,
    principal: principalName,
    state: "queued",
    askedAt: isoTime(queuedAt),
    expiresAt: isoTime(expiresAt),
    ...(supersedeKey === undefined ? {} : { supersedeKey }),
    ...(job === undefined ? {} : { job }),
    ...(preview === undefined ? {} : { preview }),
  };
}

/** `running`: the call as the node that runs it knows it. `mayRead`: whether the reader may see the answer. */
export function queuedTrace(
  call: StoredQueuedCall,
  now: number,
  running: RunningCall | undefined,
  mayRead: boolean,
): CallTrace {
  const { id, device, tool, principalName, queuedAt, expiresAt, startedAt, finishedAt } = call;
  const { arguments: args, approval } = readDetails(call.details);
  const ending = readEnding(call.ending);
  // [QUE-3] Readers see the expiry from its moment on, also before the gateway has recorded it.
  const hasExpired = call.state === "queued" && expiresAt <= now;
  const ended = hasExpired ? expiresAt : finishedAt;
  const state = hasExpired || call.state === "ended" || call.state === "finished" ? "finished" : call.state;
  const at = (ms: number | undefined, base = startedAt) =>
    ms === undefined || base === undefined ? null : isoTime(base + ms);
  const unsent = ending.sent === false || startedAt === undefined;
  const answer = mayRead ? ending.answer : undefined;
  return {
    callId: id,
    device,
    tool,
    principal: principalName,
    state,
    phase: state === "queued" ? "away" : state === "running" ? (running?.phase ?? "queue") : null,
    at: state === "finished" && ended !== undefined ? isoTime(ended) : null,
    outcome: hasExpired ? "expired" : (call.outcome ?? null),
    queuedMs: ending.queuedMs ?? 0,
    durationMs: ending.durationMs ?? running?.elapsedMs ?? 0,
    argumentDigest: "",
    askedAt: isoTime(queuedAt),
    expiresAt: isoTime(expiresAt),
    startedAt: startedAt === undefined ? null : isoTime(startedAt),
    allowedAt: at(ending.allowedMs),
    sentAt: unsent ? null : at(ending.sentMs ?? 0),
    arguments: maskedArguments(args),
    problems: ending.problems === undefined ? null : [...ending.problems],
    // Safe: masking an answer returns an answer.
    answer: answer === undefined ? null : (valueWithoutSecrets(answer) as CallTrace["answer"]),
    picture: false,
    origin: null,
    detail: ending.detail ?? (hasExpired ? "the device was not online before it expired" : null),
    approval: approval ?? null,
    late: null,
  };
}

/** The result of a queued call in its job. */
export function queuedResult(call: StoredQueuedCall, now: number): FleetResult {
  const { callId, device, state, outcome, detail, durationMs } = queuedTrace(call, now, undefined, true);
  const named = { device, callId, state, expiresAt: isoTime(call.expiresAt), durationMs };
  if (state !== "finished") return { ...named, ok: false };
  const { answer, sent } = readEnding(call.ending);
  if (answer !== undefined) {
    const { cut: _cut, content, ...result } = answer;
    return { ...named, ok: outcome === "ok", result: { ...result, content: [...content] } };
  }
  const error = {
    code: outcome ?? "internal",
    detail: detail ?? "",
    ...(sent === undefined ? {} : { sent }),
  };
  return { ...named, ok: outcome === "ok", error };
}

export function maskedArguments(args: unknown): JsonObject | null {
  // Safe: masking an object returns an object.
  return isObject(args) ? (valueWithoutSecrets(args) as JsonObject) : null;
}

export function readQueuedCursor(cursor: string): number {
  if (/^[0-9]{1,15}$/.test(cursor)) return Number(cursor);
  throw new TendonError("bad_request", "`cursor` is not valid. Use the `nextCursor` of an earlier page.");
}
