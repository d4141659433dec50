import type { ErrorCode } from "./errors.ts";

/** A bound on something that comes in: how much, which error the sender gets, and why it is that much. */
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
    "audio is 17 to 50 frames a second; a device that sends more for long is broken or hostile",
  ),
  deviceFrameBurst: bound(
    1_000,
    "rate_limited",
    "five seconds of the allowed rate, for reconnects and replayed queues",
  ),
  deviceSendBufferBytes: bound(
    1024 * KIB,
    "device_disconnected",
    "a device that does not read a megabyte of what it is sent is gone or stuck",
  ),
  deviceHelloMs: bound(
    10_000,
    "device_timeout",
    "the firmware says hello at once; a silent socket must not be kept",
  ),
  devicesWaitingForHello: bound(2_000, "rate_limited", "sockets that have not said who they are cost memory"),
  deviceIdLength: bound(
    64,
    "bad_request",
    "a MAC address has 17 characters; other devices may use longer names",
  ),
  clientIdLength: bound(128, "bad_request", "the firmware's Client-Id is a UUID of 36 characters"),
  heldConnections: bound(
    512,
    "busy",
    "answers after which a board has a second to close first; beyond this the gateway closes at once",
  ),
  connectedDevices: bound(200_000, "rate_limited", "more than one process can hold in memory"),
  mqttConnectBytes: bound(
    2 * KIB,
    "payload_too_large",
    "a CONNECT with the longest names and a token has a few hundred bytes",
  ),
  mqttPacketBytes: bound(260 * KIB, "payload_too_large", "a device's largest frame and its topic"),
  mqttClientIdLength: bound(256, "bad_request", "group, MAC address and UUID have about 80 characters"),
  mqttTopicLength: bound(256, "bad_request", "the longest topic of ours has about 120 characters"),
  mqttSubscriptions: bound(100, "rate_limited", "each is looked at for every reply"),
  processLineBytes: bound(
    1024 * KIB,
    "payload_too_large",
    "a picture as text fits; more in one line is a fault",
  ),
  processLinesPerSecond: bound(2_000, "rate_limited", "a program that says more for long is stuck in a loop"),
  processLineBurst: bound(10_000, "rate_limited", "a start-up with many events"),
  processReadyMs: bound(10_000, "device_timeout", "a program that has not said `ready` by then will not"),
  programQuestionBytes: bound(
    256 * KIB,
    "payload_too_large",
    "a conversation for a model with a small picture fits; forms have a few hundred bytes",
  ),
  programQuestionsOpen: bound(8, "rate_limited", "questions of one call that wait for answers at a time"),
  programQuestionsPerCall: bound(
    100,
    "rate_limited",
    "each takes a person's time or a model's tokens; a program that asks more is stuck in a loop",
  ),
  processes: bound(256, "bad_request", "each is a process of this machine"),
  unusedCredentials: bound(
    10_000,
    "rate_limited",
    "boards that asked for settings and have not come; each lapses in 10 minutes",
  ),
  pendingPairs: bound(
    10_000,
    "rate_limited",
    "boards that show a code and wait: a hundredth of the six-digit codes, so that a guess stays hopeless",
  ),
  pendingPairsPerSource: bound(
    1_000,
    "rate_limited",
    "one host cannot take all codes; a school can have its",
  ),
  pairingCodeMs: bound(15 * 60_000, "device_unknown", "time to read a code and type it in"),
  wrongCodes: bound(10, "rate_limited", "codes typed wrongly in a row; then one more every 10 s"),
  failedSignIns: bound(
    100,
    "rate_limited",
    "wrong credentials from one address; then one a second. Right ones are always let in",
  ),
  principalsPerSource: bound(
    256,
    "rate_limited",
    "tokens that an address is known to use; more are not remembered",
  ),
  throttledSources: bound(10_000, "rate_limited", "addresses and tokens whose failures are counted"),
  importBatch: bound(1_000, "bad_request", "rows of one request; a file is sent in as many as it takes"),
  importedDevices: bound(1_000_000, "conflict", "ten times the largest fleet one gateway is made for"),
  approvalsWaiting: bound(
    100,
    "rate_limited",
    "of one principal: more than a person could look through, and too few to fill a disk with",
  ),
  approvalWaitMs: bound(
    60 * 60_000,
    "approval_required",
    "a person looks within the hour; what waits longer is asked for again",
  ),
  approvalGrantMs: bound(10 * 60_000, "approval_required", "a yes is for now, not for some other day"),
  accessRules: bound(1_000, "bad_request", "a person has to be able to read them"),
  accessPatternLength: bound(256, "bad_request", "a tool's name has at most 128 characters"),
  urlHosts: bound(1_000, "bad_request", "each is looked at for an address that none of the others fits"),
  toolPages: bound(256, "device_error", "200 pages of 8 KB is more than any board has"),
  toolsPerDevice: bound(1_000, "device_error", "the largest known board offers about 60"),
  goneToolsPerDevice: bound(
    256,
    "device_error",
    "tools a device no longer lists, remembered in case they come back as something else",
  ),
  toolNameLength: bound(128, "device_error", "the MCP specification's longest name"),
  toolDescriptionLength: bound(4_096, "device_error", "longer texts cost every agent its context"),
  toolSchemaBytes: bound(
    16 * KIB,
    "device_error",
    "the firmware's pages hold 8 KB; larger schemas are hostile",
  ),
  toolSchemaDepth: bound(8, "device_error", "deeper schemas are hostile or useless to a model"),
  toolSchemaProperties: bound(64, "device_error", "a tool with more arguments cannot be used by anybody"),
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
    "units of the estimate, a quarter to a third of a microsecond each: the worst check stops the loop for some 50 ms",
  ),
  addressSearchSteps: bound(
    250_000,
    "arguments_invalid",
    "64 KiB of arguments take some 150,000 steps with an ordinary schema; so many stop the loop for about 30 ms",
  ),
  callArgumentBytes: bound(
    64 * KIB,
    "payload_too_large",
    "small chips run out of memory well before this; larger arguments could restart them",
  ),
  callArgumentDepth: bound(64, "arguments_invalid", "the firmware's parser recurses on a 4 KB stack"),
  callTimeoutMs: bound(300_000, "bad_request", "five minutes; anything longer belongs into a job"),
  queuedCallsPerDevice: bound(
    32,
    "queue_full",
    "calls run one at a time; a longer queue only hides a stuck device",
  ),
  lateRepliesRemembered: bound(
    64,
    "device_timeout",
    "calls given up on whose late answer is still told apart",
  ),
  pipelinedRequests: bound(
    16,
    "rate_limited",
    "requests of one HTTP connection that run at once; the others wait, and reading pauses. Clients that pipeline at all send fewer",
  ),
  waitingRequests: bound(
    10_000,
    "rate_limited",
    "pipelined requests of all HTTP connections that wait for their turn, at about 5 KB each; beyond it the connection with the most is cut off",
  ),
  unsentAnswerBytes: bound(
    128 * KIB * KIB,
    "rate_limited",
    "answers of all HTTP connections that their clients do not read; beyond it the connection with the most is cut off",
  ),
  restBodyBytes: bound(256 * KIB, "payload_too_large", "a call's arguments are bounded by 64 KiB"),
  fanOutAtOnce: bound(500, "bad_request", "more targets than a caller should wait for; they become a job"),
  fanOutTargets: bound(100_000, "bad_request", "every device one node can hold; more is a mistake"),
  fanOutParallel: bound(128, "rate_limited", "how many devices one request asks at the same time"),
  jobIdLength: bound(128, "bad_request", "a node's name, which may have 41 characters, and a UUID"),
  jobsKept: bound(100, "rate_limited", "finished jobs and their results stay in memory for an hour"),
  idempotencyKeys: bound(10_000, "rate_limited", "first answers kept in memory for a day"),
  idempotencyBytes: bound(64 * 1024 * KIB, "rate_limited", "some of the first answers hold pictures"),
  idempotencyKeyLength: bound(255, "bad_request", "a UUID has 36 characters"),
  eventStreams: bound(512, "rate_limited", "each open stream holds a socket and a buffer"),
  eventStreamBufferBytes: bound(
    1024 * KIB,
    "rate_limited",
    "a reader this far behind resumes by Last-Event-ID",
  ),
  eventsKept: bound(10_000, "bad_request", "how far back Last-Event-ID can resume"),
  allowedOrigins: bound(64, "bad_request", "origins of web pages that an operator lists"),
  mcpBodyBytes: bound(
    1024 * KIB,
    "payload_too_large",
    "a call's arguments are bounded by 64 KiB; an answer to a question may be longer",
  ),
  mcpSessions: bound(2_000, "rate_limited", "each holds a server of the SDK in memory"),
  mcpSessionsPerToken: bound(
    200,
    "rate_limited",
    "many clients never end a session: the longest idle one gives way, and only a token's own",
  ),
  mcpSubscriptionStreams: bound(200, "rate_limited", "open streams of one token at one address"),
  eventWaits: bound(1_000, "rate_limited", "agents that wait for events; each holds a request open"),
  mcpSubscriptions: bound(1_000, "rate_limited", "resources that one session watches"),
  mcpBatch: bound(32, "bad_request", "messages at once, which only old clients send"),
  mcpReplay: bound(100, "not_found", "what an agent whose stream broke can still be told; it is short"),
  mcpOpenCalls: bound(
    32,
    "not_found",
    "of one token at one address: ended calls whose agent has not come back for the result",
  ),
  mcpStreamBufferBytes: bound(
    16 * 1024 * KIB,
    "rate_limited",
    "two of the largest pictures as text; a reader further behind is cut off",
  ),
  signInSecretLength: bound(
    512,
    "bad_request",
    "a token has 36 characters, one of TENDON_TOKEN perhaps more",
  ),
  signInFailures: bound(
    10,
    "rate_limited",
    "wrong secrets in a row from one address; then one in six seconds",
  ),
  signInSources: bound(1_000, "rate_limited", "addresses whose wrong secrets are counted"),
  signInCodes: bound(16, "unauthenticated", "one-time codes waiting to be used; the oldest makes room"),
  consoleSessions: bound(256, "unauthenticated", "people signed in at once; the one idle longest makes room"),
  framesKept: bound(1_024, "not_found", "the last frames of all devices together; older ones are gone"),
  framesWatched: bound(200, "not_found", "the last frames of a device that somebody looks at"),
  frameTextKept: bound(2 * KIB, "payload_too_large", "what a person reads of one; the rest is cut"),
  callStoriesKept: bound(1_000, "not_found", "calls whose arguments and failure are still told"),
  historyArguments: bound(16 * KIB, "payload_too_large", "a million rows have to fit on a disk"),
  callStoryArguments: bound(
    2 * KIB,
    "payload_too_large",
    "arguments a person reads; longer ones are left out",
  ),
  lineIdLength: bound(256, "bad_request", "a UUID has 36 characters"),
  lineEventNameLength: bound(128, "bad_request", "names of events are names, as those of tools are"),
  hintedNameLength: bound(64, "device_unknown", "longer names are not looked for among those there are"),
  hintCandidates: bound(
    300,
    "device_unknown",
    "names compared with a wrong one, to tell the nearest: a fraction of a millisecond",
  ),
  hintsPerSecond: bound(100, "device_unknown", "wrong names that are answered with what may have been meant"),
  notificationBytes: bound(16 * KIB, "payload_too_large", "a device's event is kept in memory for resume"),
} as const satisfies Record<string, Bound>;

/** Firmware images: what may be handed in, and how many boards fetch them at a time. */
export const firmwareLimits = {
  imageBytes: bound(
    16 * 1024 * KIB,
    "payload_too_large",
    "the largest flash in use has 16 MB, and an application gets less than half of it",
  ),
  images: bound(200, "conflict", "each is a file of some megabytes, and is looked at when a board asks"),
  uploadsAtOnce: bound(2, "busy", "an image is held in memory while it is checked"),
  downloadsAtOnce: bound(32, "busy", "boards read slowly; more at a time only make each of them slower"),
  downloadMs: bound(900_000, "device_timeout", "4 MB at 5 KB a second; slower than that is stuck"),
  stalledMs: bound(60_000, "device_timeout", "the firmware itself gives up after 30 s without a byte"),
  linkMs: bound(
    1_800_000,
    "not_found",
    "a board fetches at once; what is found in a log later is worth nothing",
  ),
  urlLength: bound(512, "bad_request", "modems take it as one command, in hexadecimal"),
  offersPerDevice: bound(
    5,
    "conflict",
    "some firmware restarts when an update fails: without a bound it would do nothing else",
  ),
} as const satisfies Record<string, Bound>;
