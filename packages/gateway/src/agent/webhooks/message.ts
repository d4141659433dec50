/** The messages that receivers get: `{type, timestamp, data}`, below 20 KB. */
import { randomUUID } from "node:crypto";
import { type GatewayEvent, webhookLimits } from "@tendon/protocol";
import { isoTime } from "../../clock.ts";
import type { Gap, NewDelivery } from "../../store/store.ts";

/** Longer fields of a message that is too large are left out. */
const longFieldBytes = 1_024;

export function makeMessageId(): string {
  return `msg_${randomUUID().replaceAll("-", "")}`;
}

export function messageOf({ id: eventId, type, at, device, data }: GatewayEvent): NewDelivery {
  const base = { eventId, ...(device === undefined ? {} : { device }) };
  const text = bodyOf(type, at, { ...base, ...data });
  const body = fits(text) ? text : bodyOf(type, at, { ...base, ...withoutLongFields(data) });
  return { id: makeMessageId(), type, at: Date.parse(at), device, body };
}

export function gapMessage(at: number, gap: Gap): NewDelivery {
  return { id: makeMessageId(), type: "webhook.gap", at, device: undefined, body: gapBody(at, gap) };
}

export function gapBody(at: number, { from, to, count }: Gap): string {
  return bodyOf("webhook.gap", isoTime(at), { from: isoTime(from), to: isoTime(to), count });
}

export function testBody(at: number, webhook: string, name: string): string {
  return bodyOf("webhook.test", isoTime(at), { webhook, name });
}

function bodyOf(type: string, timestamp: string, data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type, timestamp, data });
}

function fits(body: string): boolean {
  return Buffer.byteLength(body) < webhookLimits.bodyBytes.max;
}

/** Keeps the short fields, and names those that were left out in `truncated`. */
function withoutLongFields(data: GatewayEvent["data"]): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  const truncated: string[] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(data)) {
    const size = Buffer.byteLength(JSON.stringify(value) ?? "") + name.length;
    if (size <= longFieldBytes && bytes + size <= webhookLimits.bodyBytes.max / 2) {
      kept.push([name, value]);
      bytes += size;
    } else truncated.push(name.slice(0, 64));
  }
  return { ...Object.fromEntries(kept), truncated: truncated.slice(0, 32) };
}
