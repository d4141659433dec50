import {
  type Config,
  loadConfig,
  StartError,
  settingsReference,
  startProblems,
  withoutSecrets,
} from "@tendon/gateway";
import { print, printJson, printTable } from "../output.ts";

interface ConfigOptions {
  readonly config?: string;
  readonly data?: string;
  readonly allowOpen?: boolean;
  readonly json?: boolean;
}

function load(options: ConfigOptions): { readonly config: Config; readonly file: string | undefined } {
  return loadConfig({
    file: options.config,
    searchIn: ["."],
    env: process.env,
    overrides: options.data === undefined ? {} : { data: options.data },
  });
}

/** Checks whether the gateway would start with this configuration. Each problem names its line. */
export function checkConfig(options: ConfigOptions): void {
  const { config, file } = load(options);
  const problems = startProblems(config, { allowOpen: options.allowOpen });
  if (problems.length > 0)
    throw new StartError("The gateway would not start with this configuration:", problems);
  if (options.json === true) printJson({ ok: true, file: file ?? null });
  else print(`The configuration is valid (${file ?? "no tendon.yaml; defaults and environment"}).`);
}

/** Prints the effective configuration, with secrets hidden. */
export async function showConfig(options: ConfigOptions): Promise<void> {
  const shown = withoutSecrets(load(options).config) as Record<string, unknown>;
  if (options.json === true) {
    printJson(shown);
    return;
  }
  await printTable(
    ["SETTING", "VALUE", "VARIABLE"],
    settingsReference().map(({ name, variable }) => [name, display(valueAt(shown, name)), variable ?? ""]),
  );
}

function valueAt(tree: unknown, name: string): unknown {
  return name
    .split(".")
    .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], tree);
}

function display(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
