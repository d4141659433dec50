import path from "node:path";
import { clientSnippets, placeOf } from "../client-snippets.ts";
import { examine, type Finding } from "../doctor/doctor.ts";
import { type McpToken, mcpToken } from "../mcp-token.ts";
import { colours, plain, plainLines, print, printJson } from "../output.ts";
import { dataFolderOf, findTarget, type TargetOptions } from "../target.ts";

interface DoctorOptions extends TargetOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** Exit code 1 when something would keep the gateway or a board from working. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const target = findTarget(options);
  const clientToken = target === undefined ? undefined : await tokenOfClients(options);
  const { findings, running, url } = await examine(target, { ...options, clientToken });
  const place = { dataFolder: dataFolderOf(options), url, certificate: target?.certificate };
  const ok = findings.every(({ state }) => state !== "failed");
  if (options.json === true)
    printJson({ ok, findings, clients: clientSnippets(placeOf(place.dataFolder, url)) });
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

/** The snippets name its file, so it is made here; where it cannot be, the first client says why. */
async function tokenOfClients({ token: _token, ...options }: DoctorOptions): Promise<McpToken | undefined> {
  try {
    return await mcpToken(options);
  } catch {
    return undefined;
  }
}

interface Place {
  readonly dataFolder: string;
  readonly url: string;
  readonly certificate: string | undefined;
}

function snippets({ dataFolder, url, certificate }: Place, running: boolean): string {
  const token = path.join(dataFolder, "admin-token");
  return [
    colours.bold("A first session"),
    ...(running ? [] : ["  npx tendon serve --demo"]),
    "  npx tendon devices",
    "  npx tendon call <alias> self.get_device_status",
    "",
    colours.bold("The same over REST"),
    `  curl ${certificate === undefined ? "" : `--cacert ${certificate} `}-H "Authorization: Bearer $(cat ${token})" ${url}/api/v1/devices`,
    ...clientSnippets(placeOf(dataFolder, url)).flatMap(({ client, where, text }) => [
      "",
      `${colours.bold(client)}: ${where}`,
      ...text.split("\n").map((line) => `  ${line}`),
    ]),
  ].join("\n");
}
