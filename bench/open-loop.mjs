// Callers that do not wait for each other: requests leave at a fixed rate, whether or not earlier ones were answered.
// Each runs over a kept connection. A latency counts from the moment when the request was due.
import { HttpConnection } from "./http-connection.mjs";

/** Short beside what is measured; without a pause the callers would take a core from the gateway. */
const tickMs = 2;

/** Connected is not accepted: Node accepts one connection a turn. */
async function openAccepted(port) {
  const connection = await HttpConnection.open(port);
  await connection.send("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
  return connection;
}

/**
 * @param requestOf the bytes of the n-th request
 * @returns the answers by kind, each with how long it took and when it was due, and how many requests found no free
 *   connection
 */
export async function openLoop({ port, connections, perSecond, seconds, requestOf }) {
  const free = [];
  for (let from = 0; from < connections; from += 100) {
    const group = Array.from({ length: Math.min(100, connections - from) }, () => openAccepted(port));
    free.push(...(await Promise.all(group)));
  }
  const all = [...free];
  const result = { ok: [], refused: [], other: [], withoutRetryAfter: 0, unsent: 0 };
  let running = 0;
  const began = performance.now();
  const send = async (index, due) => {
    const connection = free.pop();
    if (connection === undefined) {
      result.unsent += 1;
      return;
    }
    running += 1;
    const { status, hasRetryAfter } = await connection.send(requestOf(index));
    running -= 1;
    const kind = status === 200 ? "ok" : status === 429 || status === 503 ? "refused" : "other";
    result[kind].push({ tookMs: performance.now() - due, atMs: due - began });
    if (kind === "refused" && !hasRetryAfter) result.withoutRetryAfter += 1;
    if (connection.isOpen) free.push(connection);
  };
  let sent = 0;
  while (performance.now() - began < seconds * 1000) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    for (; sent < due; sent += 1) void send(sent, began + (sent / perSecond) * 1000);
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  const seen = (performance.now() - began) / 1000;
  const late = performance.now() + 10_000;
  while (running > 0 && performance.now() < late) await new Promise((resolve) => setTimeout(resolve, 20));
  for (const connection of all) connection.close();
  return { ...result, unanswered: running, okPerSecond: result.ok.length / seen };
}
