// One hostile device beside others: what their callers notice.
import { load, poster } from "./load.mjs";
import { startServer } from "./process.mjs";
import { connectDevice, macOf } from "./quick-device.mjs";

const others = 16;
/** Others call as people and agents do, not as fast as possible. */
const pauseMs = 20;

export async function benchFairness(seconds) {
  const server = await startServer("./servers/gateway.mjs");
  const flooder = await startServer("./servers/flooder.mjs");
  const sockets = await Promise.all(
    Array.from({ length: others }, (_, index) => connectDevice(server.devices, index)),
  );
  const { post, close } = poster(others, { authorization: `Bearer ${server.token}` });
  const call = (index) =>
    post(`${server.url}/api/v1/devices/${macOf(index)}/tools/self.audio_speaker.set_volume/call`, {
      arguments: { volume: 30 },
    });
  const between = () => new Promise((resolve) => setTimeout(resolve, pauseMs));
  const measured = () => load({ parallel: others, seconds, work: call, between });
  await load({ parallel: others, seconds: 1, work: call, between });
  console.log(`calls to ${others} devices beside a device that floods and comes back when it is cut`);
  const heads = ["p50 ms", "p99 ms", "p99 / quiet", "cuts", "MB taken"];
  console.log(`${"".padEnd(34)}${heads.map((head) => head.padStart(12)).join("")}`);
  const address = { url: server.url, devices: server.devices };
  let quiet;
  for (const flood of [undefined, ...flooder.floods]) {
    if (flood !== undefined) await flooder.ask({ flood, server: address });
    const { p50, p99 } = await measured();
    const { cuts, bytes } = flood === undefined ? { cuts: 0, bytes: 0 } : await flooder.ask({});
    quiet ??= p99;
    const cells = [
      p50.toFixed(2),
      p99.toFixed(2),
      (p99 / quiet).toFixed(2),
      cuts,
      (bytes / 2 ** 20).toFixed(0),
    ];
    console.log(`${(flood ?? "quiet").padEnd(34)}${cells.map((cell) => String(cell).padStart(12)).join("")}`);
  }
  close();
  for (const socket of sockets) socket.terminate();
  await flooder.stop();
  await server.stop();
}
