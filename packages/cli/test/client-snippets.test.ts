/** The client snippets that `doctor` prints: each is parsed as its client would, and its program is started. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { clientSnippets } from "../src/client-snippets.ts";
import { openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

interface Snippet {
  readonly client: string;
  readonly language: "json" | "sh";
  readonly text: string;
}

interface Program {
  readonly command: string;
  readonly args: string[];
}

/** Splits a line into words as a shell does, and expands `$(cat file)`. */
function wordsOf(line: string): string[] {
  const expanded = line.replaceAll(/\$\(cat ('[^']*'|\S+)\)/g, (_all, file: string) =>
    fs.readFileSync(file.replaceAll("'", ""), "utf8").trim(),
  );
  return [...expanded.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? "",
  );
}

function programOf({ client, language, text }: Snippet): Program | undefined {
  if (language === "json") {
    const parsed = JSON.parse(text) as Record<string, Record<string, Program>>;
    const servers = parsed[client === "VS Code" ? "servers" : "mcpServers"];
    return servers?.["tendon"];
  }
  const [claude, mcp, add, , ...rest] = wordsOf(text);
  expect([claude, mcp, add]).toEqual(["claude", "mcp", "add"]);
  const [dashes, command = "", ...args] = rest;
  return dashes === "--" ? { command, args } : undefined;
}

function addressOf({ text }: Snippet): { url: string; token: string } {
  const words = wordsOf(text);
  const header = words[words.indexOf("--header") + 1] ?? "";
  const url = words.find((word) => /^https?:/.test(word)) ?? "";
  return { url, token: header.replace("Authorization: Bearer ", "") };
}

async function toolsOver(transport: StdioClientTransport | StreamableHTTPClientTransport): Promise<string[]> {
  const client = new Client({ name: "pasted", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

describe("client guides", () => {
  const docs = fileURLToPath(new URL("../../../docs/guides/clients", import.meta.url));
  const data = "/path/to/data";
  const snippets = clientSnippets({
    command: "/usr/bin/node",
    args: ["/path/to/tendon/packages/cli/bin/tendon.js", "mcp", "--data", data],
    url: "http://127.0.0.1:8000/mcp",
    tokenFile: `${data}/mcp-token`,
  });

  it.each(snippets)("show the same snippet for $client as doctor prints", ({ client, text, language }) => {
    const page = client.split(" over ")[0]?.toLowerCase().replaceAll(" ", "-");
    const guide = fs.readFileSync(path.join(docs, `${page}.md`), "utf8");
    expect(guide).toContain(`\`\`\`${language}\n${text}\n\`\`\``);
  });
});

describe("client snippets", () => {
  it("connect from any working folder and contain no token", async () => {
    const folder = temporaryFolder();
    const otherFolder = temporaryFolder();
    onTestFinished(() => {
      folder.remove();
      otherFolder.remove();
    });
    const gateway = await openGateway(folder.path);
    onTestFinished(async () => {
      await gateway.end();
    });
    const { stdout } = await run(["doctor", "--json"], { cwd: folder.path });
    const { clients } = JSON.parse(stdout) as { clients: Snippet[] };
    expect(clients.map(({ client }) => client)).toEqual([
      "Claude Desktop",
      "Claude Code",
      "Claude Code over HTTP",
      "Cursor",
      "VS Code",
    ]);
    expect(stdout).not.toContain(
      fs.readFileSync(path.join(folder.path, "data", "admin-token"), "utf8").trim(),
    );
    const printed = (await run(["doctor"], { cwd: folder.path })).stdout.replaceAll(/^ {2}/gm, "");
    for (const snippet of clients) {
      expect(printed).toContain(snippet.text);
      const program = programOf(snippet);
      const transport =
        program === undefined
          ? overHttp(addressOf(snippet))
          : new StdioClientTransport({ ...program, cwd: otherFolder.path });
      expect(await toolsOver(transport)).toContain("device_call");
    }
  }, 60_000);
});

function overHttp({ url, token }: { url: string; token: string }): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
}
