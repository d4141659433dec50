import {
  type LoadedConfig,
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

function load(options: ConfigOptions): LoadedConfig {
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
  const { config, settings } = load(options);
  if (options.json === true) {
    printJson(withoutSecrets(config));
    return;
  }
  const variables = new Map(settingsReference().map(({ name, variable }) => [name, variable]));
  await printTable(
    ["SETTING", "VALUE", "FROM", "VARIABLE"],
    settings.map(({ name, value, source, place }) => [
      name,
      display(value),
      source === "file" ? (place ?? source) : source,
      variables.get(name) ?? "",
    ]),
  );
}

function display(value: unknown): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
