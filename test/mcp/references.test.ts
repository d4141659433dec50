/** Schemas with references, as pydantic writes enums and nested models, through the official client [AGT-9]. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { openAgent, textOf } from "./agent.ts";

const program = fileURLToPath(new URL("../programs/mcp-models.mjs", import.meta.url));

it("references are inlined for agents, and arguments are checked against their targets", async () => {
  const entry = {
    alias: "wall",
    command: process.execPath,
    args: [path.resolve(program)],
    protocol: "mcp" as const,
  };
  const site = await openSite({ config: { devices: { stdio: [entry] } } });
  await until(async () => (await site.device("wall"))["online"] === true, "the program");
  const agent = await openAgent(site, "modern");
  const { tools } = await agent.listTools();
  const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema;
  const size = {
    type: "object",
    properties: { width: { type: "number" }, height: { type: "number", default: 1 } },
    required: ["width"],
  };
  const colours = ["red", "green", "blue"];
  expect(schemaOf("wall__paint")).toMatchObject({
    type: "object",
    properties: {
      colour: { type: "string", enum: colours },
      second: { type: "string", enum: colours },
      size: { ...size, description: "How large it is" },
      more: { type: "array", items: size },
      same: { type: "string", enum: colours },
    },
    required: ["colour", "size"],
  });
  // A recursive tree becomes any object, because it would never end.
  expect(schemaOf("wall__plant")).toMatchObject({
    type: "object",
    properties: { name: { type: "string" }, branches: { type: "array", items: { type: "object" } } },
    required: ["name"],
  });
  expect(JSON.stringify(tools)).not.toMatch(/\$ref|\$defs/);

  const call = async (name: string, args: Record<string, unknown>) =>
    textOf(await agent.callTool({ name, arguments: args }));
  const good = { colour: "green", second: null, size: { width: 2 }, more: [{ width: 1, height: 2 }] };
  expect(JSON.parse(await call("wall__paint", good))).toEqual(good);
  expect(await call("wall__paint", { ...good, colour: "pink" })).toMatch(
    /arguments_invalid: \/colour must be one of "red", "green", "blue"/,
  );
  expect(await call("wall__paint", { ...good, size: { height: 2 } })).toMatch(
    /arguments_invalid: \/size\/width is required/,
  );
  const tree = { name: "oak", branches: [{ name: "left", branches: [{ name: "leaf" }] }] };
  expect(JSON.parse(await call("wall__plant", tree))).toEqual(tree);
  // Checked against the original, also where the shown schema is cut.
  expect(await call("wall__plant", { name: "oak", branches: [{ name: "left", branches: [{}] }] })).toMatch(
    /arguments_invalid: \/branches\/0\/branches\/0\/name is required/,
  );

  const { body } = await site.rest("GET", "/devices/wall/tools");
  expect(body["tools"]).toMatchObject([
    { inputSchema: { properties: { colour: { enum: colours }, size } } },
    { inputSchema: { properties: { name: { type: "string" } } } },
  ]);

  const wrong = await call("device_call", { device: "wall", tool: "wall__paint", volume: 5 });
  expect(wrong).toMatch(/arguments_invalid: \/volume is not an argument of this tool/);
});
