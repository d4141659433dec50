import { WebSocket } from "ws";
import { Inbox } from "./inbox.ts";
import { secretWatch } from "./secret-watch.ts";
import type { DeviceClaim, DeviceTransport, DeviceWire } from "./transport.ts";

/** The gateway rejected the upgrade with this HTTP answer. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;

  constructor(status: number, contentType: string | undefined, body: string) {
    super(`refused with ${status}: ${body}`);
    this.status = status;
    this.contentType = contentType;
    this.body = body;
  }
}

export interface WebSocketClaim {
  readonly headers: Readonly<Record<string, string>>;
  readonly autoPong?: boolean;
  readonly path?: string;
}

export class WebSocketWire implements DeviceWire {
  readonly socket: WebSocket;
  readonly ended: Promise<{ code: number; reason: string }>;
  pings = 0;
  readonly #texts = new Inbox<string>("frame");

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) return;
      const text = data.toString("utf8");
      secretWatch.learn(text, "a device's frame");
      this.#texts.put(text);
    });
    socket.on("ping", () => {
      this.pings += 1;
    });
    socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: reason.toString("utf8") }));
    });
  }

  static async open(gatewayUrl: string, claim: WebSocketClaim): Promise<WebSocketWire> {
    const url = `${gatewayUrl.replace(/^http/, "ws")}${claim.path ?? "/xiaozhi/v1/"}`;
    secretWatch.asked("GET", url, claim.headers, undefined);
    const socket = new WebSocket(url, {
      headers: claim.headers,
      rejectUnauthorized: false,
      perMessageDeflate: false,
      autoPong: claim.autoPong ?? true,
    });
    // Registered before the first frame can arrive.
    const wire = new WebSocketWire(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
      socket.once("unexpected-response", (_request, response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const body = Buffer.concat(chunks).toString("utf8");
          secretWatch.show(body, "a refusal");
          reject(new Refused(response.statusCode ?? 0, response.headers["content-type"], body));
        });
      });
    });
    return wire;
  }

  get untaken(): readonly string[] {
    return this.#texts.waiting;
  }

  sendText(text: string): void {
    this.socket.send(text);
  }

  sendBinary(bytes: Uint8Array): void {
    this.socket.send(bytes);
  }

  async nextText(): Promise<string> {
    return await this.#texts.take();
  }

  cut(): void {
    this.socket.terminate();
  }

  close(): void {
    this.socket.close();
  }
}

export function deviceHeaders(claim: DeviceClaim, version = 1): Record<string, string> {
  return {
    "Protocol-Version": String(version),
    "Device-Id": claim.deviceId,
    "Client-Id": claim.clientId,
    ...(claim.token === undefined ? {} : { Authorization: `Bearer ${claim.token}` }),
  };
}

export const webSocketTransport: DeviceTransport = {
  name: "WebSocket",
  helloTransport: "websocket",
  restName: "websocket",
  beginsWithHello: true,
  sentAwayCode: 1001,
  connect: async (gatewayUrl, claim) =>
    await WebSocketWire.open(gatewayUrl, { headers: deviceHeaders(claim), autoPong: claim.pongs ?? true }),
};
