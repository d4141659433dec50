import { FaultError } from "../errors.ts";

/** Failures that were observed in MCP servers over HTTP. */
export const httpFaults = {
  "lose-sessions": "forgets its session before every second call, and answers 404",
  "lose-sessions-400": "forgets its session before every second call, and answers 400 with a text",
  "no-ping": "does not know `ping`",
  "no-stream": "has no stream of its own: GET is answered with 405",
  slow: "answers every call after half a second",
  mute: "never answers a call",
  "drop-mid-call": "closes the connection while a call runs",
  "end-stream": "ends the answer of a call without a result",
  "broken-json": "answers calls with text that is not JSON",
  "huge-answer": "answers calls with two megabytes",
  "http-500": "answers calls with HTTP 500",
  redirect: "answers everything with a redirect to another path",
  unauthorized: "answers everything with HTTP 401",
  flood: "sends ten thousand notifications with each answer",
} as const;

export type HttpFault = keyof typeof httpFaults;

export function httpFaultsNamed(names: readonly string[]): Set<HttpFault> {
  return new Set(
    names.map((name) => {
      if (Object.hasOwn(httpFaults, name)) return name as HttpFault;
      throw new FaultError(`unknown fault "${name}"; known faults: ${Object.keys(httpFaults).join(", ")}`);
    }),
  );
}
