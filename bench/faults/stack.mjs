// Three nodes as processes behind HAProxy with the repository's own file, on a NATS and a PostgreSQL of their own.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, Program, startNats, startPostgres } from "../engines.mjs";
import { Way } from "./way.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const bin = path.join(root, "packages", "cli", "bin", "tendon.js");
export const token = "an-admin-token-for-a-fault-run";
const pauseMs = 100;
const readyMs = 60_000;

class Node {
  constructor(name, { folder, http, mqtt, way, storage, balancer }) {
    this.name = name;
    this.http = http;
    this.mqtt = mqtt;
    this.way = way;
    this.data = path.join(folder, name);
    this.log = path.join(folder, `${name}.log`);
    const env = {
      TENDON_TOKEN: token,
      TENDON_NODE: name,
      TENDON_DATA: this.data,
      TENDON_STORAGE: storage,
      TENDON_CLUSTER: `nats://127.0.0.1:${way.port}`,
      TENDON_HTTP_PORT: `${http}`,
      TENDON_HTTP_PUBLIC_URL: `http://127.0.0.1:${balancer.http}`,
      TENDON_HTTP_TRUST_PROXY: "true",
      TENDON_MQTT_PORT: `${mqtt}`,
      TENDON_MQTT_PUBLIC_ENDPOINT: `127.0.0.1:${balancer.mqtt}`,
      TENDON_VOICE_UDP_PORT: "0",
      TENDON_DEVICES_ADMISSION: "open",
    };
    fs.mkdirSync(this.data);
    this.program = new Program(process.execPath, [bin, "serve"], {
      cwd: this.data,
      env,
      ready: /^tendon ready /m,
    });
  }

  get url() {
    return `http://127.0.0.1:${this.http}`;
  }

  async start() {
    await this.program.start();
    const log = fs.createWriteStream(this.log, { flags: "a" });
    this.program.child.stderr.pipe(log);
    await this.ready();
  }

  /** The number of online devices whose tools this node knows, on all nodes. */
  async online(counts = () => true) {
    let online = 0;
    for (let cursor = ""; ; ) {
      const answer = await fetch(`${this.url}/api/v1/devices?online=true&limit=500${cursor}`, {
        headers: { authorization: `Bearer ${token}` },
      }).catch(() => undefined);
      if (answer?.ok !== true) return undefined;
      const { devices, nextCursor } = await answer.json();
      online += devices.filter((device) => device.toolsComplete && counts(device)).length;
      if (nextCursor === undefined) return online;
      cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
    }
  }

  /** The same on the nodes that it hears of, if they are so many. */
  async reachable(among) {
    const answer = await fetch(`${this.url}/api/v1/nodes`, { headers: { authorization: `Bearer ${token}` } });
    const { nodes } = await answer.json();
    if (nodes.length !== among) return undefined;
    const names = new Set(nodes.map(({ name }) => name));
    return await this.online(({ node }) => names.has(node));
  }

  /** As the operations guide says: the next node is restarted when this one is ready. */
  async ready() {
    const end = Date.now() + readyMs;
    for (;;) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      if (Date.now() > end) throw new Error(`${this.name} did not become ready`);
      await pause(pauseMs);
    }
  }
}

class Balancer {
  #program;

  static async start(folder, nodes, ports) {
    const balancer = new Balancer();
    const file = path.join(folder, "haproxy.cfg");
    fs.writeFileSync(file, configuration(nodes, ports));
    balancer.#program = new Program("haproxy", ["-W", "-f", file], { ready: /Loading success/, cwd: folder });
    await balancer.#program.start();
    return balancer;
  }

  /** As the operations guide says: the new process takes over, the old one serves its connections to their end. */
  reload() {
    this.#program.signal("SIGUSR2");
  }

  async stop() {
    await this.#program.end("SIGTERM");
  }
}

/** The repository's file, with the addresses of this run. */
function configuration(nodes, ports) {
  let text = fs.readFileSync(path.join(root, "deploy", "haproxy.cfg"), "utf8");
  for (const { name, http, mqtt } of nodes) {
    text = text
      .replaceAll(`${name}:8000`, `127.0.0.1:${http}`)
      .replaceAll(`${name}:1883`, `127.0.0.1:${mqtt}`);
  }
  return text
    .replace("bind :8000", `bind 127.0.0.1:${ports.http}`)
    .replace("bind :1883", `bind 127.0.0.1:${ports.mqtt}`);
}

export class Stack {
  static async start() {
    const stack = new Stack();
    stack.folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-faults-"));
    fs.chmodSync(stack.folder, 0o711);
    [stack.nats, stack.postgres] = await Promise.all([startNats(stack.folder), startPostgres(stack.folder)]);
    const balancer = { http: await freePort(), mqtt: await freePort() };
    stack.nodes = [];
    for (const name of ["tendon-1", "tendon-2", "tendon-3"]) {
      const [http, mqtt] = [await freePort(), await freePort()];
      const way = await Way.open(stack.nats.port);
      const { folder } = stack;
      stack.nodes.push(new Node(name, { folder, http, mqtt, way, storage: stack.postgres.url, balancer }));
    }
    // The first one creates the tables.
    for (const node of stack.nodes) await node.start();
    stack.balancer = await Balancer.start(stack.folder, stack.nodes, balancer);
    stack.url = `http://127.0.0.1:${balancer.http}`;
    return stack;
  }

  async stop({ keep = false } = {}) {
    await this.balancer?.stop();
    for (const { program, way } of this.nodes) {
      program.signal("SIGCONT");
      await program.end("SIGKILL");
      way.close();
    }
    this.nats.signal("SIGCONT");
    await this.nats.end("SIGKILL");
    await this.postgres.end("SIGQUIT");
    if (!keep) fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

export function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
