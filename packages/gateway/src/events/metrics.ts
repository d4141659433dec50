import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** One registry per gateway, so that two in one process (tests, embedding programs) do not share counters. */
export class Metrics {
  readonly registry = new Registry();
  readonly devicesOnline = new Gauge({
    name: "tendon_devices_online",
    help: "Devices connected now",
    registers: [this.registry],
  });
  readonly devicesOnlineByKind = new Gauge({
    name: "tendon_devices_online_by_kind",
    help: "Devices connected now, by kind: esp32, process, http or endpoint",
    labelNames: ["kind"] as const,
    registers: [this.registry],
  });
  readonly calls = new Counter({
    name: "tendon_calls_total",
    help: "Tool calls by outcome: ok, tool_error or an error code",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly endpointCalls = new Counter({
    name: "tendon_endpoint_calls_total",
    help: "Tool calls of voice agents over MCP endpoints, by outcome",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly callSeconds = new Histogram({
    name: "tendon_call_seconds",
    help: "Time from a call's arrival to its answer, queue included",
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 75, 300],
    registers: [this.registry],
  });
  readonly callsQueued = new Counter({
    name: "tendon_calls_queued_total",
    help: "Calls that were queued because their device was offline",
    registers: [this.registry],
  });
  readonly callsWaiting = new Gauge({
    name: "tendon_calls_waiting",
    help: "Queued calls that wait until their device is online, on all nodes",
    registers: [this.registry],
  });
  readonly controlUnknown = new Counter({
    name: "tendon_control_unknown_total",
    help: "device_control messages with an unknown action, or with a function that is neither mapped nor a tool of the device",
    labelNames: ["kind"] as const,
    registers: [this.registry],
  });
  readonly lateReplies = new Counter({
    name: "tendon_late_replies_total",
    help: "Answers to calls that had already ended",
    registers: [this.registry],
  });
  readonly notifications = new Counter({
    name: "tendon_device_notifications_total",
    help: "Notifications sent by devices",
    registers: [this.registry],
  });
  readonly oddFrames = new Counter({
    name: "tendon_odd_frames_total",
    help: "Frames from devices by problem: unknown, invalid, salvaged, stray (reply to no request), or voice (invalid in a conversation)",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly audioFramesDropped = new Counter({
    name: "tendon_audio_frames_dropped_total",
    help: "Audio frames from devices, dropped because no voice server is configured",
    registers: [this.registry],
  });
  readonly audioBytesDropped = new Counter({
    name: "tendon_audio_bytes_dropped_total",
    help: "Bytes of audio dropped",
    registers: [this.registry],
  });
  readonly voiceSessions = new Gauge({
    name: "tendon_voice_sessions",
    help: "Current conversations with voice servers",
    registers: [this.registry],
  });
  readonly voiceEnded = new Counter({
    name: "tendon_voice_sessions_ended_total",
    help: "Ended conversations by kind: left, closed, or the failure of the voice server",
    labelNames: ["kind"] as const,
    registers: [this.registry],
  });
  readonly voicePackets = new Counter({
    name: "tendon_voice_packets_total",
    help: "Audio packets of ended conversations; up is from the device",
    labelNames: ["direction"] as const,
    registers: [this.registry],
  });
  readonly voiceLost = new Counter({
    name: "tendon_voice_packets_lost_total",
    help: "Lost audio packets of ended conversations",
    labelNames: ["direction"] as const,
    registers: [this.registry],
  });
  readonly connectionsRefused = new Counter({
    name: "tendon_connections_refused_total",
    help: "Device connections refused, by error code",
    labelNames: ["code"] as const,
    registers: [this.registry],
  });
  readonly connectionsPaused = new Counter({
    name: "tendon_connections_paused_total",
    help: "Pauses of device and app connections that sent more than they may",
    registers: [this.registry],
  });
  readonly firmwareUpdates = new Counter({
    name: "tendon_firmware_updates_total",
    help: "Firmware updates of boards by outcome: fetched, updated or failed",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly requestsLimited = new Counter({
    name: "tendon_requests_limited_total",
    help: "Requests rejected by a rate limit: of a principal, of an address, of failed sign-ins, of unread requests on a connection, or of the whole gateway (overload)",
    labelNames: ["by"] as const,
    registers: [this.registry],
  });
  readonly photos = new Counter({
    name: "tendon_photos_total",
    help: "Photos and screenshots that boards uploaded, by outcome: ok or a problem code",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly signInsFailed = new Counter({
    name: "tendon_sign_ins_failed_total",
    help: "Requests with a missing or wrong token",
    registers: [this.registry],
  });
  readonly webhookAttempts = new Counter({
    name: "tendon_webhook_attempts_total",
    help: "Requests to receivers of webhooks by outcome: delivered or failed",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly webhookPending = new Gauge({
    name: "tendon_webhook_events_pending",
    help: "Events that wait for delivery to a receiver, of the webhooks that this node delivers",
    registers: [this.registry],
  });
  readonly webhooksFailing = new Gauge({
    name: "tendon_webhooks_failing",
    help: "Webhooks of this node whose last delivery failed",
    registers: [this.registry],
  });
  readonly webhookDropped = new Counter({
    name: "tendon_webhook_events_dropped_total",
    help: "Events that were not delivered within 24 hours, or were more than webhooks.maxPending",
    registers: [this.registry],
  });
  readonly webhooksDisabled = new Counter({
    name: "tendon_webhooks_disabled_total",
    help: "Webhooks that the gateway disabled after 24 hours of failures, or because the receiver answered 410",
    registers: [this.registry],
  });

  readonly rowsLost = new Counter({
    name: "tendon_storage_rows_lost_total",
    help: "Rows of the history and of events that were lost because the database was unavailable and the buffer was full",
    registers: [this.registry],
  });
  readonly eventsLost = new Counter({
    name: "tendon_cluster_events_lost_total",
    help: "Events of this node that were dropped: too many waited for NATS, or one was too large for a message",
    registers: [this.registry],
  });
  readonly eventsWaiting = new Gauge({
    name: "tendon_cluster_events_waiting",
    help: "Events of this node that NATS has not stored yet",
    registers: [this.registry],
  });
  readonly clockSkew = new Gauge({
    name: "tendon_clock_skew_seconds",
    help: "The largest difference between the clock of this node and that of another one",
    registers: [this.registry],
  });
  readonly certificateExpiry = new Gauge({
    name: "tendon_certificate_expiry_timestamp_seconds",
    help: "When the TLS certificate expires, in seconds since 1970; 0 without a certificate",
    registers: [this.registry],
  });
  readonly partUnready = new Gauge({
    name: "tendon_part_unready",
    help: "1 for a part that is not ready, as in /readyz: gateway, mqtt, cluster, storage",
    labelNames: ["part"] as const,
    registers: [this.registry],
  });

  readonly contentType = this.registry.contentType;

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    return `${await this.registry.metrics()}\n${await ofTheProcess().metrics()}`;
  }
}

let processRegistry: Registry | undefined;

/**
 * Memory, CPU time and the event loop belong to the process, so all gateways in it share one registry. The library starts
 * a timer of 10 ms and an observer of garbage collections for each, and never ends them; they start with the first
 * request for metrics.
 */
function ofTheProcess(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}
