import { StartError } from "../errors.ts";

export interface NatsAddress {
  /** `host:port` of each server of a NATS cluster, in the order of the setting. */
  readonly servers: readonly string[];
  readonly tls: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The prefix of all subjects, so that two fleets can share a server. */
  readonly name: string;
  /** The number of servers of a NATS cluster that store each stream and bucket. */
  readonly replicas: number;
}

const defaultName = "tendon";

/** `nats://user:password@one:4222,two:4222/name?replicas=3`; further servers, the name and `replicas` are optional. */
export function readNatsAddress(url: string): NatsAddress {
  const [, scheme = "", who = "", hosts = "", rest = ""] =
    /^([a-z]+:\/\/)([^/]*@)?([^/?]*)(.*)$/s.exec(url) ?? [];
  const [first = "", ...others] = hosts.split(",").map((host) => host.trim());
  const { protocol, host, username, password, pathname, searchParams } = readUrl(
    `${scheme}${who}${first}${rest}`,
  );
  const servers = [host, ...others.map((other) => readUrl(`${scheme}${other}`).host)];
  const name = pathname.replaceAll("/", "");
  if (!/^[a-zA-Z0-9_-]{0,32}$/.test(name)) {
    throw new StartError("The name in `cluster` may have letters, digits, `_` and `-`, 32 at most.");
  }
  const replicas = Number(searchParams.get("replicas") ?? 1);
  if (![1, 3, 5].includes(replicas)) throw new StartError("`replicas` in `cluster` may be 1, 3 or 5.");
  return {
    replicas,
    servers,
    tls: protocol === "tls:",
    user: username === "" ? undefined : decodeURIComponent(username),
    password: password === "" ? undefined : decodeURIComponent(password),
    name: name === "" ? defaultName : name,
  };
}

function readUrl(text: string): URL {
  if (URL.canParse(text) && new URL(text).host !== "") return new URL(text);
  throw new StartError("`cluster` must be `nats://host:4222`, or several hosts separated by commas.");
}
