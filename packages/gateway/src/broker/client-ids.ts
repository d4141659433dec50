/** Interprets client ids before the sign-in, and derives topics from them. */
import { hash } from "node:crypto";
import { clientIdMark } from "@tendon/protocol";

const noPassword = Buffer.alloc(0);

/** [MQT-1] A client id with the mark is always a device. */
export function isDevice(clientId: string): boolean {
  return clientId.includes(clientIdMark);
}

/** [MQT-6] Scopes an app's client id to its token, so that it cannot displace clients of another token. */
export function scopedClientId(clientId: string, password: Buffer | undefined): string {
  if (isDevice(clientId)) return clientId;
  const owner = hash("sha256", password ?? noPassword, "base64url").slice(0, 16);
  return `${owner}/${clientId === "" ? hash("sha256", `${Math.random()}`, "hex").slice(0, 16) : clientId}`;
}

/** Text that MQTT forbids: with NUL, or decoded from bytes that are not UTF-8. */
export function isMalformed(text: string): boolean {
  return text.includes("\u0000") || text.includes("\ufffd");
}

/** [MQT-5] The topic of messages to a device, with or without a subscription. */
export function pushTopic(clientId: string): string {
  return `devices/p2p/${clientId}`;
}
