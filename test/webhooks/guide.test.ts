/** The receiver of docs/guides/webhooks.md, as it stands there. */
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readPage, root } from "../guides/page.ts";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";

it("the receiver of the guide verifies and prints our deliveries", async () => {
  const block = readPage("docs/guides/webhooks.md").find(({ language }) => language === "js");
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-receiver-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  fs.writeFileSync(path.join(folder, "receiver.mjs"), block?.text ?? "");
  const receiver = (secret: string, port: number) => {
    const child = spawn(process.execPath, ["receiver.mjs"], {
      cwd: folder,
      env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    });
    let printed = "";
    child.stdout.on("data", (chunk) => {
      printed += String(chunk);
    });
    onTestFinished(() => void child.kill());
    return { child, printed: () => printed };
  };
  // The first one only finds a free port.
  const first = receiver(`whsec_${Buffer.alloc(32).toString("base64")}`, 0);
  const port = Number(await until(() => /listening on (\d+)/.exec(first.printed())?.[1]));
  first.child.kill();
  await until(() => first.child.signalCode !== null);
  const site = await openSite({ config: { webhooks: { allowHosts: [`127.0.0.1:${port}`] } } });
  const url = `http://127.0.0.1:${port}/`;
  const { body } = await site.rest("POST", "/webhooks", { url, types: ["device.online"] });
  const second = receiver(String(body["secret"]), port);
  await until(() => second.printed().includes("listening"));
  const device = await site.join();
  expect(await until(() => / device\.online (\S+)/.exec(second.printed())?.[1])).toBe(device.id);
});
