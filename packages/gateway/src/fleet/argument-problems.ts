import type { ArgumentProblem } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

const maxReported = 20;

/** Throws `arguments_invalid` if there are problems. `hint` is appended to the detail. */
export function refuseArguments(problems: readonly ArgumentProblem[], hint = ""): void {
  const [first] = problems;
  if (first === undefined) return;
  const detail = `${first.path === "" ? "the arguments" : first.path} ${first.message}`;
  const errors = problems.slice(0, maxReported).map(({ path, message }) => ({ path, message }));
  throw new TendonError("arguments_invalid", `${detail}${hint}`, { errors });
}
