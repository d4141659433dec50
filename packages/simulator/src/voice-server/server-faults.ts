import { FaultError } from "../errors.ts";

/** Failures that were observed in voice servers. */
export const serverFaults = {
  refuse: "answers the upgrade with 401",
  "refuse-in-words": "accepts, reports in plain text that the token is wrong, and closes",
  silent: "accepts and never answers the hello",
  "slow-hello": "answers the hello after four seconds",
  "leave-before-hello": "closes when it gets the hello",
  garbage: "sends invalid JSON and broken audio frames in between",
  "no-session-id": "sends a hello without a session id",
  "odd-session-id": "uses a session id with quotes and backslashes",
  "close-mid-sentence": "closes the connection in the middle of its first sentence",
  "drop-mid-sentence": "drops the connection in the middle of its first sentence",
  flood: "repeats its sentences five hundred times",
  deaf: "reads nothing after its hello",
} as const;

export type ServerFaultName = keyof typeof serverFaults;

export function serverFaultsNamed(names: readonly string[]): Set<ServerFaultName> {
  return new Set(
    names.map((name) => {
      if (Object.hasOwn(serverFaults, name)) return name as ServerFaultName;
      throw new FaultError(`unknown fault "${name}"; known faults: ${Object.keys(serverFaults).join(", ")}`);
    }),
  );
}
