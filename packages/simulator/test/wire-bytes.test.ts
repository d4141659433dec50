import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadToolsFile, type VirtualDevice } from "../src/index.ts";
import type { ServerConnection } from "./scripted-server.ts";
import { useWelcomingServer } from "./welcoming-server.ts";

const site = useWelcomingServer();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tools-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A connected device with the tools of a file. */
async function withTools(name: string, text: string): Promise<ServerConnection> {
  const device = site.make();
  await addTools(device, name, text);
  return await site.welcomed(device);
}

async function addTools(device: VirtualDevice, name: string, text: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, text);
  await (await loadToolsFile(path)).register(device);
}

async function textOf(connection: ServerConnection, name: string, args: object = {}): Promise<string> {
  connection.mcp({ id: 1, method: "tools/call", params: { name, arguments: args } });
  const { result, error } = await connection.reply<{
    result?: { content: { text: string }[] };
    error?: { message: string };
  }>();
  return result?.content[0]?.text ?? `error: ${error?.message}`;
}

describe("numbers on the wire", () => {
  it("are printed as cJSON prints them", async () => {
    const connection = await withTools(
      "numbers.yaml",
      `
- name: self.numbers
  returns: { value: [0.30000000000000004, 1.7976931348623157e308, 2.98023223876953125e-08, -0.0, .inf, 1e15] }
- { name: self.sum, returns: 0.30000000000000004 }
`,
    );
    expect(await textOf(connection, "self.numbers")).toBe(
      "[0.3,1.79769313486232e+308,2.9802322387695312e-08,0,null,1e+15]",
    );
    expect(await textOf(connection, "self.sum")).toBe("0.3");
  });
});
