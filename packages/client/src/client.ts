/**
 * The gateway's REST interface with types. The types are those of `@tendon/protocol`, from which the gateway's OpenAPI
 * description is made; a test compares every method with that description.
 */
import type {
  ApprovalList,
  ApprovalQuery,
  ApprovalView,
  AuditList,
  AuditQuery,
  CallHistory,
  CallQuery,
  CallReply,
  CallTrace,
  DeliveryList,
  DeliveryQuery,
  DeviceChange,
  DeviceDetail,
  DeviceList,
  DeviceQuery,
  EndpointList,
  FleetReply,
  FleetTarget,
  GatewayEvent,
  HttpDeviceRequest,
  ImportList,
  ImportQuery,
  Job,
  JsonObject,
  NewWebhook,
  QueuedCalls,
  QueuedReply,
  ReplayResult,
  ToolList,
  WebhookChange,
  WebhookList,
  WebhookRequest,
  WebhookTestResult,
  WebhookView,
} from "@tendon/protocol";
import { type EventSettings, readEvents } from "./events.ts";
import { Http, type HttpSettings, type Query, type RequestSettings } from "./http.ts";
import { pause } from "./pause.ts";

export interface CallSettings {
  /** How long the gateway waits for the device, in ms. */
  readonly timeoutMs?: number | undefined;
  /** A repeat with the same key gets the first answer, and nothing runs again. */
  readonly idempotencyKey?: string | undefined;
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined;
  /** A call to a device that is offline fails with `device_offline`. */
  readonly whenOffline?: "fail" | undefined;
}

/** For a call that may wait until its device is online. A device that is online is called at once. */
export interface QueueSettings extends Omit<CallSettings, "whenOffline"> {
  readonly whenOffline: "queue";
  /** How long the call may wait, in ms: 24 hours by default, 30 days at most. */
  readonly expiresInMs?: number | undefined;
  /** A newer queued call with the same key, device and tool, by the same token, replaces this one. */
  readonly supersedeKey?: string | undefined;
}

/** A query whose fields may also be `undefined`. */
type Given<Query> = { readonly [Key in keyof Query]?: Query[Key] | undefined };

type QueuedQuery = Pick<CallQuery, "device" | "tool" | "principal" | "limit" | "cursor">;

interface Signal {
  readonly signal?: AbortSignal | undefined;
}

const jobPollMs = 500;

export class TendonClient {
  readonly #http: Http;

  constructor(settings: HttpSettings) {
    this.#http = new Http(settings);
  }

  /** Any request to a path under /api/v1, for what has no method of its own. */
  request<Answer>(method: string, path: string, settings?: RequestSettings): Promise<Answer> {
    return this.#http.request<Answer>(method, path, settings);
  }

  /** The response itself, for streams and exports. */
  open(method: string, path: string, settings?: RequestSettings): Promise<Response> {
    return this.#http.open(method, path, settings);
  }

  readonly devices = {
    list: (query: Given<DeviceQuery> = {}) => this.#get<DeviceList>("/devices", query),
    get: (device: string) => this.#get<DeviceDetail>(`/devices/${encodeURIComponent(device)}`),
    change: (device: string, change: Given<DeviceChange>) =>
      this.request<DeviceDetail>("PATCH", `/devices/${encodeURIComponent(device)}`, { body: change }),
    /** `history` also deletes the device's calls, events and photos. */
    delete: (device: string, { history }: { readonly history?: boolean | undefined } = {}) =>
      this.request<void>("DELETE", `/devices/${encodeURIComponent(device)}`, { query: { history } }),
    /** Adds an MCP server over Streamable HTTP as a device. Its headers are never returned. */
    addHttp: (server: Given<HttpDeviceRequest> & Pick<HttpDeviceRequest, "alias" | "url">) =>
      this.request<DeviceDetail>("POST", "/devices/http", { body: server }),
    tools: (device: string, query: { readonly user?: boolean | undefined } = {}) =>
      this.#get<ToolList>(`/devices/${encodeURIComponent(device)}/tools`, query),
  };

  /** The imported devices, which may connect without approval. */
  readonly imports = {
    list: (query: Given<ImportQuery> = {}) => this.#get<ImportList>("/imports", query),
    /** Takes a device off the list. A device that has credentials keeps them. */
    delete: (device: string) => this.request<void>("DELETE", `/imports/${encodeURIComponent(device)}`),
  };

  readonly calls = {
    list: (query: Given<Omit<CallQuery, "state">> = {}) => this.#get<CallHistory>("/calls", query),
    /** The calls that wait for their device, oldest first. */
    queued: (query: Given<QueuedQuery> = {}) =>
      this.#get<QueuedCalls>("/calls", { ...query, state: "queued" }),
    get: (callId: string) => this.#get<CallTrace>(`/calls/${encodeURIComponent(callId)}`),
    /** Cancels a queued call. One that runs or has ended is a `conflict`. */
    cancel: (callId: string) => this.request<CallTrace>("DELETE", `/calls/${encodeURIComponent(callId)}`),
  };

  readonly approvals = {
    list: (query: Given<ApprovalQuery> = {}) => this.#get<ApprovalList>("/approvals", query),
    get: (id: string) => this.#get<ApprovalView>(`/approvals/${encodeURIComponent(id)}`),
    approve: (id: string) =>
      this.request<ApprovalView>("POST", `/approvals/${encodeURIComponent(id)}/approve`),
    deny: (id: string) => this.request<ApprovalView>("POST", `/approvals/${encodeURIComponent(id)}/deny`),
  };

  readonly jobs = {
    get: (id: string) => this.#get<Job>(`/jobs/${encodeURIComponent(id)}`),
    /** Resolves when all devices of the job have their result. */
    wait: (id: string, settings: Signal = {}) => this.#awaitJob(id, settings),
  };

  readonly audit = {
    list: (query: Given<AuditQuery> = {}) => this.#get<AuditList>("/audit", query),
  };

  readonly endpoints = {
    /** The MCP endpoints of voice agents. Addresses are never shown. */
    list: () => this.#get<EndpointList>("/endpoints"),
  };

  readonly webhooks = {
    list: () => this.#get<WebhookList>("/webhooks"),
    get: (id: string) => this.#get<WebhookView>(webhookPath(id)),
    /** Only this answer has the secret. */
    create: (webhook: Given<WebhookRequest> & Pick<WebhookRequest, "url">) =>
      this.request<NewWebhook>("POST", "/webhooks", { body: webhook }),
    change: (id: string, change: Given<WebhookChange>) =>
      this.request<WebhookView>("PATCH", webhookPath(id), { body: change }),
    delete: (id: string) => this.request<void>("DELETE", webhookPath(id)),
    /** Sends a `webhook.test` now. */
    test: (id: string) => this.request<WebhookTestResult>("POST", webhookPath(id, "/test")),
    /** For 24 hours, the old secret signs too. */
    rotate: (id: string) => this.request<NewWebhook>("POST", webhookPath(id, "/rotate")),
    deliveries: (id: string, query: Given<DeliveryQuery> = {}) =>
      this.#get<DeliveryList>(webhookPath(id, "/deliveries"), query),
    /** Delivers the events since this time (ISO 8601) again. */
    replay: (id: string, since: string) =>
      this.request<ReplayResult>("POST", webhookPath(id, "/replay"), { body: { since } }),
  };

  /**
   * Calls a tool and waits for its result. An error that the tool itself reports is a result with `isError: true`. With
   * `whenOffline: "queue"`, the reply for a device that is offline is a `QueuedReply`; see `isQueued`.
   */
  call(device: string, tool: string, args?: JsonObject, settings?: CallSettings): Promise<CallReply>;
  call(
    device: string,
    tool: string,
    args: JsonObject,
    settings: CallSettings | QueueSettings,
  ): Promise<CallReply | QueuedReply>;
  call(
    device: string,
    tool: string,
    args: JsonObject = {},
    settings: CallSettings | QueueSettings = {},
  ): Promise<CallReply | QueuedReply> {
    const path = `/devices/${encodeURIComponent(device)}/tools/${encodeURIComponent(tool)}/call`;
    return this.#call(path, { arguments: args, ...bodyOf(settings) }, settings);
  }

  /**
   * Calls one tool on many devices. A call to more than 500 devices becomes a job; with `whenOffline: "queue"` also one
   * of which any device is offline.
   */
  callMany(
    target: FleetTarget,
    tool: string,
    args: JsonObject = {},
    settings: CallSettings | QueueSettings = {},
  ): Promise<FleetReply | { readonly job: string }> {
    return this.#call("/calls", { target, tool, arguments: args, ...bodyOf(settings) }, settings);
  }

  /** The events from now on, or after one that was seen before. Reconnects and resumes by itself. */
  events(settings: EventSettings = {}): AsyncGenerator<GatewayEvent> {
    return readEvents(this.#http, settings);
  }

  #get<Answer>(path: string, query?: object): Promise<Answer> {
    return this.request<Answer>("GET", path, { query: query as Query | undefined });
  }

  #call<Answer>(
    path: string,
    body: object,
    { idempotencyKey, signal }: CallSettings | QueueSettings,
  ): Promise<Answer> {
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    return this.request<Answer>("POST", path, { body, headers, signal });
  }

  async #awaitJob(id: string, { signal }: Signal): Promise<Job> {
    for (;;) {
      const job = await this.jobs.get(id);
      if (job.state !== "running") return job;
      await pause(jobPollMs, signal);
      signal?.throwIfAborted();
    }
  }
}

/** Whether the call waits until its device is online. */
export function isQueued(reply: CallReply | QueuedReply): reply is QueuedReply {
  return "state" in reply;
}

function bodyOf(settings: CallSettings | QueueSettings): object {
  const { idempotencyKey: _key, signal: _signal, ...body } = settings;
  return body;
}

function webhookPath(id: string, rest = ""): string {
  return `/webhooks/${encodeURIComponent(id)}${rest}`;
}
