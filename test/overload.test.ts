/** More callers than the gateway can serve. What they and the others get is measured by `npm run bench`. */
import net from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startServe, temporaryFolder } from "../packages/cli/test/run-tendon.ts";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";

const token = "an-admin-token-for-overload";
const callers = 20;
/** Of each caller, all sent at once: together fewer than may wait. */
const requests = 450;
const mostRounds = 20;
const start = "HTTP/1.1 ";

/** A caller who sends many requests without waiting for the answers. */
class Caller {
  readonly #socket: net.Socket;
  #heard = "";

  constructor(url: string) {
    this.#socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    this.#socket.on("error", () => undefined);
    this.#socket.on("data", (chunk) => {
      this.#heard += chunk.toString("latin1");
    });
  }

  /** Resolves with the answers. */
  async ask(): Promise<string[]> {
    const request = `GET /api/v1/devices HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`;
    this.#heard = "";
    this.#socket.write(request.repeat(requests));
    await until(() => this.#heard.split(start).length > requests && this.#heard.endsWith("}"), "all answers");
    return this.#heard.split(start).slice(1);
  }

  leave(): void {
    this.#socket.destroy();
  }
}

it("an overloaded gateway refuses the excess with Retry-After, stays healthy, and recovers", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const { process, url } = await startServe(folder.path, ["--demo"], { TENDON_TOKEN: token });
  onTestFinished(async () => void (await process.end()));
  const crowd = Array.from({ length: callers }, () => new Caller(url));
  const leave = () => {
    for (const caller of crowd) caller.leave();
  };
  onTestFinished(leave);
  const probes = [];
  let answers: string[] = [];
  let refusal: string | undefined;
  for (let round = 0; round < mostRounds && refusal === undefined; round += 1) {
    const asked = Promise.all(crowd.map((caller) => caller.ask()));
    probes.push(askAll(url, { path: "/healthz" }));
    answers = (await asked).flat();
    refusal = answers.find((answer) => answer.startsWith("503"));
  }
  for (const { status } of await Promise.all(probes)) expect(status).toBe(200);
  if (refusal === undefined) throw new TypeError("nothing was refused");
  expect(refusal.toLowerCase()).toContain("\r\nretry-after: 1\r\n");
  expect(refusal.toLowerCase()).toContain("\r\ncontent-type: application/problem+json\r\n");
  expect(JSON.parse(refusal.slice(refusal.indexOf("\r\n\r\n")))).toEqual({
    type: "urn:tendon:error:busy",
    title: "Too many operations of this kind are running",
    status: 503,
    code: "busy",
    detail: "the gateway has more requests than it can serve; retry later",
    retryable: true,
    retryAfterMs: 1_000,
  });
  expect(answers.some((answer) => answer.startsWith("200"))).toBe(true);
  leave();
  const headers = { authorization: `Bearer ${token}` };
  await until(
    async () => (await askAll(url, { path: "/api/v1/devices", headers })).status === 200,
    "an answer",
  );
  const { text } = await askAll(url, { path: "/metrics" });
  expect(text).toMatch(/tendon_requests_limited_total\{by="overload"\} [1-9]/);
  expect(process.stdout + process.stderr).toMatch(/too many requests/);
});
