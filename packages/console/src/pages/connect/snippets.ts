import type { Key } from "../../i18n/i18n.tsx";

interface Target {
  readonly url: string;
  readonly token: string;
}

interface Client {
  readonly id: string;
  readonly name: string;
  /** Where to put the text. */
  readonly where: Key;
  readonly snippet: (target: Target) => string;
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function headers(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

export const clients = [
  {
    id: "claude-code",
    name: "Claude Code",
    where: "connect.where.terminal",
    snippet: ({ url, token }) =>
      `claude mcp add --transport http tendon ${url}/mcp \\\n  --header "Authorization: Bearer ${token}"`,
  },
  {
    id: "claude-desktop",
    name: "Claude Desktop",
    where: "connect.where.claudeDesktop",
    snippet: ({ url, token }) =>
      json({
        mcpServers: {
          tendon: {
            command: "node",
            args: ["/path/to/tendon/packages/cli/bin/tendon.js", "mcp"],
            env: { TENDON_URL: url, TENDON_TOKEN: token },
          },
        },
      }),
  },
  {
    id: "cursor",
    name: "Cursor",
    where: "connect.where.cursor",
    snippet: ({ url, token }) =>
      json({ mcpServers: { tendon: { url: `${url}/mcp`, headers: headers(token) } } }),
  },
  {
    id: "vscode",
    name: "VS Code",
    where: "connect.where.vscode",
    snippet: ({ url, token }) =>
      json({ servers: { tendon: { type: "http", url: `${url}/mcp`, headers: headers(token) } } }),
  },
  {
    id: "curl",
    name: "curl",
    where: "connect.where.terminal",
    snippet: ({ url, token }) => `curl -H "Authorization: Bearer ${token}" ${url}/api/v1/devices`,
  },
  {
    id: "node",
    name: "Node",
    where: "connect.where.node",
    snippet: ({ url, token }) =>
      [
        "import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';",
        "",
        'const client = new Client({ name: "my-agent", version: "1.0.0" });',
        `const transport = new StreamableHTTPClientTransport(new URL("${url}/mcp"), {`,
        `  requestInit: { headers: { Authorization: "Bearer ${token}" } },`,
        "});",
        "await client.connect(transport);",
        "console.log((await client.listTools()).tools.map((tool) => tool.name));",
      ].join("\n"),
  },
] as const satisfies readonly Client[];
