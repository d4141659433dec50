/** Requests to the REST interface of a gateway: one request, its JSON answer, or an error. */
import { AnswerLostError, errorOf, NotAGatewayError } from "./errors.ts";

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  readonly redirect: "manual";
}

/** `fetch`, or a function of one's own with the same form, for example to trust a certificate. */
type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export interface HttpSettings {
  /** The address of the gateway, such as http://127.0.0.1:8000. */
  readonly url: string;
  /** Without it only public paths can be read. */
  readonly token?: string | undefined;
  readonly fetch?: Fetch | undefined;
}

export interface RequestSettings {
  readonly query?: Query | undefined;
  /** Sent as JSON; bytes are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export class Http {
  readonly #settings: HttpSettings;
  readonly #root: string;

  constructor(settings: HttpSettings) {
    this.#settings = settings;
    this.#root = `${settings.url.replace(/\/+$/, "")}/api/v1`;
  }

  /** Any request to a path under /api/v1. Returns the JSON of the answer; `undefined` if it has no body. */
  async request<Answer>(method: string, path: string, settings: RequestSettings = {}): Promise<Answer> {
    const response = await this.open(method, path, settings);
    const text = await textOf(response);
    if (text === "") return undefined as Answer;
    try {
      return JSON.parse(text) as Answer;
    } catch {
      throw new NotAGatewayError(response.status, undefined);
    }
  }

  /** The response itself, for streams. Throws if the gateway answers with an error. */
  async open(
    method: string,
    path: string,
    { query, body, headers = {}, signal }: RequestSettings = {},
  ): Promise<Response> {
    const { token, fetch = globalThis.fetch } = this.#settings;
    const bytes = body instanceof Uint8Array;
    const response = await fetch(`${this.#root}${path}${queryText(query)}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined
          ? {}
          : { "content-type": bytes ? "application/octet-stream" : "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: bytes ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      redirect: "manual",
    });
    if (!response.ok) throw errorOf(response, await textOf(response));
    return response;
  }
}

async function textOf(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw new AnswerLostError(error);
  }
}

function queryText(query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
  return given.size === 0 ? "" : `?${given}`;
}
