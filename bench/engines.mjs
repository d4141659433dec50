// A NATS and a PostgreSQL of the run's own, on free ports of the loopback address, in a folder that goes with them.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const debian = "/usr/lib/postgresql";
const user = "tendon";
const places = ["/usr/local/sbin", "/usr/sbin", "/opt/homebrew/sbin"];
const where = [process.env.PATH ?? "", ...places].join(path.delimiter);

export async function startEngines() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-engines-"));
  const natsPort = await freePort();
  const nats = run("nats-server", [
    "-js",
    "-sd",
    path.join(folder, "nats"),
    "-a",
    "127.0.0.1",
    "-p",
    `${natsPort}`,
  ]);
  const postgresPort = await freePort();
  const postgres = startPostgres(folder, postgresPort);
  await Promise.all([said(nats, "Server is ready"), said(postgres, "ready to accept connections")]);
  return {
    natsPort,
    cluster: `nats://127.0.0.1:${natsPort}`,
    natsPid: nats.pid,
    postgresPid: postgres.pid,
    storage: `postgres://${user}@127.0.0.1:${postgresPort}/postgres`,
    async stop() {
      for (const [engine, signal] of [
        [nats, "SIGTERM"],
        [postgres, "SIGQUIT"],
      ]) {
        const gone = once(engine, "exit");
        engine.kill(signal);
        await gone;
      }
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

function startPostgres(folder, port) {
  const data = path.join(folder, "postgres");
  // PostgreSQL refuses to run as root; the Debian package brings a user for it.
  const owner = process.getuid?.() === 0 ? userOf("postgres") : {};
  if (owner.uid !== undefined) fs.chownSync(folder, owner.uid, owner.gid);
  const made = spawnSync(
    program("initdb"),
    ["--no-sync", "--auth=trust", `--username=${user}`, "--encoding=UTF8", "--locale=C", "-D", data],
    { ...owner, cwd: folder, env: { PATH: where, LC_ALL: "C" }, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.error ?? ""}`);
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off" };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return run(program("postgres"), ["-D", data, ...options], { ...owner, cwd: folder });
}

function run(command, args, options = {}) {
  const env = { PATH: where, LC_ALL: "C" };
  const child = spawn(command, args, { env, ...options, stdio: ["ignore", "ignore", "pipe"] });
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  child.once("exit", () => process.off("exit", onExit));
  return child;
}

function said(child, words) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (more) => {
      text += more;
      if (text.includes(words)) resolve();
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(text)));
  });
}

function userOf(name) {
  const lines = fs.readFileSync("/etc/passwd", "utf8").split("\n");
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

function program(name) {
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a)).map((version) => `${debian}/${version}/bin`);
  const folders = [...newest, ...where.split(path.delimiter)];
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? name;
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
