/** REST as the commands use it: one request, its JSON, or an error in a sentence. */
import type { Problem } from "@tendon/protocol";
import { OperationError } from "./errors.ts";
import { fetchFrom, type GatewayFetch, type GatewayRequest } from "./gateway-fetch.ts";
import { whyNoAnswer } from "./no-answer.ts";
import { plain, plainLines } from "./output.ts";
import { requireLiving, type Target } from "./target.ts";

export class GatewayClient {
  readonly target: Target;
  readonly #send: GatewayFetch;

  constructor(target: Target) {
    this.target = target;
    this.#send = fetchFrom(target);
  }

  get<Body>(path: string): Promise<Body> {
    return this.#request("GET", path, undefined);
  }

  post<Body>(path: string, body: unknown): Promise<Body> {
    return this.#request("POST", path, body);
  }

  patch<Body>(path: string, body: unknown): Promise<Body> {
    return this.#request("PATCH", path, body);
  }

  /** A file as the body. */
  async upload<Body>(path: string, body: Uint8Array): Promise<Body> {
    const headers = { ...this.#headers(), "content-type": "application/octet-stream" };
    const response = await this.#fetch(path, { method: "POST", headers, body });
    return (await this.#read(response, "POST", path)) as Body;
  }

  async remove(path: string): Promise<void> {
    const response = await this.#fetch(path, { method: "DELETE", headers: this.#headers() });
    if (!response.ok) throw this.#failure(response, await this.#text(response, "DELETE", path));
  }

  /** An open stream, such as the events; the caller reads the body. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(path, { headers: { ...this.#headers(), ...headers }, signal });
    if (!response.ok) throw this.#failure(response, await this.#text(response, "GET", path));
    return response;
  }

  async #request<Body>(method: string, path: string, body: unknown): Promise<Body> {
    const response = await this.#fetch(path, {
      method,
      headers: { ...this.#headers(), ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await this.#read(response, method, path)) as Body;
  }

  async #read(response: Response, method: string, path: string): Promise<unknown> {
    const text = await this.#text(response, method, path);
    if (!response.ok) throw this.#failure(response, text);
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new OperationError(`What listens at ${this.target.url} is no gateway: its answer is no JSON.`);
    }
  }

  async #text(response: Response, method: string, path: string): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw await whyNoAnswer(this.target, { method, path, error, begun: true });
    }
  }

  #headers(): Record<string, string> {
    return this.target.token === undefined ? {} : { authorization: `Bearer ${this.target.token}` };
  }

  async #fetch(path: string, request: GatewayRequest): Promise<Response> {
    requireLiving(this.target);
    try {
      return await this.#send(`${this.target.url}/api/v1${path}`, request);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      throw await whyNoAnswer(this.target, { method: request.method ?? "GET", path, error, begun: false });
    }
  }

  #failure(response: Response, text: string): OperationError {
    const error = failure(response, text);
    if (response.status !== 401 || this.target.token !== undefined) return error;
    const hint = this.target.own
      ? "Say --token or TENDON_TOKEN."
      : "Say --token or TENDON_TOKEN: a data folder's own token is for the gateway of that folder alone.";
    return new OperationError(`${error.message} ${hint}`, error.problem);
  }
}

function failure(response: Response, text: string): OperationError {
  let problem: Partial<Problem> & { known?: unknown } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // Something else than a gateway answered; its status is all there is to tell.
  }
  if (problem.code === undefined) {
    const elsewhere = response.headers.get("location");
    // Not followed: the token is for the address it was given with.
    const hint =
      elsewhere === null ? "" : ` It points to ${plain(elsewhere)}: say that with --url, if you trust it.`;
    return new OperationError(`The gateway answered ${response.status}.${hint}`);
  }
  const details = (problem.errors ?? []).slice(1).map(({ path, message }) => `\n  ${path} ${message}`);
  const known = Array.isArray(problem.known) ? `; there are: ${problem.known.join(", ")}` : "";
  // Names and messages of devices are in it: nothing of theirs steers the terminal.
  const message = plainLines(
    `${problem.code}: ${problem.detail ?? problem.title}${known}${details.join("")}`,
  );
  return new OperationError(message, problem);
}
