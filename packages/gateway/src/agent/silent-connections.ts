import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../clock.ts";

/** A board over a bad line needs a few seconds for its first request; who says nothing only takes up room. */
const firstRequestMs = 15_000;

/** Ends connections whose first request has not come in time; the runtime looks only at those that have begun one. */
export function endSilentConnections(server: Server, clock: Clock, tls: boolean): void {
  const silent = new WeakMap<Socket, Timer>();
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    const timer = clock.after(firstRequestMs, () => socket.destroy());
    silent.set(socket, timer);
    socket.once("close", () => timer.cancel());
  });
  const heard = ({ socket }: IncomingMessage) => {
    const timer = silent.get(socket);
    if (timer === undefined) return;
    timer.cancel();
    silent.delete(socket);
  };
  server.on("request", heard);
  server.on("upgrade", heard);
}
