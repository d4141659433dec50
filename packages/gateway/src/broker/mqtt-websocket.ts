import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import { createWebSocketStream, WebSocketServer } from "ws";
import { TendonError } from "../errors.ts";
import { refuseOnSocket } from "../problem-document.ts";

/** MQTT over WebSocket, for apps in a browser. */
export class MqttWebSocket {
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.mqttPacketBytes.max,
    handleProtocols: (offered) =>
      offered.has("mqtt") ? "mqtt" : offered.has("mqttv3.1") ? "mqttv3.1" : false,
  });
  readonly #accept: (stream: Duplex, request: IncomingMessage) => void;

  constructor(accept: (stream: Duplex, request: IncomingMessage) => void) {
    this.#accept = accept;
    this.#server.on("wsClientError", ({ message }, socket) => {
      const error = new TendonError("bad_request", `the WebSocket handshake is invalid: ${message}`);
      refuseOnSocket(socket, error, ["Sec-WebSocket-Version: 13, 8"]);
    });
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const stream = createWebSocketStream(webSocket);
      // The broker removes its own listener before the last error may occur.
      stream.on("error", () => undefined);
      this.#accept(stream, request);
    });
  }
}
