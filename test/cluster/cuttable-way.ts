/** A TCP way to a server that can be cut: bytes then go nowhere, as behind a broken network, and neither side is informed. */
import { once } from "node:events";
import net from "node:net";
import { onTestFinished } from "vitest";

export class CuttableWay {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #cut = false;

  private constructor(to: URL) {
    this.#server = net.createServer((near) => this.#join(near, net.connect(Number(to.port), to.hostname)));
  }

  static async to(url: string): Promise<CuttableWay> {
    const way = new CuttableWay(new URL(url));
    way.#server.listen(0, "127.0.0.1");
    await once(way.#server, "listening");
    onTestFinished(() => {
      way.#server.close();
      for (const socket of way.#sockets) socket.destroy();
    });
    return way;
  }

  get url(): string {
    const address = this.#server.address();
    return `nats://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  }

  cut(): void {
    this.#cut = true;
  }

  /** What was open stays lost. */
  heal(): void {
    this.#cut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: net.Socket, far: net.Socket): void {
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (bytes) => {
        if (!this.#cut) to.write(bytes);
      });
      from.on("error", () => from.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        if (!this.#cut) to.destroy();
      });
    }
  }
}
