/**
 * Apps over MQTT [APP-1…6]. Apps publish requests on topics, and get the replies on the topic's `/reply`, each token its
 * own only. The gateway publishes presence as retained messages, and device notifications.
 */
import {
  type ControlResponse,
  decodeControl,
  decodeQueueOptions,
  type GatewayEvent,
  isObject,
  type JsonObject,
  limits,
  parseJson,
} from "@tendon/protocol";
import { hasScope, type Principal } from "../../access/access.ts";
import { queuedCallDetails, queuedResult, queueRequestOf } from "../../calls/calls.ts";
import { isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Events } from "../../events/events.ts";
import { problemOf } from "../../problem-document.ts";
import type { StoredQueuedCall } from "../../store/store.ts";
import type { Services } from "../services.ts";

/** An app's connection to the broker. */
export interface AppLink {
  /** Delivers to this connection, if it has subscribed to the topic. */
  deliver(topic: string, payload: string, correlationData?: Buffer): void;
  close(): void;
}

export interface TopicsDependencies {
  readonly services: Services;
  readonly events: Events;
  readonly onRevoked: (listener: (tokenId: string) => void) => () => void;
  /** Whether the principal's token is still valid. */
  readonly isValid: (principal: Principal) => boolean;
  /** Counts a request against the rate limit; throws `rate_limited`. */
  readonly spend: (principal: Principal) => void;
  /** Publishes to every app that may see the topic. */
  readonly publish: (topic: string, payload: string) => void;
  readonly reportFault: (error: unknown) => void;
}

interface Status {
  readonly state: "online" | "offline";
  readonly at: string;
  readonly reason: unknown;
}

type Request = {
  readonly kind: "control" | "call";
  readonly device: string | undefined;
  readonly replyTo: string;
  readonly correlationData?: Buffer | undefined;
  readonly expiresInMs?: number | undefined;
};

/** The properties of MQTT 5 that a request may have [APP-8]. */
interface RequestProperties {
  readonly responseTopic?: string | undefined;
  readonly correlationData?: Buffer | undefined;
  /** The message expiry. It is that of the call too, if the call is queued. */
  readonly expiresInMs?: number | undefined;
}

const origin = { via: "mqtt" as const };
const shortMessageBytes = 4_096;
const maxTopicBytes = 65_535;
const shortestExpiryMs = 1_000;
const longestExpiryMs = 30 * 86_400_000;
const deviceRequest = /^tendon\/devices\/([^/\p{Cc}]+)\/(control|call)$/u;
/** A filter that matches the status topic of one device, or of all. */
const statusFilter = /^tendon\/(?:#|(?:devices|\+)\/(?:#|(?<device>[^/]+)\/(?:#|(?:status|\+)(?:\/#)?)))$/;
/** Exact, because devices choose the last part of event topics. */
const replyTopic = /^tendon\/(?:control|devices\/[^/]+\/(?:control|call))\/reply$/;
/** Topics that apps choose for replies. The gateway publishes nothing else there. */
const chosenReplyTopic = /^tendon\/reply\/[^+#\p{Cc}]+$/u;

export class MqttTopics {
  readonly #dependencies: TopicsDependencies;
  readonly #apps = new Map<string, Set<AppLink>>();
  readonly #unsubscribe: () => void;

  constructor(dependencies: TopicsDependencies) {
    this.#dependencies = dependencies;
    const unsubscribeEvents = dependencies.events.subscribe((event) => this.#publishEvent(event));
    const unsubscribeRevoked = dependencies.onRevoked((tokenId) => {
      for (const link of [...(this.#apps.get(tokenId) ?? [])]) link.close();
    });
    this.#unsubscribe = () => {
      unsubscribeEvents();
      unsubscribeRevoked();
    };
  }

  /** Whether an app with this principal may receive the topic. Replies are delivered only to the token that asked, so they always may. */
  maySee(principal: Principal, topic: string): boolean {
    if (replyTopic.test(topic) || chosenReplyTopic.test(topic)) return true;
    const device = /^tendon\/devices\/([^/]+)\//.exec(topic)?.[1];
    if (device === undefined || !hasScope(principal, "read")) return false;
    return this.#dependencies.services.fleet.visible(principal, device);
  }

  /** [APP-5] The current status of every device that these filters match, also right after a start. */
  *retained(filters: readonly string[]): Iterable<{ readonly topic: string; readonly payload: string }> {
    for (const id of this.#devicesIn(filters)) {
      const status = this.#statusOf(id);
      if (status !== undefined) yield { topic: statusTopic(id), payload: JSON.stringify(status) };
    }
  }

  connected(principal: Principal, link: AppLink): () => void {
    if (!this.#dependencies.isValid(principal)) {
      // The token was revoked during the sign-in.
      link.close();
      return () => undefined;
    }
    const links = this.#apps.get(principal.id) ?? new Set();
    this.#apps.set(principal.id, links.add(link));
    return () => {
      links.delete(link);
      if (links.size === 0) this.#apps.delete(principal.id);
    };
  }

  published(principal: Principal, topic: string, payload: Buffer, properties: RequestProperties = {}): void {
    const request = readTopic(topic);
    // Messages on other topics are accepted and dropped.
    if (request === undefined) return;
    const { responseTopic, correlationData, expiresInMs } = properties;
    const replyTo = responseTopic ?? request.replyTo;
    const reply = (to: string, answer: JsonObject) => {
      const text = JSON.stringify(answer);
      for (const link of this.#apps.get(principal.id) ?? []) link.deliver(to, text, correlationData);
    };
    if (replyTopic.test(replyTo) || chosenReplyTopic.test(replyTo))
      void this.#answerAlways(principal, { ...request, replyTo, correlationData, expiresInMs }, payload).then(
        (answer) => reply(replyTo, answer),
      );
    else {
      const detail = "the response topic must begin with `tendon/reply/`, or be the usual topic of replies";
      reply(request.replyTo, this.#refuse(request, undefined, new TendonError("bad_request", detail)));
    }
  }

  /** Why a message on this topic has no effect; `undefined` for topics of requests. */
  rejection(topic: string): string | undefined {
    return readTopic(topic) === undefined
      ? "apps publish on tendon/control, tendon/devices/{device}/control and tendon/devices/{device}/call"
      : undefined;
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** Replies with `internal` on unexpected errors, so that the app does not wait for its timeout. */
  async #answerAlways(principal: Principal, request: Request, payload: Buffer): Promise<JsonObject> {
    try {
      return await this.#answer(principal, request, payload);
    } catch (error) {
      this.#dependencies.reportFault(error);
      const message = parseJson(payload.toString());
      const detail = "the request failed; the gateway's log has the details";
      return this.#refuse(request, message, new TendonError("internal", detail, {}, error));
    }
  }

  #refuse({ kind }: Request, message: unknown, error: TendonError): JsonObject {
    return kind === "control"
      ? this.#dependencies.services.control.refuse(message, error)
      : failedCall(message, error);
  }

  async #answer(principal: Principal, request: Request, payload: Buffer): Promise<JsonObject> {
    if (payload.byteLength > limits.restBodyBytes.max) {
      return this.#refuse(
        request,
        undefined,
        new TendonError("payload_too_large", `a message may have ${limits.restBodyBytes.max} bytes at most`),
      );
    }
    try {
      this.#dependencies.spend(principal);
    } catch (error) {
      // Parsed only for its request_id. Parsing a long message would cost what the rate limit is to save.
      const short = payload.byteLength <= shortMessageBytes ? parseJson(payload.toString()) : undefined;
      if (error instanceof TendonError) return this.#refuse(request, short, error);
      throw error;
    }
    const message = parseJson(payload.toString());
    return request.kind === "control"
      ? await this.#control(principal, request, message)
      : await this.#call(principal, request, message);
  }

  async #control(
    principal: Principal,
    { device, replyTo, correlationData, expiresInMs }: Request,
    message: unknown,
  ): Promise<ControlResponse> {
    const { services } = this.#dependencies;
    const decoded = decodeControl(message);
    if (decoded.outcome !== "ok") {
      const why =
        decoded.outcome === "invalid" ? decoded.reason : "the message is not a device_control message";
      return services.control.refuse(message, new TendonError("bad_request", why));
    }
    const { session_id, device: named } = decoded.message;
    const target =
      device ??
      named ??
      (session_id === undefined ? undefined : await services.fleet.deviceOfSession(principal, session_id));
    if (target === undefined) {
      const detail =
        session_id === undefined
          ? "the message names no device: add `device` or `session_id`, or publish on `tendon/devices/{id}/control`"
          : "no connected device has a session with this `session_id`";
      return services.control.refuse(message, new TendonError("device_unknown", detail));
    }
    const asked = withExpiry(decoded.message, expiresInMs);
    return await services.control.run(principal, target, asked, {
      origin,
      replyTo: { topic: replyTo, correlation: correlationData?.toString("base64") },
    });
  }

  async #call(
    principal: Principal,
    { device = "", replyTo, correlationData, expiresInMs }: Request,
    message: unknown,
  ): Promise<JsonObject> {
    const request_id = requestIdOf(message);
    try {
      const { tool, args, timeoutMs, queue } = readCall(message);
      const correlation = correlationData?.toString("base64");
      const reply = { topic: replyTo, correlation, head: { request_id } };
      const { calls } = this.#dependencies.services;
      const answer = await calls.callOrQueue(principal, device, tool, args, {
        timeoutMs,
        origin,
        queue: queue === undefined ? undefined : { ...withExpiry(queue, expiresInMs), reply },
      });
      const { callId } = answer;
      if (!("expiresAt" in answer)) return { request_id, ok: true, result: answer.result, callId };
      return { request_id, ok: true, state: "queued", callId, expiresAt: answer.expiresAt };
    } catch (error) {
      if (error instanceof TendonError) return failedCall(message, error);
      throw error;
    }
  }

  #devicesIn(filters: readonly string[]): Iterable<string> {
    const devices = new Set<string>();
    for (const filter of filters) {
      const found = statusFilter.exec(filter);
      if (found === null) continue;
      const { device = "+" } = found.groups ?? {};
      if (device === "+") return this.#dependencies.services.fleet.admin.ids();
      devices.add(device);
    }
    return devices;
  }

  #statusOf(id: string): Status | undefined {
    const {
      handle,
      offlineSince,
      offlineReason = null,
    } = this.#dependencies.services.fleet.admin.find(id) ?? {};
    if (handle !== undefined) return { state: "online", at: isoTime(handle.connectedAt), reason: null };
    if (offlineSince === undefined) return undefined;
    return { state: "offline", at: isoTime(offlineSince), reason: offlineReason };
  }

  /** [APP-7] The second reply to a request whose call was queued, on whichever node the app is connected to now. */
  async #replyToQueued(callId: string): Promise<void> {
    const call = await this.#dependencies.services.queue.find(callId);
    if (call === undefined) return;
    const { reply } = queuedCallDetails(call.details);
    const links = this.#apps.get(call.principal);
    if (reply === undefined || links === undefined) return;
    const text = JSON.stringify({ ...reply.head, ...endOf(call, "type" in reply.head) });
    const { topic, correlation } = reply;
    const correlationData = correlation === undefined ? undefined : Buffer.from(correlation, "base64");
    for (const link of links) link.deliver(topic, text, correlationData);
  }

  #publishEvent({ type, device, at, data }: GatewayEvent): void {
    if (device === undefined) return;
    if (type === "call.finished" && data["queued"] === true && this.#apps.size > 0) {
      this.#replyToQueued(String(data["callId"])).catch((error: unknown) =>
        this.#dependencies.reportFault(error),
      );
      return;
    }
    if (type === "device.online" || type === "device.offline") {
      const state = type === "device.online" ? "online" : "offline";
      const status: Status = { state, at, reason: data["reason"] ?? null };
      this.#dependencies.publish(statusTopic(device), JSON.stringify(status));
    } else if (type === "device.notification") {
      const name = topicPart(String(data["method"]));
      this.#dependencies.publish(`tendon/devices/${device}/events/${name}`, JSON.stringify({ ...data, at }));
    }
  }
}

function statusTopic(device: string): string {
  return `tendon/devices/${device}/status`;
}

function readTopic(topic: string): Request | undefined {
  if (topic === "tendon/control")
    return { kind: "control", device: undefined, replyTo: "tendon/control/reply" };
  // The topic of the reply would exceed MQTT's limit.
  if (Buffer.byteLength(topic) > maxTopicBytes - "/reply".length) return undefined;
  const [, device, kind] = deviceRequest.exec(topic) ?? [];
  if (device === undefined || (kind !== "control" && kind !== "call")) return undefined;
  return { kind, device, replyTo: `${topic}/reply` };
}

/** [APP-5] The method without `notifications/`; characters that a topic level cannot contain become `_`. */
function topicPart(method: string): string {
  return method.replace(/^notifications\//, "").replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "_";
}

/** `expiresInMs` of the message counts before the expiry of MQTT, which is raised to the shortest that calls have. */
function withExpiry<Queue extends { readonly expiresInMs?: number | undefined }>(
  queue: Queue,
  expiresInMs: number | undefined,
): Queue {
  if (queue.expiresInMs !== undefined || expiresInMs === undefined) return queue;
  return { ...queue, expiresInMs: Math.min(Math.max(expiresInMs, shortestExpiryMs), longestExpiryMs) };
}

interface CallMessage {
  readonly tool: string;
  readonly args: JsonObject;
  readonly timeoutMs: number | undefined;
  readonly queue: ReturnType<typeof queueRequestOf>;
}

function readCall(message: unknown): CallMessage {
  if (!isObject(message)) throw new TendonError("bad_request", "the message is not a JSON object");
  const { tool, arguments: args = {}, timeoutMs } = message;
  if (typeof tool !== "string" || tool === "")
    throw new TendonError("bad_request", "`tool` must name a tool");
  if (!isObject(args)) throw new TendonError("bad_request", "`arguments` must be an object");
  const options = decodeQueueOptions(message);
  if (options.outcome !== "ok")
    throw new TendonError("bad_request", options.outcome === "invalid" ? options.reason : "not understood");
  const queue = queueRequestOf(options.message);
  if (timeoutMs === undefined) return { tool, args, timeoutMs, queue };
  if (typeof timeoutMs !== "number" || !(timeoutMs >= 1 && timeoutMs <= limits.callTimeoutMs.max)) {
    throw new TendonError("bad_request", `\`timeoutMs\` must be from 1 to ${limits.callTimeoutMs.max}`);
  }
  return { tool, args, timeoutMs, queue };
}

/** The fields with which a reply ends: of a `device_control` action, or of a call. */
function endOf(call: StoredQueuedCall, isControl: boolean): JsonObject {
  const { callId, result, error, ok } = queuedResult(call, Number.NEGATIVE_INFINITY);
  const named = { callId, ...(isControl ? { tools: [call.tool] } : {}) };
  if (error === undefined) return { ...named, ok, result };
  return { ...named, ok: false, ...(isControl ? error : { error }) };
}

function requestIdOf(message: unknown): string | number | null {
  const id = isObject(message) ? message["request_id"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function failedCall(message: unknown, error: TendonError): JsonObject {
  return { request_id: requestIdOf(message), ok: false, error: problemOf(error) };
}
