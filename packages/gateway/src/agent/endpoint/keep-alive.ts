import type { WebSocket } from "ws";
import type { Clock } from "../../clock.ts";

const pingEveryMs = 30_000;

/** [END-6] Ends a connection on which nothing has come since the last ping, not even its pong: the peer is gone. */
export function keepAlive(socket: WebSocket, clock: Clock): void {
  let alive = true;
  const live = () => {
    alive = true;
  };
  const timer = clock.every(pingEveryMs, () => {
    if (!alive) {
      socket.terminate();
      return;
    }
    alive = false;
    socket.ping();
  });
  socket.on("message", live);
  socket.on("ping", live);
  socket.on("pong", live);
  socket.on("close", () => timer.cancel());
}
