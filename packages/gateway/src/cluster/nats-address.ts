import { StartError } from "../errors.ts";

export interface NatsAddress {
  readonly server: string;
  readonly tls: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The prefix of all subjects, so that two fleets can share a server. */
  readonly name: string;
  /** The number of servers of a NATS cluster that store each stream and bucket. */
  readonly replicas: number;
}

const defaultName = "tendon";

/** `nats://user:password@host:4222/name?replicas=3`; the name and `replicas` are optional. */
export function readNatsAddress(url: string): NatsAddress {
  const { protocol, host, username, password, pathname, searchParams } = new URL(url);
  const name = pathname.replaceAll("/", "");
  if (!/^[a-zA-Z0-9_-]{0,32}$/.test(name)) {
    throw new StartError("The name in `cluster` may have letters, digits, `_` and `-`, 32 at most.");
  }
  const replicas = Number(searchParams.get("replicas") ?? 1);
  if (![1, 3, 5].includes(replicas)) throw new StartError("`replicas` in `cluster` may be 1, 3 or 5.");
  return {
    replicas,
    server: host,
    tls: protocol === "tls:",
    user: username === "" ? undefined : decodeURIComponent(username),
    password: password === "" ? undefined : decodeURIComponent(password),
    name: name === "" ? defaultName : name,
  };
}
