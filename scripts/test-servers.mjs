// The real servers that tests run against. Where one is missing it is installed, if this is root on Debian; elsewhere
// it is said what is missing and how to get it. Only files are looked for, so that it costs nothing when all is there.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

// Add a row for every program that a test starts.
const servers = [
  { program: "openssl", debian: "openssl", elsewhere: "https://openssl-library.org/source/" },
  {
    program: "chromium-headless-shell",
    // Does as well, and takes a third more CPU time.
    instead: "chromium",
    debian: "chromium-headless-shell",
    elsewhere: "https://www.chromium.org/getting-involved/",
  },
  { program: "mosquitto", debian: "mosquitto", elsewhere: "https://mosquitto.org/download/" },
  { program: "mosquitto_passwd", debian: "mosquitto", elsewhere: "https://mosquitto.org/download/" },
  { program: "mosquitto_rr", debian: "mosquitto-clients", elsewhere: "https://mosquitto.org/download/" },
  { program: "haproxy", debian: "haproxy", elsewhere: "https://www.haproxy.org/" },
  { program: "nats-server", debian: "nats-server", elsewhere: "https://docs.nats.io/running-a-nats-service" },
  {
    program: "postgres",
    debian: "postgresql",
    elsewhere: "https://www.postgresql.org/download/",
    // Debian keeps each version in a folder of its own; the tests look there too.
    folders: () => foldersIn("/usr/lib/postgresql").map((version) => path.join(version, "bin")),
  },
];

// Servers live where a user's PATH does not always lead.
const serverFolders = [
  "/usr/local/sbin",
  "/usr/sbin",
  "/sbin",
  "/opt/homebrew/sbin",
  "/usr/local/opt/mosquitto/sbin",
];
const installer = "apt-get";
const installMs = 600_000;
const policyFile = "/usr/sbin/policy-rc.d";

/** Puts the folders of servers on the PATH, and makes sure that each program is there; says so if it is not. */
export function prepareServers() {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  process.env.PATH = [...new Set([...folders, ...serverFolders])].join(path.delimiter);
  const missing = servers.filter((server) => !isThere(server));
  if (missing.length === 0) return true;
  if (mayInstall()) {
    const needed = missing.filter(({ instead }) => instead === undefined || !isThere({ program: instead }));
    if (needed.length > 0) install([...new Set(needed.map(({ debian }) => debian))]);
    else tryToInstall(missing.map(({ debian }) => debian));
  }
  const still = missing.filter(
    (server) => !isThere(server) && (server.instead === undefined || !isThere({ program: server.instead })),
  );
  for (const { program, debian, elsewhere } of still) {
    console.error(
      `The tests need \`${program}\`: apt-get install ${debian} (Debian, Ubuntu), or ${elsewhere}`,
    );
  }
  return still.length === 0;
}

function isThere({ program, folders: own = () => [] }) {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const file = process.platform === "win32" ? `${program}.exe` : program;
  return [...folders, ...own()].some((folder) => fs.existsSync(path.join(folder, file)));
}

function foldersIn(folder) {
  return fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : [];
}

function mayInstall() {
  return process.getuid?.() === 0 && fs.existsSync("/etc/debian_version");
}

function install(packages) {
  console.error(`Installing ${packages.join(", ")} for the tests …`);
  // Debian starts a server as it installs it; on the port where a gateway wants to listen, nobody asked for that.
  const quiet = !fs.existsSync(policyFile);
  if (quiet) fs.writeFileSync(policyFile, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    const first = apt("install", "-y", "--no-install-recommends", ...packages);
    if (first.status === 0) return;
    const lists = apt("update");
    const second = apt("install", "-y", "--no-install-recommends", ...packages);
    if (second.status !== 0)
      console.error(`${lists.stderr ?? ""}${second.stdout ?? ""}${second.stderr ?? ""}`);
  } finally {
    if (quiet) fs.rmSync(policyFile, { force: true });
  }
}

/** For what another program stands in for: without package lists or a network it is done without. */
function tryToInstall(packages) {
  console.error(`Installing ${packages.join(", ")} for faster tests …`);
  apt("install", "-y", "--no-install-recommends", ...packages);
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync(installer, ["-q", ...args], { env, encoding: "utf8", timeout: installMs });
}
