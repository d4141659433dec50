/** The console's REST client: session cookie, the console's header on every request, and problem documents as errors. */
import { consoleHeader, type Problem } from "@tendon/protocol";

/** A failed request, with its problem document. */
export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ApiError";
    this.problem = problem;
  }

  get code(): string {
    return this.problem.code;
  }
}

const unreachable: Problem = {
  type: "urn:tendon:console:unreachable",
  title: "",
  status: 0,
  code: "unreachable",
  detail: "",
  retryable: true,
};

const signedOutListeners = new Set<() => void>();

/** Called when the gateway no longer knows the session. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

export function apiHeaders(mark = "1"): Record<string, string> {
  return { [consoleHeader]: mark, accept: "application/json" };
}

/** The error of a request that the user cancelled. */
export function cancelledError(): ApiError {
  return new ApiError({ ...unreachable, code: "cancelled" });
}

export interface Send {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  /** A file to send as the body. */
  readonly file?: Blob;
  readonly signal?: AbortSignal | undefined;
  /** The value of the console's header: the page's id of this request, or `automatic`. */
  readonly mark?: string | undefined;
}

export async function api<Body>(
  path: string,
  { method = "GET", body, file, signal, mark }: Send = {},
): Promise<Body> {
  const kind = file === undefined ? "application/json" : "application/octet-stream";
  const sent = file ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`/api/v1${path}`, {
    method,
    headers: { ...apiHeaders(mark), ...(sent === undefined ? {} : { "content-type": kind }) },
    ...(sent === undefined ? {} : { body: sent }),
    ...(signal === undefined ? {} : { signal }),
    credentials: "same-origin",
    cache: "no-store",
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError(unreachable);
  });
  if (response.status === 204) return undefined as Body;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as Body;
  if (response.status === 401 && path !== "/session") for (const listener of signedOutListeners) listener();
  throw new ApiError(isProblem(answer) ? answer : { ...unreachable, status: response.status });
}

/** Loads a list in another format, such as CSV. */
export async function apiFile(path: string, type: string): Promise<Blob> {
  const response = await fetch(`/api/v1${path}`, {
    headers: { ...apiHeaders(), accept: type },
    credentials: "same-origin",
    cache: "no-store",
  }).catch(() => {
    throw new ApiError(unreachable);
  });
  if (response.ok) return await response.blob();
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.status === 401) for (const listener of signedOutListeners) listener();
  throw new ApiError(isProblem(answer) ? answer : { ...unreachable, status: response.status });
}

/** Loads a file that the gateway serves with the console. */
export async function fileText(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new ApiError(unreachable);
  });
  if (!response.ok) throw new ApiError({ ...unreachable, status: response.status });
  return await response.text();
}

/** device_control replies to a failure in its own format, with the same fields as a problem document. */
function isProblem(answer: unknown): answer is Problem {
  return typeof answer === "object" && answer !== null && "code" in answer && typeof answer.code === "string";
}

/** Encodes a path segment, except for characters that a path allows. */
export function inPath(text: string): string {
  return encodeURIComponent(text).replaceAll("%3A", ":");
}

type QueryValue = string | number | boolean | undefined;

/** A list repeats its name for each value. */
export function query(values: Readonly<Record<string, QueryValue | readonly string[]>>): string {
  const given = Object.entries(values)
    .flatMap(([key, value]) => [value].flat().map((each) => [key, each] as const))
    .filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0
    ? ""
    : `?${given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&")}`;
}
