/** Signs in to a broker once, to find out whether it accepts the client and which version of MQTT it speaks. */
import { connectAsync } from "mqtt";
import { messageOf } from "../errors.ts";

const connectTimeoutMs = 5_000;

export type ExaminedBroker = { readonly version: "5" | "3.1.1" } | { readonly problem: string };

export async function examineBroker(url: string, password: string | undefined): Promise<ExaminedBroker> {
  const first = await attempt(url, password, 5);
  if (first === undefined) return { version: "5" };
  return (await attempt(url, password, 4)) === undefined ? { version: "3.1.1" } : { problem: first };
}

/** Returns the problem. */
async function attempt(
  url: string,
  password: string | undefined,
  protocolVersion: 4 | 5,
): Promise<string | undefined> {
  try {
    const client = await connectAsync(
      url,
      {
        reconnectPeriod: 0,
        connectTimeout: connectTimeoutMs,
        protocolVersion,
        ...(password === undefined ? {} : { password }),
      },
      false,
    );
    await client.endAsync();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
