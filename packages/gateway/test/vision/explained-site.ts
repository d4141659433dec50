/** A site with a fake vision provider, stopped after the test. */
import type { ServerResponse } from "node:http";
import { afterEach, expect } from "vitest";
import { startProvider } from "./fake-provider.ts";
import { firmwareForm } from "./form.ts";
import { jpeg } from "./pictures.ts";
import { type Site, startSite, wordsOf } from "./vision-site.ts";

export const apiKey = "sk-very-secret-0123456789";
const started: { stop(): Promise<void> }[] = [];
const sites: Site[] = [];

export function stopLater<Running extends { stop(): Promise<void> }>(running: Running): Running {
  started.push(running);
  return running;
}

afterEach(async () => {
  for (const { stop } of started.splice(0)) await stop();
  for (const site of sites.splice(0)) {
    expect(site.faults.waiting).toEqual([]);
    expect(JSON.stringify([site.seen.waiting, site.refused.waiting])).not.toContain(apiKey);
  }
});

export async function setUp(answer: (response: ServerResponse) => void, pathEnd = "") {
  const provider = await startProvider(answer);
  const site = stopLater(await startSite({ provider: { url: `${provider.url}${pathEnd}`, apiKey } }));
  stopLater(provider);
  sites.push(site);
  return { provider, site, token: site.openTicket() };
}

export async function explain(answer: (response: ServerResponse) => void) {
  const { site, token } = await setUp(answer);
  const reply = await site.upload(firmwareForm("Who?", jpeg()), { token });
  expect(reply.text).not.toContain(apiKey);
  expect(site.photos.pictureOf(token)?.bytes.equals(jpeg())).toBe(true);
  return { words: wordsOf(reply), problem: site.seen.waiting[0]?.problem };
}
