/**
 * The composition root: builds every room and connects their doors. Wiring only; what is decided is decided in the
 * rooms. Also the library's entry: `startTendon` runs a gateway inside another program.
 */
import { hash, randomUUID, timingSafeEqual } from "node:crypto";
import os from "node:os";
import type { Logger } from "pino";
import { type Addresses, addressesOf, isLoopbackHost } from "./addresses.ts";
import {
  createHttp,
  docsRoutes,
  type Http,
  type IdentifyToken,
  operationRoutes,
  restRoutes,
} from "./agent/agent.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Config, type ConfigInput, loadConfig } from "./config.ts";
import { DeviceSession, Liveness, randomFirstId, WebSocketDevices } from "./device/device.ts";
import { messageOf, StartError } from "./errors.ts";
import { Events } from "./events.ts";
import { createLogger } from "./logging.ts";
import { Metrics } from "./metrics.ts";
import { Credentials, type Principal, Registry } from "./registry/registry.ts";
import { type AdminToken, announceGateway, openDataFolder, readOrMakeAdminToken } from "./store/store.ts";
import { version } from "./version.ts";

export interface StartOptions {
  /** The admin token of this run, instead of the one in the data folder. */
  readonly adminToken?: string | undefined;
  /** Lets anybody's device in even where the gateway listens beyond this machine. */
  readonly allowOpen?: boolean | undefined;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** A running gateway. */
export interface Tendon {
  readonly url: string;
  readonly addresses: Addresses;
  readonly config: Config;
  /** Where the admin token is kept; `undefined` when it was handed in. */
  readonly adminToken: AdminToken | undefined;
  /** Credentials for a device that is about to connect. */
  provision(id: string, clientId: string): { readonly deviceId: string; readonly token: string };
  /** No new calls, running ones finish or fail with a code, devices are told, everything is closed. */
  stop(): Promise<void>;
}

const drainMs = 2_000;
const deviceCloseMs = 1_200;
const devicePaths = new Set(["/xiaozhi/v1/", "/xiaozhi/v1"]);

/** Starts a gateway from settings alone; the environment and tendon.yaml are not looked at. */
export function startTendon(settings: ConfigInput = {}, options: StartOptions = {}): Promise<Tendon> {
  return startGateway(loadConfig({ overrides: settings }).config, options);
}

export async function startGateway(config: Config, options: StartOptions): Promise<Tendon> {
  refuseOpenToTheWorld(config, options);
  const clock = options.clock ?? systemClock;
  const log = options.logger ?? (await createLogger(config.log.level));
  const dataFolder = openDataFolder(config.data);
  const adminToken = options.adminToken === undefined ? readOrMakeAdminToken(dataFolder) : undefined;
  const identify = identifyAdmin(options.adminToken ?? adminToken?.token ?? "");

  const metrics = new Metrics();
  const events = new Events(clock, log, metrics);
  const registry = new Registry({
    clock,
    events,
    node: os.hostname(),
    defaultTimeoutMs: config.calls.timeoutMs,
  });
  const credentials = new Credentials(config.devices.admission);
  const liveness = new Liveness(clock);
  const devices = new WebSocketDevices({
    clock,
    events,
    admit: (claim) => credentials.admit(claim),
    open(identity, link) {
      const session = new DeviceSession(identity, link, {
        clock,
        events,
        owner: registry,
        sessionId: randomUUID(),
        firstRequestId: randomFirstId(Math.random()),
        queueLimit: config.calls.queue,
        capabilities: () => config.devices.capabilities,
      });
      liveness.watch(session);
      return session;
    },
  });

  const http = await createHttp({
    ...config.http,
    publicUrl: config.http.publicUrl,
    version,
    reportFault: (error) => log.error({ err: error }, "a request failed"),
  });
  let stopping = false;
  const addresses = () => addressesOf(config.http.host, portOf(http), config.http.publicUrl);
  operationRoutes(http, {
    metrics,
    events,
    identify,
    unready: () => (stopping ? ["the gateway is stopping"] : []),
  });
  await docsRoutes(http);
  await restRoutes(http, {
    registry,
    credentials,
    events,
    identify,
    deviceUrl: () => addresses().deviceWebSocket,
  });
  http.server.on("upgrade", (request, socket, head) => {
    if (devicePaths.has((request.url ?? "").split("?")[0] ?? "")) devices.upgrade(request, socket, head);
    else socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  await listen(http, config);
  const withdraw = announceGateway(dataFolder, addresses().local);
  log.info({ url: addresses().local, admission: config.devices.admission, version }, "gateway started");

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping = true;
    withdraw();
    log.info("gateway stopping");
    await within(clock, drainMs, registry.calls.drain());
    const leaving = registry.sessions();
    for (const session of leaving) session.close(1001, "the gateway is stopping");
    await within(clock, deviceCloseMs, devices.allClosed());
    devices.stop();
    liveness.stop();
    await http.close();
    log.info("gateway stopped");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
  };
  return {
    url: addresses().local,
    addresses: addresses(),
    config,
    adminToken,
    provision: (id, clientId) => credentials.provision(id, clientId),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

function refuseOpenToTheWorld(config: Config, options: StartOptions): void {
  if (config.devices.admission !== "open" || isLoopbackHost(config.http.host) || options.allowOpen === true)
    return;
  throw new StartError(
    `With devices.admission \`open\` anybody who reaches ${config.http.host} could connect a device. ` +
      "Listen on 127.0.0.1, choose another admission, or say --allow-open.",
  );
}

function identifyAdmin(token: string): IdentifyToken {
  const expected = hash("sha256", token, "buffer");
  const admin: Principal = { name: "admin", scopes: new Set(["admin"]) };
  return (given) => (timingSafeEqual(expected, hash("sha256", given, "buffer")) ? admin : undefined);
}

async function listen(http: Http, config: Config): Promise<void> {
  const { host, port } = config.http;
  try {
    await http.listen({ host, port });
  } catch (error) {
    await http.close();
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new StartError(
        `Port ${port} on ${host} is taken. Choose another with --port, or 0 for any free one.`,
      );
    }
    throw new StartError(`Cannot listen on ${host}:${port} (${messageOf(error)}).`, [], error);
  }
}

function portOf(http: Http): number {
  const address = http.server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Waits for the promise, but not longer than this. */
async function within(clock: Clock, ms: number, promise: Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    void promise.finally(() => {
      timer.cancel();
      resolve();
    });
  });
}
