/** The three answers of `tendon init`: from its flags, from questions on a terminal, or the defaults. */
import readline from "node:readline/promises";
import { isLoopbackHost, lanAddresses } from "@tendon/gateway";
import { readBoardUrl } from "@tendon/protocol";
import { OperationError, UsageError } from "../errors.ts";

const admissions = ["approve", "list", "open", "closed"] as const;
const clients = ["claude-desktop", "claude-code", "cursor", "vs-code", "none"] as const;
const thisMachine = "this-machine";

export interface Answers {
  /** The address for boards; `undefined` if only this machine may connect. */
  readonly publicUrl: string | undefined;
  readonly admission: (typeof admissions)[number];
  readonly client: (typeof clients)[number];
}

export interface AnswerOptions {
  readonly reach?: string;
  readonly admission?: string;
  readonly client?: string;
  readonly yes?: boolean;
}

interface Question<Answer> {
  readonly flag: string;
  readonly text: string;
  readonly choices: readonly { readonly value: string; readonly text: string }[];
  /** Throws a `UsageError` with the reason. */
  readonly read: (text: string) => Answer;
}

export async function readAnswers(options: AnswerOptions): Promise<Answers> {
  const given = [options.reach, options.admission, options.client];
  const asks = options.yes !== true && given.includes(undefined);
  if (asks && !process.stdin.isTTY)
    throw new UsageError(
      "init asks its questions on a terminal, and there is none. Answer with --reach, --admission and --client, or accept " +
        "the defaults of those left out with --yes.",
    );
  const terminal = asks ? new Terminal() : undefined;
  try {
    return {
      publicUrl: await answer(reachQuestion(), options.reach, terminal),
      admission: await answer(admissionQuestion, options.admission, terminal),
      client: await answer(clientQuestion, options.client, terminal),
    };
  } finally {
    terminal?.close();
  }
}

async function answer<Answer>(
  question: Question<Answer>,
  given: string | undefined,
  terminal: Terminal | undefined,
): Promise<Answer> {
  if (given !== undefined) return question.read(given);
  if (terminal === undefined) return question.read(question.choices[0]?.value ?? "");
  return await terminal.ask(question);
}

function reachQuestion(): Question<string | undefined> {
  const networks = lanAddresses().map(({ address, network }) => ({
    value: address,
    text: `${address}, on the network ${network}`,
  }));
  return {
    flag: "--reach",
    text: "Where do boards reach this machine? Choose, or type a name or an address such as http://tendon.lan:8000.",
    choices: [...networks, { value: thisMachine, text: "only this machine: virtual boards and programs" }],
    read: readReach,
  };
}

function readReach(text: string): string | undefined {
  if (text === thisMachine) return undefined;
  const url = /^https?:\/\//.test(text) ? text : `http://${text}`;
  const read = readBoardUrl(url);
  if (read.kind === "misread") throw new UsageError(`--reach ${text}: ${read.why}.`);
  if (read.path !== "/" && read.path !== "")
    throw new UsageError(`--reach ${text}: give the name or the address only, without a path.`);
  if (isLoopbackHost(read.host))
    throw new UsageError(
      `--reach ${text}: other machines cannot reach it. For this machine only, use ${thisMachine}.`,
    );
  const port = /:\d+\/?$/.test(url) || read.secure ? "" : ":8000";
  return `${url.replace(/\/$/, "")}${port}`;
}

const admissionQuestion: Question<Answers["admission"]> = {
  flag: "--admission",
  text: "Who may join?",
  choices: [
    { value: "approve", text: "approve: a person approves each board by the code that it shows" },
    { value: "list", text: "list: only boards on a list that you load" },
    { value: "open", text: "open: every board that finds the address" },
    { value: "closed", text: "closed: no new board" },
  ],
  read: (text) => oneOf("--admission", admissions, text),
};

const clientQuestion: Question<Answers["client"]> = {
  flag: "--client",
  text: "Which agent's client do you want to connect?",
  choices: [
    { value: "none", text: "none yet: `doctor` prints the entries later" },
    { value: "claude-desktop", text: "Claude Desktop" },
    { value: "claude-code", text: "Claude Code" },
    { value: "cursor", text: "Cursor" },
    { value: "vs-code", text: "VS Code" },
  ],
  read: (text) => oneOf("--client", clients, text),
};

function oneOf<Value extends string>(flag: string, known: readonly Value[], text: string): Value {
  const found = known.find((value) => value === text);
  if (found === undefined) throw new UsageError(`${flag} ${text}: it must be one of ${known.join(", ")}.`);
  return found;
}

/** Questions go to stderr, so that stdout has only the result. */
class Terminal {
  readonly #lines = readline.createInterface({ input: process.stdin, output: process.stderr });
  readonly #closed = new AbortController();

  constructor() {
    this.#lines.once("close", () => this.#closed.abort());
  }

  async ask<Answer>({ text, choices, read, flag }: Question<Answer>): Promise<Answer> {
    const list = choices.map((choice, index) => `  ${index + 1}  ${choice.text}\n`).join("");
    process.stderr.write(`\n${text}\n${list}`);
    for (;;) {
      const typed = (await this.#line(`${flag.slice(2)} [1]: `)).trim();
      const chosen = typed === "" ? choices[0] : choices[Number(typed) - 1];
      try {
        return read(chosen?.value ?? typed);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        process.stderr.write(`${error.message}\n`);
      }
    }
  }

  close(): void {
    this.#lines.close();
  }

  async #line(prompt: string): Promise<string> {
    try {
      return await this.#lines.question(prompt, { signal: this.#closed.signal });
    } catch {
      throw new OperationError("init ended before the last answer. Nothing was written.");
    }
  }
}
