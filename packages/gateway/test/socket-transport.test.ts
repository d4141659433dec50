import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { SocketTransport } from "../src/agent/endpoint/socket-transport.ts";
import { systemClock } from "../src/clock.ts";

async function opened(): Promise<{ socket: WebSocket; transport: SocketTransport }> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(socket, "open");
  const transport = new SocketTransport(socket, {
    clock: systemClock,
    spend: () => undefined,
    ignored: () => undefined,
    deviceOfSerial: async () => undefined,
  });
  return { socket, transport };
}

// The server that uses it would otherwise be kept for ever.
it.each<[string, (socket: WebSocket, transport: SocketTransport) => void]>([
  ["the peer has gone", (socket) => socket.terminate()],
  ["the gateway has closed it", (_socket, transport) => transport.closeWith(1000, "the token was revoked")],
])("[END-10] reports its end when it is started too late: %s", async (_name, end) => {
  const { socket, transport } = await opened();
  end(socket, transport);
  await once(socket, "close");
  const ended = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  await transport.start();
  await ended;
  expect(socket.readyState).toBe(WebSocket.CLOSED);
});
