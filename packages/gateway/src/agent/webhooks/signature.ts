/** Signatures of Standard Webhooks 1.0: an HMAC over id, time and body. */
import { createHmac, randomBytes } from "node:crypto";

const prefix = "whsec_";
/** Standard Webhooks allows 24 to 64. */
const secretBytes = 32;

export function makeSecret(): string {
  return `${prefix}${randomBytes(secretBytes).toString("base64")}`;
}

export interface SignedMessage {
  readonly id: string;
  /** In ms. */
  readonly at: number;
  readonly body: string;
}

/** One signature per secret, so that a receiver that has only the old or only the new one accepts the message. */
export function signedHeaders(
  { id, at, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const seconds = Math.floor(at / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}
