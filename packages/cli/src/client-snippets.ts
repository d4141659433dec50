/**
 * Configuration snippets for MCP clients. Paths are absolute, because each client starts programs from its own
 * working folder. No snippet contains a token.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { mcpTokenFile } from "./mcp-token.ts";

export interface ClientSnippet {
  readonly client: string;
  /** The file to paste it into, or "a command". */
  readonly where: string;
  readonly language: "json" | "sh";
  readonly text: string;
}

/** How a client starts `tendon mcp`, and where it finds the gateway over HTTP. */
export interface ClientConnection {
  readonly command: string;
  readonly args: readonly string[];
  readonly url: string;
  readonly tokenFile: string;
}

/** Connects to the gateway of this data folder, and runs this installation of `tendon`. */
export function clientConnection(dataFolder: string, url: string): ClientConnection {
  const data = path.resolve(dataFolder);
  const bin = fileURLToPath(new URL("../bin/tendon.js", import.meta.url));
  return {
    command: process.execPath,
    args: [bin, "mcp", "--data", data],
    url: `${url}/mcp`,
    tokenFile: path.join(data, mcpTokenFile),
  };
}

export function clientSnippets({ command, args, url, tokenFile }: ClientConnection): ClientSnippet[] {
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

/** Quotes a word for the shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
