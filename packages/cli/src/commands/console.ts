import type { SignInCode } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { print, printJson } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ConsoleOptions extends TargetOptions {
  readonly json?: boolean;
}

/** Prints a new sign-in link. It is valid for 15 minutes. */
export async function consoleLink(options: ConsoleOptions): Promise<void> {
  const made = await new GatewayClient(readTarget(options)).post<SignInCode>("/session/codes", undefined);
  if (options.json === true) printJson(made);
  else print(made.url);
}
