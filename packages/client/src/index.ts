/** A typed client of the gateway for programs in TypeScript and JavaScript. */
export { type CallSettings, isQueued, type QueueSettings, TendonClient } from "./client.ts";
export { AnswerLostError, NotAGatewayError, TendonApiError } from "./errors.ts";
export type { EventSettings } from "./events.ts";
export type { HttpSettings, RequestSettings } from "./http.ts";
