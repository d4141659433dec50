import path from "node:path";
import { OperationError, UsageError } from "../errors.ts";
import { type HomeTexts, homeTexts } from "./home-texts.ts";
import {
  HomeCallError,
  HomeSettingsError,
  HomeStateError,
  type OpenedHome,
  openHome,
  ToolsFileError,
} from "./simulated-home.ts";

export interface HomeOptions {
  readonly data?: string;
  readonly config?: string;
  /** Creates a missing `config` file with the defaults. */
  readonly init?: boolean;
  readonly tools?: string;
  readonly json?: boolean;
  readonly persist?: boolean;
}

export interface OpenHome extends OpenedHome {
  readonly texts: HomeTexts;
  readonly settingsFile: string;
}

/** Opens the home, runs `work` with it and closes it. Errors are reported in the user's language. */
export async function withHome<Result>(
  options: HomeOptions,
  work: (home: OpenHome) => Result | Promise<Result>,
): Promise<Result> {
  const texts = homeTexts(process.env);
  const data = options.data ?? process.env["TENDON_DATA"] ?? "./data";
  const settingsFile = options.config ?? path.join(data, "home.yaml");
  const { config, init = false, persist = true, tools } = options;
  if (init && !persist)
    throw new UsageError("--init writes a file and --no-persist writes none. Use one of them.");
  try {
    const opened = await openHome({
      data,
      settingsFile: config,
      toolsFile: tools,
      init,
      persist,
      notice: (notice) => process.stderr.write(`tendon: ${texts.notice(notice)}\n`),
    });
    try {
      return await work({ ...opened, texts, settingsFile });
    } finally {
      opened.home.close();
    }
  } catch (error) {
    throw explain(error, texts, settingsFile);
  }
}

function explain(error: unknown, texts: HomeTexts, settingsFile: string): unknown {
  if (error instanceof HomeSettingsError) {
    const detail = error.problems.map((problem) => texts.settingsProblem(error.file, problem)).join("\n");
    return new OperationError(detail, { code: error.code, detail, problems: error.problems });
  }
  if (error instanceof ToolsFileError) {
    const { code, message } = error;
    return new OperationError(message, { code, detail: message });
  }
  if (error instanceof HomeCallError) {
    const detail = texts.refusal(error, settingsFile);
    const { parameter: _, ...details } = error.details;
    return new OperationError(detail, { code: error.code, detail, ...details });
  }
  if (error instanceof HomeStateError) {
    const detail = texts.stateProblem(error);
    return new OperationError(detail, { code: error.code, detail });
  }
  return error;
}
