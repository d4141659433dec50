import path from "node:path";
import { clientConnection, clientSnippets } from "../client-snippets.ts";
import { examine, type Finding } from "../doctor/doctor.ts";
import { keptMcpToken, type McpToken, mcpToken } from "../mcp-token.ts";
import { colours, plain, plainLines, print, printJson } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { dataFolderOf, findTarget, readTarget, type TargetOptions } from "../target.ts";

interface DoctorOptions extends TargetOptions {
  readonly config?: string;
  readonly createToken?: boolean;
  readonly json?: boolean;
}

/** Exits with 1 when a check fails, so that the gateway or a board would not work. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const target = options.createToken === true ? readTarget(options) : findTarget(options);
  const clientToken = target === undefined ? undefined : await readClientToken(options);
  const { findings, running, url } = await examine(target, { ...options, clientToken });
  const place = { dataFolder: dataFolderOf(options), url, certificate: target?.certificate };
  const ok = findings.every(({ state }) => state !== "failed");
  if (options.json === true)
    printJson({ ok, findings, clients: clientSnippets(clientConnection(place.dataFolder, url)) });
  else {
    for (const finding of findings) show(finding);
    print("");
    print(snippets(place, running));
  }
  if (!ok) process.exitCode = 1;
}

const marks = { ok: colours.green("ok  "), warning: colours.yellow("warn"), failed: colours.red("FAIL") };
const indent = " ".repeat(26);

function show({ check, state, message, why, todo }: Finding): void {
  const [first = "", ...more] = plainLines(message).split("\n");
  print(`${marks[state]}  ${check.padEnd(18)}  ${first}`);
  for (const line of more) print(`${indent}${line}`);
  if (why !== undefined) print(`${indent}${colours.dim("why")}  ${plain(why)}`);
  if (todo !== undefined) print(`${indent}${colours.dim("do")}   ${plain(todo)}`);
}

async function readClientToken({ token: _token, ...options }: DoctorOptions): Promise<McpToken | undefined> {
  return options.createToken === true ? await mcpToken(options) : keptMcpToken(options);
}

interface Place {
  readonly dataFolder: string;
  readonly url: string;
  readonly certificate: string | undefined;
}

function snippets({ dataFolder, url, certificate }: Place, running: boolean): string {
  const token = path.join(dataFolder, "admin-token");
  const tendon = ownCommand();
  return [
    colours.bold("First steps"),
    ...(running ? [] : [`  ${tendon} serve --demo`]),
    `  ${tendon} devices`,
    `  ${tendon} call <alias> self.get_device_status`,
    "",
    colours.bold("The same over REST"),
    `  curl ${certificate === undefined ? "" : `--cacert ${certificate} `}-H "Authorization: Bearer $(cat ${token})" ${url}/api/v1/devices`,
    ...clientSnippets(clientConnection(dataFolder, url)).flatMap(({ client, where, text }) => [
      "",
      `${colours.bold(client)}: ${where}`,
      ...text.split("\n").map((line) => `  ${line}`),
    ]),
  ].join("\n");
}
