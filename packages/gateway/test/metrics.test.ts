import { PerformanceObserver } from "node:perf_hooks";
import { expect, it, vi } from "vitest";
import { Metrics } from "../src/events/metrics.ts";

it("collects process metrics once, however many gateways run", async () => {
  await new Metrics().text();
  const observe = vi.spyOn(PerformanceObserver.prototype, "observe");
  const metrics = new Metrics();
  metrics.calls.inc({ outcome: "ok" }, 3);
  const lines = (await metrics.text()).split("\n");
  expect(observe).not.toHaveBeenCalled();
  observe.mockRestore();
  expect(lines).toContain('tendon_calls_total{outcome="ok"} 3');
  expect(lines.filter((line) => line.startsWith("# TYPE process_cpu_seconds_total"))).toHaveLength(1);
});
