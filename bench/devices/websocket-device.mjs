import net from "node:net";
import { completesListing, firmwares, macOf, resultOf } from "./firmwares.mjs";
import { clientFrame, readFrames } from "./frames.mjs";

const textFrame = 1;
const closeFrame = 8;
const pingFrame = 9;
const pongFrame = 10;
const hello = clientFrame(
  textFrame,
  '{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}',
);
const empty = Buffer.alloc(0);

/**
 * A device over WebSocket. `onListed` is called when the last page of its tools has been sent, `onClosed` when the
 * connection has ended, with the status of the response if the server rejected the handshake.
 */
export class WebSocketDevice {
  #socket;
  #firmware;
  #isOpen = false;
  #rest = empty;
  #onListed;
  /** With `record`: the frames of the server after each frame of the device. */
  #record;

  constructor({ host, port, path, localAddress }, index, { onListed, onClosed, record }) {
    this.#firmware = firmwares[index % firmwares.length];
    this.#onListed = onListed;
    this.#record = record;
    const socket = net.connect({ host, port, ...(localAddress === undefined ? {} : { localAddress }) });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () =>
      onClosed?.(this.#isOpen ? "connected" : this.#rest.toString("latin1").slice(9, 12)),
    );
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
        `Protocol-Version: 1\r\nDevice-Id: ${macOf(index)}\r\nClient-Id: bench-${index}\r\n\r\n`,
    );
  }

  get bytes() {
    return this.#socket.bytesRead + this.#socket.bytesWritten;
  }

  close() {
    this.#socket.destroy();
  }

  #take(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#isOpen) {
      const end = this.#rest.indexOf("\r\n\r\n");
      if (end < 0 || this.#rest.toString("latin1", 9, 12) !== "101") return;
      this.#isOpen = true;
      this.#rest = this.#rest.subarray(end + 4);
      this.#send(hello);
    }
    this.#rest = readFrames(this.#rest, (opcode, payload) => this.#frame(opcode, payload));
    if (this.#rest.length === 0) this.#rest = empty;
  }

  #frame(opcode, payload) {
    if (opcode === pingFrame) this.#socket.write(clientFrame(pongFrame, payload.toString("latin1")));
    if (opcode === closeFrame) this.#socket.destroy();
    if (opcode !== textFrame) return;
    const text = payload.toString();
    this.#record?.at(-1)?.push(text);
    const { type, session_id: session, payload: request } = JSON.parse(text);
    if (type !== "mcp" || request.id === undefined) return;
    const result = resultOf(this.#firmware, request);
    this.#send(
      clientFrame(
        textFrame,
        `{"session_id":"${session}","type":"mcp","payload":{"jsonrpc":"2.0","id":${request.id},"result":${result}}}`,
      ),
    );
    if (completesListing(request)) this.#onListed?.();
  }

  #send(frame) {
    this.#record?.push([]);
    this.#socket.write(frame);
  }
}
