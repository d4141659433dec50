/** `tendon init`: three answers become a tendon.yaml with comments, and a list of what to do next. */
import fs from "node:fs";
import { clientConnection, clientSnippets } from "../client-snippets.ts";
import { OperationError } from "../errors.ts";
import { colours, print, printJson } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { dataFolderOf } from "../target.ts";
import { type AnswerOptions, type Answers, readAnswers } from "./init-answers.ts";

interface InitOptions extends AnswerOptions {
  readonly config?: string;
  readonly data?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const clientNames: Readonly<Record<Exclude<Answers["client"], "none">, string>> = {
  "claude-desktop": "Claude Desktop",
  "claude-code": "Claude Code",
  cursor: "Cursor",
  "vs-code": "VS Code",
};

export async function init(options: InitOptions): Promise<void> {
  const file = options.config ?? "tendon.yaml";
  const exists = () =>
    new OperationError(
      `${file} exists already. Edit it, choose another file with --config, or overwrite it with --force.`,
    );
  // Before the questions, and again when the file is written.
  if (options.force !== true && fs.existsSync(file)) throw exists();
  const answers = await readAnswers(options);
  try {
    fs.writeFileSync(file, settingsText(answers, options.data), {
      flag: options.force === true ? "w" : "wx",
    });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") throw exists();
    throw new OperationError(
      `${file} cannot be written (${error instanceof Error ? error.message : String(error)}).`,
    );
  }
  const steps = nextSteps(answers, file, options);
  if (options.json === true) {
    const { publicUrl = null, admission, client } = answers;
    printJson({ file, publicUrl, ota: otaOf(answers) ?? null, admission, client, next: steps });
    return;
  }
  print(`${file} is written. Next:`);
  for (const { text, lines } of steps) {
    print(`\n${colours.bold(text)}`);
    for (const line of lines) print(`  ${line}`);
  }
}

function settingsText({ publicUrl, admission }: Answers, data: string | undefined): string {
  const open = publicUrl !== undefined;
  const lines = [
    "# The settings of this gateway. Every other setting has its default: docs/reference/configuration.md lists them all,",
    "# `tendon config show` prints the ones in use, and `tendon config check` checks this file.",
    "",
    "http:",
    ...(open
      ? [
          "  # Listens on every network of this machine. 127.0.0.1 would accept connections of this machine only.",
          "  host: 0.0.0.0",
          "  port: 8000",
          "  # The address that boards and people use. Give the machine a fixed address: boards store this one.",
          `  publicUrl: ${publicUrl}`,
        ]
      : [
          "  # Accepts connections of this machine only. For boards: 0.0.0.0, and publicUrl with this machine's address.",
          "  host: 127.0.0.1",
          "  port: 8000",
          "  # publicUrl: http://192.168.1.20:8000",
        ]),
    "",
    "devices:",
    "  # Who may join. approve: a person approves each board by the code that it shows; list: imported boards only;",
    "  # open: every board (on a network, `serve` requires --allow-open); closed: no new board.",
    `  admission: ${admission}`,
    "",
    ...(data === undefined
      ? ["# The folder for what must survive a restart.", "# data: ./data"]
      : ["# The folder for what must survive a restart.", `data: ${JSON.stringify(data)}`]),
    "",
    "# Agents do not see user-only tools, such as restarting a board. Access rules restrict the others:",
    "# access:",
    "#   rules:",
    "#     - tool: self.camera.take_photo     # a person approves each photo",
    "#       effect: confirm",
    "",
    "# Boards keep talking to their voice server through the gateway:",
    "# voice:",
    "#   upstream: wss://voice.example/xiaozhi/v1/",
  ];
  return `${lines.join("\n")}\n`;
}

function otaOf({ publicUrl }: Answers): string | undefined {
  return publicUrl === undefined ? undefined : `${publicUrl}/xiaozhi/ota/`;
}

interface Step {
  readonly text: string;
  readonly lines: readonly string[];
}

function nextSteps(answers: Answers, file: string, options: InitOptions): Step[] {
  const tendon = ownCommand();
  const config = options.config === undefined ? "" : ` --config ${file}`;
  const ota = otaOf(answers);
  const flag = answers.admission === "open" && ota !== undefined ? " --allow-open" : "";
  const dataFolder = dataFolderOf(options);
  // Commands find the gateway by its data folder.
  const data = options.data === undefined ? "" : ` --data ${options.data}`;
  const steps: Step[] = [
    { text: "Start the gateway", lines: [`${tendon} serve${config}${flag}`] },
    {
      text: "Check the machine and the addresses, in another terminal",
      lines: [`${tendon} doctor${config}${data}`],
    },
  ];
  if (ota === undefined)
    steps.push({ text: "Add a virtual board", lines: [`${tendon} simulate esp32${data}`] });
  else {
    steps.push({
      text: "Enter this address on the board, on the Advanced tab of its Wi-Fi setup",
      lines: [ota],
    });
    const admit: Readonly<Record<Answers["admission"], readonly string[]>> = {
      approve: [`${tendon} device approve CODE${data}`],
      list: [`${tendon} device import FILE${data}`],
      open: [],
      closed: [],
    };
    const lines = admit[answers.admission];
    const text =
      answers.admission === "list" ? "Import the ids of your boards" : "Approve the board by its code";
    if (lines.length > 0) steps.push({ text, lines });
  }
  if (answers.client !== "none") {
    const name = clientNames[answers.client];
    const local = clientConnection(dataFolder, "http://127.0.0.1:8000");
    const snippet = clientSnippets(local).find(({ client }) => client === name);
    if (snippet !== undefined)
      steps.push({ text: `Connect ${name}: ${snippet.where}`, lines: snippet.text.split("\n") });
  }
  return steps;
}
