/** REST as the commands use it: one request, its JSON, or an error in a sentence. */
import type { Problem } from "@tendon/protocol";
import { NoGateway, OperationError } from "./errors.ts";
import { distrust, fetchFrom, type GatewayFetch, type GatewayRequest, wrongScheme } from "./gateway-fetch.ts";
import { plainLines } from "./output.ts";
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
    if (!response.ok) throw await this.#failure(response);
    return (await response.json()) as Body;
  }

  async remove(path: string): Promise<void> {
    const response = await this.#fetch(path, { method: "DELETE", headers: this.#headers() });
    if (!response.ok) throw await this.#failure(response);
  }

  /** An open stream, such as the events; the caller reads the body. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(path, { headers: { ...this.#headers(), ...headers }, signal });
    if (!response.ok) throw await this.#failure(response);
    return response;
  }

  async #request<Body>(method: string, path: string, body: unknown): Promise<Body> {
    const response = await this.#fetch(path, {
      method,
      headers: { ...this.#headers(), ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw await this.#failure(response);
    return (await response.json()) as Body;
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
      const why = distrust(error);
      if (why !== undefined) {
        throw new OperationError(
          `The certificate of ${this.target.url} is not trusted (${why}). Name the authority that signed it with ` +
            "NODE_EXTRA_CA_CERTS=FILE, or on the gateway's own machine its data folder with --data.",
        );
      }
      const other = wrongScheme(this.target.url, error);
      if (other !== undefined) throw new NoGateway(other);
      throw new NoGateway(
        `No gateway answers at ${this.target.url}. Start one with \`tendon serve\`, or name another with --url.`,
      );
    }
  }

  async #failure(response: Response): Promise<OperationError> {
    const error = await failure(response);
    if (response.status !== 401 || this.target.token !== undefined) return error;
    const hint = this.target.own
      ? "Say --token or TENDON_TOKEN."
      : "Say --token or TENDON_TOKEN: a data folder's own token is for the gateway of that folder alone.";
    return new OperationError(`${error.message} ${hint}`, error.problem);
  }
}

async function failure(response: Response): Promise<OperationError> {
  const text = await response.text();
  let problem: Partial<Problem> & { known?: unknown } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // Something else than a gateway answered; its status is all there is to tell.
  }
  if (problem.code === undefined) return new OperationError(`The gateway answered ${response.status}.`);
  const details = (problem.errors ?? []).slice(1).map(({ path, message }) => `\n  ${path} ${message}`);
  const known = Array.isArray(problem.known) ? `; there are: ${problem.known.join(", ")}` : "";
  // Names and messages of devices are in it: nothing of theirs steers the terminal.
  const message = plainLines(
    `${problem.code}: ${problem.detail ?? problem.title}${known}${details.join("")}`,
  );
  return new OperationError(message, problem);
}
