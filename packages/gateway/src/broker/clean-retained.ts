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
  const client = await connectAsync(url, {
    reconnectPeriod: 0,
    connectTimeout: connectTimeoutMs,
    protocolVersion: 5,
    ...(password === undefined ? {} : { password }),
  });
  try {
    const found = await retainedTopics(client, filters, isOurs);
    for (const topic of found) await client.publishAsync(topic, "", { qos: 1, retain: true });
    return found;
  } finally {
    await client.endAsync();
  }
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
