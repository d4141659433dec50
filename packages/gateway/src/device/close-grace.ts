/**
 * Lets a board close its TCP connection first. The firmware's network library has a race that can crash the board if
 * the server's FIN arrives right after the response. Node closes at once for `Connection: close`, which all requests
 * of the firmware have. On the routes of boards, this class delays that [OTA-10].
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { limits } from "@tendon/protocol";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";

/** A board closes as soon as it has read the response; a busy board takes some hundred milliseconds. */
const graceMs = 1_000;

export class CloseGrace {
  readonly #clock: Clock;
  #delayed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Applies to every route that is registered in this scope afterwards. */
  applyTo(routes: FastifyInstance): void {
    routes.addHook("onRequest", (request, reply, next) => {
      this.#prepare(request.raw.socket, reply.raw);
      next();
    });
  }

  /** Node ends a connection after its last response only through `destroySoon`. */
  #prepare(socket: Socket, response: ServerResponse): void {
    const { destroySoon } = socket;
    const close = () => destroySoon.call(socket);
    socket.destroySoon = () => this.#delayClose(socket, close);
    // Runs after Node's own listener. A connection that stays open may serve other routes next.
    const restore = () => {
      socket.destroySoon = destroySoon;
    };
    response.once("finish", restore);
    response.once("close", restore);
  }

  #delayClose(socket: Socket, close: () => void): void {
    if (socket.destroyed || this.#delayed >= limits.heldConnections.max) {
      close();
      return;
    }
    this.#delayed += 1;
    // The response announced the end of the connection, so later data is not read as a request.
    socket.removeAllListeners("data");
    socket.on("data", () => undefined);
    const timer = this.#clock.after(graceMs, close);
    socket.once("close", () => {
      timer.cancel();
      this.#delayed -= 1;
    });
  }
}
