/** One data folder, and the gateways that run with it one after the other. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type ConfigInput, startTendon } from "@tendon/gateway";
import { onTestFinished } from "vitest";
import { startServe } from "../packages/cli/test/run-tendon.ts";
import { EventReader } from "./event-reader.ts";
import { type Answer, ask, askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { type Offer, RawDevice } from "./raw-device.ts";
import { secretWatch } from "./secret-watch.ts";
import { webSocketTransport } from "./websocket-wire.ts";

const adminToken = "an-admin-token-for-restarts";
const clientId = "11111111-2222-4333-8444-555555555555";

interface Run {
  readonly url: string;
  stop(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
}

type Launch = (folder: string) => Promise<Run>;

/** In this process: fast, but cannot be killed. */
function inThisProcess(config: ConfigInput): Launch {
  return async (folder) => {
    const tendon = await startTendon(
      { data: folder, log: { level: "silent" }, ...config, http: { port: 0 }, mqtt: { port: 0 } },
      { adminToken, logger: secretWatch.logger() },
    );
    return {
      url: tendon.url,
      stop: () => tendon.stop(),
      kill: () => Promise.reject(new TypeError("this would be the end of the test")),
    };
  };
}

/** As a `tendon serve` process. */
export function inItsOwnProcess(env: Record<string, string> = {}): Launch {
  return async (folder) => {
    const { process, url } = await startServe(folder, [], { TENDON_TOKEN: adminToken, ...env });
    const end = async (signal: NodeJS.Signals) => {
      await process.end(signal);
    };
    return { url, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
  };
}

export class RestartingGateway {
  readonly folder: string;
  readonly #launch: Launch;
  readonly #open = new Set<{ close(): void }>();
  #run: Run;

  private constructor(folder: string, launch: Launch, run: Run) {
    this.folder = folder;
    this.#launch = launch;
    this.#run = run;
  }

  /** With settings it runs in this process, which is fast; with a launch, as given there. */
  static async start(how: ConfigInput | Launch = {}): Promise<RestartingGateway> {
    const launch = typeof how === "function" ? how : inThisProcess(how);
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-restarts-"));
    const gateway = new RestartingGateway(folder, launch, await launch(folder));
    onTestFinished(async () => {
      await gateway.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    });
    return gateway;
  }

  /** The address of the gateway that runs now. */
  get url(): string {
    return this.#run.url;
  }

  async start(): Promise<void> {
    this.#run = await this.#launch(this.folder);
  }

  async stop(): Promise<void> {
    await this.#run.stop();
    this.#closeAll();
  }

  async kill(): Promise<void> {
    await this.#run.kill();
    this.#closeAll();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async rest(
    method: string,
    at: string,
    body?: unknown,
    token = adminToken,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return await askAll(this.#run.url, {
      method,
      path: `/api/v1${at}`,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  async metric(name: string): Promise<number> {
    const { text } = await askAll(this.#run.url, { path: "/metrics" });
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  }

  async events(query = "", lastEventId?: string, token = adminToken): Promise<EventReader> {
    const response = await ask(this.#run.url, {
      path: `/api/v1/events${query}`,
      headers: {
        authorization: `Bearer ${token}`,
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      },
    });
    const reader = new EventReader(response);
    this.#open.add(reader);
    return reader;
  }

  /** Provisions a device and returns its token. */
  async provision(deviceId: string): Promise<string> {
    const { body } = await this.rest("POST", "/devices/provision", { id: deviceId, clientId });
    return (body["websocket"] as { token: string }).token;
  }

  /** A connected and listed device, with its credentials or new ones. */
  async join(deviceId: string, offer: Offer = {}, token?: string): Promise<RawDevice> {
    const claim = { deviceId, clientId, token: token ?? (await this.provision(deviceId)) };
    const wire = await webSocketTransport.connect(this.#run.url, claim);
    const device = new RawDevice(wire, deviceId);
    this.#open.add({ close: () => device.cut() });
    await device.greet();
    await device.setUp(offer);
    const complete = async () =>
      (await this.rest("GET", `/devices/${deviceId}`)).body["toolsComplete"] === true;
    await until(complete, "a complete list");
    return device;
  }

  #closeAll(): void {
    for (const thing of this.#open) thing.close();
    this.#open.clear();
  }
}
