// Devices spread over several processes.
import os from "node:os";
import { startServer } from "../process.mjs";
import { pause } from "./rounds.mjs";

const processes = Math.max(2, Math.min(4, os.availableParallelism() - 1));
const offlineMs = 60_000;

let networks = 0;

/** Source addresses that no earlier devices had. Only Linux has all of 127.0.0.0/8 without being asked to. */
function nextNetwork() {
  if (process.platform !== "linux") return {};
  networks = (networks % 250) + 1;
  return { network: networks };
}

export class Fleet {
  #servers;

  constructor(servers) {
    this.#servers = servers;
  }

  static async start() {
    return new Fleet(
      await Promise.all(Array.from({ length: processes }, () => startServer("./servers/fleet.mjs"))),
    );
  }

  async #all({ atOnce, ...order }) {
    return await Promise.all(
      this.#servers.map(async (server, at) => {
        const share = { at, of: processes };
        const limit = atOnce === undefined ? {} : { atOnce: Math.ceil(atOnce / processes) };
        return await this.#one(server, { ...order, ...limit, share });
      }),
    );
  }

  async #one(server, order) {
    const answer = await server.ask(order);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  async provision(url, from, count) {
    await this.#all({ what: "provision", url, from, count });
  }

  /** Resolves when every device is listed. `took`: the time of each. */
  async connect(transport, target, from, count, atOnce) {
    const started = performance.now();
    const place = { ...target, ...nextNetwork() };
    const answers = await this.#all({ what: "connect", transport, target: place, from, count, atOnce });
    return {
      ms: performance.now() - started,
      took: answers.flatMap(({ took }) => took),
      retries: answers.reduce((all, { retries }) => all + retries, 0),
    };
  }

  async record(target, index) {
    return (await this.#one(this.#servers[0], { what: "record", target, index })).script;
  }

  /** Bytes of all connected devices so far, both ways. */
  async bytes() {
    const answers = await this.#all({ what: "bytes" });
    return answers.reduce((all, { bytes }) => all + bytes, 0);
  }

  /** Closes every connection. With a gateway: resolves when it has noticed. */
  async close(gateway) {
    await this.#all({ what: "close" });
    const until = performance.now() + offlineMs;
    while (gateway !== undefined && (await gateway.online()) > 0) {
      if (performance.now() > until) throw new Error("the gateway shows closed devices as online");
      await pause(100);
    }
  }

  async stop() {
    await Promise.all(this.#servers.map((server) => server.stop()));
  }
}
