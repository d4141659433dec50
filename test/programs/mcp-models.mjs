// An MCP server whose schemas are as pydantic writes them: choices and nested models as references to `$defs`.
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

const server = new Server({ name: "models", version: "1.0.0" }, { capabilities: { tools: {} } });

const tools = [
  {
    name: "paint",
    description: "Paints a wall",
    inputSchema: {
      $defs: {
        Colour: { enum: ["red", "green", "blue"], title: "Colour", type: "string" },
        Size: {
          properties: {
            width: { title: "Width", type: "number", exclusiveMinimum: 0 },
            height: { default: 1, title: "Height", type: "number" },
          },
          required: ["width"],
          title: "Size",
          type: "object",
        },
      },
      properties: {
        colour: { $ref: "#/$defs/Colour" },
        second: { anyOf: [{ $ref: "#/$defs/Colour" }, { type: "null" }], default: null },
        size: { $ref: "#/$defs/Size", description: "How large it is" },
        more: { items: { $ref: "#/$defs/Size" }, type: "array" },
        same: { $ref: "#/properties/colour" },
      },
      required: ["colour", "size"],
      title: "paintArguments",
      type: "object",
    },
  },
  {
    name: "plant",
    description: "Plants a tree",
    inputSchema: {
      $ref: "#/$defs/Tree",
      $defs: {
        Tree: {
          properties: {
            name: { type: "string" },
            branches: { type: "array", items: { $ref: "#/$defs/Tree" } },
          },
          required: ["name"],
          type: "object",
        },
      },
    },
  },
];

server.setRequestHandler("tools/list", () => ({ tools }));
server.setRequestHandler("tools/call", (request) => ({
  content: [{ type: "text", text: JSON.stringify(request.params.arguments) }],
}));

await server.connect(new StdioServerTransport());
