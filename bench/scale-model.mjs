// What each thing that happens puts on NATS, as the gateway's cluster room does it, and a simulation of a fleet made of
// such things. Two numbers for each kind: messages on the wire are what a server takes in and hands out, of which each
// node reads its share.

/** JetStream hands each change to each node under the subject it was published on. */
const kept = (nodes) => 1 + nodes;

/** Messages by kind for one of each, with so many nodes: read from the code, and checked against counts. */
const causes = {
  /** A device that the nodes do not know: claimed, two events (online, its tools), and the others read it. */
  comeNew: (nodes) => ({
    claim: kept(nodes),
    events: 2 * kept(nodes),
    news: 1,
    taken: nodes - 1,
    inbox: 3,
  }),
  /** One they know, with the tools it had: claimed, one event. */
  comeBack: (nodes) => ({ claim: kept(nodes), events: kept(nodes), inbox: 2 }),
  leave: (nodes) => ({ claim: kept(nodes), events: kept(nodes), inbox: 2 }),
  /** Its end is an event. */
  localCall: (nodes) => ({ events: kept(nodes), inbox: 1 }),
  /** And it is asked and answered. */
  crossCall: (nodes) => ({ events: kept(nodes), device: 1, inbox: 2 }),
};

const beatEverySeconds = 2;
/** A node asks for more events when a quarter of a hundred has come. */
const eventsPerPull = 25;

export class Traffic {
  constructor(nodes) {
    this.nodes = nodes;
    this.kinds = {};
    this.happened = {};
  }

  add(cause, times = 1) {
    this.happened[cause] = (this.happened[cause] ?? 0) + times;
    for (const [kind, count] of Object.entries(causes[cause](this.nodes))) this.#count(kind, count * times);
  }

  pass(seconds) {
    this.#count("beat", (this.nodes * seconds) / beatEverySeconds);
  }

  /** With what the number of events brings about. */
  get counts() {
    const published = (this.kinds.events ?? 0) / kept(this.nodes);
    return { ...this.kinds, pull: (published / eventsPerPull) * this.nodes };
  }

  get total() {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  /** What one node reads: every change of the directory, every event, every beat, its share of the rest. */
  get readByOneNode() {
    const { claim = 0, events = 0, news = 0, taken = 0, beat = 0, inbox = 0, device = 0 } = this.counts;
    const shared = (claim + events) / kept(this.nodes);
    return shared + news + beat + (taken + inbox + device) / this.nodes;
  }

  #count(kind, count) {
    this.kinds[kind] = (this.kinds[kind] ?? 0) + count;
  }
}

/** Numbers between 0 and 1, the same for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * A fleet through time: devices sit on random nodes, calls come in at random nodes, connections break and come back
 * elsewhere. With `crashAt` one node dies; its devices are cleared by one of the others and come back within
 * `backWithinSeconds`. Gives the traffic, and that of the busiest second.
 */
export function simulate({
  nodes,
  devices,
  seconds,
  callsPerHour,
  breaksPerDay,
  crashAt,
  backWithinSeconds = 60,
  seed,
}) {
  const random = randomOf(seed);
  const home = Int16Array.from({ length: devices }, () => Math.floor(random() * nodes));
  const traffic = new Traffic(nodes);
  const busiest = { second: 0, total: 0 };
  const returns = Array.from({ length: seconds + 1 }, () => []);
  const rates = { call: (devices * callsPerHour) / 3_600, break: (devices * breaksPerDay) / 86_400 };
  const goes = (device, second, within) => {
    if (home[device] < 0) return;
    home[device] = -1;
    traffic.add("leave");
    const back = second + 1 + Math.floor(random() * within);
    if (back <= seconds) returns[back].push(device);
  };
  for (let second = 0; second < seconds; second += 1) {
    const before = traffic.total;
    traffic.pass(1);
    for (let left = poisson(rates.call, random); left > 0; left -= 1) {
      const at = home[Math.floor(random() * devices)];
      // A call to a device that is away ends at once, with an event as any other.
      if (at < 0) traffic.add("localCall");
      else traffic.add(Math.floor(random() * nodes) === at ? "localCall" : "crossCall");
    }
    for (let left = poisson(rates.break, random); left > 0; left -= 1)
      goes(Math.floor(random() * devices), second, 5);
    if (second === crashAt) {
      for (let device = 0; device < devices; device += 1)
        if (home[device] === 0) goes(device, second, backWithinSeconds);
    }
    for (const device of returns[second]) {
      home[device] = Math.floor(random() * nodes);
      traffic.add("comeBack");
    }
    const passed = traffic.total - before;
    if (passed > busiest.total) Object.assign(busiest, { second, total: passed });
  }
  return { traffic, busiest };
}

/** How many of something rare happen in a second; for many, the bell curve is near enough. */
function poisson(mean, random) {
  if (mean > 50) {
    const bell = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * bell));
  }
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count += 1;
  return count;
}
