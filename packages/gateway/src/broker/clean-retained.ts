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

/** Returns the topics whose retained messages were removed. Throws if the broker rejects the connection. */
export async function cleanRetained(options: CleanOptions): Promise<string[]> {
  const { url, password } = options;
  // A broker without MQTT 5 rejects the first attempt; its own reason is the one to report.
  const client = await connect(url, password, 5).catch(async (error: unknown) => {
    return await connect(url, password, 4).catch(() => {
      throw error;
    });
  });
  try {
    const removed = new Set<string>();
    const filters = new Set(options.filters);
    // Until nothing is left: a broker may drop messages to a client that reads slowly.
    for (;;) {
      const found = await retainedTopics(client, [...filters], options);
      for (const filter of found.filters) filters.add(filter);
      const added = found.topics.filter((topic) => !removed.has(topic));
      if (added.length === 0) return [...removed];
      for (const topic of added) {
        await client.publishAsync(topic, "", { qos: 1, retain: true });
        removed.add(topic);
      }
    }
  } finally {
    await client.endAsync();
  }
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
  filters: readonly string[],
  { isOurs, moreFilters }: CleanOptions,
): Promise<{ readonly topics: string[]; readonly filters: string[] }> {
  const topics = new Set<string>();
  const more = new Set<string>();
  const end = `tendon/ha/owner/sync/clean-${Math.random().toString(36).slice(2)}`;
  const listeners = { message: (..._: Message) => {}, close: () => {} };
  const ended = new Promise<void>((resolve, reject) => {
    listeners.message = (topic, payload, { retain }) => {
      if (topic === end) resolve();
      else if (retain && isOurs(topic, payload)) {
        topics.add(topic);
        for (const filter of moreFilters(topic, payload)) more.add(filter);
      }
    };
    listeners.close = () => reject(new BrokerGone("the connection to the broker was lost"));
  });
  client.on("message", listeners.message);
  client.once("close", listeners.close);
  try {
    await client.subscribeAsync([end], { qos: 1 });
    // Without acknowledgements, because a broker drops acknowledged messages beyond its queue.
    await client.subscribeAsync([...filters], { qos: 0 });
    await client.publishAsync(end, "end", { qos: 1 });
    await ended;
    await client.unsubscribeAsync([...filters, end]);
  } finally {
    client.off("message", listeners.message);
    client.off("close", listeners.close);
  }
  return { topics: [...topics], filters: [...more] };
}

type Message = [topic: string, payload: Buffer, packet: { readonly retain: boolean }];

class BrokerGone extends Error {}
