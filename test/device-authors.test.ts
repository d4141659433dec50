/** The examples of docs/guides/device-authors.md: the same tools in YAML and C++, and answers as the page shows them. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { loadToolsFile, VirtualDevice } from "@tendon/simulator";
import { expect, it, onTestFinished } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly properties: Readonly<Record<string, unknown>> };
  readonly annotations?: unknown;
}

interface Reply {
  readonly result: { readonly tools: readonly ListedTool[]; readonly content: readonly unknown[] };
}

async function boardWith(file: string): Promise<VirtualDevice> {
  const device = new VirtualDevice({ autoReconnect: false });
  onTestFinished(async () => await device.stop());
  await (await loadToolsFile(path.join(root, file))).register(device);
  return device;
}

async function ask(device: VirtualDevice, method: string, params: object): Promise<Reply> {
  const reply = device.waitFor("reply");
  device.receiveMcp(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  return JSON.parse((await reply).payload.toString("utf8")) as Reply;
}

it("examples/lamp-tools.cc adds the tools of examples/lamp-tools.yaml", async () => {
  const source = fs.readFileSync(path.join(root, "examples/lamp-tools.cc"), "utf8");
  const added = [
    ...source.matchAll(/Add(UserOnly)?Tool\("([^"]+)",\s*"([^"]+)",\s*PropertyList\((.*?)\),\s*\[/gs),
  ].map(([, userOnly, name, description, properties = ""]) => ({
    name,
    description,
    userOnly: userOnly !== undefined,
    properties: Object.fromEntries(
      [...properties.matchAll(/Property\("(\w+)", kPropertyType(\w+)\)/g)].map(([, key, type = ""]) => [
        key,
        { type: type.toLowerCase() },
      ]),
    ),
  }));
  const device = await boardWith("examples/lamp-tools.yaml");
  const { result } = await ask(device, "tools/list", { withUserTools: true });
  const listed = result.tools
    .filter(({ name }) => name.startsWith("self.lamp."))
    .map(({ name, description, inputSchema, annotations }) => ({
      name,
      description,
      userOnly: annotations !== undefined,
      properties: inputSchema.properties,
    }));
  expect(listed).toHaveLength(3);
  expect(added).toEqual(listed);
});

it("examples/pump-tools.mjs returns each type as the page shows it on the wire", async () => {
  const page = fs.readFileSync(path.join(root, "docs/guides/device-authors.md"), "utf8");
  const shown = [...page.matchAll(/^\| (?:bool|int|text|JSON|image) \|.*\| `(\{.*\})` \|$/gm)].map(
    ([, item = ""]) => item,
  );
  const device = await boardWith("examples/pump-tools.mjs");
  const answers: string[] = [];
  for (const tool of ["is_running", "get_level", "get_name", "get_state", "get_picture"]) {
    const { result } = await ask(device, "tools/call", { name: `self.pump.${tool}` });
    answers.push(JSON.stringify(result.content[0]).replace(/(data\\":\\")[^\\]+/, "$1…"));
  }
  expect(answers).toEqual(shown);
});
