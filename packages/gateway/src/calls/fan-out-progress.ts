/** The progress of a job, short enough for an agent's context even for a large fleet. */
import { cleanLine, type FleetResult, type Job } from "@tendon/protocol";

export interface JobProgress {
  readonly job: string;
  readonly state: "running" | "done";
  readonly total: number;
  readonly done: number;
  readonly ok: number;
  readonly failed: number;
  /** Calls that wait for their device. */
  readonly queued: number;
  /** The number of failures by error code; `tool_error` for results with `isError`. */
  readonly failedBy: { readonly [code: string]: number };
  /** The first 20 failures; REST returns all of them. */
  readonly failures: readonly { readonly device: string; readonly code: string; readonly detail: string }[];
}

const shownFailures = 20;
const detailLength = 160;

export function progressOf({
  id: job,
  state,
  total,
  results,
  ok,
  failed: failures,
  queued,
}: Job): JobProgress {
  const failed = results.filter((result) => !result.ok && (result.state ?? "finished") === "finished");
  const failedBy: { [code: string]: number } = {};
  for (const result of failed) {
    const code = codeOf(result);
    failedBy[code] = (failedBy[code] ?? 0) + 1;
  }
  const shown = failed.slice(0, shownFailures).map((result) => ({
    device: result.device,
    code: codeOf(result),
    detail: cleanLine(detailOf(result), detailLength),
  }));
  return {
    job,
    state,
    total,
    done: ok + failures,
    ok,
    failed: failures,
    queued,
    failedBy,
    failures: shown,
  };
}

function codeOf({ error }: FleetResult): string {
  return error?.code ?? "tool_error";
}

function detailOf({ error, result }: FleetResult): string {
  if (error !== undefined) return error.detail;
  const text = result?.content.find(({ type }) => type === "text")?.["text"];
  return typeof text === "string" ? text.slice(0, detailLength * 4) : "";
}
