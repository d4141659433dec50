/**
 * `tendon home --mcp` without the other commands and the parser of their arguments, which take longer to load than Node
 * itself takes to start. The build makes a file of its own from it. Arguments that are not listed here, such as a wrong
 * option, are left to the whole command.
 */
import { serveHomeLines } from "./commands/home-serve.ts";
import { reporting } from "./report.ts";

type Arguments = Parameters<typeof serveHomeLines>;
type Options = { -readonly [Key in keyof Arguments[1]]: Arguments[1][Key] };

const flags = {
  "--events": { events: true },
  "--no-persist": { persist: false },
  "--init": { init: true },
  "--json": { json: true },
} as const;
const texts = { "--data": "data", "--config": "config", "--tools": "tools" } as const;

/** The arguments of `serveHomeLines` for `argv`; `undefined` for anything but the line server. */
export function lineServerArguments(argv: readonly string[]): Arguments | undefined {
  const [, , command, ...words] = argv;
  if (command !== "home") return undefined;
  let mode: string | true | undefined;
  const options: Options = { persist: true };
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    const next = words[index + 1];
    const value = next === undefined || next.startsWith("-") ? undefined : next;
    if (word === "--mcp" || word === "--mcp=stdio") {
      const separate = word === "--mcp" && value !== undefined;
      if (separate && value !== "stdio") return undefined;
      mode = separate || word === "--mcp=stdio" ? "stdio" : true;
      index += separate ? 1 : 0;
    } else if (isKey(flags, word)) Object.assign(options, flags[word]);
    else if (isKey(texts, word) && value !== undefined) {
      options[texts[word]] = value;
      index += 1;
    } else return undefined;
  }
  return mode === undefined ? undefined : [mode, options];
}

function isKey<Known extends object>(known: Known, word: string): word is Extract<keyof Known, string> {
  return Object.hasOwn(known, word);
}

/** Runs the line server if `argv` asks for it. */
export function runLineServer(argv: readonly string[]): Promise<void> | undefined {
  const args = lineServerArguments(argv);
  return args === undefined ? undefined : reporting(argv, async () => await serveHomeLines(...args));
}
