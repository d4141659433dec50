/** What a client id says of whose it is, before anybody has signed in. */
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
