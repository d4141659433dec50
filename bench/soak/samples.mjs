// Memory and descriptors of the gateway's process over time, and straight lines through them.
import fs from "node:fs";

const everyMs = 5_000;
const mega = 1_048_576;
const youngGeneration = 'nodejs_heap_space_size_used_bytes{space="new"}';
/** Lines are drawn through this much of a run at least; a shorter run shows nothing but the start. */
const shortestFitMinutes = 3;

export class Samples {
  rows = [];
  #gateway;
  #timer;
  #from = performance.now();

  constructor(gateway) {
    this.#gateway = gateway;
  }

  start() {
    this.#from = performance.now();
    this.#timer = setInterval(() => void this.take().catch(() => {}), everyMs);
  }

  stop() {
    clearInterval(this.#timer);
  }

  /** The figures now, which do not become part of the trend. */
  async look() {
    return await look(this.#gateway);
  }

  async take() {
    const row = await this.look();
    this.rows.push({ minute: (performance.now() - this.#from) / 60_000, ...row });
    return row;
  }

  /**
   * Lines through the second half: change a minute of each figure. `undefined` for a short run. Memory is read at its
   * lowest between two full collections: V8 lets garbage grow by half before it collects, and only what is left counts.
   */
  fits() {
    const end = this.rows.at(-1)?.minute ?? 0;
    const half = this.rows.filter(({ minute }) => minute >= end / 2);
    if (end < 2 * shortestFitMinutes) return undefined;
    return {
      collections: (half.at(-1)?.collections ?? 0) - (half[0]?.collections ?? 0),
      rssMb: slope(half, "rssMb"),
      rssFloorMb: slope(floors(half, "rssMb"), "rssMb"),
      heapMb: slope(half, "heapMb"),
      heapFloorMb: slope(floors(half, "heapMb"), "heapMb"),
      descriptors: slope(half, "descriptors"),
    };
  }
}

/** The lowest row after each full collection. */
function floors(rows, name) {
  const lowest = new Map();
  for (const row of rows) {
    const least = lowest.get(row.collections);
    if (least === undefined || row[name] < least[name]) lowest.set(row.collections, row);
  }
  return [...lowest.values()];
}

/** Least squares. Rows without the figure are left out. */
function slope(rows, name) {
  const points = rows.map((row) => [row.minute, row[name]]).filter(([, y]) => Number.isFinite(y));
  if (points.length < 2) return undefined;
  const mean = (index) => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const over = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / over;
}

/** Where the system has no /proc, RSS and descriptors come from the gateway's metrics, as far as they have them. */
async function look(gateway) {
  const { text } = await gateway.request("GET", "/metrics", {});
  const metric = (name) => {
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  };
  const status = readIf(`/proc/${gateway.pid}/status`);
  const kilobytes = (name) => {
    const value = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status ?? "")?.[1];
    return value === undefined ? undefined : Number(value) / 1_024;
  };
  return {
    rssMb: kilobytes("VmRSS") ?? metric("process_resident_memory_bytes") / mega,
    anonMb: kilobytes("RssAnon"),
    fileMb: kilobytes("RssFile"),
    // Without the young generation, which is mostly garbage.
    heapMb: (metric("nodejs_heap_size_used_bytes") - (metric(youngGeneration) ?? 0)) / mega,
    heapTotalMb: metric("nodejs_heap_size_total_bytes") / mega,
    externalMb: metric("nodejs_external_memory_bytes") / mega,
    descriptors: countIf(`/proc/${gateway.pid}/fd`) ?? metric("process_open_fds"),
    collections: metric('nodejs_gc_duration_seconds_count{kind="major"}') ?? 0,
    lagMs: metric("nodejs_eventloop_lag_max_seconds") * 1_000,
    online: metric("tendon_devices_online"),
    cpuSeconds: metric("process_cpu_seconds_total"),
  };
}

function readIf(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function countIf(folder) {
  try {
    return fs.readdirSync(folder).length;
  } catch {
    return undefined;
  }
}
