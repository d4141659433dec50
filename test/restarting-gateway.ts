/** One data folder, and the gateways that run on it one after the other, in this process. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type ConfigInput, startTendon, type Tendon } from "@tendon/gateway";
import { onTestFinished } from "vitest";
import { EventReader } from "./event-reader.ts";
import { type Answer, ask, askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { type Offer, RawDevice } from "./raw-device.ts";
import { webSocketTransport } from "./websocket-wire.ts";

const adminToken = "an-admin-token-for-restarts";
const clientId = "11111111-2222-4333-8444-555555555555";

export class RestartingGateway {
  readonly folder: string;
  readonly #config: ConfigInput;
  #tendon: Tendon;
  readonly #open = new Set<{ close(): void }>();

  private constructor(folder: string, config: ConfigInput, tendon: Tendon) {
    this.folder = folder;
    this.#config = config;
    this.#tendon = tendon;
  }

  static async start(config: ConfigInput = {}): Promise<RestartingGateway> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-restarts-"));
    const gateway = new RestartingGateway(folder, config, await run(folder, config));
    onTestFinished(async () => {
      await gateway.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    });
    return gateway;
  }

  get tendon(): Tendon {
    return this.#tendon;
  }

  async stop(): Promise<void> {
    for (const thing of this.#open) thing.close();
    this.#open.clear();
    await this.#tendon.stop();
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#tendon = await run(this.folder, this.#config);
  }

  async rest(method: string, at: string, body?: unknown, token = adminToken): Promise<Answer> {
    return await askAll(this.#tendon.url, {
      method,
      path: `/api/v1${at}`,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  async metric(name: string): Promise<number> {
    const { text } = await askAll(this.#tendon.url, { path: "/metrics" });
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  }

  async events(query = "", lastEventId?: string, token = adminToken): Promise<EventReader> {
    const response = await ask(this.#tendon.url, {
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

  /** A device with credentials of its own that has come, and is listed. */
  async join(deviceId: string, offer: Offer = {}): Promise<RawDevice> {
    const { token } = this.#tendon.provision(deviceId, clientId).websocket;
    const wire = await webSocketTransport.connect(this.#tendon.url, { deviceId, clientId, token });
    const device = new RawDevice(wire, deviceId);
    this.#open.add({ close: () => device.cut() });
    await device.greet();
    await device.setUp(offer);
    const complete = async () =>
      (await this.rest("GET", `/devices/${deviceId}`)).body["toolsComplete"] === true;
    await until(complete, "a complete list");
    return device;
  }
}

async function run(folder: string, config: ConfigInput): Promise<Tendon> {
  return await startTendon(
    { data: folder, log: { level: "silent" }, ...config, http: { port: 0 }, mqtt: { port: 0 } },
    { adminToken },
  );
}
