/** What a client id means before its client has signed in, and the topic it stands for. */
import { hash } from "node:crypto";
import { clientIdMark } from "@tendon/protocol";

const noPassword = Buffer.alloc(0);

/** [MQT-1] Anything with the mark in it is a device and nothing else. */
export function isDevice(clientId: string): boolean {
  return clientId.includes(clientIdMark);
}

/** [MQT-6] An app's client id counts within its own token only, so that nobody can displace somebody else. */
export function ownName(clientId: string, password: Buffer | undefined): string {
  if (isDevice(clientId)) return clientId;
  const owner = hash("sha256", password ?? noPassword, "base64url").slice(0, 16);
  return `${owner}/${clientId === "" ? hash("sha256", `${Math.random()}`, "hex").slice(0, 16) : clientId}`;
}

/** [MQT-5] Where a device is pushed to, subscribed or not. */
export function pushTopic(clientId: string): string {
  return `devices/p2p/${clientId}`;
}
