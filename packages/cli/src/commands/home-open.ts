import path from "node:path";
import { OperationError } from "../errors.ts";
import { type HomeTexts, homeTexts } from "./home-texts.ts";
import {
  HomeCallError,
  HomeSettingsError,
  HomeStateError,
  type OpenedHome,
  openHome,
} from "./simulated-home.ts";

export interface HomeOptions {
  readonly data?: string;
  readonly config?: string;
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
  try {
    const opened = await openHome({
      data,
      settingsFile,
      persist: options.persist ?? true,
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
  if (error instanceof HomeCallError) {
    const detail = texts.refusal(error, settingsFile);
    return new OperationError(detail, { code: error.code, detail, ...error.details });
  }
  if (error instanceof HomeStateError) {
    const detail = texts.stateProblem(error);
    return new OperationError(detail, { code: error.code, detail });
  }
  return error;
}
