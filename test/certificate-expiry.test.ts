/** What operators learn before a certificate expires, and after. */
import { expect, it } from "vitest";
import { askAll } from "./http-client.ts";
import { ManualClock } from "./manual-clock.ts";
import { selfSigned } from "./self-signed.ts";
import { openSite } from "./site.ts";

const dayMs = 86_400_000;

/** Its wall clock can be set; timers continue. */
class SettableClock extends ManualClock {
  #shiftMs = 0;

  set(to: number): void {
    this.#shiftMs += to - this.now();
  }

  override now(): number {
    return super.now() + this.#shiftMs;
  }
}

it("is a metric, and a detail of the readiness from two weeks before on", async () => {
  const clock = new SettableClock(Date.now());
  const { cert, key } = selfSigned("IP:127.0.0.1", 30);
  const lines: string[] = [];
  const { default: pino } = await import("pino");
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const site = await openSite({ clock, logger, config: { tls: { cert, key } } });
  const readiness = async () => (await askAll(site.url, { path: "/readyz" })).body;
  const expiry = await site.metric("tendon_certificate_expiry_timestamp_seconds");
  expect(expiry * 1_000 - clock.now()).toBeGreaterThan(20 * dayMs);
  expect(await readiness()).toEqual({ status: "ready" });
  clock.set(expiry * 1_000 - 10 * dayMs);
  clock.advance(30_000);
  expect(await readiness()).toMatchObject({
    status: "ready",
    warnings: { certificate: expect.stringContaining("expires soon") },
  });
  clock.set(expiry * 1_000 + dayMs);
  clock.advance(30_000);
  expect(await readiness()).toMatchObject({
    warnings: { certificate: expect.stringContaining("has expired") },
  });
  const states = lines
    .filter((line) => line.includes("TLS certificate"))
    .map((line) => line.match(/"state":"([^"]+)"/)?.[1]);
  expect(states).toContain("ends soon");
  expect(states).toContain("expired");
});
