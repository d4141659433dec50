import type { ArgumentProblem } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

const toldAtMost = 20;

/** Fails with what is wrong with the arguments, if anything is; `hint` is what may help, for the end of the sentence. */
export function refuseArguments(problems: readonly ArgumentProblem[], hint = ""): void {
  const [first] = problems;
  if (first === undefined) return;
  const detail = `${first.path === "" ? "the arguments" : first.path} ${first.message}`;
  const errors = problems.slice(0, toldAtMost).map(({ path, message }) => ({ path, message }));
  throw new TendonError("arguments_invalid", `${detail}${hint}`, { errors });
}
