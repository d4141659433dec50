/**
 * Error codes with their titles. Codes are stable, because programs branch on them; titles are for people. The gateway
 * maps codes to HTTP, JSON-RPC and WebSocket close codes.
 */
export const errorTitles = {
  unauthenticated: "A valid token is required",
  device_unknown: "Device not found",
  forbidden: "Not allowed",
  approval_required: "This call requires approval",
  tool_unknown: "Tool not found on this device",
  arguments_invalid: "The arguments do not match the tool's schema",
  device_offline: "The device is offline",
  queue_full: "Too many calls are waiting for this device",
  rate_limited: "Too many requests",
  device_disconnected: "The device disconnected before it answered",
  device_error: "The device reported an error",
  device_timeout: "The device did not answer in time",
  action_unknown: "Unknown action",
  bad_request: "Invalid request",
  payload_too_large: "The request is too large",
  conflict: "The request conflicts with the current state",
  not_found: "Not found",
  cancelled: "The call was cancelled",
  busy: "Too many operations of this kind are running",
  node_unreachable: "The gateway node that holds the device is unreachable",
  shutting_down: "The gateway is stopping",
  storage_unavailable: "The database does not answer",
  internal: "Internal gateway error",
} as const;

export type ErrorCode = keyof typeof errorTitles;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorTitles, text);
}
