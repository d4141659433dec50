import net from "node:net";
import { type Config, examineHomeAssistant, examineStorage, StartError } from "@tendon/gateway";
import { type Finding, failed, fine } from "./finding.ts";

export interface StorageFindings {
  readonly findings: Finding[];
  readonly clockAheadMs: number | undefined;
}

const connectMs = 3_000;

/** Read-only: the gateway creates and migrates the tables when it starts. */
export async function checkStorage(config: Config): Promise<StorageFindings> {
  const { location, state, detail, clockAheadMs } = await examineStorage(config.storage, config.data);
  if (state === "ready" || state === "empty") {
    return { findings: [fine("storage", `${location}: ${detail}`)], clockAheadMs };
  }
  const todo =
    state === "newer"
      ? "run the newer version of tendon, or choose another database with --data or `storage`"
      : config.storage === "sqlite:"
        ? "check the file; you can replace it with a backup while the gateway is stopped"
        : "check that PostgreSQL is running there, and check user, password and database in `storage`";
  const why = "the gateway does not start without it";
  return { findings: [failed("storage", { message: `${location}: ${detail}`, why, todo })], clockAheadMs };
}

/** Checks whether the other servers in the configuration accept connections. It does not sign in. */
export async function checkServers({ mqtt, cluster }: Config): Promise<Finding[]> {
  const servers = [
    { check: "broker", url: mqtt.broker, usual: { "mqtt:": 1883, "mqtts:": 8883 }, setting: "mqtt.broker" },
    ...natsServers(cluster).map((url) => ({
      check: "cluster",
      url,
      usual: { "nats:": 4222, "tls:": 4222 },
      setting: "cluster",
    })),
  ];
  const found = servers.map(async ({ check, url, usual, setting }): Promise<Finding[]> => {
    if (url === undefined) return [];
    const { hostname, port, protocol } = new URL(url);
    const known: Record<string, number> = usual;
    const at = { host: hostname, port: Number(port || known[protocol]) };
    const problem = await tryToConnect(at);
    if (problem === undefined) return [fine(check, `${at.host}:${at.port} accepts connections`)];
    return [
      failed(check, {
        message: `nothing answers at ${at.host}:${at.port} (${problem})`,
        why: check === "cluster" ? "a node does not start without it" : "devices cannot be reached over MQTT",
        todo: `start it, or check \`${setting}\` and the firewalls in between`,
      }),
    ];
  });
  return (await Promise.all(found)).flat();
}

/** Signs in to Home Assistant's broker, because only then it tells which version of MQTT it speaks. */
export async function checkHomeAssistant({ homeAssistant }: Config): Promise<Finding[]> {
  if (homeAssistant === undefined) return [];
  const check = "home assistant";
  const { host } = new URL(homeAssistant.broker);
  const found = await examineHomeAssistant(homeAssistant).catch((error: unknown) => {
    if (error instanceof StartError) return { problem: error.message };
    throw error;
  });
  if ("problem" in found) {
    const message = `the broker at ${host} does not accept the gateway (${found.problem})`;
    const todo = "check `homeAssistant.broker`, its user and password, and the firewalls in between";
    return [failed(check, { message, why: "Home Assistant does not show the devices", todo })];
  }
  if (found.version === "5") return [fine(check, `${host} accepts the gateway, MQTT 5`)];
  const message = `the broker at ${host} speaks MQTT ${found.version} only`;
  const why = "Home Assistant needs MQTT 5 from version 2027.1 on, and commands have no expiry";
  return [failed(check, { message, why, todo: "update the broker, such as Mosquitto 2" })];
}

/** The servers of a NATS cluster are separated by commas. */
function natsServers(cluster: string | undefined): string[] {
  const [, scheme = "", hosts] = /^([a-z]+:\/\/)(?:[^/]*@)?([^/?]*)/.exec(cluster ?? "") ?? [];
  return hosts === undefined ? [] : hosts.split(",").map((host) => `${scheme}${host.trim()}`);
}

export function tryToConnect(at: {
  readonly host: string;
  readonly port: number;
}): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect(at);
    const end = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(connectMs, () => end("no answer"));
    socket.once("connect", () => end(undefined));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
