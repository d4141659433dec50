import path from "node:path";
import { clientSnippets, placeOf } from "../client-snippets.ts";
import { examine, type Finding } from "../doctor/doctor.ts";
import { mcpToken } from "../mcp-token.ts";
import { colours, plain, plainLines, print, printJson } from "../output.ts";
import { readTarget, type Target, type TargetOptions } from "../target.ts";

interface DoctorOptions extends TargetOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** Exit code 1 when something would keep the gateway or a board from working. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const target = readTarget(options);
  const clientToken = target.named ? await tokenOfClients(options) : undefined;
  const { findings, running } = await examine(target, { ...options, clientToken });
  const ok = findings.every(({ state }) => state !== "failed");
  if (options.json === true) printJson({ ok, findings, clients: clientSnippets(placeOf(target)) });
  else {
    for (const finding of findings) show(finding);
    print("");
    print(snippets(target, running));
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
async function tokenOfClients({ token: _token, ...options }: DoctorOptions): Promise<string | undefined> {
  try {
    return await mcpToken(options);
  } catch {
    return undefined;
  }
}

function snippets(target: Target, running: boolean): string {
  const token = path.join(target.dataFolder, "admin-token");
  return [
    colours.bold("A first session"),
    ...(running ? [] : ["  npx tendon serve --demo"]),
    "  npx tendon devices",
    "  npx tendon call <alias> self.get_device_status",
    "",
    colours.bold("The same over REST"),
    `  curl ${target.certificate === undefined ? "" : `--cacert ${target.certificate} `}-H "Authorization: Bearer $(cat ${token})" ${target.url}/api/v1/devices`,
    ...clientSnippets(placeOf(target)).flatMap(({ client, where, text }) => [
      "",
      `${colours.bold(client)}: ${where}`,
      ...text.split("\n").map((line) => `  ${line}`),
    ]),
  ].join("\n");
}
