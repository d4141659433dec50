// Cuts one node off from NATS.
import { once } from "node:events";
import net from "node:net";

/** A way to a server that can be cut: bytes then go nowhere, as behind a broken network, and neither side is informed. */
export class Way {
  #to;
  #sockets = new Set();
  #server;
  #cut = false;

  static async open(to) {
    const way = new Way();
    way.#to = to;
    way.#server = net.createServer((near) => way.#join(near)).listen(0, "127.0.0.1");
    await once(way.#server, "listening");
    return way;
  }

  get port() {
    return this.#server.address().port;
  }

  cut() {
    this.#cut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** What was open stays lost: the other side has forgotten it, or will. */
  heal() {
    this.#cut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near) {
    const far = net.connect(this.#to, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      this.#sockets.add(from);
      from.on("data", (bytes) => {
        if (!this.#cut) to.write(bytes);
      });
      from.on("error", () => from.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        if (!this.#cut) to.destroy();
      });
      if (this.#cut) from.pause();
    }
  }
}
