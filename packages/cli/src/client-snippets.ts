/**
 * What people paste into their MCP client. Clients start programs from folders of their own, so every path is whole;
 * no snippet has a token in it.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { mcpTokenFile } from "./mcp-token.ts";

export interface ClientSnippet {
  readonly client: string;
  /** The file it belongs into, or that it is a command. */
  readonly where: string;
  readonly language: "json" | "sh";
  readonly text: string;
}

/** How a client starts `tendon mcp`, and where it finds the gateway over HTTP. */
export interface ClientPlace {
  readonly command: string;
  readonly args: readonly string[];
  readonly url: string;
  readonly tokenFile: string;
}

/** For the gateway of this data folder, run by this very program. */
export function placeOf(dataFolder: string, url: string): ClientPlace {
  const data = path.resolve(dataFolder);
  const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
  return {
    command: process.execPath,
    args: [bin, "mcp", "--data", data],
    url: `${url}/mcp`,
    tokenFile: path.join(data, mcpTokenFile),
  };
}

export function clientSnippets({ command, args, url, tokenFile }: ClientPlace): ClientSnippet[] {
  const program = { command, args };
  const line = [command, ...args].map(quoted).join(" ");
  const header = `--header "Authorization: Bearer $(cat ${quoted(tokenFile)})"`;
  return [
    json("Claude Desktop", "claude_desktop_config.json (Settings, Developer, Edit Config)", {
      mcpServers: { tendon: program },
    }),
    sh("Claude Code", `claude mcp add tendon -- ${line}`),
    sh("Claude Code over HTTP", `claude mcp add --transport http tendon ${quoted(url)} ${header}`),
    json("Cursor", "~/.cursor/mcp.json, or .cursor/mcp.json in a project", {
      mcpServers: { tendon: program },
    }),
    json("VS Code", ".vscode/mcp.json in a workspace, or MCP: Open User Configuration", {
      servers: { tendon: { type: "stdio", ...program } },
    }),
  ];
}

function json(client: string, where: string, value: object): ClientSnippet {
  return { client, where, language: "json", text: JSON.stringify(value, null, 2) };
}

function sh(client: string, text: string): ClientSnippet {
  return { client, where: "a command", language: "sh", text };
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
