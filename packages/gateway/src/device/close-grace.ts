/**
 * Lets a board close its TCP connection first. The network library of the firmware has a race that can crash the board
 * when the server's FIN comes right behind the answer. The runtime closes at once where the request says
 * `Connection: close`, as all requests of the firmware do; on the routes of boards it waits a moment here [OTA-10].
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { limits } from "@tendon/protocol";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";

/** A board closes as soon as it has read the answer; on a busy one that takes some hundred milliseconds. */
const graceMs = 1_000;

export class CloseGrace {
  readonly #clock: Clock;
  #held = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For every route that is registered in this scope from now on. */
  applyTo(routes: FastifyInstance): void {
    routes.addHook("onRequest", (request, reply, next) => {
      this.#prepare(request.raw.socket, reply.raw);
      next();
    });
  }

  /** The runtime ends a connection after its last answer by this one method, and by no other. */
  #prepare(socket: Socket, response: ServerResponse): void {
    const { destroySoon } = socket;
    const close = () => destroySoon.call(socket);
    socket.destroySoon = () => this.#hold(socket, close);
    // Runs after the runtime's own listener. A connection that goes on may serve other routes next.
    const restore = () => {
      socket.destroySoon = destroySoon;
    };
    response.once("finish", restore);
    response.once("close", restore);
  }

  #hold(socket: Socket, close: () => void): void {
    if (socket.destroyed || this.#held >= limits.heldConnections.max) {
      close();
      return;
    }
    this.#held += 1;
    // The answer has said that the connection ends: nothing that comes now is read as another request.
    socket.removeAllListeners("data");
    socket.on("data", () => undefined);
    const timer = this.#clock.after(graceMs, close);
    socket.once("close", () => {
      timer.cancel();
      this.#held -= 1;
    });
  }
}
