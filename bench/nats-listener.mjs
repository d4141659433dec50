// Hears every message on a NATS server and counts them by what they are for. It speaks the protocol itself, so that
// it sees what is on the wire and not what a client makes of it.
import { once } from "node:events";
import net from "node:net";

/** These come whether something happens or not. */
const recurring = new Set(["beat", "pull"]);
const lineEnd = Buffer.from("\r\n");

/** What a message is for, by its subject. `fleet` is the name in the `cluster` address. */
function kindOf(subject, fleet) {
  if (subject.startsWith(`${fleet}.`)) return subject.split(".")[1];
  if (subject.startsWith(`$KV.${fleet}_presence.`)) return "claim";
  if (subject.startsWith("$JS.API.CONSUMER.MSG.NEXT.")) return "pull";
  if (subject.startsWith("$JS.")) return "jetstream";
  if (subject.startsWith("_INBOX.")) return "inbox";
  return "other";
}

export async function listenToNats(port, fleet) {
  const counts = {};
  const bytes = {};
  let heardAt = performance.now();
  const socket = net.connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write('CONNECT {"verbose":false,"headers":false,"name":"listener"}\r\nSUB > 1\r\nPING\r\n');
  let rest = Buffer.alloc(0);
  let ready = () => {};
  const listening = new Promise((resolve) => {
    ready = resolve;
  });
  socket.on("data", (data) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    for (;;) {
      const end = rest.indexOf(lineEnd);
      if (end < 0) return;
      const words = rest.subarray(0, end).toString().split(" ");
      let used = end + 2;
      if (words[0] === "MSG") {
        const size = Number(words.at(-1));
        used += size + 2;
        if (rest.length < used) return;
        const kind = kindOf(words[1], fleet);
        counts[kind] = (counts[kind] ?? 0) + 1;
        bytes[kind] = (bytes[kind] ?? 0) + size;
        if (!recurring.has(kind)) heardAt = performance.now();
      } else if (words[0] === "PING") socket.write("PONG\r\n");
      else if (words[0] === "PONG") ready();
      rest = rest.subarray(used);
    }
  });
  await listening;
  return {
    /** Counts since the last time. */
    take() {
      const taken = { counts: { ...counts }, bytes: { ...bytes } };
      for (const kind of Object.keys(counts)) {
        counts[kind] = 0;
        bytes[kind] = 0;
      }
      return taken;
    },
    /** Resolves when nothing that happens has been heard for so long. */
    async quiet(ms) {
      heardAt = performance.now();
      while (performance.now() - heardAt < ms) await new Promise((resolve) => setTimeout(resolve, 50));
    },
    stop: () => socket.destroy(),
  };
}
