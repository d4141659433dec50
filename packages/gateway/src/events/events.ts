/**
 * The one place that records what happened: as events for clients, log lines and metrics. Modules report through
 * named methods; no other module logs a line about a device or counts a call.
 */
import type { AuditList } from "@tendon/protocol";
import type { Logger } from "pino";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { CallEvents } from "./call-events.ts";
import type {
  EndedConversation,
  FirmwareProgress,
  HaltedImage,
  Limit,
  OfferedImage,
  OnlineDevice,
  PendingDevice,
} from "./event-types.ts";
import type { Metrics } from "./metrics.ts";

export { EndpointEvents } from "./endpoint-events.ts";
export type { Missed } from "./event-buffer.ts";
export { storedEventLog } from "./event-log.ts";
export type { FinishedCall } from "./event-types.ts";
export { Metrics } from "./metrics.ts";
export { ReplicatedEvents, type UnnumberedEvent } from "./replicated-events.ts";

/** The reason if a device reconnected before its old connection ended, or another device has the same identity. */
export const takenOver = "a newer connection of this device took over";

/** Clocks of nodes that differ by this much are reported. */
export const maxClockSkewMs = 3_000;

export class Events extends CallEvents {
  readonly #log: Logger;
  readonly #metrics: Metrics;
  /** Writes that failed in the current outage of the database. */
  #unstored = 0;

  constructor(clock: Clock, log: Logger, metrics: Metrics) {
    super(clock, log, metrics);
    this.#log = log;
    this.#metrics = metrics;
  }

  deviceOnline(device: string, data: OnlineDevice): void {
    this.#log.info({ device, ...data }, "device online");
    this.publish("device.online", device, { ...data });
  }

  /** The alias was derived from the id and is now derived from the board. */
  deviceNamed(device: string, alias: string): void {
    this.#log.info({ device, alias }, "device named");
  }

  deviceOffline(device: string, reason: string): void {
    this.#log.info({ device, reason }, "device offline");
    this.publish("device.offline", device, { reason });
  }

  /** The event has no activation code. Only the board shows it. */
  devicePending(device: string, data: PendingDevice): void {
    this.#log.info({ device, ...data }, "device waits for approval");
    this.publish("device.pending", device, { ...data });
  }

  deviceApproved(device: string, data: { by: string; replaced: boolean }): void {
    this.#log.info({ device, ...data }, "device approved");
    this.publish("device.approved", device, data);
  }

  deviceRevoked(device: string, data: { by: string }): void {
    this.#log.info({ device, ...data }, "device revoked");
    this.publish("device.revoked", device, data);
  }

  /** Reported by another node, because the node of the device has failed. `since`: its last sign of life. */
  deviceLostWithNode(device: string, since: number): void {
    const reason = "the gateway node of this device failed";
    this.#log.warn({ device, reason }, "device offline");
    this.publish("device.offline", device, { reason, since: isoTime(since) });
  }

  toolsChanged(
    device: string,
    data: {
      readonly toolCount: number;
      readonly complete: boolean;
      readonly problem?: string;
      readonly added?: readonly string[];
      readonly removed?: readonly string[];
      readonly accepted?: readonly string[];
      /** Known tools whose definitions changed. */
      readonly changed?: readonly object[];
    },
  ): void {
    if (data.changed === undefined) this.#log.info({ device, ...data }, "device tools listed");
    else this.#log.warn({ device, ...data }, "known tools of a device have changed");
    this.publish("device.tools_changed", device, data);
  }

  toolsUnchanged(device: string, toolCount: number): void {
    this.#log.debug({ device, toolCount }, "device tools listed again, unchanged");
  }

  setupFailed(device: string, step: string, reason: string): void {
    this.#log.warn({ device, step, reason }, "device setup step failed");
  }

  notification(device: string, method: string, params: unknown): void {
    this.#metrics.notifications.inc();
    this.publish("device.notification", device, { method, params: params ?? null });
  }

  /** `device` is undefined if there is none that the principal may see. */
  controlUnknown(kind: "action" | "function", device: string | undefined, name: string, by: string): void {
    this.#metrics.controlUnknown.inc({ kind });
    this.#log.warn({ device, [kind]: name, principal: by }, `unknown device_control ${kind}`);
  }

  /** `device` is undefined for a fan-out. */
  approvalRequested(
    device: string | undefined,
    data: { readonly approvalId: string; readonly tool: string; readonly principal: string },
  ): void {
    this.#log.info({ device, ...data }, "a call waits for approval");
    this.publish("approval.requested", device, data);
  }

  approvalDecided(
    device: string | undefined,
    data: {
      readonly approvalId: string;
      readonly tool: string;
      readonly principal: string;
      readonly decision: "approved" | "denied";
      readonly by: string;
    },
  ): void {
    this.#log.info({ device, ...data }, "an approval was decided");
    this.publish("approval.decided", device, data);
  }

  /** Only principals with `admin` get the event. */
  auditRecorded({ at: _at, ...data }: AuditList["entries"][number]): void {
    this.#log.info(data, "audit");
    this.publish("audit.recorded", undefined, data);
  }

  /** Only principals with `admin` get the event. */
  webhookDisabled(data: { webhook: string; name: string; reason: string }): void {
    this.#metrics.webhooksDisabled.inc();
    this.#log.error(data, "webhook disabled");
    this.publish("webhook.disabled", undefined, data);
  }

  webhookAttempt(delivered: boolean): void {
    this.#metrics.webhookAttempts.inc({ outcome: delivered ? "delivered" : "failed" });
  }

  webhookFailing(webhook: string, data: { status: number | undefined; error: string | undefined }): void {
    this.#log.warn({ webhook, ...data }, "deliveries of a webhook fail");
  }

  webhookDropped(webhook: string, count: number): void {
    this.#metrics.webhookDropped.inc(count);
    this.#log.warn({ webhook, count }, "events of a webhook were dropped before their delivery");
  }

  webhookFigures({ pending, failing }: { pending: number; failing: number }): void {
    this.#metrics.webhookPending.set(pending);
    this.#metrics.webhooksFailing.set(failing);
  }

  frameNotUnderstood(device: string, outcome: "unknown" | "invalid", why: string): void {
    this.#metrics.oddFrames.inc({ outcome });
    this.#log.debug({ device, outcome, why }, "frame not understood");
  }

  frameSalvaged(device: string): void {
    this.#metrics.oddFrames.inc({ outcome: "salvaged" });
    this.#log.debug({ device }, "a broken frame was salvaged");
  }

  unexpectedReply(device: string): void {
    this.#metrics.oddFrames.inc({ outcome: "stray" });
    this.#log.debug({ device }, "reply to an id that is not waiting");
  }

  audioDropped(bytes: number): void {
    this.#metrics.audioFramesDropped.inc();
    this.#metrics.audioBytesDropped.inc(bytes);
  }

  voiceStarted(device: string, upstream: string): void {
    this.#metrics.voiceSessions.inc();
    this.#log.info({ device, upstream }, "conversation started");
    this.publish("voice.started", device, { upstream });
  }

  voiceEnded(device: string, data: EndedConversation): void {
    this.#metrics.voiceSessions.dec();
    this.#metrics.voiceEnded.inc({ kind: data.kind });
    for (const direction of ["up", "down"] as const) {
      this.#metrics.voicePackets.inc({ direction }, data[direction].packets);
      this.#metrics.voiceLost.inc({ direction }, data[direction].lost);
    }
    const failed = data.kind !== "left" && data.kind !== "closed";
    this.#log[failed ? "warn" : "info"]({ device, ...data }, "conversation ended");
    this.publish("voice.ended", device, { upstream: data.upstream, kind: data.kind });
  }

  /** The voice server disconnected, and the board stays connected. */
  voiceParked(device: string, data: { upstream: string; kind: string; detail: string }): void {
    this.#metrics.voiceEnded.inc({ kind: data.kind });
    this.#log[data.kind === "closed" ? "info" : "warn"]({ device, ...data }, "voice server disconnected");
  }

  voiceOtaFailed(device: string, reason: string): void {
    this.#log.warn({ device, reason }, "a request to a voice server's OTA address failed");
  }

  voiceFrameNotUnderstood(device: string): void {
    this.#metrics.oddFrames.inc({ outcome: "voice" });
    this.#log.debug({ device }, "a frame of a conversation was not understood");
  }

  connectionRefused(why: {
    code: string;
    reason: string;
    device?: string | undefined;
    from?: string | undefined;
  }): void {
    this.#metrics.connectionsRefused.inc({ code: why.code });
    this.#log.warn(why, "device refused");
  }

  /** One of many failed sign-ins from one address. Counted but not logged. */
  connectionThrottled(): void {
    this.#metrics.connectionsRefused.inc({ code: "rate_limited" });
  }

  /** A connection sent more than it may, and is not read for a moment. */
  connectionPaused(device: string | undefined): void {
    this.#metrics.connectionsPaused.inc();
    this.#log.debug({ device }, "connection paused: it sends too much");
  }

  connectionReplaced(device: string, tooOften: boolean): void {
    if (!tooOften) this.#log.info({ device }, takenOver);
    else
      this.#log.warn(
        { device },
        `${takenOver} repeatedly: two boards have the same identity, or one restarts repeatedly`,
      );
  }

  clusterLink(state: "connected" | "disconnected", server: string): void {
    this.#log[state === "connected" ? "info" : "error"]({ state, server }, "NATS");
  }

  /** `undefined`: NATS stores again. */
  clusterStorage(problem: string | undefined): void {
    if (problem === undefined) this.#log.info("NATS stores again");
    else this.#log.error({ detail: problem }, "NATS does not store");
  }

  /** The first loss after a while is logged; all are counted. */
  eventsLost(count: number, isFirst: boolean): void {
    this.#metrics.eventsLost.inc(count);
    if (isFirst) this.#log.error({ count }, "events were lost: NATS does not take them");
  }

  /** `aheadMs`: how far the clock of the other node is ahead of this one's. */
  clockSkew(node: string, aheadMs: number): void {
    const seconds = Math.round(aheadMs / 100) / 10;
    if (Math.abs(aheadMs) >= maxClockSkewMs)
      this.#log.warn({ node, seconds }, "the clocks of two nodes differ; synchronize them with NTP");
    else this.#log.info({ node, seconds }, "the clocks of two nodes agree again");
  }

  /** Boards were sent away to even out the nodes; `moved` of them are on other nodes now. */
  balanced(sent: number, moved: number): void {
    const text = "boards were sent to other nodes to even them out";
    if (moved >= sent / 2) this.#log.info({ sent, moved }, text);
    else this.#log.warn({ sent, moved }, `${text}; most came back: is there a load balancer?`);
  }

  /** The other nodes have lost this one, and it has no connection to NATS. */
  isolated(boards: number): void {
    this.#log.error({ boards }, "cut off from the other nodes: its boards are sent elsewhere");
  }

  clusterFault(detail: string): void {
    this.#log.error({ detail }, "cluster");
  }

  outsideBroker(state: "connected" | "disconnected" | "error", detail?: string): void {
    const level = state === "connected" ? "info" : "warn";
    this.#log[level]({ state, ...(detail === undefined ? {} : { detail }) }, "outside MQTT broker");
  }

  processOutput(device: string, line: string): void {
    this.#log.info({ device, line }, "process");
  }

  processOutputSkipped(device: string, lines: number): void {
    this.#log.warn({ device, lines }, "process: it writes too much; lines were left out");
  }

  /** `requested`: the gateway stopped it. */
  processEnded(device: string, reason: string, requested: boolean): void {
    this.#log[requested ? "info" : "warn"]({ device, reason }, "process ended");
  }

  /** While the database is unavailable, the first one is logged, and the others are counted. */
  notStored(device: string, error: unknown): void {
    const outage = error instanceof TendonError && error.code === "storage_unavailable";
    if (outage) this.#unstored += 1;
    if (!outage || this.#unstored === 1)
      this.#log.error({ device, err: error }, "a device could not be stored");
  }

  storage(problem: { readonly kind: string; readonly count?: number }): void {
    if (problem.kind === "lost") this.#metrics.rowsLost.inc(problem.count);
    const available = problem.kind === "available";
    const unstored = available && this.#unstored > 0 ? { failedWrites: this.#unstored } : {};
    if (available) this.#unstored = 0;
    this.#log[available ? "info" : "warn"]({ ...problem, ...unstored }, "storage");
  }

  certificate(state: "renewed" | "refused" | "ends soon" | "expired", detail: string): void {
    const level = state === "renewed" ? "info" : state === "expired" ? "error" : "warn";
    this.#log[level]({ state, detail }, "TLS certificate");
  }

  firmwareChanged(what: "added" | "changed" | "removed", image: OfferedImage, by: string): void {
    const { board, version, share, tags, state } = image;
    this.#log.info({ what, board, version, share, tags, state, by }, "firmware image");
  }

  firmware(device: string, data: FirmwareProgress): void {
    this.#metrics.firmwareUpdates.inc({ outcome: data.outcome });
    this.#log[data.outcome === "failed" ? "warn" : "info"]({ device, ...data }, "firmware of a device");
    this.publish("device.firmware", device, { ...data });
  }

  firmwareOfferFailed(device: string, error: unknown): void {
    this.#log.warn({ device, err: error }, "the firmware offer could not be determined");
  }

  /** `device` is the one whose failure reached the limit. */
  firmwareHalted(device: string, data: HaltedImage): void {
    this.#log.error({ device, ...data }, "firmware image halted");
    this.publish("firmware.halted", device, { ...data });
  }

  photoReceived(photo: { readonly device: string; readonly problem: string | undefined }): void {
    this.#metrics.photos.inc({ outcome: photo.problem ?? "ok" });
    this.#log.info(photo, "photo received");
  }

  photoRefused(why: { readonly code: string; readonly reason: string }): void {
    this.#metrics.photos.inc({ outcome: why.code });
    this.#log.warn(why, "photo refused");
  }

  /** `who` is set if the request is to be logged: the first of many. */
  limited(by: Limit, who: string | undefined): void {
    this.#metrics.requestsLimited.inc({ by });
    if (who !== undefined) this.#log.warn({ by, who }, "too many requests");
  }

  signInFailed(from: string | undefined): void {
    this.#metrics.signInsFailed.inc();
    this.#log.warn({ from }, "sign-in failed");
  }
}
