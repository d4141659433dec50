/** The gateway with each fault of the simulated MCP server over HTTP. */
import { type HttpServer, httpFaults } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import type { Fields } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { online, openServer, siteWith, textOf } from "./servers.ts";

type Fault = keyof typeof httpFaults;

async function opened(fault: Fault, clock?: ManualClock): Promise<{ server: HttpServer; site: Site }> {
  const server = await openServer({ faults: [fault] });
  const site = await siteWith(server, clock === undefined ? {} : { clock });
  return { server, site };
}

async function called(fault: Fault): Promise<Fields> {
  const { site } = await opened(fault);
  await online(site);
  return (await site.call("lamp", "echo", { text: "a" })).body;
}

async function problemOf(fault: Fault): Promise<string> {
  const { site } = await opened(fault);
  const problem = await until(async () => {
    const { server } = (await site.device("lamp")) as { server?: { problem: string | null } };
    return server?.problem ?? false;
  }, "the reason");
  expect(await site.device("lamp")).toMatchObject({ online: false });
  return problem;
}

/** [HTD-5] It gets a new session when it has lost its own, and each call once. */
const losesSessions = async (fault: Fault) => {
  expect((await works(fault)).sessionsOpened).toBeGreaterThan(1);
};

async function works(fault: Fault): Promise<HttpServer> {
  const { server, site } = await opened(fault);
  await online(site);
  for (const text of ["one", "two", "three"])
    expect(textOf((await site.call("lamp", "echo", { text })).body)).toBe(text);
  expect(server.tools.runs.get("echo")).toBe(3);
  return server;
}

const behaviour: Record<Fault, () => Promise<void>> = {
  "lose-sessions": () => losesSessions("lose-sessions"),
  "lose-sessions-400": () => losesSessions("lose-sessions-400"),
  "no-ping": async () => {
    const clock = new ManualClock();
    const { server, site } = await opened("no-ping", clock);
    await online(site);
    for (let probe = 0; probe < 5; probe += 1) {
      const before = server.ids.length;
      await until(() => {
        clock.advance(1_000);
        return server.ids.length > before;
      }, "the probe");
    }
    expect((await site.device("lamp"))["online"]).toBe(true);
  },
  "no-stream": async () => void (await works("no-stream")),
  slow: async () => void (await works("slow")),
  mute: async () => {
    const { server, site } = await opened("mute");
    await online(site);
    for (let time = 0; time < 2; time += 1)
      expect((await site.call("lamp", "echo", { text: "a" }, { timeoutMs: 50 })).body).toMatchObject({
        code: "device_timeout",
        phase: "device",
      });
    expect((await site.device("lamp"))["online"]).toBe(true);
    expect(server.sessionsOpened).toBe(1);
  },
  "drop-mid-call": async () => {
    const body = await called("drop-mid-call");
    expect(body).toMatchObject({ code: "device_disconnected", sent: true });
  },
  "end-stream": async () => {
    const body = await called("end-stream");
    expect(body).toMatchObject({ code: "device_disconnected", sent: true });
  },
  "broken-json": async () => {
    const body = await called("broken-json");
    expect(body).toMatchObject({ code: "device_error" });
  },
  "huge-answer": async () => {
    const body = await called("huge-answer");
    expect(body).toMatchObject({ code: "device_error", detail: expect.stringContaining("1048576 bytes") });
  },
  "http-500": async () => {
    const body = await called("http-500");
    expect(body).toMatchObject({
      code: "device_error",
      detail: expect.stringContaining("HTTP 500: the lamp is on fire"),
    });
  },
  redirect: async () => {
    expect(await problemOf("redirect")).toMatch(/redirect \(HTTP 308\)/);
  },
  unauthorized: async () => {
    expect(await problemOf("unauthorized")).toMatch(/HTTP 401.*headers/);
  },
  flood: async () => {
    const clock = new ManualClock();
    const { server, site } = await opened("flood", clock);
    await online(site);
    // The gateway reads at its own pace, and stays usable meanwhile.
    const call = site.call("lamp", "echo", { text: "a" });
    await until(() => server.tools.runs.get("echo") === 1, "the flood");
    let answered = false;
    void call.then(() => {
      answered = true;
    });
    await until(async () => {
      clock.advance(100);
      expect((await site.rest("GET", "/devices/lamp")).status).toBe(200);
      return answered;
    }, "the answer");
    expect(textOf((await call).body)).toBe("a");
  },
};

describe("a faulty MCP server over HTTP", () => {
  it.each(Object.keys(httpFaults) as Fault[])("[HTD-2] [HTD-3] [HTD-5] has the fault %s", async (fault) => {
    await behaviour[fault]();
  });
});
