/**
 * The codes that cross a wire. A code is stable: programs branch on it; the title is for people.
 * How a code maps to HTTP, JSON-RPC and WebSocket close codes is the gateway's business.
 */
export const errorTitles = {
  unauthenticated: "A valid token is needed",
  device_unknown: "No such device",
  forbidden: "Not allowed",
  approval_required: "A person has to approve this call",
  tool_unknown: "The device has no such tool",
  arguments_invalid: "The arguments do not fit the tool's schema",
  device_offline: "The device is offline",
  queue_full: "Too many calls are waiting for this device",
  rate_limited: "Too many requests",
  device_disconnected: "The device left before it answered",
  device_error: "The device reported an error",
  device_timeout: "The device did not answer in time",
  action_unknown: "No such action",
  bad_request: "The request is not understood",
  payload_too_large: "The request is too large",
  conflict: "The request conflicts with an earlier one",
  not_found: "Nothing is here",
  cancelled: "The caller gave up",
  busy: "Too much of this is going on at the moment",
  node_unreachable: "The gateway node that holds the device cannot be reached",
  shutting_down: "The gateway is stopping",
  storage_unavailable: "The database does not answer",
  internal: "Something went wrong inside the gateway",
} as const;

export type ErrorCode = keyof typeof errorTitles;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorTitles, text);
}
