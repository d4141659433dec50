/** [END-9] An endpoint without TLS is dialled only at loopback and private addresses, whatever its name leads to. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { checkedLookup } from "../src/checked-addresses.ts";
import { nearOnly } from "../src/endpoint-settings.ts";

/** Dials a name that leads to these addresses, and returns the error of the dial; `undefined` if it opened. */
async function dial(...addresses: string[]): Promise<Error | undefined> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const resolved = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const lookup = checkedLookup(nearOnly, async () => resolved);
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://broker.example:${port}/mcp/?token=secret`, { lookup });
  onTestFinished(() => socket.terminate());
  return await new Promise((resolve) => {
    socket.on("open", () => resolve(undefined));
    socket.on("error", resolve);
  });
}

it("[END-9] dials a name that leads to a near address", async () => {
  expect(await dial("127.0.0.1")).toBeUndefined();
});

it.each([
  [["203.0.113.7"]],
  [["93.184.215.14"]],
  [["127.0.0.1", "93.184.215.14"]],
  [["2606:2800:21f:cb07:6820:80da:af6b:8b2c"]],
  [["::ffff:93.184.215.14"]],
  [["169.254.169.254"]],
  [["0.0.0.0"]],
])("[END-9] refuses a name that leads to %j, before it connects", async (addresses) => {
  const error = await dial(...addresses);
  expect(error?.message).toBe(
    "broker.example leads to an address that is not allowed (it is neither loopback nor private: use wss://, or the token is sent in plain text)",
  );
});
