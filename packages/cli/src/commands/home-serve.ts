import { UsageError } from "../errors.ts";
import { type HomeOptions, withHome } from "./home-open.ts";
import { type HomeServer, type HomeStateError, serveHome, standardInput } from "./simulated-home.ts";

interface ServeOptions extends HomeOptions {
  readonly events?: boolean;
}

/** How long a client that does not read may delay the process after a stop signal. */
const graceMs = 500;

/** stdout carries only the protocol. Messages for people go to stderr. */
export async function serveHomeLines(mode: string | true, options: ServeOptions): Promise<void> {
  if (mode !== true && mode !== "stdio")
    throw new UsageError(`--mcp supports only \`stdio\`, got \`${mode}\`.`);
  let server: HomeServer | undefined;
  const stop = (): void => {
    server?.stop();
    // Unreferenced, so that the timer itself does not keep the process running.
    setTimeout(() => process.exit(0), graceMs).unref();
  };
  // Registered before `ready` is sent, because the client may end the process right after it.
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  await withHome(options, async ({ home, stateFile, texts }) => {
    server = serveHome({
      home,
      stateFile,
      input: standardInput(),
      output: process.stdout,
      events: options.events ?? false,
      warn: once((error) => process.stderr.write(`tendon: ${texts.stateProblem(error)}\n`)),
    });
    await server.ended;
  });
}

/** Reports a lasting fault once, not with every call. */
function once(report: (error: HomeStateError) => void): (error: HomeStateError) => void {
  let last = "";
  return (error) => {
    if (error.message !== last) report(error);
    last = error.message;
  };
}
