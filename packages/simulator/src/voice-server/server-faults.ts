import { FaultError } from "../errors.ts";

/** Ways in which voice servers have been seen to fail. */
export const serverFaults = {
  refuse: "answers the upgrade with 401",
  "refuse-in-words": "accepts, says in plain text that the token is wrong, and closes",
  silent: "accepts and never answers the hello",
  "slow-hello": "answers the hello after four seconds",
  "leave-before-hello": "closes when it gets the hello",
  garbage: "mixes texts that are not JSON and broken audio frames into everything it sends",
  "no-session-id": "leaves the session id out of its hello",
  "odd-session-id": "has a session id with quotes and backslashes",
  "close-mid-sentence": "closes in order in the middle of its first sentence",
  "drop-mid-sentence": "breaks the connection off in the middle of its first sentence",
  flood: "says its sentences five hundred times over",
  deaf: "reads nothing after its hello",
} as const;

export type ServerFaultName = keyof typeof serverFaults;

export function serverFaultsNamed(names: readonly string[]): Set<ServerFaultName> {
  return new Set(
    names.map((name) => {
      if (Object.hasOwn(serverFaults, name)) return name as ServerFaultName;
      throw new FaultError(`there is no fault "${name}"; there are ${Object.keys(serverFaults).join(", ")}`);
    }),
  );
}
