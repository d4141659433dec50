import type { ErrorCode } from "./errors.ts";

/** A bound on input: the maximum, the error that the sender gets, and the reason for this maximum. */
export interface Bound {
  readonly max: number;
  readonly error: ErrorCode;
  readonly reason: string;
}

function bound(max: number, error: ErrorCode, reason: string): Bound {
  return { max, error, reason };
}

const KIB = 1024;

export const limits = {
  deviceFrameBytes: bound(
    256 * KIB,
    "payload_too_large",
    "the firmware sends at most 64 KiB over WebSocket and about 70 KB over MQTT; four times that leaves room for other devices",
  ),
  jsonDepth: bound(
    256,
    "payload_too_large",
    "no board sends more than about 20 levels; from some 4,000 on JSON.stringify runs out of stack",
  ),
  deviceFramesPerSecond: bound(
    200,
    "rate_limited",
    "audio has 17 to 50 frames per second; a device that keeps sending more is broken or hostile",
  ),
  floodRestMs: bound(
    10_000,
    "rate_limited",
    "how long a device that was cut off because it sends too much must wait before it connects again",
  ),
  deviceFrameBurst: bound(
    1_000,
    "rate_limited",
    "five seconds of the allowed rate, for reconnects and replayed queues",
  ),
  deviceBytesPerSecond: bound(
    128 * KIB,
    "rate_limited",
    "audio has at most 10 KB per second; answers to calls do not count",
  ),
  deviceByteBurst: bound(2 * KIB * KIB, "rate_limited", "16 seconds of the allowed rate"),
  deviceSendBufferBytes: bound(
    1024 * KIB,
    "device_disconnected",
    "a device that leaves a megabyte unread is disconnected or stuck",
  ),
  deviceHelloMs: bound(
    10_000,
    "device_timeout",
    "the firmware sends hello at once; a silent socket is closed",
  ),
  devicesWaitingForHello: bound(2_000, "rate_limited", "sockets without a hello cost memory"),
  deviceIdLength: bound(
    64,
    "bad_request",
    "a MAC address has 17 characters; other devices may use longer names",
  ),
  clientIdLength: bound(128, "bad_request", "the firmware's Client-Id is a UUID of 36 characters"),
  heldConnections: bound(
    512,
    "busy",
    "connections that wait up to a second for the board to close first; beyond this the gateway closes at once",
  ),
  connectedDevices: bound(200_000, "rate_limited", "more than one process can keep in memory"),
  mqttConnectBytes: bound(
    2 * KIB,
    "payload_too_large",
    "a CONNECT with the longest names and a token has a few hundred bytes",
  ),
  mqttPacketBytes: bound(260 * KIB, "payload_too_large", "a device's largest frame and its topic"),
  mqttClientIdLength: bound(256, "bad_request", "group, MAC address and UUID have about 80 characters"),
  mqttTopicLength: bound(256, "bad_request", "the gateway's longest topic has about 120 characters"),
  mqttUnreleased: bound(
    1_000,
    "rate_limited",
    "messages with QoS 2 that a client has sent and not released; MQTT 5 calls it the receive maximum",
  ),
  appPacketsPerSecond: bound(
    20,
    "rate_limited",
    "packets of an app other than PUBLISH, such as SUBSCRIBE and PINGREQ; requests are limited per token",
  ),
  appPacketBurst: bound(400, "rate_limited", "four times the subscriptions of one app, as it connects"),
  mqttSubscriptions: bound(100, "rate_limited", "each is matched against every reply"),
  processLineBytes: bound(
    1024 * KIB,
    "payload_too_large",
    "fits an image as text; a longer line is an error",
  ),
  processLinesPerSecond: bound(1_000, "rate_limited", "a program that keeps writing more is stuck in a loop"),
  processLineBurst: bound(5_000, "rate_limited", "a start-up with many events"),
  processBytesPerSecond: bound(
    2 * KIB * KIB,
    "rate_limited",
    "two of the longest lines; answers do not count",
  ),
  processByteBurst: bound(16 * KIB * KIB, "rate_limited", "eight seconds of the allowed rate"),
  processLogLinesPerSecond: bound(
    50,
    "rate_limited",
    "lines of a program's stderr in the log; others are counted",
  ),
  processLogBurst: bound(500, "rate_limited", "a stack trace or a start-up"),
  processLogBytesPerSecond: bound(1024 * KIB, "rate_limited", "a program that writes more to stderr waits"),
  processReadyMs: bound(10_000, "device_timeout", "a program that has not sent `ready` by then will not"),
  programQuestionBytes: bound(
    256 * KIB,
    "payload_too_large",
    "fits a conversation for a model with a small image; forms have a few hundred bytes",
  ),
  programQuestionsOpen: bound(8, "rate_limited", "open questions of one call"),
  programQuestionsPerCall: bound(
    100,
    "rate_limited",
    "each takes a person's time or a model's tokens; a program that asks more is stuck in a loop",
  ),
  processes: bound(256, "bad_request", "each is a process on this machine"),
  httpDevices: bound(256, "conflict", "MCP servers over HTTP; each is probed and may hold a stream open"),
  serverUrlLength: bound(2_048, "bad_request", "the longest address that common servers accept"),
  serverHeaders: bound(32, "bad_request", "headers of the requests to one MCP server"),
  serverHeaderBytes: bound(8 * KIB, "bad_request", "common servers accept 8 KB of headers"),
  unusedCredentials: bound(
    10_000,
    "rate_limited",
    "boards that requested settings and have not connected; each expires after 10 minutes",
  ),
  pendingPairs: bound(
    10_000,
    "rate_limited",
    "boards that wait for approval: a hundredth of the six-digit codes, so that guessing stays hopeless",
  ),
  pendingPairsPerSource: bound(
    1_000,
    "rate_limited",
    "keeps one host from using all codes, and is enough for a school",
  ),
  pairingCodeMs: bound(15 * 60_000, "device_unknown", "time to read a code and type it in"),
  wrongCodes: bound(10, "rate_limited", "codes typed wrongly in a row; then one more every 10 s"),
  failedSignIns: bound(
    100,
    "rate_limited",
    "wrong credentials from one address, then one per second; right ones are always accepted",
  ),
  principalsPerSource: bound(
    256,
    "rate_limited",
    "tokens that an address is known to use; more are not remembered",
  ),
  throttledSources: bound(10_000, "rate_limited", "addresses and tokens whose failures are counted"),
  importBatch: bound(1_000, "bad_request", "rows of one request; a file is sent in several requests"),
  importedDevices: bound(
    1_000_000,
    "conflict",
    "ten times the largest fleet that one gateway is designed for",
  ),
  approvalsWaiting: bound(
    100,
    "rate_limited",
    "per principal: more than a person can review, and too few to fill a disk",
  ),
  approvalWaitMs: bound(
    60 * 60_000,
    "approval_required",
    "a person decides within the hour; after that the caller asks again",
  ),
  approvalGrantMs: bound(
    10 * 60_000,
    "approval_required",
    "an approval is for the current call, not for another day",
  ),
  accessRules: bound(1_000, "bad_request", "a person has to be able to read them"),
  accessPatternLength: bound(256, "bad_request", "a tool's name has at most 128 characters"),
  urlHosts: bound(1_000, "bad_request", "each is compared with an address that matches none"),
  toolPages: bound(256, "device_error", "200 pages of 8 KB is more than any board has"),
  toolsPerDevice: bound(1_000, "device_error", "the largest known board offers about 60"),
  toolListBytes: bound(
    2 * KIB * KIB,
    "device_error",
    "the definitions of one device; the largest known board has about 60 KB. Further tools are dropped",
  ),
  toolDefinitionBytes: bound(
    64 * KIB * KIB,
    "device_error",
    "all different definitions of all devices, which are kept in memory; further tools are dropped",
  ),
  namesPerDevice: bound(
    4_000,
    "device_error",
    "names of a device's tools, earlier ones included; the oldest of tools that are gone are dropped",
  ),
  goneToolsPerDevice: bound(
    256,
    "device_error",
    "tools that a device no longer lists, remembered to detect changes when they come back",
  ),
  toolNameLength: bound(128, "device_error", "the MCP specification's longest name"),
  toolDescriptionLength: bound(4_096, "device_error", "longer texts use up the context of every agent"),
  toolSchemaBytes: bound(
    16 * KIB,
    "device_error",
    "the firmware's pages hold 8 KB; larger schemas are hostile",
  ),
  toolSchemaDepth: bound(8, "device_error", "deeper schemas are hostile or useless to a model"),
  toolSchemaProperties: bound(64, "device_error", "a tool with more arguments is not usable"),
  toolSchemaInlinedBytes: bound(
    64 * KIB,
    "device_error",
    "four times the largest schema, for definitions that are referred to more than once; further references are cut",
  ),
  toolSchemaInlinedDepth: bound(
    16,
    "device_error",
    "twice the deepest schema, for definitions that refer to others; deeper references are cut",
  ),
  argumentCheckSteps: bound(
    150_000,
    "arguments_invalid",
    "units of the estimate, a quarter to a third of a microsecond each: the worst check blocks the event loop for about 50 ms",
  ),
  addressSearchSteps: bound(
    250_000,
    "arguments_invalid",
    "64 KiB of arguments take about 150,000 steps with an ordinary schema; the limit blocks the event loop for about 30 ms",
  ),
  callArgumentBytes: bound(
    64 * KIB,
    "payload_too_large",
    "small chips run out of memory well before this; larger arguments could restart them",
  ),
  callArgumentDepth: bound(64, "arguments_invalid", "the firmware's parser recurses on a 4 KB stack"),
  callTimeoutMs: bound(300_000, "bad_request", "five minutes; longer work belongs in a job"),
  queuedCallsPerDevice: bound(
    32,
    "queue_full",
    "calls run one at a time; a longer queue only hides a stuck device",
  ),
  lateRepliesRemembered: bound(64, "device_timeout", "timed-out calls whose late answer is still recognized"),
  pipelinedRequests: bound(
    16,
    "rate_limited",
    "concurrent requests of one HTTP connection; the others wait, and reading pauses. Clients that pipeline send fewer",
  ),
  waitingRequests: bound(
    10_000,
    "rate_limited",
    "waiting pipelined requests of all HTTP connections, about 5 KB each; beyond this the gateway closes the connection with the most",
  ),
  unsentAnswerBytes: bound(
    128 * KIB * KIB,
    "rate_limited",
    "unread answers of all HTTP connections; beyond this the gateway closes the connection with the most",
  ),
  restBodyBytes: bound(256 * KIB, "payload_too_large", "a call's arguments are bounded by 64 KiB"),
  fanOutAtOnce: bound(500, "bad_request", "more targets than a caller should wait for; they become a job"),
  fanOutTargets: bound(100_000, "bad_request", "every device that one node can hold; more is a mistake"),
  fanOutParallel: bound(128, "rate_limited", "devices that one request calls at the same time"),
  waitingCallsPerDevice: bound(
    32,
    "queue_full",
    "as many as may wait for a device that is there; a board runs ten of them per connection",
  ),
  waitingCallsPerToken: bound(1_000, "queue_full", "one program must not fill the queue for all others"),
  waitingCalls: bound(100_000, "queue_full", "one for every device that one node can hold"),
  waitingCallMs: bound(
    30 * 24 * 60 * 60_000,
    "bad_request",
    "a call that has waited for a month surprises more than it helps",
  ),
  supersedeKeyLength: bound(64, "bad_request", "a short name such as `volume`"),
  jobIdLength: bound(128, "bad_request", "a node's name, which may have 41 characters, and a UUID"),
  jobsKept: bound(100, "rate_limited", "finished jobs and their results stay in memory for an hour"),
  jobsKeptPerToken: bound(25, "rate_limited", "a new job replaces the token's oldest finished one"),
  idempotencyKeys: bound(10_000, "rate_limited", "first answers kept in memory for a day"),
  idempotencyBytes: bound(64 * 1024 * KIB, "rate_limited", "some of the first answers contain images"),
  idempotencyKeyLength: bound(255, "bad_request", "a UUID has 36 characters"),
  eventStreams: bound(512, "rate_limited", "each open stream holds a socket and a buffer"),
  eventStreamBufferBytes: bound(
    1024 * KIB,
    "rate_limited",
    "a client this far behind resumes with Last-Event-ID",
  ),
  eventsKept: bound(10_000, "bad_request", "how far back Last-Event-ID can resume"),
  allowedOrigins: bound(64, "bad_request", "origins of web pages that an operator lists"),
  mcpBodyBytes: bound(
    1024 * KIB,
    "payload_too_large",
    "a call's arguments are bounded by 64 KiB; an answer to a question may be longer",
  ),
  mcpSessions: bound(2_000, "rate_limited", "each keeps an SDK server in memory"),
  mcpSessionsPerToken: bound(
    200,
    "rate_limited",
    "many clients never end their sessions, so the longest idle session of the same token ends",
  ),
  mcpSubscriptionStreams: bound(200, "rate_limited", "open streams of one token at one address"),
  eventWaits: bound(1_000, "rate_limited", "agents that wait for events; each holds a request open"),
  mcpSubscriptions: bound(1_000, "rate_limited", "resources that one session watches"),
  mcpBatch: bound(32, "bad_request", "messages at once, which only old clients send"),
  mcpReplay: bound(100, "not_found", "short messages that an agent can still receive after its stream broke"),
  mcpOpenCalls: bound(
    32,
    "not_found",
    "per token and address: finished calls whose agent has not fetched the result yet",
  ),
  mcpTasksPerToken: bound(
    32,
    "rate_limited",
    "calls of agents that run as tasks, and results that wait for them",
  ),
  mcpStreamBufferBytes: bound(
    16 * 1024 * KIB,
    "rate_limited",
    "two of the largest images as text; the gateway disconnects a client further behind",
  ),
  signInSecretLength: bound(512, "bad_request", "a token has 36 characters; TENDON_TOKEN may be longer"),
  signInFailures: bound(
    10,
    "rate_limited",
    "wrong secrets in a row from one address, then one per six seconds",
  ),
  signInSources: bound(1_000, "rate_limited", "addresses whose wrong secrets are counted"),
  signInCodes: bound(
    16,
    "unauthenticated",
    "unused one-time codes of one token; a new one replaces the token's oldest",
  ),
  consoleSessions: bound(
    256,
    "unauthenticated",
    "open sessions; a new one ends the longest idle session, an administrator's last",
  ),
  consoleSessionsPerToken: bound(
    32,
    "unauthenticated",
    "open sessions of one token without `admin`; a new one ends the token's longest idle session",
  ),
  framesKept: bound(1_024, "not_found", "the latest frames of all devices together"),
  framesWatched: bound(200, "not_found", "the latest frames of a device that a client watches"),
  frameTextKept: bound(2 * KIB, "payload_too_large", "enough for a person to read; the rest is truncated"),
  callTracesKept: bound(1_000, "not_found", "calls whose arguments, answers and errors are still available"),
  callTraceAnswer: bound(16 * KIB, "payload_too_large", "an answer for a person to read; the rest is cut"),
  callTraceAnswers: bound(4 * 1024 * KIB, "not_found", "all answers in memory; the oldest are dropped first"),
  historyArguments: bound(16 * KIB, "payload_too_large", "a million rows have to fit on a disk"),
  callTraceArguments: bound(
    2 * KIB,
    "payload_too_large",
    "arguments for a person to read; longer ones are omitted",
  ),
  lineIdLength: bound(256, "bad_request", "a UUID has 36 characters"),
  lineEventNameLength: bound(128, "bad_request", "as long as the name of a tool"),
  hintedNameLength: bound(64, "device_unknown", "longer names get no suggestions"),
  hintCandidates: bound(
    300,
    "device_unknown",
    "names compared with an unknown one for suggestions: a fraction of a millisecond",
  ),
  hintsPerSecond: bound(100, "device_unknown", "unknown names that get suggestions"),
  notificationBytes: bound(16 * KIB, "payload_too_large", "a device's event is kept in memory for resume"),
} as const satisfies Record<string, Bound>;

/** Bounds on uploads and downloads of firmware images. */
export const firmwareLimits = {
  imageBytes: bound(
    16 * 1024 * KIB,
    "payload_too_large",
    "the largest flash in use has 16 MB, and an application gets less than half of it",
  ),
  images: bound(
    200,
    "conflict",
    "each is a file of several megabytes, and is considered for every request of a board",
  ),
  uploadsAtOnce: bound(2, "busy", "an image is held in memory while it is checked"),
  downloadsAtOnce: bound(32, "busy", "boards read slowly; more downloads at once only slow down each other"),
  downloadMs: bound(900_000, "device_timeout", "4 MB at 5 KB/s; a slower download is stuck"),
  stalledMs: bound(60_000, "device_timeout", "the firmware itself gives up after 30 s without a byte"),
  linkMs: bound(1_800_000, "not_found", "a board downloads at once; a link found in a log later is useless"),
  urlLength: bound(512, "bad_request", "modems take it as one command, in hexadecimal"),
  offersPerDevice: bound(
    5,
    "conflict",
    "some firmware restarts when an update fails, and would restart forever without a bound",
  ),
} as const satisfies Record<string, Bound>;
