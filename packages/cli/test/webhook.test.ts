import http from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

describe("tendon webhook", () => {
  const folder = temporaryFolder();
  const cwd = folder.path;
  const received: { text: string; headers: Record<string, string> }[] = [];
  let status = 200;
  const receiver = http.createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += String(chunk);
    });
    request.on("end", () => {
      received.push({ text, headers: request.headers as Record<string, string> });
      response.writeHead(status).end();
    });
  });
  let host = "";
  let gateway: Awaited<ReturnType<typeof openGateway>>;
  beforeAll(async () => {
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    gateway = await openGateway(cwd, { env: { TENDON_WEBHOOKS_ALLOW_HOSTS: JSON.stringify([host]) } });
  });
  afterAll(async () => {
    await gateway.end();
    receiver.closeAllConnections();
    receiver.close();
    folder.remove();
  });

  it("adds, tests, lists and removes one", async () => {
    const none = await run(["webhook", "list"], { cwd });
    expect(none.stdout).toContain("No webhooks.");
    const add = ["webhook", "add", `http://${host}/hook`, "--name", "desk", "--type", "device.*"];
    const added = await run(add, { cwd });
    expect(added.code).toBe(0);
    expect(added.stderr).toMatch(/^webhook [0-9a-f-]{36} for desk; its secret is shown only once:/);
    expect(added.stdout).toMatch(/^whsec_\S+\n$/);
    const tested = await run(["webhook", "test", "desk"], { cwd });
    expect(tested.stdout).toMatch(/^The receiver answered 200 after \d+ ms\.\n$/);
    const [message] = received;
    expect(
      new Webhook(added.stdout.trim()).verify(message?.text ?? "", message?.headers ?? {}),
    ).toMatchObject({ type: "webhook.test", data: { name: "desk" } });
    const listed = await run(["webhook", "list"], { cwd });
    expect(listed.stdout).toMatch(
      /desk\s+http:\/\/127\.0\.0\.1:\d+\/hook\s+device\.\*\s+all\s+ok\s+0\s+never/,
    );
    expect(listed.stdout).not.toContain("whsec_");
    status = 500;
    const failed = await run(["webhook", "test", "desk"], { cwd });
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("HTTP status 500") });
    expect((await run(["webhook", "test", "desk", "--json"], { cwd })).code).toBe(1);
    expect((await run(["webhook", "remove", "desk"], { cwd })).stdout).toMatch(/\(desk\) removed\n$/);
    expect((await run(["webhook", "remove", "desk"], { cwd })).code).toBe(1);
  });

  it("disables, enables, rotates, replays and lists deliveries", async () => {
    const { stdout } = await run(["webhook", "add", `http://${host}/`, "--json"], { cwd });
    const { id, secret } = JSON.parse(stdout) as { id: string; secret: string };
    expect((await run(["webhook", "disable", id], { cwd })).stdout).toMatch(/ disabled\n$/);
    expect((await run(["webhook", "list"], { cwd })).stdout).toContain("disabled: disabled by admin");
    expect((await run(["webhook", "enable", id], { cwd })).stdout).toMatch(/ enabled\n$/);
    const rotated = await run(["webhook", "rotate", id], { cwd });
    expect(rotated.stdout).toMatch(/^whsec_/);
    expect(rotated.stdout.trim()).not.toBe(secret);
    const deliveries = await run(["webhook", "deliveries", id], { cwd });
    expect(deliveries.stdout).toMatch(/WHEN\s+TYPE\s+DEVICE\s+STATE\s+ATTEMPTS\s+STATUS\s+ERROR/);
    expect(deliveries.stdout).toContain("audit.recorded");
    const replayed = await run(["webhook", "replay", id, "--since", "2020-01-01"], { cwd });
    expect(replayed.stdout).toMatch(/^\d+ events are delivered again\n$/);
  });

  it("rejects wrong usage and addresses that are not allowed", async () => {
    expect((await run(["webhook", "add"], { cwd })).code).toBe(2);
    expect((await run(["webhook", "replay", "desk", "--since", "soon"], { cwd })).code).toBe(2);
    const refused = await run(["webhook", "add", "http://10.0.0.1/"], { cwd });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("webhooks.allowHosts") });
  });
});
