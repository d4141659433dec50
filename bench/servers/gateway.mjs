import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { disablePretenuring, startTendon } from "@tendon/gateway";
import { reportTo } from "./report.mjs";

// As `tendon serve` does.
disablePretenuring();
const token = "bench-token-bench-token";
const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-bench-"));
const { BENCH_VOICE: upstream, BENCH_STORAGE: storage, BENCH_CLUSTER: cluster } = process.env;
const tendon = await startTendon(
  {
    http: { port: 0 },
    mqtt: { port: 0 },
    data,
    devices: { admission: "open" },
    log: { level: "error" },
    ...(storage === undefined ? {} : { storage }),
    ...(cluster === undefined ? {} : { cluster }),
    voice: { udpPort: 0, upstream: upstream === undefined ? [] : [{ url: upstream }] },
  },
  { adminToken: token },
);
process.on("exit", () => fs.rmSync(data, { recursive: true, force: true }));
reportTo(process, { url: tendon.url, devices: tendon.addresses.deviceWebSocket, token });
