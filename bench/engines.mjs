// A NATS and a PostgreSQL of the run's own, on free ports of the loopback address. They can be stopped and started again.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const debian = "/usr/lib/postgresql";
const user = "tendon";
const places = ["/usr/local/sbin", "/usr/sbin", "/opt/homebrew/sbin"];
const searched = [process.env.PATH ?? "", ...places].join(path.delimiter);

/** A program that ends with this process, and whose output tells when it is ready. */
export class Program {
  #command;
  #args;
  #options;
  #ready;
  child;

  constructor(command, args, { ready, ...options }) {
    this.#command = command;
    this.#args = args;
    this.#ready = ready;
    this.#options = options;
  }

  get pid() {
    return this.child.pid;
  }

  async start() {
    const { env = {}, ...options } = this.#options;
    const child = spawn(this.#command, this.#args, {
      ...options,
      env: { PATH: searched, LC_ALL: "C", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    const onExit = () => child.kill("SIGKILL");
    process.once("exit", onExit);
    child.once("exit", () => process.off("exit", onExit));
    await new Promise((resolve, reject) => {
      let text = "";
      const take = (more) => {
        if (text.length < 100_000) text += more;
        if (this.#ready.test(text)) resolve();
      };
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`${this.#command}: ${text}`)));
    });
  }

  signal(signal) {
    this.child.kill(signal);
  }

  async end(signal) {
    if (this.child === undefined || this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, "exit");
    this.child.kill(signal);
    await gone;
  }
}

/** Both, in a folder that goes with them. */
export async function startEngines() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-engines-"));
  // For the user that PostgreSQL runs as.
  fs.chmodSync(folder, 0o711);
  const [nats, postgres] = await Promise.all([startNats(folder), startPostgres(folder)]);
  return {
    natsPort: nats.port,
    cluster: `nats://127.0.0.1:${nats.port}`,
    natsPid: nats.pid,
    postgresPid: postgres.pid,
    storage: postgres.url,
    async stop() {
      await nats.end("SIGTERM");
      await postgres.end("SIGQUIT");
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function startNats(folder) {
  const port = await freePort();
  const args = ["-js", "-sd", path.join(folder, "nats"), "-a", "127.0.0.1", "-p", `${port}`];
  const nats = new Program("nats-server", args, { ready: /Server is ready/ });
  await nats.start();
  return Object.assign(nats, { port });
}

export async function startPostgres(folder) {
  const home = path.join(folder, "postgres");
  fs.mkdirSync(home);
  // PostgreSQL refuses to run as root; the Debian package brings a user for it.
  const owner = process.getuid?.() === 0 ? userOf("postgres") : {};
  if (owner.uid !== undefined) fs.chownSync(home, owner.uid, owner.gid);
  const data = path.join(home, "data");
  const made = spawnSync(
    program("initdb"),
    ["--no-sync", "--auth=trust", `--username=${user}`, "--encoding=UTF8", "--locale=C", "-D", data],
    { ...owner, cwd: home, env: { PATH: searched, LC_ALL: "C" }, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.error ?? ""}`);
  const port = await freePort();
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off" };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const postgres = new Program(program("postgres"), ["-D", data, ...options], {
    ...owner,
    cwd: home,
    ready: /ready to accept connections/,
  });
  await postgres.start();
  return Object.assign(postgres, { url: `postgres://${user}@127.0.0.1:${port}/postgres` });
}

export async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

function userOf(name) {
  const lines = fs.readFileSync("/etc/passwd", "utf8").split("\n");
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

function program(name) {
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a)).map((version) => `${debian}/${version}/bin`);
  const folders = [...newest, ...searched.split(path.delimiter)];
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? name;
}
