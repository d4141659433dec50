import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../clock.ts";

/** A board over a bad line needs a few seconds for its first request; who says nothing only takes up room. */
const firstRequestMs = 15_000;
const lookEveryMs = 5_000;

/** Ends connections whose first request has not come in time; the runtime looks only at those that have begun one. */
export function endSilentConnections(server: Server, clock: Clock, tls: boolean): void {
  /** In the order of their coming. */
  const silentSince = new Map<Socket, number>();
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    silentSince.set(socket, clock.monotonic());
    socket.once("close", () => silentSince.delete(socket));
  });
  const heard = ({ socket }: IncomingMessage) => silentSince.delete(socket);
  server.on("request", heard);
  server.on("upgrade", heard);
  const timer = clock.every(lookEveryMs, () => {
    for (const [socket, since] of silentSince) {
      if (clock.monotonic() - since < firstRequestMs) return;
      socket.destroy();
    }
  });
  server.once("close", () => timer.cancel());
}
