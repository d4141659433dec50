/** Removes retained messages from a broker, for people who end a connection to it. */
import { connectAsync, type MqttClient } from "mqtt";

export interface CleanOptions {
  readonly url: string;
  readonly password?: string | undefined;
  readonly filters: readonly string[];
  readonly isOurs: (topic: string, payload: Buffer) => boolean;
}

const connectTimeoutMs = 10_000;

/** Returns the topics whose retained messages were removed. Throws if the broker rejects the connection. */
export async function cleanRetained({ url, password, filters, isOurs }: CleanOptions): Promise<string[]> {
  // A broker without MQTT 5 rejects the first attempt; its own reason is the one to report.
  const client = await connect(url, password, 5).catch(async (error: unknown) => {
    return await connect(url, password, 4).catch(() => {
      throw error;
    });
  });
  try {
    const found = await retainedTopics(client, filters, isOurs);
    for (const topic of found) await client.publishAsync(topic, "", { qos: 1, retain: true });
    return found;
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
  isOurs: CleanOptions["isOurs"],
): Promise<string[]> {
  const found = new Set<string>();
  const end = `tendon/ha/owner/sync/clean-${Math.random().toString(36).slice(2)}`;
  const ended = new Promise<void>((resolve, reject) => {
    client.on("message", (topic, payload, { retain }) => {
      if (topic === end) resolve();
      else if (retain && isOurs(topic, payload)) found.add(topic);
    });
    client.once("close", () => reject(new BrokerGone("the connection to the broker was lost")));
  });
  await client.subscribeAsync([...filters, end], { qos: 1 });
  await client.publishAsync(end, "end", { qos: 1 });
  await ended;
  return [...found];
}

class BrokerGone extends Error {}
