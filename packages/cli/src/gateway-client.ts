/** The client of the commands: the typed client, with errors that name what to do. */
import {
  AnswerLostError,
  type EventSettings,
  NotAGatewayError,
  type RequestSettings,
  TendonApiError,
  TendonClient,
} from "@tendon/client";
import type { GatewayEvent } from "@tendon/protocol";
import { explainNoAnswer } from "./connection-failure.ts";
import { OperationError } from "./errors.ts";
import { fetchFrom } from "./gateway-fetch.ts";
import { plain, plainLines } from "./output.ts";
import { requireRunning, type Target } from "./target.ts";

export class GatewayClient extends TendonClient {
  readonly target: Target;

  constructor(target: Target) {
    const send = fetchFrom(target);
    super({
      url: target.url,
      token: target.token,
      fetch: async (url, { redirect: _, ...init }) => {
        // For every request, so that another program at the address of a gateway that has ended gets no token.
        requireRunning(target);
        return (await send(url, init)) as Response;
      },
    });
    this.target = target;
  }

  get<Body>(path: string): Promise<Body> {
    return this.request<Body>("GET", path);
  }

  post<Body>(path: string, body: unknown): Promise<Body> {
    return this.request<Body>("POST", path, { body });
  }

  patch<Body>(path: string, body: unknown): Promise<Body> {
    return this.request<Body>("PATCH", path, { body });
  }

  /** Sends a file as the body. */
  upload<Body>(path: string, body: Uint8Array): Promise<Body> {
    return this.request<Body>("POST", path, { body });
  }

  remove(path: string): Promise<void> {
    return this.request<void>("DELETE", path);
  }

  override async request<Answer>(
    method: string,
    path: string,
    settings: RequestSettings = {},
  ): Promise<Answer> {
    return await this.#explained(method, path, settings, () => super.request<Answer>(method, path, settings));
  }

  override async open(method: string, path: string, settings: RequestSettings = {}): Promise<Response> {
    return await this.#explained(method, path, settings, () => super.open(method, path, settings));
  }

  override async *events(settings: EventSettings = {}): AsyncGenerator<GatewayEvent> {
    try {
      yield* super.events(settings);
    } catch (error) {
      throw await this.#explain("GET", "/events", error);
    }
  }

  async #explained<Answer>(
    method: string,
    path: string,
    { signal }: RequestSettings,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      throw signal?.aborted === true ? error : await this.#explain(method, path, error);
    }
  }

  async #explain(method: string, path: string, error: unknown): Promise<unknown> {
    if (error instanceof OperationError) return error;
    if (error instanceof TendonApiError) return this.#refused(error);
    if (error instanceof NotAGatewayError) return this.#notAGateway(error);
    const begun = error instanceof AnswerLostError;
    return await explainNoAnswer(this.target, { method, path, error: begun ? error.cause : error, begun });
  }

  #refused({ problem, status }: TendonApiError): OperationError {
    const message = messageOf(problem);
    if ((status === 401 || problem.code === "forbidden") && this.target.tokenFromEnvironment === true) {
      const instead = this.target.own ? "; unset it to use the data folder's" : "";
      return new OperationError(`${message} (the token is that of TENDON_TOKEN${instead})`, problem);
    }
    if (status !== 401 || this.target.token !== undefined) return new OperationError(message, problem);
    const hint = this.target.own
      ? "Pass a token with --token or TENDON_TOKEN."
      : "Pass a token with --token or TENDON_TOKEN. The token in a data folder is only sent to that folder's gateway.";
    return new OperationError(`${message} ${hint}`, problem);
  }

  #notAGateway({ status, location }: NotAGatewayError): OperationError {
    if (status >= 200 && status < 300)
      return new OperationError(
        `The server at ${this.target.url} is not a Tendon gateway: its reply is not JSON.`,
      );
    const hint =
      location === undefined
        ? ""
        : ` It redirects to ${plain(location)}. If you trust that address, pass it with --url.`;
    return new OperationError(`The server replied with HTTP status ${status}.${hint}`);
  }
}

/** The message may contain text from devices: control characters are removed before it reaches the terminal. */
function messageOf({ code, detail, errors = [], ...more }: TendonApiError["problem"]): string {
  const details = errors.slice(1).map(({ path, message }) => `\n  ${path} ${message}`);
  const { known } = more as { readonly known?: unknown };
  const available = Array.isArray(known) ? `; available: ${known.join(", ")}` : "";
  return plainLines(`${code}: ${detail}${available}${details.join("")}`);
}
