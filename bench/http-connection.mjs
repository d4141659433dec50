// HTTP/1.1 over one kept connection, one request at a time, without a library: callers should cost the machine little.
import net from "node:net";

const retryAfter = /\r\nretry-after: \d+/i;
const bodyLength = /\r\ncontent-length: (\d+)/i;
const chunked = /\r\ntransfer-encoding: chunked/i;
const lastChunk = "0\r\n\r\n";

export class HttpConnection {
  #socket;
  #text = "";
  #pending;

  constructor(socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("close", () => this.#finish({ status: 0, body: "" }));
    socket.on("error", () => {});
  }

  static async open(port) {
    const socket = net.connect(port, "127.0.0.1");
    socket.setNoDelay();
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return new HttpConnection(socket);
  }

  get isOpen() {
    return !this.#socket.destroyed;
  }

  get bytes() {
    return this.#socket.bytesRead + this.#socket.bytesWritten;
  }

  /** Resolves with status, body and whether there is a Retry-After; with status 0 if the connection ends. */
  send(request) {
    return new Promise((resolve) => {
      this.#pending = resolve;
      if (this.isOpen) this.#socket.write(request);
      else this.#finish({ status: 0, body: "" });
    });
  }

  close() {
    this.#socket.destroy();
  }

  #take(chunk) {
    this.#text = this.#text === "" ? chunk : this.#text + chunk;
    const end = this.#text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#text.slice(0, end);
    if (chunked.test(head)) {
      if (!this.#text.endsWith(lastChunk)) return;
    } else {
      const length = Number(bodyLength.exec(head)?.[1] ?? 0);
      if (this.#text.length < end + 4 + length) return;
    }
    const body = this.#text.slice(end + 4);
    this.#text = "";
    this.#finish({ status: Number(head.slice(9, 12)), hasRetryAfter: retryAfter.test(head), body });
  }

  #finish(answer) {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.(answer);
  }
}

/** The bytes of a POST with JSON. */
export function postRequest(path, headers, body) {
  const lines = Object.entries({
    host: "127.0.0.1",
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
