/** One node as a process, with devices that connect to it and calls to it. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type RunningTendon, startServe } from "../../packages/cli/test/run-tendon.ts";
import { type Answer, askAll, type Json } from "../http-client.ts";
import { until } from "../inbox.ts";
import { RawDevice, type ToolEntry } from "../raw-device.ts";
import { webSocketTransport } from "../websocket-wire.ts";

export const clusterToken = "an-admin-token-for-a-cluster";
const clientId = "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01";

export class ProcessNode {
  readonly url: string;
  readonly #process: RunningTendon;
  readonly #devices: RawDevice[] = [];
  #running = true;

  private constructor(url: string, process: RunningTendon) {
    this.url = url;
    this.#process = process;
  }

  static async start(env: Record<string, string>): Promise<ProcessNode> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-node-"));
    const { process, url } = await startServe(folder, [], {
      TENDON_TOKEN: clusterToken,
      TENDON_DEVICES_ADMISSION: "open",
      TENDON_DRAIN_READY_DELAY_MS: "0",
      TENDON_DRAIN_TIMEOUT_MS: "5000",
      ...env,
    });
    const node = new ProcessNode(url, process);
    onTestFinished(async () => {
      await node.kill();
      fs.rmSync(folder, { recursive: true, force: true });
    });
    return node;
  }

  /** The lines of its log with this level or a higher one, such as 50 for errors. */
  logged(level: number): string[] {
    return this.#process.stderr.split("\n").filter((line) => {
      const [, found] = /"level":(\d+)/.exec(line) ?? [];
      return Number(found) >= level;
    });
  }

  async metric(name: string): Promise<number> {
    const { text } = await askAll(this.url, { path: "/metrics" });
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
    return line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
  }

  /** Whether the process runs and was not asked to stop. */
  get running(): boolean {
    return this.#running;
  }

  async rest(
    method: string,
    at: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return await askAll(this.url, {
      method,
      path: `/api/v1${at}`,
      headers: {
        authorization: `Bearer ${clusterToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  async get(at: string): Promise<{ [key: string]: Json }> {
    return (await this.rest("GET", at)).body;
  }

  /** `key` is the request's Idempotency-Key. */
  async call(
    device: string,
    tool: string,
    { key, ...more }: { readonly timeoutMs?: number; readonly key?: string } = {},
  ): Promise<Answer> {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const at = `/devices/${device}/tools/${tool}/call`;
    return await this.rest("POST", at, { arguments: {}, ...more }, headers);
  }

  async ready(): Promise<Answer> {
    return await askAll(this.url, { path: "/readyz" });
  }

  async sees(nodes: number): Promise<void> {
    await until(async () => {
      const { nodes: seen } = await this.get("/nodes");
      return (seen as Json[]).length === nodes;
    }, `${nodes} nodes`);
  }

  async join(deviceId: string, tools: readonly ToolEntry[]): Promise<RawDevice> {
    const wire = await webSocketTransport.connect(this.url, { deviceId, clientId });
    const device = new RawDevice(wire, deviceId, true);
    this.#devices.push(device);
    await device.greet();
    await device.setUp({ tools });
    return device;
  }

  freeze(): void {
    this.#process.signal("SIGSTOP");
  }

  thaw(): void {
    this.#process.signal("SIGCONT");
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#process.end("SIGTERM");
  }

  async kill(): Promise<void> {
    this.#running = false;
    for (const device of this.#devices) device.cut();
    this.thaw();
    await this.#process.end("SIGKILL");
  }
}
