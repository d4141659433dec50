/** A gateway for the tests of one protocol page, with a stock board over WebSocket that has two pages of tools. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { VirtualDevice, type VirtualDeviceOptions } from "@tendon/simulator";
import { afterAll, beforeAll } from "vitest";
import type { Answer } from "../http-client.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, type Offer, type RawDevice, tool } from "../raw-device.ts";
import { type Site, startSite } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";

const visionToken = "a-vision-token-for-tests";

/** A vision server as an operator configures it. */
class VisionServer {
  /** The Authorization headers of the uploads. */
  readonly authorizations: unknown[] = [];
  readonly #server = http.createServer((request, response) => {
    this.authorizations.push(request.headers.authorization);
    request.resume().on("end", () => response.end('{"success":true,"result":"A cup."}'));
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get capability(): { readonly url: string; readonly token: string } {
    const { port } = this.#server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/vision/explain`, token: visionToken };
  }

  close(): void {
    this.#server.close();
  }
}

export const volumeTool = tool("self.audio_speaker.set_volume", { volume: { type: "integer" } }, ["volume"]);

interface RecordedBoard {
  readonly board: VirtualDevice;
  /** The text frames on the board's side, in order. */
  readonly frames: readonly BoardFrame[];
}

interface BoardFrame {
  readonly from: "device" | "gateway";
  readonly frame: Fields;
}

class ProtocolSite {
  readonly site: Site;
  readonly vision: VisionServer;
  readonly #boards: VirtualDevice[] = [];
  #raw = 0;

  constructor(site: Site, vision: VisionServer) {
    this.site = site;
    this.vision = vision;
  }

  static async open(): Promise<ProtocolSite> {
    const vision = new VisionServer();
    await vision.listen();
    const capabilities = { vision: vision.capability, another: { since: 1 } };
    // The clock stands still: after 3 s the gateway would end the conversations that the hellos open.
    const site = await startSite({ config: { devices: { capabilities } }, clock: new ManualClock() });
    const page = new ProtocolSite(site, vision);
    await page.addBoard("WebSocket");
    return page;
  }

  /** The first board, over WebSocket. */
  get board(): VirtualDevice {
    const [board] = this.#boards;
    if (board === undefined) throw new TypeError("there is no board yet");
    return board;
  }

  /** Connects a stock board with ten tools of its own. */
  async addBoard(over: "WebSocket" | "MQTT"): Promise<RecordedBoard> {
    const number = this.#boards.length + 1;
    const mac = `02:00:00:00:0b:0${number}`;
    const clientId = `00000000-0000-4000-8000-00000000000${number}`;
    const { websocket, mqtt } = this.site.tendon.provision(mac, clientId);
    const way = over === "MQTT" ? { mqtt } : { url: websocket.url, token: websocket.token };
    const board = stockBoard({ board: { name: "esp-box-3", mac, clientId }, ...way });
    this.#boards.push(board);
    const frames: BoardFrame[] = [];
    board.on("frame", ({ direction, text }) => {
      frames.push({
        from: direction === "in" ? "gateway" : "device",
        frame: JSON.parse(text) as Fields,
      });
    });
    await board.connect();
    await this.site.listed(mac);
    return { board, frames };
  }

  /** A scripted device with an id of its own that has sent nothing yet. */
  async rawDevice(transport: DeviceTransport): Promise<RawDevice> {
    this.#raw += 1;
    return await this.site.connect({ transport, deviceId: `02:00:00:00:0d:${this.#raw + 10}` });
  }

  /** A scripted device whose tools are listed. */
  async joined(transport: DeviceTransport, offer: Offer): Promise<RawDevice> {
    const device = await this.rawDevice(transport);
    await device.greet();
    await device.setUp(offer);
    await this.site.listed(device.id);
    return device;
  }

  /** Sends one JSON-RPC message to a device through the gateway. */
  async send(message: Fields, device: { readonly id: string } = this.board): Promise<Answer> {
    return await this.site.rest("POST", `/devices/${device.id}/mcp`, message);
  }

  async stop(): Promise<void> {
    for (const board of this.#boards) await board.stop();
    await this.site.stop();
    this.vision.close();
  }
}

/** The gateway of the running tests. */
export type Page = () => ProtocolSite;

/** Opens the gateway before the tests of a file and closes it after them. */
export function protocolSite(): Page {
  let page: ProtocolSite | undefined;
  beforeAll(async () => {
    page = await ProtocolSite.open();
  });
  afterAll(async () => await page?.stop());
  return () => {
    if (page === undefined) throw new TypeError("the gateway has not started");
    return page;
  };
}

function stockBoard(options: VirtualDeviceOptions): VirtualDevice {
  const board = new VirtualDevice({ autoReconnect: false, ...options });
  for (let index = 0; index < 10; index += 1) {
    board.addTool(`self.robot.move_${index}`, "m".repeat(800), {}, () => true);
  }
  return board;
}

/** What a stock board answers to one payload, undefined if it stays silent, and what it logs about dropping it. */
export async function askBoard(
  payload: Fields,
): Promise<{ readonly answer: unknown; readonly log: string[] }> {
  const board = stockBoard({});
  const answers: string[] = [];
  const log: string[] = [];
  board.on("reply", ({ payload: bytes }) => answers.push(bytes.toString("utf8")));
  board.on("frame-ignored", ({ why }) => log.push(why));
  board.receiveMcp(JSON.stringify(payload));
  await board.idle();
  await board.stop();
  const [answer] = answers;
  return { answer: answer === undefined ? undefined : JSON.parse(answer), log };
}

export async function boardAnswer(payload: Fields): Promise<unknown> {
  return (await askBoard(payload)).answer;
}

export function payloadOf(frame: Fields): Fields {
  return frame["payload"] as Fields;
}

export function toolNamesIn(answer: Fields): string[] {
  return (answer["result"] as { readonly tools: readonly { readonly name: string }[] }).tools.map(
    ({ name }) => name,
  );
}
