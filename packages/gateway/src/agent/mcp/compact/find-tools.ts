import { didYouMean } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../../errors.ts";
import type { FoundTool } from "../../../toolset/toolset.ts";
import { answer, compactTool, Device, inputOf } from "./compact-tool.ts";
import { addressOf } from "./tool-address.ts";

const foundAtOnce = 8;
const summaryLength = 200;

export const toolsSearch = compactTool(
  {
    name: "tools_search",
    title: "Find tools",
    description:
      "Finds tools of all devices by a request in plain words, such as `louder` or `take a photo in the kitchen`. The best match comes first, and tools of online devices before equal ones of offline devices. Then call one with device_call; tool_describe shows its arguments.",
    readOnly: true,
    input: inputOf({
      query: Type.String({ minLength: 1, maxLength: 256, description: "What you want to do" }),
      device: Type.Optional(Device),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: "Default: 8" })),
    }),
  },
  async ({ view }, { query, device, limit = foundAtOnce }) => {
    const { services, principal } = view;
    const only = device === undefined ? {} : { device: services.fleet.device(principal, device).id };
    const found = await services.toolset.search(principal, query, { ...only, limit });
    return answer({ tools: found.map(summaryOf) });
  },
);

function summaryOf({ tool, online, offlineSince }: FoundTool) {
  const { description } = tool;
  const summary =
    description.length > summaryLength ? `${description.slice(0, summaryLength - 1)}…` : description;
  return {
    device: tool.alias,
    tool: tool.bareName,
    description: summary,
    arguments: Object.keys((tool.inputSchema["properties"] ?? {}) as object),
    ...(tool.access === "confirm" ? { confirm: true } : {}),
    online,
    ...(online ? {} : { offlineSince: offlineSince ?? null }),
  };
}

export const toolDescribe = compactTool(
  {
    name: "tool_describe",
    title: "Describe a tool",
    description: "Describes one tool in full, with the JSON Schema of its arguments.",
    readOnly: true,
    input: inputOf({
      device: Type.Optional(Device),
      tool: Type.String({ minLength: 1, maxLength: 128, description: "The tool's name from tools_search" }),
    }),
  },
  ({ view }, { device, tool }) => {
    const { services, principal } = view;
    const at = addressOf(view, device, tool);
    const id = services.fleet.device(principal, at.device).id;
    const found = services.toolset.list(principal, { device: id }).find((known) => known.tool === at.tool);
    if (found === undefined) {
      const near = didYouMean(services.toolset.near(principal, tool, { device: id }));
      throw new TendonError("tool_unknown", `no tool is called \`${tool}\`${near}`);
    }
    const { name, bareName, alias, title, description, inputSchema, outputSchema, annotations, access } =
      found;
    return answer({
      device: alias,
      tool: bareName,
      name,
      title,
      description,
      inputSchema,
      ...(outputSchema === undefined ? {} : { outputSchema }),
      annotations,
      access,
    });
  },
);
