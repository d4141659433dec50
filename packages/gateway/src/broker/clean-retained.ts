/** Removes retained messages from a broker, for people who end a connection to it. */
import { connectAsync, type MqttClient } from "mqtt";

export interface CleanOptions {
  readonly url: string;
  readonly password?: string | undefined;
  readonly filters: readonly string[];
  readonly isOurs: (topic: string, payload: Buffer) => boolean;
  /** Further filters that a retained message names. */
  readonly moreFilters: (topic: string, payload: Buffer) => readonly string[];
}

const connectTimeoutMs = 10_000;
/** For each step. A broker acknowledges it at once, or never. */
const answerMs = 30_000;
/** Beside retained messages, the broker may drop the one that shows their end. */
const repeatEndMs = 1_000;
const removalsAtOnce = 100;

/** Returns the topics whose retained messages were removed. Throws if the broker rejects the connection. */
export async function cleanRetained(options: CleanOptions): Promise<string[]> {
  const { url, password } = options;
  // A broker without MQTT 5 rejects the first attempt; its own reason is the one to report.
  const client = await connect(url, password, 5).catch(async (error: unknown) => {
    return await connect(url, password, 4).catch(() => {
      throw error;
    });
  });
  const answered = answersOf(client);
  try {
    const removed = new Set<string>();
    const filters = new Set(options.filters);
    // Until nothing is left: a broker may drop messages to a client that reads slowly.
    for (;;) {
      const found = await retainedTopics(client, answered, [...filters], options);
      for (const filter of found.filters) filters.add(filter);
      const added = found.topics.filter((topic) => !removed.has(topic));
      if (added.length === 0) return [...removed];
      const remove = (topic: string) => client.publishAsync(topic, "", { qos: 1, retain: true });
      for (let at = 0; at < added.length; at += removalsAtOnce)
        await answered(Promise.all(added.slice(at, at + removalsAtOnce).map(remove)), "the removals");
      for (const topic of added) removed.add(topic);
    }
  } finally {
    await client.endAsync(true);
  }
}

type Answered = <T>(operation: Promise<T>, what: string) => Promise<T>;

/** Fails what waits for a broker that is gone or silent: the client itself would wait for ever. */
function answersOf(client: MqttClient): Answered {
  const gone = new Promise<never>((_resolve, reject) => {
    client.once("close", () => reject(new BrokerGone("the connection to the broker was lost")));
  });
  // Nothing may be waiting when the connection ends.
  gone.catch(() => undefined);
  return async (operation, what) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new BrokerGone(`the broker did not confirm ${what}`)), answerMs);
    });
    try {
      return await Promise.race([operation, gone, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}

async function connect(
  url: string,
  password: string | undefined,
  protocolVersion: 4 | 5,
): Promise<MqttClient> {
  const options = { reconnectPeriod: 0, connectTimeout: connectTimeoutMs, protocolVersion };
  return await connectAsync(url, { ...options, ...(password === undefined ? {} : { password }) }, false);
}

/** A broker sends retained messages before a message that is published after the subscription. */
async function retainedTopics(
  client: MqttClient,
  answered: Answered,
  filters: readonly string[],
  { isOurs, moreFilters }: CleanOptions,
): Promise<{ readonly topics: string[]; readonly filters: string[] }> {
  const topics = new Set<string>();
  const more = new Set<string>();
  const end = `tendon/ha/owner/sync/clean-${Math.random().toString(36).slice(2)}`;
  let listener = (..._: Message) => {};
  const ended = new Promise<void>((resolve) => {
    listener = (topic, payload, { retain }) => {
      if (topic === end) resolve();
      else if (retain && isOurs(topic, payload)) {
        topics.add(topic);
        for (const filter of moreFilters(topic, payload)) more.add(filter);
      }
    };
  });
  client.on("message", listener);
  try {
    await answered(client.subscribeAsync([end], { qos: 1 }), "a subscription");
    // Without acknowledgements, because a broker drops acknowledged messages beyond its queue.
    await answered(client.subscribeAsync([...filters], { qos: 0 }), "the subscriptions");
    const publishEnd = () => client.publishAsync(end, "end", { qos: 1 });
    await answered(publishEnd(), "a message");
    const repeats = setInterval(() => void publishEnd().catch(() => undefined), repeatEndMs);
    await answered(ended, "the end of its messages").finally(() => clearInterval(repeats));
    await answered(client.unsubscribeAsync([...filters, end]), "the end of the subscriptions");
  } finally {
    client.off("message", listener);
  }
  return { topics: [...topics], filters: [...more] };
}

type Message = [topic: string, payload: Buffer, packet: { readonly retain: boolean }];

class BrokerGone extends Error {}
