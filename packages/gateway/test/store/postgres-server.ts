/** A real PostgreSQL on a free loopback port, in a temporary folder. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/store/store.ts";

class PostgresProblem extends Error {
  override readonly name = "PostgresProblem";
}

const user = "tendon";
const startAttempts = 5;
const migrated = "migrated";

export class PostgresServer {
  readonly #folder: string;
  readonly #run: { readonly cwd: string; readonly env: Record<string, string>; uid?: number; gid?: number };
  #process: ChildProcess | undefined;
  #port = 0;
  #databases = 0;
  #migrated: Promise<void> | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    // PostgreSQL does not run as root; the Debian package creates a user for it.
    this.#run = { cwd: folder, env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C" }, ...otherThanRoot() };
    const { uid, gid } = this.#run;
    if (uid !== undefined && gid !== undefined) fs.chownSync(folder, uid, gid);
  }

  static async start(): Promise<PostgresServer> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-postgres-"));
    const server = new PostgresServer(folder);
    server.#copy(blankCluster());
    for (let attempt = 1; ; attempt += 1) {
      server.#port = await freePort();
      if (await server.#launch()) return server;
      if (attempt === startAttempts) throw new PostgresProblem("PostgreSQL found no free port");
    }
  }

  get #data(): string {
    return path.join(this.#folder, "data");
  }

  /** An empty database. */
  async newDatabase(template = "template1"): Promise<string> {
    this.#databases += 1;
    const name = `test${this.#databases}`;
    await this.query(this.#url("postgres"), `create database ${name} template ${template}`);
    return this.#url(name);
  }

  /** A database with the tables of a store, as after a gateway's start and stop. */
  async newStore(): Promise<string> {
    this.#migrated ??= this.#migrate();
    await this.#migrated;
    return await this.newDatabase(migrated);
  }

  async #migrate(): Promise<void> {
    await this.query(this.#url("postgres"), `create database ${migrated}`);
    const store = await openStore({
      url: this.#url(migrated),
      dataFolder: "",
      clock: systemClock,
      onProblem: () => {},
    });
    await store.close();
  }

  #copy(cluster: string): void {
    fs.cpSync(cluster, this.#data, { recursive: true, mode: fs.constants.COPYFILE_FICLONE });
    const { uid, gid } = this.#run;
    if (uid === undefined || gid === undefined) return;
    for (const entry of ["", ...(fs.readdirSync(this.#data, { recursive: true }) as string[])])
      fs.chownSync(path.join(this.#data, entry), uid, gid);
  }

  async query(url: string, text: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows as unknown[];
    } finally {
      await client.end();
    }
  }

  /** Locks a table as another program would. Resolves with the function that unlocks it. */
  async lockTable(url: string, table: string): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`begin; lock table ${table}`);
    return () => client.end();
  }

  /** The number of statements with this start that wait for a lock. */
  async waitingForLock(url: string, statement: string): Promise<number> {
    const rows = await this.query(
      url,
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ilike '${statement}%'`,
    );
    return rows.length;
  }

  /** Restarts with the same data on the same port. */
  async startAgain(): Promise<void> {
    if (!(await this.#launch())) throw new PostgresProblem("the port is taken");
  }

  /** Freezes all its processes without breaking connections. */
  freeze(): void {
    this.#signal("SIGSTOP");
  }

  thaw(): void {
    this.#signal("SIGCONT");
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of this.#processes()) {
      try {
        process.kill(pid, signal);
      } catch {
        // Its worker processes change.
      }
    }
  }

  /** The server process and its children. */
  #processes(): number[] {
    const server = this.#process?.pid;
    if (server === undefined) return [];
    const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
    const children = stdout
      .split("\n")
      .map((line) => line.trim().split(/\s+/).map(Number))
      .flatMap(([pid = 0, parent]) => (parent === server ? [pid] : []));
    return [server, ...children];
  }

  async stop(): Promise<void> {
    const server = this.#process;
    this.#process = undefined;
    if (server === undefined) return;
    const ended = once(server, "exit");
    server.kill("SIGQUIT");
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  #url(database: string): string {
    return `postgres://${user}@127.0.0.1:${this.#port}/${database}`;
  }

  /** False if it exits instead of becoming ready. */
  async #launch(): Promise<boolean> {
    const settings = {
      port: this.#port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: 40,
      log_min_messages: "log",
      // Without fsync, because tests end this server and this process, never the machine.
      fsync: "off",
      full_page_writes: "off",
      autovacuum: "off",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const server = spawn(program("postgres"), ["-D", this.#data, ...options], {
      ...this.#run,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ready = await new Promise<boolean>((resolve) => {
      let said = "";
      server.stderr.on("data", (text: Buffer) => {
        said += text.toString();
        if (said.includes("ready to accept connections")) resolve(true);
      });
      server.once("exit", () => resolve(false));
    });
    if (ready) this.#process = server;
    // Stopped with an aborted test run too.
    const onExit = () => server.kill("SIGQUIT");
    process.once("exit", onExit);
    server.once("exit", () => process.off("exit", onExit));
    return ready;
  }
}

/** The result of `initdb`, created once per test run, because it takes longer than most tests. */
function blankCluster(): string {
  const folder = path.join(os.tmpdir(), "tendon-blank-postgres");
  if (fs.existsSync(folder)) return folder;
  const making = fs.mkdtempSync(`${folder}-`);
  const identity = otherThanRoot();
  if (identity !== undefined) fs.chownSync(making, identity.uid, identity.gid);
  const args = ["--no-sync", "--auth=trust", `--username=${user}`, "--encoding=UTF8", "--locale=C"];
  const made = spawnSync(program("initdb"), [...args, "-D", making], {
    cwd: making,
    env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C" },
    ...identity,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new PostgresProblem(`initdb: ${made.stderr}${made.error ?? ""}`);
  try {
    fs.renameSync(making, folder);
  } catch {
    // Another worker created it first.
    fs.rmSync(making, { recursive: true, force: true });
  }
  return folder;
}

function otherThanRoot(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [, , uid = "", gid = ""] =
    fs
      .readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((line) => line.startsWith("postgres:"))
      ?.split(":") ?? [];
  if (uid === "") throw new PostgresProblem("there is no user `postgres` to run the server as");
  return { uid: Number(uid), gid: Number(gid) };
}

/** Debian has a folder for each version; the newest is used. */
function program(name: string): string {
  const debian = "/usr/lib/postgresql";
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian) : [];
  const newest = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => `${debian}/${version}/bin`);
  const folders = [...newest, ...(process.env["PATH"] ?? "").split(path.delimiter)];
  const found = folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
  if (found === undefined) throw new PostgresProblem(`\`${name}\` is not installed (Debian: postgresql)`);
  return found;
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
