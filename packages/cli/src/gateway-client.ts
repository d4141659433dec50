/** The REST client of the commands: one request, its JSON reply, or an error with a readable message. */
import type { Problem } from "@tendon/protocol";
import { explainNoAnswer } from "./connection-failure.ts";
import { OperationError } from "./errors.ts";
import { fetchFrom, type GatewayFetch, type GatewayRequest } from "./gateway-fetch.ts";
import { plain, plainLines } from "./output.ts";
import { requireRunning, type Target } from "./target.ts";

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

  /** Sends a file as the body. */
  async upload<Body>(path: string, body: Uint8Array): Promise<Body> {
    const headers = { ...this.#headers(), "content-type": "application/octet-stream" };
    const response = await this.#fetch(path, { method: "POST", headers, body });
    return (await this.#read(response, "POST", path)) as Body;
  }

  async remove(path: string): Promise<void> {
    const response = await this.#fetch(path, { method: "DELETE", headers: this.#headers() });
    if (!response.ok) throw this.#failure(response, await this.#text(response, "DELETE", path));
  }

  /** Opens a stream, such as the events. The caller reads the body. */
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
      throw new OperationError(
        `The server at ${this.target.url} is not a Tendon gateway: its reply is not JSON.`,
      );
    }
  }

  async #text(response: Response, method: string, path: string): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw await explainNoAnswer(this.target, { method, path, error, begun: true });
    }
  }

  #headers(): Record<string, string> {
    return this.target.token === undefined ? {} : { authorization: `Bearer ${this.target.token}` };
  }

  async #fetch(path: string, request: GatewayRequest): Promise<Response> {
    requireRunning(this.target);
    try {
      return await this.#send(`${this.target.url}/api/v1${path}`, request);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      throw await explainNoAnswer(this.target, {
        method: request.method ?? "GET",
        path,
        error,
        begun: false,
      });
    }
  }

  #failure(response: Response, text: string): OperationError {
    const error = failure(response, text);
    if (response.status !== 401 || this.target.token !== undefined) return error;
    const hint = this.target.own
      ? "Pass a token with --token or TENDON_TOKEN."
      : "Pass a token with --token or TENDON_TOKEN. The token in a data folder is only sent to that folder's gateway.";
    return new OperationError(`${error.message} ${hint}`, error.problem);
  }
}

function failure(response: Response, text: string): OperationError {
  let problem: Partial<Problem> & { known?: unknown } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // The reply did not come from a gateway: only its status is known.
  }
  if (problem.code === undefined) {
    const location = response.headers.get("location");
    // Redirects are not followed, so that the token is only sent to the address it was given for.
    const hint =
      location === null
        ? ""
        : ` It redirects to ${plain(location)}. If you trust that address, pass it with --url.`;
    return new OperationError(`The server replied with HTTP status ${response.status}.${hint}`);
  }
  const details = (problem.errors ?? []).slice(1).map(({ path, message }) => `\n  ${path} ${message}`);
  const known = Array.isArray(problem.known) ? `; available: ${problem.known.join(", ")}` : "";
  // The message may contain text from devices: remove control characters before it reaches the terminal.
  const message = plainLines(
    `${problem.code}: ${problem.detail ?? problem.title}${known}${details.join("")}`,
  );
  return new OperationError(message, problem);
}
