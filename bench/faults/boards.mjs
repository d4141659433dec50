// Boards that connect through the balancer, half over WebSocket and half over MQTT, and come back as firmware does: soon
// after a lost connection, with growing pauses after a refusal.
import { connectDevice, macOf } from "../quick-device.mjs";
import { connectMqttDevice, provision } from "../quick-mqtt-device.mjs";
import { pause } from "./stack.mjs";

const soonMs = { least: 50, more: 150 };
const refusedMs = { first: 1_000, most: 30_000 };

export const tool = "self.set_number";
const tools = [
  {
    name: tool,
    description: "Sets a number.",
    inputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
  },
];

export class Boards {
  /** How often the call with each number ran, on any board. */
  ran = new Map();
  refusals = 0;
  #stopped = false;
  #sockets = new Map();
  #url;

  constructor(url) {
    this.#url = url;
  }

  /** Resolves when all are connected once. */
  async start(count) {
    const waiting = Array.from({ length: count }, (_, index) => index);
    const worker = async () => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
        const first = Promise.withResolvers?.() ?? deferred();
        void this.#live(index, first.resolve);
        await first.promise;
      }
    };
    await Promise.all(Array.from({ length: 32 }, worker));
  }

  get connected() {
    return this.#sockets.size;
  }

  stop() {
    this.#stopped = true;
    for (const socket of this.#sockets.values()) socket.destroy?.() ?? socket.terminate();
  }

  async #live(index, onFirst) {
    let refusedFor = refusedMs.first;
    while (!this.#stopped) {
      try {
        const socket = await this.#connect(index);
        refusedFor = refusedMs.first;
        this.#sockets.set(index, socket);
        onFirst();
        await new Promise((resolve) => {
          socket.once("close", resolve);
        });
        this.#sockets.delete(index);
        await pause(soonMs.least + Math.random() * soonMs.more);
      } catch {
        this.refusals += 1;
        await pause(refusedFor * (0.5 + Math.random() / 2));
        refusedFor = Math.min(refusedFor * 2, refusedMs.most);
      }
    }
  }

  async #connect(index) {
    const behaviour = { tools, call: (params) => this.#call(params) };
    if (index % 2 === 0) {
      return await connectDevice(`${this.#url.replace("http", "ws")}/xiaozhi/v1/`, index, behaviour);
    }
    const settings = await provision({ url: this.#url }, index);
    const { socket, listed } = await connectMqttDevice(settings, undefined, behaviour);
    await Promise.race([listed, pause(5_000)]);
    return socket;
  }

  #call({ arguments: { number } }) {
    this.ran.set(number, (this.ran.get(number) ?? 0) + 1);
    return { content: [{ type: "text", text: String(number) }], isError: false };
  }
}

export function idOf(index) {
  return macOf(index);
}

function deferred() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
