/** A gateway with a scripted voice server, and boards that talk through it or directly to the server. */
import type { ConfigInput } from "@tendon/gateway";
import {
  type BoardConnection,
  type DeviceEvent,
  VirtualDevice,
  type VirtualDeviceOptions,
  VoiceServer,
  type VoiceServerOptions,
  webSocketTransport,
} from "@tendon/simulator";
import { onTestFinished } from "vitest";
import { Inbox, until } from "../inbox.ts";
import { type AtEnd, openSite, type Site, type SiteOptions } from "../site.ts";

export interface Upstream {
  readonly server: VoiceServer;
  /** The connections, in order. */
  readonly connections: Inbox<BoardConnection>;
}

/** By default the server stops with the test. */
export async function openUpstream(
  options: VoiceServerOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Upstream> {
  const connections = new Inbox<BoardConnection>("connection");
  const server = await VoiceServer.start({
    record: true,
    ...options,
    script: { paceMs: 0, ...options.script },
    onConnection: (connection) => connections.put(connection),
  });
  atEnd(() => server.stop());
  return { server, connections };
}

type UpstreamSettings = NonNullable<NonNullable<ConfigInput["voice"]>["upstream"]>;

/** A site whose boards use this voice server. */
export async function openVoiceSite(
  upstream: string | UpstreamSettings,
  options: SiteOptions = {},
): Promise<Site> {
  const settings = typeof upstream === "string" ? [{ url: upstream }] : upstream;
  const voice = { upstream: settings, ...options.config?.voice };
  return await openSite({ ...options, config: { ...options.config, voice } });
}

/** A virtual board that is stopped with the test. */
function board(options: VirtualDeviceOptions): VirtualDevice {
  const device = new VirtualDevice({ autoReconnect: false, ...options });
  onTestFinished(() => device.stop());
  return device;
}

export const boardId = "02:00:00:00:0a:01";
const clientId = "0b6ff1d2-5a0e-4a52-8a64-5a60a6f0c0de";

interface BoardOptions {
  readonly id?: string;
  /** Its audio framing. */
  readonly version?: 1 | 2 | 3;
}

/** A board over WebSocket that was provisioned by the gateway. */
export function webSocketBoard(site: Site, { id = boardId, version = 1 }: BoardOptions = {}): VirtualDevice {
  const { url, token } = site.tendon.provision(id, clientId).websocket;
  return board({ board: { mac: id, clientId }, transport: webSocketTransport({ url, token, version }) });
}

/** A board over MQTT that was provisioned by the gateway. */
export function mqttBoard(site: Site, { id = boardId }: BoardOptions = {}): VirtualDevice {
  return board({ board: { mac: id, clientId }, mqtt: site.tendon.provision(id, clientId).mqtt });
}

/** The same board, connected directly to the voice server. */
export function directBoard(
  server: VoiceServer,
  { id = boardId, version = 1 }: BoardOptions = {},
): VirtualDevice {
  return board({ board: { mac: id, clientId }, transport: webSocketTransport({ url: server.url, version }) });
}

/** The texts and audio that a board received, in order, without MCP. */
export class Ear {
  readonly said: string[] = [];

  constructor(device: VirtualDevice) {
    device.observe((event) => this.#take(device, event));
  }

  #take(device: VirtualDevice, event: DeviceEvent): void {
    if (event.kind === "audio" && event.direction === "in") {
      this.said.push(`audio ${Buffer.from(event.packet).toString("base64")}`);
    }
    if (event.kind !== "frame" || event.direction !== "in" || /"type":"mcp"/.test(event.text)) return;
    // Only the session id differs, which the hello contains.
    const id = /"session_id":"([^"]*)"/.exec(event.text)?.[1] ?? device.sessionId;
    this.said.push(event.text.replaceAll(id, "SESSION"));
  }
}

/** What the voice server received, without MCP. */
export function receivedBy(connection: BoardConnection): string[] {
  return connection.received.flatMap((item) => {
    if (item.kind === "audio") return [`audio ${item.frame.toString("base64")}`];
    return /"type":"mcp"/.test(item.text) ? [] : [item.text];
  });
}

/** Sends a question and waits for the end of the answer. */
export async function ask(device: VirtualDevice, connection: BoardConnection): Promise<void> {
  // Over MQTT, text and audio use different paths, and one may overtake the other.
  await until(() => connection.listening, "the board to listen");
  const answered = device.waitFor(
    "phase",
    ({ phase, previous }) => phase === "listening" && previous === "speaking",
  );
  await device.speak({ paceMs: 0 });
  await answered;
  await device.idle();
}

/** Two questions and answers, a wake word between them, an interruption at the end. */
export async function talk(
  device: VirtualDevice,
  upstream: Upstream,
): Promise<{ readonly ear: Ear; readonly connection: BoardConnection }> {
  const ear = new Ear(device);
  await device.openAudio();
  const connection = await upstream.connections.take();
  await ask(device, connection);
  device.wakeWord("hello there");
  await ask(device, connection);
  const stopped = device.waitFor("message", ({ fields }) => fields["state"] === "stop");
  device.abort(true);
  await stopped;
  return { ear, connection };
}
